"""Re-running stored runs from what is stored: after a move, with own algorithms, bit-identical."""

from __future__ import annotations

import json
import math
import re
import shlex
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import polars as pl
import pytest

from command import Vazao, caller
from vazao import _core, results, store
from vazao.execution import missing as execution
from vazao.execution.rows import Rows, rows_of
from vazao.results import campaign, single, verification
from vazao.store import version
from vazao.study import Study

pytestmark = pytest.mark.process

SCENARIO = """
name = "wan"
[network]
topology = "point-to-point"
link = { rate = "10 Mbps", delay = "5 ms", queue = "20 packets", loss = 0.02 }
[[flow]]
app = { kind = "upload", size = "50 kB" }
transport = { kind = "tcp", cc = "cubic" }
"""

MINE = """
import pathlib
import vazao as vz

pathlib.Path("was-here").touch()


class Cautious(vz.CongestionControl):
    def on_ack(self, ack):
        self.cwnd += ack.acked_bytes / 4
"""


@pytest.fixture
def vazao(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Vazao:
    monkeypatch.chdir(tmp_path)
    Path("wan.toml").write_text(SCENARIO)
    return caller(monkeypatch, capsys)


def first_run(directory: str, where: str = "true") -> str:
    return str(store.Store(directory).query(f"SELECT run_id FROM runs WHERE {where} LIMIT 1")["run_id"][0])


def test_a_moved_directory_is_reproduced_as_its_readme_says(vazao: Vazao, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs every command of "Do it again", with an own algorithm whose original file is gone."""
    Path("mine.py").write_text(MINE)
    asked = ("--vary", "flow.0.transport.cc=cubic,mine.py:Cautious", "--set", "network.link.loss=0.03", "--seed", "7")
    assert vazao("run", "wan.toml", *asked, "--seeds", "2", "--allow-programs", "--out", "there").code == 0
    Path("mine.py").unlink()
    Path("was-here").unlink()
    Path("elsewhere").mkdir()
    moved = Path("there").rename("elsewhere/moved")
    run_id = first_run(str(moved), "cc <> 'cubic'")
    monkeypatch.chdir(moved)
    text = Path("README.md").read_text()
    assert "`mine.py`" in text
    lines = [
        line.partition("#")[0]
        for line in re.split(r"```(?:sh)?\n", text.partition("## Do it again")[2])[1].splitlines()
    ]
    commands = [shlex.split(line.replace("RUN_ID", run_id))[1:] for line in lines]
    assert [command[0] for command in commands] == ["verify", "run", "run"]
    for command in commands:
        refused = vazao(*command)
        assert refused.code == 2
        assert re.search(r"mine\.py.*inputs/[0-9a-f]{64}", refused.err)
        assert not Path("was-here").exists()
        done = vazao(*command, "--allow-programs")
        assert done.code == 0, done.err
        Path("was-here").unlink(missing_ok=True)
    assert vazao("verify", "../again", "--allow-programs").out.startswith(
        "4 of 4 runs are the same to the bit (engine "
    )
    for name in ("flows", "paths", "links", "scenarios"):
        assert store.Store(".").read(name).equals(store.Store("../again").read(name)), name
    assert results.open_campaign(".").runs.drop("wall_s").equals(results.open_campaign("../again").runs.drop("wall_s"))


def test_a_single_run_is_run_again_with_its_changes_and_trace(vazao: Vazao) -> None:
    asked = ("--set", "network.link.loss=0.05", "--seed", "9", "--trace", "cwnd,rtt", "--out", "one")
    assert vazao("run", "wan.toml", *asked).code == 0
    Path("wan.toml").unlink()
    Path("one").rename("two")
    run_id = first_run("two")
    for name in ("two", f"two/{run_id}", f"two/{run_id[:6]}"):
        done = vazao("run", name)
        assert (done.code, f"run {run_id} of two: the same to the bit" in done.out) == (0, True), done.err
    report = json.loads(vazao("run", "two", "--json").out)
    assert (report["again"]["same"], report["run"]["run_id"], len(report["samples"]) > 10) == (True, run_id, True)
    traced = vazao("run", "two", "--trace", "queue", "--pcap", "captures")
    assert "the same to the bit" in traced.out
    assert {path.name for path in Path("captures").iterdir()} == {"a.1.pcapng", "b.1.pcapng"}
    assert vazao("verify", "two").out.startswith("1 of 1 runs are the same to the bit")
    assert f"vazao run ./{run_id}" in Path("two/README.md").read_text()
    (Path("two") / single.SCENARIO).unlink()
    assert vazao("verify", "two").out.startswith("1 of 1 runs are the same to the bit")


def test_a_run_is_opened_from_its_own_row_alone(toy: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the plan nor another run's scenario is read, however many there are, and no other batch of rows."""
    for seed in (1, 2, 3):
        campaign.run_study(toy.changed([], seed), size="quick", out=tmp_path / "r")
    assert len(store.Store(tmp_path / "r").batches()) >= 3
    run_id, read = first_run(str(tmp_path / "r")), []
    given = verification.from_json
    monkeypatch.setattr(verification, "from_json", lambda text, **more: read.append(text) or given(text, **more))
    monkeypatch.setattr(_core, "load", lambda *_, **__: pytest.fail("a scenario is read from the study"))
    label, scenario = results.stored_scenario(tmp_path / "r", run_id, lambda *_: pytest.fail("nothing is asked"))
    assert (scenario.run_id, scenario.json, label.endswith("seed 3")) == (run_id, read[0], True)
    stored = results.stored_runs(tmp_path / "r", [run_id[:8]])
    assert (len(read), stored.points[0].run_id, len(stored.store.batches())) == (1, run_id, 1)
    assert stored.store.of_runs("scenarios", [run_id])["scenario"].to_list() == read


def one_bit(ended: Any) -> Rows:
    """Rows in which the first flow's goodput is off by one unit in the last place."""
    rows = rows_of(ended)
    flows = rows.tables["flows"]
    nearly = [math.nextafter(flows["goodput_bps"][0], math.inf), *flows["goodput_bps"][1:]]
    return Rows({**rows.tables, "flows": flows.with_columns(goodput_bps=pl.Series(nearly))}, rows.samples)


def test_a_difference_of_one_bit_is_found_and_the_engines_are_named(
    vazao: Vazao, toy: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as before:
        before.setattr(execution, "rows_of", one_bit)
        before.setattr(campaign, "versions", lambda: version.versions() | {"engine": "0.0.1"})
        campaign.run_study(toy, size="quick", jobs=1, out=tmp_path / "r")
    stored = store.Store("r").query("SELECT run_id, goodput_bps FROM flows")
    done = vazao("verify", "r", "--junit", "verified.xml")
    assert done.code == 1
    there = f"(engine {_core.ENGINE_VERSION} here, 0.0.1 there)"
    lines = done.out.splitlines()
    assert re.fullmatch(r"\d of 8 runs are the same to the bit " + re.escape(there), lines[0])
    assert re.search(r"[0-9a-f]{16} \(.*seed \d+\): flows\.goodput_bps is [\d.]+ now \([\d.]+ there\)", lines[1])
    suite = ElementTree.parse("verified.xml").getroot()[0]
    same = int(lines[0][0])
    assert (suite.get("tests"), suite.get("failures")) == ("8", str(8 - same))
    report = json.loads(vazao("verify", "r", "--json").out)
    assert (report["engine"], report["stored_engine"], report["same"]) == (_core.ENGINE_VERSION, "0.0.1", same)
    (first, *_) = report["differing"]
    (found,) = first["differences"]
    assert (found["table"], found["column"], found["rows"]) == ("flows", "goodput_bps", 1)
    assert math.nextafter(found["now"], math.inf) == found["stored"]
    assert found["stored"] in stored.filter(run_id=first["run_id"])["goodput_bps"].to_list()
    alone = vazao("run", f"r/{first['run_id']}")
    assert alone.code == 1
    assert there in alone.out


@pytest.mark.parametrize(
    ("stored", "now", "found"),
    [
        ([0.0], [-0.0], ["x"]),
        ([math.nan], [math.nan], []),
        ([None], [0.0], ["x"]),
        ([None], [None], []),
        ([1.0, 2.0], [1.0], ["rows"]),
        (["a", None], ["a", "None"], ["x"]),
        ([2**63 - 1], [2**63 - 2], ["x"]),
        ([True], [False], ["x"]),
    ],
)
def test_what_differs_in_any_bit_is_a_difference(stored: list[Any], now: list[Any], found: list[str]) -> None:
    kind = pl.Float64 if all(value is None or isinstance(value, float) for value in [*stored, *now]) else None
    frames = [
        pl.DataFrame({"run_id": [name] * len(each), "x": pl.Series(each, dtype=kind)})
        for name, each in (("a", stored), ("b", now))
    ]
    assert [one.column for one in verification.compared("flows", *frames)] == found


def test_what_cannot_be_run_again_is_said(vazao: Vazao, toy: Study, tmp_path: Path) -> None:
    done = campaign.run_study(toy, size="full", out=tmp_path / "r")
    run_id = done.runs["run_id"][0]
    none = vazao("run", "r/ffff0000ffff0000")
    assert (none.code, "has no run 'ffff0000ffff0000'; `vazao sql r" in none.err) == (2, True), none.err
    for more in (("--set", "seed=1"), ("--seed", "3"), ("--out", "x"), ("--shard", "1/2"), ("--seeds", "3")):
        assert f"r/{run_id}: is a stored run; leave --set," in vazao("run", f"r/{run_id}", *more).err
    assert "r: holds results of a study as it is; leave --set," in vazao("run", "r", "--seed", "3").err
    campaign.run_study(toy.changed([("network.bottleneck.delay", "6 ms")]), size="full", out=tmp_path / "r")
    assert f"run {run_id} is stored, but the study does not have it any more" in vazao("verify", "r", run_id).err


def test_a_directory_can_be_continued_by_its_name(vazao: Vazao, toy_file: Path) -> None:
    assert vazao("run", str(toy_file), "--shard", "1/2", "--out", "r").code == 0
    half = store.Store("r").stored.height
    done = vazao("run", "r")
    assert f"({8 - half} simulated now)" in done.out
    assert vazao("verify", "r").out.startswith("8 of 8 runs are the same to the bit")
