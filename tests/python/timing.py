"""Measured times beside expected ones: what a busy machine may disturb is measured more than once."""

from __future__ import annotations

from collections.abc import Callable


def assert_mostly_within(factor: float, ratio: Callable[[], float], times: int = 3) -> None:
    """Require that of so many measurements of a ratio more than half lie between 1 / factor and factor.

    It stops as soon as these are found.
    """
    found: list[float] = []
    while len(found) < times:
        found.append(ratio())
        if sum(1 / factor < each < factor for each in found) > times // 2:
            return
    raise AssertionError(f"ratios {found} are not mostly within a factor of {factor}")
