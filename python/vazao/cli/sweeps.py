"""`vazao run --vary`: a scenario with some of its keys varied, kept as the campaign of a study."""

from __future__ import annotations

import re
from pathlib import Path

from vazao import results
from vazao.cli import campaigns
from vazao.errors import ScenarioError
from vazao.results.shard import WHOLE

FEWEST, MOST = 3, 1000
"""Seeds of the first look, and most of them."""


def run(
    swept: results.Experiment,
    seeds: int | None,
    precision: str | None,
    place: int | results.Cluster | None,
    directory: Path | None,
    as_json: bool,
) -> None:
    """Run a sweep, with seeds added until its goodput is known as precisely as was asked for."""
    from vazao.cli.terminal import err

    wanted = None if precision is None else _share(precision)
    count = seeds or (1 if wanted is None else FEWEST)
    while True:
        study = swept.study(count)
        out = directory or results.default_directory(study.name)
        if wanted is None:
            break
        known = _known(campaigns.campaign(study, None, place, out))
        if known <= wanted or count >= MOST:
            break
        err.print(f"{count} seeds: goodput is known to {known:.1%}", soft_wrap=True)
        count = min(MOST, max(count + 1, min(2 * count, round(count * (known / wanted) ** 2))))
    campaigns.run_study(study, None, place, out, WHOLE, as_json)


def _share(text: str) -> float:
    """`5%`, `5 %` or `0.05` as a share. Raises `ScenarioError`."""
    if found := re.fullmatch(r"\s*([\d.]+)\s*(%?)\s*", text):
        try:
            share = float(found[1]) / (100 if found[2] else 1)
        except ValueError:
            share = 0
        if 0 < share < 1:
            return share
    raise ScenarioError(f"--until-precision {text!r}: write a share between 0 and 100 %, as in --until-precision 5%")


def _known(done: results.Campaign) -> float:
    """Half of the widest 95 % interval of the mean goodput of a combination, as a share of the mean."""
    (means,) = (done.table(table.id) for table in done.study.tables)
    shares = means["± goodput_bps"] / means["goodput_bps"]
    return float("inf") if shares.null_count() else max(shares.to_list(), default=0.0)
