"""Re-execution of stored runs from what is stored with them, compared bit by bit."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from vazao import _core
from vazao.errors import ResultsError, ScenarioError
from vazao.execution import CodeRequest, Progress, run_many
from vazao.results.campaign import open_campaign
from vazao.scenario import from_json, lacking
from vazao.store import KEY, Store, differences, inputs, table
from vazao.study import PlannedRun, Size, Study, plan

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
    """A stored run: its ID, and its levels and seed as text."""

    run_id: str
    label: str


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
    allowed: Allowed = False
    """Permission to run algorithms from files."""

    def scenario(self, point: Point) -> _core.Scenario:
        """The scenario of a run, read from what is stored with it alone. Raises `ScenarioError`."""
        return self._scenario(point, self._texts([point])[point.run_id])

    def request(self) -> CodeRequest:
        """Programs and code that the runs would execute. Runs that cannot be read here execute nothing."""
        return CodeRequest.of(self._readable())

    def _readable(self) -> Iterator[_core.Scenario]:
        for first in range(0, len(self.points), WINDOW):
            window = self.points[first : first + WINDOW]
            texts = self._texts(window)
            for point in window:
                with suppress(ScenarioError):
                    yield self._scenario(point, texts[point.run_id])

    def _scenario(self, point: Point, text: str) -> _core.Scenario:
        manifest, directory = self.store.manifest, self.store.directory
        place = {"name": str(manifest["name"]), "file": str(directory / point.run_id)}
        return from_json(text, inputs=inputs.kept(directory, manifest), allow_programs=self.allowed, **place)  # type: ignore[arg-type]

    def _texts(self, points: Sequence[Point]) -> dict[str, str]:
        """Canonical forms of runs' scenarios as they are stored."""
        return dict(
            self.store.of_runs("scenarios", [point.run_id for point in points]).select("run_id", "scenario").iter_rows()
        )

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
        return self._comparison(point, scenario, self._texts([point]), self._rows([point]), tables)

    def _repeat(
        self, points: Sequence[Point], jobs: int, note: Callable[[Repeated], None], tick: Callable[[], None]
    ) -> None:
        known = self._texts(points)
        able: list[Point] = []
        scenarios: list[_core.Scenario] = []
        for point in points:
            try:
                scenario = self._scenario(point, known[point.run_id])
            except ScenarioError as error:
                note(Repeated(point, {}, [], str(error)))
                continue
            if reason := lacking(scenario):
                note(Repeated(point, {}, [], reason))
                continue
            able.append(point)
            scenarios.append(scenario)
        rows = self._rows(able)

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

    def _rows(self, points: Sequence[Point]) -> dict[str, pl.DataFrame]:
        """Stored rows of runs except for samples, of which there may be many."""
        ids = [point.run_id for point in points]
        return {name: self.store.of_runs(name, ids) for name in COMPARED if ids and name != "samples"}

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


def stored_runs(directory: str | Path, run_ids: Sequence[str] = ()) -> Stored:
    """Stored runs of a directory, all or by prefixes of their `run_id`, ready to be run again.

    Each is read from its own stored scenario and copies of its files; of other runs nothing but the names is. Raises
    `ResultsError` for a run that is missing or no longer part of the study, `StudyError`.
    """
    store = Store(directory)
    if run_ids:
        found, store = store.holding(run_ids)
        run_ids = [_named(store, found, run_id) for run_id in run_ids]
    if store.manifest["kind"] == "scenario":
        label = f"{store.manifest['name']}, seed {store.manifest['seed']}"
        return Stored(store, [Point(str(store.manifest["run"]), label)])
    planned = store.of_runs("planned", run_ids) if run_ids else store.planned
    if planned is None:
        return Stored(store, [])
    labels = _labels(open_campaign(directory).study, planned)
    for run_id in run_ids:
        if run_id not in labels:
            raise ResultsError(f"{directory}: run {run_id} is stored, but the study does not have it any more")
    stored = set(store.stored["run_id"])
    return Stored(store, [Point(each, labels[each]) for each in run_ids or labels if each in stored])


def _labels(study: Study, planned: pl.DataFrame) -> dict[str, str]:
    """Levels and seed, as text, of the runs of a design's rows, in their order."""
    labels: dict[str, str] = {}
    factors = {part.name: part.factors for part in study.parts}
    for row in planned.iter_rows(named=True):
        levels = [
            f"{factor.name} {next((label for label in factor.labels if row[factor.name] in (label, str(label))), '')}"
            for factor in factors.get(row["part"], ())
            if factor.name in row
        ]
        labels.setdefault(row["run_id"], ", ".join([*levels, f"seed {study.seed + row[KEY]}"]))
    return labels


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


def _named(store: Store, found: Sequence[str], prefix: str) -> str:
    """The run found whose `run_id` starts with a prefix. Raises `ResultsError` unless there is exactly one."""
    named = [run_id for run_id in found if run_id.startswith(prefix)]
    if len(named) == 1:
        return named[0]
    if named:
        raise ResultsError(f"{store.directory}: {prefix!r} begins {len(named)} runs; write more of it")
    listed = f"`vazao sql {store.directory} 'SELECT run_id FROM runs'` lists them"
    raise ResultsError(f"{store.directory}: has no run {prefix!r}; {listed}")


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= 60 else f"{text[:60]}…"
