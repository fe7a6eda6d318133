"""The benchmark measures what its documentation says."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tools import needs
from vazao import _core

BENCH = Path(__file__).parents[2] / "bench"
sys.path.insert(0, str(BENCH))

import instructions  # noqa: E402
import run  # noqa: E402

pytestmark = pytest.mark.process


def test_each_packet_takes_three_hops() -> None:
    """1 MB over three links without loss: 691 segments and their ACKs, three hops each, and a few to open and close."""
    app = '{ kind = "upload", size = "1 MB" }'
    result = run.measured(run.path(app=app))
    segments = -(-1_000_000 // 1448)
    # At least one ACK for two segments and at most one for each: like Linux's, the receiver acknowledges at once while
    # it is new or has announced a larger window (627 ACKs with Linux at both ends); SYN, FIN and their ACKs.
    assert 3 * (segments * 1.5) <= result["hops"] <= 3 * (segments * 2 + 8)
    assert result["cpu_s"] > 0
    assert 0 < result["peak_bytes"] < 50e6


def test_idle_flows_are_connected_and_open() -> None:
    result = run.measured(run.idle(20), sample=True)
    assert (result["connected"], result["closed"]) == (20, 0)


def test_a_campaign_costs_more_than_its_simulation() -> None:
    """Valgrind counts 227 000 instructions to build, run and collect: 15 us at 4 GHz and four a cycle."""
    cost = run.measured(run.smallest(), "campaign.py", runs=40, jobs=2)
    assert cost["runs"] == 40
    assert 15e-6 < cost["simulation_s"] < min(1e-3, cost["cpu_s"])
    assert 20e6 < cost["peak_bytes"] < 1e9


def test_a_run_that_fails_says_why() -> None:
    with pytest.raises(run.RunFailedError, match="topology"):
        run.measured("network = { topology = 'donut' }")


def test_every_case_loads() -> None:
    for case in run.CASES[:2]:
        assert len(_core.load(case.scenario).graph()["flows"]) == case.flows


@needs("ns")
def test_ns2_moves_as_many_packets_as_its_link_can() -> None:
    """Two seconds of a full bottleneck: 83 333 data packets a second, 4.5 hops for each with its half of an ACK."""
    done = subprocess.run(
        ["ns", str(BENCH / "ns2.tcl"), "1", "2"], capture_output=True, text=True, timeout=60, check=True
    )
    hops = next(float(line.split()[1]) for line in done.stdout.splitlines() if line.startswith("hops "))
    most = 2 * 1e9 / 12_000 * 4.5
    assert 0.8 * most < hops < 1.02 * most


def test_results_are_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs the command on one small case, without rivals: its JSON holds the speed that it printed."""
    small = run.Case("small", run.path(app='{ kind = "upload", size = "1 MB" }'), 1, 1e9)
    monkeypatch.setattr(run, "CASES", (small,))
    monkeypatch.setattr(run, "RIVALS", ())
    for part in ("growth", "campaigns", "idle_memory", "recording", "parallel", "controls", "queues", "transports"):
        monkeypatch.setattr(run.Report, part, lambda self: None)
    file = tmp_path / "bench.json"
    monkeypatch.setattr(sys, "argv", ["run.py", "--repeats", "1", "--json", str(file)])
    assert run.main() == 0  # The target is out of reach: missed, not failed.
    kept = json.loads(file.read_text())
    assert kept["speed"]["1"]["mhops_per_cpu_s"] > 0
    assert kept["failures"] == []


def test_no_case_takes_more_instructions_than_recorded() -> None:
    """Notices a regression on any machine; `bench/instructions.py --write` records an intended one."""
    try:
        now = instructions.measure()
    except instructions.NotMeasurableError as error:
        pytest.skip(str(error))
    before = instructions.recorded()
    assert set(now) == set(before)
    assert instructions.compare(now, before) == []


def test_more_instructions_are_named() -> None:
    assert instructions.compare({"a": 104, "b": 106}, {"a": 100, "b": 100}) == [
        "b: 106 instructions, +6.0% of the recorded 100"
    ]
