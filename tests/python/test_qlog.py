"""qlog of QUIC connections: the format's rules, and the same story as the results and the other side's log tell."""

import json
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, Literal

import pytest

import vazao as vz
from vazao.errors import RunError

Event = dict[str, Any]

EVENTS: dict[str, tuple[set[str], set[str]]] = {
    "connectivity:connection_started": (
        {"src_ip", "dst_ip"},
        {"ip_version", "protocol", "src_port", "dst_port", "src_cid", "dst_cid"},
    ),
    "connectivity:connection_state_updated": ({"new"}, {"old"}),
    "connectivity:connection_closed": (set(), {"owner", "trigger"}),
    "transport:parameters_set": (
        set(),
        {"owner", "max_idle_timeout", "max_ack_delay", "initial_max_data"}
        | {f"initial_max_stream_data_{kind}" for kind in ("bidi_local", "bidi_remote", "uni")},
    ),
    "transport:packet_sent": ({"header"}, {"frames", "is_coalesced", "raw"}),
    "transport:packet_received": ({"header"}, {"frames", "is_coalesced", "raw"}),
    "transport:packet_dropped": (set(), {"header", "raw", "trigger"}),
    "recovery:parameters_set": (
        set(),
        {"reordering_threshold", "time_threshold", "timer_granularity", "initial_rtt", "max_datagram_size"}
        | {"minimum_congestion_window", "persistent_congestion_threshold"},
    ),
    "recovery:metrics_updated": (
        set(),
        {"min_rtt", "smoothed_rtt", "latest_rtt", "rtt_variance", "pto_count", "congestion_window", "bytes_in_flight"}
        | {"ssthresh", "pacing_rate"},
    ),
    "recovery:congestion_state_updated": ({"new"}, {"old"}),
    "recovery:packet_lost": (set(), {"header", "trigger"}),
}
"""What an event must have and may have besides (draft-ietf-quic-qlog-quic-events-02, sections 3 to 5)."""

WORDS = {
    "connectivity:connection_state_updated": {
        *("attempted", "peer_validated", "handshake_started", "early_write", "handshake_complete"),
        *("handshake_confirmed", "closing", "draining", "closed"),
    },
    "recovery:congestion_state_updated": {"slow_start", "congestion_avoidance", "application_limited", "recovery"},
}
TRIGGERS = {
    "connectivity:connection_closed": {"clean", "idle_timeout", "error", "application"},
    "transport:packet_dropped": {"key_unavailable", "duplicate", "dos_prevention"},
    "recovery:packet_lost": {"reordering_threshold", "time_threshold", "pto_expired"},
}
FRAMES = {
    "padding": set[str](),
    "ping": set(),
    "ack": {"acked_ranges"},
    "crypto": {"offset", "length"},
    "stream": {"stream_id", "offset", "length"},
    "max_data": {"maximum"},
    "max_stream_data": {"stream_id", "maximum"},
    "handshake_done": set(),
    "connection_close": {"error_code"},
}
"""What frames must have (appendix A), of those that the connections below send."""


def read(path: Path) -> tuple[dict[str, Any], list[Event]]:
    """Header and events of a file, each a record of its own (RFC 7464), in the order of time."""
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
    """Nothing but what the drafts know, and nothing missing."""
    for event in events:
        name, data = event["name"], event["data"]
        required, optional = EVENTS[name]
        assert required <= set(data) <= required | optional, name
        assert data.get("trigger") in TRIGGERS.get(name, set()) | {None}
        if name in WORDS:
            assert {data["old"], data["new"]} <= WORDS[name]
            assert data["old"] != data["new"]
        if "header" in data:
            header = data["header"]
            assert header["packet_type"] in {"initial", "handshake", "0RTT", "1RTT", "retry"}
            assert (header["packet_type"] == "retry") or header["packet_number"] >= 0
        for frame in data.get("frames", []):
            assert FRAMES[frame["frame_type"]] <= set(frame)
            assert all(first <= last for first, last in frame.get("acked_ranges", []))


def play(
    tmp_path: Path, handshake: Literal["1-rtt", "0-rtt", "retry"], loss: float = 0.02, **more: Any
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


@pytest.mark.parametrize("handshake", ["1-rtt", "0-rtt", "retry"])
def test_both_sides_tell_the_same(handshake: Literal["1-rtt", "0-rtt", "retry"], tmp_path: Path) -> None:
    """What one side sends the other receives, drops, or the network has lost; what is received was sent, and alike."""
    result, client, server = play(tmp_path, handshake)
    for sender, receiver in [(client, server), (server, client)]:
        sent = packets(sender, "sent")
        arrived = packets(receiver, "received") + packets(receiver, "dropped")
        assert len(sent) == len(set(sent))
        # A CONNECTION_CLOSE that is said again may be under way at the end.
        assert set(arrived) <= set(sent)
        said = {
            key: event["data"]["frames"]
            for key, event in zip(sent, named(sender, "transport:packet_sent"), strict=True)
        }
        heard = zip(packets(receiver, "received"), named(receiver, "transport:packet_received"), strict=True)
        assert all(said[key] == event["data"]["frames"] for key, event in heard)
    row = result.flows.row(0, named=True)
    sent, arrived = packets(client, "sent"), packets(server, "received") + packets(server, "dropped")
    assert row["packets_lost"] <= len(set(sent) - set(arrived)) <= row["packets_lost"] + 3
    steps = [event["data"]["new"] for event in named(client, "connectivity:connection_state_updated")]
    assert steps[:3] == ["handshake_started", "handshake_complete", "handshake_confirmed"]
    assert named(client, "connectivity:connection_started")[0]["time"] == 0


def test_losses_are_of_packets_that_were_not_acknowledged(tmp_path: Path) -> None:
    """RFC 9002 section 6.1: a lost one was sent, and one sent three later, or later by some time, was acknowledged."""
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
    """The window at the end of each instant, in the log and in the time series."""
    result, client, _ = play(tmp_path, "1-rtt", trace=["cwnd", "srtt"])
    for measure, name, scale in [("cwnd", "congestion_window", 1), ("srtt", "smoothed_rtt", 1000)]:
        log = {e["time"]: e["data"][name] for e in named(client, "recovery:metrics_updated") if name in e["data"]}
        samples = result.samples.filter(measure=measure).select("time_s", "value").rows()
        trace = {round(1000 * time, 6): scale * value for time, value in samples}
        common = [(value, trace[round(time, 6)]) for time, value in log.items() if round(time, 6) in trace]
        assert len(common) > 100
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


def test_without_quic_there_is_nothing_to_log(tmp_path: Path) -> None:
    net = vz.point_to_point(vz.link("10 Mbps", "20 ms"))
    with pytest.raises(RunError, match="quic"):
        vz.run(net, [vz.flow(vz.upload("1 kB"))], qlog=tmp_path)
