"""A scenario on every stack that can run it, side by side: what differs, and where two traces diverge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl

from vazao import _core, display, limits
from vazao.comparing import page
from vazao.comparing.replications import MEASURES, Replications, replicate
from vazao.comparing.traces import TOLERANCE_S, Divergence, first_divergence, of_flow, with_data
from vazao.comparing.variants import Variant, plays, variants
from vazao.comparing.window_plot import draw
from vazao.errors import RunError, ScenarioError
from vazao.execution import Progress
from vazao.files import make_directory, remove
from vazao.results import Experiment, Result, load, run_scenario


@dataclass(frozen=True)
class Trial:
    """One stack's run."""

    name: str
    result: Result | None
    """None if it was not run or failed."""
    captures: Path
    """The directory of its captures."""
    notes: tuple[str, ...] = ()
    """Differences of its scenario from the requested one."""
    problem: str = ""
    """Reason for the missing result."""


@dataclass(frozen=True)
class TraceComparison:
    """The points at which the traces of one flow in two runs diverge."""

    flow: int
    runs: tuple[str, str]
    packets: Divergence
    """Divergence over all packets."""
    data: Divergence
    """Divergence over packets with data only: for a while one extra acknowledgement may be the only difference."""


class Comparison:
    """Runs of one scenario side by side. The last one is the yardstick."""

    def __init__(
        self,
        trials: Sequence[Trial],
        tolerance_s: float = TOLERANCE_S,
        replications: Replications | None = None,
        name: str = "",
    ) -> None:
        self.trials = list(trials)
        self.tolerance_s = tolerance_s
        """Maximum time in seconds between packets that count as simultaneous."""
        self.replications = replications
        """Measures of every stack under several seeds; None where there is one seed."""
        self.name = name
        """The scenario's name."""

    def __repr__(self) -> str:
        runs = ", ".join(trial.name for trial in self.trials)
        seeds = f", seeds={len(self.replications.seeds)}" if self.replications else ""
        return f"Comparison({self.name!r}, {runs}{seeds})"

    def _repr_html_(self) -> str:
        facts = [(trial.name, trial.problem or ", ".join(trial.notes) or "as written") for trial in self.trials]
        return display.card("Comparison", self.name, facts, page.tables(self))

    @cached_property
    def results(self) -> dict[str, Result]:
        """Results of the runs, by name."""
        return {trial.name: trial.result for trial in self.trials if trial.result is not None}

    @property
    def yardstick(self) -> str:
        """The name of the run that the others are compared with."""
        return list(self.results)[-1]

    def played(self, flow: int) -> dict[str, Result]:
        """The runs, by name, in which the stack that they are named after carries the flow."""
        return {name: made for name, made in self.results.items() if plays(name, made.flows["stack"][flow])}

    @cached_property
    def differences(self) -> pl.DataFrame:
        """One row for each flow, measure and run that carried the flow.

        Columns: flow, measure, run, value; `difference` from the last run's value, `relative` to that value.
        """
        rows = [
            (flow, measure, name, None if (value := result.flows[measure][flow]) is None else float(value))
            for flow in range(self._flows)
            for name, result in self.played(flow).items()
            for measure in MEASURES
        ]
        schema = {"flow": pl.Int64, "measure": pl.String, "run": pl.String, "value": pl.Float64}
        frame = pl.DataFrame(rows, schema=schema, orient="row")
        standard = frame.group_by("flow", "measure").agg(standard=pl.col("value").last())
        difference = pl.col("value") - pl.col("standard")
        relative = pl.when(pl.col("standard") != 0).then(difference / pl.col("standard"))
        joined = frame.join(standard, on=["flow", "measure"], how="left", maintain_order="left")
        return joined.with_columns(difference=difference, relative=relative).drop("standard")

    @property
    def _flows(self) -> int:
        return next(iter(self.results.values())).flows.height

    @cached_property
    def divergences(self) -> list[TraceComparison]:
        """Divergences of traces for each flow and two neighbouring runs, over all packets and over those with data.

        Flows whose packets captures cannot distinguish have none.
        """
        captures = {trial.name: trial.captures for trial in self.trials}
        found = []
        for flow in range(self._flows):
            traces = {
                name: of_flow(captures[name], result.flows.row(flow, named=True))
                for name, result in self.played(flow).items()
            }
            for one, other in pairwise(traces):
                if traces[one].height and traces[other].height:
                    found.append(self._parted(flow, (one, other), (traces[one], traces[other])))
        return found

    def _parted(self, flow: int, runs: tuple[str, str], traces: tuple[pl.DataFrame, pl.DataFrame]) -> TraceComparison:
        ours, theirs = traces
        every = first_divergence(ours, theirs, self.tolerance_s)
        return TraceComparison(
            flow, runs, every, first_divergence(with_data(ours), with_data(theirs), self.tolerance_s)
        )

    @cached_property
    def limits(self) -> pl.DataFrame:
        """For each flow and run but the last one, the limit whose time differs most from the last run's.

        Columns: flow, run, limit, `difference_s`. Runs without a difference or an account have no row.
        """
        rows = []
        for flow in range(self._flows):
            played = [(name, made.flows.row(flow, named=True)) for name, made in self.played(flow).items()]
            rows += [(flow, name, *found) for name, row in played[:-1] if (found := limits.apart(row, played[-1][1]))]
        schema = {"flow": pl.Int64, "run": pl.String, "limit": pl.String, "difference_s": pl.Float64}
        return pl.DataFrame(rows, schema=schema, orient="row")

    def draw(self, folder: Path) -> list[Path]:
        """Draw the congestion windows of all runs over time, as SVG, PDF, PNG and HTML; return the files.

        With several seeds also `differences` (SVG, PDF, PNG) and `compare.html`, a page of tables and figures.
        """
        files = draw(self.results, folder)
        return files if self.replications is None else [*files, *page.write(self, folder)]

    def as_json(self) -> dict[str, Any]:
        """The comparison as values that JSON can represent."""
        return self._replications_json() | {
            "runs": [_trial_json(trial) for trial in self.trials],
            "yardstick": self.yardstick,
            "tolerance_s": self.tolerance_s,
            "differences": self.differences.to_dicts(),
            "limits": self.limits.to_dicts(),
            "traces": [
                {"flow": p.flow, "runs": p.runs, **_parting_json(p.packets), "data": _parting_json(p.data)}
                for p in self.divergences
            ],
        }

    def _replications_json(self) -> dict[str, Any]:
        made = self.replications
        if made is None:
            return {}
        return {
            "seeds": list(made.seeds),
            "intervals": made.intervals.to_dicts(),
            "paired": made.differences.to_dicts(),
            "values": made.rows.to_dicts(),
            "failures": [{"run": run, "seed": seed, "problem": why} for run, seed, why in made.failures],
        }


def _trial_json(trial: Trial) -> dict[str, Any]:
    ran = trial.result is not None
    return {
        "run": trial.name,
        "run_id": trial.result.scenario.run_id if trial.result else None,
        "problem": trial.problem or None,
        "notes": list(trial.notes),
        "captures": str(trial.captures) if ran else None,
    }


def _parting_json(found: Divergence) -> dict[str, Any]:
    return {
        "identical": found.identical,
        "packets": list(found.packets),
        "same": found.same,
        "differs": list(found.differs),
        "first": list(found.first),
    }


def compare(
    experiment: Experiment | str | Path,
    *,
    seeds: int | None = None,
    out: str | Path | None = None,
    tolerance_s: float = TOLERANCE_S,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> Comparison:
    """Run a scenario on every stack that can run it, with captures in `out`, one folder per stack.

    `experiment` is a scenario's file, a built-in scenario's name, or the result of `vz.load`. With `seeds`, every stack
    runs that many times, under the same seeds; `Comparison.replications` has means with intervals and paired
    differences. Traces and congestion windows are those of the first seed. `out` is `results/compare-NAME` by default.
    A stack that cannot run here (no kernel is built) or fails is a trial without a result. Raises `ScenarioError` if
    the scenario is wrong or only one stack can run it, `RunError` if none could be run.
    """
    asked = experiment if isinstance(experiment, Experiment) else load(experiment)
    if not isinstance(asked, Experiment):
        raise ScenarioError(f"{experiment}: is a study; compare takes a scenario, and a factor `stack` compares in one")
    if asked.variations:
        keys = ", ".join(varied.key for varied in asked.variations)
        raise ScenarioError(f"{asked.file}: is varied ({keys}); compare takes it with one value for each key")
    if seeds is not None and seeds < 1:
        raise ScenarioError(f"seeds = {seeds!r}: give how many, 1 or more")
    folder = default_directory(asked.file) if out is None else Path(out)
    first = asked.scenario.seed
    planned = [(first, _variants(asked, asked.seed))]
    trials = [_trial(variant, variant.scenario, folder) for variant in planned[0][1] if variant.scenario]
    if all(trial.result is None for trial in trials):
        raise RunError("; ".join(f"{trial.name}: {trial.problem}" for trial in trials))
    replications = None
    if seeds is not None:
        more = [(seed, _reseeded(planned[0][1], seed, asked)) for seed in range(first + 1, first + seeds)]
        replications = replicate([*planned, *more], jobs=jobs, progress=progress)
    return Comparison(trials, tolerance_s, replications, asked.name)


def default_directory(file: Path) -> Path:
    """The default directory of a comparison."""
    return Path("results") / f"compare-{file.stem}"


def _variants(asked: Experiment, seed: int | None) -> list[Variant]:
    allowed = asked.allow_programs
    return variants(asked.text, file=str(asked.file), overrides=asked.overrides, seed=seed, allow_programs=allowed)


def _reseeded(known: list[Variant], seed: int, asked: Experiment) -> list[Variant]:
    """Variants under another seed; they are read again only if that also draws which flows there are."""
    if any(variant.scenario is not None and variant.scenario.draws_flows for variant in known):
        return _variants(asked, seed)
    return [replace(variant, scenario=variant.scenario and variant.scenario.with_seed(seed)) for variant in known]


def _trial(variant: Variant, scenario: _core.Scenario, out: Path) -> Trial:
    captures = out / variant.stack
    make_directory(captures)
    for old in captures.glob("*.pcapng"):
        remove(old)  # Perhaps of an interface that no longer exists.
    try:
        result = run_scenario(scenario, trace=["cwnd"], pcap=captures)
    except RunError as error:
        return Trial(variant.stack, None, captures, variant.notes, str(error))
    return Trial(variant.stack, result, captures, variant.notes)
