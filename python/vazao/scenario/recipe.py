"""Recipes: all arguments for loading a scenario except its seed; input files are given by path."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from vazao import _core
from vazao.scenario.loader import load
from vazao.scenario.own import Allowed


@dataclass(frozen=True, slots=True)
class Recipe:
    """The arguments of `load` except the seed."""

    text: str
    file: str = ""
    table: str = ""
    overrides: Sequence[tuple[str, object]] = ()
    plugins: Sequence[tuple[str, str, type, str]] = ()
    inputs: Mapping[str, Path] = field(default_factory=dict)
    allow_programs: Allowed = False

    def read(self, seed: int) -> _core.Scenario:
        """Load the scenario under a seed. Raises `ScenarioError`."""
        more = {"plugins": self.plugins, "inputs": self.inputs, "allow_programs": self.allow_programs}
        return load(self.text, file=self.file, table=self.table, overrides=self.overrides, seed=seed, **more)  # type: ignore[arg-type]

    def read_under(self, seeds: Sequence[int]) -> list[_core.Scenario]:
        """Load the scenario under each of the seeds; its text is read once if the seed decides only random numbers."""
        first, others = self.read(seeds[0]), list(seeds[1:])
        return [first, *(first.with_seeds(others) or map(self.read, others))]

    def run_ids(self, first: _core.Scenario, seeds: Sequence[int]) -> list[str]:
        """The `run_id` under each of the seeds; `first` is the scenario under the first of them.

        If the seed determines which flows there are, every scenario is loaded, which takes a hundred times as long.
        """
        others = list(seeds[1:])
        known = first.run_ids(others) if others else []
        return [first.run_id, *(known or (self.read(seed).run_id for seed in others))]


def read_each(wanted: Sequence[tuple[Recipe, int]]) -> list[_core.Scenario]:
    """Load recipes under seeds, each recipe once if it can be. Raises `ScenarioError`."""
    places: dict[int, list[int]] = {}
    for place, (recipe, _) in enumerate(wanted):
        places.setdefault(id(recipe), []).append(place)
    found: dict[int, _core.Scenario] = {}
    for alike in places.values():
        found |= zip(alike, wanted[alike[0]][0].read_under([wanted[place][1] for place in alike]), strict=True)
    return [found[place] for place in range(len(wanted))]
