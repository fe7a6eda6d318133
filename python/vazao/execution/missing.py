"""Simulation of a plan's missing runs: every finished run is committed soon after it ends."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import polars as pl

from vazao import _core
from vazao.errors import ResultsError
from vazao.execution.rows import Rows, rows_of, together
from vazao.execution.shard import Shard
from vazao.execution.simulation import run_many
from vazao.forecast import Pace
from vazao.store import Store, Writer, in_order
from vazao.study import Plan, PlannedRun, scenarios_of

if TYPE_CHECKING:
    from vazao.execution.cluster import Cluster
    from vazao.store import Outcome

FLUSH_SECONDS = 0.5
FLUSH_RUNS = 2048
FLUSH_ROWS = 200_000
FLUSH_SAMPLES = 2_000_000
"""Limits of a batch: the time until a finished run is on disk; its numbers of runs, of other rows, and of samples."""

MEASURED = ("flows", "paths", "links")
"""Tables whose rows count besides runs and samples."""


class Progress(Protocol):
    """Observer of a campaign's progress."""

    def start(self, total: int, done: int) -> None:
        """Begin a campaign of `total` runs, of which `done` are already stored."""

    def advance(self, runs: int, work: float) -> None:
        """Report `runs` more finished runs (0: time has passed); `work` is the share of all work done, 0 to 1."""

    def close(self) -> None:
        """End the campaign: no more runs follow."""


class Silent:
    """Progress observer that displays nothing."""

    def start(self, total: int, done: int) -> None:
        """Do nothing."""

    def advance(self, runs: int, work: float) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""


@dataclass
class _Batch:
    """Runs that have finished since the last commit."""

    writer: Writer
    outcomes: list[tuple[_core.Scenario, Outcome]] = field(default_factory=list)
    """Runs of this process."""
    others: list[Rows] = field(default_factory=list)
    """Runs of other processes."""
    runs: int = 0
    rows: int = 0
    samples: int = 0
    since: float = 0.0
    not_run: dict[str, str] = field(default_factory=dict)
    """Reasons why scenarios could not be run, by run_id."""

    def add(self, scenario: _core.Scenario, outcome: Outcome) -> None:
        if outcome.not_run is not None:
            self.not_run[scenario.run_id] = outcome.not_run
            return
        rows, samples = 0, 0
        if outcome.failure is None:
            rows = sum(len(outcome.table(name)) for name in MEASURED)
            samples = len(outcome.table("samples"))
        self._count(1, rows, samples)
        self.outcomes.append((scenario, outcome))

    def add_rows(self, rows: Rows) -> None:
        measured = sum(rows.tables[name].height for name in MEASURED if name in rows.tables)
        self._count(rows.tables["runs"].height, measured, sum(map(len, rows.samples)))
        self.others.append(rows)

    def _count(self, runs: int, rows: int, samples: int) -> None:
        if not self.runs:
            self.since = time.monotonic()
        self.runs += runs
        self.rows += rows
        self.samples += samples

    def is_due(self) -> bool:
        old = time.monotonic() - self.since > FLUSH_SECONDS * 0.8
        many = self.runs >= FLUSH_RUNS or self.rows >= FLUSH_ROWS or self.samples >= FLUSH_SAMPLES
        return bool(self.runs) and (old or many)

    def flush(self) -> None:
        if self.runs:
            ours = [rows_of(self.outcomes)] if self.outcomes else []
            rows = together([*ours, *self.others])
            self.writer.commit(rows.tables, rows.samples)
            self.outcomes, self.others = [], []
            self.runs = self.rows = self.samples = 0


def run_missing(
    planned: Plan, rows: pl.DataFrame, writer: Writer, on: int | Cluster, progress: Progress, shard: Shard
) -> tuple[int, int]:
    """Simulate the runs of a shard that are not stored and that this machine can run.

    `rows` are the plan's, under the run_ids by which stored runs are found (`planned_rows`). `on` is a number of cores
    of this machine, or a cluster. Every run of the shard gets its row or its reason. Returns the number of runs
    simulated, and of those that unexpectedly could not be run.
    """
    store = Store(writer.directory)
    wanted = rows.join(store.stored, on="run_id", how="anti")
    wanted_ids, runs = set(wanted["run_id"]), shard.share(planned.distinct)
    missing = [run for run in runs if run.run_id in wanted_ids]
    batch = _Batch(writer)
    batch.not_run = {run.run_id: reason for run in missing if (reason := run.lacking)}
    first = dict(rows.sort("replication", descending=True).select("run_id", "replication").iter_rows())
    # First replications of all cells come first, so that early results are balanced; among equals, the longest run
    # comes first, so that no core waits for another at the end.
    able = [run for run in missing if run.run_id not in batch.not_run]
    pace = Pace()
    able.sort(key=lambda run: (first[run.run_id], -pace.seconds(run)))
    progress.start(len(runs) - len(batch.not_run), len(runs) - len(missing))
    try:
        if able:
            _simulate(able, batch, on, progress)
    finally:
        progress.close()
    _note_not_run(rows, batch)
    started = sum(run.run_id not in batch.not_run for run in able)
    return started, len(able) - started


def _note_not_run(rows: pl.DataFrame, batch: _Batch) -> None:
    """Record which planned runs could not be run; those of a call of another size stay until they are run."""
    store = Store(batch.writer.directory)
    reasons = pl.DataFrame(list(batch.not_run.items()), {"run_id": pl.String, "reason": pl.String}, orient="row")
    now = rows.join(reasons, on="run_id", how="inner", maintain_order="left").drop("run_id")
    if (earlier := store.not_run).height:
        key = [name for name in now.columns if name != "reason"]
        if all(earlier.schema.get(name) == now.schema[name] for name in key):
            others = store.query("SELECT * FROM planned ANTI JOIN runs USING (run_id)")
            earlier = earlier.join(others, on=key, how="semi", nulls_equal=True)
            now = pl.concat([earlier.join(now, on=key, how="anti", nulls_equal=True), now])
    batch.writer.write_not_run(in_order(now))


WINDOW = 4096
"""Number of runs whose scenarios are in memory at a time."""


def _simulate(runs: list[PlannedRun], batch: _Batch, on: int | Cluster, progress: Progress) -> None:
    work = list(map(Pace().seconds, runs))
    total = sum(work) or 1.0
    ended = 0.0

    def note(indices: Sequence[int]) -> None:
        nonlocal ended
        ended += sum(work[index] for index in indices)
        progress.advance(len(indices), ended / total)
        if batch.is_due():
            batch.flush()

    try:
        if isinstance(on, int):
            for first in range(0, len(runs), WINDOW):
                _simulate_here(runs[first : first + WINDOW], first, batch, on, note)
        else:
            on.simulate(runs, work, batch, note)
    except ResultsError:
        raise
    except BaseException:
        # Ctrl-C or a bug: keep what has finished.
        batch.flush()
        raise
    batch.flush()


def _simulate_here(
    runs: Sequence[PlannedRun], first: int, batch: _Batch, jobs: int, note: Callable[[Sequence[int]], None]
) -> None:
    """Simulate runs of a campaign, of which `first` is the index of the first, on cores of this machine."""
    scenarios = scenarios_of(runs)

    def on_outcome(index: int, outcome: Outcome) -> None:
        batch.add(scenarios[index], outcome)
        note([first + index])

    run_many(scenarios, jobs=jobs, on_outcome=on_outcome, on_tick=lambda: note([]))
