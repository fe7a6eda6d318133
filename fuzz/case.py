"""One test case: its text, how it is judged, and its outcome."""

from __future__ import annotations

import re
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import polars as pl

from fuzz import generate, invariants, mutate, repair
from vazao import _core, limits
from vazao.errors import VazaoError
from vazao.forecast import Pace
from vazao.scenario import load
from vazao.store import table, validate_queries
from vazao.study import parse_study, plan

FILE = "fuzz.toml"
KINDS = ("valid", "mutant", "study", "guests")
MEASURES = list(_core.MEASURES)
TABLES = ("runs", "flows", "paths", "links", "samples")

LONGEST = 1.0
"""Longest expected time of a run in seconds; longer ones are not started."""
PATIENCE = 60.0
"""Seconds after which a run is considered endless, on top of ten times its expected time."""
AGAIN = 0.2
"""Share of scenarios that are repeated: twice on two threads, traced, captured."""

UNCOUTH = re.compile(
    r"panic|unwrap|defect|Traceback|RUST_BACKTRACE|\.rs:\d|\b(?:Some|Ok|Err|None)\("
    r"|pydantic|duckdb\.|site-packages|object at 0x"
)
LONG = 3000
MANY = 2000
"""Number of flows above which tables are not checked: as dictionaries they would take longer than the run did."""
MAX_ROWS = 50_000
"""Number of rows of a table that are checked; only samples may have more."""
BUSY = 100_000
"""Number of events from which on a run is not repeated."""


@dataclass(frozen=True)
class Case:
    """File to try: its kind, and the seed that generated it."""

    kind: str
    seed: int
    text: str


@dataclass(frozen=True)
class Verdict:
    """Outcome of a case: "refused", "run", "large" or "finding", and what is wrong if it is a finding."""

    outcome: str
    wrong: tuple[str, ...] = ()


class EndlessError(Exception):
    """Raised if a run had to be stopped."""


def make(kind: str, seed: int, sources: Sequence[tuple[str, bool]]) -> Case:
    """Generate the case of a kind and a seed, deterministically."""
    rng = Random(f"{kind} {seed}")
    if kind in ("valid", "guests"):
        document = generate.scenario(rng, guests=kind == "guests")
        return Case(kind, seed, repair.loaded(rng, document, FILE)[0])
    mine = [text for text, is_study in sources if is_study == (kind == "study")]
    return Case(kind, seed, mutate.mutant(rng, rng.choice(mine), [text for text, _ in sources]))


def judge(case: Case) -> Verdict:
    """Try a case. Anything but a clear refusal or a run with consistent tables is a finding."""
    rng = Random(case.seed)
    try:
        if case.kind == "study":
            return _judge_study(case, rng)
        return _judge_run(load(case.text, file=FILE), rng, case.kind)
    except VazaoError as error:
        # A run that is stopped because of its memory was accepted: there is no key to name.
        stopped = isinstance(error, _core.RunError)
        if wrong := wording_faults(str(error)) + ([] if stopped else missing_place(str(error))):
            return Verdict("finding", tuple(wrong))
        return Verdict("large" if stopped else "refused")
    except EndlessError as stopped:
        return Verdict("finding", (f"endless: {stopped}",))
    except BaseException as error:
        return Verdict("finding", (f"{type(error).__module__}.{type(error).__name__}: {str(error)[:300]}",))


def wording_faults(message: str) -> list[str]:
    """Faults in the wording of a message."""
    wrong = []
    if found := UNCOUTH.search(message):
        wrong.append(f"a message has {found.group()!r}: {message[:300]!r}")
    if any((ord(letter) < 32 and letter != "\n") or 127 <= ord(letter) < 160 for letter in message):
        wrong.append(f"a message has control characters: {message[:300]!r}")
    if any(letter in "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069" for letter in message):
        wrong.append(f"a message changes the direction of writing: {message[:300]!r}")
    if len(message) > LONG:
        wrong.append(f"a message of {len(message)} characters: {message[:100]!r}")
    return wrong


def missing_place(message: str) -> list[str]:
    """Faults of a refusal that names no place; in a study, the part and the levels come first."""
    placed = re.search(rf"{re.escape(FILE)}(:\d+)?: [^ ]", message)
    return [] if placed else [f"a message without file and key: {message[:300]!r}"]


seconds = Pace().seconds
"""Estimates the time that a run takes on an ordinary machine."""


def _judge_study(case: Case, rng: Random) -> Verdict:
    study = parse_study(case.text, FILE)
    validate_queries(study)
    # Loading all scenarios of a large study takes longer than most runs.
    part = study.model_copy(update={"parts": [rng.choice(study.parts)]})
    small = [run for run in plan(part, "quick").runnable if seconds(run) < LONGEST]
    return _judge_run(rng.choice(small).scenario, rng, "study") if small else Verdict("large")


def _judge_run(scenario: _core.Scenario, rng: Random, kind: str) -> Verdict:
    guests = scenario.work().guests
    # Guests take seconds each, and may take longer: they are a separate kind.
    if (guests and kind != "guests") or (not guests and seconds(scenario) > LONGEST):
        return Verdict("large")
    [first] = _run([scenario], "run once")
    if first.not_run is not None:
        return Verdict("large")
    if first.failure is not None:
        return Verdict("finding", (f"the run failed: {first.failure[:500]}",))
    if table(first, "flows").height > MANY:
        return Verdict("large")
    found = invariants.violations(_rows(first), scenario.json)
    if not found and rng.random() < AGAIN and table(first, "runs")["events"][0] < BUSY:
        found = _differences(scenario, first)
    return Verdict("finding", tuple(found)) if found else Verdict("run")


def _run(scenarios: list[_core.Scenario], what: str, jobs: int = 1) -> list[_core.Outcome]:
    """Run scenarios, which are stopped if they take much longer than expected."""
    outcomes: dict[int, _core.Outcome] = {}
    deadline = time.monotonic() + PATIENCE + 10 * sum(map(seconds, scenarios))

    def on_tick() -> None:
        if time.monotonic() > deadline:
            raise EndlessError(f"{what}, no end in {PATIENCE:.0f} s, expected {sum(map(seconds, scenarios)):.3f} s")

    _core.run_many(scenarios, jobs=jobs, on_outcome=outcomes.__setitem__, on_tick=on_tick)
    return [outcomes[index] for index in range(len(scenarios))]


PATHS = tuple(f"path_{limit}_s" for limit in limits.WORDS)
"""Columns that only a run with the measure `limit` has values in."""


def _rows(outcome: _core.Outcome) -> dict[str, list[dict[str, Any]]]:
    return {name: table(outcome, name).head(MAX_ROWS).to_dicts() for name in TABLES}


def _content(outcome: _core.Outcome, names: Sequence[str], *without: str) -> dict[str, str]:
    """Tables as text, with every digit of every number."""
    drop = ("wall_s", *without)
    return {name: table(outcome, name).drop(*drop, strict=False).write_ndjson() for name in names}


def _differences(scenario: _core.Scenario, first: _core.Outcome) -> list[str]:
    """Differences between a run and its repetitions: twice on two threads, traced, captured."""
    found = []
    own = ("runs", "flows", "paths", "links")
    for number, outcome in enumerate(_run([scenario, scenario], "run twice", jobs=2)):
        found += _unlike(f"again on two threads ({number})", _content(first, TABLES), _content(outcome, TABLES))
    plain = _content(first, own, "run_id")
    [traced] = _run([scenario.with_trace(MEASURES, None)], "traced")
    if traced.failure is not None:
        return [*found, f"traced, the run failed: {traced.failure[:500]}"]
    # The measure `limit` asks for columns of its own.
    unwatched = _content(first, own, "run_id", *PATHS)
    found += _unlike("traced", unwatched, _content(traced, own, "run_id", *PATHS))
    found += [f"traced: {wrong}" for wrong in invariants.violations(_rows(traced), scenario.json)]
    with tempfile.TemporaryDirectory() as folder:
        # Only QUIC has logs.
        logs = f"{folder}/qlog" if "quic" in scenario.transports else None
        captured = _core.run(scenario, pcap=f"{folder}/pcap", qlog=logs)
        # Google's handshake and parity, for example, cannot be captured.
        if captured.not_run is not None:
            return found
        if captured.failure is not None:
            return [*found, f"captured, the run failed: {captured.failure[:500]}"]
        return found + _unlike("captured", plain, _content(captured, own, "run_id"))


def _unlike(when: str, one: dict[str, str], other: dict[str, str]) -> list[str]:
    return [f"{when}, {name} differs: {_first(one[name], other[name])}" for name in one if one[name] != other[name]]


def _first(one: str, other: str) -> str:
    """Text about the first values that differ."""
    for old, new in zip(one.splitlines(), other.splitlines(), strict=False):
        if old != new:
            rows = pl.read_ndjson(f"{old}\n".encode()).to_dicts()[0], pl.read_ndjson(f"{new}\n".encode()).to_dicts()[0]
            return ", ".join(
                f"{key} {value} and {rows[1].get(key)}" for key, value in rows[0].items() if value != rows[1].get(key)
            )
    return "another number of rows"
