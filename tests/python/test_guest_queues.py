"""Losses on a guest's own interface (netem), by segment batch or by packet, and its kernel's cache (tcp_metrics).

As in `test_guests.py`, a kernel is built once by `vazao kernel build`; without one most of these tests are skipped.
"""

from __future__ import annotations

import itertools
import math
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from guests import LINUX, flow, needs_kernel
from vazao.errors import RunError, ScenarioError
from vazao.results import run_scenario
from vazao.scenario import load

TEXT = """
[network]
topology = "point-to-point"
link = { rate = "20 Mbps", delay = "10 ms", queue = "1000 packets" }
[[flow]]
app = { kind = "upload", size = "SIZE" }
transport = { KEYS }
"""


def scenario(keys: str, size: str = "1 MB", seed: int = 1) -> Any:
    return load(TEXT.replace("KEYS", keys).replace("SIZE", size), seed=seed)


def frames(capture: Path) -> Iterator[bytes]:
    """IP packets in a capture: enhanced packet blocks of pcapng (type 6), whose data follows five words."""
    content, at = capture.read_bytes(), 0
    while at < len(content):
        kind, length = struct.unpack_from("<II", content, at)
        if kind == 6:
            size = struct.unpack_from("<I", content, at + 20)[0]
            yield content[at + 28 : at + 28 + size]
        at += length


def tcp_segments(capture: Path) -> list[int]:
    """Indices of the full segments that a client sent, of 1448 bytes each, counted from 0."""
    numbers, first = [], None
    for packet in frames(capture):
        sequence = struct.unpack_from(">I", packet, 24)[0]
        if packet[12:16] == bytes([10, 0, 0, 1]) and len(packet) == 1500:
            first = sequence if first is None else first
            numbers.append((sequence - first) % 2**32 // 1448)
    return numbers


def chunks(capture: Path) -> list[int]:
    """Indices of the full DATA chunks that a client sent, one a packet, counted from 0."""
    numbers, first = [], None
    for packet in frames(capture):
        if packet[12:16] == bytes([10, 0, 0, 1]) and packet[32] == 0 and len(packet) == 1500:
            tsn = struct.unpack_from(">I", packet, 36)[0]
            first = tsn if first is None else first
            numbers.append((tsn - first) % 2**32)
    return numbers


def lost_at_once(numbers: list[int]) -> list[int]:
    """Lengths of loss bursts: consecutive packets missing in the original sequence, before any retransmission."""
    records = [
        number for number, most in zip(numbers, itertools.accumulate(numbers, max), strict=True) if number == most
    ]
    return [later - earlier - 1 for earlier, later in itertools.pairwise(records) if later > earlier + 1]


def mean(values: list[int]) -> float:
    return sum(values) / len(values)


@needs_kernel
def test_netem_loses_as_many_packets_as_it_is_told() -> None:
    """4000 datagrams at 10 %: the number missing on the wire is binomial, so within four standard deviations (exceeded
    by one seed in 15 000). Some more packets announce the end of the flow, and may be lost, too."""
    keys = 'kind = "udp", rate = "10 Mbps", payload = 1000, stack = "linux", netem = { client = { loss = 0.1 } }'
    row = flow(run_scenario(scenario(keys, "4 MB")))
    lost = 4000 - row["packets_sent"]
    assert lost == pytest.approx(400, abs=4 * math.sqrt(4000 * 0.1 * 0.9) + 3)
    # Only packets that cross the network can be lost there.
    assert row["packets_lost"] == 0


@needs_kernel
@pytest.mark.parametrize("kind", ["tcp", "sctp"])
def test_losses_repeat_with_the_seed(kind: str) -> None:
    """netem draws its numbers from the seed (TCA_NETEM_PRNG_SEED): the same seed repeats a run, another does not."""
    keys = f'kind = "{kind}", stack = "linux", offloads = "all", netem = {{ loss = 0.05 }}'
    runs = [flow(run_scenario(scenario(keys, "300 kB", seed))) for seed in (1, 1, 2)]
    assert all(row["completed"] and row["intact"] for row in runs)
    times = [row["completion_s"] for row in runs]
    assert times[0] == times[1] != times[2]


@needs_kernel
@pytest.mark.parametrize(
    ("kind", "read", "offloads"),
    [("tcp", tcp_segments, "none"), ("tcp", tcp_segments, "tcp"), ("sctp", chunks, "tcp"), ("sctp", chunks, "all")],
)
def test_segments_cut_behind_the_queue_are_lost_together(kind: str, read: Any, offloads: str, tmp_path: Path) -> None:
    """Packet by packet nearly all losses are single packets (two in a row: one in a hundred). With offloads they come
    in batches of two and more: TCP hands down no smaller ones while it has data (tcp_min_tso_segs), and SCTP hands down
    all that a SACK permits."""
    keys = f'kind = "{kind}", stack = "linux", offloads = "{offloads}", netem = {{ client = {{ loss = 0.01 }} }}'
    runs = []
    for seed in range(4):
        row = flow(run_scenario(scenario(keys, "3 MB", seed), pcap=tmp_path / str(seed)))
        assert row["completed"]
        assert row["intact"]
        runs += lost_at_once(read(tmp_path / str(seed) / "a.1.pcapng"))
    assert len(runs) > 20
    if (kind, offloads) in {("tcp", "none"), ("sctp", "tcp")}:
        assert mean(runs) < 1.15
    else:
        assert mean(runs) > 1.7


@needs_kernel
def test_what_never_left_is_counted_by_the_kernel() -> None:
    """A segment that netem dropped appears on the wire only once, when it is retransmitted."""
    keys = 'stack = "linux", offloads = "none", netem = { client = { loss = 0.02 } }'
    row = flow(run_scenario(scenario(keys, "2 MB")))
    # 1382 segments, retransmitted at a loss rate of 2 %; four standard deviations.
    assert row["retransmissions"] == pytest.approx(28, abs=4 * math.sqrt(28))
    assert row["packets_lost"] == 0


@needs_kernel
def test_losses_on_the_way_back_are_the_servers() -> None:
    """Hardly anything is retransmitted if only acknowledgements are lost."""
    keys = 'stack = "linux", netem = { server = { loss = 0.05 } }'
    row = flow(run_scenario(scenario(keys, "2 MB")))
    assert row["completed"]
    assert row["retransmissions"] <= 3


TWICE = """
trace = { measures = ["cwnd", "ssthresh"], every = "10 ms" }
[network]
topology = "point-to-point"
link = { rate = "20 Mbps", delay = "20 ms", queue = "20 packets" }
[[flow]]
app = { kind = "upload", size = "4 MB" }
transport = { KEYS }
[[flow]]
start = "60 s"
app = { kind = "upload", size = "4 MB" }
transport = { KEYS }
"""


@needs_kernel
@pytest.mark.parametrize("remembered", [True, False])
def test_a_kernel_keeps_the_threshold_of_the_connection_before(remembered: bool) -> None:
    """A connection that ends in congestion avoidance stores the larger of its threshold and half of its window
    (`tcp_update_metrics`). The next one starts with it, and avoids the losses of an overshooting slow start."""
    keys = f'kind = "tcp", cc = "reno", stack = "linux", metrics = {str(remembered).lower()}'
    result = run_scenario(load(TWICE.replace("KEYS", keys)))
    assert result.flows["intact"].all()
    traced = {
        key: result.samples.filter((pl.col("measure") == key[0]) & (pl.col("flow") == key[1]))
        for key in itertools.product(("cwnd", "ssthresh"), (0, 1))
    }
    window, threshold = (traced[measure, 0]["value"][-1] for measure in ("cwnd", "ssthresh"))
    assert window > threshold
    left = max(threshold, window // 2 // 1448 * 1448)
    second = traced["ssthresh", 1]
    # It is there in the first sample, or appears with the first loss after several round trips of 40 ms.
    assert (second["value"][0] == left and second["time_s"][0] < 60.1) == remembered
    assert (result.flows["retransmissions"][1] < result.flows["retransmissions"][0]) == remembered


@needs_kernel
def test_subflows_keep_thresholds_by_their_addresses() -> None:
    text = """
    [network]
    topology = "multipath"
    path = [
        { rate = "10 Mbps", delay = "10 ms", queue = "20 packets" },
        { rate = "20 Mbps", delay = "10 ms", queue = "20 packets" },
    ]
    """
    upload = (
        'app = { kind = "upload", size = "4 MB" }\ntransport = { kind = "mptcp", stack = "linux", metrics = true }\n'
    )
    text += f'[[flow]]\n{upload}[[flow]]\nstart = "60 s"\n{upload}'
    rows = run_scenario(load(text)).flows.rows(named=True)
    assert all(row["intact"] for row in rows)
    assert rows[1]["retransmissions"] < rows[0]["retransmissions"]


@needs_kernel
@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        ("metrics = true", "", "metrics"),
        ("netem = { loss = 0.1 }", "netem = { loss = 0.2 }", "netem"),
        ('offloads = "all"', "", "offloads"),
    ],
)
def test_a_host_has_one_queue_and_one_memory(first: str, second: str, message: str) -> None:
    text = '[network]\ntopology = "point-to-point"\nlink = { rate = "10 Mbps" }\n'
    for keys in (f'stack = "linux", {first}', f'stack = "linux", {second}'):
        text += f'[[flow]]\napp = {{ kind = "upload", size = "1 kB" }}\ntransport = {{ {keys.strip(" ,")} }}\n'
    with pytest.raises(RunError, match=f'host "a".*{message}'):
        run_scenario(load(text))


@needs_kernel
def test_a_host_that_is_client_and_server_has_one_emulator() -> None:
    """Losses by side apply to the host's single interface, whichever side it plays."""
    text = '[network]\ntopology = "point-to-point"\nlink = { rate = "10 Mbps", delay = "5 ms" }\n'
    for client, server, side in (("a", "b", "client"), ("b", "a", "server")):
        text += f'[[flow]]\nclient = "{client}"\nserver = "{server}"\napp = {{ kind = "upload", size = "100 kB" }}\n'
        text += f'transport = {{ stack = "linux", netem = {{ {side} = {{ loss = 0.05 }} }} }}\n'
    assert run_scenario(load(text)).flows["intact"].all()


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"netem": {"loss": 1.5}}, r"netem\.loss.*1\.5.*from 0 to 1"),
        ({"netem": {"loss": "much"}}, r"netem\.loss.*much"),
        ({"netem": {"los": 0.1}}, r'netem.*"los".*loss'),
        ({"netem": {"client": {"loss": -0.1}}}, r"netem\.client\.loss.*-0\.1"),
        ({"netem": {"client": {}, "loss": 0.1}}, r'netem.*"loss"'),
        ({"netem": 0.1}, r"netem"),
        ({"netem": {"server": {"loss": 0.1}}, "stack": {"client": "linux"}}, r"netem\.server.*server is no guest"),
        ({"netem": {"loss": 0.1}, "stack": "vazao"}, r'netem.*neither side is a guest; write stack = "linux"'),
        (
            {"kind": "sctp", "netem": {"loss": 0.1}, "stack": {"server": "linux"}},
            r'netem.*stack = "linux" for both sides',
        ),
        ({"offloads": "tso"}, r'offloads.*"tso".*none, tcp, all'),
        ({"kind": "sctp", "metrics": True}, r'unknown key "metrics"'),
    ],
)
def test_what_is_wrong_is_said_before_anything_runs(keys: dict[str, object], message: str) -> None:
    plain = LINUX.replace('{ stack = "linux" }', "{}")
    with pytest.raises(ScenarioError, match=message):
        load(plain, overrides=[("flow.0.transport", {"kind": "tcp", "stack": "linux"} | keys)])
