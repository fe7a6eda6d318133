"""Progress of a build."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol


class Progress(Protocol):
    """An observer of how far a build is."""

    def plan(self, usual: Mapping[str, float]) -> None:
        """The steps in their order, each with the seconds that it usually takes."""

    def begin(self, name: str) -> None:
        """A step begins."""

    def at(self, part: float, note: str = "") -> None:
        """Note that this part of the step is done, from 0 to 1."""

    def close(self) -> None:
        """The build has ended."""
