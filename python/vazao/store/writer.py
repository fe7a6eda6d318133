"""Results directory locked for writing: batches of rows are committed to it one after the other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa

from vazao import _core
from vazao.files import locked, make_directory, make_folder, owned, write_atomically, write_json
from vazao.store import parts
from vazao.store.directory import NOT_RUN, PLANNED, STUDY
from vazao.store.manifest import MANIFEST, check_origin, check_usable, origin_of, read_manifest
from vazao.store.parts import TABLES


class Writer:
    """Results directory locked for writing; created by `writing`."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        manifest = read_manifest(directory) or {}
        self._origin = origin_of(manifest)
        known = parts.batches(directory)
        for batch in known:
            check_origin(parts.part(directory, "runs", batch), parts.read(directory, batch).origin, manifest)
        self._next = parts.following(directory)
        for batch in parts.gaps(directory):
            # Its runs are lost and will be simulated again; an empty batch takes their place.
            empty = pl.read_parquet(parts.part(directory, "runs", known[-1]), n_rows=0)
            parts.write(directory, batch, {"runs": empty}, self._origin)

    def commit(
        self, tables: Mapping[str, pl.DataFrame], samples: Sequence[_core.Table | pa.Table] = (), replaces: str = ""
    ) -> None:
        """Add a batch of finished runs with their `samples`, atomically: all its rows become visible at once, or none.

        The rows of the batch that it `replaces` disappear at the same moment.
        """
        parts.write(self.directory, f"{self._next:06}", tables, self._origin, samples, replaces)
        self._next += 1

    def write_planned(self, rows: pl.DataFrame) -> None:
        """Record which runs the tables contain, in order: `run_id` and the columns of the design."""
        write_atomically(self.directory / PLANNED, parts.as_parquet(rows))

    def write_not_run(self, rows: pl.DataFrame) -> None:
        """Record which planned runs could not be run: the columns of the design, and the `reason`."""
        path = self.directory / NOT_RUN
        if rows.height or path.exists():
            write_atomically(path, parts.as_parquet(rows))
        manifest = read_manifest(self.directory) or {}
        counts = dict(rows.group_by("reason").len().sort("reason").iter_rows())
        if manifest.get("not_run") != counts:
            write_json(self.directory / MANIFEST, manifest | {"not_run": counts})


@contextmanager
def writing(directory: Path, manifest: Mapping[str, Any], study_text: str | None = None) -> Iterator[Writer]:
    """Lock `directory` for the results that `manifest` describes, creating it or continuing with its contents.

    Raises `ResultsError` if the directory cannot be written, another process is writing to it, or it holds anything
    else (`check_usable`).
    """
    check_usable(directory, manifest)
    make_directory(directory)
    with locked(directory):
        check_usable(directory, manifest)
        for table in TABLES:
            make_folder(directory / table)
        for name in (MANIFEST, STUDY, PLANNED, NOT_RUN):
            owned(directory / name)
        parts.sweep(directory)
        if read_manifest(directory) != manifest:
            write_json(directory / MANIFEST, manifest)
        writer = Writer(directory)
        if study_text is not None:
            write_atomically(directory / STUDY, study_text.encode())
        yield writer
