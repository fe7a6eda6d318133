"""Replications of a comparison: every stack under several seeds, with intervals and paired differences.

Random streams are named after what they decide, so under one seed all stacks see the same losses and start times
(common random numbers): a seed affects them alike, and a paired difference varies less than either value.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import polars as pl

from vazao import _core
from vazao.comparing.variants import STACKS, Variant, plays
from vazao.execution import Progress, run_many
from vazao.statistics import paired, t_interval
from vazao.store import table

MEASURES = (
    "completion_s", "goodput_bps", "handshake_s", "rtt_p50_s",
    "packets_sent", "packets_lost", "retransmissions", "timeouts",
)  # fmt: skip
"""Columns of the flows table that are compared."""

OURS = STACKS[0]

_NUMBERS: dict[str, pl.DataType] = {"mean": pl.Float64(), "half": pl.Float64(), "n": pl.Int64()}
_KEYS: dict[str, pl.DataType] = {"flow": pl.Int64(), "measure": pl.String(), "run": pl.String()}


@dataclass(frozen=True)
class Replications:
    """Measures of every stack under every seed."""

    seeds: tuple[int, ...]
    rows: pl.DataFrame
    """One row per seed, run, flow that its stack carried, and measure; columns: seed, run, flow, measure, value."""
    failures: tuple[tuple[str, int, str], ...] = ()
    """Runs that have no rows: stack, seed, reason."""

    def __repr__(self) -> str:
        return f"Replications(seeds={self.seeds[0]}-{self.seeds[-1]}, rows={self.rows.height})"

    @cached_property
    def intervals(self) -> pl.DataFrame:
        """The mean of each measure over the seeds, with half the width of its 95 % interval (Student's t).

        Columns: flow, measure, run, `mean`, `half` (null for one value), `n`.
        """
        found = []
        for key, values in self._values().items():
            mean = t_interval(values)
            found.append((*key, mean.mean, _spread(mean.half, mean.mean) if mean.n > 1 else None, mean.n))
        return pl.DataFrame(found, schema=_KEYS | _NUMBERS, orient="row")

    @cached_property
    def differences(self) -> pl.DataFrame:
        """The mean paired difference of our stack from each other one, over the seeds that both have.

        Columns: flow, measure, `run` (the other stack), `mean` (ours minus the other's), `half` the width of its 95 %
        interval, `n` pairs, `p` of Student's paired t-test, `relative` and `relative_half` to the other's mean.
        """
        found: list[tuple[Any, ...]] = []
        values = self._by_seed()
        for (flow, measure, run), theirs in values.items():
            ours = values.get((flow, measure, OURS), {})
            seeds = [seed for seed in theirs if seed in ours]
            if run == OURS or not seeds:
                continue
            mine, other = [ours[seed] for seed in seeds], [theirs[seed] for seed in seeds]
            test, mean = paired(mine, other), sum(mine) / len(seeds) - sum(other) / len(seeds)
            base = sum(other) / len(seeds)
            half = _spread(test.half, base) if test else None
            share = [value / base if base and value is not None else None for value in (mean, half)]
            found.append((flow, measure, run, mean, half, len(seeds), test.p if test else None, *share))
        numbers: dict[str, pl.DataType] = dict.fromkeys(("p", "relative", "relative_half"), pl.Float64())
        return pl.DataFrame(found, schema=_KEYS | _NUMBERS | numbers, orient="row")

    def _by_seed(self) -> dict[tuple[int, str, str], dict[int, float]]:
        found: dict[tuple[int, str, str], dict[int, float]] = {}
        for seed, run, flow, measure, value in self.rows.drop_nulls("value").iter_rows():
            found.setdefault((flow, measure, run), {})[seed] = value
        return found

    def _values(self) -> dict[tuple[int, str, str], list[float]]:
        return {key: list(values.values()) for key, values in self._by_seed().items()}


def _spread(half: float, value: float) -> float:
    """Half the width of an interval, or 0 where it is only the rounding error of equal numbers."""
    return 0.0 if half <= 1e-12 * abs(value) else half


def replicate(
    planned: Sequence[tuple[int, Sequence[Variant]]], *, jobs: int | None = None, progress: Progress | None = None
) -> Replications:
    """Run the variants of each seed, and gather their measures."""
    named = [
        (seed, variant.stack, variant.scenario)
        for seed, variants in planned
        for variant in variants
        if variant.scenario is not None
    ]
    frames: dict[int, pl.DataFrame] = {}
    failed: dict[int, tuple[str, int, str]] = {}

    def ended(index: int, outcome: Any) -> None:
        seed, name, _ = named[index]
        if problem := outcome.not_run or outcome.failure:
            failed[index] = (name, seed, problem)
        else:
            frames[index] = measured(table(outcome, "flows"), name, seed)
        if progress:
            progress.advance(1, (len(frames) + len(failed)) / len(named))

    def tick() -> None:
        if progress:
            progress.advance(0, (len(frames) + len(failed)) / len(named))

    if progress:
        progress.start(len(named), 0)
    try:
        scenarios: list[_core.Scenario] = [scenario for _, _, scenario in named]
        run_many(scenarios, jobs=jobs or os.cpu_count() or 1, on_outcome=ended, on_tick=tick)
    finally:
        if progress:
            progress.close()
    # In the order of seeds and stacks, not of completion.
    rows = pl.concat([frames[index] for index in sorted(frames)]) if frames else _NONE
    return Replications(tuple(seed for seed, _ in planned), rows, tuple(failed[index] for index in sorted(failed)))


_SCHEMA = {"seed": pl.Int64(), "run": pl.String(), "flow": pl.Int64(), "measure": pl.String(), "value": pl.Float64()}
_NONE = pl.DataFrame(schema=_SCHEMA)


def measured(flows: pl.DataFrame, run: str, seed: int) -> pl.DataFrame:
    """The measures of the flows that a run's own stack carried, one row each."""
    own = [stack for stack in flows["stack"].unique() if plays(run, stack)]
    values = flows.filter(pl.col("stack").is_in(own)).select("flow", pl.col(MEASURES).cast(pl.Float64))
    long = values.unpivot(on=MEASURES, index="flow", variable_name="measure", value_name="value")
    return long.with_columns(seed=pl.lit(seed), run=pl.lit(run)).select(
        pl.col(name).cast(kind) for name, kind in _SCHEMA.items()
    )
