"""`vazao run --vary`: a scenario with some of its keys varied, kept as the campaign of a study."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from vazao import _core, results, scenario, study as studies
from vazao.cli import run as runs
from vazao.errors import ScenarioError
from vazao.results.shard import WHOLE

FEWEST, MOST = 3, 1000
"""Seeds of the first look, and most of them."""


@dataclass(frozen=True)
class Sweep:
    """A scenario file, changes to it, and the keys that are varied."""

    file: Path
    text: str
    overrides: tuple[tuple[str, Any], ...]
    seed: int | None
    variations: tuple[studies.Variation, ...]

    @cached_property
    def only(self) -> _core.Scenario:
        """The scenario with nothing varied, after each value of each key was tried. Raises `ScenarioError`."""
        for varied in self.variations:
            for value in varied.values:
                try:
                    self._load((varied.key, value))
                except ScenarioError as error:
                    raise ScenarioError(f"--vary {varied.key}={value}: {error}") from None
        return self._load()

    def _load(self, *more: tuple[str, Any]) -> _core.Scenario:
        overrides = [*self.overrides, *more]
        return scenario.load(self.text, file=str(self.file), overrides=overrides, seed=self.seed)

    def study(self, seeds: int) -> results.Study:
        """The sweep as a study with so many runs of each combination. Raises `ScenarioError`, `StudyError`."""
        document = studies.Source(str(self.file), self.text).document
        title = str(document.get("name", self.file.stem))
        text = studies.sweep(document, title, self.variations, seeds, self.only.seed)
        return studies.parse_as(results.Study, text, str(self.file)).changed(list(self.overrides), None)


def run(
    swept: Sweep, seeds: int | None, precision: str | None, jobs: int | None, directory: Path | None, as_json: bool
) -> None:
    """Run a sweep, with seeds added until its goodput is known as precisely as was asked for."""
    from vazao.cli.terminal import err

    wanted = None if precision is None else _share(precision)
    count = seeds or (1 if wanted is None else FEWEST)
    while True:
        study = swept.study(count)
        place = directory or results.default_directory(study.name)
        if wanted is None:
            break
        known = _known(runs.campaign(study, None, jobs, place))
        if known <= wanted or count >= MOST:
            break
        err.print(f"{count} seeds: goodput is known to {known:.1%}", soft_wrap=True)
        count = min(MOST, max(count + 1, min(2 * count, round(count * (known / wanted) ** 2))))
    runs.run_study(study, None, jobs, place, WHOLE, as_json)


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
    shares = means.select(pl.col("± goodput_bps") / pl.col("goodput_bps")).to_series()
    return float("inf") if shares.null_count() else max(shares.to_list(), default=0.0)
