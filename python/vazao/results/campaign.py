"""Campaigns: simulate the missing runs of a study, store every finished run, and query the stored rows."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from vazao import display, figures
from vazao.errors import ClusterError, ResultsError, StudyError, VazaoError, did_you_mean
from vazao.execution import WHOLE, Cluster, Progress, Shard, Silent, cluster_of, reject_unapproved_code, run_missing
from vazao.files import locked, owned, write_atomically
from vazao.measurements import measurement_files
from vazao.statistics import two_level_effects
from vazao.store import (
    PLANNED,
    STUDY,
    Product,
    Store,
    check_usable,
    inputs,
    left_out,
    planned_rows,
    product,
    read_manifest,
    readme,
    validate_queries,
    versions,
    writing,
)
from vazao.study import (
    Plan,
    Size,
    Study as Described,
    design_columns,
    find,
    findings,
    in_language,
    is_shipped,
    parse_as,
    plan,
    read_text,
    sources,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from altair import Chart, FacetChart, LayerChart

    from vazao.execution import On
    from vazao.measurements import Measured


class Study(Described):
    """A published evaluation to reproduce, as its file describes it: template, designs, figures, findings."""

    def run(
        self,
        *,
        size: Size = "quick",
        jobs: int | None = None,
        out: str | Path | None = None,
        on: On | None = None,
        measurements: Sequence[str | Path] = (),
    ) -> Campaign:
        """Simulate the study's missing runs (on all cores unless `jobs` is given) and evaluate its findings.

        Results are stored in `out` (default: `results/NAME`); stored runs are not repeated. Runs execute `on` a cluster
        if one is given: "local:8", "dask://HOST:PORT", a `distributed.Client`, or any Dask cluster. `measurements` are
        files of an author's own measurements, which join the study (`Campaign.measurements`).
        """
        return run_study(self, size=size, jobs=jobs, out=out, on=on, measurements=measurements)


def load_study(name: str | Path, *, lang: str | None = None, allow_programs: bool = False) -> Study:
    """Read and validate a study: a TOML file, or a built-in study by its name. Raises `StudyError`.

    `lang` is the language of its texts and reports, "en" or "pt" (default: the study's own `lang`). `allow_programs`
    permits running algorithms from files that the study names (`mine.py:Cautious`), whoever wrote them.
    """
    path = find(str(name))
    study = in_language(parse_as(Study, read_text(path), str(path)), lang)
    return study.allowing() if allow_programs else study


@dataclass(frozen=True)
class Campaign:
    """A study's stored results."""

    study: Study
    directory: Path
    started: int = 0
    """Number of runs simulated by this call; 0 if all were already stored."""
    left_out: list[str] = field(default_factory=list, repr=False)
    """Reasons for excluding stored runs from the current study, each with a count. They are kept, but in no table."""
    ledger: list[findings.Ruling] | None = field(default=None, repr=False)
    """Findings from an earlier evaluation, if nothing has changed since."""

    def in_language(self, lang: str | None = None) -> Campaign:
        """The campaign with the texts of its figures, findings and report in another language."""
        study = in_language(self.study, lang)
        return self if study.telling == self.study.telling else self._with_texts(study)

    def with_original_texts(self) -> Campaign:
        """The campaign with the original texts of the study's own file, as in the stored ledger."""
        return self if self.study.original is self.study else self._with_texts(self.study.original)

    def _with_texts(self, study: Study) -> Campaign:
        translated = replace(self, study=study, ledger=None)
        # The rows are the same, so cached query results stay valid.
        translated.__dict__["store"] = self.store
        if "measurements" in self.__dict__:
            translated.__dict__["measurements"] = [one.in_language(study) for one in self.measurements]
        return translated

    def __repr__(self) -> str:
        runs = self.store.manifest["runs"]
        return f"Campaign({self.study.name!r}, {str(self.directory)!r}, runs={runs}, started={self.started})"

    def _repr_html_(self) -> str:
        facts: list[tuple[str, Any]] = [("in", self.directory)]
        tables: list[tuple[str, Any]] = []
        # The object can be displayed even if its stored results cannot be read.
        with suppress(VazaoError):
            facts.append(("runs", f"{self.runs.height} of {self.store.manifest['runs']}"))
            ledger = [[one.claim, one.level or "", one.verdict] for one in self.findings]
            if ledger:
                facts.append(("findings", findings.counted(self.findings, self.study.words)))
                tables.append(("", [["claim", "at", "verdict"], *ledger]))
            tables += [(one.title, self.table(one.id)) for one in self.study.tables]
        return display.card("Campaign", self.study.title, facts, tables)

    def __reduce__(self) -> tuple[type[Campaign], tuple[Any, ...]]:
        """Pickle the location of the rows, not the rows."""
        return Campaign, (self.study, self.directory, self.started, self.left_out, self.ledger)

    @cached_property
    def store(self) -> Store:
        """The results directory, for SQL queries."""
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
    def findings(self) -> list[findings.Ruling]:
        """The ledger: every claim with its verdict."""
        if self.ledger is not None:
            return self.ledger
        return findings.evaluate(self.study, self.store, self.not_run)

    @cached_property
    def measurements(self) -> list[Measured]:
        """An author's own measurement sets, each with the verdicts from its rows. Raises `StudyError`."""
        return measurement_files.joined(self.study, self.directory)

    def write_ledger(self) -> list[Path]:
        """Store the verdicts, also those from measurements, with the study's original texts; return the files."""
        own = self.with_original_texts()
        return [
            findings.write(own.findings, self.directory),
            *measurement_files.write(self.directory, own.measurements),
        ]

    def sql(self, query: str) -> pl.DataFrame:
        """Run a DuckDB SQL query over the tables runs, flows, paths, links and samples."""
        return self.store.query(query)

    def table(self, table_id: str) -> pl.DataFrame:
        """The rows of one of the study's tables."""
        tables = {table.id: table for table in self.study.tables}
        if table_id not in tables:
            raise StudyError(f"{table_id!r} is not a table of {self.study.name}{did_you_mean(table_id, tables)}")
        return self.store.query(tables[table_id].sql)

    def figure(self, figure_id: str) -> Chart | LayerChart | FacetChart:
        """A figure of the study as an interactive Altair chart."""
        return figures.chart(self.study, self.store, figure_id, self.measurements)

    def plot(
        self,
        measure: str,
        *,
        kind: figures.Kind | None = None,
        x: str | None = None,
        color: str | None = None,
        facet: str | None = None,
        flow: int | None = None,
    ) -> Chart | LayerChart | FacetChart:
        """An Altair chart of a traced measure over time, or of a column of runs or flows, over all runs.

        `x`, `color` and `facet` are factors or other columns of these tables. A traced measure ("cwnd") is drawn by
        default as a "band", the mean over time with its 95 % interval over the runs; or as "step", "ecdf" or "box". A
        column ("goodput_bps") is drawn as its mean over `x` with the interval ("line", "point", "bar", "band"), or
        without `x` as its distribution ("box", "ecdf"). Flows of different `[[flow]]` tables are never averaged: each
        table has its own colour or panel, or `flow` selects one table, counted from 0. Raises `ResultsError`.
        """
        of_runs = measure in self.runs.columns
        traced = measure in self.samples["measure"].unique().to_list()
        rows = self.runs if of_runs and not traced else self._of_flows(measure, traced)
        if not of_runs or traced:
            rows, color, facet = figures.apart(rows, measure, x, color, facet, flow)
        chosen = [column for column in (x, color, facet) if column]
        labels = {column: [str(label) for label in self.study.labels(column)] for column in chosen}
        orders = {column: known for column, known in labels.items() if known}
        if traced:
            return figures.measure_chart(rows, measure, kind or "band", color=color, facet=facet, orders=orders)
        default: figures.Kind = (
            "box" if x is None else "line" if rows.schema.get(x, pl.String()).is_numeric() else "point"
        )
        return figures.column_chart(rows, measure, kind or default, x=x, color=color, facet=facet, orders=orders)

    def _of_flows(self, measure: str, traced: bool) -> pl.DataFrame:
        """Flows, or samples of a measure, joined with their runs' columns; a factor hides a flow column of its name."""
        rows = figures.series(self._samples_of_tables(), measure) if traced else figures.of_tables(self.flows)
        factors = {name for part in self.study.parts for name in part.factor_names}
        more = [name for name in self.runs.columns if name == "run_id" or name in factors or name not in rows.columns]
        rows = rows.drop(name for name in factors if name in rows.columns)
        return rows.join(self.runs.select(more), on="run_id", how="inner", maintain_order="left")

    def _samples_of_tables(self) -> pl.DataFrame:
        """All samples, each with the number of its flow's `[[flow]]` table."""
        samples = self.samples
        tables = self.flows.select("run_id", pl.col("flow").cast(samples.schema["flow"]), "group")
        return samples.join(tables, on=["run_id", "flow"], how="left", maintain_order="left")

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
        """Failed runs, each with its run_id and error message."""
        failed = self.store.query("SELECT DISTINCT run_id, failure FROM runs WHERE failure IS NOT NULL ORDER BY run_id")
        return [(run_id, failure) for run_id, failure in failed.iter_rows()]


def default_directory(name: str) -> Path:
    """Default results directory of a study or scenario."""
    return Path("results") / name


def run_study(
    study: Study,
    *,
    size: Size | None = None,
    jobs: int | None = None,
    out: str | Path | None = None,
    progress: Progress | None = None,
    shard: Shard = WHOLE,
    on: On | Cluster | None = None,
    measurements: Sequence[str | Path] = (),
) -> Campaign:
    """Simulate the runs that `out` (default: results/NAME) lacks, commit them as they end, evaluate the findings.

    Quick is a subset of full, so full continues where quick ended. Without a size, a directory continues with the size
    that it was started with; a new one is quick. Runs for which this machine lacks a kernel are recorded as not run
    (`Campaign.not_run`); the next call that has the kernel runs them. Stored runs that a changed study no longer has
    are kept but excluded (`Campaign.left_out`). With a `shard`, only its runs are simulated and no finding is
    evaluated: `merge` combines shards. Runs execute `on` a cluster if one is given (see `Study.run`). `measurements`
    files join the study; copies are kept in the directory and join again next time. The campaign has the texts of the
    study's language; the stored ledger has those of the study's own file. Raises `StudyError` for an invalid study or
    file, `ResultsError` for an unusable directory. After Ctrl-C the finished runs are stored.
    """
    directory = Path(out) if out is not None else default_directory(study.name)
    executor = _executor(jobs, on)
    lang, study = study.words.lang, study.original
    sets = measurement_files.joined(study, directory, list(map(Path, measurements)))
    if measurement_files.are_kept(directory, sets) and (done := _finished(study, size, directory)):
        return done.in_language(lang)
    if not is_shipped(study.name, study.text):  # Tests have validated those.
        validate_queries(study)
    begun = read_manifest(directory) or {}
    study = study.with_inputs({**study.inputs, **inputs.kept(directory, begun)})
    planned = plan(study, size or begun.get("size", "quick"))
    reject_unapproved_code(cell.scenario for cell in planned.cells if cell.needs.code)
    # A directory that was started as full keeps the full plan, even if only the quick runs are requested.
    whole = plan(study, "full") if begun.get("size") == "full" and planned.size == "quick" else planned
    manifest = _grown(begun, manifest_of(whole), whole)
    if existing := check_usable(directory, manifest):
        manifest = _continued(existing, manifest)
    with writing(directory, manifest, study.text) as writer:
        inputs.keep(directory, planned.inputs)
        measurement_files.keep(directory, sets)
        for name, texts in sources(study).items():
            write_atomically((directory / STUDY).with_suffix(f".{name}.toml"), texts.text.encode())
        readme.write(directory, manifest, study)
        stored = Store(directory) if existing and owned(directory / PLANNED) else None
        rows = planned_rows(whole, stored)
        left = left_out(whole, rows, stored) if stored else []
        writer.write_planned(rows)
        wanted = rows if whole is planned else planned_rows(planned, stored)
        started, lacking = run_missing(planned, wanted, writer, executor, progress or Silent(), shard)
    if shard != WHOLE:
        return Campaign(study, directory, started, left, ledger=[]).in_language(lang)
    complete = None if lacking else _product(study, size, directory)
    campaign = Campaign(study, directory, started, left)
    written = campaign.write_ledger()
    # Another process may have added rows in the meantime.
    if complete and complete == _product(study, size, directory):
        complete.note([*written, *inputs.copies(directory, planned.inputs)])
    return campaign.in_language(lang)


def _executor(jobs: int | None, on: On | Cluster | None) -> int | Cluster:
    """Number of cores to use on this machine, or a cluster. Raises `ClusterError`."""
    if on is None:
        return jobs or os.cpu_count() or 1
    if jobs is not None:
        raise ClusterError(f"jobs: {jobs} is for runs of this process; leave it out where runs go on a cluster")
    return on if isinstance(on, Cluster) else cluster_of(on)


def _grown(begun: dict[str, Any], manifest: dict[str, Any], planned: Plan) -> dict[str, Any]:
    """Add `grown_from` to a manifest whose directory was started by one of the plan's runs, stored as a scenario's."""
    first = begun.get("run") if begun.get("kind") == "scenario" else begun.get("grown_from")
    ours = first and (begun.get("grown_from") or any(run.run_id == first for run in planned.runs))
    return manifest | {"grown_from": first} if ours else manifest


def _continued(existing: dict[str, Any], manifest: dict[str, Any]) -> dict[str, Any]:
    """The manifest for continuing a directory: it keeps recorded kernels and simulators that this machine lacks."""
    programs = {
        key: {name: sha or existing.get(key, {}).get(name) for name, sha in manifest[key].items()}
        for key in ("kernels", "simulators")
    }
    digests = existing.get("inputs", {}) | manifest["inputs"]
    return manifest | programs | {"inputs": digests, "not_run": existing.get("not_run", {})}


def _product(study: Study, size: Size | None, directory: Path) -> Product:
    """Cache entry for the ledger of a complete campaign, for the requested size."""
    return product(f"campaign {size}", study, directory)


def _finished(study: Study, size: Size | None, directory: Path) -> Campaign | None:
    """The campaign, if an equal call has already completed it and nothing has changed since; otherwise None."""
    begun = read_manifest(directory)
    if begun is None:
        return None
    with locked(directory):
        if not _product(study, size, directory).is_there():
            return None
        ledger = findings.read(directory)
    return Campaign(study.with_inputs(inputs.kept(directory, begun)), directory, ledger=ledger)


def open_campaign(directory: str | Path, *, lang: str | None = None) -> Campaign:
    """Open the stored results of a study, with the study file they came from. Raises `ResultsError`, `StudyError`.

    `lang` is the language of texts and reports, "en" or "pt" (default: the study's own `lang`).
    """
    directory = Path(directory)
    store = Store(directory)
    if store.manifest["kind"] != "study":
        raise ResultsError(f"{directory}: holds the results of a scenario, not of a study")
    path = directory / STUDY
    for text in [path, *directory.glob(f"{path.stem}.*{path.suffix}")]:  # the study and its translations
        owned(text)
    study = parse_as(Study, read_text(path), str(path))
    study = study.changed(store.manifest["overrides"], store.manifest["seed"])
    return Campaign(in_language(study.with_inputs(inputs.kept(directory, store.manifest)), lang), directory)


def manifest_of(planned: Plan) -> dict[str, Any]:
    """Manifest for the results directory of a plan. It has no date, so that the same study gives the same bytes."""
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
        "size": planned.size,
        "seed": study.seed,
        "overrides": [list(override) for override in study.overrides],
        "runs": len(planned.runs),
        "parts": parts,
        "versions": versions(),
        "kernels": planned.kernels,
        "simulators": planned.simulators,
        "inputs": inputs.digests(planned.inputs),
        "not_run": {},
    }
