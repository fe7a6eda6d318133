"""Captures analysed by tshark, which is independent: it finds no fault and counts what the simulator counted."""

import subprocess
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import vazao as vz
from tools import needs

pytestmark = [pytest.mark.process, needs("tshark")]

PREFERENCES = [
    "ip.check_checksum:TRUE",
    "tcp.check_checksum:TRUE",
    "udp.check_checksum:TRUE",
    "tcp.relative_sequence_numbers:FALSE",
    "mptcp.analyze_mptcp:TRUE",
    "nameres.network_name:FALSE",
]
FIELDS = {
    "tcp.stream": pl.Int64,
    "frame.packet_flags_direction": pl.String,
    "ip.checksum.status": pl.String,
    "tcp.checksum.status": pl.String,
    "tcp.seq_raw": pl.Int64,
    "tcp.ack_raw": pl.Int64,
    "tcp.len": pl.Int64,
    "tcp.flags.syn": pl.String,
    "tcp.flags.fin": pl.String,
    "tcp.options.mss_val": pl.Int64,
    "tcp.options.wscale.shift": pl.Int64,
    "tcp.options.sack_perm": pl.String,
    "tcp.options.timestamp.tsval": pl.Int64,
    "tcp.options.sack_le": pl.String,
    "tcp.options.sack_re": pl.String,
    "tcp.analysis.retransmission": pl.String,
    "tcp.analysis.fast_retransmission": pl.String,
    "tcp.analysis.spurious_retransmission": pl.String,
    "tcp.analysis.out_of_order": pl.String,
    "tcp.payload": pl.String,
    "_ws.malformed": pl.String,
    "_ws.expert.severity": pl.String,
}
INBOUND, OUTBOUND = "0x00000001", "0x00000002"
ERROR = str(0x00800000)


def read(capture: Path, fields: Mapping[str, pl.DataType | type[pl.DataType]] = FIELDS) -> pl.DataFrame:
    """Packets of a capture, one row each, as tshark dissects and analyses them."""
    command = ["tshark", "-r", str(capture), "-T", "fields", "-E", "separator=;", "-E", "occurrence=a"]
    for preference in PREFERENCES:
        command += ["-o", preference]
    for field in fields:
        command += ["-e", field]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    rows = [[value or None for value in line.split(";")] for line in lines]
    table = pl.DataFrame(rows, schema=dict.fromkeys(fields, pl.String), orient="row")
    return table.with_columns(pl.col(name).cast(kind) for name, kind in fields.items())


def stream_bytes(offset: int, length: int) -> bytes:
    """Bytes that applications send: SplitMix64 from seed 0 (Steele, Lea and Flood 2014), little-endian."""
    first = offset // 8
    index = np.arange(first + 1, (offset + length) // 8 + 2, dtype=np.uint64)
    z = index * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return z.astype("<u8").tobytes()[offset - 8 * first :][:length]


def lossy(loss: float = 0) -> vz.Network:
    access = vz.link("100 Mbps", "2 ms")
    return vz.dumbbell(access=access, bottleneck=vz.link("10 Mbps", "20 ms", queue="30 packets", loss=loss), pairs=2)


RECOVERIES = ["tahoe-no-fast-retransmit", "tahoe", "reno", "newreno", "pipe", "sack", "rack"]
CONTROLS = ["reno", "vegas", "westwood", "scalable", "highspeed", "bic", "cubic"]


def check_nothing_wrong(packets: pl.DataFrame) -> None:
    assert packets["_ws.malformed"].null_count() == packets.height
    # 1: good.
    assert set(packets["ip.checksum.status"]) == {"1"}
    assert set(packets["tcp.checksum.status"]) == {"1"}
    severities = packets["_ws.expert.severity"].drop_nulls().str.split(",").explode()
    assert ERROR not in set(severities)


def resent(packets: pl.DataFrame) -> int:
    """Number of segments that tshark considers sent before, SYNs aside.

    It calls most of them retransmissions, subdivided into fast and spurious. One that leaves within a round trip after
    a later segment it takes for reordered by the network; in the sender's own capture, where packets are in the order
    in which they were sent, such a segment is a retransmission.
    """
    again = pl.any_horizontal(pl.col(name).is_not_null() for name in FIELDS if name.startswith("tcp.analysis."))
    own = (pl.col("frame.packet_flags_direction") == OUTBOUND) & (pl.col("tcp.flags.syn") == "0")
    return packets.filter(again & own).height


def check_flow(result: vz.Result, flow: int, sender: pl.DataFrame, receiver: pl.DataFrame) -> None:
    """Checks the flow's row against both captures, each of which contains only this flow."""
    row = result.flows.row(flow, named=True)
    sent = sender.filter(pl.col("frame.packet_flags_direction") == OUTBOUND)
    arrived = receiver.filter(pl.col("frame.packet_flags_direction") == INBOUND)
    assert resent(sender) == row["retransmissions"]
    assert sent.height == row["packets_sent"]
    assert arrived.height == row["packets_sent"] - row["packets_lost"]
    initial = sent["tcp.seq_raw"][0]
    whole = bytearray(row["app_bytes"])
    filled = np.zeros(row["app_bytes"], dtype=bool)
    for sequence, payload in arrived.filter(pl.col("tcp.len") > 0).select("tcp.seq_raw", "tcp.payload").iter_rows():
        data, offset = bytes.fromhex(payload.replace(":", "")), (sequence - initial - 1) % 2**32
        whole[offset : offset + len(data)] = data
        filled[offset : offset + len(data)] = True
    assert filled.all()
    assert bytes(whole) == stream_bytes(0, row["app_bytes"])


@pytest.mark.parametrize("recovery", RECOVERIES)
def test_every_recovery_resends_what_it_says(recovery: str, tmp_path: Path) -> None:
    flow = vz.flow(vz.upload("400 kB"), vz.tcp(cc="reno", recovery=recovery))
    result = vz.run(lossy(loss=0.02), [flow], seed=2, pcap=tmp_path)
    sender, receiver = read(tmp_path / "left1.1.pcapng"), read(tmp_path / "right1.1.pcapng")
    check_nothing_wrong(sender)
    check_nothing_wrong(receiver)
    assert result.flows["retransmissions"].item() > 5
    check_flow(result, 0, sender, receiver)


@pytest.mark.parametrize("control", CONTROLS)
def test_every_control_in_company(control: str, tmp_path: Path) -> None:
    """Two flows of one host share its interface; the queue and the link lose packets, in both directions."""
    upload = vz.flow(vz.upload("500 kB"), vz.tcp(cc=control), client="left1", server="right1")
    download = vz.flow(
        vz.download("300 kB"), vz.tcp(cc=control, mss=536, timestamps=False), client="left1", server="right1"
    )
    result = vz.run(lossy(loss=0.01), [upload, download], seed=5, pcap=tmp_path)
    left, right = read(tmp_path / "left1.1.pcapng"), read(tmp_path / "right1.1.pcapng")
    check_nothing_wrong(left)
    check_nothing_wrong(right)
    for flow, (sender, receiver) in enumerate([(left, right), (right, left)]):
        of_flow = pl.col("tcp.stream") == flow
        check_flow(result, flow, sender.filter(of_flow), receiver.filter(of_flow))


def test_syns_carry_the_options_of_the_scenario(tmp_path: Path) -> None:
    options = ["mss_val", "wscale.shift", "sack_perm", "timestamp.tsval"]
    cases = {
        "default": (vz.tcp(), [1460, True, True, True]),
        "plain": (vz.tcp(sack=False, timestamps=False, mss=1000, receive_buffer="1 MB"), [1000, True, False, False]),
    }
    for name, (transport, expected) in cases.items():
        vz.run(lossy(), [vz.flow(vz.upload("10 kB"), transport)], pcap=tmp_path / name)
        syns = read(tmp_path / name / "left1.1.pcapng").filter(pl.col("tcp.flags.syn") == "1")
        assert syns.height == 2
        for syn in syns.select(f"tcp.options.{option}" for option in options).iter_rows():
            assert [syn[0], *(value is not None for value in syn[1:])] == expected


def test_sack_blocks_tell_what_has_arrived(tmp_path: Path) -> None:
    """Each block covers bytes that arrived, and none already acknowledged except in D-SACK's first block."""
    vz.run(lossy(loss=0.03), [vz.flow(vz.upload("400 kB"), vz.tcp(cc="reno"))], seed=3, pcap=tmp_path)
    packets = read(tmp_path / "right1.1.pcapng")
    arrived: set[tuple[int, int]] = set()
    blocks = 0
    for packet in packets.iter_rows(named=True):
        if packet["frame.packet_flags_direction"] == INBOUND:
            end = packet["tcp.seq_raw"] + packet["tcp.len"] + (packet["tcp.flags.fin"] == "1")
            arrived.add((packet["tcp.seq_raw"], end))
            continue
        edges = [packet["tcp.options.sack_le"], packet["tcp.options.sack_re"]]
        if edges[0] is None:
            continue
        for place, (left, right) in enumerate(zip(*([int(e) for e in edge.split(",")] for edge in edges), strict=True)):
            blocks += 1
            inside = sorted((a, b) for a, b in arrived if left <= a and b <= right and a < b)
            # Adjacent segments, from the block's left edge to its right one.
            reach = left
            for a, b in inside:
                assert a <= reach
                reach = max(reach, b)
            assert reach == right
            assert place == 0 or left > packet["tcp.ack_raw"]
    assert blocks > 50


def test_ecn_is_agreed_on_marked_and_echoed(tmp_path: Path) -> None:
    """RFC 3168: the SYNs' flags, ECT(0) on data, CE where the queue marked, ECE echoed, and CWR once per reduction."""
    names = ["frame.packet_flags_direction", "ip.checksum.status", "ip.dsfield.ecn"]
    names += [f"tcp.flags.{flag}" for flag in ("syn", "ack", "ece", "cwr")]
    fields = dict.fromkeys(names, pl.String) | {"tcp.len": pl.Int64}
    net = vz.point_to_point(vz.link("10 Mbps", "20 ms", forward={"queue": {"kind": "codel", "ecn": True}}))
    result = vz.run(net, [vz.flow(vz.upload("5 MB"), vz.tcp(cc="cubic", ecn=True))], pcap=tmp_path)
    packets = {host: read(tmp_path / f"{host}.1.pcapng", fields) for host in ("a", "b")}
    assert set(packets["b"]["ip.checksum.status"]) == {"1"}
    syns = packets["a"].filter(pl.col("tcp.flags.syn") == "1")
    columns = ["tcp.flags.ack", "tcp.flags.ece", "tcp.flags.cwr", "ip.dsfield.ecn"]
    assert syns.select(columns).rows() == [("0", "1", "1", "0"), ("1", "1", "0", "0")]
    arrived = packets["b"].filter((pl.col("tcp.len") > 0) & (pl.col("frame.packet_flags_direction") == INBOUND))
    assert set(arrived["ip.dsfield.ecn"]) == {"2", "3"}
    marked = arrived.filter(pl.col("ip.dsfield.ecn") == "3").height
    assert marked == result.links.filter(pl.col("direction") == "forward")["marks"].item()
    row = result.flows.row(0, named=True)
    assert (row["retransmissions"], row["packets_lost"]) == (0, 0)
    assert arrived.filter(pl.col("tcp.flags.cwr") == "1").height == row["mark_reductions"] > 0
    answers = packets["b"].filter((pl.col("tcp.len") == 0) & (pl.col("tcp.flags.syn") == "0"))
    assert answers.filter(pl.col("tcp.flags.ece") == "1").height >= marked / 2
    assert set(answers["ip.dsfield.ecn"]) == {"0"}


def test_fast_open_asks_for_a_cookie_and_uses_it(tmp_path: Path) -> None:
    """RFC 7413, figure in section 3: request, cookie, and data with the next connection's SYN."""
    names = ["tcp.stream", "tcp.len", "tcp.ack", "tcp.options.tfo.request", "tcp.options.tfo.cookie", "tcp.flags.syn"]
    net = vz.point_to_point(vz.link("10 Mbps", "20 ms"))
    transport = vz.tcp(fast_open=True)
    flows = [vz.flow(vz.upload("1 kB"), transport, start=start) for start in ("0 s", "1 s")]
    vz.run(net, flows, pcap=tmp_path)
    packets = read(tmp_path / "a.1.pcapng", dict.fromkeys(names, pl.String))
    syns = packets.filter(pl.col("tcp.flags.syn") == "1").sort("tcp.stream", maintain_order=True)
    request, cookie = syns["tcp.options.tfo.request"].is_not_null(), syns["tcp.options.tfo.cookie"]
    assert request.to_list() == [True, False, False, False]
    assert syns["tcp.len"].to_list() == ["0", "0", "1000", "0"]
    assert cookie[0] is None
    assert cookie[1] is not None
    assert cookie[1] == cookie[2]
    assert cookie[3] is None


MULTIPATH = {
    "tcp.stream": pl.Int64,
    "frame.packet_flags_direction": pl.String,
    "ip.checksum.status": pl.String,
    "tcp.checksum.status": pl.String,
    "tcp.len": pl.Int64,
    "tcp.payload": pl.String,
    "tcp.flags.syn": pl.String,
    "tcp.flags.ack": pl.String,
    "tcp.options.mptcp.subtype": pl.String,
    "tcp.options.mptcp.sendkey": pl.UInt64,
    "tcp.options.mptcp.recvtok": pl.UInt64,
    "tcp.options.mptcp.rawdataseqno": pl.UInt64,
    "tcp.options.mptcp.datafin.flag": pl.String,
    "mptcp.expected_idsn": pl.UInt64,
    "mptcp.expected_token": pl.UInt64,
    "mptcp.connection.echoed_key_mismatch": pl.String,
    "mptcp.dss.missing_mapping": pl.String,
    "_ws.malformed": pl.String,
    "_ws.expert.severity": pl.String,
}
SUBTYPES = {"capable": "0", "join": "1", "dss": "2", "add-address": "3", "remove-address": "4", "priority": "5"}


def test_multipath_tcp_says_where_its_data_belongs(tmp_path: Path) -> None:
    """RFC 8684: the data sequence numbers of what arrives on all subflows reassemble the stream, byte for byte.

    tshark treats each interface's capture as a separate connection, and derives the token and the initial data sequence
    number from the keys by SHA-256. It notes that a router may have left four NOPs in a row: it counts the two before
    the timestamps together with the two after the mapping, which are where Linux puts them too (mptcp_write_options).
    """
    rates = [("10 Mbps", "10 ms"), ("5 Mbps", "30 ms")]
    net = vz.multipath(*(vz.link(rate, delay, queue="30 packets", loss=0.01) for rate, delay in rates))
    changes = [{"at": "0.3 s", "backup": 2}, {"at": "0.5 s", "regular": 2}, {"at": "1.1 s", "remove": 2}]
    flow = vz.flow(vz.upload("2 MB"), vz.mptcp(cc="lia", path_manager="full-mesh", changes=changes))
    result = vz.run(net, [flow], seed=3, pcap=tmp_path)
    captures = {f"{host}{way}": tmp_path / f"{host}.{way}.pcapng" for host in "ab" for way in (1, 2)}
    packets = {name: read(capture, MULTIPATH) for name, capture in captures.items()}
    for capture in packets.values():
        check_nothing_wrong(capture)
        assert capture["mptcp.connection.echoed_key_mismatch"].null_count() == capture.height
    whole = pl.concat(packets.values())
    seen = set(whole["tcp.options.mptcp.subtype"].drop_nulls().str.split(",").explode())
    assert set(SUBTYPES.values()) <= seen

    first = packets["a1"]
    third = first.filter((pl.col("tcp.flags.syn") == "0") & pl.col("mptcp.expected_idsn").is_not_null())
    start = third["mptcp.expected_idsn"][0] + 1
    token = first.filter((pl.col("tcp.flags.syn") == "1") & (pl.col("tcp.flags.ack") == "1"))["mptcp.expected_token"][0]
    joins = packets["a2"].filter((pl.col("tcp.flags.syn") == "1") & (pl.col("tcp.flags.ack") == "0"))
    assert set(joins["tcp.options.mptcp.recvtok"]) == {token}

    size = result.flows["app_bytes"].item()
    stream, filled = bytearray(size), np.zeros(size, dtype=bool)
    for capture in (packets["b1"], packets["b2"]):
        arrived = capture.filter((pl.col("tcp.len") > 0) & (pl.col("frame.packet_flags_direction") == INBOUND))
        assert arrived.height > 10
        columns = ["tcp.options.mptcp.rawdataseqno", "tcp.payload"]
        for number, payload in arrived.select(columns).iter_rows():
            # The first data comes with MP_CAPABLE, which implies that it is the first.
            data, offset = bytes.fromhex(payload.replace(":", "")), 0 if number is None else (number - start) % 2**64
            stream[offset : offset + len(data)] = data
            filled[offset : offset + len(data)] = True
    assert filled.all()
    assert bytes(stream) == stream_bytes(0, size)


TRANSPORTS = ["tcp", "mptcp", "udp", "dccp", "sctp", "quic"]


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_a_cut_capture_is_the_beginning_of_the_whole(tmp_path: Path, transport: str) -> None:
    app = vz.cbr("2 Mbps", message="1 kB", duration="2 s") if transport == "udp" else vz.upload("200 kB")
    flows = [vz.flow(app, transport=transport)]
    for name, snap in (("whole", None), ("cut", 96)):
        vz.run(lossy(0.01), flows, until="5 s", pcap=tmp_path / name, snap=snap)
    names = sorted(file.name for file in (tmp_path / "whole").iterdir())
    assert names == sorted(file.name for file in (tmp_path / "cut").iterdir())
    fields = {"frame.time_epoch": pl.String, "frame.len": pl.Int64, "frame.cap_len": pl.Int64, "ip.len": pl.Int64}
    for name in names:
        whole, cut = (read(tmp_path / kind / name, fields) for kind in ("whole", "cut"))
        assert cut.drop("frame.cap_len").equals(whole.drop("frame.cap_len"))
        assert cut["frame.cap_len"].equals(whole["frame.len"].clip(upper_bound=96))
        bytes_of = [(tmp_path / kind / name).read_bytes() for kind in ("whole", "cut")]
        assert len(bytes_of[1]) < len(bytes_of[0]) / 3 or whole.is_empty()


def test_headers_of_a_cut_capture_are_those_of_the_whole(tmp_path: Path) -> None:
    """Compares all that tshark reads in TCP's headers; it does not verify a checksum over missing bytes."""
    flows = [vz.flow(vz.upload("500 kB"), transport=vz.tcp("cubic"))]
    for name, snap in (("whole", None), ("cut", 96)):
        vz.run(lossy(0.02), flows, pcap=tmp_path / name, snap=snap)
    headers = {name: kind for name, kind in FIELDS.items() if name not in {"tcp.payload", "tcp.checksum.status"}}
    for name in sorted(file.name for file in (tmp_path / "whole").iterdir()):
        whole, cut = (read(tmp_path / kind / name, headers) for kind in ("whole", "cut"))
        assert cut.equals(whole)
        assert "1" not in set(read(tmp_path / "cut" / name).filter(pl.col("tcp.len") > 0)["tcp.checksum.status"])


def test_a_cut_needs_a_capture(tmp_path: Path) -> None:
    with pytest.raises(vz.ScenarioError, match=r"--snap: cuts the packets of captures; name a directory"):
        vz.run(lossy(), [vz.flow(vz.upload("10 kB"))], snap=96)
