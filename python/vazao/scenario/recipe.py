"""Recipes: all that a scenario is read from, so that it can be read again, under another seed or on another machine."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from vazao import _core
from vazao.scenario.loading import load
from vazao.scenario.own import Allowed

_DRAWN = ("arrivals", "start_spread")
"""Words of scenarios in which the seed decides more than the random numbers of the run."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """The arguments of `load`, but for the seed."""

    text: str
    file: str = ""
    table: str = ""
    overrides: Sequence[tuple[str, object]] = ()
    plugins: Sequence[tuple[str, str, type, str]] = ()
    inputs: Mapping[str, Path] = field(default_factory=dict)
    allow_programs: Allowed = False

    def read(self, seed: int) -> _core.Scenario:
        """The scenario under a seed. Raises `ScenarioError`."""
        more = {"plugins": self.plugins, "inputs": self.inputs, "allow_programs": self.allow_programs}
        return load(self.text, file=self.file, table=self.table, overrides=self.overrides, seed=seed, **more)  # type: ignore[arg-type]

    def run_ids(self, first: _core.Scenario, seeds: Sequence[int]) -> Iterator[str]:
        """The run_ids of its scenarios under seeds, of which `first` is read under the first.

        Reading each takes a hundred times as long as putting another seed into the text that is hashed. What this gives
        for the last seed is compared with what reading gives; where they differ, or the seed decides what flows there
        are, every scenario is read.
        """
        yield first.run_id
        if len(seeds) == 1:
            return
        others, last = seeds[1:-1], seeds[-1]
        read = self.read(last).run_id
        if others and (self._draws() or next(_reseeded(first, [last])) != read):
            yield from (self.read(seed).run_id for seed in others)
        else:
            yield from _reseeded(first, others)
        yield read

    def _draws(self) -> bool:
        return any(word in self.text or word in repr(self.overrides) for word in _DRAWN)


def _reseeded(scenario: _core.Scenario, seeds: Iterable[int]) -> Iterator[str]:
    """The run_ids that a scenario would have under other seeds, if these decided nothing else of it."""
    before, mark, after = scenario.json.rpartition(f'"seed":{scenario.seed},"trace"')
    begun = hashlib.sha256(before.encode())
    end = after + _core.ENGINE_VERSION
    for seed in seeds:
        digest = begun.copy()
        digest.update((mark.replace(str(scenario.seed), str(seed), 1) + end).encode())
        yield digest.hexdigest()[:16]
