"""A results directory: rows as Parquet parts, committed batch by batch, and questions to them.

A batch is one file of the same name in every table's folder. The one in `runs/` is written last: its presence commits
the batch. So the process may be killed at any moment: a finished batch is whole, an unfinished one does not exist.
"""

from __future__ import annotations

import json
import tomllib
import weakref
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any, Protocol

import duckdb
import polars as pl

from vazao import database
from vazao.errors import ResultsError
from vazao.files import TEMPORARY, explained, locked, make_directory, remove, write_atomically

MANIFEST = "manifest.json"
STUDY = "study.toml"
TABLES = ("scenarios", "samples", "links", "paths", "flows", "runs")
"""In the order in which a batch is written."""

NOT_RUN = "not_run.parquet"
"""Planned runs that could not be run here: the columns of the design, and the `reason`."""

IDENTITY = {
    "kind": "kind",
    "name": "study or scenario",
    "design_sha256": "design",
    "seed": "seed",
    "overrides": "set of --set changes",
    "versions.engine": "version of the engine",
}
"""What the manifests of results that may stand in one directory agree in, and what a message calls it."""

DIGESTS = {"inputs": "input", "kernels": "kernel"}
"""What else they agree in as far as both have it, by names: files by their digests."""

_SAMPLES = pl.Schema(
    {"run_id": pl.String, "time_s": pl.Float64, "flow": pl.Int32, "path": pl.Int32, "link": pl.String}
    | {"direction": pl.String, "measure": pl.String, "value": pl.Float64, "side": pl.String, "event": pl.String}
)


class Asked(Protocol):
    """Tables that can be asked."""

    def query(self, sql: str, parameters: Mapping[str, object] | None = None) -> pl.DataFrame:
        """The rows of a query. Raises `ResultsError`."""


class Store:
    """A results directory, open for reading."""

    def __init__(self, directory: str | Path) -> None:
        """Open `directory`. Raises `ResultsError` when it holds no results."""
        self.directory = Path(directory)
        if not self.directory.is_dir():
            raise ResultsError(f"{directory}: no such directory")
        manifest = read_manifest(self.directory)
        if manifest is None:
            raise ResultsError(f"{directory}: is no results directory (it has no {MANIFEST})")
        self.manifest: dict[str, Any] = manifest
        """What was run: study, hash of its file, size, seed, parts with their counts, versions."""
        self._database: tuple[list[str], duckdb.DuckDBPyConnection] | None = None

    def batches(self) -> list[str]:
        """The names of the committed batches, in the order of their commitment."""
        return _batches(self.directory)

    def files(self, table: str) -> list[Path]:
        """The Parquet files that hold a table's committed rows."""
        files = (_part(self.directory, table, batch) for batch in self.batches())
        return [file for file in files if file.exists()]

    def read(self, table: str) -> pl.DataFrame:
        """All rows of a table in their canonical order; no rows and no columns when there is nothing yet."""
        if table != "samples" and not self.files(table):
            return pl.DataFrame()
        return self.query(f"SELECT * FROM {table}")

    @property
    def not_run(self) -> pl.DataFrame:
        """The planned runs that could not be run: the columns of the design, and the `reason`."""
        path = self.directory / NOT_RUN
        return pl.read_parquet(path) if path.exists() else pl.DataFrame(schema={"part": pl.String, "reason": pl.String})

    def query(self, sql: str, parameters: Mapping[str, object] | None = None) -> pl.DataFrame:
        """Ask the tables runs, flows, paths, links, samples, scenarios, not_run anything. Raises `ResultsError`."""
        return database.query(self._connection(), sql, parameters)

    def _connection(self) -> duckdb.DuckDBPyConnection:
        """The tables as of now: loaded again when a batch has come since."""
        batches = self.batches()
        if self._database and self._database[0] == batches:
            return self._database[1]
        connection = database.connect()
        weakref.finalize(self, connection.close)
        for table in TABLES:
            if files := self.files(table):
                _check_origin(files, self.manifest)
                # Samples may be many and are often not asked for: they stay on disk.
                database.add_table(connection, table, files, self._order(table), lazily=table == "samples")
        _check_once(self.directory, connection, [*self._order("runs"), "run_id"])
        if not self.files("samples"):
            connection.register("no_samples", _SAMPLES.to_frame().to_arrow())
            connection.sql("CREATE TABLE samples AS SELECT * FROM no_samples")
        connection.register("rows_not_run", self.not_run.to_arrow())
        connection.sql("CREATE TABLE not_run AS SELECT * FROM rows_not_run")
        if self.files("flows"):
            database.add_dynamics(connection)
            for name, sql in _views(self.directory):
                database.add_view(connection, name, sql)
        database.seal(connection, self.directory)
        self._database = batches, connection
        return connection

    def _order(self, table: str) -> list[str]:
        return [*self.manifest["order"], "run_id"] if table == "runs" else ["run_id"]


def _views(directory: Path) -> list[tuple[str, str]]:
    """The views of the study that a directory holds results of, by name."""
    path = directory / STUDY
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    return [(view["name"], view["sql"]) for view in tomllib.loads(text).get("view", [])]


class Writer:
    """A results directory held for writing; made by `writing`."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._origin = {"vazao": json.dumps(_origin(read_manifest(directory) or {}))}
        batches = _batches(directory)
        self._next = 1 + max((int(batch) for batch in batches), default=0)

    def commit(self, tables: Mapping[str, pl.DataFrame]) -> None:
        """Add a batch of finished runs: all its rows become visible at once, or none."""
        batch = f"{self._next:06}"
        for table in TABLES:
            if table in tables and (tables[table].height or table == "runs"):
                content = BytesIO()
                tables[table].write_parquet(content, compression="zstd", metadata=self._origin)
                write_atomically(_part(self.directory, table, batch), content.getbuffer())
        self._next += 1

    def note_not_run(self, rows: pl.DataFrame) -> None:
        """Say which planned runs could not be run: the columns of the design, and the `reason`."""
        path = self.directory / NOT_RUN
        if rows.height or path.exists():
            content = BytesIO()
            rows.write_parquet(content, compression="zstd")
            write_atomically(path, content.getbuffer())
        manifest = read_manifest(self.directory) or {}
        counts = dict(rows.group_by("reason").len().sort("reason").iter_rows())
        if manifest.get("not_run") != counts:
            write_json(self.directory / MANIFEST, manifest | {"not_run": counts})


@contextmanager
def writing(directory: Path, manifest: Mapping[str, Any], study_text: str | None = None) -> Iterator[Writer]:
    """Hold `directory` for the results that `manifest` describes, creating it or going on with what it holds.

    Raises `ResultsError` when the directory cannot be written, another process writes there, or it holds anything
    else (`check_usable`).
    """
    check_usable(directory, manifest)
    make_directory(directory)
    with locked(directory):
        check_usable(directory, manifest)
        for table in TABLES:
            make_directory(directory / table)
        _sweep(directory)
        if read_manifest(directory) != manifest:
            write_json(directory / MANIFEST, manifest)
        writer = Writer(directory)
        if study_text is not None:
            write_atomically(directory / STUDY, study_text.encode())
        yield writer


def check_usable(directory: Path, manifest: Mapping[str, Any]) -> dict[str, Any] | None:
    """The manifest that `directory` has, None when it is new or empty.

    Raises `ResultsError` when it holds other files, or results that differ in any key of `IDENTITY`.
    """
    with explained(directory, "read"):
        if directory.exists() and not directory.is_dir():
            raise ResultsError(f"{directory}: is a file; choose another --out")
        names = {path.name for path in directory.iterdir()} if directory.exists() else set()
    there = read_manifest(directory)
    if there is None:
        # What a process killed in its first moments leaves is a lock, a temporary file, empty folders.
        if any(not name.startswith(".") for name in names - set(TABLES)):
            raise ResultsError(f"{directory}: holds other files and no results; choose another --out")
        return None
    if difference := _difference(there, manifest):
        raise ResultsError(f"{directory}: holds results of another {difference}; choose another --out")
    return there


def _difference(there: Mapping[str, Any], now: Mapping[str, Any]) -> str | None:
    """What keeps two manifests' results apart, in words."""
    # What has a name comes first: a scenario's design differs too when a file of its does.
    for key, what in DIGESTS.items():
        for name, digest in now.get(key, {}).items():
            old = there.get(key, {}).get(name)
            if old and digest and old != digest:
                return f"{what} {name} (sha256 {old[:12]} there, {digest[:12]} now)"
    for key, what in IDENTITY.items():
        old, new = _entry(there, key), _entry(now, key)
        if old != new:
            return f"{what} ({str(old)[:40]} there, {str(new)[:40]} now)"
    return None


def read_manifest(directory: Path) -> dict[str, Any] | None:
    """The manifest, None where there is none. Raises `ResultsError` when it cannot be understood."""
    path = directory / MANIFEST
    with explained(path, "read"):
        if not path.exists():
            return None
        content = path.read_bytes()
    try:
        manifest = json.loads(content)
    except ValueError:
        manifest = None
    if not isinstance(manifest, dict) or "kind" not in manifest:
        raise ResultsError(f"{path}: is not a manifest that this version understands")
    return manifest


def write_json(path: Path, content: Any) -> None:
    """Write readable JSON, whole or not at all."""
    write_atomically(path, (json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode())


def _entry(manifest: Mapping[str, Any], dotted: str) -> Any:
    value: Any = manifest
    for key in dotted.split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _origin(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """What a part says of the results that it belongs to: what of a manifest keeps results apart."""
    whole = {name.partition(".")[0] for name in (*IDENTITY, *DIGESTS)}
    return {key: manifest[key] for key in sorted(whole) if key in manifest}


def _check_origin(files: Iterable[Path], manifest: Mapping[str, Any]) -> None:
    """Refuse parts that were made for another directory's results. Raises `ResultsError`."""
    for file in files:
        said = _said(file)
        if said and (difference := _difference(said, manifest)):
            problem = f"is of another {difference.replace(' there', ' in it').replace(' now', ' here')}"
            raise ResultsError(f"{file}: {problem}; remove it, and those of its name in the folders beside it")


def _check_once(directory: Path, connection: duckdb.DuckDBPyConnection, key: list[str]) -> None:
    """Refuse rows of runs that are there twice: parts that were copied. Raises `ResultsError`."""
    if not _batches(directory):
        return
    rows = connection.sql("SELECT * FROM runs").pl()
    twice = rows.height - rows.unique([name for name in dict.fromkeys(key) if name in rows.columns]).height
    if twice:
        problem = f"{twice} of {rows.height} rows are there twice"
        raise ResultsError(f"{directory / 'runs'}: {problem}; remove the parts that were copied, from all folders")


def _said(file: Path) -> dict[str, Any]:
    """What a part says of itself; nothing if it cannot be read, which whoever reads its rows will find."""
    try:
        return dict(json.loads(pl.read_parquet_metadata(file).get("vazao", "{}")))
    except (OSError, ValueError, TypeError, pl.exceptions.PolarsError):
        return {}


def _part(directory: Path, table: str, batch: str) -> Path:
    return directory / table / f"{batch}.parquet"


def _batches(directory: Path) -> list[str]:
    return sorted(path.stem for path in (directory / "runs").glob("[0-9]*.parquet"))


def _sweep(directory: Path) -> None:
    """Remove what a killed process left: temporary files, and parts of batches that were never committed."""
    committed = set(_batches(directory))
    for folder in (directory, *(directory / table for table in TABLES)):
        for path in sorted(folder.glob(f".*{TEMPORARY}")):
            remove(path)
    for table in TABLES:
        for path in sorted((directory / table).glob("*.parquet")):
            if path.stem not in committed:
                remove(path)
