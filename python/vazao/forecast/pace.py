"""Speed of this machine, to estimate how long runs will take before they start."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from functools import cache
from typing import TypeAlias

from vazao import _core, kernel
from vazao.scenario import load
from vazao.store import SMALLEST, joined_table
from vazao.study import PlannedRun

Run: TypeAlias = _core.Scenario | PlannedRun
"""A run whose duration is estimated."""

_LARGER = SMALLEST.replace('size = "1 B" }', 'size = "100 MB" }')

_GUESTS = SMALLEST + 'transport = { kind = "tcp", stack = "linux" }\n'

_RUNS = 100
"""Number of runs of the smallest scenario that are timed together."""

_BATCH = 10
"""Times that their rows are joined: a campaign of short runs has thousands in a batch."""


@dataclass(frozen=True)
class Pace:
    """Durations of a run's parts in seconds. The defaults are those of an ordinary machine."""

    hop: float = 50e-9
    """Forwarding a packet over a link."""
    run: float = 0.1e-3
    """Building a run and tearing it down."""
    rows: float = 0.1e-3
    """Building the tables of a run's measurements, which is done serially, many runs at a time."""
    campaign: float = 0.4
    """Opening the directory of a campaign, and querying its results."""
    guest: float = 0.1
    """Starting a guest and stopping it."""
    guest_packet: float = 50e-6
    """Sending or receiving a packet in a guest: each wakes a kernel in another process."""
    foreign_hop: float = 1e-6
    """Forwarding a packet over a link in ns-2."""
    foreign_run: float = 0.3
    """Starting ns-2 and parsing its output."""

    def seconds(self, run: Run) -> float:
        """Estimated time of a run on one core."""
        work = run.work()
        if run.cell.needs.simulators if isinstance(run, PlannedRun) else run.simulators:
            return self.foreign_run + work.hops * self.foreign_hop
        return self.run + work.hops * self.hop + work.guests * self.guest + work.guest_packets * self.guest_packet

    def total(self, scenarios: Collection[Run], jobs: int) -> float:
        """Estimated time of a campaign of runs on `jobs` cores."""
        return self.together(sum(map(self.seconds, scenarios)), len(scenarios), jobs)

    def together(self, seconds: float, runs: int, jobs: int) -> float:
        """Estimated time of a campaign on `jobs` cores whose runs take so many seconds on one."""
        rows = self.rows * runs
        return self.campaign + max(rows, (rows + seconds) / max(1, min(jobs, runs)))


def measured(scenarios: Collection[Run]) -> Pace:
    """Measure the current pace of this machine, as far as these scenarios need it; cached until `forget`."""
    guests = any(scenario.work().guests for scenario in scenarios) and kernel.find() is not None
    return _with_guests() if guests else _without_guests()


def forget() -> None:
    """Discard the cached measurements, as the machine may have become busier or idler."""
    _without_guests.cache_clear()
    _with_guests.cache_clear()


@cache
def _without_guests() -> Pace:
    smallest = load(SMALLEST)
    outcomes: list[_core.Outcome] = []
    repeated = [smallest] * _RUNS
    run_time = _timed(
        lambda: _core.run_many(
            repeated, jobs=1, on_outcome=lambda _, outcome: outcomes.append(outcome), on_tick=lambda: None
        )
    )
    names = ("runs", "flows", "paths", "links", "samples")
    table_time = _timed(lambda: [joined_table(outcomes * _BATCH, name) for name in names])
    larger = load(_LARGER)
    hop = _timed(lambda: _core.run(larger)) / larger.work().hops
    return Pace(hop=hop, run=run_time / _RUNS, rows=table_time / (_RUNS * _BATCH))


@cache
def _with_guests() -> Pace:
    idle, busy = load(_GUESTS), load(_GUESTS.replace('"1 B"', '"2 MB"'))
    outcome = _core.run(idle)
    if outcome.failure or outcome.not_run:
        return _without_guests()
    started, worked = _timed(lambda: _core.run(idle)), _timed(lambda: _core.run(busy))
    packets = busy.work().guest_packets - idle.work().guest_packets
    return replace(
        _without_guests(), guest=started / idle.work().guests, guest_packet=max(1e-6, (worked - started) / packets)
    )


def _timed(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began
