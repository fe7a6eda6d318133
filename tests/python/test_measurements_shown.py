"""Measurements that joined a study: stored with its results, drawn in its figures, listed in its report."""

from __future__ import annotations

import csv
import json
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from command import Vazao, caller
from measured import (
    HEAD,
    NAMED,
    copied,
    grid,
    joined as joined,
    named as named,
    own as own,
    rulings,
    stored as stored,
    study,
)
from vazao import figures, report
from vazao.errors import ResultsError, StudyError
from vazao.measurements import Measured, measurement_files
from vazao.results import Campaign, Study, merge, open_campaign, run_study

# Studies that name measurements, and directories that keep them


@pytest.mark.parametrize("file", ["../testbed.csv", "/etc/passwd", "a/b.csv", ".hidden", "", "a\\\\b", "a\\nb"])
def test_a_study_names_a_file_beside_it_and_nothing_else(file: str) -> None:
    with pytest.raises(StudyError, match=r"measurements\.0\.file: .* is no plain name"):
        study(HEAD + NAMED.replace("testbed.csv", file))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('name = "testbed"', 'name = "../x"', "is no name"),
        ("source", "sauce", "did you mean 'source'"),
        ('source = "Nobody, in 2026"\n', "", r"measurements\.0\.source: is missing"),
        ("[[measurements]]", "[measurements]", r"write \[\[measurements\]\]"),
    ],
)
def test_a_wrong_table_of_measurements_is_told(old: str, new: str, message: str) -> None:
    with pytest.raises(StudyError, match=message):
        study(HEAD + NAMED.replace(old, new))


def test_a_directory_keeps_them_wherever_it_is(stored: Campaign, named: Study, tmp_path: Path) -> None:
    done = run_study(named, out=copied(stored, tmp_path))
    (one,) = done.measurements
    assert (one.title, one.source, one.runs.height) == ("A testbed", "Nobody, in 2026", 12)
    (tmp_path / "testbed.csv").unlink()
    moved = done.directory.rename(tmp_path / "elsewhere")
    again = open_campaign(moved)
    assert [ruling.verdict for ruling in again.measurements[0].findings] == [r.verdict for r in one.findings]
    assert len(json.loads((moved / "measurements.json").read_text())[0]["findings"]) == len(one.findings)
    assert "own measurements" in (moved / "README.md").read_text()
    anew = run_study(again.study, out=tmp_path / "anew", jobs=1)
    assert [each.name for each in anew.measurements] == ["testbed"]


def test_a_study_that_no_longer_names_measurements_has_none(
    stored: Campaign, named: Study, own: Path, tmp_path: Path
) -> None:
    directory = run_study(named, out=copied(stored, tmp_path), measurements=[own]).directory
    assert [one.name for one in open_campaign(directory).measurements] == ["testbed", "own"]
    assert [one.name for one in run_study(stored.study, out=directory).measurements] == ["own"]
    (directory / "measurements/own.csv").unlink()
    assert run_study(stored.study, out=directory).measurements == []
    assert not (directory / "measurements.json").exists()


def test_a_file_that_changed_joins_anew(stored: Campaign, named: Study, tmp_path: Path) -> None:
    done = run_study(named, out=copied(stored, tmp_path))
    assert rulings(done.measurements[0])["faster", "reno"].verdict == "reproduced"
    (tmp_path / "testbed.csv").write_text(
        re.sub(",2.[01]$|,1.9$", ",0.1", "\n".join(grid()), flags=re.MULTILINE) + "\n"
    )
    again = run_study(named, out=done.directory)
    assert rulings(again.measurements[0])["faster", "reno"].verdict == "differs"


def test_two_sets_of_one_name_are_refused(named: Study, tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="measurements called 'testbed' are there already; rename the file"):
        run_study(named, out=tmp_path / "r", measurements=[tmp_path / "testbed.csv"])


def test_a_copy_that_leads_elsewhere_is_refused(stored: Campaign, own: Path, tmp_path: Path) -> None:
    directory = copied(stored, tmp_path)
    (directory / "measurements").mkdir()
    (directory / "measurements/own.csv").symlink_to(own)
    with pytest.raises(ResultsError, match="is a symbolic link"):
        _ = open_campaign(directory).measurements
    (directory / "measurements/own.csv").unlink()
    (directory / "measurements/own.csv").write_text("part,completion_s\nmoon,1\n")
    with pytest.raises(StudyError, match=r"'moon' is no part.*\nIt joined before; without .*own\.csv it is left out"):
        _ = open_campaign(directory).measurements


def test_merging_keeps_measurements(stored: Campaign, own: Path, tmp_path: Path) -> None:
    part = run_study(stored.study, out=copied(stored, tmp_path), measurements=[own]).directory
    merge([part, stored.directory], tmp_path / "whole")
    assert (tmp_path / "whole/measurements/own.csv").read_bytes() == own.read_bytes()
    other = shutil.copytree(part, tmp_path / "other")
    (other / "measurements/own.csv").write_text("\n".join(grid()) + "\n")
    with pytest.raises(ResultsError, match="is another set than that of this name"):
        merge([part, other], tmp_path / "both")


# Figures and pages


def filters(spec: Any) -> Iterator[str]:
    """Filters of a description's layers."""
    if isinstance(spec, dict):
        yield from (one["filter"] for one in spec.get("transform", []) if isinstance(one.get("filter"), str))
        for value in spec.values():
            yield from filters(value)
    elif isinstance(spec, list):
        for value in spec:
            yield from filters(value)


def test_figures_have_marks_with_a_name_and_an_interval(stored: Campaign, joined: Callable[..., Measured]) -> None:
    one = joined(*grid())
    drawn = figures.drawing(stored.study, stored.store, stored.study.figures[0], [one])
    rows = [row for row in drawn.datasets()["rows"] if row["measured_by"] == "mine"]
    assert len(rows) == 4
    assert all(row["low"] < row["t"] < row["high"] for row in rows)
    assert {row["setting"] for row in rows} == {"historic"}
    spec = drawn.with_data(drawn.spec(figures.Face.STILL))
    assert 'datum.measured_by === "mine"' in set(filters(spec))
    assert "datum.high > datum.low" in set(filters(spec))
    assert "measured: mine" in drawn.svg()
    assert "as the original reports it" in drawn.svg()
    assert figures.chart(stored.study, stored.store, "time", [one]).to_dict()


def test_a_figure_without_measurements_is_unchanged(stored: Campaign, joined: Callable[..., Measured]) -> None:
    one = joined(*grid())
    for figure, same in zip(stored.study.figures, (False, True), strict=True):
        before = figures.drawing(stored.study, stored.store, figure)
        after = figures.drawing(stored.study, stored.store, figure, [one])
        assert (
            before.with_data(before.spec(figures.Face.PAGE)) == after.with_data(after.spec(figures.Face.PAGE))
        ) is same
        assert (before.svg() == after.svg()) is same


def test_what_a_query_makes_of_nothing_is_not_drawn(stored: Campaign, joined: Callable[..., Measured]) -> None:
    figure = stored.study.figures[0].model_copy(
        update={
            "sql": "SELECT bandwidth_bps, variant, setting, count(*) FILTER (refill_s > 1) AS t FROM times GROUP BY ALL"
        }
    )
    assert figures.drawing(stored.study, stored.store, figure, [joined(*grid())]).rows.measured == {}


@pytest.mark.parametrize("kind", ["line", "step", "bar", "point", "box", "band", "area", "ecdf", "heat"])
def test_every_kind_of_figure_draws_them(kind: str, stored: Campaign, joined: Callable[..., Measured]) -> None:
    more = {"kind": kind} | ({"x": "t", "y": "share"} if kind == "ecdf" else {})
    if kind == "heat":
        more |= {"facet": None, "x_scale": "linear"}
    figure = stored.study.figures[0].model_copy(update=more | {"reported": []})
    drawn = figures.drawing(stored.study, stored.store, figure, [joined(*grid())])
    assert drawn.rows.measured["mine"].height >= 4
    assert ("mine: " if kind == "heat" else "measured: mine") in drawn.svg()


def test_several_sets_have_shapes_of_their_own(stored: Campaign, named: Study, own: Path, tmp_path: Path) -> None:
    sets = measurement_files.joined(named, tmp_path, [own])
    drawn = figures.drawing(stored.study, stored.store, stored.study.figures[0], sets)
    shapes = re.findall(r'"shape": "([a-z-]+)"', json.dumps(drawn.spec(figures.Face.STILL)))
    assert {"diamond", "square", "triangle-up"} == set(shapes)
    assert all(f"measured: {one.name}" in drawn.svg() for one in sets)


def test_the_report_has_them_beside_ours(stored: Campaign, named: Study, own: Path, tmp_path: Path) -> None:
    done = run_study(named, out=copied(stored, tmp_path), measurements=[own])
    report.write(done.study, done.store, done.findings, done.directory, done.measurements)
    page = (done.directory / "report.html").read_text()
    assert '<section id="measurements">' in page
    for text in (
        "A testbed",
        "Nobody, in 2026",
        "Squares: measured, testbed.",
        "Its file does not say it, and the study does: setting at historic.",
    ):
        assert text in page
    assert "It needs measurements of utilisation." in page
    ledger = page.partition('<section id="ledger">')[2]
    assert "measured: testbed" in ledger
    rows = list(csv.DictReader((done.directory / "ledger.csv").read_text().splitlines()))
    reno = next(row for row in rows if (row["finding"], row["level"]) == ("faster", "reno"))
    assert (reno["testbed_verdict"], reno["own_verdict"]) == ("reproduced", reno["verdict"])
    assert reno["own_measured"] == reno["measured"]
    assert "measured: testbed" in (done.directory / "ledger.tex").read_text()
    translated = report.html(
        done.in_language("pt").study, done.store, done.findings, done.in_language("pt").measurements
    )
    assert "Faltam medições de utilisation." in translated
    assert "Quadrados: medido, testbed." in translated


def test_a_report_without_measurements_does_not_mention_them(stored: Campaign, tmp_path: Path) -> None:
    report.write(stored.study, stored.store, stored.findings, tmp_path)
    assert "measurements" not in (tmp_path / "report.html").read_text().partition("<main")[2].partition("<script")[0]
    assert (tmp_path / "ledger.csv").read_text().startswith("finding,level,claim,reported,measured,verdict,criterion,")


def test_texts_of_a_set_are_texts_in_a_page(stored: Campaign, tmp_path: Path) -> None:
    text = HEAD + NAMED.replace("Nobody, in 2026", "<script>alert(1)</script>")
    (tmp_path / "testbed.csv").write_text("\n".join(grid()) + "\n")
    hostile = study(text, str(tmp_path / "bench.toml"))
    sets = measurement_files.joined(hostile, tmp_path / "nowhere")
    page = report.html(hostile, stored.store, stored.findings, sets)
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert" in page


# The command


@pytest.fixture
def vazao(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Vazao:
    monkeypatch.chdir(tmp_path)
    return caller(monkeypatch, capsys)


def test_the_command_joins_and_keeps_them(vazao: Vazao, stored: Campaign, own: Path, tmp_path: Path) -> None:
    copied(stored, tmp_path)
    Path("bench.toml").write_text(HEAD)
    Path("lab.csv").write_text("\n".join(grid()) + "\n")
    answer = vazao("run", "bench.toml", "--out", "copy", "--measurements", "lab.csv", "--measurements", str(own))
    assert answer.code == 0, answer.err
    assert "measured: lab: 12 runs, with completion_s." in answer.out
    assert "    lab     reproduced: 1.890 s" in answer.out
    shown = vazao("show", "copy")
    assert "It needs measurements of utilisation." in shown.out
    assert [one["name"] for one in json.loads(vazao("show", "copy", "--json").out)["measurements"]] == ["lab", "own"]
    found = json.loads(vazao("run", "bench.toml", "--out", "copy", "--json").out)["measurements"]
    assert [one["name"] for one in found] == ["lab", "own"]
    assert "It needs runs" not in vazao("show", "copy", "--lang", "pt").out
    assert vazao("run", "copy", "--out", "anew").code == 0
    assert {path.name for path in Path("anew/measurements").iterdir()} == {"lab.csv", "own.csv"}


def test_checking_a_study_reads_its_measurements(vazao: Vazao, named: Study) -> None:
    assert vazao("check", named.file).code == 0
    Path("testbed.csv").write_text("part,bandwidth,variant,completion_s\ngrid,1 Mbps,vegas,1\n")
    assert "testbed.csv:2: variant: 'vegas' is not a level" in vazao("check", named.file).err
    Path("testbed.csv").unlink()
    assert "testbed.csv: no such file" in vazao("check", named.file).err


@pytest.mark.parametrize("name", ["interop-loss", "all-theses"])
def test_only_a_study_takes_measurements(vazao: Vazao, name: str, own: Path) -> None:
    answer = vazao("run", name, "--measurements", str(own))
    assert (answer.code, "--measurements" in answer.err) == (2, True)
