"""SQL over stored rows: DuckDB tables in a canonical order, with the statistics a finding needs as functions."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
from duckdb.func import FunctionNullHandling

from vazao import dynamics, statistics
from vazao.errors import ResultsError

_Numbers = list[float | None] | None

MACROS = """
CREATE MACRO ci95(x) AS t_quantile(count(x) - 1) * stddev_samp(x) / sqrt(count(x));
CREATE MACRO low95(x) AS coalesce(avg(x) - ci95(x), avg(x));
CREATE MACRO high95(x) AS coalesce(avg(x) + ci95(x), avg(x));
"""
"""`ci95(x)`: half-width of the mean's 95 % t-interval, NULL for one value; `low95`, `high95`: its ends, for one value
the value itself. Plain functions beside them, over lists (`list(x) FILTER (…)`): `welch_p(a, b)`, `welch_low95(a, b)`,
`welch_high95(a, b)`: Welch's test of a difference of means and the ends of its interval; `jain(shares)`."""


def _t_quantile(df: int | None) -> float | None:
    return statistics.t_quantile(df) if df else None


def _of_welch(name: str) -> Callable[[_Numbers, _Numbers], float | None]:
    def function(a: _Numbers, b: _Numbers) -> float | None:
        test = statistics.welch(_known(a), _known(b))
        return float(getattr(test, name)) if test else None

    return function


def _jain(shares: _Numbers) -> float | None:
    return statistics.jain(_known(shares)) if _known(shares) else None


def _known(values: _Numbers) -> list[float]:
    """A column's values without its NULLs, as SQL's own aggregates take it."""
    return [value for value in values or () if value is not None]


_FUNCTIONS: dict[str, tuple[Callable[..., float | None], list[Any]]] = {
    "t_quantile": (_t_quantile, ["BIGINT"]),
    "welch_p": (_of_welch("p"), ["DOUBLE[]", "DOUBLE[]"]),
    "welch_low95": (_of_welch("low"), ["DOUBLE[]", "DOUBLE[]"]),
    "welch_high95": (_of_welch("high"), ["DOUBLE[]", "DOUBLE[]"]),
    "jain": (_jain, ["DOUBLE[]"]),
}


ANSWERING = {duckdb.StatementType.SELECT, duckdb.StatementType.EXPLAIN}
"""What a query may be. Studies are exchanged, so theirs must not write, attach or install either."""


def seal(connection: duckdb.DuckDBPyConnection, directory: Path) -> None:
    """From now on no query reaches a file outside `directory`, nor changes that again."""
    allowed = str(directory.resolve()).replace("'", "''")
    connection.sql(f"SET allowed_directories = ['{allowed}']")
    connection.sql("SET enable_external_access = false")
    connection.sql("SET lock_configuration = true")


def connect() -> duckdb.DuckDBPyConnection:
    """An empty database in memory with the functions above.

    One thread: the sum of floating-point numbers depends on their order, and a finding must not change its last digit
    with the machine.
    """
    connection = duckdb.connect(":memory:", config={"threads": 1, "python_enable_replacements": False})
    for name, (function, parameters) in _FUNCTIONS.items():
        connection.create_function(name, function, parameters, "DOUBLE", null_handling=FunctionNullHandling.SPECIAL)
    connection.sql(MACROS)
    return connection


def add_dynamics(connection: duckdb.DuckDBPyConnection) -> None:
    """The functions of `vazao.dynamics`, once the tables are there that they read."""
    connection.sql(dynamics.MACROS)


def add_view(connection: duckdb.DuckDBPyConnection, name: str, sql: str) -> None:
    """Give a query a name, by which later ones select from it. Raises `ResultsError`."""
    try:
        _check(connection, sql)
        connection.sql(f'CREATE VIEW "{name}" AS {sql}')
    except duckdb.Error as error:
        raise ResultsError(_clean(str(error))) from None


def _check(connection: duckdb.DuckDBPyConnection, sql: str) -> None:
    statements = connection.extract_statements(sql)
    if len(statements) != 1 or statements[0].type not in ANSWERING:
        raise ResultsError("a query is one SELECT: results are asked, not changed")


def add_table(
    connection: duckdb.DuckDBPyConnection, name: str, files: list[Path], order: list[str], *, lazily: bool = False
) -> None:
    """Make the rows of Parquet `files` a table (or a view) sorted by `order`, then as each run wrote them.

    A run's rows are together in one file, so the order does not depend on which runs shared a file.
    """
    paths = ", ".join("'" + str(file).replace("'", "''") + "'" for file in files)
    columns = ", ".join(f'"{column}"' for column in [*order, "file_row_number"])
    rows = f"read_parquet([{paths}], union_by_name = true, file_row_number = true)"
    select = f"SELECT * EXCLUDE (file_row_number) FROM {rows} ORDER BY {columns}"
    try:
        connection.sql(f"CREATE {'VIEW' if lazily else 'TABLE'} {name} AS {select}")
    except duckdb.Error as error:
        raise ResultsError(_clean(str(error))) from None


def query(
    connection: duckdb.DuckDBPyConnection, sql: str, parameters: Mapping[str, object] | None = None
) -> pl.DataFrame:
    """The rows of a query; of `parameters`, those that it names as `$name` are bound. Raises `ResultsError`."""
    bound = {name: value for name, value in (parameters or {}).items() if re.search(rf"\${name}\b", sql)}
    try:
        _check(connection, sql)
        relation = connection.sql(sql, params=bound or None)
        with warnings.catch_warnings(action="ignore"):
            rows = relation.to_arrow_table()
            return _plain(pl.DataFrame(rows.rename_columns(_unique(rows.column_names))))
    except duckdb.Error as error:
        raise ResultsError(_clean(str(error))) from None


def _unique(names: list[str]) -> list[str]:
    """Names that a join gives twice, told apart as `name_1`, `name_2`, …"""
    counts: dict[str, int] = {}
    unique = []
    for name in names:
        counts[name] = counts.get(name, -1) + 1
        unique.append(f"{name}_{counts[name]}" if counts[name] else name)
    return unique


def _plain(frame: pl.DataFrame) -> pl.DataFrame:
    """Exact decimals as ordinary numbers: SQL's `sum` of integers and its literals like 1.5 come as decimals."""
    casts: list[pl.Expr] = []
    for name, kind in frame.schema.items():
        if isinstance(kind, pl.Decimal):
            casts.append(pl.col(name).cast(pl.Float64 if kind.scale else pl.Int64))
    return frame.with_columns(casts)


def _clean(message: str) -> str:
    return re.sub(r"\n{2,}", "\n", message).strip()
