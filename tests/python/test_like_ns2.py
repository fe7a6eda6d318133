"""`like = "ns2"` compared with ns-2 itself: the same transfer, the same lost packets."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

import vazao as vz
from tools import needs

SCRIPT = Path(__file__).parent / "ns2_transfer.tcl"
SEGMENTS = 1000
LARGE = 10_000
"""Window in segments that is never the limit."""

pytestmark = needs("ns")

PATHS = [(25, 10, 100), (25, 10, 20), (5, 10, 50), (50, 2, 30)]
"""Delay in ms, rate in Mbit/s, queue in packets."""


def theirs(path: tuple[int, int, int], lost: tuple[int, ...], window: int) -> float:
    """Completion time in ns-2, in seconds."""
    command = ["ns", str(SCRIPT), *map(str, path), str(SEGMENTS), str(window), " ".join(map(str, lost))]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def ours(path: tuple[int, int, int], lost: tuple[int, ...], window: int | None, **settings: object) -> float:
    """Completion time in our TCP, in seconds."""
    delay, rate, queue = path
    loss = {"forward": {"loss": {"kind": "list", "packets": list(lost)}}} if lost else {}
    bottleneck = vz.link(f"{rate} Mbps", f"{delay} ms", queue=f"{queue} packets", **loss)
    network = vz.path(vz.link("1 Gbps", "1 us", queue="100000 packets"), bottleneck)
    buffer = {} if window is None else {"receive_buffer": f"{window} kB"}
    transport = vz.tcp(like="ns2", cc="reno", **buffer, **settings)
    flow = vz.flow(vz.upload(f"{SEGMENTS} kB"), transport)
    return float(vz.run(network, [flow]).flows["completion_s"][0])


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("lost", [(20,), (20, 21), (20, 40, 60), (30, 31, 32, 33, 34)])
def test_transfers_with_listed_losses_take_as_long(path: tuple[int, int, int], lost: tuple[int, ...]) -> None:
    assert ours(path, lost, LARGE) == pytest.approx(theirs(path, lost, LARGE), rel=0.01)


@pytest.mark.parametrize("path", PATHS)
def test_the_overshoot_of_slow_start_takes_as_long(path: tuple[int, int, int]) -> None:
    """With RFC 6675's pipe, which subtracts lost segments, it takes up to 30 % less (25 ms, 20 packets)."""
    assert ours(path, (), LARGE) == pytest.approx(theirs(path, (), LARGE), rel=0.05)


def test_what_the_pipe_explains() -> None:
    assert ours(PATHS[1], (), LARGE, recovery="sack") < 0.75 * theirs(PATHS[1], (), LARGE)


@pytest.mark.parametrize("path", PATHS)
def test_its_window_of_twenty_segments(path: tuple[int, int, int]) -> None:
    assert ours(path, (), None) == pytest.approx(theirs(path, (), 20), rel=0.01)
