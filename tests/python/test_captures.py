"""`vazao read`: captures of runs, whose truth is known, of the kernel, and of strangers."""

from __future__ import annotations

import contextlib
import gzip
import json
import random
import shutil
import struct
import subprocess
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import vazao as vz
from command import vazao
from guests import needs_kernel
from tools import needs
from vazao import _core, captures

ENHANCED_PACKET = 6
"""Type of pcapng's block of a packet."""

FAR = '{ rate = "1 Gbps", delay = "1 ms" }'


def scenario(seed: int, wire: str = "", transport: str = "", size: str = "2 MB", queue: str = "2 bdp") -> str:
    """One upload of TCP over a path of 20 Mbit/s and 44 ms."""
    narrow = f'{{ rate = "20 Mbps", delay = "20 ms", queue = "{queue}"{wire} }}'
    return f"""
seed = {seed}
network = {{ topology = "path", link = [{FAR}, {narrow}, {FAR}] }}
[[flow]]
app = {{ kind = "upload", size = "{size}" }}
transport = {{ kind = "tcp"{transport} }}
"""


def run(folder: Path, text: str, **options: Any) -> tuple[dict[str, Any], dict[str, Path]]:
    """Run a scenario; its flow's row, and the captures at its ends by name."""
    file = folder / "scenario.toml"
    file.write_text(text)
    result = vz.load(file).run(pcap=folder / "pcap", **options)
    return result.flows.row(0, named=True), {path.name[0]: path for path in (folder / "pcap").glob("[ab].*")}


def told(path: Path) -> dict[str, Any]:
    """The row of a capture's only connection."""
    (row,) = vz.read(path).connections.iter_rows(named=True)
    return row


def overtaken(sender: Path, receiver: Path) -> int:
    """Segments that arrive after one that was sent later, counted from both captures; lost ones are left out."""
    ends = [pl.DataFrame(_core.packets(str(path))).filter(pl.col("length") > 0) for path in (sender, receiver)]
    sent, received = (
        end.with_columns(copy=pl.int_range(pl.len()).over("sequence"), copies=pl.len().over("sequence")) for end in ends
    )
    sent = sent.with_row_index("place").select("sequence", "copy", "copies", "place")
    places = received.join(sent, on=["sequence", "copy", "copies"], maintain_order="left")["place"]
    return int((places < places.cum_max()).sum())


WIRES = {
    "a plain path": "",
    "random loss": ", loss = 0.01",
    "much loss": ", loss = 0.04",
    "late packets": ', reorder = { probability = 0.02, delay = "8 ms" }',
    "copies": ", duplicate = 0.02",
    "all of it": ", loss = 0.01, duplicate = 0.01",
}


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("seed", [1, 2])
def test_counts_are_those_of_the_run(tmp_path: Path, wire: str, seed: int) -> None:
    truth, at = run(tmp_path, scenario(seed, WIRES[wire]))
    here, there = told(at["a"]), told(at["b"])
    assert (here["seen_from"], there["seen_from"]) == ("sender", "receiver")
    assert [row["app_bytes"] for row in (here, there)] == [truth["app_bytes"]] * 2
    assert [row["ending"] for row in (here, there)] == ["closed"] * 2
    # Where the sender is, everything that it sends again passes, and whatever the receiver reports arrives.
    assert here["retransmissions"] == truth["retransmissions"]
    assert here["spurious_retransmissions"] == truth["spurious_retransmissions"]
    assert (here["reordered"], here["unseen_packets"]) == (0, 0)
    # Where the receiver is, reordering and copies are seen, and not what was sent again and lost again.
    copies = "duplicate" in WIRES[wire]
    assert copies or there["reordered"] == overtaken(at["a"], at["b"])
    # The run counts what was sent again in vain among them.
    assert there["duplicates"] == (truth["duplicates"] if copies else 0)
    assert there["retransmissions"] <= truth["retransmissions"]
    # 44 ms, and the time that a small packet takes on the links.
    assert [row["rtt_min_s"] for row in (here, there)] == pytest.approx([0.04404] * 2, rel=0.02)
    if "late" in wire:
        assert there["reordered"] > 10


def shares(truth: dict[str, Any]) -> dict[str, float]:
    """Times by limit as the sender itself accounts for them, by the names that a capture has."""
    names = {"slow_start": "congestion_window", "avoidance": "congestion_window"}
    spent: dict[str, float] = {}
    for column, time in truth.items():
        if column.startswith("limited_") and time:
            limit = column.removeprefix("limited_").removesuffix("_s")
            spent[names.get(limit, limit)] = spent.get(names.get(limit, limit), 0.0) + time
    return spent


LIMITS = {
    "the path": scenario(1, queue="1 bdp", size="5 MB"),
    "the receive window": scenario(1, transport=', receive_buffer = "40 kB"', size="3 MB"),
    "the receive window and a queue": scenario(1, transport=', receive_buffer = "200 kB"', size="5 MB", queue="4 bdp"),
    "losses": scenario(1, ", loss = 0.01", size="3 MB"),
    "an application": scenario(1).replace(
        'kind = "upload", size = "2 MB"', 'kind = "cbr", rate = "1 Mbps", size = "500 kB"'
    ),
}


@pytest.mark.parametrize("case", LIMITS)
def test_limits_are_the_senders_own(tmp_path: Path, case: str) -> None:
    truth, at = run(tmp_path, LIMITS[case])
    own = shares(truth)
    for place, path in at.items():
        row = told(path)
        seen = {limit: row[f"limited_{limit}_s"] for limit in captures.LIMITS}
        # The handshake is half over where the receiver is.
        wrong = sum(abs(seen[limit] - own.get(limit, 0.0)) for limit in seen if limit != "handshake") / 2
        assert wrong <= 0.05 * truth["life_s"] + 0.1, (place, seen, own)


KERNEL = {
    "losses": (", loss = 0.01", ""),
    "copies and losses": (", loss = 0.005, duplicate = 0.02", ""),
    "late packets": (', reorder = { probability = 0.02, delay = "8 ms" }', ""),
    "a window": ("", ', receive_buffer = "60 kB"'),
}


@needs_kernel
@pytest.mark.parametrize("case", KERNEL)
def test_the_kernel_counts_the_same(tmp_path: Path, case: str) -> None:
    wire, more = KERNEL[case]
    truth, at = run(tmp_path, scenario(1, wire, f', stack = "linux"{more}', size="3 MB"))
    here, there = told(at["a"]), told(at["b"])
    assert here["retransmissions"] == truth["retransmissions"]
    assert [row["app_bytes"] for row in (here, there)] == [3_000_000] * 2
    assert there["reordered"] == (overtaken(at["a"], at["b"]) if case != "copies and losses" else 0)
    # Linux's own account (tcp_info), in ticks of 10 ms; it begins with the first segment that waits.
    for row in (here, there):
        assert row["limited_receive_window_s"] == pytest.approx(truth["rwnd_limited_s"] or 0.0, abs=0.05)


@needs("tshark")
@pytest.mark.parametrize("wire", ["much loss", "late packets"])
def test_tshark_counts_the_same(tmp_path: Path, wire: str) -> None:
    _, at = run(tmp_path, scenario(3, WIRES[wire]))
    for path in at.values():
        row = told(path)
        fields = ["tcp.analysis.ack_rtt", "tcp.len", "frame.len"]
        asked = ["tshark", "-r", str(path), "-T", "fields", *(part for field in fields for part in ("-e", field))]
        lines = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.splitlines()
        assert len(lines) == row["packets"]
    lines = subprocess.run(
        ["tshark", "-r", str(at["a"]), "-Y", "tcp.analysis.retransmission || tcp.analysis.fast_retransmission"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    # tshark takes for out of order what follows another segment within 3 ms.
    assert len(lines) <= told(at["a"])["retransmissions"] <= len(lines) * 1.5 + 3


def test_formats_and_cuts_change_nothing(tmp_path: Path) -> None:
    _, at = run(tmp_path, scenario(1, WIRES["all of it"]))
    whole = vz.read(at["b"])
    packed = tmp_path / "packed.pcapng.gz"
    packed.write_bytes(gzip.compress(at["b"].read_bytes()))
    assert vz.read(packed).connections.equals(whole.connections)
    _, cut = run(tmp_path, scenario(1, WIRES["all of it"]), snap=96)
    short = vz.read(cut["b"])
    assert short.connections.equals(whole.connections)
    assert short.facts["cut_packets"] > 1000 > whole.facts["cut_packets"]
    if shutil.which("editcap"):
        older = tmp_path / "older.pcap"
        subprocess.run(["editcap", "-F", "nsecpcap", str(at["b"]), str(older)], check=True)
        assert vz.read(older).connections.equals(whole.connections)


def thinned(path: Path, share: float) -> tuple[Path, int]:
    """The pcapng file without a share of its packets, at random, and how many are gone."""
    content, draws, at, gone, kept = path.read_bytes(), random.Random(1), 0, 0, []
    while at < len(content):
        kind, length = struct.unpack_from("<II", content, at)
        is_gone = kind == ENHANCED_PACKET and draws.random() < share
        kept += [] if is_gone else [content[at : at + length]]
        at, gone = at + length, gone + is_gone
    less = path.with_name(f"less-{path.name}")
    less.write_bytes(b"".join(kept))
    return less, gone


@pytest.mark.parametrize("case", ["the path", "the receive window", "losses"])
def test_a_hundredth_of_the_packets_may_be_missing(tmp_path: Path, case: str) -> None:
    """Packets that a capture lacks are no losses: counts and limits stay those that the sender knows of itself."""
    truth, at = run(tmp_path, LIMITS[case])
    own = shares(truth)
    for path in at.values():
        less, gone = thinned(path, 0.01)
        row = told(less)
        assert 0.3 * gone < row["unseen_packets"] <= gone
        assert any("not captured" in remark for remark in vz.read(less).remarks)
        assert row["app_bytes"] == truth["app_bytes"]
        assert row["goodput_bps"] == pytest.approx(told(path)["goodput_bps"], rel=0.01)
        assert row["rtt_min_s"] == pytest.approx(told(path)["rtt_min_s"], rel=0.02)
        # Of what was sent again some is missing itself.
        assert 0.95 * truth["retransmissions"] - 3 <= row["retransmissions"] <= truth["retransmissions"]
        seen = {limit: row[f"limited_{limit}_s"] for limit in captures.LIMITS}
        wrong = sum(abs(seen[limit] - own.get(limit, 0.0)) for limit in seen if limit != "handshake") / 2
        assert wrong <= 0.05 * truth["life_s"] + 0.1


def damaged(good: bytes, draws: random.Random) -> bytearray:
    """A file's beginning with up to 19 of its bytes replaced."""
    bad = bytearray(good[: draws.randrange(len(good))])
    for _ in range(draws.randrange(20)):
        if bad:
            bad[draws.randrange(len(bad))] = draws.randrange(256)
    return bad


def test_hostile_files_are_a_message_or_an_answer(tmp_path: Path) -> None:
    _, at = run(tmp_path, scenario(1, WIRES["all of it"], size="50 kB"))
    good = at["b"].read_bytes()
    draws = random.Random(7)
    hostile = tmp_path / "hostile.pcapng"
    for _ in range(300):
        hostile.write_bytes(damaged(good, draws))
        with contextlib.suppress(vz.ScenarioError):
            read = vz.read(hostile)
            assert read.connections.height <= read.facts["packets"]
    for bad, says in [(b"", "neither"), (b"name = 1", "neither"), (gzip.compress(good)[:-20], "damaged")]:
        hostile.write_bytes(bad)
        done = vazao("read", hostile)
        assert (done.code, says in done.out + done.err) == (0 if says == "damaged" else 2, True)
    done = vazao("read", tmp_path)
    assert (done.code, "directory" in done.err.lower()) == (2, True)


def test_the_command_tells_and_writes_json(tmp_path: Path) -> None:
    truth, at = run(tmp_path, LIMITS["the receive window"])
    shown = vazao("read", at["a"]).out
    assert "connections: 1 of tcp" in shown
    assert "% receive window" in shown
    document = json.loads(vazao("read", at["a"], at["b"], "--json").out)
    assert [one["file"] for one in document["captures"]] == [str(at["a"]), str(at["b"])]
    row = document["connections"][0]
    assert row["app_bytes"] == truth["app_bytes"]
    assert max(row["limits"], key=row["limits"].get) == "receive_window"
