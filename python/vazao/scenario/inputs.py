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


def inputs_of(scenarios: Iterable[_core.Scenario]) -> dict[str, Input]:
    """The files of scenarios by the names that these call them. Raises `ScenarioError` for one that just changed."""
    found: dict[str, Input] = {}
    for name, path, digest in dict.fromkeys(each for scenario in scenarios for each in scenario.inputs):
        if found.setdefault(name, Input(path, digest)).digest != digest:
            raise ScenarioError(f"{path}: changed while it was read; run again when it is whole")
    return found
