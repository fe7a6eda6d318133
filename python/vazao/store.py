"""A results directory: rows as Parquet parts, committed batch by batch, and questions to them.

A batch is one file of the same name in every table's folder. The one in `runs/` is written last: its presence commits
the batch. So the process may be killed at any moment: a finished batch is whole, an unfinished one does not exist.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import Any, Literal, Protocol

import polars as pl
import pyarrow as pa
from duckdb import DuckDBPyConnection
from pyarrow import parquet
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from vazao import database
from vazao.enclosure import Enclosure, Limits
from vazao.errors import ResultsError
from vazao.files import (
    TEMPORARY,
    explained,
    locked,
    make_directory,
    make_folder,
    owned,
    read_file,
    remove,
    write_atomically,
)
from vazao.study.model import View
from vazao.study.source import Source, read_text

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

RECORD = "vazao.batch"
"""Where a batch's part in `runs/`, which commits it, says what its other parts are."""


class Piece(BaseModel):
    """One part of a batch as it was written."""

    model_config = ConfigDict(strict=True)

    bytes: int
    sha256: str


Record = dict[str, Piece]
_RECORD = TypeAdapter(Record)

LIMITS = Limits(seconds=600, gigabytes=8)
"""What a question to stored results may take."""

_BATCH = re.compile("[0-9]{6,9}")

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
            lost = "its results have lost their" if _batches(self.directory) else "it has no"
            raise ResultsError(f"{directory}: is no results directory ({lost} {MANIFEST})")
        self.manifest: dict[str, Any] = manifest
        """What was run: study, hash of its file, size, seed, parts with their counts, versions."""
        self._database: tuple[list[str], Enclosure] | None = None

    def batches(self) -> list[str]:
        """The names of the committed batches, in the order of their commitment."""
        return _batches(self.directory)

    def files(self, table: str) -> list[Path]:
        """The Parquet files that hold a table's committed rows."""
        owned(self.directory / table, folder=True)
        return [file for batch in self.batches() if owned(file := _part(self.directory, table, batch))]

    def read(self, table: str) -> pl.DataFrame:
        """All rows of a table in their canonical order; no rows and no columns when there is nothing yet."""
        if table != "samples" and not self.files(table):
            return pl.DataFrame()
        return self.query(f"SELECT * FROM {database.quoted(table)}")

    @property
    def not_run(self) -> pl.DataFrame:
        """The planned runs that could not be run: the columns of the design, and the `reason`."""
        return self.query("SELECT * FROM not_run")

    def query(self, sql: str, parameters: Mapping[str, object] | None = None) -> pl.DataFrame:
        """Ask the tables runs, flows, paths, links, samples, scenarios, not_run anything. Raises `ResultsError`."""
        return self._asked().query(sql, parameters)

    def _asked(self) -> Enclosure:
        """The tables as of now: loaded again when a batch has come since, or the last question was too much."""
        now = [*self.batches(), str((self.directory / NOT_RUN).stat().st_mtime_ns if self._not_run() else "")]
        if self._database and self._database[0] == now and self._database[1].alive:
            return self._database[1]
        if self._database:
            self._database[1].close()
        if gaps := _gaps(self.batches()):
            part = _part(self.directory, "runs", gaps[0])
            raise ResultsError(f"{part}: is lost; `vazao run` with this directory simulates its runs again")
        views, samples = _views(self.directory), _SAMPLES.to_frame().to_arrow()
        files = {table: [file.absolute() for file in self.files(table)] for table in TABLES}
        files["not_run"] = [file.absolute() for file in self._not_run()]
        enclosed = Enclosure(lambda: self._load(files, views, samples), LIMITS)
        self._database = now, enclosed
        return enclosed

    def _not_run(self) -> list[Path]:
        return [file for file in [self.directory / NOT_RUN] if owned(file)]

    def _load(self, files: Mapping[str, list[Path]], views: list[View], samples: pa.Table) -> DuckDBPyConnection:
        """The tables in a database; of the child process, which must not use what threads of its parent may hold."""
        verify(self.directory, self.batches())
        connection = database.connect(file for table in files for file in files[table])
        for table in TABLES:
            if files[table]:
                # Samples may be many and are often not asked for: they stay on disk.
                database.add_table(connection, table, files[table], self._order(table), lazily=table == "samples")
        if not files["samples"]:
            database.add_rows(connection, "samples", samples)
        if files["not_run"]:
            database.add_table(connection, "not_run", files["not_run"], [])
        else:
            connection.sql("CREATE TABLE not_run (part VARCHAR, reason VARCHAR)")
        if files["flows"]:
            database.add_dynamics(connection)
            for view in views:
                try:
                    database.add_view(connection, view.name, view.sql)
                except ResultsError as error:
                    raise ResultsError(f"{self.directory / STUDY}: view {view.name!r}: {error}") from None
        return connection

    def _order(self, table: str) -> list[str]:
        return [*self.manifest["order"], "run_id"] if table == "runs" else ["run_id"]


def _views(directory: Path) -> list[View]:
    """The views of the study that a directory holds results of."""
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


class Writer:
    """A results directory held for writing; made by `writing`."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        batches = _batches(directory)
        self._next = 1 + max((int(batch) for batch in batches), default=0)
        for batch in _gaps(batches):
            # Its runs are lost and will be simulated again; an empty batch stands for them.
            known = _part(directory, "runs", batches[-1])
            _record(known)
            write_atomically(_part(directory, "runs", batch), _parquet(pl.read_parquet(known, n_rows=0), {}))

    def commit(self, tables: Mapping[str, pl.DataFrame]) -> None:
        """Add a batch of finished runs: all its rows become visible at once, or none."""
        batch = f"{self._next:06}"
        record: Record = {}
        for table in TABLES[:-1]:
            if table in tables and tables[table].height:
                content = _parquet(tables[table])
                record[table] = Piece(bytes=len(content), sha256=sha256(content).hexdigest())
                write_atomically(_part(self.directory, table, batch), content)
        write_atomically(_part(self.directory, "runs", batch), _parquet(tables["runs"], record))
        self._next += 1

    def note_not_run(self, rows: pl.DataFrame) -> None:
        """Say which planned runs could not be run: the columns of the design, and the `reason`."""
        path = self.directory / NOT_RUN
        if rows.height or path.exists():
            write_atomically(path, _parquet(rows))
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
            make_folder(directory / table)
        for name in (MANIFEST, STUDY, NOT_RUN):
            owned(directory / name)
        _sweep(directory)
        writer = Writer(directory)
        if read_manifest(directory) != manifest:
            write_json(directory / MANIFEST, manifest)
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
        if "runs" in names and _batches(directory):
            raise ResultsError(f"{directory}: holds results whose {MANIFEST} is lost; choose another --out")
        if any(not name.startswith(".") for name in names - set(TABLES)):
            raise ResultsError(f"{directory}: holds other files and no results; choose another --out")
        return None
    for key, what in IDENTITY.items():
        old, new = _entry(there, key), _entry(manifest, key)
        if old != new:
            differs = f"{str(old)[:40]} there, {str(new)[:40]} now"
            raise ResultsError(f"{directory}: holds results of another {what} ({differs}); choose another --out")
    for name, digest in manifest.get("kernels", {}).items():
        old = there.get("kernels", {}).get(name)
        if old and digest and old != digest:
            differs = f"sha256 {old[:12]} there, {digest[:12]} now"
            raise ResultsError(f"{directory}: holds results of another kernel {name} ({differs}); choose another --out")
    return there


class Manifest(BaseModel):
    """What a manifest of this version says, as far as anything here reads it."""

    model_config = ConfigDict(extra="allow", strict=True)

    kind: Literal["study", "scenario"]
    name: str
    design_sha256: str = ""
    order: list[str]
    versions: dict[str, str]
    title: str = ""
    size: Literal["quick", "full"] = "quick"
    seed: int = 1
    overrides: list[tuple[str, Any] | list[Any]] = []
    runs: int = 0
    parts: list[dict[str, str | int]] = []
    kernels: dict[str, str | None] = {}
    not_run: dict[str, int] = {}


def read_manifest(directory: Path) -> dict[str, Any] | None:
    """The manifest, None where there is none. Raises `ResultsError` when it cannot be understood."""
    path = directory / MANIFEST
    if not owned(path):
        return None
    with explained(path, "read"):
        content = read_file(path)
    try:
        manifest = json.loads(content)
        Manifest.model_validate(manifest)
    except (ValidationError, ValueError, RecursionError) as error:
        problems = error.errors() if isinstance(error, ValidationError) else []
        key = (
            f" (its key {'.'.join(map(str, problems[0]['loc']))!r} is none)" if problems and problems[0]["loc"] else ""
        )
        raise ResultsError(f"{path}: is not a manifest that this version understands{key}") from None
    return dict(manifest)


def write_json(path: Path, content: Any) -> None:
    """Write readable JSON, whole or not at all."""
    write_atomically(path, (json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode())


def _entry(manifest: Mapping[str, Any], dotted: str) -> Any:
    value: Any = manifest
    for key in dotted.split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _part(directory: Path, table: str, batch: str) -> Path:
    return directory / table / f"{batch}.parquet"


def _batches(directory: Path) -> list[str]:
    owned(directory / "runs", folder=True)
    return sorted(path.stem for path in (directory / "runs").glob("*.parquet") if _BATCH.fullmatch(path.stem))


def _gaps(batches: list[str]) -> list[str]:
    """The batches that must have been there: they are counted from 1, and none is begun before the last is whole."""
    there = {int(batch) for batch in batches}
    return [f"{n:06}" for n in range(1, max(there, default=0)) if n not in there]


def _parquet(rows: pl.DataFrame, record: Record | None = None) -> bytes:
    content = BytesIO()
    rows.write_parquet(
        content, compression="zstd", metadata=None if record is None else {RECORD: _RECORD.dump_json(record).decode()}
    )
    return content.getvalue()


def verify(directory: Path, batches: list[str]) -> None:
    """See that every part of every batch is as it was committed. Raises `ResultsError` naming the first that is not."""
    for batch in batches:
        runs = _part(directory, "runs", batch)
        for table, wanted in _record(runs).items():
            part = _part(directory, table, batch)
            if not owned(part):
                raise ResultsError(f"{part}: is lost{_remedy(runs)}")
            # Samples may be many: a change that keeps their size shows when they are read.
            same = part.stat().st_size == wanted.bytes
            if not same or (table != "samples" and sha256(part.read_bytes()).hexdigest() != wanted.sha256):
                raise ResultsError(f"{part}: is damaged: not as it was written{_remedy(runs)}")


def _record(runs: Path) -> Record:
    """What a batch consists of beside its runs; nothing is known of one that an older version wrote."""
    owned(runs)
    try:
        metadata = parquet.read_metadata(runs).metadata or {}
        record = _RECORD.validate_json(metadata.get(RECORD.encode(), b"{}"))
    except (pa.ArrowException, OSError, ValueError):
        raise ResultsError(f"{runs}: is damaged: not as it was written{_remedy(runs)}") from None
    return {table: piece for table, piece in record.items() if table in TABLES}


def _remedy(runs: Path) -> str:
    return f"; delete {runs}, and `vazao run` with this directory simulates its runs again"


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
