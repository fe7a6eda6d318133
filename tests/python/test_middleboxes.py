"""Linux behind middleboxes that strip options: it falls back as its protocols specify."""

from __future__ import annotations

from itertools import product
from typing import Any

import polars as pl
import pytest

import vazao as vz
from vazao import kernel
from vazao.results import Result, run_scenario
from vazao.scenario import load

needs_kernel = pytest.mark.skipif(kernel.find() is None, reason="no Linux guest kernel: `vazao kernel build` makes one")

TWO_PATHS = """
[network]
topology = "multipath"
path = [
    { rate = "10 Mbps", delay = "10 ms", queue = "1 bdp", FIRST },
    { rate = "10 Mbps", delay = "10 ms", queue = "1 bdp", SECOND },
]

[[flow]]
client = "a.1"
server = "b.1"
app = { kind = "upload", size = "5 MB" }
transport = { kind = "mptcp", stack = "linux" }
"""


def through(first: str, second: str) -> tuple[dict[str, Any], list[int]]:
    """The flow's row over two paths, and the bytes that each carried forward."""
    result = run_scenario(load(TWO_PATHS.replace("FIRST", first).replace("SECOND", second).replace(", }", " }")))
    sent = result.links.filter(pl.col("direction") == "forward")["bytes"].to_list()
    return result.flows.row(0, named=True), sent


@needs_kernel
@pytest.mark.parametrize("where", ["strip", "forward.strip", "reverse.strip"])
def test_multipath_tcp_falls_back_to_tcp(where: str) -> None:
    """RFC 8684 section 3.7: without the option in SYN or SYN/ACK the connection is plain TCP, over its one path."""
    row, (first, second) = through(f'{where} = "mptcp"', "")
    assert (row["app_bytes"], row["completed"], row["intact"]) == (5_000_000, True, True)
    assert first > 5_000_000
    assert second == 0
    # 3453 segments of 1448 bytes, 1500 with headers, take 4.14 s at 10 Mbit/s: headers without MPTCP's options.
    assert 4.14 < row["completion_s"] < 4.6


@needs_kernel
def test_a_subflow_that_cannot_join_is_done_without() -> None:
    row, (first, second) = through("", 'strip = "mptcp"')
    assert (row["app_bytes"], row["completed"], row["intact"]) == (5_000_000, True, True)
    assert first > 5_000_000
    assert 0 < second < 1_000, "a handshake that leads to nothing"


def both_ways(stack: object, strip: str, direction: str) -> Result:
    taken: dict[str, Any] = {"strip": strip} if direction == "both" else {direction: {"strip": strip}}
    net = vz.point_to_point(vz.link("10 Mbps", "15 ms", queue="60 packets", loss=0.005, **taken))
    return vz.run(net, [vz.flow(vz.upload("1 MB"), vz.tcp(stack=stack, sysctl={"net.ipv4.tcp_ecn": 1}))], seed=2)


@needs_kernel
@pytest.mark.parametrize("stack", ["linux", {"client": "linux"}, {"server": "linux"}])
def test_linux_does_without_what_is_stripped(stack: object) -> None:
    """Each option is stripped in either direction or both, and with one of our stacks at the other end.

    If only the answer loses the window scale, its sender uses it all the same: windows look 2048 times too small, and a
    megabyte takes an hour. Such a middlebox does that to any TCP, so the test does not wait for it.
    """
    names = ("sack", "timestamps", "window-scale", "ecn")
    cases = set(product(names, ("both", "forward", "reverse"))) - {("window-scale", "reverse")}
    for strip, direction in sorted(cases):
        row = both_ways(stack, strip, direction).flows.row(0, named=True)
        assert (row["completed"], row["intact"]) == (True, True), (strip, direction)
        assert row["packets_lost"] > 0
        assert row["retransmissions"] > 0
