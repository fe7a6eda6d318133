"""Recordings of runs and of captures (docs/recording.md)."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from vazao import _core
from vazao.errors import RunError, ScenarioError

MOST = 300_000
"""Default maximum number of packets in a recording."""


@dataclass(frozen=True)
class Recording:
    """A recorded run, with every packet's path and every sender's state, or what captures show of connections."""

    name: str
    content: bytes
    shorter: Callable[[int], bytes]
    """Content with at most so many packets, for a page that has no room for more."""
    run_id: str = ""
    """Identity of the run; empty for captures."""

    def __repr__(self) -> str:
        of = f" {self.run_id}," * bool(self.run_id)
        return f"Recording({self.name!r},{of} {len(self.content) / 1e6:.3g} MB)"


def header(content: bytes) -> dict[str, Any]:
    """The header of a recording: what it is of, and where its sections are."""
    (length,) = struct.unpack_from("<I", content, 12)
    read: dict[str, Any] = json.loads(content[16 : 16 + length])
    return read


def record(
    scenario: _core.Scenario,
    name: str | None = None,
    *,
    most: int = MOST,
    on_tick: Callable[[float], None] | None = None,
) -> Recording:
    """Run a scenario and record it, at most its first `most` packets.

    Raises `RunError` when the run fails, and `ScenarioError` for a scenario that another simulator runs.
    """
    outcome = _core.run(scenario, recording=most, on_tick=on_tick)
    if outcome.not_run is not None:
        raise ScenarioError(f"{scenario.name}: cannot be recorded: {outcome.not_run}")
    if outcome.failure is not None:
        error = RunError(outcome.failure)
        error.scenario = scenario
        raise error
    assert outcome.recording is not None

    def shorter(kept: int) -> bytes:
        return record(scenario, name, most=kept).content

    return Recording(scenario.name if name is None else name, outcome.recording, shorter, scenario.run_id)
