"""Rows of finished runs, on their way from the simulator to a batch on disk."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from io import BytesIO
from typing import TYPE_CHECKING

import polars as pl
import pyarrow as pa

from vazao import _core
from vazao.store import joined_table

if TYPE_CHECKING:
    from vazao.store import Outcome

SEED = pl.Int64()
"""Type of the column `seed` in `runs`."""


@dataclass(frozen=True)
class Rows:
    """Tables of runs, and the samples of each run or of several."""

    tables: Mapping[str, pl.DataFrame]
    samples: Sequence[_core.Table | pa.Table] = ()

    def packed(self) -> Packed:
        """Encode the rows as Arrow streams, for another process."""
        tables = {}
        for name, rows in self.tables.items():
            rows.write_ipc_stream(stream := BytesIO(), compression="lz4")
            tables[name] = stream.getvalue()
        return Packed(tables, [_packed(run) for run in self.samples if len(run)])


@dataclass(frozen=True)
class Packed:
    """Rows encoded as Arrow streams."""

    tables: Mapping[str, bytes] = field(default_factory=dict)
    samples: Sequence[bytes] = ()

    def rows(self) -> Rows:
        """Decode the rows."""
        tables = {name: pl.read_ipc_stream(BytesIO(stream)) for name, stream in self.tables.items()}
        return Rows(tables, [pa.ipc.open_stream(stream).read_all() for stream in self.samples])


def _packed(samples: _core.Table | pa.Table) -> bytes:
    reader = pa.RecordBatchReader.from_stream(samples)
    schema = pa.schema([(each.name, getattr(each.type, "value_type", each.type)) for each in reader.schema])
    options = pa.ipc.IpcWriteOptions(compression="lz4")
    with pa.BufferOutputStream() as sink:
        with pa.ipc.new_stream(sink, schema, options=options) as stream:
            for batch in reader:
                stream.write_table(pa.Table.from_batches([batch]).cast(schema))
        return bytes(sink.getvalue())


def rows_of(ended: Sequence[tuple[_core.Scenario, Outcome]]) -> Rows:
    """Rows of finished runs, some of which may have failed."""
    # A failed run has no tables.
    measured = [outcome for _, outcome in ended if outcome.failure is None]
    names = ("flows", "paths", "links") if measured else ()
    tables = {name: joined_table(measured, name) for name in names}
    tables["scenarios"] = pl.DataFrame(
        [(scenario.run_id, scenario.json) for scenario, _ in ended],
        schema={"run_id": pl.String, "scenario": pl.String},
        orient="row",
    )
    done = [joined_table(measured, "runs").with_columns(failure=pl.lit(None, pl.String))] if measured else []
    failed = [_failed(scenario, outcome) for scenario, outcome in ended if outcome.failure is not None]
    tables["runs"] = pl.concat([*done, *failed], how="diagonal")
    return Rows(tables, _core.merged([outcome.table("samples") for outcome in measured]))


def _failed(scenario: _core.Scenario, outcome: Outcome) -> pl.DataFrame:
    """Row of a failed run, with its reason and without measures."""
    row = {"run_id": [scenario.run_id], "seed": [scenario.seed], "failure": [outcome.failure]}
    return pl.DataFrame(row, schema_overrides={"seed": SEED, "failure": pl.String})


def together(several: Sequence[Rows]) -> Rows:
    """Concatenation of several sets of rows, some of which may lack a table."""
    names = dict.fromkeys(name for rows in several for name in rows.tables)
    found = {name: [rows.tables[name] for rows in several if name in rows.tables] for name in names}
    # The rows of failed runs lack the columns of measures.
    tables = {name: pl.concat(each, how="diagonal" if name == "runs" else "vertical") for name, each in found.items()}
    return Rows(tables, [run for rows in several for run in rows.samples])
