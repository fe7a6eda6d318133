"""A study's questions asked of empty tables, before anything is simulated: what is no answer then is none later."""

from __future__ import annotations

from collections.abc import Mapping

import duckdb
import polars as pl

from vazao import _core, database, findings
from vazao.errors import ResultsError, StudyError
from vazao.figures.rows import query
from vazao.pace import SMALLEST
from vazao.result import table
from vazao.store import TABLES
from vazao.study import Study
from vazao.study.plan import design_columns


def rehearse(study: Study) -> None:
    """Ask every finding, table and figure of a study once, of tables that have all columns and no rows.

    Raises `StudyError` for a query that fails, a finding without `holds`, a text or figure that names no column.
    """
    stage = Stage(study)
    findings.evaluate(study, stage)
    for summary in study.tables:
        try:
            stage.query(summary.sql)
        except ResultsError as error:
            raise StudyError(f"{study.file}: table {summary.id!r}: {error}") from None
    for figure in study.figures:
        query(figure, stage)


class Stage:
    """Where a study's queries find the tables that its runs will fill."""

    def __init__(self, study: Study) -> None:
        outcome = _core.run(_core.load(SMALLEST))
        self._database = database.connect()
        for name in TABLES:
            if name == "scenarios":
                rows = pl.DataFrame(schema={"run_id": pl.String(), "scenario": pl.String()})
            else:
                rows = table(outcome, name).clear()
            if name == "runs":
                rows = rows.with_columns(pl.lit(None, pl.String()).alias("failure"))
                rows = rows.hstack(pl.DataFrame(schema=design_columns(study)))
            self._database.register("columns_of", rows.to_arrow())
            self._database.sql(f"CREATE TABLE {name} AS SELECT * FROM columns_of")
            self._database.unregister("columns_of")
        database.add_dynamics(self._database)
        for view in study.views:
            try:
                database.add_view(self._database, view.name, view.sql)
            except ResultsError as error:
                raise StudyError(f"{study.file}: view {view.name!r}: {error}") from None

    def query(self, sql: str, parameters: Mapping[str, object] | None = None) -> pl.DataFrame:
        """The answer of empty tables. Raises `ResultsError`."""
        return database.query(self._database, sql, parameters)

    def __del__(self) -> None:
        connection: duckdb.DuckDBPyConnection | None = getattr(self, "_database", None)
        if connection is not None:
            connection.close()
