"""Pace of this machine: for estimates of how long runs take, before they are run."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from functools import cache
from typing import TypeAlias

from vazao import _core, kernel
from vazao.results.result import table
from vazao.scenario import load
from vazao.study import PlannedRun

Run: TypeAlias = _core.Scenario | PlannedRun
"""A run that an estimate is asked of."""

SMALLEST = """
[network]
topology = "point-to-point"
link = { rate = "1 Gbps" }
[[flow]]
app = { kind = "upload", size = "1 B" }
"""
"""A run of its costs alone, and for its columns: it takes less than a millisecond."""

_LARGER = SMALLEST.replace('size = "1 B" }', 'size = "100 MB" }')

_GUESTS = SMALLEST + 'transport = { kind = "tcp", stack = "linux" }\n'

_RUNS = 25
"""Times that the smallest run is timed."""


@dataclass(frozen=True)
class Pace:
    """Seconds that parts of a run take. As it stands, those of an ordinary machine."""

    hop: float = 50e-9
    """A packet over a link."""
    run: float = 0.3e-3
    """Building a run and taking it down."""
    rows: float = 2e-3
    """Making tables of what a run measured, which is done for one run at a time."""
    guest: float = 0.1
    """Starting a guest and ending it."""
    guest_packet: float = 50e-6
    """A packet sent or received by a guest: each wakes a kernel, which is another process."""
    foreign_hop: float = 1e-6
    """A packet over a link in ns-2."""
    foreign_run: float = 0.3
    """Starting ns-2 and reading what it wrote."""

    def seconds(self, run: Run) -> float:
        """An estimate of the time that a run takes on one core."""
        work = run.work()
        if run.cell.needs.simulators if isinstance(run, PlannedRun) else run.simulators:
            return self.foreign_run + work.hops * self.foreign_hop
        return self.run + work.hops * self.hop + work.guests * self.guest + work.guest_packets * self.guest_packet

    def total(self, scenarios: Collection[Run], jobs: int) -> float:
        """An estimate of the time that runs take on `jobs` cores."""
        rows = self.rows * len(scenarios)
        return max(rows, (rows + sum(map(self.seconds, scenarios))) / max(1, min(jobs, len(scenarios))))


def measured(scenarios: Collection[Run]) -> Pace:
    """The pace of this machine at this moment, as far as these scenarios need it."""
    guests = any(scenario.work().guests for scenario in scenarios) and kernel.find() is not None
    return _with_guests() if guests else _ours()


def forget() -> None:
    """Measure again when next asked, as the machine may have become busier or freer."""
    _ours.cache_clear()
    _with_guests.cache_clear()


@cache
def _ours() -> Pace:
    smallest = load(SMALLEST)
    outcomes: list[_core.Outcome] = []
    few = [smallest] * _RUNS
    ended = _timed(
        lambda: _core.run_many(few, jobs=1, on_outcome=lambda _, made: outcomes.append(made), on_tick=lambda: None)
    )
    names = ("runs", "flows", "paths", "links", "samples")
    told = _timed(lambda: [table(made, name) for made in outcomes for name in names])
    larger = load(_LARGER)
    hop = _timed(lambda: _core.run(larger)) / larger.work().hops
    return Pace(hop=hop, run=ended / _RUNS, rows=told / _RUNS)


@cache
def _with_guests() -> Pace:
    idle, busy = load(_GUESTS), load(_GUESTS.replace('"1 B"', '"2 MB"'))
    outcome = _core.run(idle)
    if outcome.failure or outcome.not_run:
        return _ours()
    started, worked = _timed(lambda: _core.run(idle)), _timed(lambda: _core.run(busy))
    packets = busy.work().guest_packets - idle.work().guest_packets
    return replace(_ours(), guest=started / idle.work().guests, guest_packet=max(1e-6, (worked - started) / packets))


def _timed(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began
