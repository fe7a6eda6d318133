"""Forecast of how long runs take: a short piece of each kind is run, and the rest follows from what it has moved."""

from __future__ import annotations

import json
import time
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import polars as pl

from vazao import _core, units
from vazao.results.pace import Pace, Run, measured
from vazao.results.result import table
from vazao.scenario import lacking
from vazao.study import PlannedRun

PIECE_SECONDS = 0.4
"""Real time that the piece of a single scenario takes. It is run once more, and half of it."""

SAMPLE_SECONDS = 0.15
"""Real time that the piece of each sampled run of a study takes."""

SAMPLES = 10
"""Runs of a study that are sampled for an estimate."""

PATIENCE = 8
"""Pieces' times after which one that has not moved is given up: a guest has to start before time passes."""


@dataclass(frozen=True)
class Forecast:
    """Real time that runs take, and when a single one will probably end in simulated time."""

    seconds: float
    ends_s: float | None = None


@dataclass(frozen=True)
class _Piece:
    """The first seconds of a run: how long they took, and what each flow had come to."""

    end_s: float
    seconds: float
    hops: float
    flows: pl.DataFrame

    @property
    def packets(self) -> list[float]:
        """Packets that each flow had sent."""
        return [float(count or 0) for count in self.flows["packets_sent"]]


class _Enough(Exception):  # noqa: N818
    """The time for a piece is over: no error, but the one way to end a run from outside."""


def forecast_run(run: Run, budget: float = PIECE_SECONDS, pace: Pace | None = None) -> Forecast:
    """A forecast of one run on one core, from a piece of it that takes so many seconds.

    Programs are not run, and neither is what another simulator plays: these go by the pace of the machine.
    """
    scenario = run.scenario if isinstance(run, PlannedRun) else run
    if not (scenario.programs or scenario.simulators or lacking(scenario)):
        reached, seconds = _reached(scenario, budget)
        if reached is None:
            return Forecast(seconds)
        half, whole = (_piece(scenario, reached * share, budget) if reached > 0 else None for share in (0.5, 1.0))
        if half and whole:
            return _extended(scenario, half, whole)
    return Forecast((pace or measured([scenario])).seconds(scenario), scenario.until_s)


def forecast_runs(runs: Sequence[Run], jobs: int) -> Forecast:
    """A forecast of many runs on `jobs` cores.

    Runs are sampled in proportion to what they should take by the pace of the machine, which each of them corrects: a
    systematic sample of unequal probabilities, whose mean correction is that of all (Hansen and Hurwitz, 1943).
    """
    if not runs:
        return Forecast(0.0)
    pace = measured(runs)
    guessed = [pace.seconds(run) for run in runs]
    if len(runs) <= SAMPLES:
        total = sum(forecast_run(run, SAMPLE_SECONDS, pace).seconds for run in runs)
    else:
        ratios = [forecast_run(runs[n], SAMPLE_SECONDS, pace).seconds / guessed[n] for n in _sampled(guessed)]
        total = sum(guessed) * sum(ratios) / len(ratios)
    rows = pace.rows * len(runs)
    return Forecast(max(rows, (rows + total) / max(1, min(jobs, len(runs)))))


def _sampled(guessed: Sequence[float]) -> Iterator[int]:
    """Places of runs at equal steps of the work of all; in a study's order neighbours are of a kind."""
    sums = list(accumulate(guessed))
    for step in range(SAMPLES):
        yield min(bisect_left(sums, sums[-1] * (step + 0.5) / SAMPLES), len(sums) - 1)


def _reached(scenario: _core.Scenario, budget: float) -> tuple[float | None, float]:
    """The simulated time that a run reaches in so many seconds, None if it has ended; and how long that took."""
    began = time.perf_counter()
    reached = 0.0

    def tick(now_s: float) -> None:
        nonlocal reached
        reached = now_s
        elapsed = time.perf_counter() - began
        if elapsed >= budget and (now_s > 0 or elapsed >= PATIENCE * budget):
            raise _Enough

    try:
        _core.run(scenario, on_tick=tick)
    except _Enough:
        return reached, time.perf_counter() - began
    return None, time.perf_counter() - began


def _piece(scenario: _core.Scenario, end_s: float, budget: float) -> _Piece | None:
    """The first `end_s` seconds of a run; None where they fail, or take far longer than they did."""
    began = time.perf_counter()

    def tick(_: float) -> None:
        if time.perf_counter() - began >= PATIENCE * budget:
            raise _Enough

    try:
        outcome = _core.run(scenario.with_until(end_s), on_tick=tick)
    except _Enough:
        return None
    seconds = time.perf_counter() - began
    if outcome.failure or outcome.not_run:
        return None
    return _Piece(end_s, seconds, table(outcome, "runs")["packet_hops"][0], table(outcome, "flows"))


def _extended(scenario: _core.Scenario, half: _Piece, whole: _Piece) -> Forecast:
    """The whole run by its first piece, and by the difference to the half of that: what came late goes on."""
    ends, packets = _rest(scenario, half, whole)
    so_far, before = sum(whole.packets), sum(half.packets)
    if so_far <= 0:
        # Nothing has been sent so far, as before a late start: hops are all there is to go by.
        hops = max(1.0, scenario.work().hops)
        return Forecast(whole.seconds * max(1.0, hops / max(1.0, whole.hops)), scenario.until_s)
    # Starting a guest belongs to no packet; but a difference of few packets says little.
    each = (whole.seconds - half.seconds) / (so_far - before) if so_far > 1.2 * before else 0.0
    each = min(max(each, 0.25 * whole.seconds / so_far), whole.seconds / so_far * 2)
    return Forecast(whole.seconds + each * max(0.0, packets - so_far), ends)


def _rest(scenario: _core.Scenario, half: _Piece, whole: _Piece) -> tuple[float | None, float]:
    """The time at which the last flow will have ended, and the packets that all of them will have sent by then."""
    apps = [flow["app"] for flow in json.loads(scenario.json)["flows"]]
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
        known = sent[n] * guess if until is None else float("inf")
        if size is not None and carried[n] > 0:
            known = sent[n] * max(1.0, size / carried[n])
        lived = whole.end_s - max(half.end_s, row["start_s"] or 0.0)
        rate = max(sent[n] - before[n], 0.0) / lived if lived > 0 else 0.0
        rate = rate or sent[n] / whole.end_s
        if until is not None:
            known = min(known, sent[n] + rate * max(0.0, until - whole.end_s))
        total += known
        ends.append(whole.end_s + (known - sent[n]) / rate)
    last = max(ends)
    return (last if scenario.until_s is None else min(last, scenario.until_s)), total


def _limit(app: dict[str, Any], start_s: float | None, until_s: float | None) -> float | None:
    """The time at which a flow ends at the latest; None where only its size says."""
    limits = [] if until_s is None else [until_s]
    if (lasts := _number(app.get("duration"))) is not None:
        limits.append((start_s or 0.0) + lasts)
    return min(limits, default=None)


def _size(app: dict[str, Any]) -> float | None:
    """Bytes that an application moves in all; None where that is not known beforehand."""
    if app["kind"] in ("page", "video", "requests"):
        return None
    if (size := _number(app.get("size"))) is not None:
        return size
    count, message = app.get("count"), _number(app.get("message"))
    return None if count is None or message is None else float(count) * message


def _number(value: Any) -> float | None:
    """A quantity as the resolved scenario has it, in its base unit."""
    parsed = units.parse(value) if isinstance(value, str) else None
    return parsed[1] if parsed else None
