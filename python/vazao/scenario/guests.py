"""Kernels, simulators and files that a scenario needs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from vazao import _core, kernel, ns2
from vazao.scenario.inputs import Named


@dataclass(frozen=True)
class Needs:
    """Everything that a scenario needs beside itself."""

    kernels: Mapping[str, str | None]
    simulators: Mapping[str, str | None]
    inputs: tuple[Named, ...]
    code: tuple[tuple[str, bool], ...]
    """Algorithms in files that it names, each with whether it may be run."""
    lacking: str | None
    """Reason why it cannot be run on this machine."""


_NOTHING = Needs({}, {}, (), (), None)


def needs_of(scenario: _core.Scenario) -> Needs:
    """Everything that a scenario needs beside itself."""
    programs = kernels_of(scenario), simulators_of(scenario)
    needs = Needs(*programs, tuple(scenario.inputs), tuple(scenario.code), lacking(scenario))
    # Plans have many scenarios, most of which need nothing.
    return _NOTHING if needs == _NOTHING else needs


def kernels_of(scenario: _core.Scenario) -> dict[str, str | None]:
    """The kernels of its guests by name, each with its executable's SHA-256, or None where it is not built."""
    guests = [guest for transport in json.loads(scenario.json)["transports"] if (guest := transport.get("guest"))]
    return {guest["kernel"]: guest["kernel_sha256"] for guest in guests}


def simulators_of(scenario: _core.Scenario) -> dict[str, str | None]:
    """The simulators other than ours that run it, each with its executable's SHA-256, or None where it is not there."""
    if not ns2.plays(scenario):
        return {}
    transports = json.loads(scenario.json)["transports"]
    return {one["name"]: one["sha256"] for transport in transports if (one := transport.get("simulator"))}


def lacking(scenario: _core.Scenario) -> str | None:
    """Reason why a scenario cannot be run on this machine, and what to do; None if nothing is lacking."""
    if None in simulators_of(scenario).values():
        return ns2.missing()
    for name, digest in kernels_of(scenario).items():
        if digest is None:
            return kernel.missing(None if name == kernel.DEFAULT_SERIES else name)
    return None
