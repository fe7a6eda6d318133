"""The files that scenarios name: traces of rates, say."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from vazao import _core
from vazao.errors import ScenarioError


@dataclass(frozen=True)
class Input:
    """A file that a scenario names."""

    path: Path
    digest: str
    """SHA-256 of what it held when it was read, hexadecimal."""


Named = tuple[str, Path, str]
"""A file as a scenario names it: name, path, SHA-256."""


def inputs_of(scenarios: Iterable[_core.Scenario]) -> dict[str, Input]:
    """The files of scenarios by the names that these call them. Raises `ScenarioError` for one that just changed."""
    return merged_inputs(tuple(scenario.inputs) for scenario in scenarios)


def merged_inputs(several: Iterable[Iterable[Named]]) -> dict[str, Input]:
    """The files of scenarios by their names, from each one's `inputs`. Raises `ScenarioError` as `inputs_of` does."""
    found: dict[str, Input] = {}
    for name, path, digest in dict.fromkeys(each for inputs in several for each in inputs):
        if found.setdefault(name, Input(path, digest)).digest != digest:
            raise ScenarioError(f"{path}: changed while it was read; run again when it is whole")
    return found
