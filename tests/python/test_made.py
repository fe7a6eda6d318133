"""Reopening a finished study: unchanged outputs are reused, and everything else is regenerated."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from command import Vazao, caller
from vazao.results import Study
from vazao.store import output_cache, product

pytestmark = pytest.mark.process

RESULTS = Path("results/toy")
FIGURES = [RESULTS / f"figures/utilisation.{suffix}" for suffix in ("svg", "png")]
MADE = (RESULTS / "findings.json", RESULTS / "report.html", *FIGURES)


@pytest.fixture
def vazao(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], toy_file: Path) -> Vazao:
    """Calls the command where a toy study has already been run."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("VAZAO_CACHE", str(tmp_path / "cache"))
    call = caller(monkeypatch, capsys)
    assert call("run", toy_file.name, "--jobs", "2").code == 0
    return call


def places() -> list[int]:
    """Modification times of the output files."""
    return [path.stat().st_mtime_ns for path in MADE]


def contents() -> list[bytes]:
    return [path.read_bytes() for path in MADE]


def test_unchanged_outputs_are_not_regenerated(vazao: Vazao) -> None:
    first = places()
    shown = [vazao("run", "toy.toml") for _ in range(2)]
    assert places() == first
    assert shown[0] == shown[1]
    assert "3 findings: 2 reproduced" in shown[0].out
    assert "10 runs in results/toy (0 simulated now); report: results/toy/report.html" in shown[0].out
    documents = [json.loads(vazao("run", "toy.toml", "--json").out) for _ in range(2)]
    assert documents[0] == documents[1]
    assert [each["id"] for each in documents[0]["findings"]] == ["busy", "busy", "moon"]


@pytest.mark.parametrize("path", MADE, ids=lambda path: path.name)
@pytest.mark.parametrize("damage", [Path.unlink, lambda path: path.write_bytes(path.read_bytes()[:-1] + b"?")])
def test_a_damaged_file_is_made_again(vazao: Vazao, path: Path, damage: Callable[[Path], None]) -> None:
    before = contents()
    damage(path)
    assert vazao("run", "toy.toml").code == 0
    assert contents() == before


def test_a_changed_program_regenerates_everything(vazao: Vazao, monkeypatch: pytest.MonkeyPatch) -> None:
    first = places()
    monkeypatch.setattr(output_cache, "program", lambda: ["another template"])
    vazao("run", "toy.toml")
    assert not set(places()) & set(first)


def test_the_program_is_every_file_and_library_of_it(tmp_path: Path) -> None:
    package = Path(output_cache.__file__).parents[1]
    own, *others = output_cache.program()
    assert own == output_cache.tree(package)
    assert {name.partition(" ")[0] for name in others} >= {"duckdb", "polars", "vl-convert-python"}
    copy = shutil.copytree(package / "report", tmp_path / "report", ignore=shutil.ignore_patterns("*.pyc"))
    assert output_cache.tree(copy) == output_cache.tree(package / "report")
    (copy / "report.html.j2").write_text((copy / "report.html.j2").read_text() + " ")
    assert output_cache.tree(copy) != output_cache.tree(package / "report")


@pytest.mark.parametrize(
    ("old", "new"),
    [("Utilisation", "How busy it is"), ("The link is never idle", "It is idle"), ("{mean:.2f}", "{mean:.1f}")],
)
def test_a_changed_study_is_reported_anew(vazao: Vazao, edited: Callable[[str, str], str], old: str, new: str) -> None:
    before = contents()
    Path("toy.toml").write_text(edited(old, new))
    assert "(0 simulated now)" in vazao("run", "toy.toml").out
    assert MADE[1].read_bytes() != before[1]
    Path("toy.toml").write_text(edited(old, old))
    vazao("run", "toy.toml")
    assert contents() == before


def test_additional_rows_are_reported_anew(vazao: Vazao) -> None:
    before = contents()
    assert "(10 simulated now)" in vazao("run", "toy.toml", "--full").out
    assert all(now != then for now, then in zip(contents()[1:3], before[1:3], strict=True))
    first = places()
    assert "(0 simulated now)" in vazao("run", "toy.toml", "--full").out
    assert places() == first


def test_lost_rows_are_simulated_again(vazao: Vazao) -> None:
    for part in RESULTS.glob("*/000001.parquet"):
        part.unlink()
    assert "(0 simulated now)" not in vazao("run", "toy.toml").out


def test_damaged_rows_are_refused(vazao: Vazao) -> None:
    flows = next((RESULTS / "flows").iterdir())
    flows.write_bytes(flows.read_bytes()[:-1] + b"?")
    answer = vazao("run", "toy.toml")
    assert answer.code == 2
    assert f"{flows}: is damaged" in answer.err


def test_a_report_that_is_asked_for_is_made(vazao: Vazao) -> None:
    first = places()
    vazao("report", str(RESULTS))
    assert not set(places()) & set(first)


def test_installing_a_kernel_invalidates_the_record(toy: Study, vazao: Vazao, monkeypatch: pytest.MonkeyPatch) -> None:
    without = product("campaign", toy, RESULTS)
    assert without == product("campaign", toy, RESULTS)
    assert without != product("report", toy, RESULTS)
    monkeypatch.setattr(output_cache, "available_stacks", lambda text, overrides: ["6.12"])
    assert without != product("campaign", toy, RESULTS)


def test_a_directory_does_not_vouch_for_itself(vazao: Vazao, monkeypatch: pytest.MonkeyPatch) -> None:
    """Untrusted results have no record in the cache: what they claim is recomputed from the rows."""
    before = contents()
    MADE[1].write_text("<script>")
    monkeypatch.setenv("VAZAO_CACHE", "another")
    vazao("run", "toy.toml")
    assert contents() == before


def test_without_a_place_for_records_all_is_made_each_time(vazao: Vazao, monkeypatch: pytest.MonkeyPatch) -> None:
    first = places()
    monkeypatch.setenv("VAZAO_CACHE", "/dev/null/nowhere")
    assert vazao("run", "toy.toml").code == 0
    assert not set(places()) & set(first)


def test_only_the_last_records_are_kept(toy: Study, vazao: Vazao, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output_cache, "MOST", 2)
    for kind in ("a", "b", "c"):
        product(kind, toy, RESULTS).note([MADE[0]])
    assert len(list(Path("cache/made").glob("*.json"))) == 2
    assert product("c", toy, RESULTS).is_there()
    assert not product("a", toy, RESULTS).is_there()
