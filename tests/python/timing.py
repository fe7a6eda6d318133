"""Measured times beside expected ones: what a busy machine may disturb is measured more than once."""

from __future__ import annotations

from collections.abc import Callable


def assert_mostly_within(factor: float, ratio: Callable[[], float], times: int = 3) -> None:
    """Measure a ratio so many times, or until more than half of them must be within a factor of one, both ways."""
    found: list[float] = []
    while len(found) < times:
        found.append(ratio())
        if sum(1 / factor < each < factor for each in found) > times // 2:
            return
    raise AssertionError(f"ratios {found} are not mostly within a factor of {factor}")
