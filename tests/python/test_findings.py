"""Verdicts are computed from rows, and a query or text that cannot be is named."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest

from vazao.errors import StudyError
from vazao.results import database
from vazao.study import Study, findings, parse_study

HEAD = """
[study]
name = "x"
title = "x"
[scenario]
[[factor]]
name = "setting"
sets = "a"
levels = ["historic", "modern"]
"""


@dataclass
class Rows:
    """A stand-in for a results directory: eight runs, four in each setting."""

    def query(self, sql: str, parameters: Mapping[str, object] | None = None) -> pl.DataFrame:
        connection = database.connect()
        y = [1.0, 2.0, 3.0, 4.0, 11.0, 12.0, 13.0, None]
        runs = pl.DataFrame({"setting": ["historic"] * 4 + ["modern"] * 4, "y": y})
        connection.register("runs", runs.to_arrow())
        try:
            return database.query(connection, sql, parameters)
        finally:
            connection.close()


def study(finding: str) -> Study:
    return parse_study(HEAD + '[[finding]]\nid = "f"\nclaim = "c"\nreported = "r"\n' + finding, "x.toml")


def evaluate(finding: str) -> list[findings.Ruling]:
    return findings.evaluate(study(finding), Rows())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("holds", "verdict"), [("true", "reproduced"), ("false", "differs"), ("NULL::BOOLEAN", "not testable here")]
)
def test_the_verdict_is_that_of_the_row(holds: str, verdict: str) -> None:
    (found,) = evaluate(
        f'sql = "SELECT avg(y) AS mean, {holds} AS holds FROM runs"\nmeasured = "{{mean:.2f}} s"\n'
        'explanation = "always"\nif_reproduced = "as {mean:.0f}"\nif_differs = "not {mean:.0f}"\n'
    )
    assert found.verdict == verdict
    assert found.measured == "6.57 s"
    texts = {"reproduced": "always as 7", "differs": "always not 7", "not testable here": "always"}
    assert found.explanation == texts[verdict]


def test_a_finding_per_level_is_decided_for_each() -> None:
    found = evaluate(
        'per = "setting"\n'
        'sql = "SELECT high95(y) < 10 AS holds, avg(y) AS measured FROM runs WHERE setting = $setting"\n'
    )
    assert [(one.level, one.verdict, one.measured) for one in found] == [
        ("historic", "reproduced", "2.5"),
        ("modern", "differs", "12"),
    ]


def test_null_is_a_dash_in_a_text() -> None:
    (found,) = evaluate('sql = "SELECT NULL::DOUBLE AS x, NULL::BOOLEAN AS holds"\nmeasured = "{x:.3f} s"\n')
    assert (found.verdict, found.measured) == ("not testable here", "– s")


def test_no_row_is_not_testable() -> None:
    (found,) = evaluate('sql = "SELECT y, true AS holds FROM runs WHERE y > 99"\nmeasured = "{y}"\n')
    assert (found.verdict, found.measured, found.explanation) == ("not testable here", "", findings.NO_ROW)


def test_what_cannot_be_tested_says_why() -> None:
    (found,) = evaluate('not_testable = "no moon"\n')
    assert (found.verdict, found.explanation) == ("not testable here", "no moon")


@pytest.mark.parametrize(
    ("finding", "expected"),
    [
        ('sql = "SELEC 1"', "syntax error"),
        ('sql = "SELECT nope FROM runs"', "nope"),
        ('sql = "SELECT 1 AS x"', "no column `holds` (it gives x)"),
        ('sql = "SELECT 1 AS holds"', "`holds` is 1; it must be true, false or NULL"),
        ('sql = "SELECT true AS holds FROM runs"', "8 rows"),
        ('sql = "SELECT true AS holds"\nmeasured = "{men}"', "'men' in '{men}' is no column of its query"),
        ('sql = "SELECT true AS holds"\nmeasured = "{holds.__class__}"', "is no column of its query"),
        ('sql = "SELECT true AS holds, \'a\' AS t"\nmeasured = "{t:.2f}"', "cannot be filled in"),
        ('sql = "SELECT true AS holds"\nmeasured = "{"', "cannot be filled in"),
    ],
)
def test_a_mistake_names_the_finding(finding: str, expected: str) -> None:
    with pytest.raises(StudyError) as error:
        evaluate(finding)
    assert str(error.value).startswith("x.toml: finding 'f': ")
    assert expected in str(error.value)


def test_the_ledger_is_read_as_it_was_written(tmp_path: Path) -> None:
    found = evaluate('sql = "SELECT true AS holds"\nmeasured = "ü"\n')
    findings.write(found, tmp_path)
    assert findings.read(tmp_path) == found
