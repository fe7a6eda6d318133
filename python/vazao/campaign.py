"""Campaigns: run what is missing of a study, keep every finished run, and answer from the stored rows."""

from __future__ import annotations

import os
import platform
import time
from collections import defaultdict
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import polars as pl

from vazao import _core, findings, inputs
from vazao.errors import ResultsError, StudyError, did_you_mean
from vazao.pace import Pace
from vazao.result import table
from vazao.statistics import two_level_effects
from vazao.store import STUDY, Store, Writer, check_usable, read_manifest, writing
from vazao.study import Plan, PlannedRun, Size, Study, design_columns, lacking, parse_study, plan
from vazao.study.source import read_text
from vazao.version import __version__

if TYPE_CHECKING:
    from altair import Chart, FacetChart, LayerChart

SEED = pl.Int64()
"""The type of a seed in `runs`."""

FLUSH_SECONDS = 0.5
FLUSH_RUNS = 256
FLUSH_SAMPLES = 2_000_000
"""A finished run is on disk at most so long after it ended, and a batch holds at most so many."""


class Progress(Protocol):
    """Who wants to know how far a campaign is."""

    def start(self, total: int, done: int) -> None:
        """`total` runs in all, of which `done` were stored already."""

    def advance(self, runs: int, work: float) -> None:
        """So many more have finished (0: time has passed); `work` is the share, 0 to 1, of all the work now done."""

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


@dataclass(frozen=True)
class Campaign:
    """A study's stored results."""

    study: Study
    directory: Path
    started: int = 0
    """How many runs this call simulated; 0 when all were stored."""

    @cached_property
    def store(self) -> Store:
        """The results directory, for SQL."""
        return Store(self.directory)

    @property
    def runs(self) -> pl.DataFrame:
        """One row per run: part, factors, replication, seed, fairness, utilisation."""
        return self.store.read("runs")

    @property
    def not_run(self) -> pl.DataFrame:
        """One row per planned run that could not be run here: the design's columns, and the `reason`."""
        return self.store.not_run

    @property
    def flows(self) -> pl.DataFrame:
        """One row per flow and run: times in seconds, rates in bits per second, sizes in bytes."""
        return self.store.read("flows")

    @property
    def paths(self) -> pl.DataFrame:
        """One row per path of a flow and run."""
        return self.store.read("paths")

    @property
    def links(self) -> pl.DataFrame:
        """One row per link, direction and run."""
        return self.store.read("links")

    @property
    def samples(self) -> pl.DataFrame:
        """Time series that the study records."""
        return self.store.read("samples")

    @cached_property
    def findings(self) -> list[findings.Result]:
        """The ledger: every claim with its verdict."""
        return findings.evaluate(self.study, self.store, self.not_run)

    def sql(self, query: str) -> pl.DataFrame:
        """Ask the tables runs, flows, paths, links and samples anything (DuckDB)."""
        return self.store.query(query)

    def table(self, table_id: str) -> pl.DataFrame:
        """The rows of one of the study's tables."""
        tables = {table.id: table for table in self.study.tables}
        if table_id not in tables:
            raise StudyError(f"{table_id!r} is not a table of {self.study.name}{did_you_mean(table_id, tables)}")
        return self.store.query(tables[table_id].sql)

    def figure(self, figure_id: str) -> Chart | LayerChart | FacetChart:
        """A figure of the study as an interactive Altair chart."""
        from vazao import figures

        return figures.chart(self.study, self.store, figure_id)

    def effects(self, part: str, response: str) -> pl.DataFrame:
        """Main effects and interactions of a two-level part on a column of `runs`; see `two_level_effects`."""
        columns = design_columns(self.study)
        levels = {
            factor.name: [str(label) if columns[factor.name] == pl.String() else label for label in factor.labels]
            for factor in self.study.part(part).factors
        }
        factors = {name: (low, high) for name, (low, high) in levels.items()}
        return two_level_effects(self.runs.filter(pl.col("part") == part), factors, response)

    def failures(self) -> list[tuple[str, str]]:
        """The runs that failed: run_id and what went wrong."""
        failed = self.store.query("SELECT DISTINCT run_id, failure FROM runs WHERE failure IS NOT NULL ORDER BY run_id")
        return [(run_id, failure) for run_id, failure in failed.iter_rows()]


def default_directory(name: str) -> Path:
    """Where results go when nobody says otherwise."""
    return Path("results") / name


def run(
    study: Study,
    *,
    size: Size | None = None,
    jobs: int | None = None,
    out: str | Path | None = None,
    progress: Progress | None = None,
) -> Campaign:
    """Simulate what `out` (default: results/NAME) does not hold yet, commit it as it ends, evaluate the findings.

    Quick is a subset of full, so full goes on where quick ended; without a size, a directory goes on as it was begun,
    and a new one is quick. Runs for which this machine lacks a kernel are noted as not run (`Campaign.not_run`), and
    run by the next call that has it. Raises `StudyError` for a wrong study, `ResultsError` for a directory that cannot
    be used; after Ctrl-C the finished runs are stored.
    """
    from vazao.rehearsal import rehearse

    rehearse(study)
    directory = Path(out) if out is not None else default_directory(study.name)
    begun = read_manifest(directory) or {}
    planned = plan(study.with_inputs(inputs.kept(directory, begun)), size or begun.get("size", "quick"))
    manifest = manifest_of(planned)
    if there := check_usable(directory, manifest):
        # A kernel that made rows stays theirs, although it may be gone.
        kernels = manifest["kernels"] | {name: sha for name, sha in there.get("kernels", {}).items() if sha}
        digests = there.get("inputs", {}) | manifest["inputs"]
        noted = {"kernels": kernels, "inputs": digests, "not_run": there.get("not_run", {})}
        # A quick study asked of a directory that was begun as full is a part of what belongs there.
        manifest = (there | {"versions": manifest["versions"]} if there["size"] == "full" else manifest) | noted
    with writing(directory, manifest, study.text) as writer:
        inputs.keep(directory, planned.inputs)
        started = _run_missing(planned, writer, jobs or os.cpu_count() or 1, progress or Silent())
    campaign = Campaign(planned.study, directory, started)
    findings.write(campaign.findings, directory)
    return campaign


def open_campaign(directory: str | Path) -> Campaign:
    """The stored results of a study, with the study file they came from. Raises `ResultsError`, `StudyError`."""
    directory = Path(directory)
    store = Store(directory)
    if store.manifest["kind"] != "study":
        raise ResultsError(f"{directory}: holds the results of a scenario, not of a study")
    path = directory / STUDY
    study = parse_study(read_text(path), str(path))
    study = study.changed(store.manifest["overrides"], store.manifest["seed"])
    return Campaign(study.with_inputs(inputs.kept(directory, store.manifest)), directory)


def manifest_of(planned: Plan) -> dict[str, Any]:
    """What the directory of a plan's results says about them. It names no date: the same study, the same bytes."""
    study = planned.study
    parts = []
    for part in study.parts:
        runs = [run for run in planned.runs if run.part == part.name]
        replications = getattr(part.replications, planned.size)
        parts.append(
            {
                "name": part.name,
                "design": part.design,
                "combinations": len(runs) // replications,
                "replications": replications,
                "runs": len(runs),
            }
        )
    return {
        "kind": "study",
        "name": study.name,
        "title": study.title,
        "design_sha256": study.design_hash,
        "size": planned.size,
        "seed": study.seed,
        "overrides": [list(override) for override in study.overrides],
        "runs": len(planned.runs),
        "parts": parts,
        "order": _order(planned),
        "versions": versions(),
        "kernels": planned.kernels,
        "inputs": inputs.digests(planned.inputs),
        "not_run": {},
    }


def _order(planned: Plan) -> list[str]:
    """The columns that put runs in order: part, factors (by their numbers where they have some), replication."""
    factors = [name for name in planned.columns if name not in ("part", "replication")]
    return ["part", *sorted(factors, key=lambda name: planned.columns[name] == pl.String()), "replication"]


def versions() -> dict[str, str]:
    """What made a result. Only the engine's version decides what a run gives."""
    return {"engine": _core.ENGINE_VERSION, "vazao": __version__, "python": platform.python_version()}


@dataclass
class _Batch:
    """Runs that ended since the last commit."""

    plan: Plan
    writer: Writer
    rows_of: dict[str, list[PlannedRun]]
    outcomes: list[tuple[_core.Scenario, _core.Outcome]] = field(default_factory=list)
    samples: list[_core.Table] = field(default_factory=list)
    since: float = 0.0
    not_run: dict[str, str] = field(default_factory=dict)
    """Why scenarios, by their run_id, could not be run."""

    def add(self, scenario: _core.Scenario, outcome: _core.Outcome) -> None:
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


def _run_row(scenario: _core.Scenario, outcome: _core.Outcome) -> pl.DataFrame:
    """A run's row; a failed run's has its reason and no measures."""
    if outcome.failure is None:
        measured = table(outcome, "runs")
    else:
        measured = pl.DataFrame({"run_id": [scenario.run_id], "seed": [scenario.seed]}, schema_overrides={"seed": SEED})
    return measured.with_columns(failure=pl.lit(outcome.failure, pl.String))


def _with_design(design: pl.DataFrame, measured: pl.DataFrame) -> pl.DataFrame:
    """Rows of the design with what their runs measured."""
    return design.join(measured, on="run_id", how="left", maintain_order="left")


def _run_missing(planned: Plan, writer: Writer, jobs: int, progress: Progress) -> int:
    """Simulate what no stored row has and this machine can run; every planned run gets its row or its reason.

    Gives how many were simulated.
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
    return sum(scenario.run_id not in batch.not_run for scenario in able)


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
    batch.writer.note_not_run(now.sort(_order(planned), maintain_order=True))


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

    def on_outcome(index: int, outcome: _core.Outcome) -> None:
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
        _core.run_many(scenarios, jobs=jobs, on_outcome=on_outcome, on_tick=on_tick)
    except ResultsError:
        raise
    except BaseException:
        # Ctrl-C or a defect: what has finished is kept.
        batch.flush()
        raise
    batch.flush()
