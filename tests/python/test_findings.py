"""Verdicts are computed from rows, and errors in a query or text name the finding."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest

import synthetic
from vazao.cli import rendering, terminal
from vazao.errors import StudyError
from vazao.results import load_study
from vazao.sql import database
from vazao.study import Study, built_in_studies, findings, parse_study
from vazao.words import ENGLISH, Words

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
    """Stand-in for a results directory: eight runs, four in each setting."""

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
    ("holds", "verdict"), [("true", "reproduced"), ("false", "differs"), ("NULL::BOOLEAN", "undecided")]
)
def test_the_verdict_is_that_of_the_row(holds: str, verdict: str) -> None:
    (found,) = evaluate(
        f'sql = "SELECT avg(y) AS mean, {holds} AS holds FROM runs"\nmeasured = "{{mean:.2f}} s"\n'
        'explanation = "always"\nif_reproduced = "as {mean:.0f}"\nif_differs = "not {mean:.0f}"\n'
        'if_undecided = "or {mean:.0f}"\n'
    )
    assert found.verdict == verdict
    assert found.measured == "6.57 s"
    texts = {"reproduced": "always as 7", "differs": "always not 7", "undecided": "always or 7"}
    assert found.explanation == texts[verdict]


@pytest.mark.parametrize(("holds", "answer"), [("true", "Yes: 7."), ("false", "No: 7."), ("NULL::BOOLEAN", "Open: 7.")])
def test_the_answer_is_that_of_the_verdict(holds: str, answer: str) -> None:
    (found,) = evaluate(
        f'sql = "SELECT avg(y) AS mean, {holds} AS holds FROM runs"\n'
        'answer = { reproduced = "Yes: {mean:.0f}.", differs = "No: {mean:.0f}.", undecided = "Open: {mean:.0f}." }\n'
    )
    assert found.answer == answer


def test_an_answer_has_a_sentence_for_every_verdict() -> None:
    with pytest.raises(StudyError, match=r"answer\.undecided"):
        study('sql = "SELECT true AS holds"\nanswer = { reproduced = "Yes.", differs = "No." }\n')
    with pytest.raises(StudyError, match="wrong"):
        evaluate(
            'sql = "SELECT true AS holds"\n'
            'answer = { reproduced = "Yes.", differs = "No: {wrong}.", undecided = "Open." }\n'
        )


def test_every_built_in_study_answers_its_question() -> None:
    for name in built_in_studies():
        known = load_study(name)
        assert known.headline, name
        assert sum(finding.answer is not None for finding in known.findings) >= 3, name


def test_a_finding_per_level_is_decided_for_each() -> None:
    found = evaluate(
        'per = "setting"\n'
        'sql = "SELECT high95(y) < 10 AS holds, avg(y) AS measured FROM runs WHERE setting = $setting"\n'
    )
    assert [(one.level, one.verdict, one.measured) for one in found] == [
        ("historic", "reproduced", "2.5"),
        ("modern", "differs", "12"),
    ]


def test_a_value_that_rounds_to_zero_has_no_sign() -> None:
    texts = "SELECT -0.004 AS x, '-0 ± 0 %; -0.30 %; a-0; 1-0' AS shown, true AS holds"
    (found,) = evaluate(f'sql = "{texts}"\nmeasured = "{{x:.1f}} s, {{x:.1%}}, {{x:+.3f}}; {{shown}}"\n')
    assert found.measured == "0.0 s, -0.4 %, -0.004; 0 ± 0 %; -0.30 %; a-0; 1-0"


def test_a_decimal_comma_loses_no_sign() -> None:
    sql = "SELECT -0.6 AS x, '-0.6 ± 4.1 %; -0.0' AS shown, true AS holds"
    one = study(f'sql = "{sql}"\nmeasured = "{{x:.1f}} s, {{x:+.1%}}; {{shown}}"\n').with_texts(Words("pt"))
    (found,) = findings.evaluate(one, Rows())  # type: ignore[arg-type]
    assert found.measured == "-0,6 s, -60,0 %; -0,6 ± 4,1 %; 0,0"


def test_a_portuguese_plural_begins_at_two() -> None:
    text = "{x:.2f} ± 0,09 vezes, {y:.1f} vezes, 11,5 vezes, {x:.2f} vezes"
    one = study(f'sql = "SELECT 1.54 AS x, 2.0 AS y, true AS holds"\nmeasured = "{text}"\n').with_texts(Words("pt"))
    (found,) = findings.evaluate(one, Rows())  # type: ignore[arg-type]
    assert found.measured == "1,54 ± 0,09 vez, 2,0 vezes, 11,5 vezes, 1,54 vez"


def test_null_is_a_dash_in_a_text() -> None:
    (found,) = evaluate('sql = "SELECT NULL::DOUBLE AS x, NULL::BOOLEAN AS holds"\nmeasured = "{x:.3f} s"\n')
    assert (found.verdict, found.measured) == ("undecided", "– s")


def test_a_single_random_run_decides_nothing() -> None:
    sql = "SELECT avg(y) AS d, ci95(y) AS ci, greater(d, ci, 0) AS holds FROM runs WHERE y = 1"
    (found,) = evaluate(f'sql = "{sql}"\n')
    assert found.verdict == "undecided"


def test_a_number_of_the_original_stands_beside_ours_with_its_effect() -> None:
    numbers = """numbers = [
        { of = "first", reported = "2 s", measured = "mean", ci = "ci" },
        { of = "share", reported = "20.8 %", measured = "part" },
        { of = "none", reported = "0 %", measured = "part" },
        { of = "rate", reported = "4 Mbps", measured = "nothing" },
    ]"""
    columns = "avg(y) AS mean, ci95(y) AS ci, 0.104 AS part, NULL::DOUBLE AS nothing, true AS holds"
    (found,) = evaluate(f'{numbers}\nsql = "SELECT {columns} FROM runs WHERE y < 5"\n')
    first, share, none, rate = found.numbers
    assert (first.reported, first.measured, first.effect, first.unit) == (2, 2.5, 1.25, "s")
    assert first.formatted() == ("2 s", "2.5 s ± 2.1 s", "1.25")  # 3.182 √(5/3) / 2 for 1, 2, 3, 4
    assert share.formatted() == ("20.8 %", "10.4 %", "0.50")
    assert none.formatted() == ("0 %", "10.4 %", "–")
    assert rate.formatted() == ("4 Mbit/s", "–", "–")


def test_a_criterion_that_was_changed_says_so_with_the_earlier_one() -> None:
    (found,) = evaluate(
        'criterion = "more than 3"\nearlier = { criterion = "more than 1", because = "all passed" }\n'
        'sql = "SELECT true AS holds"\n'
    )
    assert found.criterion == "more than 3"
    assert found.earlier == [findings.AbandonedCriterion("more than 1", "all passed")]


@pytest.mark.parametrize("reported", ['"7 parsecs"', '"fast"', "true", "inf", '"1 bdp"'])
def test_what_is_reported_is_a_quantity(reported: str) -> None:
    with pytest.raises(StudyError, match="is no number of an original; write a quantity like '70 s'"):
        study(f'numbers = [{{ reported = {reported}, measured = "x" }}]\nsql = "SELECT true AS holds"')


def test_the_terminal_shows_criterion_numbers_and_effect(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(terminal.out, "width", 120)
    rendering.show_findings(synthetic.FINDINGS, explained=True)
    printed = capsys.readouterr().out
    assert "criterion  The interval lies above 10.4 %." in printed
    assert "earlier    It reaches 10.4 %. Changed: Few runs made it easier." in printed
    assert "undecided: +12 ± 15 %" in printed
    assert "time saved: 20.8 % reported, 12 % ± 15 % measured, 0.58 times" in printed
    assert "10 findings: 5 reproduced, 3 differ, 1 undecided, 1 not testable" in printed


def test_a_finding_without_rows_is_not_testable() -> None:
    (found,) = evaluate('sql = "SELECT y, true AS holds FROM runs WHERE y > 99"\nmeasured = "{y}"\n')
    assert (found.verdict, found.measured, found.explanation) == ("not testable", "", ENGLISH.say("page.no_row"))


PARTS = """
[study]
name = "x"
title = "x"
[scenario]
[[part]]
name = "one"
[[part.factor]]
name = "rate"
sets = "a"
levels = ["1 Mbps", "10 Mbps", "100 Mbps"]
quick = ["1 Mbps", "10 Mbps"]
[[part.factor]]
name = "loss"
sets = "b"
levels = [0, 0.01]
[[finding]]
id = "f"
claim = "c"
reported = "r"
sql = "SELECT true AS holds, count(*) AS n FROM runs WHERE part = 'one'"
measured = "{n} runs"
answer = { reproduced = "yes", differs = "no", undecided = "open" }
"""


@dataclass
class Levels:
    """Stand-in for a results directory: one run for each combination of these levels."""

    rates: list[str]
    losses: list[float]

    def query(self, sql: str, parameters: Mapping[str, object] | None = None) -> pl.DataFrame:
        connection = database.connect()
        rows = [{"part": "one", "rate": rate, "loss": loss} for rate in self.rates for loss in self.losses]
        connection.register("runs", pl.DataFrame(rows).to_arrow())
        return database.query(connection, sql, parameters)


@pytest.mark.parametrize(
    ("needs", "rates", "losses", "missing"),
    [
        ("", ["1 Mbps", "10 Mbps"], [0, 0.01], None),
        ("", ["1 Mbps"], [0, 0.01], "rate 10 Mbps"),
        ("", ["1 Mbps", "10 Mbps"], [0], "loss 0.01"),
        ("", ["10 Mbps"], [0.01], "rate 1 Mbps; loss 0"),
        ('needs = { rate = "1 Mbps" }', ["1 Mbps"], [0, 0.01], None),
        ('needs = { rate = ["10 Mbps", "100 Mbps"] }', ["1 Mbps", "10 Mbps"], [0, 0.01], "rate 100 Mbps"),
    ],
)
def test_fewer_levels_than_a_claim_needs_decide_nothing(
    needs: str, rates: list[str], losses: list[float], missing: str | None
) -> None:
    (found,) = findings.evaluate(parse_study(PARTS + needs, "x.toml"), Levels(rates, losses))
    assert found.measured == f"{len(rates) * len(losses)} runs"
    if missing is None:
        assert (found.verdict, found.explanation, found.answer) == ("reproduced", "", "yes")
    else:
        assert (found.verdict, found.answer) == ("undecided", "open")
        assert found.explanation == f"It needs runs with {missing}, which are missing."


def test_a_label_names_a_part_only_if_compared_with_the_part_column() -> None:
    """In sctp-tcp-udp-2016, `tcp`, `udp` and `sctp` are parts as well as transports."""
    study = load_study("sctp-tcp-udp-2016")
    assert study.parts_in("SELECT 1 FROM runs WHERE part = 'delay' AND transport IN ('tcp', 'udp')") == ["delay"]
    assert study.parts_in("SELECT 1 FROM runs WHERE part IN ('tcp', 'sctp') AND transport = 'udp'") == ["tcp", "sctp"]
    (delay,) = (finding for finding in study.findings if finding.id == "delay-alone")
    assert study.named_parts(delay.sql or "") == ["delay"]


def test_what_cannot_be_tested_says_why() -> None:
    (found,) = evaluate('not_testable = "no moon"\n')
    assert (found.verdict, found.explanation) == ("not testable", "no moon")


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
        (
            'sql = "SELECT true AS holds"\nnumbers = [{ reported = 1, measured = "x" }]',
            "'x' in `numbers` is no column of its query (columns: holds)",
        ),
        (
            'sql = "SELECT true AS holds, \'a\' AS x"\nnumbers = [{ reported = 1, measured = "x" }]',
            "'x' is 'a', and `numbers` compares numbers",
        ),
    ],
)
def test_a_mistake_names_the_finding(finding: str, expected: str) -> None:
    with pytest.raises(StudyError) as error:
        evaluate(finding)
    assert str(error.value).startswith("x.toml: finding 'f': ")
    assert expected in str(error.value)


def test_the_ledger_is_read_as_it_was_written(tmp_path: Path) -> None:
    found = evaluate(
        'criterion = "k"\nearlier = { criterion = "e", because = "b" }\n'
        'numbers = [{ reported = "2 s", measured = "x" }]\n'
        'sql = "SELECT true AS holds, 1 AS x"\nmeasured = "ü"\n'
    )
    findings.write(found, tmp_path)
    assert findings.read(tmp_path) == found
