"""`vazao view`: pages from scenarios and stored runs, and input that it refuses."""

from __future__ import annotations

import base64
import gzip
import json
import re
from pathlib import Path

import pytest

import vazao as vz
from command import vazao
from vazao import _core, scenario, seeing
from vazao.errors import ResultsError
from vazao.seeing import page

TWO = """
name = "two <b>flows</b>"
until = "2 s"
[network]
topology = "dumbbell"
access = { rate = "100 Mbps", delay = "1 ms" }
bottleneck = { rate = "10 Mbps", delay = "10 ms", queue = "20 packets" }
[[flow]]
app = { kind = "upload" }
"""

STUDY = """
[study]
name = "seen"
title = "Seen"
[scenario]
name = "one"
[scenario.network]
topology = "multipath"
path = [{ rate = "8 Mbps", delay = "10 ms" }]
[[scenario.flow]]
app = { kind = "upload", size = "100 kB" }
[[part]]
name = "all"
replications = 2
[[part.factor]]
name = "cc"
sets = "flow.0.transport.cc"
levels = ["reno", "cubic"]
"""


pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(not seeing.is_built(), reason="the viewer is not built; make web"),
]


@pytest.fixture
def two(tmp_path: Path) -> Path:
    path = tmp_path / "two.toml"
    path.write_text(TWO)
    return path


def recordings(text: str) -> list[tuple[str, bytes]]:
    """Recordings in a page: names and contents."""
    found = re.findall(r'data-recording data-name="([^"]*)">([^<]*)<', text)
    return [(name, gzip.decompress(base64.b64decode(content))) for name, content in found]


def test_a_page_holds_the_recording_of_its_run(two: Path, tmp_path: Path) -> None:
    answer = vazao("view", two, "--html", tmp_path / "two.html", "--json")
    assert answer.code == 0, answer.err
    document = json.loads(answer.out)
    loaded = scenario.load(TWO)
    assert document == {"page": str(tmp_path / "two.html"), "runs": [loaded.run_id]}
    text = (tmp_path / "two.html").read_text()
    assert recordings(text) == [("two &lt;b&gt;flows&lt;/b&gt;", seeing.record(loaded).content)]
    assert "<b>" not in text
    assert not re.search("@[A-Z_]+@", re.sub("<script.*</script>", "", text, flags=re.DOTALL))


def test_runs_are_drawn_over_each_other(two: Path, tmp_path: Path) -> None:
    command = ("view", two, "--beside", "flow.0.transport.cc=reno", "--html", tmp_path / "two.html")
    assert vazao(*command).code == 0
    names = [name for name, _ in recordings((tmp_path / "two.html").read_text())]
    assert names == ["two &lt;b&gt;flows&lt;/b&gt;", "flow.0.transport.cc=reno"]


def test_own_algorithms_run_once_they_are_allowed(two: Path, tmp_path: Path) -> None:
    body = "    def on_ack(self, ack):\n        self.cwnd += 100\n"
    (tmp_path / "mine.py").write_text(f"import vazao as vz\n\n\nclass Mine(vz.CongestionControl):\n{body}")
    command = ("view", two, "--set", "flow.0.transport.cc=mine.py:Mine", "--html", tmp_path / "two.html")
    refused = vazao(*command)
    assert (refused.code, "--allow-programs" in refused.err) == (2, True)
    allowed = vazao(*command, "--allow-programs")
    assert allowed.code == 0, allowed.err


def test_a_stored_run_is_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("seen.toml").write_text(STUDY)
    assert vazao("run", "seen.toml", "--out", "there").code == 0
    runs = vz.Store("there").read("runs").sort("cc", "replication")
    run_id = runs["run_id"][-1]
    answer = vazao("view", f"there/{run_id}", "--html", "one.html", "--json")
    assert answer.code == 0, answer.err
    ((name, content),) = recordings(Path("one.html").read_text())
    assert (name, run_id.encode() in content) == ("cc reno, seed 2", True)
    answer = vazao("view", "there/ffffffffffffffff", "--html", "no.html")
    assert (answer.code, "has no run 'ffffffffffffffff'" in answer.err) == (2, True)
    answer = vazao("view", f"there/{run_id}", "--seed", "3")
    assert (answer.code, "leave --set, --beside and --seed out" in answer.err) == (2, True)
    answer = vazao("view", "seen.toml")
    assert (answer.code, "is a study" in answer.err) == (2, True)
    assert not Path("no.html").exists()


def test_a_long_run_is_cut_to_what_a_page_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    recording = seeing.record(scenario.load(TWO))
    ((_, whole),) = recordings(whole_page := seeing.view([recording]).text)
    assert whole == recording.content
    most = 100_000
    monkeypatch.setattr(page, "LARGEST", most)
    ((_, content),) = recordings(text := seeing.view([recording]).text)
    assert len(whole_page) - len(text) > 0
    assert len(re.findall(r">([^<]*)</script>", text)[0]) <= most
    assert 0 < len(content) < len(recording.content)


def test_without_the_bundle_the_message_says_what_builds_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(page, "FOLDER", tmp_path)
    with pytest.raises(ResultsError, match="make web"):
        seeing.view([seeing.record(scenario.load(TWO))])


def test_a_run_that_fails_is_an_error_with_its_scenario() -> None:
    guests = TWO + 'transport = { stack = "linux", kernel = "9.9" }\n'
    with pytest.raises(_core.ScenarioError, match="kernel"):
        seeing.record(scenario.load(guests))


def test_a_result_shows_itself(tmp_path: Path) -> None:
    net = vz.point_to_point(vz.link("8 Mbps", "10 ms"))
    result = vz.run(net, [vz.flow(vz.upload("100 kB"))])
    shown = result.view()
    assert repr(shown).startswith("Page(")
    ((_, content),) = recordings(shown.save(tmp_path / "run.html").read_text())
    assert content == seeing.record(result.scenario).content
    frame = shown._repr_html_()
    assert 'sandbox="allow-scripts allow-downloads allow-forms"' in frame
    assert "<script" not in frame, "the page is an attribute's text"


@pytest.mark.skipif(not seeing.can_rerun(), reason="the engine for pages is not built; make wasm")
def test_shared_parts_of_reports_are_compressed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    packed = []
    compress = gzip.compress

    def counted(content: bytes, **how: int) -> bytes:
        packed.append(len(content))
        return compress(content, **how)

    page.packed_file.cache_clear()
    monkeypatch.setattr(gzip, "compress", counted)
    first, second = seeing.again({"runs": 1}), seeing.again({"runs": 2})
    # The engine, the viewer, and the data of each page.
    assert len(packed) == 4
    assert first.elements.partition("data-again")[0] == second.elements.partition("data-again")[0]
