"""Runs behind the marks of a figure: the figure's own query, asked for the run of each row as well.

A mark is all rows of one x, one colour and one panel. The query is rewritten where its FROM reads the results' tables,
through views, WITH and subqueries: each SELECT hands on the `run_id` of the rows that it reads, a grouped one those of
all rows of its group. What a subquery in WHERE or in a column reads is a condition, not a mark's run. A query that
cannot be rewritten so, or would have other marks then (a LIMIT over DISTINCT, say), has marks whose runs nobody knows.
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
from vazao.results import Store
from vazao.study import Figure, Study

TABLES = ("runs", "flows", "paths", "links", "samples", "planned")
"""Tables of results whose rows have a `run_id`."""

MOST_MARKS = 600
"""Marks beyond which those of a series are one: nobody hits one of so many points."""

DIGITS = 6
"""Significant digits of a mark's numbers: as many as the page's rows have."""

Json = dict[str, Any]


class _UntoldError(Exception):
    """A query whose rows cannot say which runs they are of."""


@dataclass(frozen=True)
class Mark:
    """A mark of a figure: its values by column, and the `run_id` of every run behind it."""

    values: tuple[float | str, ...]
    runs: frozenset[str]


@dataclass(frozen=True)
class Marks:
    """The marks of a figure, by the values that these columns of its rows have."""

    columns: tuple[str, ...]
    marks: list[Mark] = field(default_factory=list)


def marks(figure: Figure, study: Study, store: Store) -> Marks | None:
    """The marks of a figure with their runs; None where nothing says which runs they are of."""
    keys = list(dict.fromkeys(column for column in (figure.x, figure.color, figure.facet) if column))
    try:
        sql, told = traced(figure.sql, study, store)
        rows = query(figure.model_copy(update={"sql": sql}), store)
        own = query(figure, store)
    except (VazaoError, _UntoldError):
        return None
    # Rounded first: what the page has of a number is what it is found by.
    rows, own = (_rounded(frame, keys) for frame in (rows, own))
    there, wanted = (frame.select(keys).unique().sort(keys) for frame in (rows, own))
    if not there.equals(wanted):
        return None
    if wanted.height > MOST_MARKS:
        keys = [column for column in keys if column != figure.x]
    if not keys:
        return None
    grouped = rows.group_by(keys, maintain_order=True).agg(pl.col(told).unique())
    words = study.words
    found = []
    for *values, texts in grouped.iter_rows():
        told_values = tuple(words.label(value) if isinstance(value, str) else value for value in values)
        runs = frozenset(run for text in texts if text for run in text.split())
        found.append(Mark(told_values, runs))
    return Marks(tuple(keys), [mark for mark in found if mark.runs])


def _rounded(frame: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    numbers = [column for column in keys if frame.schema[column].is_float()]
    return frame.with_columns(pl.col(column).round_sig_figs(DIGITS) for column in numbers)


def traced(sql: str, study: Study, store: Store) -> tuple[str, str]:
    """A query of a study with one column more, and that column's name: the runs that each row is of, apart by blanks.

    It is taken apart where it is asked, as a stranger's text: in the store's enclosure. Raises `_UntoldError` where its
    rows cannot say their runs, `ResultsError` where it cannot be read.
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
        raise _UntoldError
    written = store.query("SELECT json_deserialize_sql(CAST($tree AS JSON)) AS sql", {"tree": json.dumps(tree)})
    return str(written["sql"][0]), column


class _Tracer:
    """Adds to each SELECT a column that names its runs, under a name that no other has."""

    def __init__(self, store: Store) -> None:
        self._store, self._numbers = store, count(1)

    def node(self, node: Json, scope: Mapping[str, str | None]) -> str | None:
        """The column of a query that names its runs; None where it reads no run."""
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
        raise _UntoldError

    def _select(self, node: Json, scope: Mapping[str, str | None]) -> str | None:
        runs = self._read(node["from_table"], scope)
        if not runs:
            return None
        text = f"concat_ws(' ', {', '.join(runs)})"
        if _is_grouped(node):
            text = f"string_agg(DISTINCT {text}, ' ')"
        name = f"_runs_{next(self._numbers)}"
        told = _parsed(f"SELECT {text} AS {name}", self._store)
        node["select_list"].append(told["statements"][0]["node"]["select_list"][0])
        return name

    def _union(self, node: Json, scope: Mapping[str, str | None]) -> str | None:
        sides = node.get("children") or [node["left"], node["right"]]
        names = [self.node(side, scope) for side in sides]
        if None in names:
            raise _UntoldError
        for side, name in zip(sides, names, strict=True):
            # By position or by name, the sides' columns are one.
            if name != names[0]:
                _renamed(side, str(name), str(names[0]))
        return names[0]

    def _read(self, table: Json, scope: Mapping[str, str | None]) -> list[str]:
        """The columns of what stands in FROM that name runs."""
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
    """Whether a SELECT has one row for many that it reads."""
    if node["group_expressions"] or node["aggregate_handling"] == "FORCE_AGGREGATES":
        return True
    return any(_aggregates(one) for one in node["select_list"])


def _aggregates(expression: Any) -> bool:
    """Whether an expression aggregates: itself, not in a subquery or over a window."""
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
    told = store.query("SELECT json_serialize_sql(CAST($sql AS VARCHAR)) AS tree", {"sql": sql})
    try:
        tree = json.loads(told["tree"][0])
    except RecursionError:
        raise _UntoldError from None
    if tree["error"]:
        raise _UntoldError
    return cast(Json, tree)
