"""`vazao twin`: what is estimated from a capture is the path that it was taken on, which the twin does not know."""

from __future__ import annotations

import base64
import contextlib
import gzip
import json
import random
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vazao as vz
from command import vazao
from documents import ROOT, fenced
from guests import needs_kernel
from test_captures import thinned
from vazao import _core, captures, causes, twins
from vazao.twins.timeline import timeline

sys.path.insert(0, str(ROOT / "bench"))
import twins as bench

UPLOAD = 'kind = "upload", size = "4 MB"'


def captured(
    folder: Path,
    link: str,
    transport: str = 'cc = "cubic"',
    app: str = UPLOAD,
    **options: Any,
) -> tuple[dict[str, Any], Path, Path]:
    """Run one flow over one link: its row, and the captures at its client and its server."""
    file = folder / "one.toml"
    file.write_text(
        f'until = "120 s"\nnetwork = {{ topology = "point-to-point", link = {{ {link} }} }}\n'
        f'[[flow]]\napp = {{ {app} }}\ntransport = {{ kind = "tcp", like = "linux", {transport} }}\n'
    )
    flows = vz.load(file).run(pcap=folder / "pcap", **options).flows
    return flows.row(0, named=True), folder / "pcap/a.1.pcapng", folder / "pcap/b.1.pcapng"


PLAIN = 'rate = "20 Mbps", delay = "20 ms", queue = "1 bdp"'
"""Queue of 66 packets of 1500 bytes."""


@pytest.mark.parametrize("control", ["cubic", "reno", "bbr"])
@pytest.mark.parametrize("kind", ["upload", "download"])
def test_a_full_path_and_its_sender_are_found(tmp_path: Path, control: str, kind: str) -> None:
    truth, client, server = captured(tmp_path, PLAIN, f'cc = "{control}"', f'kind = "{kind}", size = "8 MB"')
    twin = vz.twin(client if kind == "upload" else server)
    assert twin.explains
    assert twin.control == control
    assert (twin.path.is_filled, twin.path.lost) == (True, ())
    assert twin.path.rate_bps == pytest.approx(20e6, rel=0.01)
    assert twin.path.delay_s == pytest.approx(20e-3, rel=0.01)
    assert twin.path.queue_bytes / 1500 == pytest.approx(66, rel=0.05)
    assert twin.fit.retransmissions[1] == truth["retransmissions"]
    assert twin.fit.completion == pytest.approx(1, abs=0.02)


def test_losses_that_no_queue_explains_are_random(tmp_path: Path) -> None:
    """Losses of one path, of which each is one of the wire; without them the twin's flow fills its path."""
    truth, client, _ = captured(tmp_path, PLAIN.replace("1 bdp", "400 packets") + ", forward.loss = 0.005")
    twin = vz.twin(client)
    assert twin.explains
    assert not twin.path.overflows
    assert len(twin.path.lost) == truth["retransmissions"]
    (tmp_path / "twin.toml").write_text(twin.text)
    answer = vz.why(vz.load(tmp_path / "twin.toml"), seeds=1)
    assert answer.steps[0].removed == {"random loss"}


def test_a_window_is_found(tmp_path: Path) -> None:
    """60 kB over 40 ms are 12 of 20 Mbit/s."""
    _, client, _ = captured(tmp_path, PLAIN, 'cc = "cubic", receive_buffer = "60 kB"')
    twin = vz.twin(client)
    assert twin.explains
    assert twin.ends.window == 60_000
    assert not twin.path.is_filled
    assert twin.path.rate_bps == pytest.approx(20e6, rel=0.03)
    assert any("whether the path is faster" in line for line in twin.unknown)


def test_the_receivers_capture_will_do(tmp_path: Path) -> None:
    _, _, server = captured(tmp_path, PLAIN)
    twin = vz.twin(server)
    assert twin.explains
    assert twin.path.rate_bps == pytest.approx(20e6, rel=0.02)
    assert twin.path.delay_s == pytest.approx(20e-3, rel=0.02)
    assert any("the receiver does not see" in line for line in twin.unknown)


def test_cut_packets_tell_the_same(tmp_path: Path) -> None:
    texts = []
    for name, options in {"whole": {}, "cut": {"snap": 96}}.items():
        (tmp_path / name).mkdir()
        _, client, _ = captured(tmp_path / name, PLAIN, **options)
        texts.append(vz.twin(client).text)
    assert texts[0] == texts[1]


def test_a_hundredth_of_the_packets_may_be_missing(tmp_path: Path) -> None:
    _, client, _ = captured(tmp_path, PLAIN)
    whole, less = vz.twin(client), vz.twin(thinned(client, 0.01)[0])
    assert less.explains
    assert less.control == whole.control
    assert less.path.rate_bps == pytest.approx(whole.path.rate_bps, rel=0.01)
    assert less.path.queue_bytes == pytest.approx(whole.path.queue_bytes, rel=0.05)


PAUSES = 'kind = "on-off", rate = "8 Mbps", on = "1 s", off = "1 s", duration = "10 s"'
SLOWED = 'rate = [{ at = "0 s", rate = "20 Mbps" }, { at = "1 s", rate = "2 Mbps" }], delay = "20 ms"'
OTHERS = {"an application that pauses": (PLAIN, PAUSES), "a path that changes": (SLOWED, UPLOAD)}


@pytest.mark.parametrize("what", OTHERS)
def test_a_twin_that_does_not_fit_says_so(tmp_path: Path, what: str) -> None:
    """Neither is anything that a twin can be."""
    link, app = OTHERS[what]
    _, client, _ = captured(tmp_path, link, app=app)
    twin = vz.twin(client)
    assert not twin.explains
    assert tomllib.loads(twin.text)["name"] == "twin that does not explain connection 0 of a.1.pcapng"
    assert twin.sentence.startswith("The twin does not explain connection 0: ")
    said = vazao("twin", client, "--out", tmp_path / "twin.toml")
    assert said.code == 0
    assert "nothing follows from it" in " ".join(said.out.split())
    answer = vz.why(vz.load(tmp_path / "twin.toml"), seeds=1, most=2)
    assert causes.sentence(answer).startswith("This is a twin that does not explain connection 0 of")


STEADY = [case for case in map(bench.case, range(100)) if not case.jitter_s and case.size < 8e6]


@needs_kernel
@pytest.mark.parametrize("case", STEADY[:6], ids=lambda case: case.number)
def test_a_guests_path_is_found(case: bench.Case) -> None:
    """The first small cases without jitter of those that `python bench/twins.py` counts."""
    outcome = bench.measured(case, "sender")
    assert outcome.explains
    assert case.control in outcome.fits
    assert outcome.rtt == pytest.approx(1, abs=0.02)
    if outcome.is_filled:
        assert outcome.rate == pytest.approx(1, abs=0.03)


def test_a_recording_of_a_run_and_of_its_capture_are_one(tmp_path: Path) -> None:
    """The search compares a run as it looks at one end with a capture that was taken there."""
    _, client, server = captured(tmp_path, PLAIN + ", forward.loss = 0.01")
    run = _core.run(vz.load(tmp_path / "one.toml").scenario, recording=twins.estimation.MOST).recording
    assert run is not None
    for at, capture in enumerate((client, server)):
        ours, theirs = timeline(run, 0, at), timeline(captures.record(capture, flow=0).content, 0)
        for field in ("sent_s", "start", "end", "number", "acked_s", "acked", "delivered"):
            np.testing.assert_allclose(getattr(ours, field), getattr(theirs, field), atol=2e-9, err_msg=field)
        assert len(ours.sent_s) > 2000


def test_the_command_writes_a_scenario_that_runs(tmp_path: Path) -> None:
    _, client, _ = captured(tmp_path, PLAIN)
    out = tmp_path / "twin.toml"
    said = vazao("twin", client, "--out", out)
    assert said.code == 0
    assert "The twin explains connection 0" in said.out
    assert "Queue 6" in said.out
    assert vazao("check", out).code == 0
    document = json.loads(vazao("twin", client, "--json").out)
    assert document["scenario"] == out.read_text()
    assert (document["explains"], document["control"]) == (True, "cubic")


def test_a_page_lays_it_over_the_connection(tmp_path: Path) -> None:
    """Both are drawn as they pass the same place: with the same data, and nearly as many packets."""
    _, client, _ = captured(tmp_path, PLAIN)
    said = vazao("twin", client, "--html", tmp_path / "twin.html")
    assert said.code == 0, said.err
    texts = re.findall(r"data-recording data-name=\"(.*?)\">(.*?)<", (tmp_path / "twin.html").read_text())
    assert [name for name, _ in texts] == [client.name, "twin"]
    ours, theirs = (timeline(gzip.decompress(base64.b64decode(text)), 0) for _, text in texts)
    assert ours.size == theirs.size
    assert len(ours.sent_s) == pytest.approx(len(theirs.sent_s), rel=0.02)


def test_a_name_of_a_file_is_no_key(tmp_path: Path) -> None:
    _, client, _ = captured(tmp_path, PLAIN)
    strange = client.rename(client.with_name('x"\nuntil = "1 s"\n#.pcapng'))
    read = tomllib.loads(vz.twin(strange).text)
    assert (read["until"], len(read["flow"])) == ("1 h", 1)


def test_a_hostile_capture_is_a_message_or_a_twin(tmp_path: Path) -> None:
    _, client, _ = captured(tmp_path, PLAIN, app='kind = "upload", size = "100 kB"')
    good, draws, hostile = client.read_bytes(), random.Random(5), tmp_path / "hostile.pcapng"
    for _ in range(60):
        bad = bytearray(good)
        for _ in range(draws.choice([1, 10, 100, 1000])):
            bad[draws.randrange(200, len(bad))] = draws.randrange(256)
        hostile.write_bytes(bad)
        with contextlib.suppress(vz.ScenarioError):
            assert tomllib.loads(vz.twin(hostile).text)["flow"]


def test_what_has_no_twin_is_refused_in_words(tmp_path: Path) -> None:
    _, client, _ = captured(tmp_path, PLAIN, app='kind = "upload", size = "10 kB"')
    for arguments, message in {
        (): "connection 0: 7 segments with data are too few for a twin (10)",
        ("--flow", "1"): "no connection 1 (`vazao read --all` lists what there is)",
    }.items():
        said = vazao("twin", client, *arguments)
        assert (said.code, said.err) == (2, f"error: {client}: {message}\n")
    (tmp_path / "text.pcap").write_text("no capture")
    assert "neither a pcap nor a pcapng file" in vazao("twin", tmp_path / "text.pcap").err


def test_the_tutorial_shows_the_twin_that_is_made(tmp_path: Path) -> None:
    shown = {block.comment("saved as"): block.text for block in fenced(ROOT / "docs/tutorials/customer.md")}
    (tmp_path / "line.toml").write_text(shown["line.toml"])
    vz.load(tmp_path / "line.toml").run(pcap=tmp_path)
    assert tomllib.loads(vz.twin(tmp_path / "a.1.pcapng").text) == tomllib.loads(shown["twin.toml"])
