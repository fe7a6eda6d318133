"""Recordings: each packet's route and header, compared with the same run's tables and captures, and with the links."""

from __future__ import annotations

import json
import struct
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from tools import needs
from vazao import _core, limits

pytestmark = pytest.mark.process

NETWORK = """
[network]
topology = "dumbbell"
pairs = 2
access = { rate = "100 Mbps", delay = "1 ms" }
bottleneck = { rate = "10 Mbps", delay = "10 ms", queue = "20 packets" }
"""

TRANSPORTS = {
    "tcp": '{ kind = "tcp", cc = "cubic" }',
    "linux": '{ kind = "tcp", like = "linux" }',
    "sctp": '{ kind = "sctp" }',
    "mptcp": '{ kind = "mptcp" }',
    "quic": '{ kind = "quic" }',
    "dccp": '{ kind = "dccp" }',
}


def scenario(transport: str, network: str = NETWORK) -> _core.Scenario:
    app = '{ kind = "upload", size = "1 MB" }'
    return _core.load(f'name = "recorded"\nuntil = "30 s"\n{network}\n[[flow]]\napp = {app}\ntransport = {transport}\n')


def read(content: bytes) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Header and sections of a recording (docs/recording.md)."""
    version, length = struct.unpack("<II", content[8:16])
    assert (content[:8], version) == (b"vazaorec", 1)
    header = json.loads(content[16 : 16 + length])
    kinds = {"f64": "<f8", "u32": "<u4", "u8": "u1"}
    sections = header["sections"].items()
    return header, {
        name: np.frombuffer(content, kinds[section["type"]], section["count"], section["at"])
        for name, section in sections
    }


def record(
    loaded: _core.Scenario, most: int = 1_000_000
) -> tuple[_core.Outcome, dict[str, Any], dict[str, np.ndarray]]:
    outcome = _core.run(loaded, recording=most)
    assert (outcome.failure, outcome.not_run) == (None, None)
    assert outcome.recording is not None
    return outcome, *read(outcome.recording)


def table(outcome: _core.Outcome, name: str) -> pl.DataFrame:
    return pl.DataFrame(outcome.table(name)).drop("wall_s", strict=False)


@pytest.mark.parametrize("name", TRANSPORTS)
def test_recording_a_run_changes_none_of_its_rows(name: str) -> None:
    loaded = scenario(TRANSPORTS[name])
    plain, recorded = _core.run(loaded), _core.run(loaded, recording=1000)
    assert plain.recording is None
    for rows in ("runs", "flows", "paths", "links"):
        assert table(plain, rows).equals(table(recorded, rows), null_equal=True), rows


@pytest.mark.parametrize("name", TRANSPORTS)
def test_every_packet_is_there_with_its_whole_way(name: str) -> None:
    outcome, header, columns = record(scenario(TRANSPORTS[name]))
    assert header["packets"]["kept"] == header["packets"]["all"] == len(columns["packet.time"])
    assert np.all(np.diff(columns["packet.time"]) >= 0)
    assert np.all(np.diff(columns["hop.time"]) >= 0)
    links = table(outcome, "links")
    for number, link in enumerate(header["links"]):
        row = links.filter((pl.col("link") == link["name"]) & (pl.col("direction") == link["direction"]))
        crossed = columns["hop.link"] == number
        dropped = (columns["packet.link"] == number) & (columns["packet.fate"] == 2)
        assert crossed.sum() == row["packets"][0], link
        assert dropped.sum() == row["drops_queue"][0], link
        # Packets on a link are spaced by at least their transmission time.
        sizes = columns["packet.size"][columns["hop.packet"][crossed]]
        sent = 8e9 * (sizes + 0.0) / link["rate_bps"]
        gaps = np.diff(columns["hop.time"][crossed])
        assert np.all(gaps >= sent[1:] - 1), "two packets share a link"
    arrived = columns["packet.fate"] == 1
    last = np.full(len(arrived), np.nan)
    last[columns["hop.packet"]] = columns["hop.time"]
    assert np.array_equal(last[arrived], columns["packet.gone"][arrived])


def test_retransmissions_and_drops_are_those_of_the_rows() -> None:
    outcome, header, columns = record(scenario(TRANSPORTS["tcp"]))
    flow = table(outcome, "flows").row(0, named=True)
    again = columns["packet.kind"] & 64 > 0
    assert again.sum() == flow["retransmissions"] > 0
    reasons = {header["reasons"][number] for number in columns["packet.reason"][again]}
    assert reasons <= {"fast recovery", "retransmission timeout", "tail loss probe"}
    ours = columns["packet.side"] == 0
    assert columns["packet.to"][ours & (columns["packet.kind"] & 1 > 0)].max() == 1_000_000
    assert np.nanmax(columns["packet.ack"][~ours]) in (1_000_000, 1_000_001), "the FIN takes a place"


def test_a_long_run_keeps_its_first_packets() -> None:
    _, header, columns = record(scenario(TRANSPORTS["tcp"]), most=100)
    assert (header["packets"]["kept"], len(columns["packet.time"])) == (100, 100)
    assert header["packets"]["all"] > 700
    assert columns["hop.packet"].max() == 99
    assert len(columns["packet.text"]) == len(columns["packet.sacks"]) == 101


def test_states_and_windows_are_series() -> None:
    _, header, columns = record(scenario(TRANSPORTS["tcp"]))
    assert header["states"][0] == "slow start"
    found = {series["measure"]: series for series in header["series"] if series.get("flow") == 0}
    assert {"cwnd", "flight", "srtt", "rtt", "state"} <= set(found)
    state = found["state"]
    values = columns["series.value"][state["start"] : state["start"] + state["count"]]
    assert (values[0], 2 in values) == (0, True), "it starts slowly, and recovers from the queue's drops"
    assert sum(series["count"] for series in header["series"]) == len(columns["series.time"])
    queues = [header["links"][series["link"]]["name"] for series in header["series"] if series["measure"] == "queue"]
    assert "bottleneck" in queues


def test_limits_are_a_series_in_order_of_time_and_named() -> None:
    """Spans of its samples sum to the columns of `flows`."""
    outcome, header, columns = record(scenario(TRANSPORTS["tcp"]))
    (measure,) = (measure for measure in header["measures"] if measure["name"] == "limit")
    assert measure["values"] == [name for limit, name in limits.WORDS.items() if limit != limits.PATH] + ["done"]
    (found,) = (series for series in header["series"] if series["measure"] == "limit")
    part = slice(found["start"], found["start"] + found["count"])
    times, values = columns["series.time"][part], columns["series.value"][part]
    assert (times[0], values[0]) == (header["flows"][0]["start_ns"], 0), "the handshake is first"
    assert (np.diff(times) >= 0).all()
    flow = table(outcome, "flows").row(0, named=True)
    spans = np.diff(times, append=header["end_ns"]) / 1e9
    for number, limit in enumerate(one for one in limits.WORDS if one != limits.PATH):
        assert spans[values == number].sum() == pytest.approx(flow[f"limited_{limit}_s"], abs=1e-9), limit


def test_copies_that_a_link_makes_are_packets_of_their_own() -> None:
    network = NETWORK.replace('queue = "20 packets"', 'queue = "20 packets", duplicate = 0.05')
    outcome, header, columns = record(scenario(TRANSPORTS["tcp"], network))
    copies = columns["packet.reason"] == header["reasons"].index("copy made by a link")
    forward = table(outcome, "links").filter(pl.col("direction") == "forward")
    crossed = dict(forward.select("link", "packets").iter_rows())
    assert (copies & (columns["packet.side"] == 0)).sum() == crossed["right1"] - crossed["bottleneck"] > 0


@needs("tshark")
def test_headers_are_those_that_tshark_reads(tmp_path: Path) -> None:
    loaded = scenario(TRANSPORTS["tcp"])
    assert _core.run(loaded, pcap=str(tmp_path)).failure is None
    _, header, columns = record(loaded)
    capture = tmp_path / f"{header['flows'][0]['client']}.1.pcapng"
    fields = ["frame.time_epoch", "tcp.seq", "tcp.ack", "tcp.len", "tcp.window_size", "tcp.options.sack_le", "ip.src"]
    command = ["tshark", "-r", str(capture), "-T", "fields", *(f"-e{field}" for field in fields)]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    client = lines[0].split("\t")[-1]
    theirs = [line.split("\t") for line in lines if line.split("\t")[-1] == client]
    ours = np.flatnonzero(columns["packet.side"] == 0)
    assert len(theirs) == len(ours) > 700
    for number, (_, sequence, ack, length, _, sacks, _) in zip(ours, theirs, strict=True):
        if int(length):
            # tshark counts the SYN as 0, so the stream's first byte is 1.
            assert columns["packet.from"][number] == int(sequence) - 1
            assert columns["packet.to"][number] == int(sequence) - 1 + int(length)
        if ack and number > 0:
            assert columns["packet.ack"][number] == max(int(ack) - 1, 0)
        blocks = columns["packet.sacks"][number + 1] - columns["packet.sacks"][number]
        assert blocks == len(sacks.split(",")) if sacks else blocks == 0
    answers = [line.split("\t") for line in lines if line.split("\t")[-1] != client]
    arrived = np.flatnonzero((columns["packet.side"] == 1) & (columns["packet.fate"] == 1))
    for number, (_, _, ack, _, window, sacks, _) in zip(arrived, answers, strict=True):
        assert columns["packet.ack"][number] == max(int(ack) - 1, 0)
        assert columns["packet.edge"][number] == max(int(ack) - 1, 0) + int(window)
        blocks = range(columns["packet.sacks"][number], columns["packet.sacks"][number + 1])
        assert [columns["sack.from"][block] for block in blocks] == [int(left) - 1 for left in sacks.split(",") if left]
