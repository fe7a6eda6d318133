"""Parts of a results directory: Parquet files of rows, one per table and batch, and a record of each batch.

A batch is one file of the same name in every table's folder. The file in `runs/` is written last: its presence commits
the batch, and its record gives the origin of the results and the batch's other parts. The process may therefore be
killed at any moment: a committed batch is complete, an uncommitted one does not exist, and parts that were lost,
changed or copied since are detected.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from hashlib import file_digest, sha256
from io import BytesIO
from itertools import chain
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
from pyarrow import parquet
from pydantic import BaseModel, ConfigDict

from vazao import _core
from vazao.errors import ResultsError
from vazao.files import TEMPORARY, explained, owned, remove, replacing, write_atomically

TABLES = ("scenarios", "samples", "links", "paths", "flows", "runs")
"""Tables in the order in which a batch writes them."""

RECORD = b"vazao.batch"
"""Key of a batch's record (`Batch`) in the metadata of its part in `runs/`."""

_NAME = re.compile("[0-9]{6,9}")


class Piece(BaseModel):
    """Size and digest of one part of a batch, as it was written."""

    model_config = ConfigDict(strict=True)

    bytes: int
    sha256: str


class Batch(BaseModel):
    """Record of a batch."""

    model_config = ConfigDict(strict=True)

    origin: dict[str, Any] = {}
    """Fields of the manifest that identify the results of a directory; empty in batches of older versions."""
    parts: dict[str, Piece] = {}
    """Parts of the batch by table, except the one in `runs/`."""
    replaces: str = ""
    """Batch that this one supersedes: it has the same runs, except for some that were dropped."""


def part(directory: Path, table: str, batch: str) -> Path:
    """Path of the file with a batch's rows of a table."""
    return directory / table / f"{batch}.parquet"


def batches(directory: Path) -> list[str]:
    """Names of the committed batches in commit order."""
    files, replaced = _committed(directory)
    return sorted(name for name in files if name not in replaced)


def gaps(directory: Path) -> list[str]:
    """Names of missing batches: numbers start at 1, and each batch begins only after the previous one is complete."""
    files, replaced = _committed(directory)
    there = {int(name) for name in (*files, *replaced)}
    return [f"{n:06}" for n in range(1, max(there, default=0)) if n not in there]


def following(directory: Path) -> int:
    """Number of the next batch."""
    files, _ = _committed(directory)
    return 1 + max(map(int, files), default=0)


def _committed(directory: Path) -> tuple[list[str], set[str]]:
    """Names of all batches with a part in `runs/`, and of those that another batch has replaced."""
    if not owned(directory / "runs", folder=True):
        return [], set()
    names: list[str] = []
    replaced: set[str] = set()
    # The directory is read for every query, and may have thousands of batches.
    with explained(directory / "runs", "read"), os.scandir(directory / "runs") as entries:
        for entry in entries:
            name = entry.name.removesuffix(".parquet")
            if name != entry.name and _NAME.fullmatch(name):
                status = entry.stat()
                names.append(name)
                replaced.add(_replaced(str(directory), name, status.st_size, status.st_mtime_ns))
    return names, replaced - {""}


@lru_cache(maxsize=100_000)
def _replaced(directory: str, batch: str, *_: int) -> str:
    """Name of the batch that this one replaces; empty if the record is unreadable, as reading the rows reports that."""
    try:
        return read(Path(directory), batch).replaces
    except ResultsError:
        return ""


def write(
    directory: Path,
    batch: str,
    tables: Mapping[str, pl.DataFrame],
    origin: Mapping[str, Any],
    samples: Sequence[_core.Table | pa.Table] = (),
    replaces: str = "",
) -> None:
    """Commit a batch with the `samples` of its runs, atomically: all its rows become visible at once, or none.

    The rows of the batch that it `replaces` disappear at the same moment.
    """
    record = Batch(origin=dict(origin), replaces=replaces)
    if any(map(len, samples)):
        record.parts["samples"] = _write_samples(part(directory, "samples", batch), samples)
    for table in TABLES[:-1]:
        if table in tables and tables[table].height:
            content = as_parquet(tables[table])
            record.parts[table] = Piece(bytes=len(content), sha256=sha256(content).hexdigest())
            write_atomically(part(directory, table, batch), content)
    write_atomically(part(directory, "runs", batch), as_parquet(tables["runs"], record))


ROWS = 1 << 16
"""Approximate number of rows per group of samples: written at once, they could exceed memory."""


def _write_samples(path: Path, runs: Sequence[_core.Table | pa.Table]) -> Piece:
    streams = [pa.RecordBatchReader.from_stream(run) for run in runs]
    schema = pa.schema([(each.name, getattr(each.type, "value_type", each.type)) for each in streams[0].schema])
    with replacing(path) as file, parquet.ParquetWriter(file, schema, compression="zstd", store_schema=False) as writer:
        group: list[pa.Table] = []
        for batch in chain.from_iterable(streams):
            group.append(pa.Table.from_batches([batch]).cast(schema))
            if sum(map(len, group)) >= ROWS:
                writer.write_table(pa.concat_tables(group))
                group = []
        if group:
            writer.write_table(pa.concat_tables(group))
    with path.open("rb") as whole:
        return Piece(bytes=path.stat().st_size, sha256=file_digest(whole, "sha256").hexdigest())


def as_parquet(rows: pl.DataFrame, said: Batch | None = None) -> bytes:
    """Rows as the bytes of a Parquet file, whose metadata has the record of their batch."""
    content = BytesIO()
    metadata = {RECORD.decode(): said.model_dump_json()} if said else None
    rows.write_parquet(content, compression="zstd", metadata=metadata)
    return content.getvalue()


def read(directory: Path, batch: str) -> Batch:
    """Read the record of a batch. Raises `ResultsError` when its part in `runs/` is damaged."""
    runs = part(directory, "runs", batch)
    owned(runs)
    try:
        metadata = parquet.read_metadata(runs).metadata or {}
        return Batch.model_validate_json(metadata.get(RECORD, b"{}"))
    except (pa.ArrowException, OSError, ValueError):
        raise ResultsError(f"{runs}: is damaged: not as it was written{_remedy(runs)}") from None


def verify(directory: Path, batch: str, said: Batch) -> None:
    """Check that every part of a batch is as it was committed. Raises `ResultsError` naming the first that is not."""
    for table in (table for table in TABLES if table in said.parts):
        path, wanted = part(directory, table, batch), said.parts[table]
        remedy = _remedy(part(directory, "runs", batch))
        if not owned(path):
            raise ResultsError(f"{path}: is lost{remedy}")
        # Samples may be large, so only their size is checked: other damage is found when they are read.
        same = path.stat().st_size == wanted.bytes
        if not same or (table != "samples" and sha256(path.read_bytes()).hexdigest() != wanted.sha256):
            raise ResultsError(f"{path}: is damaged: not as it was written{remedy}")


def _remedy(runs: Path) -> str:
    return f"; delete {runs}, and `vazao run` with this directory simulates its runs again"


def sweep(directory: Path) -> None:
    """Remove stale files: temporary files of a killed process, parts of uncommitted and of replaced batches."""
    committed = set(batches(directory))
    for folder in (directory, *(directory / table for table in TABLES)):
        for path in sorted(folder.glob(f".*{TEMPORARY}")):
            remove(path)
    for table in TABLES:
        for path in sorted((directory / table).glob("*.parquet")):
            if path.stem not in committed:
                remove(path)
