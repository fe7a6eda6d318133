"""Kernels that the guests of a scenario need."""

from __future__ import annotations

import json

from vazao import _core, kernel


def kernels_of(scenario: _core.Scenario) -> dict[str, str | None]:
    """The kernels of its guests by name, each with its executable's SHA-256, or None where it is not built."""
    guests = [guest for transport in json.loads(scenario.json)["transports"] if (guest := transport.get("guest"))]
    return {guest["kernel"]: guest["kernel_sha256"] for guest in guests}


def lacking(scenario: _core.Scenario) -> str | None:
    """Reason why a scenario cannot be run on this machine, and what to do; None if nothing is lacking."""
    for name, digest in kernels_of(scenario).items():
        if digest is None:
            return kernel.missing(None if name == kernel.DEFAULT_SERIES else name)
    return None
