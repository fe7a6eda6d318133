"""Simulation of a chunk of a campaign's runs on a Dask worker, checking each `run_id` first.

A worker reads each scenario itself and runs it only if its `run_id` is the planned one: another engine, file or
algorithm would be another run. It answers after a second or so, with the runs that have finished by then.
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
from vazao.execution.rows import Packed, rows_of
from vazao.execution.simulation import run_many
from vazao.files import write_atomically
from vazao.scenario import Recipe, needs_of, read_each

if TYPE_CHECKING:
    from vazao.store import Outcome

ENOUGH_SECONDS = 0.5
"""Time after which a worker starts no further run of a chunk."""

PATIENCE_SECONDS = 1.0
"""Time after which a worker abandons a run to return those that have finished; it is run again, alone."""


@dataclass(frozen=True)
class Order:
    """Request to simulate a chunk of runs."""

    recipes: Sequence[Recipe]
    """Recipes without input files and without the user's own algorithms."""
    needs: Sequence[Mapping[str, str | None]]
    """Kernels and simulators of each recipe's scenarios, by name, each with its required SHA-256."""
    runs: Sequence[tuple[int, int, str]]
    """Runs as (index of the recipe, seed, run_id)."""
    python: str
    """Version of Python that the user's own algorithms need."""
    own: bytes | None = None
    """The user's own algorithms for each recipe, pickled by value."""
    files: Mapping[str, str] = field(default_factory=dict)
    """SHA-256 of the files that the scenarios use, by name."""
    contents: Mapping[str, bytes] = field(default_factory=dict)
    """Contents of these files by SHA-256, for a worker that has requested them."""


@dataclass
class Answer:
    """Result of a chunk of runs."""

    worker: str
    """Address of the worker."""
    ended: list[int] = field(default_factory=list)
    """Indices in `Order.runs` of the runs that have finished; `packed` has their rows."""
    packed: Packed = field(default_factory=Packed)
    not_here: dict[int, str] = field(default_factory=dict)
    """Runs for which this worker lacks a kernel or a simulator, by index, each with the reason."""
    alone: list[int] = field(default_factory=list)
    """Run that takes longer than a chunk may and was abandoned, if there is one."""
    wants_files: bool = False
    """Whether the worker needs the contents of files first."""
    refused: str | None = None
    """Reason why neither this worker nor another one like it can run any of the chunk."""
    seconds: float = 0.0
    """Time that the finished runs took."""


class _EnoughError(Exception):
    """The chunk has used up its time, or is no longer wanted."""


ASKED = "__import__('vazao.execution.worker', fromlist=['answered']).answered(engine, order)"
"""Task as an expression: neither the scheduler nor a worker's own threads import Vazão for it, which they may lack."""


def answered(engine: str, order: bytes) -> bytes:
    """Process a pickled `Order` from a driver with this engine; returns a pickled `Answer`."""
    if engine == _core.ENGINE_VERSION:
        return pickle.dumps(simulate(pickle.loads(order)), protocol=5)
    return pickle.dumps(Answer(_address(), refused=f"has engine {_core.ENGINE_VERSION}, not {engine}"))


def simulate(order: Order) -> Answer:
    """Simulate runs of an order, one after the other, for about half a second; the answer lists the finished ones."""
    answer = Answer(_address())
    if order.own is not None and order.python != (here := python()):
        answer.refused = f"has Python {here}, not {order.python}: algorithms of your own cannot travel to it"
        return answer
    if not _keep(order):
        answer.wants_files = True
        return answer
    try:
        recipes = _recipes(order)
        scenarios = read_each([(recipes[number], seed) for number, seed, _ in order.runs])
    except (ScenarioError, ImportError, AttributeError) as error:
        answer.refused = f"cannot read what is to be run: {error}"
        return answer
    planned = {place: one for place, one in enumerate(scenarios) if _is_planned(order, place, one, answer)}
    if answer.refused is None:
        _run(planned, answer)
    return answer


def python() -> str:
    """Version of Python as far as compiled code depends on it."""
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


def _is_planned(order: Order, place: int, scenario: _core.Scenario, answer: Answer) -> bool:
    """Whether a scenario is that of the planned run; if not, `answer` gets the reason."""
    number, _, run_id = order.runs[place]
    if scenario.run_id == run_id:
        return True
    needs = needs_of(scenario)
    there = {**needs.kernels, **needs.simulators}
    if differ := sorted(name for name, digest in order.needs[number].items() if there.get(name) != digest):
        answer.not_here[place] = needs.lacking or f"{differ[0]} is another one there"
    else:
        answer.refused = f"reads run {run_id} as {scenario.run_id}: it has another version of a file, or of Vazão"
    return False


def _recipes(order: Order) -> list[Recipe]:
    """Recipes of an order, completed with its files and algorithms."""
    folder = _folder()
    inputs = {name: folder / digest for name, digest in order.files.items()}
    own = _unpickled(order.own) if order.own is not None else [()] * len(order.recipes)
    # Files next to the scenario's are on the driver: no file of this machine may be taken for one of them.
    return [
        replace(recipe, file=str(folder / "none" / Path(recipe.file).name), inputs=inputs, plugins=plugins)
        for recipe, plugins in zip(order.recipes, own, strict=True)
    ]


@cache
def _unpickled(own: bytes) -> list[Sequence[tuple[str, str, type, str]]]:
    """The user's own algorithms; cached, so that each stays one class however many chunks use it."""
    import cloudpickle

    return list(cloudpickle.loads(own))


@cache
def _folder() -> Path:
    """Temporary folder of this process for input files of scenarios."""
    import atexit
    import shutil

    folder = tempfile.mkdtemp(prefix="vazao-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


def _keep(order: Order) -> bool:
    """Store the files that came with an order; returns whether all files that it names are there."""
    for digest, content in order.contents.items():
        if sha256(content).hexdigest() == digest:
            write_atomically(_folder() / digest, content)
    return all((_folder() / digest).exists() for digest in order.files.values())


def _address() -> str:
    """Address of the worker that runs this."""
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
