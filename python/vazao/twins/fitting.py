"""Comparison of a twin with the connection that it stands for."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from vazao.twins.timeline import Numbers, Timeline

POINTS = 200
"""Instants at which two curves are compared."""


@dataclass(frozen=True)
class Fit:
    """Distances between a twin's run and the connection."""

    completion: float
    """Duration to the last acknowledgement, as a multiple of the connection's."""
    curve: float
    """Mean distance of what has been delivered, as a share of all."""
    flight: float
    """Mean distance of what is under way, as a share of the most that ever is; 0 where that is not seen."""
    by_second: float
    """Mean difference of the goodput of each second, as a share of its mean."""
    retransmissions: tuple[int, int]
    """Segments that repeat octets: the twin's, and the connection's."""

    @property
    def distance(self) -> float:
        """One number for all: zero for the same connection."""
        ours, theirs = self.retransmissions
        again = abs(ours - theirs) / (10 + ours + theirs)
        return abs(math.log(self.completion)) + 2 * self.curve + self.flight + 0.2 * again

    @property
    def explains(self) -> bool:
        """Whether the twin behaves as the connection did."""
        ours, theirs = self.retransmissions
        return (
            abs(self.completion - 1) <= 0.05
            and self.curve <= 0.05
            and self.by_second <= 0.15
            and abs(ours - theirs) <= 5 + 0.35 * max(ours, theirs)
        )


def fit(twin: Timeline, real: Timeline, *, is_afar: bool) -> Fit:
    """Compare a twin's connection with the real one."""
    spans = [max(each.finished_s, 1e-9) for each in (twin, real)]
    grid = np.linspace(0, max(spans), POINTS)
    ours, theirs = (_at(grid, each.acked_s, each.delivered) for each in (twin, real))
    # At the receiver everything is acknowledged as it passes.
    under_way = [np.zeros(POINTS) if is_afar else _under_way(grid, each) for each in (twin, real)]
    seconds = np.arange(0, max(int(spans[1]), 1) + 1.0) if spans[1] >= 3 else np.linspace(0, spans[1], 6)
    first, second = (np.diff(_at(seconds, each.acked_s, each.delivered)) for each in (twin, real))
    return Fit(
        completion=spans[0] / spans[1],
        curve=float(np.mean(np.abs(ours - theirs)) / max(real.size, 1)),
        flight=float(np.mean(np.abs(under_way[0] - under_way[1])) / max(under_way[1].max(), 1)),
        by_second=float(np.mean(np.abs(first - second)) / max(second.mean(), 1e-9)),
        retransmissions=(int(twin.is_again.sum()), int(real.is_again.sum())),
    )


def _at(times: Numbers, when: Numbers, values: Numbers) -> Numbers:
    place = np.searchsorted(when, times, side="right")
    return np.concatenate([[0.0], np.maximum.accumulate(values)])[place]


def _under_way(times: Numbers, each: Timeline) -> Numbers:
    return np.maximum(_at(times, each.sent_s, each.end) - _at(times, each.acked_s, each.delivered), 0)
