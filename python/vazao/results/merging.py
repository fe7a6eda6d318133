"""Merging of one campaign's shards, simulated on several machines, into one results directory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl
from pyarrow import parquet

from vazao.errors import ResultsError
from vazao.files import owned, read_file, write_atomically
from vazao.measurements import measurement_files
from vazao.results.campaign import open_campaign
from vazao.store import STUDY, TABLES, Store, Writer, check_origin, inputs, parts, readme, writing
from vazao.study import Study, parse_as, read_text

SAME = {"name": "study", "overrides": "set of --set changes", "seed": "seed", "versions": "versions"}
"""Manifest fields that must agree between shards of one campaign, each with its name in messages."""


@dataclass(frozen=True)
class Merged:
    """Run counts of a directory of merged results."""

    directory: Path
    added: int
    """Number of runs that this call added; runs already present are not counted."""
    runs: int
    """Number of planned runs that are stored."""
    missing: int
    """Number of planned runs that no shard has."""


def merge(sources: Sequence[str | Path], out: str | Path) -> Merged:
    """Copy the runs of `sources`, shards of one campaign (`vazao run --shard`), to `out`, each run once.

    The ledger is written if no run is missing. Raises `ResultsError` for a directory with another study or version,
    with different measurements of the same name, or with damaged rows.
    """
    stores = [Store(source) for source in sources]
    first, directory = stores[0], Path(out)
    _check_same(stores)
    sets = measurement_files.together(directory, [store.directory for store in stores])
    stored = pl.concat([store.stored for store in stores]).unique()
    # A machine without a kernel plans guests' runs under run_ids that no stored run has.
    best = max(stores, key=lambda store: _planned(store).join(stored, on="run_id", how="semi").height)
    with writing(directory, best.manifest | {"not_run": {}}, read_file(first.directory / STUDY).decode()) as writer:
        for name in sorted(first.directory.glob("study.*.toml")):
            write_atomically(directory / name.name, read_file(name))
        study = parse_as(Study, read_text(directory / STUDY), str(directory / STUDY))
        measurement_files.take(directory, sets)
        readme.write(directory, best.manifest, study)
        for store in stores:
            for copy in inputs.kept(store.directory, store.manifest).values():
                inputs.copy(copy, directory)
        rows = _planned(best)
        writer.write_planned(rows)
        there = set(Store(directory).stored["run_id"])
        added = sum(_copy_runs(writer, store, there) for store in stores)
        whole = Store(directory)
        _note_not_run(writer, whole, stores)
    runs = rows.join(whole.stored, on="run_id", how="semi").height
    if runs == rows.height:
        open_campaign(directory).write_ledger()
    return Merged(directory, added, runs, rows.height - runs)


def _planned(store: Store) -> pl.DataFrame:
    rows = store.planned
    if store.manifest["kind"] != "study" or rows is None:
        raise ResultsError(
            f"{store.directory}: holds the results of a scenario; parts of a study's campaign can be merged"
        )
    return rows


def _check_same(stores: Sequence[Store]) -> None:
    """Reject shards of different campaigns. Raises `ResultsError` naming the first difference."""
    first = stores[0]
    columns = _planned(first).drop("run_id")
    for store in stores[1:]:
        for key, what in SAME.items():
            here, there = first.manifest.get(key), store.manifest.get(key)
            if here != there:
                raise ResultsError(
                    f"{store.directory}: holds another {what} than {first.directory} ({there}, not {here})"
                )
        if read_file(store.directory / STUDY) != read_file(first.directory / STUDY):
            raise ResultsError(f"{store.directory}: its {STUDY} is not that of {first.directory}")
        if not _planned(store).drop("run_id").equals(columns):
            sizes = f"{store.manifest['size']}, not {first.manifest['size']}"
            raise ResultsError(f"{store.directory}: holds another design than {first.directory} ({sizes})")


def _copy_runs(writer: Writer, store: Store, there: set[str]) -> int:
    """Commit a shard's batches without the runs in `there`, which gains the new ones; return the number of new runs."""
    copied = 0
    for batch in parts.batches(store.directory):
        record = parts.read(store.directory, batch)
        check_origin(parts.part(store.directory, "runs", batch), record.origin, store.manifest)
        parts.verify(store.directory, batch, record)
        files = {table: parts.part(store.directory, table, batch) for table in TABLES}
        tables = {table: pl.read_parquet(file) for table, file in files.items() if table != "samples" and owned(file)}
        new = [run for run in tables["runs"]["run_id"] if run not in there]
        there.update(new)
        if new:
            wanted = pl.col("run_id").is_in(new)
            samples = (
                [parquet.read_table(files["samples"], filters=[("run_id", "in", new)])]
                if owned(files["samples"])
                else []
            )
            writer.commit({name: rows.filter(wanted) for name, rows in tables.items()}, samples)
        copied += len(new)
    return copied


def _note_not_run(writer: Writer, whole: Store, stores: Sequence[Store]) -> None:
    """Record why runs could not be run, for those that no shard has."""
    noted = [rows for store in stores if (rows := store.not_run).height]
    if noted:
        rows = pl.concat(noted, how="diagonal_relaxed").unique(subset=pl.exclude("reason"), maintain_order=True)
        missing = whole.query("SELECT * EXCLUDE (run_id) FROM planned ANTI JOIN runs USING (run_id)")
        key = [name for name in rows.columns if name != "reason"]
        writer.write_not_run(rows.join(missing, on=key, how="semi", nulls_equal=True, maintain_order="left"))
