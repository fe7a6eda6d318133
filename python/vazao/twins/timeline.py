"""One direction of a TCP connection: what its sender sent, and what came back for it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vazao import seeing

Numbers = NDArray[np.float64]
Indices = NDArray[np.int64]

ARRIVED = 1
"""Fate of a packet that has arrived (docs/recording.md)."""


@dataclass(frozen=True)
class Timeline:
    """Data segments and acknowledgements as they pass one place.

    Times are seconds since the connection's first packet; octets count from the first one of the stream.
    """

    sent_s: Numbers
    """Times of the data segments."""
    start: Numbers
    end: Numbers
    """Octets of each data segment, up to and without `end`."""
    number: Indices
    """Number of each data segment among the packets of its direction, from 1 on."""
    acked_s: Numbers
    """Times of the acknowledgements."""
    acked: Numbers
    """Octet up to which each acknowledges, or an earlier one did if that is more."""
    delivered: Numbers
    """Octets that have arrived by it: acknowledged, or selectively so."""

    @property
    def size(self) -> float:
        """Octets that were sent, each once."""
        return float(self.end.max(initial=0))

    @property
    def finished_s(self) -> float:
        """Time of the last acknowledgement of new data."""
        return float(self.acked_s[np.searchsorted(self.acked, self.acked[-1])]) if len(self.acked) else 0.0

    @cached_property
    def is_again(self) -> NDArray[np.bool_]:
        """Whether each segment repeats octets that had passed before."""
        highest = np.maximum.accumulate(np.concatenate([[0.0], self.end]))[:-1]
        return self.start < highest

    @cached_property
    def repeated(self) -> Indices:
        """Segments that were sent again: for each that repeats octets, the latest one that had them before."""
        firsts = np.flatnonzero(~self.is_again)
        again = np.flatnonzero(self.is_again)
        place = np.searchsorted(self.start[firsts], self.start[again], side="right") - 1
        latest: dict[float, int] = {}
        found = []
        for segment, first in zip(again, firsts[np.maximum(place, 0)], strict=True):
            octet = float(self.start[segment])
            found.append(latest.get(octet, int(first)))
            latest[octet] = int(segment)
        return np.array(found, dtype=np.int64)

    def missing(self) -> tuple[int, ...]:
        """Numbers that packets would have had which did not pass here, but what repeats them did."""
        firsts = np.flatnonzero(~self.is_again)
        starts = np.sort(self.start[self.is_again])
        # Those behind the gap that one left tell its place; what is missing before it moves it on.
        place = firsts[np.minimum(np.searchsorted(self.start[firsts], starts), len(firsts) - 1)]
        return tuple(int(number) for number in self.number[place] + np.arange(len(place)))

    def round_trips(self) -> tuple[Numbers, Numbers]:
        """Times at which segments were sent that an acknowledgement tells a round trip of, and these in seconds.

        None is told of what was sent twice (Karn's rule), nor by what waited for a hole to be filled.
        """
        once = ~self.is_again
        once[self.repeated] = False
        ends, times = self.end[once], self.sent_s[once]
        if not len(ends) or not len(self.acked):
            return np.zeros(0), np.zeros(0)
        newly = np.flatnonzero(np.diff(self.acked, prepend=0) > 0)
        place = np.minimum(np.searchsorted(ends, self.acked[newly]), len(ends) - 1)
        before = np.maximum(newly - 1, 0)
        exact = (ends[place] == self.acked[newly]) & (self.delivered[before] <= self.acked[before])
        return times[place[exact]], self.acked_s[newly[exact]] - times[place[exact]]


def timeline(recording: bytes, side: int, at: int | None = None) -> Timeline:
    """The data that `side` (0: client, 1: server) of a recording's first flow sends.

    A recording of a run is looked at from side `at`: what it sent when it left, and what came when it arrived.
    """
    sections = seeing.header(recording)["sections"]

    def column(name: str) -> Any:
        section = sections[name]
        kind = {"f64": "<f8", "u32": "<u4", "u8": "u1"}[section["type"]]
        return np.frombuffer(recording, kind, section["count"], section["at"])

    sides, fates = column("packet.side"), column("packet.fate")
    times = np.array(column("packet.time"))
    if at is not None:
        came = sides != at
        times[came] = column("packet.gone")[came]
        seen = (column("packet.flow") == 0) & (~came | (fates == ARRIVED))
    else:
        seen = column("packet.flow") == 0
    order = np.flatnonzero(seen)
    order = order[np.argsort(times[order], kind="stable")]
    times = (times - times[order[0]]) / 1e9 if len(order) else times
    sent = order[sides[order] == side]
    numbers = np.arange(1, len(sent) + 1)
    starts, ends = (column(f"packet.{name}")[sent] for name in ("from", "to"))
    has_data = ends > starts
    answers = order[(sides[order] != side) & ~np.isnan(column("packet.ack")[order])]
    acked = np.maximum.accumulate(column("packet.ack")[answers]) if len(answers) else np.zeros(0)
    blocks = [column(name) for name in ("packet.sacks", "sack.from", "sack.to")]
    return Timeline(
        sent_s=times[sent][has_data],
        start=starts[has_data],
        end=ends[has_data],
        number=numbers[has_data],
        acked_s=times[answers],
        acked=acked,
        delivered=_delivered(answers, acked, *blocks),
    )


def _delivered(answers: Indices, acked: Numbers, first: Indices, left: Numbers, right: Numbers) -> Numbers:
    """Octets that have arrived by each acknowledgement, with those that it and earlier ones acknowledge selectively."""
    delivered, most = np.zeros(len(answers)), 0.0
    islands: list[tuple[float, float]] = []
    for place, packet in enumerate(answers):
        octet = acked[place]
        for block in range(first[packet], first[packet + 1]):
            if right[block] > octet:
                islands = _joined(islands, left[block], right[block])
        islands = [island for island in islands if island[1] > octet]
        most = max(most, octet + sum(end - max(start, octet) for start, end in islands))
        delivered[place] = most
    return delivered


def _joined(islands: list[tuple[float, float]], start: float, end: float) -> list[tuple[float, float]]:
    """Disjoint intervals together with one more, in any order."""
    apart = []
    for island in islands:
        if island[1] < start or end < island[0]:
            apart.append(island)
        else:
            start, end = min(start, island[0]), max(end, island[1])
    return [*apart, (start, end)]
