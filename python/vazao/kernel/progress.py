"""What a build tells of how far it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol


class Progress(Protocol):
    """Who wants to know how far a build is."""

    def plan(self, usual: Mapping[str, float]) -> None:
        """The steps in their order, each with the seconds that it usually takes."""

    def begin(self, name: str) -> None:
        """A step begins."""

    def at(self, part: float, note: str = "") -> None:
        """So much of the step is done, from 0 to 1."""

    def close(self) -> None:
        """The build has ended."""
