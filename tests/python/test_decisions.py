"""Decisions by confidence intervals: wider ones decide less, and built-in studies use only these functions."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Set
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, strategies as st

from vazao.errors import ResultsError
from vazao.results import load_study
from vazao.sql import database
from vazao.study import Study, built_in_studies, labels_run, needs

pytestmark = pytest.mark.study

CONNECTION = database.connect()

FUNCTIONS = ["greater", "not_worse", "equivalent"]

numbers = st.floats(-1e6, 1e6)
positive = st.floats(0, 1e6)


def answered(sql: str, *values: object) -> tuple[bool | None, ...]:
    """Result of a query that has a single row."""
    (row,) = CONNECTION.execute(sql, values).fetchall()
    return tuple(row)


def decide(function: str, d: float | None, ci: float | None, bound: float) -> bool | None:
    sql = f"SELECT {function}(CAST($1 AS DOUBLE), CAST($2 AS DOUBLE), CAST($3 AS DOUBLE))"
    return answered(sql, d, ci, bound)[0]


def over(sql: str, rows: str) -> bool | None:
    return answered(f"SELECT {sql} FROM {rows}")[0]


@pytest.mark.parametrize(
    ("function", "d", "ci", "bound", "holds"),
    [
        ("greater", 10, 2, 7, True), ("greater", 10, 4, 7, None), ("greater", 4, 2, 7, False),
        ("greater", 7, 0, 7, False), ("greater", 7.1, 0, 7, True), ("greater", -3, 1, -5, True),
        ("not_worse", -1, 2, 2, True), ("not_worse", 1, 2, 2, None), ("not_worse", 5, 2, 2, False),
        ("not_worse", 2, 0, 2, True),
        ("equivalent", 1, 3, 5, True), ("equivalent", -1, 3, 5, True), ("equivalent", 4, 3, 5, None),
        ("equivalent", -4, 3, 5, None), ("equivalent", 9, 3, 5, False), ("equivalent", -9, 3, 5, False),
        ("equivalent", 0, 6, 5, None),
    ],
)  # fmt: skip
def test_an_interval_decides_by_where_all_of_it_lies(
    function: str, d: float, ci: float, bound: float, holds: bool | None
) -> None:
    assert decide(function, d, ci, bound) is holds


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("ci", [None, math.inf, math.nan])
def test_without_an_interval_nothing_is_decided(function: str, ci: float | None) -> None:
    assert decide(function, 0, ci, 1) is None
    assert decide(function, 100, ci, 1) is None


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("d", [None, math.inf, math.nan])
def test_without_a_difference_nothing_is_decided(function: str, d: float | None) -> None:
    assert decide(function, d, 1, 1) is None


def test_an_interval_of_negative_width_is_a_mistake() -> None:
    with pytest.raises(ResultsError, match="never negative"):
        database.query(CONNECTION, "SELECT greater(1, -1, 0)")


@pytest.mark.parametrize("function", FUNCTIONS)
@given(d=numbers, ci=positive, wider=positive, bound=numbers)
def test_a_wider_interval_never_decides_more_than_a_narrower_one(
    function: str, d: float, ci: float, wider: float, bound: float
) -> None:
    before, after = decide(function, d, ci, bound), decide(function, d, ci + wider, bound)
    assert after is None or after is before


@pytest.mark.parametrize("function", FUNCTIONS)
@given(
    values=st.lists(st.floats(-100, 100), min_size=3, max_size=12),
    kept=st.integers(2, 11),
    bound=st.floats(-50, 50),
)
def test_fewer_runs_never_decide_more(function: str, values: list[float], kept: int, bound: float) -> None:
    """The smaller sample has the same mean and deviation, as in an experiment that is cut short."""
    assume(kept < len(values))
    sql = f"""
    WITH v AS (SELECT unnest(CAST($1 AS DOUBLE[])) AS x),
         s AS (SELECT avg(x) AS mean, stddev_samp(x) AS sd, count(*) AS n FROM v),
         c AS (SELECT mean, t_quantile(n - 1) * sd / sqrt(n) AS all_of_them, t_quantile($2 - 1) * sd / sqrt($2) AS fewer
               FROM s)
    SELECT {function}(mean, all_of_them, $3), {function}(mean, fewer, $3) FROM c"""
    before, after = answered(sql, values, kept, bound)
    assert after is None or after is before


@given(x=st.lists(st.sampled_from([True, False, None]), min_size=1, max_size=6))
def test_everywhere_and_somewhere_are_kleenes_and_and_or(x: list[bool | None]) -> None:
    rows = f"(SELECT unnest(CAST({json.dumps(x)} AS BOOLEAN[])) AS x)"
    everywhere = False if False in x else None if None in x else True
    somewhere = True if True in x else None if None in x else False
    assert over("everywhere(x)", rows) is everywhere
    assert over("somewhere(x)", rows) is somewhere


def test_no_rows_decide_nothing() -> None:
    nothing = "(SELECT true AS x WHERE false)"
    assert over("everywhere(x)", nothing) is None
    assert over("somewhere(x)", nothing) is None


@pytest.mark.parametrize(
    ("function", "d", "ci", "bound", "against", "holds"),
    [
        ("greater", 10, 2, 7, 4, True), ("greater", 4, 2, 7, 4, None), ("greater", 4, 4, 7, 2, False),
        ("not_worse", -1, 2, 2, 4, True), ("not_worse", 5, 2, 2, 4, None), ("not_worse", 5, 4, 2, 2, False),
        ("equivalent", 1, 3, 5, 9, True), ("equivalent", 9, 3, 5, 5, None), ("equivalent", -9, 5, 5, 3, False),
        ("greater", 4, 2, 7, None, None), ("greater", 10, 2, 7, None, True),
    ],
)  # fmt: skip
def test_a_contradiction_may_use_a_separate_interval(
    function: str, d: float, ci: float, bound: float, against: float | None, holds: bool | None
) -> None:
    assert answered(f"SELECT {function}($1, $2, $3, CAST($4 AS DOUBLE))", d, ci, bound, against)[0] is holds


@pytest.mark.parametrize(
    ("looks", "df", "published"), [(1, 9, 2.262), (5, 9, 3.250), (2, 4, 3.495), (5, 2, 9.925), (50, 30, 3.646)]
)
def test_a_corrected_interval_matches_the_tables_of_students_t(looks: int, df: int, published: float) -> None:
    """Two-sided at 0.05 / looks: 0.05, 0.01, 0.025, 0.01 and 0.001 (NIST/SEMATECH e-Handbook, 1.3.6.7.2)."""
    assert answered("SELECT t_quantile($1, $2)", df, looks)[0] == pytest.approx(published, abs=6e-4)
    values = f"(SELECT unnest(range({df + 1})) AS x)"
    error = math.sqrt((df + 1) * (df + 2) / 12) / math.sqrt(df + 1)
    half = answered(f"SELECT ci95(x, {looks}) FROM {values}")[0]
    assert half == pytest.approx(published * error, rel=3e-4)


def test_corrected_intervals_bound_false_contradictions_among_many_means() -> None:
    """Eight means that are really zero, each of six normal values, repeated 2 000 times."""
    cases = np.random.default_rng(1).normal(size=(2000, 8, 6))
    CONNECTION.register("drawn", pa.table({"n": np.arange(16000) // 8, "x": list(cases.reshape(16000, 6))}))
    sql = """
    WITH c AS (SELECT n, avg(v) AS d, ci95(v) AS ci, ci95(v, 8) AS wide
               FROM (SELECT n, unnest(x) AS v, row_number() OVER () AS cell FROM drawn) GROUP BY n, cell),
    a AS (SELECT everywhere(greater(d, ci, 0)) AS each, everywhere(greater(d, ci, 0, wide)) AS corrected,
                 somewhere(greater(d, wide, 0, ci)) AS found FROM c GROUP BY n)
    SELECT count(*) FILTER (NOT each), count(*) FILTER (NOT corrected), count(*) FILTER (found) FROM a"""
    ((each, corrected, found),) = CONNECTION.execute(sql).fetchall()
    # Bonferroni bounds it at 2.5 %, here 50 with a standard deviation of 7.
    assert 25 < corrected < 80
    assert 25 < found < 80
    assert each > 250


INTERVALS = {"ci95", "low95", "high95", "welch_p", "welch_low95", "welch_high95", "welch_ci95"}
"""Functions that return an interval or part of one; only `FUNCTIONS` may compare their results."""

Node = dict[str, Any]


def nodes(tree: Any) -> Iterator[Node]:
    """Yields every node of a parsed query, except the arguments of a function that may decide by an interval."""
    if isinstance(tree, list):
        for each in tree:
            yield from nodes(each)
    elif isinstance(tree, dict):
        yield tree
        if tree.get("function_name") not in FUNCTIONS:
            yield from nodes(list(tree.values()))


@cache
def parsed(sql: str) -> Any:
    ((text,),) = CONNECTION.execute("SELECT json_serialize_sql(CAST($1 AS VARCHAR))", [sql]).fetchall()
    tree = json.loads(text)
    assert not tree["error"], tree
    return tree["statements"]


@cache
def nodes_of(sql: str) -> list[Node]:
    return list(nodes(parsed(sql)))


def mentions(tree: Any, tainted: Set[str]) -> bool:
    """Whether an expression uses an interval's end or width: by calling a function, or by the name of a column."""
    for node in nodes(tree):
        if node.get("function_name") in INTERVALS:
            return True
        if node.get("class") == "COLUMN_REF" and node["column_names"][-1] in tainted:
            return True
    return False


def named_after_intervals(queries: list[str], tainted: Set[str]) -> Set[str]:
    """`tainted`, and names in queries for values derived from an interval; later names may derive from earlier ones."""
    # A subquery or a table has an alias, too; only expressions are columns.
    named = [node for sql in queries for node in nodes_of(sql) if node.get("alias")]
    while found := {node["alias"] for node in named if node["alias"] not in tainted and mentions(node, tainted)}:
        tainted = tainted | found
    return tainted


def by_hand(sql: str, tainted: Set[str] = frozenset()) -> list[str]:
    """Places that decide by an interval without the functions; `tainted` names columns that derive from one."""
    wrong = []
    tainted = named_after_intervals([sql], tainted)
    for node in nodes_of(sql):
        kind = str(node.get("type", ""))
        if (kind.startswith("COMPARE_") or "BETWEEN" in kind) and mentions(node, tainted):
            wrong.append(f"an interval is compared by hand in {sql.strip()[:80]!r}…")
        if node.get("function_name") in ("bool_and", "bool_or"):
            wrong.append(f"{node['function_name']} passes over what is undecided in {sql.strip()[:80]!r}…")
    return wrong


@pytest.mark.parametrize("name", built_in_studies())
def test_no_built_in_study_decides_by_an_interval_but_by_the_functions(name: str) -> None:
    study: Study = load_study(name)
    views = [view.sql for view in study.views]
    tainted = named_after_intervals(views, set())
    wrong = {sql: found for sql in views if (found := by_hand(sql, tainted))}
    wrong |= {one.id: found for one in study.findings if one.sql and (found := by_hand(one.sql, tainted))}
    assert wrong == {}


@pytest.mark.parametrize("name", built_in_studies())
def test_findings_decided_by_single_rows_correct_for_the_number_of_rows(name: str) -> None:
    study = load_study(name)
    assert {
        finding.id: found for finding in study.findings if finding.sql and (found := uncorrected(finding.sql))
    } == {}


def uncorrected(sql: str) -> int:
    """Number of decisions that use one interval for both answers, in a query that decides row by row."""
    one_by_one = re.search(r"\b(everywhere|somewhere)\(", sql)
    decisions = [node for node in nodes_of(sql) if node.get("function_name") in FUNCTIONS]
    return sum(len(node["arguments"]) < 4 for node in decisions) if one_by_one else 0


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT abs(avg(x)) - ci95(x) < 0.05 AS holds FROM runs",
        "WITH c AS (SELECT avg(x) AS d, ci95(x) AS wide FROM runs) SELECT d + wide > 0 AS holds FROM c",
        "WITH c AS (SELECT low95(x) AS low FROM runs), e AS (SELECT 2 * low AS b FROM c) SELECT b > 0 AS holds FROM e",
        "SELECT welch_high95(list(x), list(y)) < 0 AS holds FROM runs",
        "SELECT high95(x) BETWEEN 0 AND 1 AS holds FROM runs",
        "SELECT bool_and(equivalent(x, y, 1)) AS holds FROM runs",
    ],
)  # fmt: skip
def test_the_forbidden_forms_are_found(sql: str) -> None:
    assert len(by_hand(sql)) == 1


def test_a_decision_of_the_functions_may_be_compared_freely() -> None:
    sql = "WITH c AS (SELECT greater(avg(x), ci95(x), 0) AS won FROM runs) SELECT won = true AS holds FROM c"
    assert by_hand(sql) == []


@pytest.mark.parametrize("name", built_in_studies())
def test_no_finding_of_a_built_in_study_is_decided_by_fewer_levels(name: str) -> None:
    study = load_study(name)
    asked = [
        (finding, {finding.per: label} if finding.per else {}, study.named_parts(finding.sql))
        for finding in study.findings
        if finding.sql
        for label in (study.labels(finding.per) if finding.per else [""])
    ]
    levels = {part.name: labels_run(part, "quick") for part in study.parts}
    whole = {part: {factor: set(map(str, labels)) for factor, labels in each.items()} for part, each in levels.items()}
    quick = needs.Present(study, whole)
    # The quick size has all levels but those that a finding names by `needs` or `per`.
    assert [one.id for one, level, _ in asked if not (one.needs or level) and quick.lacks(one, level)] == []
    stored = dict(whole)
    fewer = needs.Present(study, stored)
    for part, factor, label in ((p, f, label) for p, each in levels.items() for f in each for label in each[f]):
        without = {**whole, part: {**whole[part], factor: whole[part][factor] - {str(label)}}}
        stored.update(without)
        decided = [
            one.id
            for one, level, parts in asked
            if part in parts
            and label in (one.needs | {per: [one_level] for per, one_level in level.items()}).get(factor, [label])
            and not fewer.lacks(one, level)
        ]
        assert decided == [], (part, factor, label)
