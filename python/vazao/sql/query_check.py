"""Validation of a query as one SELECT, with the database's own parser."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import duckdb

from vazao.errors import ResultsError
from vazao.sql import dynamics

READING = {"SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE", "CTE_NODE"}
"""Types of query nodes that only read. A WITH may also hold an INSERT, an UPDATE, a DELETE, even a COPY to a file."""

TABLE_FUNCTIONS = {"range", "generate_series", "unnest", "repeat", "json_each", "json_tree"} | set(
    re.findall(r"CREATE MACRO (\w+)\([^)]*\) AS TABLE", dynamics.MACROS)
)
"""Functions allowed in FROM. Others read files, take memory addresses, run text as SQL, set options."""

MAX_LETTERS = 100_000
"""Maximum length of a query in characters."""


@dataclass(frozen=True)
class Named:
    """Names in a query: parameters, and in lower case tables and views, including those that its WITH defines."""

    parameters: set[str]
    tables: set[str]


def check(connection: duckdb.DuckDBPyConnection, sql: str) -> Named:
    """Validate a query and return its names. Raises `ResultsError` for anything but one SELECT, `duckdb.Error`."""
    if len(sql) > MAX_LETTERS:
        raise ResultsError(f"a query has at most {MAX_LETTERS:,} letters, and this one {len(sql):,}")
    statements = connection.extract_statements(sql)
    if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
        hint = "; give PIVOT its values: ON column IN (…)" if re.search(r"\bPIVOT\b", sql, re.IGNORECASE) else ""
        raise ResultsError(f"a query is one SELECT: results are asked, not changed{hint}")
    tables = set()
    for node in _nodes(_parsed(connection, sql)):
        kind = node.get("type")
        if isinstance(kind, str) and kind.endswith("_NODE") and kind not in READING:
            raise ResultsError(f"a query is one SELECT, and a WITH in it too: no {kind.partition('_')[0]}")
        if kind == "BASE_TABLE":
            tables.add(str(node["table_name"]).lower())
        if kind == "TABLE_FUNCTION" and (name := _function(node)) not in TABLE_FUNCTIONS:
            known = ", ".join(sorted(TABLE_FUNCTIONS))
            raise ResultsError(f"a query reads the tables of its results: FROM {name}(…) is not one of {known}")
    return Named(set(statements[0].named_parameters), tables)


def _parsed(connection: duckdb.DuckDBPyConnection, sql: str) -> Any:
    ((text,),) = connection.sql("SELECT json_serialize_sql(CAST($sql AS VARCHAR))", params={"sql": sql}).fetchall()
    try:
        tree = json.loads(text)
    except RecursionError:
        raise ResultsError("the query is nested too deeply") from None
    if tree["error"]:
        raise ResultsError(f"a query is one SELECT: {tree['error_message']}")
    return tree["statements"]


def _nodes(tree: Any) -> Iterator[Mapping[str, Any]]:
    """Every object in a JSON tree."""
    left = [tree]
    while left:
        match left.pop():
            case dict(node):
                yield node
                left += node.values()
            case list(items):
                left += items


def _function(node: Mapping[str, Any]) -> str:
    """Name of the table function that a node calls, in lower case."""
    return str(node["function"]["function_name"]).lower()
