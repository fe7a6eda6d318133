"""SQL over stored rows: DuckDB tables in a canonical order, and the statistical functions that findings need."""

from __future__ import annotations

import atexit
import json
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
from duckdb.func import FunctionNullHandling

from vazao import statistics
from vazao.errors import ResultsError
from vazao.sql import decisions, dynamics
from vazao.sql.query_check import check
from vazao.study import STORED_TABLES

_Numbers = list[float | None] | None

MACROS = """
CREATE MACRO t_quantile(df, looks := 1) AS student(df, looks);
CREATE MACRO ci95(x, looks := 1) AS t_quantile(count(x) - 1, looks) * stddev_samp(x) / sqrt(count(x));
CREATE MACRO low95(x) AS coalesce(avg(x) - ci95(x), avg(x));
CREATE MACRO high95(x) AS coalesce(avg(x) + ci95(x), avg(x));
CREATE MACRO welch_ci95(a, b, looks := 1) AS welch_half(a, b, looks);
"""
"""SQL macros for confidence intervals.

- `ci95(x)`: half-width of the mean's 95 % t-interval; NULL for one value.
- `low95(x)`, `high95(x)`: bounds of this interval; for one value, the value itself.
- `welch_ci95(a, b)`: half-width of Welch's 95 % interval for the difference of the means of two lists
  (`list(x) FILTER (…)`).
- `t_quantile(df)`: Student's two-sided quantile at this confidence.

If an answer depends on the most extreme of k intervals, pass k as `looks` (`ci95(x, k)`, `welch_ci95(a, b, k)`): each
interval is then taken at confidence 1 - 0.05 / k, so that all k hold together in 95 of 100 cases (Bonferroni). Also
available, as plain functions: `welch_p(a, b)`, `welch_low95(a, b)`, `welch_high95(a, b)` (p-value and bounds of Welch's
95 % interval) and `jain(shares)`. `decisions.py` has the macros that decide claims from intervals.
"""


def _student(df: int | None, looks: int | None) -> float | None:
    return statistics.t_quantile(df, _confidence(looks)) if df and looks else None


def _welch_half(a: _Numbers, b: _Numbers, looks: int | None) -> float | None:
    test = statistics.welch(_not_null(a), _not_null(b), _confidence(looks)) if looks else None
    return test.half if test else None


def _confidence(looks: int) -> float:
    return 1 - 0.05 / looks


def _of_welch(name: str) -> Callable[[_Numbers, _Numbers], float | None]:
    def function(a: _Numbers, b: _Numbers) -> float | None:
        test = statistics.welch(_not_null(a), _not_null(b))
        return float(getattr(test, name)) if test else None

    return function


def _jain(shares: _Numbers) -> float | None:
    return statistics.jain(_not_null(shares)) if _not_null(shares) else None


def _not_null(values: _Numbers) -> list[float]:
    """Values without NULLs, as in SQL's own aggregates."""
    return [value for value in values or () if value is not None]


_FUNCTIONS: dict[str, tuple[Callable[..., float | None], list[Any]]] = {
    "student": (_student, ["BIGINT", "BIGINT"]),
    "welch_half": (_welch_half, ["DOUBLE[]", "DOUBLE[]", "BIGINT"]),
    "welch_p": (_of_welch("p"), ["DOUBLE[]", "DOUBLE[]"]),
    "welch_low95": (_of_welch("low"), ["DOUBLE[]", "DOUBLE[]"]),
    "welch_high95": (_of_welch("high"), ["DOUBLE[]", "DOUBLE[]"]),
    "jain": (_jain, ["DOUBLE[]"]),
}


_SEALED: dict[str, str | bool | int | float | list[str]] = {
    "threads": 1,
    "async_threads": 0,  # A forked child would lack them, and wait for them for ever.
    "python_enable_replacements": False,
    "autoload_known_extensions": False,
    "autoinstall_known_extensions": False,
    "temp_directory": "",
}


_ENABLED = {"unused_columns", "cte_inlining", "deliminator", "unnest_rewriter"}
"""Optimizers left enabled for `reads`: with all others disabled, a query plan does not depend on the rows."""


def connect(
    files: Iterable[Path] = (), *, gigabytes: float | None = None, telling: bool = False
) -> duckdb.DuckDBPyConnection:
    """Open an empty in-memory database with the functions above, which can access no files but `files`.

    `telling`: the database can report which columns a query reads (`reads`).

    It uses one thread: floating-point sums depend on the order of their terms, and a finding's last digit must not
    depend on the machine. It is locked down before it reads anything: names and queries that come with results are
    untrusted.
    """
    connection = _SPARE.pop() if _SPARE else _blank()
    if gigabytes:
        connection.sql(f"SET memory_limit = '{gigabytes * 1000:.0f} MB'")
    if telling:
        known = (name for (name,) in connection.sql("SELECT name FROM duckdb_optimizers()").fetchall())
        connection.sql(f"SET disabled_optimizers = '{','.join(name for name in known if name not in _ENABLED)}'")
    connection.sql(f"SET allowed_paths = [{_literals(files)}]")
    connection.sql("SET enable_external_access = false")
    connection.sql("SET lock_configuration = true")
    return connection


_SPARE: list[duckdb.DuckDBPyConnection] = []
atexit.register(_SPARE.clear)  # While modules still exist: later, its functions would be called leaked.


def have_spare() -> None:
    """Create the blank database that the next `connect` takes, in this process or in a forked child of it.

    Creating one takes longer than most queries. It has no threads, which a child would lack, and no rows.
    """
    if not _SPARE:
        _SPARE.append(_blank())


def _blank() -> duckdb.DuckDBPyConnection:
    """Empty database with the functions and macros, not yet locked down."""
    connection = duckdb.connect(":memory:", config=_SEALED)
    for name, (function, parameters) in _FUNCTIONS.items():
        connection.create_function(name, function, parameters, "DOUBLE", null_handling=FunctionNullHandling.SPECIAL)
    connection.sql(MACROS + decisions.MACROS)
    # A macro of tables is bound once when it is created, and again by each query.
    connection.sql(f"{dynamics.TABLES} {dynamics.MACROS} DROP TABLE samples; DROP TABLE flows;")
    return connection


def quoted(name: str) -> str:
    """Quote a name as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def _literals(values: Iterable[object]) -> str:
    """Values as a comma-separated list of SQL string literals."""
    return ", ".join(map(_literal, values))


def _literal(value: object) -> str:
    """A value as an SQL string literal."""
    return "'" + str(value).replace("'", "''") + "'"


def add_view(connection: duckdb.DuckDBPyConnection, name: str, sql: str, *, keep: bool = False) -> None:
    """Create a view of a query, from which later queries can select. Raises `ResultsError`.

    `keep`: its rows are materialized by the first query that names it; otherwise each query computes the rows it needs.
    """
    with _clear_errors():
        named = check(connection, sql).tables
        connection.sql(f"CREATE VIEW {quoted(name)} AS {sql}")
        if keep:
            connection.sql(f"COMMENT ON VIEW {quoted(name)} IS {_literal(json.dumps(sorted(named)))}")


def _keep(connection: duckdb.DuckDBPyConnection, asked: set[str]) -> None:
    """Materialize the requested views that are marked to be kept, after the views that they name (in their comment)."""
    if asked <= STORED_TABLES:
        return  # Listing the views takes longer than most queries.
    known = "SELECT lower(view_name), view_name, comment FROM duckdb_views() WHERE NOT internal AND comment IS NOT NULL"
    left = {key: (name, json.loads(named)) for key, name, named in connection.sql(known).fetchall()}

    def keep(key: str) -> None:
        if key not in left:
            return
        name, named = left.pop(key)
        for each in named:
            keep(each)
        view, table = quoted(name), quoted(f"{name} as kept")
        try:
            connection.sql(f"CREATE TABLE {table} AS FROM {view}")
        except duckdb.Error:
            # A query may not need the row that fails to compute: the view stays as it is, and is not tried again.
            connection.sql(f"COMMENT ON VIEW {view} IS NULL")
        else:
            connection.sql(f"DROP VIEW {view}; ALTER TABLE {table} RENAME TO {view}")

    for key in sorted(asked):
        keep(key)


def add_rows(connection: duckdb.DuckDBPyConnection, name: str, rows: pa.Table) -> None:
    """Create a table from rows."""
    connection.register("rows_to_add", rows)
    connection.sql(f"CREATE TABLE {quoted(name)} AS SELECT * FROM rows_to_add")
    connection.unregister("rows_to_add")


def rows_of(files: Iterable[Path]) -> str:
    """SQL table expression for the rows of Parquet files."""
    return f"read_parquet([{_literals(files)}], union_by_name = true, file_row_number = true)"


def add_table(connection: duckdb.DuckDBPyConnection, name: str, files: list[Path]) -> None:
    """Create a table from Parquet `files`, with rows in the order in which they were written."""
    rows = f"SELECT * EXCLUDE (file_row_number) FROM {rows_of(files)} ORDER BY file_row_number"
    with _clear_errors():
        connection.sql(f"CREATE TABLE {quoted(name)} AS {rows}")


def of_names(files: Iterable[Path]) -> duckdb.DuckDBPyConnection:
    """Database of the view `names`: the run_id of each row of Parquet `files`, and the file's name."""
    paths = list(files)
    connection = connect(paths)
    with _clear_errors():
        rows = f"read_parquet([{_literals(paths)}], filename = true)"
        connection.sql(f"CREATE VIEW names AS SELECT run_id, filename FROM {rows}")
    return connection


def add_stored(connection: duckdb.DuckDBPyConnection, name: str, files: list[Path], *, planned: bool) -> None:
    """Create the table (for samples: the view) of a stored table, sorted by run, then in the order of writing.

    A run's rows are together in one file, so the order does not depend on which runs share a file. If there is a table
    `planned`, only its runs are included. `runs` then begins with the columns of `planned` and has its order: a run has
    one row for each part of the study that includes it.
    """
    rows = rows_of(files)
    select, order = f"SELECT * EXCLUDE (file_row_number) FROM {rows}", "run_id, file_row_number"
    if planned and name == "runs":
        columns = "planned.*, stored.* EXCLUDE (run_id, file_row_number)"
        select = f"SELECT {columns} FROM planned JOIN {rows} AS stored USING (run_id)"
        order = "planned.rowid"
    elif planned:
        select += " SEMI JOIN planned USING (run_id)"
    # Samples may be numerous and are often not queried: they stay on disk.
    kind = "VIEW" if name == "samples" else "TABLE"
    with _clear_errors():
        connection.sql(f"CREATE {kind} {quoted(name)} AS {select} ORDER BY {order}")


def query(
    connection: duckdb.DuckDBPyConnection, sql: str, parameters: Mapping[str, object] | None = None
) -> pl.DataFrame:
    """Run a query, binding those of the `parameters` that it names as `$name`. Raises `ResultsError`."""
    return frame(answer(connection, sql, parameters))


def answer(connection: duckdb.DuckDBPyConnection, sql: str, parameters: Mapping[str, object] | None = None) -> pa.Table:
    """Run a query as `query` does, and return an Arrow table. Raises `ResultsError`."""
    with _clear_errors(), warnings.catch_warnings(action="ignore"):
        named = check(connection, sql)
        _keep(connection, named.tables)
        bound = {name: value for name, value in (parameters or {}).items() if name in named.parameters}
        return connection.sql(sql, params=bound or None).to_arrow_table()


def reads(
    connection: duckdb.DuckDBPyConnection, sql: str, columns: Iterable[str], parameters: Mapping[str, object]
) -> pa.Table:
    """Columns of tables that the given `columns` of a query's result depend on, as rows of `name` and `column`.

    They are read from the database's query plan, from which everything that these columns do not use is pruned.
    """
    with _clear_errors():
        named = check(connection, sql)
        bound = {name: value for name, value in parameters.items() if name in named.parameters}
        wanted = ", ".join(map(quoted, columns))
        projected = f"SELECT {wanted} FROM (\n{sql.rstrip().removesuffix(';')}\n)"
        ((_, plan),) = connection.sql(f"EXPLAIN (FORMAT json) {projected}", params=bound or None).fetchall()
    found = list(dict.fromkeys(_scanned(json.loads(plan))))
    return pa.table({"name": [name for name, _ in found], "column": [column for _, column in found]})


def _scanned(nodes: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    """Table columns that a plan scans; an empty column name stands for a table whose rows are only counted."""
    for node in nodes:
        known = node["extra_info"]
        if "Table" in known:
            taken = known.get("Projections") or [""]
            yield from (
                (known["Table"].rpartition(".")[2], column) for column in ([taken] if isinstance(taken, str) else taken)
            )
        yield from _scanned(node["children"])


def frame(rows: pa.Table) -> pl.DataFrame:
    """Convert rows to a data frame of ordinary types with unique column names. Raises `ResultsError`."""
    rows = rows.rename_columns(_unique(rows.column_names))
    try:
        return _plain(pl.DataFrame(rows))
    except (pl.exceptions.PolarsError, pa.ArrowException, ImportError, ValueError, TypeError):
        kinds = ", ".join(f"{field.name}: {field.type}" for field in rows.schema)
        raise ResultsError(f"the query gives a kind of value that no table here holds; CAST it ({kinds})") from None


@contextmanager
def _clear_errors() -> Iterator[None]:
    """Turn an error of the database into one clear `ResultsError`."""
    try:
        yield
    except duckdb.Error as error:
        raise ResultsError(re.sub(r"\n{2,}", "\n", str(error)).strip()) from None


def _unique(names: list[str]) -> list[str]:
    """Make column names unique: duplicates, as a join gives them, become `name_1`, `name_2`, …"""
    counts: dict[str, int] = {}
    unique = []
    for name in names:
        counts[name] = counts.get(name, -1) + 1
        unique.append(f"{name}_{counts[name]}" if counts[name] else name)
    return unique


def _plain(frame: pl.DataFrame) -> pl.DataFrame:
    """Convert decimals to ordinary numbers: SQL's `sum` of integers and its literals like 1.5 are decimals."""
    casts: list[pl.Expr] = []
    for name, kind in frame.schema.items():
        if isinstance(kind, pl.Decimal):
            whole = (
                kind.scale == 0 and frame[name].cast(pl.Int64, strict=False).null_count() == frame[name].null_count()
            )
            casts.append(pl.col(name).cast(pl.Int64 if whole else pl.Float64))
    return frame.with_columns(casts)
