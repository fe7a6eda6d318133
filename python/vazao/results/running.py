"""Simulating what is missing of a plan: every finished run is committed soon after it ends."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import polars as pl

from vazao import _core
from vazao.errors import ResultsError
from vazao.results.growth import in_order
from vazao.results.pace import Pace
from vazao.results.result import table
from vazao.results.shard import Shard
from vazao.results.simulating import run_many
from vazao.results.store import Store
from vazao.results.writer import Writer
from vazao.scenario import lacking
from vazao.study import Plan

if TYPE_CHECKING:
    from vazao.results.simulating import Outcome

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

    writer: Writer
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
        tables["runs"] = pl.concat([_run_row(scenario, outcome) for scenario, outcome in self.outcomes], how="diagonal")
        return tables


def _run_row(scenario: _core.Scenario, outcome: Outcome) -> pl.DataFrame:
    """A run's row; a failed run's has its reason and no measures."""
    if outcome.failure is None:
        measured = table(outcome, "runs")
    else:
        measured = pl.DataFrame({"run_id": [scenario.run_id], "seed": [scenario.seed]}, schema_overrides={"seed": SEED})
    return measured.with_columns(failure=pl.lit(outcome.failure, pl.String))


def run_missing(
    planned: Plan, rows: pl.DataFrame, writer: Writer, jobs: int, progress: Progress, shard: Shard
) -> tuple[int, int]:
    """Simulate what is not stored of a shard and this machine can run; every run of it gets its row or its reason.

    `rows` are the plan's, under the run_ids by which stored runs are found (`planned_rows`). Gives how many were
    simulated, and how many could not be although they should have.
    """
    store = Store(writer.directory)
    wanted = rows.join(store.stored, on="run_id", how="anti")
    wanted_ids, scenarios = set(wanted["run_id"]), shard.share(planned.scenarios)
    missing = [scenario for scenario in scenarios if scenario.run_id in wanted_ids]
    batch = _Batch(writer)
    batch.not_run = {scenario.run_id: reason for scenario in missing if (reason := lacking(scenario))}
    first = dict(rows.sort("replication", descending=True).select("run_id", "replication").iter_rows())
    # All cells once, then all twice: what is there early is balanced. Of each, the longest first, so that no core waits
    # for another at the end.
    able = [scenario for scenario in missing if scenario.run_id not in batch.not_run]
    pace = Pace()
    able.sort(key=lambda scenario: (first[scenario.run_id], -pace.seconds(scenario)))
    progress.start(len(scenarios) - len(batch.not_run), len(scenarios) - len(missing))
    try:
        if able:
            _simulate(able, batch, jobs, progress)
    finally:
        progress.close()
    _note_not_run(rows, batch)
    started = sum(scenario.run_id not in batch.not_run for scenario in able)
    return started, len(able) - started


def _note_not_run(rows: pl.DataFrame, batch: _Batch) -> None:
    """Keep which planned runs could not be run; what a call of another size has noted stays until it is run."""
    store = Store(batch.writer.directory)
    reasons = pl.DataFrame(list(batch.not_run.items()), {"run_id": pl.String, "reason": pl.String}, orient="row")
    now = rows.join(reasons, on="run_id", how="inner", maintain_order="left").drop("run_id")
    if (earlier := store.not_run).height:
        key = [name for name in now.columns if name != "reason"]
        if all(earlier.schema.get(name) == now.schema[name] for name in key):
            others = store.query("SELECT * FROM planned ANTI JOIN runs USING (run_id)")
            earlier = earlier.join(others, on=key, how="semi", nulls_equal=True)
            now = pl.concat([earlier.join(now, on=key, how="anti", nulls_equal=True), now])
    batch.writer.note_not_run(in_order(now))


def _simulate(scenarios: list[_core.Scenario], batch: _Batch, jobs: int, progress: Progress) -> None:
    work = list(map(Pace().seconds, scenarios))
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
