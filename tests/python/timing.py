"""Comparison of measured with expected times: measurements that a busy machine may disturb are repeated."""

from __future__ import annotations

from collections.abc import Callable


def assert_mostly_within(factor: float, ratio: Callable[[], float], times: int = 3) -> None:
    """Require that more than half of `times` measurements of a ratio lie between 1 / factor and factor.

    Stops as soon as enough of them do.
    """
    found: list[float] = []
    while len(found) < times:
        found.append(ratio())
        if sum(1 / factor < each < factor for each in found) > times // 2:
            return
    raise AssertionError(f"ratios {found} are not mostly within a factor of {factor}")
