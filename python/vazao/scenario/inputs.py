"""Input files that scenarios name, such as rate traces."""

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
    """SHA-256 of the content when it was read, hexadecimal."""


Named = tuple[str, Path, str]
"""A file as a scenario names it: name, path, SHA-256."""


def inputs_of(scenarios: Iterable[_core.Scenario]) -> dict[str, Input]:
    """Input files of scenarios by name. Raises `ScenarioError` for a file that changed between reads."""
    return merged_inputs(tuple(scenario.inputs) for scenario in scenarios)


def merged_inputs(several: Iterable[Iterable[Named]]) -> dict[str, Input]:
    """Input files by name, merged from the `inputs` of scenarios. Raises `ScenarioError` as `inputs_of` does."""
    found: dict[str, Input] = {}
    for name, path, digest in dict.fromkeys(each for inputs in several for each in inputs):
        if found.setdefault(name, Input(path, digest)).digest != digest:
            raise ScenarioError(f"{path}: changed while it was read; run again when it is whole")
    return found
