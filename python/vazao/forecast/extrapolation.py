"""Run-time forecasts, extrapolated from pieces of sampled runs and the machine's measured speed."""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import polars as pl

from vazao import _core, units
from vazao.forecast.pace import Pace, Run, measured
from vazao.scenario import lacking
from vazao.store import table
from vazao.study import PlannedRun

PIECE_SECONDS = 0.4
"""Real time for the piece of a single scenario. The piece is then run again, in half and in full."""

SAMPLE_SECONDS = 0.15
"""Real time for the piece of each sampled run of a study."""

SAMPLES = 10
"""Number of a study's runs that are sampled for an estimate."""

PATIENCE = 8
"""Multiple of a piece's time after which a stuck one is given up: a guest must start before simulated time passes."""


@dataclass(frozen=True)
class Forecast:
    """Estimated real time of runs and, for a single run, its estimated end in simulated time."""

    seconds: float
    ends_s: float | None = None


@dataclass(frozen=True)
class _Piece:
    """The first seconds of a run: the real time they took, and the progress of each flow."""

    end_s: float
    seconds: float
    hops: float
    flows: pl.DataFrame

    @property
    def packets(self) -> list[float]:
        """Packets sent by each flow."""
        return [float(count or 0) for count in self.flows["packets_sent"]]


class _TimeUp(Exception):  # noqa: N818
    """Signal that a piece's time is up. Not an error: raising is the only way to stop a run from outside."""


def forecast_run(run: Run, budget: float = PIECE_SECONDS, pace: Pace | None = None) -> Forecast:
    """Forecast one run on one core, from a piece of it that takes `budget` seconds.

    Scenarios with programs, with another simulator, or with something that this machine lacks are not run: they are
    estimated from the machine's pace.
    """
    scenario = run.scenario if isinstance(run, PlannedRun) else run
    if not (scenario.programs or scenario.simulators or lacking(scenario)):
        reached, seconds = _reached(scenario, budget)
        if reached is None:
            return Forecast(seconds)
        half, whole = (_piece(scenario, reached * share, budget) if reached > 0 else None for share in (0.5, 1.0))
        if half and whole:
            return _extrapolated(scenario, half, whole)
    return Forecast((pace or measured([scenario])).seconds(scenario), scenario.until_s)


def forecast_runs(runs: Sequence[Run], jobs: int) -> Forecast:
    """Forecast a campaign of runs on `jobs` cores.

    Each run is first estimated from the machine's pace. A systematic sample, with probabilities proportional to these
    estimates, is then forecast, and the sample's mean ratio of forecast to estimate corrects the total (Hansen and
    Hurwitz, 1943).
    """
    if not runs:
        return Forecast(0.0)
    pace = measured(runs)
    estimated = [pace.seconds(run) for run in runs]
    if len(runs) <= SAMPLES:
        total = sum(forecast_run(run, SAMPLE_SECONDS, pace).seconds for run in runs)
    else:
        ratios = [forecast_run(runs[n], SAMPLE_SECONDS, pace).seconds / estimated[n] for n in _sampled(estimated)]
        total = sum(estimated) * sum(ratios) / len(ratios)
    return Forecast(pace.together(total, len(runs), jobs))


def _sampled(estimated: Sequence[float]) -> Iterator[int]:
    """Indices of runs at equal steps of cumulative work; in a study's order, neighbouring runs are similar."""
    sums = list(accumulate(estimated))
    for step in range(SAMPLES):
        yield min(bisect_left(sums, sums[-1] * (step + 0.5) / SAMPLES), len(sums) - 1)


def _reached(scenario: _core.Scenario, budget: float) -> tuple[float | None, float]:
    """Simulated time that a run reaches within `budget` seconds, None if it ends before, and the real time taken."""
    began = time.perf_counter()
    reached = 0.0

    def tick(now_s: float) -> None:
        nonlocal reached
        reached = now_s
        elapsed = time.perf_counter() - began
        if elapsed >= budget and (now_s > 0 or elapsed >= PATIENCE * budget):
            raise _TimeUp

    try:
        _core.run(scenario, on_tick=tick)
    except _TimeUp:
        return reached, time.perf_counter() - began
    return None, time.perf_counter() - began


def _piece(scenario: _core.Scenario, end_s: float, budget: float) -> _Piece | None:
    """Run the first `end_s` seconds of a scenario; None if they fail or take far longer than `budget`."""
    began = time.perf_counter()

    def tick(_: float) -> None:
        if time.perf_counter() - began >= PATIENCE * budget:
            raise _TimeUp

    try:
        outcome = _core.run(scenario.with_until(end_s), on_tick=tick)
    except _TimeUp:
        return None
    seconds = time.perf_counter() - began
    if outcome.failure or outcome.not_run:
        return None
    return _Piece(end_s, seconds, table(outcome, "runs")["packet_hops"][0], table(outcome, "flows"))


def _extrapolated(scenario: _core.Scenario, half: _Piece, whole: _Piece) -> Forecast:
    """Extrapolate a piece to the whole run, at the cost per packet of the second half of the piece."""
    ends, packets = _projection(scenario, half, whole)
    so_far, before = sum(whole.packets), sum(half.packets)
    if so_far <= 0:
        # Nothing has been sent so far, as before a late start: only packet-hops are left to estimate from.
        hops = max(1.0, scenario.work().hops)
        return Forecast(whole.seconds * max(1.0, hops / max(1.0, whole.hops)), scenario.until_s)
    # The difference excludes the cost of starting a guest, but few packets make it unreliable.
    each = (whole.seconds - half.seconds) / (so_far - before) if so_far > 1.2 * before else 0.0
    each = min(max(each, 0.25 * whole.seconds / so_far), whole.seconds / so_far * 2)
    return Forecast(whole.seconds + each * max(0.0, packets - so_far), ends)


def _projection(scenario: _core.Scenario, half: _Piece, whole: _Piece) -> tuple[float | None, float]:
    """Estimated end of the last flow, and the packets that all flows will have sent by then."""
    apps = [flow["app"] for flow in scenario.graph()["flows"]]
    sent, before = whole.packets, half.packets
    carried = [float(count or 0) for count in whole.flows["app_bytes"]]
    mean = sum(sent) / max(1, sum(count > 0 for count in sent))
    each_byte = sum(sent) / max(1.0, sum(carried))
    guess = max(1.0, scenario.work().hops / max(1.0, whole.hops))
    ends, total = [whole.end_s], 0.0
    for n, row in enumerate(whole.flows.select("completed", "start_s").iter_rows(named=True)):
        size, until = _size(apps[n]), _limit(apps[n], row["start_s"], scenario.until_s)
        if sent[n] == 0:
            total += mean if size is None else size * each_byte
            continue
        if row["completed"]:
            total += sent[n]
            continue
        expected = sent[n] * guess if until is None else float("inf")
        if size is not None and carried[n] > 0:
            expected = sent[n] * max(1.0, size / carried[n])
        sending_s = whole.end_s - max(half.end_s, row["start_s"] or 0.0)
        rate = max(sent[n] - before[n], 0.0) / sending_s if sending_s > 0 else 0.0
        rate = rate or sent[n] / whole.end_s
        if until is not None:
            expected = min(expected, sent[n] + rate * max(0.0, until - whole.end_s))
        total += expected
        ends.append(whole.end_s + (expected - sent[n]) / rate)
    last = max(ends)
    return (last if scenario.until_s is None else min(last, scenario.until_s)), total


def _limit(app: dict[str, Any], start_s: float | None, until_s: float | None) -> float | None:
    """Latest time at which a flow ends; None if only its size limits it."""
    limits = [] if until_s is None else [until_s]
    if (lasts := _number(app["parameters"].get("duration"))) is not None:
        limits.append((start_s or 0.0) + lasts)
    return min(limits, default=None)


def _size(app: dict[str, Any]) -> float | None:
    """Total bytes that an application transfers; None if not known in advance."""
    if app["kind"] in ("page", "video", "requests"):
        return None
    given = app["parameters"]
    if (size := _number(given.get("size"))) is not None:
        return size
    count, message = given.get("count"), _number(given.get("message"))
    return None if count is None or message is None else float(count) * message


def _number(value: Any) -> float | None:
    """A quantity of the resolved scenario as a number in its base unit; None for anything else."""
    parsed = units.parse(value) if isinstance(value, str) else None
    return parsed[1] if parsed else None
