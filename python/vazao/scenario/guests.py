"""Kernels, simulators and files that a scenario needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from vazao import _core, kernel, ns2
from vazao.scenario.inputs import Named


@dataclass(frozen=True)
class Needs:
    """External requirements of a scenario."""

    kernels: Mapping[str, str | None]
    simulators: Mapping[str, str | None]
    inputs: tuple[Named, ...]
    code: tuple[tuple[str, bool], ...]
    """Algorithms that it names in files, each with whether it may be run."""
    lacking: str | None
    """Reason why it cannot be run on this machine."""


_NOTHING = Needs({}, {}, (), (), None)


def needs_of(scenario: _core.Scenario) -> Needs:
    """External requirements of a scenario."""
    kernels, simulators = scenario.kernels, scenario.simulators
    absent = _absent(kernels, simulators)
    needs = Needs(kernels, simulators, tuple(scenario.inputs), tuple(scenario.code), absent)
    # Most of a plan's many scenarios need nothing, and share one object.
    return _NOTHING if needs == _NOTHING else needs


def lacking(scenario: _core.Scenario) -> str | None:
    """Reason why a scenario cannot be run on this machine, and what to do; None if nothing is missing."""
    return _absent(scenario.kernels, scenario.simulators)


def _absent(kernels: Mapping[str, str | None], simulators: Mapping[str, str | None]) -> str | None:
    if None in simulators.values():
        return ns2.missing()
    for name, digest in kernels.items():
        if digest is None:
            return kernel.missing(None if name == kernel.DEFAULT_SERIES else name)
    return None
