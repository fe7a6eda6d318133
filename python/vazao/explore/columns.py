"""Columns that can be queried: those of a table, of its runs, and of the other tables as means per run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import polars as pl

from vazao.store import Store

TABLES = ("runs", "flows", "paths", "links")
"""Tables that can be explored."""

RESULTS = "results"
"""Column that names the directory; no table has it, as a directory does not know of others."""

DESIGN = ("run_id", "part", "replication", "seed")
"""Columns of planned runs that are not factors."""

OWN = "own."
"""Prefix of a table's own column that a factor hides: `own.cc` is the congestion control of the flow itself."""

Kind = Literal["number", "text", "flag"]


@dataclass(frozen=True)
class Column:
    """A column of a table in the database."""

    name: str
    kind: Kind


@dataclass(frozen=True)
class Tables:
    """The tables of one directory: their columns by name, in the tables' order."""

    columns: Mapping[str, Mapping[str, Column]]
    factors: tuple[str, ...] = ()
    """Columns of the design, each with its numeric columns."""

    def of(self, table: str) -> dict[str, Column]:
        """All columns available for the rows of a table: its own, its runs', and means of other tables' numbers.

        A column that a table and its runs both have is the table's, except for a factor: a rival flow, whose
        congestion control is not the one that is varied, still belongs to the run's level.
        """
        runs, own = self.columns.get("runs", {}), self.columns.get(table, {})
        known = {**runs, **own, **{name: runs[name] for name in self.factors if name in runs}}
        known |= {OWN + name: Column(OWN + name, own[name].kind) for name in self.hidden(table)}
        for other, columns in self.columns.items():
            if other not in (table, "runs"):
                means = (Column(f"{other}.{one.name}", "number") for one in columns.values() if one.kind == "number")
                known |= {one.name: one for one in means if one.name not in known}
        return known

    def hidden(self, table: str) -> list[str]:
        """Columns of a table that factors hide."""
        return [name for name in self.factors if table != "runs" and name in self.columns.get(table, {})]

    def owner(self, table: str, name: str) -> str:
        """The table that a column in `of` comes from."""
        if name in self.factors and name in self.columns.get("runs", {}):
            return "runs"
        if name.startswith(OWN):
            return table
        near = (one for one in (table, "runs") if name in self.columns.get(one, {}))
        return next(near, name.partition(".")[0])


def read(store: Store) -> Tables:
    """The columns of a directory's stored tables. Raises `ResultsError`."""
    found: dict[str, dict[str, Column]] = {}
    for table in TABLES:
        if store.files(table):
            schema = store.query(f"SELECT * FROM {table} LIMIT 0").schema
            kinds = ((name, kind_of(kind)) for name, kind in schema.items())
            found[table] = {name: Column(name, kind) for name, kind in kinds if kind and name != RESULTS}
    planned = store.planned
    design = () if planned is None else tuple(name for name in planned.columns if name not in DESIGN)
    return Tables(found, tuple(name for name in design if name in found.get("runs", {})))


def kind_of(dtype: pl.DataType) -> Kind | None:
    """The kind of a data type's values; None for an unsupported type."""
    if dtype.is_numeric():
        return "number"
    if dtype == pl.Boolean():
        return "flag"
    return "text" if dtype == pl.String() else None
