"""A results directory: a manifest, rows that are committed batch by batch, and questions to them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, Protocol

import polars as pl
import pyarrow as pa
from duckdb import DuckDBPyConnection
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from vazao import _core, database, parts
from vazao.enclosure import Enclosure, Limits
from vazao.errors import ResultsError
from vazao.files import explained, locked, make_directory, make_folder, owned, read_file, write_atomically
from vazao.parts import TABLES
from vazao.study.model import View
from vazao.study.source import Source, read_text

MANIFEST = "manifest.json"
STUDY = "study.toml"
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

LIMITS = Limits(seconds=600, gigabytes=8)
"""What a question to stored results may take."""

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
            lost = "its results have lost their" if parts.batches(self.directory) else "it has no"
            raise ResultsError(f"{directory}: is no results directory ({lost} {MANIFEST})")
        self.manifest: dict[str, Any] = manifest
        """What was run: study, hash of its file, size, seed, parts with their counts, versions."""
        self._database: tuple[list[str], Enclosure] | None = None

    def batches(self) -> list[str]:
        """The names of the committed batches, in the order of their commitment."""
        return parts.batches(self.directory)

    def files(self, table: str) -> list[Path]:
        """The Parquet files that hold a table's committed rows."""
        owned(self.directory / table, folder=True)
        return [file for batch in self.batches() if owned(file := parts.part(self.directory, table, batch))]

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
        for batch in self.batches():
            said = parts.read(self.directory, batch)
            _check_origin(parts.part(self.directory, "runs", batch), said.origin, self.manifest)
            parts.verify(self.directory, batch, said)
        connection = database.connect(file for table in files for file in files[table])
        for table in TABLES:
            if files[table]:
                # Samples may be many and are often not asked for: they stay on disk.
                database.add_table(connection, table, files[table], self._order(table), lazily=table == "samples")
        if files["runs"]:
            _check_once(self.directory, connection, [*self._order("runs"), "run_id"])
        if gaps := parts.gaps(self.batches()):
            lost = parts.part(self.directory, "runs", gaps[0])
            raise ResultsError(f"{lost}: is lost; `vazao run` with this directory simulates its runs again")
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
        manifest = read_manifest(directory) or {}
        self._origin = _origin(manifest)
        known = parts.batches(directory)
        for batch in known:
            _check_origin(parts.part(directory, "runs", batch), parts.read(directory, batch).origin, manifest)
        self._next = 1 + max((int(batch) for batch in known), default=0)
        for batch in parts.gaps(known):
            # Its runs are lost and will be simulated again; an empty batch stands for them.
            empty = pl.read_parquet(parts.part(directory, "runs", known[-1]), n_rows=0)
            parts.write(directory, batch, {"runs": empty}, self._origin)

    def commit(self, tables: Mapping[str, pl.DataFrame], samples: Sequence[_core.Table] = ()) -> None:
        """Add a batch of finished runs, with the `samples` of each: all its rows become visible at once, or none."""
        parts.write(self.directory, f"{self._next:06}", tables, self._origin, samples)
        self._next += 1

    def note_not_run(self, rows: pl.DataFrame) -> None:
        """Say which planned runs could not be run: the columns of the design, and the `reason`."""
        path = self.directory / NOT_RUN
        if rows.height or path.exists():
            write_atomically(path, parts.as_parquet(rows))
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
        parts.sweep(directory)
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
        if "runs" in names and parts.batches(directory):
            raise ResultsError(f"{directory}: holds results whose {MANIFEST} is lost; choose another --out")
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
    inputs: dict[str, str] = {}
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


def _origin(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """What a part says of the results that it belongs to: what of a manifest keeps results apart."""
    whole = {name.partition(".")[0] for name in (*IDENTITY, *DIGESTS)}
    return {key: manifest[key] for key in sorted(whole) if key in manifest}


def _check_origin(path: Path, origin: Mapping[str, Any], manifest: Mapping[str, Any]) -> None:
    """Refuse a batch that was made for another directory's results. Raises `ResultsError`."""
    if origin and (difference := _difference(origin, manifest)):
        problem = f"is of another {difference.replace(' there', ' in it').replace(' now', ' here')}"
        raise ResultsError(f"{path}: {problem}; remove it, and those of its name in the folders beside it")


def _check_once(directory: Path, connection: DuckDBPyConnection, key: list[str]) -> None:
    """Refuse rows of runs that are there twice: parts that were copied. Raises `ResultsError`."""
    there = connection.table("runs").columns
    names = ", ".join(database.quoted(name) for name in dict.fromkeys(key) if name in there)
    counted = f"SELECT (SELECT count(*) FROM runs), count(*) FROM (SELECT DISTINCT {names} FROM runs)"
    (rows, distinct), *_ = connection.sql(counted).fetchall()
    if rows > distinct:
        problem = f"{rows - distinct} of {rows} rows are there twice"
        raise ResultsError(f"{directory / 'runs'}: {problem}; remove the parts that were copied, from all folders")
