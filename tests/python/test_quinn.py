"""A production QUIC library as a stack: completed transfers, repeatable runs, and settings that it cannot take."""

from __future__ import annotations

import math
import subprocess
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import vazao as vz
from tools import needs
from vazao.errors import ScenarioError
from vazao.results import Result, run_scenario, run_study
from vazao.scenario import built_in_scenarios, load
from vazao.study import parse_study

pytestmark = pytest.mark.process


SCENARIO = """
[network]
topology = "point-to-point"
link = { rate = "10 Mbps", delay = "20 ms", queue = "1 bdp", loss = 0.01 }

[[flow]]
app = APP
transport = { kind = "quic", stack = "quinn", MORE }
"""


def play(app: str = '{ kind = "upload", size = "500 kB" }', more: str = "", seed: int = 1) -> Result:
    return run_scenario(load(SCENARIO.replace("APP", app).replace("MORE", more), seed=seed))


@pytest.mark.parametrize("stack", ["vazao", "quinn"])
@pytest.mark.parametrize("name", [name for name in built_in_scenarios() if name.startswith("interop-")])
def test_the_networks_of_the_interoperability_tests_are_passed(name: str, stack: str) -> None:
    text = built_in_scenarios()[name].read_text(encoding="utf-8")
    flows = run_scenario(load(text, overrides=[("flow.0.transport.stack", stack)])).flows
    rows = flows.filter(pl.col("transport") == "quic")
    assert rows["completed"].all(), rows.filter(~pl.col("completed"))["failure"].to_list()
    assert rows["intact"].all()
    assert set(rows["stack"]) == {stack}
    assert rows.height == (50 if "handshake" in name else 1)


@pytest.mark.parametrize(
    "app",
    [
        '{ kind = "upload", size = "1 MB" }',
        '{ kind = "download", size = "1 MB" }',
        '{ kind = "download", size = "1 MB", request = "300 B" }',
        '{ kind = "requests", count = 50, request = "400 B", response = "20 kB", pipeline = 3 }',
        '{ kind = "cbr", rate = "2 Mbps", size = "500 kB" }',
        '{ kind = "messages", message = "10 kB", interval = "20 ms", count = 50 }',
        '{ kind = "arrivals", interval = "100 ms", sizes = "50 kB", count = 10 }',
    ],
)
def test_applications_are_served(app: str) -> None:
    flows = play(app).flows
    assert flows["completed"].all()
    assert flows["intact"].all()
    if "message" in app or "requests" in app:
        assert flows["messages_delivered"][0] == 50


@pytest.mark.parametrize("handshake", ["1-rtt", "0-rtt", "0-rtt-rejected", "retry"])
@pytest.mark.parametrize("priority", ["fair", "order"])
def test_pages_are_served(handshake: str, priority: str) -> None:
    """Each object has a stream, and a page has more objects than the stream limit."""
    page = f'{{ kind = "page", objects = 150, size = "lognormal 8 kB", root = "10 kB", priority = "{priority}" }}'
    flows = play(page, f'handshake = "{handshake}"').flows
    assert flows["completed"].all()
    assert flows["intact"].all()
    assert flows["messages_delivered"].item() == 151


@pytest.mark.parametrize("most", [1, 2, 100])
def test_each_object_of_a_page_has_one_of_the_streams_there_may_be(most: int) -> None:
    """Round trips: the handshake, the root, then as many objects at a time as the server's stream limit allows.

    A stream is credited back only when the client has acknowledged the answer: it lasts a round trip, and is returned
    after another one and a delayed acknowledgement of 25 ms.
    """
    network = vz.point_to_point(vz.link("1 Gbps", "50 ms", queue="1000 packets"))
    flow = vz.flow(vz.page(12, "100 B", root="100 B", http="3"), vz.quic(max_streams=most))
    done = vz.run(network, [flow], until="60 s").flows
    turns = 1 + math.ceil(12 / most)
    assert done["completed"][0]
    assert 1 + turns <= done["completion_s"][0] / 0.1 <= 1 + 2.25 * turns


def test_both_stacks_load_a_page_in_the_same_time() -> None:
    """Nothing is lost and the link is the limit: the rest is the handshake's round trips and packet headers."""
    net = vz.point_to_point(vz.link("10 Mbps", "20 ms", queue="1000 packets"))
    rows = [
        vz.run(net, [vz.flow(vz.page(50, "40 kB", priority=priority), vz.quic(stack=stack))]).flows
        for stack in ("vazao", "quinn")
        for priority in ("fair", "order")
    ]
    ours, theirs = rows[:2], rows[2:]
    for own, other in zip(ours, theirs, strict=True):
        assert own["completion_s"].item() == pytest.approx(other["completion_s"].item(), rel=0.05)
        assert own["message_latency_mean_s"].item() == pytest.approx(other["message_latency_mean_s"].item(), rel=0.1)
    # In order, the mean object arrives in half of the time that all take.
    assert theirs[1]["message_latency_mean_s"].item() < 0.65 * theirs[0]["message_latency_mean_s"].item()


@pytest.mark.parametrize("cc", ["cubic", "reno", "bbr", "quinn-cubic", "quinn-newreno", "quinn-bbr"])
def test_a_run_repeats_exactly(cc: str) -> None:
    """Repeats even where the library draws random numbers: BBR's phase affects only a rate that it does not use."""
    first, again, other = (play(more=f'cc = "{cc}"', seed=seed) for seed in (1, 1, 2))
    assert first.flows.equals(again.flows)
    assert first.links.equals(again.links)
    assert first.flows["completion_s"][0] != other.flows["completion_s"][0]


def test_what_it_counts_is_what_the_wire_saw() -> None:
    """No datagram is lost before the link: the link and its queue see each one sent."""
    result = play()
    flow = result.flows.to_dicts()[0]
    forward = result.links.filter(pl.col("direction") == "forward").to_dicts()[0]
    assert flow["packets_sent"] == forward["packets"] + forward["drops_queue"]
    assert flow["packets_lost"] == forward["drops_loss"] + forward["drops_queue"]
    # A packet declared lost may only be late, and losses at the end of a connection are not waited for.
    assert flow["retransmissions"] == pytest.approx(flow["packets_lost"], rel=0.1, abs=3)
    assert 0.04 < flow["rtt_p50_s"] < 0.1
    assert flow["recoveries"] <= flow["retransmissions"]


def test_a_study_has_it_as_a_factor(tmp_path: Path) -> None:
    study = """
[study]
name = "stacks"
title = "Ours and another"
source = "none"
question = "How near?"
[scenario]
network = { topology = "point-to-point", link = { rate = "10 Mbps", delay = "20 ms" } }
flow = [{ app = { kind = "upload", size = "1 MB" }, transport = { kind = "quic" } }]
[[factor]]
name = "stack"
sets = "flow.0.transport.stack"
levels = ["vazao", "quinn"]
"""
    done = run_study(parse_study(study, "stacks.toml"), out=tmp_path / "results", jobs=1)
    rows = done.sql("SELECT stack, completed, completion_s FROM flows ORDER BY stack")
    assert rows["stack"].to_list() == ["quinn", "vazao"]
    assert rows["completed"].all()
    # Both stacks send 1 MB under one congestion control over a path without losses.
    assert rows["completion_s"][0] == pytest.approx(rows["completion_s"][1], rel=0.1)


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        ("max_ack_delay = '10 ms'", "max_ack_delay: is quinn's own decision"),
        ("cc = 'quinn-cubbic'", "cc: "),
        ("handshake = 'gquic-1-rtt'", "handshake: quinn has no handshake of Google's; write 1-rtt"),
        ("certificate = '100 B'", "certificate: 100 B is not what quinn can be told; write 409 B"),
        ("certificate = '10 MB'", "certificate: 10 MB is not .* to 65536 B"),
        ("stream_window = '9e18 B'", "stream_window: .* write 4.6 EB at most"),
        ("changes = [{ at = '1 s', remove = 1 }]", "changes: quinn knows one path and no remove; write migrate"),
        ("idle_timeout = '500 us'", "idle_timeout: 500 us is not .* 1 ms or more"),
        ("cc = 'quinn-bbr', initial_window = 1", "initial_window: .* quinn-bbr never sends; write 2 or more"),
        (
            "cc = 'quinn-cubic', initial_ssthresh = '30 kB'",
            'initial_ssthresh: is for our controls, and cc is "quinn-cubic"',
        ),
        ("cc = 'quinn-newreno', slow_start = 'hystart'", "slow_start: is for our controls"),
        ("cc = { kind = 'quinn-newreno', beta = 0.5 }", "cc.beta: is not known"),
        ("sysctl = { 'net.ipv4.tcp_sack' = 0 }", "sysctl: is for Linux guests, which there are none of over quic"),
    ],
)
def test_unsupported_settings_are_refused(more: str, problem: str) -> None:
    with pytest.raises(ScenarioError, match=problem):
        play(more=more)


def test_settings_at_their_limits_are_accepted() -> None:
    """Also covers a control that is given as a table, as in levels of a study."""
    rows = [
        play(more=more).flows
        for more in (
            "certificate = '409 B'",
            "certificate = '65536 B'",
            "stream_window = '4.6e18 B'",
            "idle_timeout = '1 ms'",
            "cc = 'quinn-bbr', initial_window = 2",
            "cc = { kind = 'quinn-newreno' }",
        )
    ]
    assert all(row["completed"].item() and row["intact"].item() for row in rows)


@needs("tshark")
def test_datagrams_are_large_again_after_a_minute(tmp_path: Path) -> None:
    """Bursts of losses look like a path that drops large packets (a "black hole", RFC 8899 section 4.3)."""
    text = SCENARIO.replace("loss = 0.01", "loss = 0.3").replace("APP", '{ kind = "upload", size = "4 MB" }')
    run_scenario(load(text.replace("MORE", ""), seed=1), pcap=tmp_path)
    (client,) = (path for path in tmp_path.iterdir() if path.name.startswith("a"))
    lines = dissect(client, "-Tfields", "-e", "frame.time_relative", "-e", "udp.length", "-Y", "ip.src == 10.0.0.1")
    large = [float(time) for time, length in (line.split() for line in lines.splitlines()) if int(length) == 1460]
    pauses = [later - earlier for earlier, later in pairwise(large)]
    assert max(pauses) > 60
    assert float(lines.splitlines()[-1].split()[0]) - large[-1] < 60


def test_both_ends_are_the_same() -> None:
    sized = SCENARIO.replace("APP", '{ kind = "upload", size = "1 kB" }')
    mixed = sized.replace('"quinn", MORE', '{ client = "quinn" }')
    with pytest.raises(ScenarioError, match="both sides have the same"):
        load(mixed)
    with pytest.raises(ScenarioError, match="only quinn has"):
        load(mixed.replace('{ client = "quinn" }', '"vazao", cc = "quinn-bbr"'))


def test_time_series_are_recorded() -> None:
    network = vz.point_to_point(vz.link("10 Mbps", "20 ms", queue="1 bdp"))
    flow = vz.flow(vz.upload("2 MB"), vz.Transport({"kind": "quic", "stack": "quinn"}))
    samples = vz.run(network, [flow], trace=["cwnd", "srtt", "flight"]).samples
    cwnd, srtt, flight = (samples.filter(pl.col("measure") == name)["value"] for name in ("cwnd", "srtt", "flight"))
    assert cwnd[0] == 10 * 1452
    # The path holds 50 kB, and its queue as much.
    assert 50_000 < cwnd.max() < 250_000
    assert 0.040 <= srtt.min() < srtt.max() < 0.1
    assert 0 < flight.max() <= cwnd.max()


@needs("tshark")
@pytest.mark.parametrize("handshake", ["1-rtt", "0-rtt", "retry"])
def test_its_packets_are_read_with_the_keys_in_the_capture(tmp_path: Path, handshake: str) -> None:
    more = f'handshake = "{handshake}"'
    scenario = load(SCENARIO.replace("APP", '{ kind = "upload", size = "50 kB" }').replace("MORE", more), seed=3)
    for folder in ("first", "again"):
        run_scenario(scenario, pcap=tmp_path / folder)
    files = sorted(path.name for path in (tmp_path / "first").iterdir())
    assert len(files) == 2
    for name in files:
        assert (tmp_path / "first" / name).read_bytes() == (tmp_path / "again" / name).read_bytes()
        data = dissect(tmp_path / "first" / name, "-Tfields", "-e", "quic.stream_data", "-Y", "quic.stream_data")
        # Two hexadecimal digits a byte. Every byte of the upload is there, and retransmitted ones more than once.
        digits = sum(len(word) for line in data.splitlines() for word in line.split(","))
        assert 100_000 <= digits < 120_000
        assert dissect(tmp_path / "first" / name, "-Y", "_ws.malformed || quic.decryption_failed") == ""


def dissect(path: Path, *options: str) -> str:
    command = ["tshark", "-r", str(path), "-o", "udp.check_checksum:TRUE", *options]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@needs("tshark")
@pytest.mark.parametrize("stack", ["vazao", "quinn"])
@pytest.mark.parametrize(("test", "hosts"), [("port", 1), ("addr", 3)])
def test_a_server_sees_what_a_nat_makes_of_its_client(tmp_path: Path, stack: str, test: str, hosts: int) -> None:
    text = built_in_scenarios()[f"interop-rebind-{test}"].read_text(encoding="utf-8")
    run_scenario(load(text, overrides=[("flow.0.transport.stack", stack)]), pcap=tmp_path)
    (server,) = (path for path in tmp_path.iterdir() if path.name.startswith("b"))
    sources = dissect(server, "-Tfields", "-e", "ip.src", "-e", "udp.srcport", "-Y", "udp.dstport == 5001")
    seen = list(dict.fromkeys(sources.splitlines()))
    assert len(seen) == 3
    assert len({line.split()[0] for line in seen}) == hosts
    ports = [line.split()[1] for line in seen]
    assert ports == sorted(ports)


@pytest.mark.parametrize("stack", ["vazao", "quinn"])
def test_another_address_is_another_path(stack: str) -> None:
    """RFC 9000 section 9.4: congestion control is reset, unless only the port changed."""
    network = vz.point_to_point(vz.link("10 Mbps", "20 ms", queue="1000 packets"))
    least = {}
    for what in ("rebind", "rebind_address"):
        settings = {"kind": "quic", "stack": stack, "changes": [{"at": "1 s", what: 1}], "keep_alive": "100 ms"}
        samples = vz.run(network, [vz.flow(vz.download("3 MB"), vz.Transport(settings))], trace=["cwnd"]).samples
        after = samples.filter((pl.col("measure") == "cwnd") & (pl.col("time_s") > 1))
        least[what] = after["value"].min()
    assert least["rebind_address"] == 10 * 1452
    # Slow start had a second: more than 10 Mbit/s and 40 ms hold.
    assert least["rebind"] > 50_000


def test_a_client_goes_to_another_interface() -> None:
    """After a second at 10 Mbit/s, which carries 1.25 MB at most, the rest takes the other path at 5 Mbit/s."""
    paths = (vz.link("10 Mbps", "20 ms", queue="30 packets"), vz.link("5 Mbps", "40 ms"))
    changes = [{"at": "1 s", "migrate": 2}]
    for app in (vz.upload("3 MB"), vz.download("3 MB")):
        transport = vz.Transport({"kind": "quic", "stack": "quinn", "changes": changes})
        result = vz.run(vz.multipath(*paths), [vz.flow(app, transport)])
        row = result.flows.to_dicts()[0]
        assert row["completed"]
        assert row["intact"]
        carried = {link["link"]: link["bytes"] for link in result.links.to_dicts() if link["bytes"] > 1e6}
        assert carried["path1"] < 1.3e6
        assert carried["path2"] > 1.7e6
        # 1.75 MB at 5 Mbit/s, and a slow start from ten datagrams.
        assert 1 + 2.8 < row["completion_s"] < 1 + 2.8 + 2


def test_a_small_window_is_used_as_by_the_library() -> None:
    """At most 100 kB per round trip of 100 ms: both announce a new limit once an eighth of it has been read."""
    net = vz.point_to_point(vz.link("1 Gbps", "50 ms", queue="10000 packets"))
    windows: dict[str, Any] = dict.fromkeys(["stream_window", "connection_window"], "100 kB")
    ours = vz.run(net, [vz.flow(vz.upload("10 MB"), vz.quic(receive_buffer="100 kB", **windows))]).flows
    theirs = vz.run(net, [vz.flow(vz.upload("10 MB"), vz.quic(stack="quinn", **windows))]).flows
    assert theirs["completion_s"].item() > 10
    assert ours["completion_s"].item() == pytest.approx(theirs["completion_s"].item(), rel=0.05)


def test_loss_thresholds_reach_the_library() -> None:
    """With 1000 packets and ten round trips, packets 30 ms late are not lost; with RFC 9002's they are, on both."""
    late = {"probability": 0.05, "delay": "30 ms"}
    net = vz.point_to_point(vz.link("10 Mbps", "20 ms", queue="1000 packets", forward={"reorder": late}))
    stacks: list[dict[str, Any]] = [{"stack": "quinn"}, {"reordering": "fixed"}]
    wide: dict[str, Any] = {"packet_threshold": 1000, "time_threshold": 10}
    for own in stacks:
        for thresholds, loses in [({}, True), (wide, False)]:
            flows = vz.run(net, [vz.flow(vz.upload("1 MB"), vz.quic(**own, **thresholds))]).flows
            assert flows["completed"].item()
            assert (flows["retransmissions"].item() > 10) == loses
