"""Chunks of a campaign's runs on a worker of a cluster: what it is told, simulates and answers.

A worker reads each scenario anew and runs it only if it is the one that was planned, by its `run_id`: another engine,
file or algorithm would be another run. It answers after a second or so, with what has ended until then.
"""

from __future__ import annotations

import pickle
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from vazao import _core
from vazao.errors import ScenarioError
from vazao.files import write_atomically
from vazao.results.rows import Packed, rows_of
from vazao.results.simulating import run_many
from vazao.scenario import Recipe, needs_of

if TYPE_CHECKING:
    from vazao.results.simulating import Outcome

ENOUGH_SECONDS = 0.5
"""Time after which a worker begins no further run of a chunk."""

PATIENCE_SECONDS = 1.0
"""Time after which a worker gives a run up in favour of those that have ended; it is run again, alone."""


@dataclass(frozen=True)
class Order:
    """A chunk of runs."""

    recipes: Sequence[Recipe]
    """Recipes without files and algorithms of the user's own."""
    needs: Sequence[Mapping[str, str | None]]
    """Kernels and simulators of each recipe's scenarios, by name, each with the SHA-256 that it must have."""
    runs: Sequence[tuple[int, int, str]]
    """Runs: the number of a recipe, the seed, the run_id."""
    python: str
    """Version of Python that the algorithms were written with."""
    own: bytes | None = None
    """The user's own algorithms of each recipe, pickled by value."""
    files: Mapping[str, str] = field(default_factory=dict)
    """SHA-256 of the files that the scenarios name, by these names."""
    contents: Mapping[str, bytes] = field(default_factory=dict)
    """Contents of these files by their SHA-256, for a worker that has asked for them."""


@dataclass
class Answer:
    """The outcome of a chunk of runs."""

    worker: str
    """Address of the worker."""
    ended: list[int] = field(default_factory=list)
    """Runs of the order that have ended, by their places in it: `packed` has their rows."""
    packed: Packed = field(default_factory=Packed)
    not_here: dict[int, str] = field(default_factory=dict)
    """Runs for which this worker lacks a kernel or a simulator, each with the reason."""
    alone: list[int] = field(default_factory=list)
    """A run that takes longer than a chunk may: nothing of it is done."""
    wants_files: bool = False
    """Whether the worker needs the contents of files first."""
    refused: str | None = None
    """Reason why nothing of it can be run by this worker, nor would be by another one like it."""
    seconds: float = 0.0
    """Time that the runs took which have ended."""


class _EnoughError(Exception):
    """The chunk has taken its time, or is no longer wanted."""


ASKED = "__import__('vazao.results.worker', fromlist=['answered']).answered(engine, order)"
"""A task as an expression: neither the scheduler nor a worker's own threads read Vazão for it, which they may lack."""


def answered(engine: str, order: bytes) -> bytes:
    """The `Answer` to an `Order` of a driver with this engine, both pickled."""
    if engine == _core.ENGINE_VERSION:
        return pickle.dumps(simulate(pickle.loads(order)), protocol=5)
    return pickle.dumps(Answer(_address(), refused=f"has engine {_core.ENGINE_VERSION}, not {engine}"))


def simulate(order: Order) -> Answer:
    """Simulate runs of an order, one after the other, for about half a second: those that are left are told."""
    answer = Answer(_address())
    if order.own is not None and order.python != (here := python()):
        answer.refused = f"has Python {here}, not {order.python}: algorithms of your own cannot travel to it"
        return answer
    if not _keep(order):
        answer.wants_files = True
        return answer
    try:
        recipes = _recipes(order)
        scenarios = [_scenario(order, recipes, place, answer) for place in range(len(order.runs))]
    except (ScenarioError, ImportError, AttributeError) as error:
        answer.refused = f"cannot read what is to be run: {error}"
        return answer
    if answer.refused is None:
        _run({place: scenario for place, scenario in enumerate(scenarios) if scenario is not None}, answer)
    return answer


def python() -> str:
    """The version of Python as far as compiled code depends on it."""
    return f"{sys.version_info.major}.{sys.version_info.minor}"


def _run(scenarios: Mapping[int, _core.Scenario], answer: Answer) -> None:
    """Run scenarios until the time is up."""
    began = time.monotonic()
    ended: list[tuple[_core.Scenario, Outcome]] = []
    places, wanted = list(scenarios), _Wanted()

    def on_outcome(index: int, outcome: Outcome) -> None:
        if outcome.not_run is not None:
            answer.not_here[places[index]] = outcome.not_run
        else:
            ended.append((scenarios[places[index]], outcome))
            answer.ended.append(places[index])
        answer.seconds = time.monotonic() - began
        if answer.seconds > ENOUGH_SECONDS:
            raise _EnoughError

    def on_tick() -> None:
        if not wanted():
            raise _EnoughError
        if answer.ended and time.monotonic() - began > PATIENCE_SECONDS:
            answer.alone = [place for place in places if place not in {*answer.ended, *answer.not_here}][:1]
            raise _EnoughError

    with suppress(_EnoughError):
        run_many(list(scenarios.values()), jobs=1, on_outcome=on_outcome, on_tick=on_tick)
    if ended:
        answer.packed = rows_of(ended).packed()


def _scenario(order: Order, recipes: Sequence[Recipe], place: int, answer: Answer) -> _core.Scenario | None:
    """The scenario of a run, if it is the one that was planned; the answer is told if it is not."""
    number, seed, run_id = order.runs[place]
    scenario = recipes[number].read(seed)
    if scenario.run_id == run_id:
        return scenario
    needs = needs_of(scenario)
    there = {**needs.kernels, **needs.simulators}
    if differ := sorted(name for name, digest in order.needs[number].items() if there.get(name) != digest):
        answer.not_here[place] = needs.lacking or f"{differ[0]} is another one there"
    else:
        answer.refused = f"reads run {run_id} as {scenario.run_id}: it has another version of a file, or of Vazão"
    return None


def _recipes(order: Order) -> list[Recipe]:
    """The recipes with what the order has for all of them: files and algorithms."""
    folder = _folder()
    inputs = {name: folder / digest for name, digest in order.files.items()}
    own = _unpickled(order.own) if order.own is not None else [()] * len(order.recipes)
    # Files beside the scenario's are the driver's: nothing of this machine is taken for them.
    return [
        replace(recipe, file=str(folder / "none" / Path(recipe.file).name), inputs=inputs, plugins=plugins)
        for recipe, plugins in zip(order.recipes, own, strict=True)
    ]


@cache
def _unpickled(own: bytes) -> list[Sequence[tuple[str, str, type, str]]]:
    """The user's own algorithms, each of which stays one class however many chunks have it."""
    import cloudpickle

    return list(cloudpickle.loads(own))


@cache
def _folder() -> Path:
    """A folder of this process for files that scenarios name."""
    import atexit
    import shutil

    folder = tempfile.mkdtemp(prefix="vazao-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


def _keep(order: Order) -> bool:
    """Keep files that came with an order; gives whether all are there that it names."""
    for digest, content in order.contents.items():
        if sha256(content).hexdigest() == digest:
            write_atomically(_folder() / digest, content)
    return all((_folder() / digest).exists() for digest in order.files.values())


def _address() -> str:
    """The address of the worker that runs this."""
    from distributed import get_worker

    return str(get_worker().address)


class _Wanted:
    """Whether the task of this thread is still wanted, as far as its worker knows."""

    def __init__(self) -> None:
        from distributed import get_worker

        self._worker = get_worker()
        self._key = self._worker.get_current_task()

    def __call__(self) -> bool:
        task = self._worker.state.tasks.get(self._key)
        return task is not None and task.state != "cancelled"
