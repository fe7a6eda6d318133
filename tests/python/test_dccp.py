"""DCCP from the user's side: in Python, in captures, in competition with TCP."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

import vazao as vz
from tools import needs


def dumbbell() -> vz.Network:
    return vz.dumbbell(bottleneck=vz.link("8 Mbps", "20 ms"), access=vz.link("100 Mbps", "1 ms"), pairs=2)


@needs("tshark")
def test_tshark_reads_every_packet(tmp_path: Path) -> None:
    """tshark's dissector checks the header, the options and the checksum independently."""
    net = vz.point_to_point(vz.link("8 Mbps", "20 ms", loss=0.02))
    vz.run(net, [vz.flow(vz.upload("500 kB"), vz.dccp(ecn=True))], seed=3, pcap=tmp_path)
    file = next(iter(sorted(tmp_path.glob("*.pcapng"))))
    options = ("-o", "dccp.check_checksum:TRUE", "-o", "dccp.relative_sequence_numbers:TRUE")
    fields = ("-e", "dccp.type", "-e", "dccp.checksum.status", "-e", "_ws.malformed")
    ran = subprocess.run(
        ["tshark", "-r", str(file), *options, "-T", "fields", *fields], capture_output=True, text=True, check=True
    )
    rows = [line.split("\t") for line in ran.stdout.splitlines()]
    assert {row[1] for row in rows} == {"1"}, "checksums are good"
    assert {row[2] for row in rows} == {""}
    assert [int(row[0], 0) for row in rows][:3] == [0, 1, 3], "Request, Response, Ack"
    assert [int(row[0], 0) for row in rows][-2:] == [6, 7], "Close, Reset"


def test_two_connections_share_a_bottleneck() -> None:
    """Two equal flows share a link for a minute, with windows like Reno's: nearly equal shares, nearly all of it."""
    flows = [vz.flow(vz.upload(), vz.dccp()) for _ in range(2)]
    result = vz.run(dumbbell(), flows, seed=1, until="60 s")
    run = result.runs.row(0, named=True)
    assert run["jain"] > 0.95
    assert run["utilisation"] > 0.9


def test_messages_are_measured_until_they_are_whole() -> None:
    """A message of three datagrams over an empty link takes half a round trip plus its transmission time."""
    net = vz.point_to_point(vz.link("8 Mbps", "20 ms"))
    flow = vz.flow(vz.cbr("240 kbps", message="3 kB", duration="10 s"), vz.dccp(payload=1000))
    row = vz.run(net, [flow], seed=1).flows.row(0, named=True)
    # 3 kB and three headers of 16 or 24 + 20 bytes at 8 Mbit/s.
    assert row["message_latency_p95_s"] == pytest.approx(0.020 + 3 * 1040 * 8 / 8e6, rel=0.02)
    assert row["completed"]


@pytest.mark.parametrize("app", [vz.requests(count=3), vz.page(objects=3)], ids=["requests", "page"])
def test_a_dialogue_is_refused_by_name(app: vz.App) -> None:
    with pytest.raises(vz.ScenarioError, match="needs a reliable stream"):
        vz.run(dumbbell(), [vz.flow(app, vz.dccp())], seed=1)


def test_lost_packets_count_as_sent() -> None:
    """Packets of the handshake, the close and acknowledgements may be lost, too, and count as sent."""
    net = vz.point_to_point(vz.link("8 Mbps", "20 ms", loss=0.4))
    row = vz.run(net, [vz.flow(vz.upload("20 kB"), vz.dccp())], seed=2).flows.row(0, named=True)
    assert 0 < row["packets_lost"] < row["packets_sent"]
