"""SQL over stored rows: DuckDB tables in a canonical order, with the statistics a finding needs as functions."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
from duckdb.func import FunctionNullHandling

from vazao import statistics
from vazao.errors import ResultsError
from vazao.results import decisions, dynamics
from vazao.results.statement import check
from vazao.study import STORED_TABLES

_Numbers = list[float | None] | None

MACROS = """
CREATE MACRO t_quantile(df, looks := 1) AS student(df, looks);
CREATE MACRO ci95(x, looks := 1) AS t_quantile(count(x) - 1, looks) * stddev_samp(x) / sqrt(count(x));
CREATE MACRO low95(x) AS coalesce(avg(x) - ci95(x), avg(x));
CREATE MACRO high95(x) AS coalesce(avg(x) + ci95(x), avg(x));
CREATE MACRO welch_ci95(a, b, looks := 1) AS welch_half(a, b, looks);
"""
"""`ci95(x)`: half-width of the mean's 95 % t-interval, NULL for one value; `low95`, `high95`: its ends, for one value
the value itself. `welch_ci95(a, b)`: the same of the difference of the means of two lists (`list(x) FILTER (…)`).

Where an answer rests on whichever of k intervals goes furthest, each is asked for as one of so many looks
(`ci95(x, k)`, `welch_ci95(a, b, k)`): at 1 - 0.05 / k, so that all k hold in 95 of 100 cases (Bonferroni). `t_quantile`
is Student's two-sided quantile at that confidence. Plain functions beside them: `welch_p(a, b)`, `welch_low95(a, b)`,
`welch_high95(a, b)`: p and the ends of Welch's 95 % interval; `jain(shares)`. `decisions.py`: what an interval decides.
"""


def _student(df: int | None, looks: int | None) -> float | None:
    return statistics.t_quantile(df, _confidence(looks)) if df and looks else None


def _welch_half(a: _Numbers, b: _Numbers, looks: int | None) -> float | None:
    test = statistics.welch(_known(a), _known(b), _confidence(looks)) if looks else None
    return test.half if test else None


def _confidence(looks: int) -> float:
    return 1 - 0.05 / looks


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
    "student": (_student, ["BIGINT", "BIGINT"]),
    "welch_half": (_welch_half, ["DOUBLE[]", "DOUBLE[]", "BIGINT"]),
    "welch_p": (_of_welch("p"), ["DOUBLE[]", "DOUBLE[]"]),
    "welch_low95": (_of_welch("low"), ["DOUBLE[]", "DOUBLE[]"]),
    "welch_high95": (_of_welch("high"), ["DOUBLE[]", "DOUBLE[]"]),
    "jain": (_jain, ["DOUBLE[]"]),
}


_SEALED: dict[str, str | bool | int | float | list[str]] = {
    "threads": 1,
    "python_enable_replacements": False,
    "autoload_known_extensions": False,
    "autoinstall_known_extensions": False,
    "temp_directory": "",
}


_PLANNED = {"unused_columns", "cte_inlining", "deliminator", "unnest_rewriter"}
"""Optimizers of a database that tells which columns a query reads: without any others a plan depends on no row."""


def connect(
    files: Iterable[Path] = (), *, gigabytes: float | None = None, telling: bool = False
) -> duckdb.DuckDBPyConnection:
    """An empty database in memory with the functions above, from which nothing but `files` can be reached.

    `telling`: it can tell which columns a query reads (`reads`).

    One thread: the sum of floating-point numbers depends on their order, and a finding must not change its last digit
    with the machine. It is sealed before it has read anything: a name or a query that comes with results is a
    stranger's.
    """
    connection = duckdb.connect(":memory:", config=_SEALED)
    for name, (function, parameters) in _FUNCTIONS.items():
        connection.create_function(name, function, parameters, "DOUBLE", null_handling=FunctionNullHandling.SPECIAL)
    connection.sql(MACROS + decisions.MACROS)
    if gigabytes:
        connection.sql(f"SET memory_limit = '{gigabytes * 1000:.0f} MB'")
    if telling:
        known = (name for (name,) in connection.sql("SELECT name FROM duckdb_optimizers()").fetchall())
        connection.sql(f"SET disabled_optimizers = '{','.join(name for name in known if name not in _PLANNED)}'")
    connection.sql(f"SET allowed_paths = [{_texts(files)}]")
    connection.sql("SET enable_external_access = false")
    connection.sql("SET lock_configuration = true")
    return connection


def quoted(name: str) -> str:
    """A name as SQL, whatever it holds."""
    return '"' + name.replace('"', '""') + '"'


def _texts(values: Iterable[object]) -> str:
    """A list's items as SQL texts."""
    return ", ".join(map(_text, values))


def _text(value: object) -> str:
    """A value as SQL text."""
    return "'" + str(value).replace("'", "''") + "'"


def add_dynamics(connection: duckdb.DuckDBPyConnection) -> None:
    """The functions of `dynamics.py`, once the tables are there that they read."""
    connection.sql(dynamics.MACROS)


def add_view(connection: duckdb.DuckDBPyConnection, name: str, sql: str, *, keep: bool = False) -> None:
    """Give a query a name, by which later ones select from it. Raises `ResultsError`.

    `keep`: its rows are kept from the first query that names it; else each one computes as many of them as it asks for.
    """
    with _told():
        named = check(connection, sql).tables
        connection.sql(f"CREATE VIEW {quoted(name)} AS {sql}")
        if keep:
            connection.sql(f"COMMENT ON VIEW {quoted(name)} IS {_text(json.dumps(sorted(named)))}")


def _keep(connection: duckdb.DuckDBPyConnection, asked: set[str]) -> None:
    """Make a table of each view that is asked for and to be kept, after those that it names (its comment)."""
    if asked <= STORED_TABLES:
        return  # Looking at the views takes longer than most queries.
    known = "SELECT lower(view_name), view_name, comment FROM duckdb_views() WHERE NOT internal AND comment IS NOT NULL"
    left = {key: (name, json.loads(named)) for key, name, named in connection.sql(known).fetchall()}

    def keep(key: str) -> None:
        if key not in left:
            return
        name, named = left.pop(key)
        for each in named:
            keep(each)
        view, table = quoted(name), quoted(f"{name} as kept")
        # What some of its rows make impossible, a query may not ask of them.
        with suppress(duckdb.Error):
            connection.sql(f"CREATE TABLE {table} AS FROM {view}")
            connection.sql(f"DROP VIEW {view}; ALTER TABLE {table} RENAME TO {view}")

    for key in sorted(asked):
        keep(key)


def add_rows(connection: duckdb.DuckDBPyConnection, name: str, rows: pa.Table) -> None:
    """Make rows a table."""
    connection.register("rows_to_add", rows)
    connection.sql(f"CREATE TABLE {quoted(name)} AS SELECT * FROM rows_to_add")
    connection.unregister("rows_to_add")


def rows_of(files: Iterable[Path]) -> str:
    """The rows of Parquet files as SQL."""
    return f"read_parquet([{_texts(files)}], union_by_name = true, file_row_number = true)"


def add_table(connection: duckdb.DuckDBPyConnection, name: str, files: list[Path]) -> None:
    """Make the rows of Parquet `files` a table, as they were written."""
    rows = f"SELECT * EXCLUDE (file_row_number) FROM {rows_of(files)} ORDER BY file_row_number"
    with _told():
        connection.sql(f"CREATE TABLE {quoted(name)} AS {rows}")


def add_stored(connection: duckdb.DuckDBPyConnection, name: str, files: list[Path], *, planned: bool) -> None:
    """Make a stored table a table (samples: a view) sorted by run, then as each run wrote it.

    A run's rows are together in one file, so the order does not depend on which runs shared a file. Where there is a
    table `planned`, only its runs are in it, and a row of `runs` begins with its columns and is in its order: once for
    each part of the study that has this run.
    """
    rows = rows_of(files)
    select, order = f"SELECT * EXCLUDE (file_row_number) FROM {rows}", "run_id, file_row_number"
    if planned and name == "runs":
        columns = "planned.*, stored.* EXCLUDE (run_id, file_row_number)"
        select = f"SELECT {columns} FROM planned JOIN {rows} AS stored USING (run_id)"
        order = "planned.rowid"
    elif planned:
        select += " SEMI JOIN planned USING (run_id)"
    # Samples may be many and are often not asked for: they stay on disk.
    kind = "VIEW" if name == "samples" else "TABLE"
    with _told():
        connection.sql(f"CREATE {kind} {quoted(name)} AS {select} ORDER BY {order}")


def query(
    connection: duckdb.DuckDBPyConnection, sql: str, parameters: Mapping[str, object] | None = None
) -> pl.DataFrame:
    """The rows of a query; of `parameters`, those that it names as `$name` are bound. Raises `ResultsError`."""
    return frame(answer(connection, sql, parameters))


def answer(connection: duckdb.DuckDBPyConnection, sql: str, parameters: Mapping[str, object] | None = None) -> pa.Table:
    """The rows of a query before they are data frames' own."""
    with _told(), warnings.catch_warnings(action="ignore"):
        named = check(connection, sql)
        _keep(connection, named.tables)
        bound = {name: value for name, value in (parameters or {}).items() if name in named.parameters}
        return connection.sql(sql, params=bound or None).to_arrow_table()


def reads(
    connection: duckdb.DuckDBPyConnection, sql: str, columns: Iterable[str], parameters: Mapping[str, object]
) -> pa.Table:
    """The columns of tables on which some columns of a query's answer depend, as rows of `name` and `column`.

    The database's own plan says it, once everything that the columns have no use for is taken out.
    """
    with _told():
        named = check(connection, sql)
        bound = {name: value for name, value in parameters.items() if name in named.parameters}
        wanted = ", ".join(map(quoted, columns))
        inside = f"SELECT {wanted} FROM (\n{sql.rstrip().removesuffix(';')}\n)"
        ((_, plan),) = connection.sql(f"EXPLAIN (FORMAT json) {inside}", params=bound or None).fetchall()
    found = list(dict.fromkeys(_scanned(json.loads(plan))))
    return pa.table({"name": [name for name, _ in found], "column": [column for _, column in found]})


def _scanned(nodes: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    """The columns that a plan takes from tables; of a table of which it only counts rows, one without a name."""
    for node in nodes:
        known = node["extra_info"]
        if "Table" in known:
            taken = known.get("Projections") or [""]
            yield from (
                (known["Table"].rpartition(".")[2], column) for column in ([taken] if isinstance(taken, str) else taken)
            )
        yield from _scanned(node["children"])


def frame(rows: pa.Table) -> pl.DataFrame:
    """Rows as a data frame with numbers, texts and times that every reader of it knows."""
    rows = rows.rename_columns(_unique(rows.column_names))
    try:
        return _plain(pl.DataFrame(rows))
    except (pl.exceptions.PolarsError, pa.ArrowException, ImportError, ValueError, TypeError):
        kinds = ", ".join(f"{field.name}: {field.type}" for field in rows.schema)
        raise ResultsError(f"the query gives a kind of value that no table here holds; CAST it ({kinds})") from None


@contextmanager
def _told() -> Iterator[None]:
    """Turn the database's error into one clear `ResultsError`."""
    try:
        yield
    except duckdb.Error as error:
        raise ResultsError(re.sub(r"\n{2,}", "\n", str(error)).strip()) from None


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
            whole = (
                kind.scale == 0 and frame[name].cast(pl.Int64, strict=False).null_count() == frame[name].null_count()
            )
            casts.append(pl.col(name).cast(pl.Int64 if whole else pl.Float64))
    return frame.with_columns(casts)
