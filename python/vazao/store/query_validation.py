"""Validation of a study's queries on empty tables, so that a broken query is found before anything is simulated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import duckdb
import polars as pl
import pyarrow as pa

from vazao import _core
from vazao.errors import ResultsError, StudyError
from vazao.figures import query
from vazao.sql import Enclosure, Limits, database
from vazao.store.parts import TABLES
from vazao.store.tables import SMALLEST, table
from vazao.study import Study, design_columns, findings

LIMITS = Limits(seconds=60, gigabytes=1)
"""Limits of a query on tables without rows."""


def validate_queries(study: Study) -> None:
    """Run every finding, table and figure of a study once, on tables with all columns and no rows.

    Raises `StudyError` for a query that fails, a finding without `holds`, a text or figure that names an unknown
    column.
    """
    stage = Stage(study)
    findings.evaluate(study, stage)
    for summary in study.tables:
        try:
            stage.query(summary.sql)
        except ResultsError as error:
            raise StudyError(f"{study.file}: table {summary.id!r}: {error}") from None
    for figure in study.figures:
        try:
            query(figure, stage)
        except StudyError as error:
            raise study.placed(figure, error) from None


class Stage:
    """Database for a study's queries before it runs: the given tables, and all others without rows."""

    def __init__(
        self, study: Study, tables: Mapping[str, pl.DataFrame] | None = None, *, telling: bool = False
    ) -> None:
        """Load the tables and views. Raises `StudyError` for an invalid view."""
        columns = {name: rows.to_arrow() for name, rows in {**columns_of(study), **(tables or {})}.items()}
        try:
            self._database = Enclosure(lambda: _staged(study, columns, telling), LIMITS)
        except ResultsError as error:
            raise StudyError(f"{study.file}: {error}") from None

    def query(self, sql: str, parameters: Mapping[str, object] | None = None) -> pl.DataFrame:
        """Rows of a query on its tables. Raises `ResultsError`."""
        return self._database.query(sql, parameters)

    def reads(self, sql: str, columns: Sequence[str], parameters: Mapping[str, object]) -> set[tuple[str, str]]:
        """Tables and columns that `columns` of a query's result depend on; needs a stage that is `telling`.

        Raises `ResultsError`.
        """
        return {(name, column) for name, column in self._database.reads(sql, columns, parameters).iter_rows()}


def columns_of(study: Study) -> dict[str, pl.DataFrame]:
    """Every table with its columns and no rows, by name."""
    outcome = _core.run(_core.load(SMALLEST))
    tables = {name: table(outcome, name).clear() for name in TABLES if name != "scenarios"}
    tables["scenarios"] = pl.DataFrame(schema={"run_id": pl.String(), "scenario": pl.String()})
    runs = tables["runs"].with_columns(pl.lit(None, pl.String()).alias("failure"))
    return tables | {"runs": runs.hstack(pl.DataFrame(schema=design_columns(study)))}


def _staged(study: Study, columns: Mapping[str, pa.Table], telling: bool) -> duckdb.DuckDBPyConnection:
    connection = database.connect(telling=telling)
    for name, rows in columns.items():
        database.add_rows(connection, name, rows)
    for view in study.views:
        try:
            database.add_view(connection, view.name, view.sql, keep=not telling)
        except ResultsError as error:
            raise ResultsError(f"view {view.name!r}: {error}") from None
    return connection
