"""Counterfactual runs: each suspect taken away alone, under the same seeds, and those that matter together."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import polars as pl

from vazao import _core, limits
from vazao.causes.bound import Bound, bound
from vazao.causes.document import Document
from vazao.causes.suspects import SUSPECTS, Suspect
from vazao.errors import RunError, ScenarioError
from vazao.execution import Progress, Silent, run_many
from vazao.statistics import Welch, paired

if TYPE_CHECKING:
    from vazao.results import Experiment

MOST_RUNS = 60
"""Most runs of an inquiry unless asked for more."""

SEEDS = 10
"""Seeds under which what matters is run unless asked otherwise, as far as the runs suffice."""

SCREENING = 2
"""Seeds under which every suspect is tried once; those that matter are tried under the rest."""

MATTERS = 0.03
"""Least share of the missing goodput, and of the flow's own, that an effect must reach to matter."""

FINALISTS = 3
"""Most suspects that are run alone under all seeds."""

STEPS = 3
"""Most suspects that are taken away one after the other."""

LIKELY = 6
"""Suspects that a later step tries, the likeliest."""

REPLACED = "congestion control"
"""Suspect that cannot be taken away, only replaced."""

Removed = frozenset[str]
"""Names of the suspects that are taken away."""

NOTHING: Removed = frozenset()


@dataclass(frozen=True)
class Effect:
    """Gain of a flow without certain suspects."""

    removed: Removed
    goodput_bps: float
    """Mean goodput without them."""
    gain_bps: float
    interval: tuple[float, float] | None
    """95 % interval of the gain, paired by seeds; None where nothing is random, or under two seeds."""
    limits: Mapping[str, float]
    """Limits of the flow without them, under the first seed."""

    @property
    def is_sure(self) -> bool:
        """Whether the interval, if there is one, leaves no doubt that there is an effect."""
        return self.interval is None or self.interval[0] > 0 or self.interval[1] < 0


@dataclass(frozen=True)
class Answer:
    """Answer to the question why a flow is as fast as it is."""

    name: str
    flow: int
    bound: Bound | None
    goodput_bps: float
    """Mean over the seeds, with everything in place."""
    limits: Mapping[str, float]
    seeds: int
    """Seeds run with everything in place; 1 where nothing is random."""
    runs: int
    alone: Sequence[Effect]
    """Each suspect taken away alone, the largest gain first."""
    steps: Sequence[Effect]
    """Suspects taken away one after the other, each the one that brings most then: what is gone by then, and what each
    brings beside those before."""
    hiding: Sequence[str]
    """Suspects that hide each other: none of them brings anything alone, and each takes back what all of them bring."""
    titles: Mapping[str, str] = field(repr=False)
    """Words for each suspect in this scenario."""

    @property
    def missing_bps(self) -> float | None:
        """Goodput by which the flow stays below its bound; None without one."""
        return max(0.0, self.bound.goodput_bps - self.goodput_bps) if self.bound else None

    @property
    def taken(self) -> list[Removed]:
        """For each step the suspects that it takes away, and those before have not."""
        return [now - before for before, now in pairwise([NOTHING, *(step.removed for step in self.steps)])]

    @property
    def matters(self) -> list[Effect]:
        """Suspects whose absence alone matters, the largest gain first."""
        least = MATTERS * max(self.goodput_bps, self.missing_bps or 0.0)
        return [effect for effect in self.alone if effect.gain_bps > least and effect.is_sure]


class Inquiry:
    """Runs of an inquiry, each once."""

    def __init__(self, asked: Document, seeds: Sequence[int], most: int, jobs: int | None, progress: Progress) -> None:
        self.asked, self.seeds, self._most, self._progress = asked, list(seeds), most, progress
        self._jobs = jobs or os.cpu_count() or 1
        self._rows: dict[tuple[Removed, int], dict[str, Any]] = {}
        self._documents: dict[Removed, dict[str, Any] | None] = {}
        self.titles = {suspect.name: suspect.title(asked, asked.fresh()) for suspect in SUSPECTS}

    @property
    def runs(self) -> int:
        """Number of runs made."""
        return len(self._rows)

    def without(self, removed: Removed) -> dict[str, Any] | None:
        """The document without suspects; None if one of them is not there."""
        if removed not in self._documents:
            copy = self.asked.fresh()
            there = [one.remove(self.asked, copy) for one in SUSPECTS if one.name in removed]
            self._documents[removed] = copy if all(there) else None
        return self._documents[removed]

    def is_possible(self, removed: Removed) -> bool:
        """Whether all of these suspects are there, and there is a scenario without them."""
        document = self.without(removed)
        try:
            return document is not None and self.asked.scenario(document) is not None
        except ScenarioError:
            return False

    def run(self, wanted: Sequence[Removed], seeds: Sequence[int]) -> None:
        """Make the runs of each set of removed suspects under seeds, as far as they are missing and may be made."""
        missing = [(removed, seed) for seed in seeds for removed in wanted if (removed, seed) not in self._rows]
        missing = missing[: max(0, self._most - self.runs)]
        scenarios = [self._scenario(*one) for one in missing]

        def keep(place: int, outcome: Any) -> None:
            if outcome.not_run is not None or outcome.failure is not None:
                raise RunError(f"{self.asked.name}: {outcome.not_run or outcome.failure}")
            rows = pl.DataFrame(outcome.table("flows"))
            number = 0 if "other flows" in missing[place][0] else self.asked.number
            self._rows[missing[place]] = rows.row(number, named=True)
            self._advance(1)

        if scenarios:
            run_many(scenarios, jobs=self._jobs, on_outcome=keep, on_tick=lambda: self._advance(0))

    def _advance(self, runs: int) -> None:
        self._progress.advance(runs, self.runs / self._most)

    def _scenario(self, removed: Removed, seed: int) -> _core.Scenario:
        scenario = self.asked.scenario(self.without(removed))
        return (scenario if seed == scenario.seed else scenario.with_seed(seed)).with_trace(["limit"])

    def goodputs(self, removed: Removed, seeds: Sequence[int]) -> list[float]:
        """Goodput under each of the seeds that were run."""
        rows = [self._rows[removed, seed] for seed in seeds if (removed, seed) in self._rows]
        return [row["goodput_bps"] or 0.0 for row in rows]

    def row(self, removed: Removed = NOTHING) -> dict[str, Any]:
        """The flow's row under the first seed."""
        return self._rows[removed, self.seeds[0]]

    def effect(self, removed: Removed, against: Removed = NOTHING) -> Effect:
        """Effect of taking suspects away, compared `against` another set, under the seeds that both were run with."""
        seeds = [seed for seed in self.seeds if {(removed, seed), (against, seed)} <= self._rows.keys()]
        with_, without = self.goodputs(against, seeds), self.goodputs(removed, seeds)
        mean = sum(without) / len(without)
        found: Welch | None = paired(without, with_)
        interval = (found.low, found.high) if found and len(seeds) > 2 else None
        gain = mean - sum(with_) / len(with_)
        return Effect(removed, mean, gain, interval, limits.shares(self.row(removed)))

    def effects(self, alone: Sequence[Removed]) -> list[Effect]:
        """Effects of each of several sets, the largest gain first."""
        return sorted(map(self.effect, alone), key=lambda effect: -effect.gain_bps)


def why(
    experiment: Experiment,
    *,
    flow: int = 0,
    seeds: int = SEEDS,
    most: int = MOST_RUNS,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> Answer:
    """Find out what keeps a flow of a scenario from being faster, with at most so many runs.

    Each suspect is taken away alone and the flow runs again under the same seeds; those that bring something are taken
    away one after the other. Raises `ScenarioError`, `RunError`.
    """
    scenario = experiment.scenario
    beside = {"inputs": experiment.inputs, "allow_programs": experiment.allow_programs, "file": str(experiment.file)}
    shown = progress or Silent()
    shown.start(most, 0)
    try:
        return _inquire(Document(scenario, flow, **beside), seeds, most, jobs, shown)
    finally:
        shown.close()


def _inquire(asked: Document, seeds: int, most: int, jobs: int | None, progress: Progress) -> Answer:
    # Under another seed there would be other flows.
    several = 1 if asked.draws_flows else seeds
    inquiry = Inquiry(asked, range(asked.seed, asked.seed + several), most, jobs, progress)
    inquiry.run([NOTHING], inquiry.seeds[:SCREENING])
    if len(set(inquiry.goodputs(NOTHING, inquiry.seeds[:SCREENING]))) == 1:
        inquiry.seeds = inquiry.seeds[:1]  # Nothing that matters to the flow is random.
    screening = inquiry.seeds[:SCREENING]
    suspects = [suspect for suspect in SUSPECTS if inquiry.is_possible(frozenset({suspect.name}))]
    alone = [frozenset({suspect.name}) for suspect in by_evidence(suspects, inquiry.row())]
    inquiry.run(alone, screening)
    alone = [one for one in alone if inquiry.goodputs(one, screening)]
    best = bound(asked, asked.fresh())
    base = _mean(inquiry.goodputs(NOTHING, screening))
    least = MATTERS * max(base, best.goodput_bps - base if best else 0.0)
    removed = _chain(inquiry, suspects, least)
    hiding = [] if removed else _hiding(inquiry, alone, screening, least)
    if hiding:
        removed = [frozenset(hiding)]
    effects = inquiry.effects(alone)[:FINALISTS]
    certain = [effect.removed for effect in effects if effect.gain_bps > least]
    inquiry.run(list(dict.fromkeys([NOTHING, *removed, *certain])), inquiry.seeds)
    return Answer(
        name=asked.name,
        flow=asked.number,
        bound=best,
        goodput_bps=_mean(inquiry.goodputs(NOTHING, inquiry.seeds)),
        limits=limits.shares(inquiry.row()),
        seeds=len(inquiry.goodputs(NOTHING, inquiry.seeds)),
        runs=inquiry.runs,
        alone=inquiry.effects(alone),
        steps=[inquiry.effect(now, before) for before, now in pairwise([NOTHING, *removed])],
        hiding=hiding,
        titles=inquiry.titles,
    )


def by_evidence(suspects: Sequence[Suspect], row: Mapping[str, Any]) -> list[Suspect]:
    """Suspects, those first whose evidence is the larger share of a flow's life."""
    shown = limits.shares(row)
    # The path is the congestion window's limit, where that is large enough.
    windows = shown.get(limits.PATH, 0.0) / 2
    shares = {"avoidance": windows, "recovery": windows} | shown
    return sorted(suspects, key=lambda suspect: -sum(shares.get(limit, 0.0) for limit in suspect.evidence))


def _chain(inquiry: Inquiry, suspects: Sequence[Suspect], least: float) -> list[Removed]:
    """Take away the suspect that brings most, then the one that brings most beside it, and so on."""
    removed: list[Removed] = []
    for _ in range(STEPS):
        before = removed[-1] if removed else NOTHING
        # The first step knows all suspects under several seeds; later ones try the most likely under one.
        rest = [suspect for suspect in by_evidence(suspects, inquiry.row(before)) if suspect.name not in before]
        tried = [before | {suspect.name} for suspect in (rest[:LIKELY] if removed else rest)]
        seeds = inquiry.seeds[:1] if removed else inquiry.seeds[:SCREENING]
        inquiry.run([one for one in tried if inquiry.is_possible(one)], seeds)
        gains = [(inquiry.effect(one, before).gain_bps, one) for one in tried if inquiry.goodputs(one, seeds)]
        # Of equal gains the first; another congestion control is what can be done, not what is wrong.
        wrong = [gain for gain in gains if REPLACED not in gain[1]]
        best = max(wrong, key=lambda gain: gain[0], default=(0.0, NOTHING))
        if best[0] <= least and not removed:
            best = max(gains, key=lambda gain: gain[0], default=(0.0, NOTHING))
        if best[0] <= least:
            break
        removed.append(best[1])
    return removed


def _hiding(inquiry: Inquiry, alone: Sequence[Removed], screening: Sequence[int], least: float) -> list[str]:
    """Suspects that hide each other: where all are gone the flow gains, and each that is put back takes that away."""
    everything = frozenset().union(*alone) - {REPLACED}
    if len(everything) < 2 or not inquiry.is_possible(everything):
        return []
    inquiry.run([everything], screening)
    if not inquiry.goodputs(everything, screening) or inquiry.effect(everything).gain_bps <= least:
        return []
    put_back = {name: everything - {name} for name in everything}
    inquiry.run(list(put_back.values()), screening)
    losses = {
        name: -inquiry.effect(rest, everything).gain_bps
        for name, rest in put_back.items()
        if inquiry.goodputs(rest, screening)
    }
    return sorted((name for name, loss in losses.items() if loss > least), key=lambda name: -losses[name])


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
