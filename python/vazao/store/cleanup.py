"""Removal of stored runs that a study no longer has."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
from pyarrow import parquet

from vazao.errors import ResultsError
from vazao.store import parts
from vazao.store.directory import Store
from vazao.store.manifest import read_manifest
from vazao.store.parts import TABLES
from vazao.store.writer import Writer, writing


@dataclass(frozen=True)
class Freed:
    """Number of runs removed from a results directory, and of bytes freed."""

    runs: int
    bytes: int


def clean(directory: str | Path) -> Freed:
    """Remove stored runs that the study no longer plans. Raises `ResultsError`.

    Batches with such runs are rewritten without them. If interrupted at any point, every other run is stored once.
    """
    store = Store(directory)
    rows = store.planned
    if store.manifest["kind"] != "study" or rows is None:
        raise ResultsError(f"{directory}: holds the results of a scenario, of which nothing is left out")
    unplanned = set(store.stored.join(rows, on="run_id", how="anti")["run_id"])
    if not unplanned:
        return Freed(0, 0)
    before = _size(store.directory)
    with writing(store.directory, read_manifest(store.directory) or {}) as writer:
        for batch in parts.batches(store.directory):
            parts.verify(store.directory, batch, parts.read(store.directory, batch))
            _rewrite(writer, batch, unplanned)
        parts.sweep(store.directory)
    return Freed(len(unplanned), before - _size(store.directory))


def _rewrite(writer: Writer, batch: str, unplanned: set[str]) -> None:
    """Rewrite a batch without the unplanned runs, if it has any."""
    stay = ~pl.col("run_id").is_in(list(unplanned))
    tables: dict[str, Any] = {}
    for table in TABLES:
        if (path := parts.part(writer.directory, table, batch)).exists() and table != "samples":
            tables[table] = pl.read_parquet(path)
    if tables["runs"].filter(stay).height == tables["runs"].height:
        return
    samples = []
    if (path := parts.part(writer.directory, "samples", batch)).exists():
        kept = tables["runs"].filter(stay)["run_id"].to_list()
        samples = [parquet.read_table(path, filters=[("run_id", "in", kept)])] if kept else []
    writer.commit({name: rows.filter(stay) for name, rows in tables.items()}, samples, replaces=batch)


def _size(directory: Path) -> int:
    return sum(path.stat().st_size for path in directory.rglob("*.parquet"))
