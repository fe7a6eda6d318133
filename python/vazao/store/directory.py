"""Results directory open for reading: its manifest, its rows, and queries on them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
from duckdb import DuckDBPyConnection
from pydantic import TypeAdapter, ValidationError

from vazao import display
from vazao.errors import ResultsError
from vazao.files import is_there, owned
from vazao.sql import Enclosure, Limits, database
from vazao.store import parts
from vazao.store.manifest import MANIFEST, check_origin, read_manifest
from vazao.store.parts import TABLES
from vazao.study import Source, View, read_text

STUDY = "study.toml"
PLANNED = "planned.parquet"
"""Planned runs of a study in order: `run_id` and the columns of the design. Other stored runs are excluded."""
NOT_RUN = "not_run.parquet"
"""Planned runs that could not be run here: the columns of the design, and the `reason`."""

MEASUREMENTS = "measurements"
"""Folder of an author's own measurements, with a copy of each file under the name of its set."""

MAX_KEPT = 4_000_000
"""Size in bytes of the largest query result that is cached."""

FEW = 500_000_000
"""Bytes of rows up to which a study's views are computed once; beyond, each query computes what it needs of them."""

LIMITS = Limits(seconds=600, gigabytes=8)
"""Limits of a query on stored results."""

_SAMPLES = pl.Schema(
    {"run_id": pl.String, "time_s": pl.Float64, "flow": pl.Int32, "path": pl.Int32, "link": pl.String}
    | {"direction": pl.String, "measure": pl.String, "value": pl.Float64, "side": pl.String, "event": pl.String}
)


class Store:
    """A results directory, open for reading."""

    def __init__(self, directory: str | Path) -> None:
        """Open `directory`. Raises `ResultsError` if it holds no results."""
        self.directory = Path(directory)
        if not (is_there(self.directory) and self.directory.is_dir()):
            raise ResultsError(f"{directory}: no such directory")
        manifest = read_manifest(self.directory)
        if manifest is None:
            lost = "its results have lost their" if parts.batches(self.directory) else "it has no"
            raise ResultsError(f"{directory}: is no results directory ({lost} {MANIFEST})")
        self.manifest: dict[str, Any] = manifest
        """The manifest: study, hash of its file, size, seed, parts with their counts, versions."""
        self._only: frozenset[str] | None = None
        self._database: tuple[list[str], Enclosure] | None = None
        self._answers: dict[str, pl.DataFrame] = {}

    def __repr__(self) -> str:
        return f"Store({str(self.directory)!r}, {self.manifest['name']!r}, {self.manifest['kind']})"

    def _repr_html_(self) -> str:
        facts = [("in", self.directory), ("kind", self.manifest["kind"]), ("runs", self.manifest.get("runs"))]
        return display.card("Store", str(self.manifest["name"]), facts)

    def __reduce__(self) -> tuple[type[Store], tuple[Path]]:
        """Pickle the directory: another process opens it again."""
        return Store, (self.directory,)

    def batches(self) -> list[str]:
        """Names of the committed batches in commit order."""
        return [batch for batch in parts.batches(self.directory) if self._only is None or batch in self._only]

    def holding(self, prefixes: Sequence[str]) -> tuple[list[str], Store]:
        """Stored runs whose `run_id` begins with one of the prefixes, and the store of nothing but their batches.

        Of all other batches only the column `run_id` is read. Raises `ResultsError`.
        """
        files = {str(file.absolute()): file.stem for file in self.files("scenarios")}
        if not files:
            return [], self
        enclosure = Enclosure(lambda: database.of_names(map(Path, files)), LIMITS)
        named = {f"prefix_{n}": prefix for n, prefix in enumerate(prefixes)}
        any_of = " OR ".join(f"starts_with(run_id, ${name})" for name in named)
        found = enclosure.query(f"SELECT run_id, filename FROM names WHERE {any_of} ORDER BY run_id", named)
        enclosure.close()
        only = Store(self.directory)
        only._only = frozenset(files[name] for name in found["filename"])
        return found["run_id"].to_list(), only

    def files(self, table: str) -> list[Path]:
        """Parquet files with a table's committed rows."""
        owned(self.directory / table, folder=True)
        return [file for batch in self.batches() if owned(file := parts.part(self.directory, table, batch))]

    def read(self, table: str) -> pl.DataFrame:
        """All rows of a table in canonical order; an empty frame without columns if there are none yet."""
        if table != "samples" and not self.files(table):
            return pl.DataFrame()
        return self.query(f"SELECT * FROM {database.quoted(table)}")

    @property
    def not_run(self) -> pl.DataFrame:
        """Planned runs that could not be run: the columns of the design, and the `reason`."""
        if not self._owned(NOT_RUN):  # A database takes a tenth of a second, and most directories have no such runs.
            return pl.DataFrame(schema={"part": pl.String(), "reason": pl.String()})
        return self.query("SELECT * FROM not_run")

    @property
    def stored(self) -> pl.DataFrame:
        """`run_id` of every stored run, planned or not."""
        rows = self.query("SELECT run_id FROM scenarios") if self.files("scenarios") else pl.DataFrame()
        return rows if rows.width else pl.DataFrame(schema={"run_id": pl.String()})

    @property
    def planned(self) -> pl.DataFrame | None:
        """Planned runs of a study, stored or not: `run_id` and the columns of the design."""
        return self.query("SELECT * FROM planned") if self._owned(PLANNED) else None

    def query(self, sql: str, parameters: Mapping[str, object] | None = None) -> pl.DataFrame:
        """Query the tables runs, flows, paths, links, samples, scenarios, planned, not_run. Raises `ResultsError`."""
        enclosure = self._current()
        key = json.dumps([sql, dict(parameters or {})])
        # A report queries most rows twice: for the figures' files, and for its page.
        if key not in self._answers:
            rows = enclosure.query(sql, parameters)
            if rows.estimated_size() > MAX_KEPT:
                return rows
            self._answers[key] = rows
        return self._answers[key].clone()

    def of_runs(self, table: str, run_ids: Sequence[str]) -> pl.DataFrame:
        """Rows of some runs in canonical order, not cached. Raises `ResultsError`."""
        if table in TABLES and table != "samples" and not self.files(table):
            return pl.DataFrame()
        named = {f"run_{n}": run_id for n, run_id in enumerate(run_ids)}
        ids = ", ".join(f"${name}" for name in named)
        return self._current().query(f"SELECT * FROM {database.quoted(table)} WHERE run_id IN ({ids})", named)

    def _current(self) -> Enclosure:
        """Tables as of now, reloaded if a batch has been added or the last query exceeded its limits."""
        notes = [file for name in (PLANNED, NOT_RUN) for file in self._owned(name)]
        now = [*self.batches(), *(f"{file.name} {file.stat().st_mtime_ns}" for file in notes)]
        if self._database and self._database[0] == now and self._database[1].alive:
            return self._database[1]
        if self._database:
            self._database[1].close()
        views, samples = _views(self.directory), _SAMPLES.to_frame().to_arrow()
        files = {table: [file.absolute() for file in self.files(table)] for table in TABLES}
        files |= {Path(name).stem: [file.absolute() for file in self._owned(name)] for name in (PLANNED, NOT_RUN)}
        enclosed = Enclosure(lambda: self._load(files, views, samples), LIMITS)
        self._database = now, enclosed
        self._answers.clear()
        return enclosed

    def _owned(self, name: str) -> list[Path]:
        """File of this name as a list, empty if there is none."""
        return [file for file in [self.directory / name] if owned(file)]

    def _load(self, files: Mapping[str, list[Path]], views: list[View], samples: pa.Table) -> DuckDBPyConnection:
        """Load the tables into a database, in the child process, which must not use what its parent's threads hold."""
        for batch in self.batches():
            record = parts.read(self.directory, batch)
            check_origin(parts.part(self.directory, "runs", batch), record.origin, self.manifest)
            parts.verify(self.directory, batch, record)
        if files["runs"] and not files["planned"] and self.manifest["kind"] == "study":
            lost = self.directory / PLANNED
            raise ResultsError(f"{lost}: is lost; `vazao run` with this directory makes it again")
        connection = database.connect(file for table in files for file in files[table])
        if files["runs"]:
            _check_unique(self.directory, connection, files["runs"])
        if files["planned"]:
            database.add_table(connection, "planned", files["planned"])
        for table in TABLES:
            if files[table]:
                # `scenarios` contains every stored run, planned or not.
                planned = bool(files["planned"]) and table != "scenarios"
                database.add_stored(connection, table, files[table], planned=planned)
        if gaps := parts.gaps(self.directory):
            lost = parts.part(self.directory, "runs", gaps[0])
            raise ResultsError(f"{lost}: is lost; `vazao run` with this directory simulates its runs again")
        if not files["samples"]:
            database.add_rows(connection, "samples", samples)
        if files["not_run"]:
            database.add_table(connection, "not_run", files["not_run"])
        else:
            connection.sql("CREATE TABLE not_run (part VARCHAR, reason VARCHAR)")
        if files["flows"]:
            few = sum(file.stat().st_size for table in TABLES for file in files[table]) <= FEW
            for view in views:
                try:
                    database.add_view(connection, view.name, view.sql, keep=few)
                except ResultsError as error:
                    raise ResultsError(f"{self.directory / STUDY}: view {view.name!r}: {error}") from None
        return connection


def _views(directory: Path) -> list[View]:
    """Views of the study whose results a directory holds."""
    path = directory / STUDY
    if not owned(path):
        return []
    views = Source(str(path), read_text(path)).document.get("view", [])
    try:
        return TypeAdapter(list[View]).validate_python(views)
    except ValidationError as error:
        where = ".".join(map(str, error.errors()[0]["loc"]))
        raise ResultsError(
            f"{path}: view {where}: is not a view of this version: a `name` of small letters, "
            "digits and _, and its `sql`"
        ) from None


def _check_unique(directory: Path, connection: DuckDBPyConnection, files: list[Path]) -> None:
    """Reject duplicate rows of runs, which come from copied parts. Raises `ResultsError`."""
    counted = f"SELECT count(*), count(DISTINCT run_id) FROM {database.rows_of(files)}"
    (rows, distinct), *_ = connection.sql(counted).fetchall()
    if rows > distinct:
        problem = f"{rows - distinct} of {rows} rows are there twice"
        raise ResultsError(f"{directory / 'runs'}: {problem}; remove the parts that were copied, from all folders")
