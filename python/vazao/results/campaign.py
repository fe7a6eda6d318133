"""Campaigns: run what is missing of a study, keep every finished run, and answer from the stored rows."""

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
from vazao.files import locked, owned, write_atomically
from vazao.results import inputs, measured_sets, readme
from vazao.results.cluster import Cluster, cluster_of
from vazao.results.growth import left_out, planned_rows
from vazao.results.made import Product, product
from vazao.results.manifest import check_usable, read_manifest
from vazao.results.rehearsal import rehearse
from vazao.results.running import Progress, Silent, run_missing
from vazao.results.shard import WHOLE, Shard
from vazao.results.simulating import refuse_unasked
from vazao.results.store import PLANNED, STUDY, Store
from vazao.results.version import versions
from vazao.results.writer import writing
from vazao.statistics import two_level_effects
from vazao.study import (
    Plan,
    Size,
    Study as Described,
    design_columns,
    find,
    findings,
    parse_as,
    plan,
    read_text,
    sources,
    told_in,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from altair import Chart, FacetChart, LayerChart

    from vazao.results.cluster import On
    from vazao.results.measurements import Measured


class Study(Described):
    """A published evaluation, ready to be run again: what its file says (template, designs, figures, findings)."""

    def run(
        self,
        *,
        size: Size = "quick",
        jobs: int | None = None,
        out: str | Path | None = None,
        on: On | None = None,
        measurements: Sequence[str | Path] = (),
    ) -> Campaign:
        """Run what is missing of the study (all cores unless `jobs` says otherwise) and evaluate its findings.

        Results go to `out` (default: `results/NAME`) and are kept there; what is stored is not run again. Runs go `on`
        a cluster, if one is named: "local:8", "dask://HOST:PORT", a `distributed.Client`, or any cluster of Dask's.
        `measurements` are files of an author's own, which join the study (`Campaign.measurements`).
        """
        return run_study(self, size=size, jobs=jobs, out=out, on=on, measurements=measurements)


def load_study(name: str | Path, *, lang: str | None = None, allow_programs: bool = False) -> Study:
    """Read and validate a study: a TOML file, or the name of a built-in one. Raises `StudyError`.

    `lang` is the language of its texts and reports, "en" or "pt"; without it the study's own `lang` holds.
    `allow_programs` lets algorithms that it names by their files (`mine.py:Cautious`) run: code of whoever wrote them.
    """
    path = find(str(name))
    study = told_in(parse_as(Study, read_text(path), str(path)), lang)
    return study.allowing() if allow_programs else study


@dataclass(frozen=True)
class Campaign:
    """A study's stored results."""

    study: Study
    directory: Path
    started: int = 0
    """Runs that this call simulated; 0 when all were stored."""
    left_out: list[str] = field(default_factory=list, repr=False)
    """Reasons why stored runs are none of the study as it is now, each with a count: they are kept, in no table."""
    ledger: list[findings.Ruling] | None = field(default=None, repr=False)
    """The findings, where they were evaluated before and nothing has changed since."""

    def told_in(self, lang: str | None = None) -> Campaign:
        """Results of the same rows told in another language: texts of figures, findings and report."""
        study = told_in(self.study, lang)
        return self if study.telling == self.study.telling else self._retold(study)

    def in_its_own_words(self) -> Campaign:
        """Results of the same rows told by the study's own file alone, as the stored ledger is."""
        return self if self.study.original is self.study else self._retold(self.study.original)

    def _retold(self, study: Study) -> Campaign:
        retold = replace(self, study=study, ledger=None)
        # The rows are the same, and so are the answers to what was asked about them.
        retold.__dict__["store"] = self.store
        if "measurements" in self.__dict__:
            retold.__dict__["measurements"] = [one.told_in(study) for one in self.measurements]
        return retold

    def __repr__(self) -> str:
        runs = self.store.manifest["runs"]
        return f"Campaign({self.study.name!r}, {str(self.directory)!r}, runs={runs}, started={self.started})"

    def _repr_html_(self) -> str:
        facts: list[tuple[str, Any]] = [("in", self.directory)]
        tables: list[tuple[str, Any]] = []
        # Whatever is wrong with what is stored, the object can be shown.
        with suppress(VazaoError):
            facts.append(("runs", f"{self.runs.height} of {self.store.manifest['runs']}"))
            ledger = [[one.claim, one.level or "", one.verdict] for one in self.findings]
            if ledger:
                facts.append(("findings", findings.counted(self.findings, self.study.words)))
                tables.append(("", [["claim", "at", "verdict"], *ledger]))
            tables += [(one.title, self.table(one.id)) for one in self.study.tables]
        return display.card("Campaign", self.study.title, facts, tables)

    def __reduce__(self) -> tuple[type[Campaign], tuple[Any, ...]]:
        """Pickle where the rows are, not the rows."""
        return Campaign, (self.study, self.directory, self.started, self.left_out, self.ledger)

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
    def findings(self) -> list[findings.Ruling]:
        """The ledger: every claim with its verdict."""
        if self.ledger is not None:
            return self.ledger
        return findings.evaluate(self.study, self.store, self.not_run)

    @cached_property
    def measurements(self) -> list[Measured]:
        """An author's own measurements, each set with the verdicts of its rows. Raises `StudyError`."""
        return measured_sets.joined(self.study, self.directory)

    def write_ledger(self) -> list[Path]:
        """Store the verdicts, and those of measurements, in the words of the study's own file; returns the files."""
        own = self.in_its_own_words()
        return [findings.write(own.findings, self.directory), *measured_sets.write(self.directory, own.measurements)]

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

        `x`, `color` and `facet` are factors or other columns of these tables. A traced measure ("cwnd") is a "band" by
        default: the mean over time with its 95 % interval over the runs; or "step", "ecdf", "box". A column
        ("goodput_bps") has its mean with the interval over `x` ("line", "point", "bar", "band"), or without an x its
        distribution ("box", "ecdf"). Flows of different `[[flow]]` tables are never averaged: each table is a colour or
        a panel, or `flow` names the one that is drawn, from 0. Raises `ResultsError`.
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
        """The flows, or what was traced, with the columns of their runs, of which a factor hides a flow's own."""
        rows = figures.series(self._samples_of_tables(), measure) if traced else figures.of_tables(self.flows)
        factors = {name for part in self.study.parts for name in part.factor_names}
        more = [name for name in self.runs.columns if name == "run_id" or name in factors or name not in rows.columns]
        rows = rows.drop(name for name in factors if name in rows.columns)
        return rows.join(self.runs.select(more), on="run_id", how="inner", maintain_order="left")

    def _samples_of_tables(self) -> pl.DataFrame:
        """All that was traced, each flow with the number of its `[[flow]]` table."""
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
        """The runs that failed: run_id and what went wrong."""
        failed = self.store.query("SELECT DISTINCT run_id, failure FROM runs WHERE failure IS NOT NULL ORDER BY run_id")
        return [(run_id, failure) for run_id, failure in failed.iter_rows()]


def default_directory(name: str) -> Path:
    """Directory of results where nobody names another."""
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
    """Simulate what `out` (default: results/NAME) does not hold yet, commit it as it ends, evaluate the findings.

    Quick is a subset of full, so full goes on where quick ended; without a size, a directory goes on as it was begun,
    and a new one is quick. Runs for which this machine lacks a kernel are noted as not run (`Campaign.not_run`), and
    run by the next call that has it. What a changed study no longer has is kept and left out (`Campaign.left_out`). Of
    a `shard` only the runs are simulated, and no finding is evaluated: `merge` puts shards together. Runs go `on` a
    cluster, if one is given (`Study.run` says which there are). Files of `measurements` join the study, are
    kept in the directory and join it again next time. The campaign is
    told in the study's language; the stored ledger has the texts of the study's own file. Raises `StudyError` for a
    wrong study or file, `ResultsError` for a directory that cannot be used; after Ctrl-C the finished runs are stored.
    """
    directory = Path(out) if out is not None else default_directory(study.name)
    place = _place(jobs, on)
    lang, study = study.words.lang, study.original
    sets = measured_sets.joined(study, directory, list(map(Path, measurements)))
    if measured_sets.are_kept(directory, sets) and (done := _finished(study, size, directory)):
        return done.told_in(lang)
    rehearse(study)
    begun = read_manifest(directory) or {}
    study = study.with_inputs({**study.inputs, **inputs.kept(directory, begun)})
    planned = plan(study, size or begun.get("size", "quick"))
    refuse_unasked(cell.scenario for cell in planned.cells if cell.needs.code)
    # A quick study asked of a directory that was begun as full is a part of what belongs there.
    whole = plan(study, "full") if begun.get("size") == "full" and planned.size == "quick" else planned
    manifest = _grown(begun, manifest_of(whole), whole)
    if there := check_usable(directory, manifest):
        manifest = _going_on(there, manifest)
    with writing(directory, manifest, study.text) as writer:
        inputs.keep(directory, planned.inputs)
        measured_sets.keep(directory, sets)
        for name, texts in sources(study).items():
            write_atomically((directory / STUDY).with_suffix(f".{name}.toml"), texts.text.encode())
        readme.write(directory, manifest, study)
        stored = Store(directory) if there and owned(directory / PLANNED) else None
        rows = planned_rows(whole, stored)
        left = left_out(whole, rows, stored) if stored else []
        writer.note_planned(rows)
        wanted = rows if whole is planned else planned_rows(planned, stored)
        started, lacking = run_missing(planned, wanted, writer, place, progress or Silent(), shard)
    if shard != WHOLE:
        return Campaign(study, directory, started, left, ledger=[]).told_in(lang)
    complete = None if lacking else _product(study, size, directory)
    campaign = Campaign(study, directory, started, left)
    written = campaign.write_ledger()
    # Another process may have added rows meanwhile.
    if complete and complete == _product(study, size, directory):
        complete.note([*written, *inputs.copies(directory, planned.inputs)])
    return campaign.told_in(lang)


def _place(jobs: int | None, on: On | Cluster | None) -> int | Cluster:
    """Cores of this machine, or a cluster. Raises `ClusterError`."""
    if on is None:
        return jobs or os.cpu_count() or 1
    if jobs is not None:
        raise ClusterError(f"jobs: {jobs} is for runs of this process; leave it out where runs go on a cluster")
    return on if isinstance(on, Cluster) else cluster_of(on)


def _grown(begun: dict[str, Any], manifest: dict[str, Any], planned: Plan) -> dict[str, Any]:
    """The manifest of a plan, for a directory that has one run of it already: one that was stored as a scenario's."""
    first = begun.get("run") if begun.get("kind") == "scenario" else begun.get("grown_from")
    ours = first and (begun.get("grown_from") or any(run.run_id == first for run in planned.runs))
    return manifest | {"grown_from": first} if ours else manifest


def _going_on(there: dict[str, Any], manifest: dict[str, Any]) -> dict[str, Any]:
    """The manifest of a directory that goes on: a kernel or simulator that made rows stays theirs."""
    players = {
        key: {name: sha or there.get(key, {}).get(name) for name, sha in manifest[key].items()}
        for key in ("kernels", "simulators")
    }
    digests = there.get("inputs", {}) | manifest["inputs"]
    return manifest | players | {"inputs": digests, "not_run": there.get("not_run", {})}


def _product(study: Study, size: Size | None, directory: Path) -> Product:
    """The ledger of a campaign that has all its runs, by what it was asked for."""
    return product(f"campaign {size}", study, directory)


def _finished(study: Study, size: Size | None, directory: Path) -> Campaign | None:
    """The campaign, if a call like this one has found all its runs stored, and all is as it was then."""
    begun = read_manifest(directory)
    if begun is None:
        return None
    with locked(directory):
        if not _product(study, size, directory).is_there():
            return None
        ledger = findings.read(directory)
    return Campaign(study.with_inputs(inputs.kept(directory, begun)), directory, ledger=ledger)


def open_campaign(directory: str | Path, *, lang: str | None = None) -> Campaign:
    """The stored results of a study, with the study file they came from. Raises `ResultsError`, `StudyError`.

    `lang` is the language of texts and reports, "en" or "pt"; without it the study's own `lang` holds.
    """
    directory = Path(directory)
    store = Store(directory)
    if store.manifest["kind"] != "study":
        raise ResultsError(f"{directory}: holds the results of a scenario, not of a study")
    path = directory / STUDY
    for text in [path, *directory.glob(f"{path.stem}.*{path.suffix}")]:  # the study, and its texts in other languages
        owned(text)
    study = parse_as(Study, read_text(path), str(path))
    study = study.changed(store.manifest["overrides"], store.manifest["seed"])
    return Campaign(told_in(study.with_inputs(inputs.kept(directory, store.manifest)), lang), directory)


def manifest_of(planned: Plan) -> dict[str, Any]:
    """Manifest of the directory of a plan's results. It names no date: the same study, the same bytes."""
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
