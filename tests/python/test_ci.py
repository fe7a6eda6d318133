"""Studies in continuous integration: verdicts as an exit code and as JUnit XML, sweeps as JSON."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import polars as pl
import pytest

from command import Vazao, caller
from vazao import results
from vazao.cli import ci

CLAIMS = """
[[finding]]
id = "faster"
claim = "More than all of the link is used, <b>&</b> that \\u001b[2J"
reported = "200 %"
sql = "SELECT avg(utilisation) AS mean, avg(utilisation) > 1 AS holds FROM runs"
measured = "{mean:.2f}"

[[finding]]
id = "open"
claim = "Nobody knows"
sql = "SELECT NULL AS holds, 0 AS n"
"""


@pytest.fixture
def vazao(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], toy_text: str) -> Vazao:
    monkeypatch.chdir(tmp_path)
    Path("toy.toml").write_text(toy_text + CLAIMS)
    return caller(monkeypatch, capsys)


def test_verdicts_fail_the_command_that_are_named(vazao: Vazao) -> None:
    assert vazao("run", "toy.toml").code == 0
    told = {
        "differs": (1, "--fail-on differs: 1 of 5 claims; the first, toy: faster: differs (0."),
        "undecided": (1, "--fail-on undecided: 1 of 5 claims; the first, toy: open: undecided"),
        "differs,undecided": (1, "--fail-on differs,undecided: 2 of 5 claims; the first, toy: faster: differs"),
        "not-testable": (1, "--fail-on not testable: 1 of 5 claims; the first, toy: moon: not testable"),
    }
    for verdicts, (code, said) in told.items():
        done = vazao("run", "toy.toml", "--fail-on", verdicts)
        assert (done.code, said in done.err) == (code, True), done.err
        assert "(0 simulated now)" in done.out
    assert json.loads(vazao("run", "toy.toml", "--fail-on", "differs", "--json").out)["findings"][-1]["id"] == "open"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--fail-on", "difers"), "--fail-on 'difers': is no verdict; did you mean 'differs'?"),
        (("--fail-on", ","), "--fail-on ',': names no verdict (known: reproduced, differs, undecided, not-testable)"),
        (("--junit", "no/where.xml"), "--junit 'no/where.xml': there is no directory 'no'"),
        (
            ("--shard", "1/2", "--fail-on", "differs"),
            "--shard: is a part of a study, whose claims are judged when it is whole; leave --measurements, --fail-on",
        ),
    ],
)
def test_what_cannot_be_asked_is_said_before_anything_runs(
    vazao: Vazao, options: tuple[str, ...], message: str
) -> None:
    done = vazao("run", "toy.toml", *options)
    assert (done.code, message in done.err) == (2, True), done.err
    assert not Path("results").exists()


def test_a_scenario_has_no_claims_to_fail_on(vazao: Vazao) -> None:
    Path("one.toml").write_text(
        '[network]\ntopology = "point-to-point"\nlink = {}\n[[flow]]\napp = { kind = "upload" }\n'
    )
    assert "is a scenario; leave" in vazao("run", "one.toml", "--junit", "x.xml").err
    assert "is swept; leave" in vazao("run", "one.toml", "--seeds", "2", "--fail-on", "differs").err


def suite_of(path: str) -> tuple[ElementTree.Element, dict[str, ElementTree.Element]]:
    root = ElementTree.parse(path).getroot()
    (suite,) = root
    assert (root.tag, suite.tag) == ("testsuites", "testsuite")
    return suite, {str(case.get("name")): case for case in suite}


def test_verdicts_are_tests_of_a_suite(vazao: Vazao) -> None:
    """Elements that JUnit readers know: testsuites, testsuite, testcase with failure or skipped."""
    assert vazao("run", "toy.toml", "--junit", "toy.xml").code == 0
    suite, cases = suite_of("toy.xml")
    assert suite.attrib == {"name": "toy", "tests": "5", "failures": "1", "errors": "0", "skipped": "1"}
    assert list(cases) == ["busy [reno]", "busy [cubic]", "moon", "faster", "open"]
    assert {case.get("classname") for case in cases.values()} == {"toy"}
    failure = cases["faster"].find("failure")
    assert failure is not None
    assert (failure.get("type"), str(failure.get("message")).startswith("differs: 0.")) == ("differs", True)
    # Characters that XML cannot represent are shown as ?
    assert "claim: More than all of the link is used, <b>&</b> that ?[2J\nreported: 200 %" in str(failure.text)
    assert cases["moon"].find("skipped") is not None
    assert [child.tag for child in cases["open"]] == ["system-out"]
    assert vazao("run", "toy.toml", "--junit", "toy.xml", "--fail-on", "undecided").code == 1
    _, cases = suite_of("toy.xml")
    assert [name for name, case in cases.items() if case.find("failure") is not None] == ["open"]


def test_a_run_that_failed_is_an_error_of_the_suite(tmp_path: Path) -> None:
    cases = [
        ci.Case("run 1f", "error", "failed", "out of memory", "out of memory\nat 3 s"),
        ci.Case("run 2f"),
    ]
    ci.write(tmp_path / "x.xml", [("a", cases), ("b", [])])
    root = ElementTree.parse(tmp_path / "x.xml").getroot()
    assert (root.get("tests"), root.get("errors"), [suite.get("name") for suite in root]) == ("2", "1", ["a", "b"])
    (error,) = root.iter("error")
    assert (error.get("message"), error.text) == ("out of memory", "out of memory\nat 3 s")


def test_json_of_a_sweep_has_its_means_intervals_and_counts(vazao: Vazao, toy_text: str) -> None:
    scenario = toy_text.partition("[scenario]")[2].partition("[[part]]")[0].replace("scenario.", "")
    Path("one.toml").write_text(scenario)
    report = json.loads(
        vazao("run", "one.toml", "--vary", "flow.0.transport.cc=reno,cubic", "--seeds", "3", "--json").out
    )
    campaign = results.open_campaign("results/toy")
    assert (report["runs"], report["started"]) == (6, 6)
    for row in report["tables"]["means"]:
        own = campaign.flows.filter(pl.col("cc") == row["cc"])["goodput_bps"]
        assert (row["runs"], row["goodput_bps"]) == (3, pytest.approx(own.mean()))
        # Student's t for two degrees of freedom.
        half = 4.302652730 * float(own.std() or 0) / 3**0.5  # type: ignore[arg-type]
        assert row["± goodput_bps"] == pytest.approx(half)
