"""Sweeps of a scenario (`vazao run` with `--vary`, `--seeds` or `--until-precision`), stored as a campaign."""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import inf, isnan
from pathlib import Path

from vazao import execution, results, study as studies
from vazao.cli import campaigns
from vazao.errors import ScenarioError
from vazao.execution import WHOLE

FEWEST, MOST = 3, 1000
"""Number of seeds in the first round of a sweep to a given precision, and its maximum."""


def run(
    swept: results.Experiment,
    seeds: int | None,
    precision: str | None,
    place: int | execution.Cluster | None,
    directory: Path | None,
    as_json: bool,
) -> None:
    """Run a sweep; with `precision`, add seeds until its goodput is known that precisely."""
    from vazao.cli.terminal import err

    wanted = None if precision is None else _share(precision)
    count = seeds or (1 if wanted is None else FEWEST)
    started = 0
    while True:
        study = swept.study(count)
        out = directory or results.default_directory(study.name)
        if wanted is None:
            break
        done = campaigns.campaign(study, None, place, out)
        started += done.started
        known, flow = _known(done, studies.varied_flows(swept.variations))
        if known <= wanted or count >= MOST:
            break
        err.print(f"{count} seeds: goodput{f' of {flow}' * bool(flow)} is known to {known:.1%}", soft_wrap=True)
        count = min(MOST, max(count + 1, min(2 * count, round(count * (known / wanted) ** 2))))
    campaigns.run_study(study, None, place, out, WHOLE, as_json, before=started)


def _share(text: str) -> float:
    """Parse `5%`, `5 %` or `0.05` into a fraction. Raises `ScenarioError`."""
    if found := re.fullmatch(r"\s*([\d.]+)\s*(%?)\s*", text):
        try:
            share = float(found[1]) / (100 if found[2] else 1)
        except ValueError:
            share = 0
        if 0 < share < 1:
            return share
    raise ScenarioError(f"--until-precision {text!r}: write a share between 0 and 100 %, as in --until-precision 5%")


def _known(done: results.Campaign, flows: Sequence[str]) -> tuple[float, str]:
    """Largest half-width of the 95 % intervals of mean goodputs, relative to the mean, and the flow that has it.

    Of several flows, only those that the sweep varies (`flows`) count, or else all; a single flow has an empty name.
    """
    (means,) = (done.table(table.id) for table in done.study.tables)
    if studies.FLOW in means.columns and flows:
        means = means.filter(means[studies.FLOW].is_in(flows))
    shares = means["± goodput_bps"] / means["goodput_bps"]
    labels = means[studies.FLOW].to_list() if studies.FLOW in means.columns else [""] * means.height
    known = (inf if share is None or isnan(share) else share for share in shares)
    return max(zip(known, labels, strict=True), default=(0.0, ""))
