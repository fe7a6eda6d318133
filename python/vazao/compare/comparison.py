"""A scenario on every stack that can play it, side by side: what differs, and where two traces part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl

from vazao import _core
from vazao.compare.drawing import draw
from vazao.compare.traces import TOLERANCE_S, Parting, of_flow, parting
from vazao.compare.variants import Variant, plays, variants
from vazao.errors import RunError
from vazao.files import make_directory, remove
from vazao.results import Result, run_scenario

MEASURES = (
    "completion_s", "goodput_bps", "handshake_s", "rtt_p50_s",
    "packets_sent", "packets_lost", "retransmissions", "timeouts",
)  # fmt: skip
"""Columns of the table of flows that are compared."""


@dataclass(frozen=True)
class Trial:
    """One stack's run."""

    name: str
    result: Result | None
    """None if it was not run or failed."""
    captures: Path
    """The directory of its captures."""
    notes: tuple[str, ...] = ()
    """Differences of its scenario from the one that was asked for."""
    problem: str = ""
    """Reason why there is no result."""


@dataclass(frozen=True)
class Parted:
    """The points at which the traces of one flow part in two runs."""

    flow: int
    runs: tuple[str, str]
    packets: Parting
    """Parting of all packets."""
    data: Parting
    """Parting of the packets with data alone: an acknowledgement more or less may be all that differs for a while."""


class Comparison:
    """Runs of one scenario beside each other. The last one is the yardstick."""

    def __init__(self, trials: Sequence[Trial], tolerance_s: float = TOLERANCE_S) -> None:
        self.trials = list(trials)
        self.tolerance_s = tolerance_s
        """Packets that are no further apart than this count as simultaneous."""

    @cached_property
    def results(self) -> dict[str, Result]:
        """Results of the runs, by name."""
        return {trial.name: trial.result for trial in self.trials if trial.result is not None}

    @property
    def yardstick(self) -> str:
        """The run that the others are measured against."""
        return list(self.results)[-1]

    def played(self, flow: int) -> dict[str, Result]:
        """The runs, by name, in which the stack that they are called after plays a flow."""
        return {name: made for name, made in self.results.items() if plays(name, made.flows["stack"][flow])}

    @cached_property
    def differences(self) -> pl.DataFrame:
        """One row for each flow, measure and run that played it.

        Columns: flow, measure, run, value; `difference` from the value of the last of them, `relative` to that value.
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
    def partings(self) -> list[Parted]:
        """Partings of traces, for each flow and two neighbouring runs: of all packets, and of those with data alone.

        Flows whose packets cannot be told apart in captures have none.
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

    def _parted(self, flow: int, runs: tuple[str, str], traces: tuple[pl.DataFrame, pl.DataFrame]) -> Parted:
        ours, theirs = traces
        data = pl.col("length") > 0
        every = parting(ours, theirs, self.tolerance_s)
        return Parted(flow, runs, every, parting(ours.filter(data), theirs.filter(data), self.tolerance_s))

    def draw(self, folder: Path) -> list[Path]:
        """Draw the congestion windows of all runs over time, as SVG, PDF, PNG and HTML; gives the files."""
        return draw(self.results, folder)

    def as_json(self) -> dict[str, Any]:
        """Everything as what JSON can say."""
        return {
            "runs": [_trial_json(trial) for trial in self.trials],
            "yardstick": self.yardstick,
            "tolerance_s": self.tolerance_s,
            "differences": self.differences.to_dicts(),
            "traces": [
                {"flow": p.flow, "runs": p.runs, **_parting_json(p.packets), "data": _parting_json(p.data)}
                for p in self.partings
            ],
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


def _parting_json(found: Parting) -> dict[str, Any]:
    return {
        "identical": found.identical,
        "packets": list(found.packets),
        "same": found.same,
        "differs": list(found.differs),
        "first": list(found.first),
    }


def compare(
    text: str,
    *,
    file: str = "",
    overrides: Sequence[tuple[str, Any]] = (),
    seed: int | None = None,
    out: Path,
    tolerance_s: float = TOLERANCE_S,
    allow_programs: bool = False,
) -> Comparison:
    """Run the scenario of a TOML text on every stack that can play it, with captures in `out`, one folder a stack.

    A stack that cannot run here (no kernel is built) or fails is a trial without result. Raises `ScenarioError` if the
    scenario is wrong or only one stack can play it, `RunError` if none could be run.
    """
    every = variants(text, file=file, overrides=overrides, seed=seed, allow_programs=allow_programs)
    planned = [variant for variant in every if variant.scenario]
    made = Comparison([_trial(variant, variant.scenario, out) for variant in planned if variant.scenario], tolerance_s)
    if not made.results:
        raise RunError("; ".join(f"{trial.name}: {trial.problem}" for trial in made.trials))
    return made


def _trial(variant: Variant, scenario: _core.Scenario, out: Path) -> Trial:
    captures = out / variant.stack
    make_directory(captures)
    for old in captures.glob("*.pcapng"):
        remove(old)  # Perhaps of an interface that there is no more.
    try:
        result = run_scenario(scenario, trace=["cwnd"], pcap=captures)
    except RunError as error:
        return Trial(variant.stack, None, captures, variant.notes, str(error))
    return Trial(variant.stack, result, captures, variant.notes)
