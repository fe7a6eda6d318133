"""Runs behind the marks of a figure, found by rewriting the figure's query to return each row's runs as well.

A mark stands for all rows with the same x, colour and panel. The rewrite follows FROM to the result tables, through
views, WITH and subqueries: each SELECT passes on the `run_id` of the rows it reads, and a grouped one passes on those
of all rows in its group. Rows that a subquery reads in WHERE or in a column are a condition and add no runs. If a query
cannot be rewritten this way, or would then have other marks (a LIMIT over DISTINCT, say), the runs are unknown.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from itertools import count
from typing import Any, cast

import duckdb
import polars as pl

from vazao.errors import VazaoError
from vazao.figures import query
from vazao.store import Store
from vazao.study import Figure, Study

TABLES = ("runs", "flows", "paths", "links", "samples", "planned")
"""Result tables whose rows have a `run_id`."""

MAX_MARKS = 600
"""Maximum number of marks; above it each series is one mark, as nobody can hit one point of so many."""

DIGITS = 6
"""Significant digits of a mark's numbers, as many as the page's rows have."""

Json = dict[str, Any]


class _UntraceableError(Exception):
    """A query whose rows cannot be traced to runs."""


@dataclass(frozen=True)
class Mark:
    """A mark of a figure: its values by column, and the `run_id` of every run behind it."""

    values: tuple[float | str, ...]
    runs: frozenset[str]


@dataclass(frozen=True)
class Marks:
    """The marks of a figure, identified by their values in `columns`."""

    columns: tuple[str, ...]
    marks: list[Mark] = field(default_factory=list)


def marks(figure: Figure, study: Study, store: Store) -> Marks | None:
    """The marks of a figure with their runs; None where the runs cannot be determined."""
    keys = list(dict.fromkeys(column for column in (figure.x, figure.color, figure.facet) if column))
    try:
        sql, run_column = traced(figure.sql, study, store)
        rows = query(figure.model_copy(update={"sql": sql}), store)
        own = query(figure, store)
    except (VazaoError, _UntraceableError):
        return None
    # Rounded first, because the page looks marks up by its rounded numbers.
    rows, own = (_rounded(frame, keys) for frame in (rows, own))
    there, wanted = (frame.select(keys).unique().sort(keys) for frame in (rows, own))
    if not there.equals(wanted):
        return None
    if wanted.height > MAX_MARKS:
        keys = [column for column in keys if column != figure.x]
    if not keys:
        return None
    grouped = rows.group_by(keys, maintain_order=True).agg(pl.col(run_column).unique())
    words = study.words
    found = []
    for *values, texts in grouped.iter_rows():
        labels = tuple(words.label(value) if isinstance(value, str) else value for value in values)
        runs = frozenset(run for text in texts if text for run in text.split())
        found.append(Mark(labels, runs))
    return Marks(tuple(keys), [mark for mark in found if mark.runs])


def _rounded(frame: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    numbers = [column for column in keys if frame.schema[column].is_float()]
    return frame.with_columns(pl.col(column).round_sig_figs(DIGITS) for column in numbers)


def traced(sql: str, study: Study, store: Store) -> tuple[str, str]:
    """A study's query with one more column, and that column's name: the runs of each row, separated by spaces.

    The query is untrusted text, so it is parsed where it would run: in the store's sandboxed process. Raises
    `_UntraceableError` where its rows cannot be traced to runs, `ResultsError` where it cannot be parsed.
    """
    views: list[str] = []
    named = sql
    for view in reversed(study.views):
        if re.search(rf"\b{view.name}\b", named):
            named += view.sql
            views.insert(0, f'"{view.name}" AS ({view.sql}\n)')
    with_views = f"WITH {', '.join(views)} SELECT * FROM ({sql.strip().rstrip(';')}\n) AS figure" if views else sql
    tree = _parsed(with_views, store)
    column = _Tracer(store).node(tree["statements"][0]["node"], {})
    if column is None:
        raise _UntraceableError
    written = store.query("SELECT json_deserialize_sql(CAST($tree AS JSON)) AS sql", {"tree": json.dumps(tree)})
    return str(written["sql"][0]), column


class _Tracer:
    """Adds to each SELECT a uniquely named column with the runs of its rows."""

    def __init__(self, store: Store) -> None:
        self._store, self._numbers = store, count(1)

    def node(self, node: Json, scope: Mapping[str, str | None]) -> str | None:
        """Rewrite a query node; return the name of its column of runs, None where it reads no runs."""
        inner = dict(scope)
        for one in node.get("cte_map", {}).get("map", []):
            inner[one["key"].lower()] = self.node(one["value"]["query_node"], inner)
        if node["type"] == "SELECT_NODE":
            return self._select(node, inner)
        if node["type"] == "SET_OPERATION_NODE" and node["setop_type"].startswith("UNION"):
            return self._union(node, inner)
        if node["type"] == "CTE_NODE":
            inner[node["cte_name"].lower()] = self.node(node["query"], inner)
            return self.node(node["child"], inner)
        raise _UntraceableError

    def _select(self, node: Json, scope: Mapping[str, str | None]) -> str | None:
        runs = self._read(node["from_table"], scope)
        if not runs:
            return None
        text = f"concat_ws(' ', {', '.join(runs)})"
        if _is_grouped(node):
            text = f"string_agg(DISTINCT {text}, ' ')"
        name = f"_runs_{next(self._numbers)}"
        parsed = _parsed(f"SELECT {text} AS {name}", self._store)
        node["select_list"].append(parsed["statements"][0]["node"]["select_list"][0])
        return name

    def _union(self, node: Json, scope: Mapping[str, str | None]) -> str | None:
        sides = node.get("children") or [node["left"], node["right"]]
        names = [self.node(side, scope) for side in sides]
        if None in names:
            raise _UntraceableError
        for side, name in zip(sides, names, strict=True):
            # UNION matches the sides' columns by position or by name, so both sides share one name.
            if name != names[0]:
                _renamed(side, str(name), str(names[0]))
        return names[0]

    def _read(self, table: Json, scope: Mapping[str, str | None]) -> list[str]:
        """The run columns, as SQL, that an item in FROM provides."""
        match table["type"]:
            case "JOIN":
                left = self._read(table["left"], scope)
                return left if table["join_type"] in ("SEMI", "ANTI") else left + self._read(table["right"], scope)
            case "BASE_TABLE":
                name = str(table["table_name"])
                known = dict.fromkeys(TABLES, "run_id") | dict(scope)
                column = known.get(name.lower())
                return [f"{_quoted(table['alias'] or name)}.{_quoted(column)}"] if column else []
            case "SUBQUERY":
                column = self.node(table["subquery"]["node"], scope)
                within = f"{_quoted(table['alias'])}." if table["alias"] else ""
                return [within + _quoted(column)] if column else []
        return []


def _renamed(node: Json, name: str, new: str) -> None:
    for one in node.get("select_list", []):
        if one.get("alias") == name:
            one["alias"] = new
    for side in node.get("children") or [node[key] for key in ("left", "right") if key in node]:
        _renamed(side, name, new)


def _is_grouped(node: Json) -> bool:
    """Whether a SELECT aggregates many rows into one."""
    if node["group_expressions"] or node["aggregate_handling"] == "FORCE_AGGREGATES":
        return True
    return any(_aggregates(one) for one in node["select_list"])


def _aggregates(expression: Any) -> bool:
    """Whether an expression itself aggregates, ignoring subqueries and window functions."""
    if isinstance(expression, list):
        return any(map(_aggregates, expression))
    if not isinstance(expression, dict) or expression.get("class") in ("SUBQUERY", "WINDOW"):
        return False
    if expression.get("class") == "FUNCTION" and expression["function_name"].lower() in _aggregate_names():
        return True
    return any(map(_aggregates, expression.values()))


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


@cache
def _aggregate_names() -> frozenset[str]:
    with duckdb.connect(":memory:") as connection:
        asked = "SELECT DISTINCT function_name FROM duckdb_functions() WHERE function_type = 'aggregate'"
        return frozenset(name for (name,) in connection.execute(asked).fetchall())


def _parsed(sql: str, store: Store) -> Json:
    answer = store.query("SELECT json_serialize_sql(CAST($sql AS VARCHAR)) AS tree", {"sql": sql})
    try:
        tree = json.loads(answer["tree"][0])
    except RecursionError:
        raise _UntraceableError from None
    if tree["error"]:
        raise _UntraceableError
    return cast(Json, tree)
