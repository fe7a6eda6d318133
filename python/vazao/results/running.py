"""Simulating what is missing of a plan: every finished run is committed soon after it ends."""

from __future__ import annotations

import time
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Protocol

import polars as pl

from vazao import _core
from vazao.errors import ResultsError
from vazao.results.pace import Pace
from vazao.results.result import table
from vazao.results.simulating import Outcome, run_many
from vazao.results.store import Store
from vazao.results.writer import Writer
from vazao.scenario import lacking
from vazao.study import Plan, PlannedRun

SEED = pl.Int64()
"""The type of a seed in `runs`."""

FLUSH_SECONDS = 0.5
FLUSH_RUNS = 256
FLUSH_SAMPLES = 2_000_000
"""A finished run is on disk at most so long after it ended, and a batch holds at most so many."""


class Progress(Protocol):
    """An observer of how far a campaign is."""

    def start(self, total: int, done: int) -> None:
        """`total` runs in all, of which `done` were stored already."""

    def advance(self, runs: int, work: float) -> None:
        """Note that `runs` more have finished (0: time has passed); `work` is the share of all work done, 0 to 1."""

    def close(self) -> None:
        """No more will be run."""


class Silent:
    """No progress is shown."""

    def start(self, total: int, done: int) -> None:
        """Say nothing."""

    def advance(self, runs: int, work: float) -> None:
        """Say nothing."""

    def close(self) -> None:
        """Say nothing."""


@dataclass
class _Batch:
    """Runs that ended since the last commit."""

    plan: Plan
    writer: Writer
    rows_of: dict[str, list[PlannedRun]]
    outcomes: list[tuple[_core.Scenario, Outcome]] = field(default_factory=list)
    samples: list[_core.Table] = field(default_factory=list)
    since: float = 0.0
    not_run: dict[str, str] = field(default_factory=dict)
    """Reasons why scenarios, by their run_id, could not be run."""

    def add(self, scenario: _core.Scenario, outcome: Outcome) -> None:
        if outcome.not_run is not None:
            self.not_run[scenario.run_id] = outcome.not_run
            return
        if not self.outcomes:
            self.since = time.monotonic()
        self.outcomes.append((scenario, outcome))
        if outcome.failure is None:
            self.samples.append(outcome.table("samples"))

    def is_due(self) -> bool:
        old = time.monotonic() - self.since > FLUSH_SECONDS * 0.8
        many = len(self.outcomes) >= FLUSH_RUNS or sum(map(len, self.samples)) >= FLUSH_SAMPLES
        return bool(self.outcomes) and (old or many)

    def flush(self) -> None:
        if self.outcomes:
            self.writer.commit(self._tables(), self.samples)
            self.outcomes, self.samples = [], []

    def _tables(self) -> dict[str, pl.DataFrame]:
        # A run that failed has no tables.
        measured = [outcome for _, outcome in self.outcomes if outcome.failure is None]
        names = ("flows", "paths", "links") if measured else ()
        tables = {name: pl.concat([table(outcome, name) for outcome in measured]) for name in names}
        tables["scenarios"] = pl.DataFrame(
            [(scenario.run_id, scenario.json) for scenario, _ in self.outcomes],
            schema={"run_id": pl.String, "scenario": pl.String},
            orient="row",
        )
        rows = pl.concat([_run_row(scenario, outcome) for scenario, outcome in self.outcomes], how="diagonal")
        planned = [run for scenario, _ in self.outcomes for run in self.rows_of[scenario.run_id]]
        tables["runs"] = _with_design(self.plan.rows(planned), rows)
        return tables


def _run_row(scenario: _core.Scenario, outcome: Outcome) -> pl.DataFrame:
    """A run's row; a failed run's has its reason and no measures."""
    if outcome.failure is None:
        measured = table(outcome, "runs")
    else:
        measured = pl.DataFrame({"run_id": [scenario.run_id], "seed": [scenario.seed]}, schema_overrides={"seed": SEED})
    return measured.with_columns(failure=pl.lit(outcome.failure, pl.String))


def _with_design(design: pl.DataFrame, measured: pl.DataFrame) -> pl.DataFrame:
    """Rows of the design with what their runs measured."""
    return design.join(measured, on="run_id", how="left", maintain_order="left")


def run_missing(planned: Plan, writer: Writer, jobs: int, progress: Progress) -> tuple[int, int]:
    """Simulate what no stored row has and this machine can run; every planned run gets its row or its reason.

    Gives how many were simulated, and how many could not be although they should have.
    """
    rows_of: dict[str, list[PlannedRun]] = defaultdict(list)
    for run in planned.runs:
        rows_of[run.scenario.run_id].append(run)
    stored = Store(writer.directory).read("runs")
    done = set(stored["run_id"]) if stored.width else set()
    _share(planned, stored, [run for run in planned.runs if run.scenario.run_id in done], writer)
    # Not by run_id: a guest's run has another one when its kernel is gone, and what is stored of it stays.
    wanted = set(_without(planned.rows(planned.runs), stored)["run_id"]) - done
    missing = [scenario for scenario in planned.scenarios if scenario.run_id in wanted]
    batch = _Batch(planned, writer, rows_of)
    batch.not_run = {scenario.run_id: reason for scenario in missing if (reason := lacking(scenario))}
    # The longest first, so that no core waits for another at the end.
    able = sorted((s for s in missing if s.run_id not in batch.not_run), key=Pace().seconds, reverse=True)
    progress.start(len(rows_of) - len(batch.not_run), len(rows_of) - len(missing))
    try:
        if able:
            _simulate(able, batch, jobs, progress)
    finally:
        progress.close()
    _note_not_run(planned, batch, stored.select(list(planned.columns)) if stored.width else stored)
    started = sum(scenario.run_id not in batch.not_run for scenario in able)
    return started, len(able) - started


def _without(rows: pl.DataFrame, others: pl.DataFrame) -> pl.DataFrame:
    """Rows of the design that are not among others."""
    key = [name for name in rows.columns if name not in ("run_id", "reason")]
    if not others.width:
        return rows
    return rows.join(others.select(key), on=key, how="anti", nulls_equal=True, maintain_order="left")


def _note_not_run(planned: Plan, batch: _Batch, stored: pl.DataFrame) -> None:
    """Keep which planned runs could not be run; what a call of another size has noted stays until it is run."""
    store = Store(batch.writer.directory)
    runs = [run for run in planned.runs if run.scenario.run_id in batch.not_run]
    reasons = pl.DataFrame(list(batch.not_run.items()), {"run_id": pl.String, "reason": pl.String}, orient="row")
    now = planned.rows(runs).join(reasons, on="run_id", maintain_order="left").drop("run_id")
    if (earlier := store.not_run).height:
        now = pl.concat([_without(_without(earlier, planned.rows(planned.runs)), stored), now])
    batch.writer.note_not_run(now.sort(order(planned), maintain_order=True))


def _share(planned: Plan, stored: pl.DataFrame, runs: list[PlannedRun], writer: Writer) -> None:
    """Give planned runs whose scenario another part has run their own rows: nothing is simulated twice."""
    if not runs:
        return
    key = ["run_id", *planned.columns]
    design = planned.rows(runs)
    new = design.join(stored.select(key), on=key, how="anti", nulls_equal=True, maintain_order="left")
    if new.height:
        measured = stored.drop(planned.columns).unique("run_id", maintain_order=True)
        writer.commit({"runs": _with_design(new, measured)})


def _simulate(scenarios: list[_core.Scenario], batch: _Batch, jobs: int, progress: Progress) -> None:
    work = [Pace().seconds(scenario) for scenario in scenarios]
    total = sum(work) or 1.0
    ended = 0.0

    def on_outcome(index: int, outcome: Outcome) -> None:
        nonlocal ended
        batch.add(scenarios[index], outcome)
        ended += work[index]
        progress.advance(1, ended / total)
        if batch.is_due():
            batch.flush()

    def on_tick() -> None:
        progress.advance(0, ended / total)
        if batch.is_due():
            batch.flush()

    try:
        run_many(scenarios, jobs=jobs, on_outcome=on_outcome, on_tick=on_tick)
    except ResultsError:
        raise
    except BaseException:
        # Ctrl-C or a defect: what has finished is kept.
        batch.flush()
        raise
    batch.flush()


def order(planned: Plan) -> list[str]:
    """The columns that put runs in order: part, factors (by their numbers where they have some), replication."""
    factors = [name for name in planned.columns if name not in ("part", "replication")]
    return ["part", *sorted(factors, key=lambda name: planned.columns[name] == pl.String()), "replication"]
