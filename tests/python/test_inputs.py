"""Files that scenarios name: a changed file makes a different run, and copies are kept with the results."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

import pytest

from command import Vazao, caller
from vazao.errors import ResultsError
from vazao.results import campaign, load_study
from vazao.scenario import load
from vazao.store import Store

pytestmark = pytest.mark.process

STUDY = """
[study]
name = "traced"
title = "Over a recorded link"
[scenario]
name = "traced"
[scenario.network]
topology = "point-to-point"
link = { rate = { trace = "uplink.trace" }, delay = "5 ms" }
[[scenario.flow]]
app = { kind = "upload", size = "100 kB" }
[[part]]
name = "main"
replications = { quick = 1, full = 2 }
[[part.factor]]
name = "delay"
sets = "network.link.delay"
levels = ["5 ms", "10 ms"]
"""
SLOW, FAST = "4\n8\n12\n", "1\n2\n3\n"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Folder with a study and a scenario, and the trace that both use."""
    folder = tmp_path / "here"
    folder.mkdir()
    (folder / "traced.toml").write_text(STUDY)
    (folder / "one.toml").write_text(STUDY.partition("[scenario]")[2].partition("[[part]]")[0].replace("scenario.", ""))
    (folder / "uplink.trace").write_text(SLOW)
    monkeypatch.chdir(tmp_path)
    return folder


@pytest.fixture
def vazao(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Vazao:
    return caller(monkeypatch, capsys)


def test_changed_content_is_a_different_run(here: Path) -> None:
    def loaded() -> tuple[str, list[tuple[str, Path, str]]]:
        scenario = load((here / "one.toml").read_text(), file=str(here / "one.toml"))
        return scenario.run_id, scenario.inputs

    slow, inputs = loaded()
    assert inputs == [("uplink.trace", here / "uplink.trace", hashlib.sha256(SLOW.encode()).hexdigest())]
    (here / "uplink.trace").write_text(FAST)
    assert loaded()[0] != slow
    (here / "uplink.trace").write_text(SLOW)
    assert loaded()[0] == slow


def test_a_changed_trace_is_refused_by_its_name_where_there_is_one_run(here: Path, vazao: Vazao) -> None:
    again = ("run", str(here / "one.toml"), "--out", "r")
    assert vazao(*again).code == 0
    before = {path: path.read_bytes() for path in Path("r").rglob("*.parquet")}
    (here / "uplink.trace").write_text(FAST)
    answer = vazao(*again)
    assert answer.code == 2
    assert "holds results of another input uplink.trace (sha256 " in answer.err
    assert {path: path.read_bytes() for path in Path("r").rglob("*.parquet")} == before
    (here / "uplink.trace").write_text(SLOW)
    assert vazao(*again).code == 0


@pytest.mark.parametrize("size", ["--quick", "--full"])
def test_a_study_with_a_changed_trace_runs_anew_and_says_why(size: str, here: Path, vazao: Vazao) -> None:
    again = ("run", str(here / "traced.toml"), "--out", "r", size)
    assert vazao(*again).code == 0
    slow = Store("r").read("flows")
    (here / "uplink.trace").write_text(FAST)
    answer = vazao(*again)
    assert answer.code == 0
    assert f"{slow.height} network.link.0.forward.rate" in answer.err, answer.err
    fast = Store("r").read("flows")
    assert set(fast["run_id"]).isdisjoint(slow["run_id"])
    (here / "uplink.trace").write_text(SLOW)
    assert "(0 simulated now)" in vazao(*again).out
    assert Store("r").read("flows").equals(slow)


@pytest.mark.parametrize("name", ["traced.toml", "one.toml"])
def test_inputs_are_kept_and_results_continue_from_the_copies(
    name: str, here: Path, tmp_path: Path, vazao: Vazao
) -> None:
    assert vazao("run", str(here / name), "--out", "r").code == 0
    digest = hashlib.sha256(SLOW.encode()).hexdigest()
    assert json.loads(Path("r/manifest.json").read_text())["inputs"] == {"uplink.trace": digest}
    assert Path("r/inputs", digest).read_text() == SLOW
    # Only the description and the results are copied to the other machine.
    (tmp_path / "there").mkdir()
    shutil.copy(here / name, tmp_path / "there")
    shutil.move("r", tmp_path / "there")
    shutil.rmtree(here)
    full = ["--full"] if name == "traced.toml" else []
    assert vazao("run", f"there/{name}", "--out", "there/r", *full).code == 0
    assert vazao("run", f"there/{name}", "--out", "there/other").code == 2
    if full:
        assert Store("there/r").read("runs").height == 4
        assert vazao("report", "there/r").code == 0
        assert vazao("run", "there/r/study.toml", "--out", "there/r").code == 0


def test_a_manifest_leads_to_no_other_file(here: Path) -> None:
    done = campaign.run_study(load_study(here / "traced.toml"), out="r")
    manifest = json.loads(Path("r/manifest.json").read_text())
    for elsewhere in ("../../here/uplink.trace", str(here / "uplink.trace"), "0" * 64):
        manifest["inputs"] = {"uplink.trace": elsewhere}
        Path("r/manifest.json").write_text(json.dumps(manifest))
        assert campaign.open_campaign("r").study.inputs == {}
    assert done.study.inputs == {}
    (copy,) = Path("r/inputs").iterdir()
    manifest["inputs"] = {"uplink.trace": copy.name}
    Path("r/manifest.json").write_text(json.dumps(manifest))
    copy.unlink()
    copy.symlink_to("/dev/zero")
    with pytest.raises(ResultsError, match="inputs"):
        campaign.open_campaign("r")


def test_parts_of_another_study_are_refused(here: Path, vazao: Vazao) -> None:
    campaign.run_study(load_study(here / "traced.toml"), out="r")
    (here / "other.toml").write_text(STUDY.replace('name = "traced"', 'name = "other"'))
    campaign.run_study(load_study(here / "other.toml"), out="other")
    for part in Path("other").glob("*/*.parquet"):
        shutil.copy(part, Path("r", part.parent.name, "000777.parquet"))
    for command in (("show", "r"), ("run", str(here / "traced.toml"), "--out", "r"), ("report", "r")):
        answer = vazao(*command)
        assert answer.code == 2, (command, answer.out)
        assert "000777.parquet: is of another study" in answer.err
    for part in Path("r").glob("*/000777.parquet"):
        part.unlink()
    assert vazao("show", "r").code == 0


def test_duplicate_parts_are_refused(here: Path, vazao: Vazao) -> None:
    campaign.run_study(load_study(here / "traced.toml"), out="r")
    for part in Path("r").glob("*/000001.parquet"):
        shutil.copy(part, part.with_name("000777.parquet"))
    answer = vazao("show", "r")
    assert answer.code == 2
    assert "r/runs: " in answer.err
    assert "of 4 rows are there twice" in answer.err


def test_parts_of_quick_belong_to_full(here: Path) -> None:
    study = load_study(here / "traced.toml")
    campaign.run_study(study, out="r")
    assert campaign.run_study(study, size="full", out="r").runs.height == 4
