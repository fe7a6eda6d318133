"""Re-execution of stored runs from what is stored with them, compared bit by bit."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from vazao import _core
from vazao.errors import ResultsError
from vazao.execution import Progress, run_many
from vazao.results.campaign import open_campaign
from vazao.results.single import recipe_of
from vazao.store import Store, differences, inputs, table
from vazao.study import PlannedRun, Size, Study, plan, planned_run

if TYPE_CHECKING:
    from vazao.scenario import Allowed
    from vazao.store import Outcome

COMPARED = ("runs", "flows", "paths", "links", "samples")
"""Tables of a run that are compared."""

APART = ("run_id", "wall_s")
"""Columns that are not compared: the run's name, which contains the engine's version, and wall-clock time."""

WINDOW = 64
"""Number of runs whose stored rows are in memory at a time."""


@dataclass(frozen=True)
class Difference:
    """A column of a run's tables that differs from the stored one; `rows` stands for the number of rows."""

    table: str
    column: str
    rows: int
    """Number of rows that differ."""
    stored: Any
    """First stored value that differs, and the present one."""
    now: Any

    def __str__(self) -> str:
        more = f", and in {self.rows - 1} more rows" if self.rows > 1 else ""
        return f"{self.table}.{self.column} is {_short(self.now)} now ({_short(self.stored)} there){more}"


@dataclass(frozen=True)
class Point:
    """A stored run: its ID and levels, and the reader of its scenario."""

    run_id: str
    label: str
    """Levels and seed as text."""
    read: Callable[[], _core.Scenario] = field(repr=False)
    """Reader of its scenario. Raises `VazaoError`."""
    lacking: str | None = None
    """Reason why this machine cannot run it."""


@dataclass(frozen=True)
class Repeated:
    """Comparison of a stored run with its repetition."""

    point: Point
    scenario: dict[str, tuple[Any, Any]]
    """Keys of the resolved scenario that this version reads differently, each as (stored, present)."""
    differences: list[Difference]
    not_run: str | None = None
    """Reason why it could not be run."""

    @property
    def same(self) -> bool:
        """Whether it ran and all of its tables are bit-identical."""
        return self.not_run is None and not self.differences

    def summary(self) -> str:
        """Result as one sentence."""
        if self.not_run is not None:
            return f"was not run: {self.not_run}"
        if self.same:
            return "the same to the bit"
        keys = [
            f"its scenario's {key} is {_short(now)} now ({_short(was)} there)"
            for key, (was, now) in self.scenario.items()
        ]
        return "; ".join([*keys[:3], *map(str, self.differences[:3])])


@dataclass(frozen=True)
class Stored:
    """Stored runs of a directory to be run again."""

    store: Store
    points: list[Point]

    @property
    def engines(self) -> tuple[str, str]:
        """Versions of the engine that produced them, and of the present one."""
        return str(self.store.manifest["versions"].get("engine", "")), _core.ENGINE_VERSION

    def engine_label(self) -> str:
        """The engine's version as text, or both versions if they differ."""
        there, here = self.engines
        return f"engine {here}" if there == here else f"engine {here} here, {there} there"

    def repeat(self, jobs: int, progress: Progress) -> Iterator[Repeated]:
        """Run them again on `jobs` cores and compare. Raises `ResultsError`, `ScenarioError`."""
        ended = 0
        progress.start(len(self.points), 0)
        try:
            for first in range(0, len(self.points), WINDOW):
                found: dict[str, Repeated] = {}

                def note(one: Repeated, found: dict[str, Repeated] = found) -> None:
                    nonlocal ended
                    ended += 1
                    found[one.point.run_id] = one
                    progress.advance(1, ended / len(self.points))

                window = self.points[first : first + WINDOW]
                self._repeat(window, jobs, note, lambda: progress.advance(0, ended / len(self.points)))
                yield from (found[point.run_id] for point in window)
        finally:
            progress.close()

    def compared(self, point: Point, scenario: _core.Scenario, tables: Mapping[str, pl.DataFrame]) -> Repeated:
        """Comparison of a stored run with the tables, or some of them, of its repetition."""
        known, rows = self._read([point])
        return self._comparison(point, scenario, known, rows, tables)

    def _repeat(
        self, points: Sequence[Point], jobs: int, note: Callable[[Repeated], None], tick: Callable[[], None]
    ) -> None:
        for point in points:
            if point.lacking is not None:
                note(Repeated(point, {}, [], point.lacking))
        able = [point for point in points if point.lacking is None]
        known, rows = self._read(able)
        scenarios = [point.read() for point in able]

        def on_outcome(index: int, outcome: Outcome) -> None:
            point, scenario = able[index], scenarios[index]
            if outcome.not_run is not None:
                note(Repeated(point, {}, [], outcome.not_run))
            elif outcome.failure is not None:
                failed = pl.DataFrame({"failure": [outcome.failure]})
                note(self._comparison(point, scenario, known, rows, {"runs": failed}))
            else:
                tables = {name: table(outcome, name) for name in COMPARED}
                note(self._comparison(point, scenario, known, rows, tables))

        if able:
            run_many(scenarios, jobs=jobs, on_outcome=on_outcome, on_tick=tick)

    def _read(self, points: Sequence[Point]) -> tuple[dict[str, str], dict[str, pl.DataFrame]]:
        """Stored resolved scenarios of runs, and their rows except for samples, of which there may be many."""
        ids = [point.run_id for point in points]
        known = self.store.of_runs("scenarios", ids) if ids else pl.DataFrame()
        rows = {name: self.store.of_runs(name, ids) for name in COMPARED if ids and name != "samples"}
        return dict(known.select("run_id", "scenario").iter_rows()) if ids else {}, rows

    def _comparison(
        self,
        point: Point,
        scenario: _core.Scenario,
        known: Mapping[str, str],
        rows: Mapping[str, pl.DataFrame],
        tables: Mapping[str, pl.DataFrame],
    ) -> Repeated:
        was = known[point.run_id]
        both = [] if was == scenario.json else differences(json.loads(was), json.loads(scenario.json))
        found: list[Difference] = []
        for name, now in tables.items():
            if name == "samples":
                there = self.store.of_runs(name, [point.run_id])
            else:
                there = rows[name].filter(pl.col("run_id") == point.run_id) if rows[name].width else rows[name]
            # A run shared by several parts of a study has a row in `runs` for each; a failed run has only its reason.
            found += compared(name, there.head(1) if name == "runs" else there, now)
        failed = (
            rows["runs"].filter(pl.col("run_id") == point.run_id)["failure"][0] if "failure" in rows["runs"] else None
        )
        if failed and "failure" not in tables["runs"].columns:
            found.insert(0, Difference("runs", "failure", 1, failed, None))
        return Repeated(point, {key: (old, new) for key, old, new in both}, found)


def compared(name: str, stored: pl.DataFrame, now: pl.DataFrame) -> Iterator[Difference]:
    """Columns in which two tables of a run differ in any bit, or only their numbers of rows if these differ."""
    if stored.height != now.height:
        yield Difference(name, "rows", abs(stored.height - now.height), stored.height, now.height)
        return
    for column in now.columns:
        if column in APART:
            continue
        if column not in stored.columns:
            # A table that was never written to has no columns.
            if now.height:
                yield Difference(name, column, now.height, "no such column", now[column][0])
            continue
        there, here = stored[column], now[column]
        unlike = np.flatnonzero(_bits(there) != _bits(here))
        if len(unlike):
            at = int(unlike[0])
            yield Difference(name, column, len(unlike), there[at], here[at])


def _bits(values: pl.Series) -> np.ndarray[Any, Any]:
    """Values in a comparable form: the bits of floating-point numbers, integers and flags as such, all else as text."""
    if values.dtype.is_float():
        bits = values.fill_null(0.0).cast(pl.Float64).to_numpy().view(np.uint64).astype(object)
        bits[values.is_null().to_numpy()] = None
        return bits
    whole = values.dtype.is_integer() or values.dtype == pl.Boolean()
    return np.array((values if whole else values.cast(pl.String)).to_list(), object)


def stored_runs(directory: str | Path, run_ids: Sequence[str] = (), *, allow_programs: Allowed = False) -> Stored:
    """Stored runs of a directory, all or by prefixes of their `run_id`, ready to be run again.

    They are read from what is stored: the study or scenario, its changes, copies of its files. `allow_programs` permits
    the user's own algorithms to run. Raises `ResultsError` for a run that is missing or no longer part of the study,
    `StudyError`.
    """
    store = Store(directory)
    if store.manifest["kind"] == "scenario":
        found = [_only(store, allow_programs)]
    else:
        study = open_campaign(directory).study.allowing(allow_programs)
        planned = _runs_of(study, store, run_ids) if run_ids else planned_runs(study, store)
        stored = set(store.stored["run_id"])
        found = [_point(run_id, run) for run_id, run in planned.items() if run_id in stored]
    return Stored(store, [_named(store, found, run_id) for run_id in run_ids] if run_ids else found)


def _runs_of(study: Study, store: Store, prefixes: Sequence[str]) -> dict[str, PlannedRun]:
    """The runs whose stored `run_id` has one of the prefixes, each built from its row alone. Raises `StudyError`."""
    planned = store.planned
    if planned is None:
        return {}
    named = planned.filter(pl.any_horizontal(pl.col("run_id").str.starts_with(prefix) for prefix in prefixes))
    rows = named.unique("run_id", keep="first", maintain_order=True).iter_rows(named=True)
    return {row["run_id"]: run for row in rows if (run := planned_run(study, row))}


def planned_runs(study: Study, store: Store) -> dict[str, PlannedRun]:
    """Runs of a study's plan by the `run_id` under which each is stored, in the plan's order.

    Runs are matched by part, levels and replication, as the `run_id` of an earlier engine's run differs. Raises
    `StudyError` if this version or this machine cannot plan the study; returns no runs for a design that this version
    reads differently.
    """
    size: Size = "full" if store.manifest["size"] == "full" else "quick"
    planned = store.planned
    if planned is None:
        return {}
    every = plan(study, size)
    design = list(every.columns)
    if set(design) - set(planned.columns):
        return {}
    rows = every.rows(every.runs).with_row_index("_nth").select("_nth", *design)
    try:
        distinct = planned.unique("run_id", keep="first", maintain_order=True)
        joined = distinct.join(rows, on=design, nulls_equal=True, maintain_order="left")
    except pl.exceptions.PolarsError:  # column types differ, so this is not the study that was run
        return {}
    return {run_id: every.runs[nth] for run_id, nth in joined.select("run_id", "_nth").iter_rows()}


def _point(run_id: str, run: PlannedRun) -> Point:
    levels = [f"{factor} {label}" for factor, label in run.labels.items()]
    return Point(run_id, ", ".join([*levels, f"seed {run.seed}"]), lambda: run.scenario, run.lacking)


def _only(store: Store, allow_programs: Allowed) -> Point:
    """Run of a single scenario's directory. Raises `ResultsError`."""
    manifest = store.manifest
    recipe = recipe_of(store.directory, manifest, inputs.kept(store.directory, manifest), allow_programs)
    return Point(str(manifest["run"]), f"{manifest['name']}, seed {manifest['seed']}", recipe)


def _named(store: Store, found: Sequence[Point], run_id: str) -> Point:
    """Run whose `run_id` starts with `run_id`. Raises `ResultsError` unless there is exactly one."""
    named = [point for point in found if point.run_id.startswith(run_id)]
    if len(named) == 1:
        return named[0]
    if named:
        raise ResultsError(f"{store.directory}: {run_id!r} begins {len(named)} runs; write more of it")
    if any(store.stored["run_id"].str.starts_with(run_id)):
        why = "is stored, but the study does not have it any more, or this version reads it otherwise"
        raise ResultsError(f"{store.directory}: run {run_id} {why}")
    listed = f"`vazao sql {store.directory} 'SELECT run_id FROM runs'` lists them"
    raise ResultsError(f"{store.directory}: has no run {run_id!r}; {listed}")


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= 60 else f"{text[:60]}…"
