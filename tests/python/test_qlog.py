"""qlog of QUIC connections: valid by the drafts, and consistent with the results and with the other side's log."""

import json
import resource
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, Literal

import pytest

import vazao as vz
from vazao.errors import RunError

Event = dict[str, Any]

UINT, NUMBER, TEXT, FLAG, MAP, LIST = int, (int, float), str, bool, dict, list
CONGESTION = {"slow_start", "congestion_avoidance", "application_limited", "recovery"}
CONNECTION = {
    *("attempted", "peer_validated", "handshake_started", "early_write", "handshake_complete"),
    *("handshake_confirmed", "closing", "draining", "closed"),
}
PACKET = {"header": MAP, "frames": LIST, "is_coalesced": FLAG, "retry_token": MAP, "raw": MAP}
EVENTS: dict[str, dict[str, Any]] = {
    "connectivity:connection_started": {
        "ip_version": {"v4", "v6"},
        **dict.fromkeys(["src_ip", "dst_ip", "protocol", "src_cid", "dst_cid"], TEXT),
        **dict.fromkeys(["src_port", "dst_port"], UINT),
    },
    "connectivity:connection_state_updated": {"old": CONNECTION, "new": CONNECTION},
    "connectivity:connection_closed": {
        "owner": {"local", "remote"},
        "trigger": {"clean", "handshake_timeout", "idle_timeout", "error", "application"},
    },
    "transport:parameters_set": {
        "owner": {"local", "remote"},
        **dict.fromkeys(["max_idle_timeout", "max_ack_delay", "initial_max_data"], UINT),
        **{f"initial_max_stream_data_{kind}": UINT for kind in ("bidi_local", "bidi_remote", "uni")},
        **dict.fromkeys(["initial_max_streams_bidi", "initial_max_streams_uni"], UINT),
    },
    "transport:packet_sent": PACKET,
    "transport:packet_received": PACKET,
    "transport:packet_dropped": {
        "header": MAP,
        "raw": MAP,
        "trigger": {"key_unavailable", "protocol_violation", "dos_prevention", "unexpected_packet", "duplicate"},
    },
    "recovery:parameters_set": {
        **dict.fromkeys(["reordering_threshold", "timer_granularity", "persistent_congestion_threshold"], UINT),
        **dict.fromkeys(["max_datagram_size", "minimum_congestion_window"], UINT),
        **dict.fromkeys(["time_threshold", "initial_rtt"], NUMBER),
    },
    "recovery:metrics_updated": {
        **dict.fromkeys(["min_rtt", "smoothed_rtt", "latest_rtt", "rtt_variance"], NUMBER),
        **dict.fromkeys(["pto_count", "congestion_window", "bytes_in_flight", "ssthresh", "pacing_rate"], UINT),
    },
    "recovery:congestion_state_updated": {"old": CONGESTION, "new": CONGESTION},
    "recovery:packet_lost": {"header": MAP, "trigger": {"reordering_threshold", "time_threshold", "pto_expired"}},
}
"""Fields of events, with their types or words (draft-ietf-quic-qlog-quic-events-03, sections 3 to 6)."""

REQUIRED = {
    "connectivity:connection_started": {"src_ip", "dst_ip"},
    "connectivity:connection_state_updated": {"new"},
    "transport:packet_sent": {"header"},
    "transport:packet_received": {"header"},
    "recovery:parameters_set": {"timer_granularity"},
    "recovery:congestion_state_updated": {"new"},
}
HEADER = {
    "packet_type": {"initial", "handshake", "0RTT", "1RTT", "retry", "version_negotiation", "stateless_reset"},
    "packet_number": UINT,
    "token": MAP,
}
FRAMES: dict[str, dict[str, Any]] = {
    "padding": {"length": UINT, "payload_length": UINT},
    "ping": {},
    "ack": {"ack_delay": NUMBER, "acked_ranges": LIST},
    "crypto": {"offset": UINT, "length": UINT},
    "stream": {"stream_id": UINT, "offset": UINT, "length": UINT},
    "max_data": {"maximum": UINT},
    "max_stream_data": {"stream_id": UINT, "maximum": UINT},
    "new_connection_id": {"sequence_number": UINT, "retire_prior_to": UINT, "connection_id": str},
    "handshake_done": {},
    "connection_close": {"error_space": {"transport", "application"}, "error_code": UINT},
}
"""Fields of the frames that the connections below send (section 7.9); a stream's `fin` is present if true."""


def is_of(kind: Any, value: Any) -> bool:
    """Whether a value has a type, or is one of the given words."""
    if isinstance(kind, set):
        return value in kind
    return isinstance(value, kind) and (kind is FLAG or not isinstance(value, bool))


def read(path: Path) -> tuple[dict[str, Any], list[Event]]:
    """Header and events of a file, one record each (RFC 7464), sorted by time."""
    text = path.read_text()
    records = text.split("\x1e")
    assert records[0] == ""
    assert all(record.endswith("\n") for record in records[1:])
    header, *events = [json.loads(record) for record in records[1:]]
    assert all(set(event) == {"time", "name", "data"} for event in events)
    assert all(before["time"] <= after["time"] for before, after in pairwise(events))
    return header, events


def named(events: list[Event], name: str) -> list[Event]:
    return [event for event in events if event["name"] == name]


def packets(events: list[Event], what: str) -> list[tuple[str, int | None]]:
    headers = [event["data"]["header"] for event in named(events, f"transport:packet_{what}")]
    return [(header["packet_type"], header.get("packet_number")) for header in headers]


def check(events: list[Event]) -> None:
    """Checks that events have only fields that the drafts define, and all required ones."""
    for event in events:
        name, data = event["name"], event["data"]
        assert REQUIRED.get(name, set()) <= set(data), name
        assert all(is_of(EVENTS[name][field], value) for field, value in data.items()), event
        if "old" in data:
            assert data["old"] != data["new"]
        if "header" in data:
            assert all(is_of(HEADER[field], value) for field, value in data["header"].items()), event
            assert ("packet_number" in data["header"]) == (data["header"]["packet_type"] != "retry")
        for frame in data.get("frames", []):
            fields = {field: value for field, value in frame.items() if field != "frame_type"}
            assert fields.pop("fin", True) is True
            expected = FRAMES[frame["frame_type"]]
            assert set(fields) == set(expected), frame
            assert all(is_of(expected[field], value) for field, value in fields.items()), frame
            assert all(first <= last for first, last in frame.get("acked_ranges", []))


def play(
    tmp_path: Path, handshake: Literal["1-rtt", "0-rtt", "0-rtt-rejected", "retry"], loss: float = 0.02, **more: Any
) -> tuple[vz.Result, list[Event], list[Event]]:
    net = vz.point_to_point(vz.link("10 Mbps", "20 ms", queue="30 packets", loss=loss))
    flow = vz.flow(vz.upload("500 kB"), vz.quic(cc="cubic", handshake=handshake))
    result = vz.run(net, [flow], seed=3, qlog=tmp_path, **more)
    files = {path.name for path in tmp_path.iterdir()}
    assert files >= {"flow-0.client.sqlog", "flow-0.server.sqlog"}
    (client, ours), (server, theirs) = (read(tmp_path / f"flow-0.{side}.sqlog") for side in ("client", "server"))
    for header, side, host in [(client, "client", "a"), (server, "server", "b")]:
        assert (header["qlog_version"], header["qlog_format"]) == ("0.3", "JSON-SEQ")
        assert header["trace"]["vantage_point"] == {"name": host, "type": side}
    assert client["trace"]["common_fields"] == server["trace"]["common_fields"]
    check(ours)
    check(theirs)
    return result, ours, theirs


@pytest.mark.parametrize("handshake", ["1-rtt", "0-rtt", "0-rtt-rejected", "retry"])
def test_both_sides_tell_the_same(
    handshake: Literal["1-rtt", "0-rtt", "0-rtt-rejected", "retry"], tmp_path: Path
) -> None:
    """Every packet that one side sends is received or dropped by the other, or lost on the way; no other arrives."""
    result, client, server = play(tmp_path, handshake)
    for sender, receiver in [(client, server), (server, client)]:
        sent = packets(sender, "sent")
        arrived = packets(receiver, "received") + packets(receiver, "dropped")
        assert len(sent) == len(set(sent))
        # A repeated CONNECTION_CLOSE may be in flight at the end.
        assert set(arrived) <= set(sent)
        logged = {
            key: event["data"]["frames"]
            for key, event in zip(sent, named(sender, "transport:packet_sent"), strict=True)
        }
        heard = zip(packets(receiver, "received"), named(receiver, "transport:packet_received"), strict=True)
        assert all(logged[key] == event["data"]["frames"] for key, event in heard)
    row = result.flows.row(0, named=True)
    sent, arrived = packets(client, "sent"), packets(server, "received") + packets(server, "dropped")
    assert row["packets_lost"] <= len(set(sent) - set(arrived)) <= row["packets_lost"] + 3
    steps = [event["data"]["new"] for event in named(client, "connectivity:connection_state_updated")]
    assert steps[:4] == ["attempted", "handshake_started", "handshake_complete", "handshake_confirmed"]
    assert named(client, "connectivity:connection_started")[0]["time"] == 0


def test_losses_are_of_packets_that_were_not_acknowledged(tmp_path: Path) -> None:
    """RFC 9002 section 6.1: a lost packet was sent, and one sent three or some time later was acknowledged."""
    result, client, _ = play(tmp_path, "1-rtt")
    sent: dict[tuple[str, int | None], float] = {}
    acked: set[tuple[str, int]] = set()
    lost = 0
    for event in client:
        data = event["data"]
        if event["name"] == "transport:packet_sent":
            sent[data["header"]["packet_type"], data["header"]["packet_number"]] = event["time"]
        elif event["name"] == "transport:packet_received":
            ranges = chain.from_iterable(frame.get("acked_ranges", []) for frame in data["frames"])
            kind = data["header"]["packet_type"]
            acked |= {(kind, number) for first, last in ranges for number in range(first, last + 1)}
        elif event["name"] == "recovery:packet_lost":
            kind, number = data["header"]["packet_type"], data["header"]["packet_number"]
            largest = max(n for k, n in acked if k == kind)
            assert (kind, number) in sent
            assert (kind, number) not in acked
            assert largest > number
            if data["trigger"] == "reordering_threshold":
                assert largest >= number + 3
            lost += 1
    assert lost >= result.flows["packets_lost"].item() - 1 > 5


def test_metrics_are_those_of_the_trace(tmp_path: Path) -> None:
    """Compares the window at the end of each instant in the log and in the time series."""
    result, client, _ = play(tmp_path, "1-rtt", trace=["cwnd", "srtt"])
    for measure, name, scale in [("cwnd", "congestion_window", 1), ("srtt", "smoothed_rtt", 1000)]:
        log = {e["time"]: e["data"][name] for e in named(client, "recovery:metrics_updated") if name in e["data"]}
        samples = result.samples.filter(measure=measure).select("time_s", "value").rows()
        trace = {round(1000 * time, 6): scale * value for time, value in samples}
        common = [(value, trace[round(time, 6)]) for time, value in log.items() if round(time, 6) in trace]
        assert len(common) > 50
        assert all(value == pytest.approx(traced) for value, traced in common)
    states = [event["data"]["new"] for event in named(client, "recovery:congestion_state_updated")]
    assert states[:2] == ["recovery", "congestion_avoidance"]


def test_watching_changes_nothing(tmp_path: Path) -> None:
    net = vz.point_to_point(vz.link("10 Mbps", "20 ms", loss=0.05))
    flows = [vz.flow(vz.download("200 kB"), vz.quic()), vz.flow(vz.upload("200 kB"), vz.tcp())]
    plain = vz.run(net, flows, seed=2)
    watched = [vz.run(net, flows, seed=2, qlog=tmp_path / name) for name in ("one", "two")]
    assert all(result.flows.equals(plain.flows) for result in watched)
    files = [sorted((tmp_path / name).iterdir()) for name in ("one", "two")]
    assert [path.name for path in files[0]] == ["flow-0.client.sqlog", "flow-0.server.sqlog"]
    assert [path.read_bytes() for path in files[0]] == [path.read_bytes() for path in files[1]]


def test_there_may_be_more_logs_than_open_files(tmp_path: Path) -> None:
    """Two logs for each of 250 connections, with at most 400 open files: written out at 32 MiB, and at the end."""
    net = vz.point_to_point(vz.link("1 Gbps", "5 ms", queue="100000 packets"))
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (400, hard))
    try:
        vz.run(net, [vz.flow(vz.upload("250 kB"), vz.quic()) for _ in range(250)], qlog=tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    names = {f"flow-{number}.{side}.sqlog" for number in range(250) for side in ("client", "server")}
    assert {path.name for path in tmp_path.iterdir()} == names
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) > 1.1 * (32 << 20)
    for name in sorted(names)[::50]:
        header, events = read(tmp_path / name)
        assert header["qlog_version"] == "0.3"
        check(events)


def test_without_quic_there_is_nothing_to_log(tmp_path: Path) -> None:
    net = vz.point_to_point(vz.link("10 Mbps", "20 ms"))
    with pytest.raises(RunError, match="QUIC"):
        vz.run(net, [vz.flow(vz.upload("1 kB"))], qlog=tmp_path)


def test_a_library_writes_its_own_qlog(tmp_path: Path) -> None:
    """quinn's log of either side: received and lost packets were sent, and logging changes nothing."""
    net = vz.point_to_point(vz.link("10 Mbps", "20 ms", queue="30 packets", loss=0.02))
    flows = [vz.flow(vz.upload("500 kB"), vz.quic(stack="quinn"))]
    plain = vz.run(net, flows, seed=3)
    assert all(vz.run(net, flows, seed=3, qlog=tmp_path / name).flows.equals(plain.flows) for name in ("one", "two"))
    names = ["flow-0.client.sqlog", "flow-0.server.sqlog"]
    assert all((tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes() for name in names)
    (header, client), (_, server) = (read(tmp_path / "one" / name) for name in names)
    assert header["trace"]["vantage_point"] == {"name": "a", "type": "client"}
    assert {event["name"] for event in client} == {
        *("transport:packet_sent", "transport:packet_received", "recovery:metrics_updated", "recovery:packet_lost"),
    }
    sent, arrived = packets(client, "sent"), packets(server, "received")
    assert len(sent) == len(set(sent)) > 300
    assert set(arrived) < set(sent)
    assert len(set(sent) - set(arrived)) >= plain.flows["packets_lost"].item() > 3
    lost = [event["data"]["header"] for event in named(client, "recovery:packet_lost")]
    assert {(header["packet_type"], header["packet_number"]) for header in lost} <= set(sent)


@pytest.mark.parametrize("handshake", ["1-rtt", "0-rtt", "retry"])
@pytest.mark.parametrize("stack", ["vazao", "quinn"])
def test_qvis_finds_what_it_needs(
    stack: Literal["vazao", "quinn"], handshake: Literal["1-rtt", "0-rtt", "retry"], tmp_path: Path
) -> None:
    """Checks the fields of qlog 0.3 that qvis reads (QlogLoaderV2.ts; the congestion, sequence and multiplexing views).

    qvis omits a packet without its size, and takes a different `group_id` for another connection.
    """
    net = vz.point_to_point(vz.link("10 Mbps", "20 ms", queue="30 packets", loss=0.02))
    flow = vz.flow(vz.page(20, "20 kB", root="10 kB"), vz.quic(stack=stack, handshake=handshake))
    result = vz.run(net, [flow], seed=3, qlog=tmp_path)
    logs = [read(tmp_path / f"flow-0.{side}.sqlog") for side in ("client", "server")]
    frames: list[dict[int, int]] = []
    for header, events in logs:
        assert (header["qlog_version"], header["qlog_format"]) == ("0.3", "JSON-SEQ")
        assert header["trace"]["vantage_point"]["type"] in {"client", "server"}
        assert {"time_format": "relative", "reference_time": 0}.items() <= header["trace"]["common_fields"].items()
        sent = set(packets(events, "sent"))
        kinds = {"transport:packet_sent", "transport:packet_received"}
        for event in (event for event in events if event["name"] in kinds):
            data = event["data"]
            kind = data["header"]["packet_type"]
            if kind == "retry":
                continue
            assert 0 < data["raw"]["length"] <= 1452
            assert data["frames"], event
            for ack in (frame for frame in data["frames"] if frame["frame_type"] == "ack"):
                assert all(first <= last for first, last in ack["acked_ranges"])
                if event["name"] == "transport:packet_received":
                    # A 1-RTT packet acknowledges 0-RTT packets, too.
                    assert {(kind, ack["acked_ranges"][-1][1]), ("0RTT", ack["acked_ranges"][-1][1])} & sent
        lost = [event["data"]["header"] for event in named(events, "recovery:packet_lost")]
        assert {(header["packet_type"], header["packet_number"]) for header in lost} <= sent
        metrics = [event["data"] for event in named(events, "recovery:metrics_updated")]
        # Milliseconds: a path of 40, a queue of 30 packets of 1.2, 25 of delay, 10 for the rest; 333 before any sample.
        latest = [data["latest_rtt"] for data in metrics if data.get("latest_rtt") not in {None, 333}]
        assert all(40 < rtt < 40 + 30 * 1.2 + 25 + 10 for rtt in latest)
        assert {"congestion_window", "bytes_in_flight"} <= set(metrics[0])
        # A number that no float represents exactly is not a threshold.
        assert all(data.get("ssthresh", 0) < 2**53 for data in metrics)
        # A stream for each object and the document: frames show that all of it was sent and received.
        serves = header["trace"]["vantage_point"]["type"] == "server"
        which = "transport:packet_sent" if serves else "transport:packet_received"
        ends: dict[int, int] = {}
        for event in named(events, which):
            for frame in event["data"].get("frames", []):
                if frame["frame_type"] == "stream" and frame["stream_id"] % 4 == 0:
                    end = frame["offset"] + frame["length"]
                    ends[frame["stream_id"]] = max(ends.get(frame["stream_id"], 0), end)
        frames.append({number: end for number, end in ends.items() if end > 0})
    assert frames[0] == frames[1]
    assert len(frames[0]) == 21
    assert sum(frames[0].values()) > result.flows["app_bytes"].item() == 20 * 20_000 + 10_000
