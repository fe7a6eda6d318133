"""A sender's `struct tcp_info`: ours compared with the kernel's, in the same scenario.

A kernel is built once by `vazao kernel build`; without one these tests are skipped.
"""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from vazao import kernel
from vazao.results import Result, run_scenario
from vazao.scenario import load

pytestmark = pytest.mark.skipif(kernel.find() is None, reason="no Linux guest kernel: `vazao kernel build` makes one")

TEXT = """
trace = ["ca_state", "lost", "sacked"]
[network]
topology = "point-to-point"
link = { rate = "10 Mbps", delay = "20 ms", queue = "60 packets", forward = { WIRE } }
[[flow]]
app = { APP }
transport = { kind = "tcp", cc = "cubic", STACK }
"""

OURS = 'slow_start = "hystart", host = "linux", bursts = "deferred"'
LINUX = 'stack = "linux"'
FILE = 'kind = "upload", size = "10 MB"'

TICK_S = 0.01
"""Tick of the guests' kernels, which run at 100 Hz."""


def both(app: str, wire: str = "") -> list[Result]:
    """Results of both stacks: ours, then Linux's."""
    text = TEXT.replace("WIRE", wire).replace("APP", app)
    return [run_scenario(load(text.replace("STACK", stack))) for stack in (OURS, LINUX)]


def row(result: Result) -> dict[str, Any]:
    return result.flows.row(0, named=True)


def mean(result: Result, measure: str) -> float:
    """Time-weighted mean of a traced measure: each value holds until the next."""
    seen = result.samples.filter(pl.col("measure") == measure)
    spans = seen["time_s"].diff().drop_nulls()
    return float((seen["value"].head(-1) * spans).sum() / spans.sum())


@pytest.mark.parametrize("kind", ["upload", "download"])
def test_a_slow_reader_limits_both_alike(kind: str) -> None:
    """The sender waits throughout the 8 s, except for the data that fill the receiver's first buffer and the data that
    its last one holds. The kernel counts these differently."""
    ours, linux = map(row, both(f'kind = "{kind}", size = "2 MB", read_rate = "2 Mbps"'))
    for column in "rwnd_limited_s", "busy_s":
        assert ours[column] == pytest.approx(linux[column], rel=0.03), column
    for one in ours, linux:
        assert 0.8 * 8 < one["rwnd_limited_s"] < one["busy_s"] < one["completion_s"]
    told = [name for name in linux if name.startswith("limited_") and linux[name] is not None]
    assert told == ["limited_send_buffer_s", "limited_receive_window_s"]
    assert linux["limited_receive_window_s"] == linux["rwnd_limited_s"]
    assert ours["limited_receive_window_s"] == pytest.approx(ours["rwnd_limited_s"], rel=0.03)
    assert linux["life_s"] is None


def test_a_transfer_with_losses_tells_the_same() -> None:
    """Both retransmit every lost packet exactly once, so that every count is known."""
    ours, linux = both(FILE, "loss = { kind = 'list', packets = [100, 1000, 1001, 1002, 3000, 5000, 5010] }")
    one, other = row(ours), row(linux)
    assert one["retransmissions"] == other["retransmissions"] == 7
    assert one["busy_s"] == pytest.approx(other["busy_s"], abs=2 * TICK_S)
    assert one["rwnd_limited_s"] == other["rwnd_limited_s"] == 0
    assert one["reordering"] == other["reordering"] == 3
    states = [set(result.samples.filter(pl.col("measure") == "ca_state")["value"]) for result in (ours, linux)]
    assert states[0] == {0, 1, 3}
    assert states[1] <= {0, 1, 3}, "a sample may miss a moment of disorder"
    # The kernel is sampled every 10 ms; a round trip takes 40 ms, and up to 112 ms with the queue.
    for measure in "ca_state", "lost", "sacked":
        assert mean(ours, measure) == pytest.approx(mean(linux, measure), rel=0.1), measure


def test_reordering_is_seen_alike() -> None:
    """Twelve packets overtake a segment, which then trails the highest one received by thirteen, inclusive."""
    rows = [row(result) for result in both(FILE, "reorder = { probability = 0.002, gap = 12 }")]
    assert [one["reordering"] for one in rows] == [13, 13]


def test_what_only_tcp_tells_is_missing_elsewhere() -> None:
    guest = TEXT.replace("WIRE", "").replace("APP", FILE.replace("10 MB", "1 MB"))
    for kind in "mptcp", "sctp":
        reported = row(run_scenario(load(guest.replace('"tcp", cc = "cubic"', f'"{kind}"').replace("STACK", LINUX))))
        assert [reported[name] for name in ("busy_s", "rwnd_limited_s", "sndbuf_limited_s", "reordering")] == [
            None
        ] * 4, kind


def test_short_writes_wait_alike() -> None:
    """Nagle's algorithm in Minshall's variant: of messages of 100 bytes, 10 ms apart, those of one round trip of 40 ms
    leave as one segment. Ours sends as many packets as the kernel, whose program leaves Nagle on."""
    app = 'kind = "cbr", rate = "80 kbps", message = "100 B", duration = "2 s"'
    like = TEXT.replace("WIRE", "").replace("APP", app)
    ours, linux = (row(run_scenario(load(like.replace("STACK", stack)))) for stack in ('like = "linux"', LINUX))
    assert ours["app_bytes"] == linux["app_bytes"] == 20_000
    assert ours["packets_sent"] == linux["packets_sent"] < 100


WIDE = """
[network]
topology = "point-to-point"
link = { rate = "1 Gbps", delay = "40 ms", queue = "2000 packets" }
[[flow]]
app = { kind = "upload", size = "15 MB" }
transport = { kind = "tcp", cc = "cubic", STACK }
"""


@pytest.mark.parametrize(
    ("buffers", "limited"),
    [('tcp_rmem = "1 MiB"', "rwnd_limited_s"), ('tcp_wmem = "2 MiB"', ""), ('send_buffer = "1 MiB"', "")],
)
def test_buffers_bound_both_alike(buffers: str, limited: str) -> None:
    """Covers a receive buffer of which two thirds hold data, the kernel's own send buffer, and one set by SO_SNDBUF,
    which is doubled. When the kernel's program wakes up, it writes 256 KiB at once, an eighth of the buffer."""
    ours, linux = (
        row(run_scenario(load(WIDE.replace("STACK", f"{stack}, {buffers}")))) for stack in ('like = "linux"', LINUX)
    )
    assert ours["goodput_bps"] < 0.2e9
    assert ours["goodput_bps"] == pytest.approx(linux["goodput_bps"], rel=0.02 if limited else 0.125)
    if limited:
        assert ours[limited] == pytest.approx(linux[limited], abs=2 * TICK_S)
