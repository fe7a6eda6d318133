"""Captures of QUIC that tshark decrypts with the secrets in the file: it counts what the simulator counted."""

from collections import defaultdict
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl
import pytest

import vazao as vz
from test_capture import ERROR, INBOUND, OUTBOUND, read, stream_bytes
from tools import needs

pytestmark = [pytest.mark.process, needs("tshark")]

LISTS = [
    "quic.long.packet_type",
    "quic.packet_number",
    "quic.frame_type",
    "quic.ack.gap",
    "quic.ack.ack_range",
    "quic.stream.stream_id",
    "quic.stream.offset",
    "quic.stream.length",
    "quic.stream_data",
]
FIELDS = {
    "frame.packet_flags_direction": pl.String,
    "frame.protocols": pl.String,
    "ip.checksum.status": pl.String,
    "ip.dsfield.ecn": pl.String,
    "udp.checksum.status": pl.String,
    "quic.ack.largest_acknowledged": pl.String,
    "quic.ack.first_ack_range": pl.String,
    "tls.handshake.type": pl.String,
    "tls.alert_message": pl.String,
    "_ws.malformed": pl.String,
    "_ws.expert.severity": pl.String,
} | dict.fromkeys(LISTS, pl.String)
WARNING = str(0x00600000)
"""PI_WARN of Wireshark's epan/proto.h; higher values are more severe."""

RETRY = "3"
"""RFC 9000 section 17.2, table 5."""


def quic(capture: Path) -> pl.DataFrame:
    """Datagrams of a capture in which tshark finds nothing wrong."""
    table = read(capture, FIELDS)
    assert table["_ws.malformed"].null_count() == table.height
    assert set(table["ip.checksum.status"]) == set(table["udp.checksum.status"]) == {"1"}
    severities = table["_ws.expert.severity"].drop_nulls().str.split(",").explode().cast(pl.Int64)
    assert max(severities, default=0) < int(WARNING) < int(ERROR)
    # Everything but Retry could be decrypted: it has frames.
    bare = table.filter(pl.col("quic.frame_type").is_null())
    assert set(bare["quic.long.packet_type"]) <= {RETRY}
    return table.with_columns(pl.col(name).str.split(",").fill_null([]) for name in LISTS)


def numbers(cell: list[str]) -> list[int]:
    return [int(value) for value in cell]


def short(row: dict[str, Any]) -> list[int]:
    """Number of the 1-RTT packet in a datagram, which comes last, if it has one."""
    return numbers(row["quic.packet_number"])[len(row["quic.long.packet_type"]) :]


def data(table: pl.DataFrame) -> tuple[dict[int, bytes], int]:
    """Each stream reassembled from STREAM frames, and the total number of bytes in these frames."""
    pieces: dict[int, dict[tuple[int, int], bytes]] = defaultdict(dict)
    for row in table.iter_rows(named=True):
        kinds = [kind for kind in numbers(row["quic.frame_type"]) if kind & ~0x07 == 0x08]
        offsets, texts = iter(numbers(row["quic.stream.offset"])), iter(row["quic.stream_data"])
        ids, lengths = numbers(row["quic.stream.stream_id"]), numbers(row["quic.stream.length"])
        for kind, stream, length in zip(kinds, ids, lengths, strict=True):
            # RFC 9000 section 19.8: the OFF bit is set if there is an offset.
            offset = next(offsets) if kind & 0x04 else 0
            pieces[stream][offset, length] = bytes.fromhex(next(texts)) if length else b""
    streams = {stream: joined(parts) for stream, parts in pieces.items()}
    return streams, sum(len(part) for parts in pieces.values() for part in parts.values())


def joined(pieces: dict[tuple[int, int], bytes]) -> bytes:
    """Concatenates pieces by offset and length, and checks that they leave no gap."""
    whole = bytearray(max(offset + length for offset, length in pieces))
    filled = np.zeros(len(whole), dtype=bool)
    for (offset, length), piece in pieces.items():
        assert len(piece) == length
        whole[offset : offset + length] = piece
        filled[offset : offset + length] = True
    assert filled.all()
    return bytes(whole)


def acknowledged(row: dict[str, Any]) -> set[int]:
    """Packet numbers that an ACK frame acknowledges (RFC 9000 section 19.3.1)."""
    largest, first = int(row["quic.ack.largest_acknowledged"]), int(row["quic.ack.first_ack_range"])
    smallest = largest - first
    named = set(range(smallest, largest + 1))
    for gap, length in zip(numbers(row["quic.ack.gap"]), numbers(row["quic.ack.ack_range"]), strict=True):
        largest = smallest - gap - 2
        smallest = largest - length
        named |= set(range(smallest, largest + 1))
    return named


def losing() -> vz.Network:
    """Network that loses every twentieth packet, but no ServerHello, which tshark needs to decrypt what follows."""
    return vz.point_to_point(vz.link("10 Mbps", "20 ms", queue="30 packets", loss={"kind": "periodic", "every": 20}))


@pytest.mark.parametrize("handshake", ["1-rtt", "0-rtt", "0-rtt-rejected", "retry"])
@pytest.mark.parametrize("app", [vz.upload, vz.download])
def test_every_handshake_is_decrypted(
    handshake: Literal["1-rtt", "0-rtt", "0-rtt-rejected", "retry"], app: Callable[[str], vz.App], tmp_path: Path
) -> None:
    """Losses in both directions: every datagram is decrypted, and those that arrive complete the stream."""
    flow = vz.flow(app("400 kB"), vz.quic(cc="cubic", handshake=handshake))
    result = vz.run(losing(), [flow], pcap=tmp_path)
    row = result.flows.row(0, named=True)
    client, server = quic(tmp_path / "a.1.pcapng"), quic(tmp_path / "b.1.pcapng")
    sender, receiver = (client, server) if app is vz.upload else (server, client)
    sent = sender.filter(pl.col("frame.packet_flags_direction") == OUTBOUND)
    arrived = receiver.filter(pl.col("frame.packet_flags_direction") == INBOUND)
    assert sent.height == row["packets_sent"]
    # A repeated CONNECTION_CLOSE may still be in flight when both ends are done.
    assert 0 <= row["packets_sent"] - row["packets_lost"] - arrived.height <= 1
    assert row["packets_lost"] > 3
    streams, carried = data(sent)
    assert data(arrived)[0] == streams
    # Stream 0, and nothing back but its end.
    assert streams == {0: stream_bytes(0, row["app_bytes"])}
    assert carried > row["app_bytes"]

    # ClientHello and, without a resumed session, all of the server's messages: RFC 8446 section 4.
    messages = set(client["tls.handshake.type"].drop_nulls().str.split(",").explode())
    assert messages == ({"1", "2", "8", "20"} if handshake == "0-rtt" else {"1", "2", "8", "11", "15", "20"})
    kinds = set(chain.from_iterable(client["quic.long.packet_type"]))
    early = {"1"} if handshake.startswith("0-rtt") else set()
    assert kinds == {"0", "2"} | early | ({RETRY} if handshake == "retry" else set())


def test_large_windows_fit_their_fields(tmp_path: Path) -> None:
    """Windows of 1 GiB and more take eight bytes each (RFC 9000 section 16); the hellos are long enough for them."""
    windows = dict.fromkeys(["stream_window", "connection_window", "receive_buffer"], "2 GiB")
    flow = vz.flow(vz.upload("100 kB"), vz.quic(handshake="retry", ack_frequency=8, **windows))
    vz.run(losing(), [flow], pcap=tmp_path)
    receiver = quic(tmp_path / "b.1.pcapng")
    streams, _ = data(receiver.filter(pl.col("frame.packet_flags_direction") == INBOUND))
    assert streams == {0: stream_bytes(0, 100_000)}
    messages = set(receiver["tls.handshake.type"].drop_nulls().str.split(",").explode())
    assert messages == {"1", "2", "8", "11", "15", "20"}


def test_streams_take_turns_and_the_peer_is_asked_for_fewer_acknowledgements(tmp_path: Path) -> None:
    """Four client-initiated streams (RFC 9000 section 2.1), and ACK_FREQUENCY (0xaf) from both sides."""
    flow = vz.flow(vz.upload("400 kB"), vz.quic(streams=4, ack_frequency=8))
    vz.run(losing(), [flow], pcap=tmp_path)
    receiver = quic(tmp_path / "b.1.pcapng")
    streams, _ = data(receiver.filter(pl.col("frame.packet_flags_direction") == INBOUND))
    assert list(streams) == [0, 4, 8, 12]
    assert all(stream == stream_bytes(0, len(stream)) for stream in streams.values())
    assert sum(len(stream) for stream in streams.values()) == 400_000
    asked = receiver.filter(pl.col("quic.frame_type").list.contains(str(0xAF)))
    assert set(asked["frame.packet_flags_direction"]) == {INBOUND, OUTBOUND}


def test_acknowledgements_name_what_has_arrived(tmp_path: Path) -> None:
    """Acknowledged packets have all arrived, with gaps where losses were; packet numbers are never reused."""
    flow = vz.flow(vz.upload("1 MB"), vz.quic(cc="cubic"))
    result = vz.run(losing(), [flow], pcap=tmp_path)
    arrived: set[int] = set()
    gaps = 0
    for row in quic(tmp_path / "b.1.pcapng").iter_rows(named=True):
        if row["frame.packet_flags_direction"] == INBOUND:
            assert arrived.isdisjoint(short(row))
            arrived |= set(short(row))
        elif short(row) and not row["quic.long.packet_type"] and row["quic.ack.largest_acknowledged"] is not None:
            assert acknowledged(row) <= arrived
            gaps += len(row["quic.ack.gap"])
    # Losses are never adjacent here, and each is reported at least once.
    assert gaps >= result.flows["packets_lost"].item() > 30
    sent = quic(tmp_path / "a.1.pcapng").filter(pl.col("frame.packet_flags_direction") == OUTBOUND)
    order = [number for row in sent.iter_rows(named=True) for number in short(row)]
    assert order == sorted(set(order))


def test_marks_are_counted_for_the_sender(tmp_path: Path) -> None:
    """RFC 9000 section 13.4: packets arrive with CE where the queue marked them, and ACK frames report the counts."""
    net = vz.point_to_point(vz.link("10 Mbps", "20 ms", forward={"queue": {"kind": "codel", "ecn": True}}))
    result = vz.run(net, [vz.flow(vz.upload("5 MB"), vz.quic(cc="cubic", ecn=True))], pcap=tmp_path)
    receiver = quic(tmp_path / "b.1.pcapng")
    arrived = receiver.filter(pl.col("frame.packet_flags_direction") == INBOUND)
    marked = arrived.filter(pl.col("ip.dsfield.ecn") == "3").height
    assert marked == result.links.filter(pl.col("direction") == "forward")["marks"].item() > 0
    assert "3" in set(chain.from_iterable(receiver["quic.frame_type"]))


def test_equal_runs_give_equal_captures_and_others_other_keys(tmp_path: Path) -> None:
    flows = [vz.flow(vz.upload("20 kB"), vz.quic()) for _ in range(2)]
    for name, seed in [("one", 1), ("same", 1), ("other", 2)]:
        vz.run(losing(), flows, seed=seed, pcap=tmp_path / name)
    one, same, other = ((tmp_path / name / "a.1.pcapng").read_bytes() for name in ("one", "same", "other"))
    assert one == same
    assert one != other
    randoms = read(tmp_path / "one" / "a.1.pcapng", {"tls.handshake.random": pl.String}).drop_nulls()
    others = read(tmp_path / "other" / "a.1.pcapng", {"tls.handshake.random": pl.String}).drop_nulls()
    assert set(randoms.to_series()).isdisjoint(others.to_series())


REBOUND = [{"at": "0.2 s", "rebind": 1}]
READDRESSED = [{"at": "0.2 s", "rebind_address": 1}]
EITHER: list[tuple[vz.App, dict[str, Any]]] = [
    (vz.page(150, "3 kB", root="5 kB"), {}),
    (vz.page(20, "30 kB", priority="order"), {"handshake": "0-rtt"}),
    (vz.download("300 kB"), {"changes": REBOUND}),
    (vz.upload("300 kB"), {"changes": READDRESSED}),
    (vz.upload("300 kB"), {"certificate": "12 kB"}),
]
OURS: list[tuple[vz.App, dict[str, Any]]] = [
    (vz.upload("300 kB"), {"streams": 50, "max_streams": 60}),
    (vz.messages("3 kB", "10 ms", count=100), {"unreliable": True}),
    (vz.upload("300 kB"), {"ack_frequency": 10, "ecn": True}),
]
CASES = [(app, {**more, "stack": stack}) for stack in ("vazao", "quinn") for app, more in EITHER] + OURS


@pytest.mark.parametrize(("app", "transport"), CASES)
def test_tshark_finds_nothing_wrong(app: vz.App, transport: dict[str, Any], tmp_path: Path) -> None:
    """Nothing is malformed and every packet but Retry is decrypted, whatever happens to a connection."""
    result = vz.run(losing(), [vz.flow(app, vz.quic(**transport))], pcap=tmp_path)
    assert result.flows["completed"].item()
    assert all(quic(tmp_path / f"{host}.1.pcapng").height > 100 for host in "ab")


@pytest.mark.parametrize("size", [1, 10])
def test_paced_datagrams_leave_in_super_packets(size: int, tmp_path: Path) -> None:
    """BBR paces: datagrams leave one by one, or ten at an instant, as from a sender that uses UDP GSO."""
    (tmp_path / "paced.toml").write_text(
        'until = "10 s"\nnetwork = { topology = "point-to-point", '
        'link = { rate = "20 Mbps", delay = "20 ms", queue = "1 bdp" } }\n'
        '[[flow]]\napp = { kind = "upload" }\n'
        f'transport = {{ kind = "quic", cc = "bbr", super_packet = {size} }}\n'
    )
    vz.load(tmp_path / "paced.toml").run(pcap=tmp_path / "captures")
    packets = pl.concat(vz.packets(path) for path in (tmp_path / "captures").iterdir())
    full = packets.filter(pl.col("direction") == "sent", pl.col("packet_bytes") > 1400)
    together = full.group_by("time_s").len()
    assert together.filter(pl.col("len") == size)["len"].sum() > 0.9 * full.height
