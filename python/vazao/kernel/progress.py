"""Interface through which the build of a guest kernel reports its steps; `vazao kernel build` shows them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol


class Progress(Protocol):
    """An observer of a build's progress."""

    def plan(self, usual: Mapping[str, float]) -> None:
        """Receive the steps in order, each with its usual duration in seconds."""

    def begin(self, name: str) -> None:
        """Note that a step begins."""

    def at(self, part: float, note: str = "") -> None:
        """Note which fraction of the step is done, from 0 to 1."""

    def close(self) -> None:
        """Note that the build has ended."""
