"""Text tables of the differences between stacks, for the terminal and the page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import polars as pl

from vazao.comparing.replications import MEASURES, OURS, Replications
from vazao.units import SCALED, cell, heading, interval, unit_of

if TYPE_CHECKING:
    from vazao.results import Result

NAMES = {"rtt_p50_s": "median RTT"}
"""Names of measures that are clearer than their columns' names."""


class Compared(Protocol):
    """The part of a comparison that tables and pages need."""

    name: str
    trials: Any
    replications: Replications | None

    @property
    def results(self) -> dict[str, Result]:
        """Results of the runs, by name."""

    @property
    def differences(self) -> pl.DataFrame:
        """One row for each flow, measure and run."""

    def played(self, flow: int) -> dict[str, Result]:
        """The runs that carried a flow."""


@dataclass(frozen=True)
class FlowTable:
    """The table of a flow: its headings, and a line of texts for each measure."""

    headings: list[str]
    lines: list[list[str]]


def flow_table(made: Compared, flow: int) -> FlowTable:
    """The table of a flow: the values of every run that carried it, and their differences."""
    return _once(made, flow) if made.replications is None else _replicated(made.replications, flow)


def _once(made: Compared, flow: int) -> FlowTable:
    """The table of one seed: values, and the difference of each from the yardstick's."""
    rows = made.differences.filter(pl.col("flow") == flow)
    *others, yardstick = made.played(flow)
    lines = []
    for measure in MEASURES:
        of = {row["run"]: row for row in rows.filter(pl.col("measure") == measure).iter_rows(named=True)}
        values = [_value(measure, row["value"]) for row in of.values()]
        lines.append([_name(measure), *values, *(_difference(of[name]) for name in others)])
    return FlowTable(["", *others, yardstick, *(f"{name} against {yardstick}" for name in others)], lines)


def _replicated(made: Replications, flow: int) -> FlowTable:
    """The table of several seeds: means with intervals, and paired differences of our stack from each other one."""
    means = made.intervals.filter(pl.col("flow") == flow)
    pairs = made.differences.filter(pl.col("flow") == flow)
    runs = means["run"].unique(maintain_order=True).to_list()
    others = [run for run in runs if run in set(pairs["run"])]
    lines = []
    for measure in MEASURES:
        of, apart = _by_run(means, measure), _by_run(pairs, measure)
        values = [interval(measure, row["mean"], row["half"]) if (row := of.get(run)) else "–" for run in runs]
        lines.append([_name(measure), *values, *(_paired(apart.get(run)) for run in others)])
    return FlowTable(["", *runs, *(f"{OURS} against {run}" for run in others)], lines)


def _by_run(rows: pl.DataFrame, measure: str) -> Mapping[str, dict[str, Any]]:
    return {row["run"]: row for row in rows.filter(pl.col("measure") == measure).iter_rows(named=True)}


def _paired(row: dict[str, Any] | None) -> str:
    """A mean paired difference with its interval: relative for times and rates, else absolute."""
    if row is None:
        return "–"
    mean, half = row["mean"], row["half"]
    if mean == 0 and not half:
        return "none"
    if _is_scaled(row["measure"]) and row["relative"] is not None:
        mean, half = 100 * row["relative"], None if half is None else 100 * abs(row["relative_half"])
        if max(abs(mean), half or 0.0) < 0.01:
            return "< 0.01 %"
        return f"{mean:+.2f}{'' if half is None else f' ± {half:.2f}'} %"
    return f"{mean:+.4g}" + ("" if half is None else f" ± {half:.3g}")


def _name(measure: str) -> str:
    return NAMES.get(measure, heading(measure))


def _value(measure: str, value: float | None) -> str:
    return cell(measure, value if value is None or _is_scaled(measure) else int(value))


def _is_scaled(measure: str) -> bool:
    """Whether a measure is a time or a rate; any other is a count."""
    return unit_of(measure).symbol in SCALED


def _difference(row: dict[str, Any]) -> str:
    """A difference as text: relative where a ratio is meaningful, else absolute."""
    difference, relative = row["difference"], row["relative"]
    if difference is None:
        return "–"
    if difference == 0:
        return "none"
    if _is_scaled(row["measure"]) and relative is not None:
        return "< 0.01 %" if abs(relative) < 1e-4 else f"{relative:+.2%}".replace("%", " %")
    return f"{difference:+.4g}" if relative is None else f"{difference:+.0f}"


def flow_title(row: Mapping[str, Any]) -> str:
    """The title of a flow, from its row."""
    control = "" if row["cc"] in (None, "none") else f" {row['cc']}"
    return f"flow {row['flow']}: {row['client']} → {row['server']}, {row['app']} over {row['transport']}{control}"


def flows(made: Compared, most: int) -> Iterator[dict[str, Any]]:
    """The rows of the first flows."""
    return next(iter(made.results.values())).flows.head(most).iter_rows(named=True)


def seeds_note(made: Replications) -> str:
    """A sentence that explains the numbers of several seeds."""
    first, last = made.seeds[0], made.seeds[-1]
    if first == last:
        return f"1 run of each stack, seed {first}: one value has no interval"
    return (
        f"{len(made.seeds)} runs of each stack, seeds {first}-{last}: means with 95 % intervals (Student's t); "
        "differences are of pairs under the same seed, which meet the same losses and starts"
    )
