"""Answers to queries for views: each directory is queried separately, and the column `results` names it."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import Any

import polars as pl

from vazao.errors import ResultsError, did_you_mean
from vazao.explore.columns import RESULTS
from vazao.explore.directories import Directory, plain
from vazao.explore.queries import Ask, Dimension
from vazao.explore.sql import MAX_ROWS, Binning, Builder, Domain, Statement


class Answers:
    """Answers from several directories, with common bins."""

    def __init__(self, directories: Sequence[Directory]) -> None:
        self.directories = list(directories)
        self._domains: dict[tuple[str, ...], Domain | None] = {}

    @property
    def version(self) -> str:
        """Short fingerprint of all rows stored now."""
        return "-".join(each.version for each in self.directories)

    def about(self) -> dict[str, Any]:
        """Facts about all directories, and the columns of each table."""
        tables: dict[str, dict[str, dict[str, str]]] = {}
        for each in self.directories:
            known = each.tables
            for table in known.columns:
                columns = tables.setdefault(table, {})
                for one in known.of(table).values():
                    columns.setdefault(
                        one.name, {"name": one.name, "kind": one.kind, "of": known.owner(table, one.name)}
                    )
        return {
            "directories": [each.about() for each in self.directories],
            "tables": {table: list(columns.values()) for table, columns in tables.items()},
            "version": self.version,
        }

    def answer(self, ask: Ask) -> dict[str, Any]:
        """The answer to a question. Raises `ResultsError`."""
        began = time.perf_counter()
        self._check(ask)
        asked = [each for each in self.directories if self._wanted(each, ask)]
        binned = [one for one in (ask.x, ask.y, ask.active, *ask.dims) if one and one.bins]
        domains = {one.column: domain for one in binned if (domain := self.domain(ask, one.column))}
        bins = {one.column: _bins(one, domains.get(one.column)) for one in binned}
        result: dict[str, Any] = {"sql": [], "truncated": False}
        if ask.kind == "counts":
            result |= self._counts(ask, asked, domains, result)
        elif ask.kind == "domain":
            result["columns"] = self._domain(ask)
        else:
            result["columns"] = self._rows(ask, asked, domains, result)
        return result | {"bins": bins, "version": self.version, "ms": round(1000 * (time.perf_counter() - began), 1)}

    def domain(self, ask: Ask, column: str) -> Domain | None:
        """The domain of a column over all rows of the part in all directories; None where it has no numbers."""
        key = (self.version, ask.table, str(ask.part), column)
        if key not in self._domains:
            found: list[dict[str, Any]] = []
            for each in self.directories:
                if column in each.tables.of(ask.table):
                    statement = self._builder(ask, each, {}).domain(column)
                    found += each.query(statement.sql, statement.parameters).to_dicts()
            found = [one for one in found if one["low"] is not None]
            self._domains[key] = None if not found else Domain(
                min(one["low"] for one in found), max(one["high"] for one in found),
                max(one["different"] for one in found), all(one["whole"] for one in found),
            )  # fmt: skip
        return self._domains[key]

    def has_run(self, directory: Directory, run_id: str) -> bool:
        """Whether a directory has a run."""
        return bool(directory.query("SELECT 1 AS one FROM runs WHERE run_id = $id LIMIT 1", {"id": run_id}).height)

    def _known(self, table: str) -> set[str]:
        return {name for each in self.directories for name in each.tables.of(table)} | {RESULTS}

    def _check(self, ask: Ask) -> None:
        """Reject unknown tables and columns, and rows of several parts at once. Raises `ResultsError`."""
        there = {table for each in self.directories for table in each.tables.columns}
        if ask.table not in there:
            raise ResultsError(f"there is no table {ask.table!r} here{did_you_mean(ask.table, there)}")
        known = self._known(ask.table)
        dimensions = [one.column for one in (ask.x, ask.y, ask.active, *ask.dims) if one]
        for name in (*dimensions, ask.z, ask.color, ask.facet, *(one.column for one in ask.filters)):
            if name is not None and name not in known:
                raise ResultsError(f"{name!r} is not a column of {ask.table}{did_you_mean(name, known)}")
        parts = {one for each in self.directories if "part" in each.tables.columns["runs"] for one in self._parts(each)}
        if ask.table != "runs" and ask.part is None and len(parts) > 1:
            raise ResultsError(f"choose a part: a run may be of several ({', '.join(sorted(parts))})")

    def _parts(self, directory: Directory) -> list[str]:
        rows = directory.query("SELECT DISTINCT part AS part FROM runs WHERE part IS NOT NULL")
        return [str(name) for name in rows["part"]]

    def _wanted(self, directory: Directory, ask: Ask) -> bool:
        """Whether a directory has the table, and no filter on `results` leaves it out."""
        kept = (one.values for one in ask.filters if one.column == RESULTS and one.values is not None)
        return ask.table in directory.tables.columns and all(directory.label in values for values in kept)

    def _builder(self, ask: Ask, each: Directory, domains: dict[str, Domain]) -> Builder:
        return Builder(ask, each.tables, each.label, domains, self._known(ask.table))

    def _put(self, each: Directory, statement: Statement, result: dict[str, Any]) -> pl.DataFrame:
        """Run a statement and record its SQL, ready to copy."""
        result["sql"].append({RESULTS: each.label, "path": str(each.path), "sql": statement.shown()})
        rows = each.query(statement.sql, statement.parameters)
        result["truncated"] |= rows.height >= MAX_ROWS
        return rows

    def _rows(
        self, ask: Ask, asked: Iterable[Directory], domains: dict[str, Domain], result: dict[str, Any]
    ) -> dict[str, Any]:
        columns: dict[str, list[Any]] = {RESULTS: []}
        for each in asked:
            rows = self._put(each, self._builder(ask, each, domains).statement(), result)
            found = plain(rows)
            before = len(columns[RESULTS])
            for name in dict.fromkeys([*columns, *found]):
                if name != RESULTS:
                    columns.setdefault(name, [None] * before).extend(found.get(name, [None] * rows.height))
            columns[RESULTS] += [each.label] * rows.height
        return columns

    def _domain(self, ask: Ask) -> dict[str, Any]:
        names = [one.column for one in ask.dims]
        found = {name: self.domain(ask, name) for name in names}
        return {
            name: one and {"low": one.low, "high": one.high, "distinct": one.distinct, "whole": one.whole}
            for name, one in found.items()
        }

    def _counts(
        self, ask: Ask, asked: Iterable[Directory], domains: dict[str, Domain], result: dict[str, Any]
    ) -> dict[str, Any]:
        """Counts of each dimension, and the number of rows and runs that pass the filters."""
        filtered = {one.column for one in ask.filters}
        alike = [(n, one) for n, one in enumerate(ask.dims) if one.column not in filtered and one.column != RESULTS]
        sets: list[tuple[list[tuple[int, Dimension]], str | None]] = [(alike, None)] if alike else []
        sets += [([(n, one)], one.column) for n, one in enumerate(ask.dims) if (n, one) not in alike]
        dims: list[dict[str, list[Any]]] = [{RESULTS: [], "v": [], "n": [], "a": []} for _ in ask.dims]
        rows = runs = 0
        for each in asked:
            for group, own in sets:
                statement = self._builder(ask, each, domains).counts(group, own)
                _split(self._put(each, statement, result), [n for n, _ in group], each.label, dims)
            if ask.active is None:
                total = self._put(each, self._builder(ask, each, domains).total(), result)
                rows, runs = rows + total["rows"][0], runs + total["runs"][0]
        return {"dims": dims, "rows": rows, "runs": runs}


def _split(found: pl.DataFrame, places: list[int], label: str, dims: list[dict[str, list[Any]]]) -> None:
    """Distribute the rows of several groupings to their dimensions."""
    for n, place in enumerate(places):
        others = (1 << len(places)) - 1 - (1 << (len(places) - 1 - n))
        rows = plain(found.filter(pl.col("set") == others))
        dims[place][RESULTS] += [label] * len(rows["n"])
        dims[place]["v"] += rows[f"d{place}"]
        dims[place]["n"] += rows["n"]
        dims[place]["a"] += rows.get("a", [None] * len(rows["n"]))


def _bins(dimension: Dimension, domain: Domain | None) -> dict[str, Any] | None:
    """The bins of a dimension in the form that a page draws."""
    if domain is None:
        return None
    one = Binning.of(dimension, domain)
    return {"low": one.low, "high": one.high, "bins": one.bins, "log": one.log}
