"""What ns-2 wrote while it ran an experiment, as numbers: how windows went, what was sent, lost and acknowledged."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from vazao.ns2.translation import Connection, Experiment


class UnreadableError(Exception):
    """A file that ns-2 wrote is not as its script has it written."""


@dataclass(frozen=True)
class Look:
    """A flow at a moment: windows in packets, the highest packet sent and the highest acknowledged."""

    time_s: float
    cwnd: float
    ssthresh: float
    highest_sent: float
    acknowledged: float


@dataclass(frozen=True)
class Totals:
    """Counts of a flow at the end."""

    sent: int
    again: int
    acknowledged: int
    highest_sent: int
    timeouts: int


@dataclass(frozen=True)
class WayTotals:
    """Counts of a direction of a link at the end."""

    bytes: int
    packets: int
    drops: int
    waiting: int


@dataclass(frozen=True)
class SlowStart:
    """The first slow start of a flow that had left it."""

    end_s: float
    sent: int
    lost: int
    ssthresh: float
    """Threshold in packets that its end left."""


@dataclass(frozen=True)
class FlowReading:
    """All that is known of a flow."""

    looks: Sequence[Look]
    totals: Totals
    lost: int
    cuts: Sequence[tuple[float, float]]
    """Changes of the threshold: when, and to how many packets."""
    slow_start: SlowStart | None

    def window_phases(self, path: float) -> tuple[float | None, float | None]:
        """Seconds to fill a path of so many packets after slow start, and to regain what the first cut later took.

        Both begin where slow start's losses are repaired: all that was sent in it is acknowledged, and the window is
        no longer below the threshold. Windows are seen at the looks alone.
        """
        if self.slow_start is None:
            return None, None
        repaired = self._repaired(self.slow_start.end_s)
        later = [look for look in self.looks if look.time_s >= repaired]
        filled = next((look.time_s - self.slow_start.end_s for look in later if look.cwnd >= path), None)
        cut = next((time for time, _ in self.cuts if time > repaired), None)
        if cut is None:
            return filled, None
        before = max((look for look in self.looks if look.time_s < cut), key=lambda look: look.time_s).cwnd
        mended = self._repaired(cut)
        regained = (look.time_s - cut for look in later if look.time_s >= mended and look.cwnd >= before)
        return filled, next(regained, None)

    def _repaired(self, since: float) -> float:
        """When a window cut at a time has repaired what it was cut for; infinite where it never did."""
        after = [look for look in self.looks if look.time_s >= since]
        if not after:
            return math.inf
        highest = after[0].highest_sent
        done = (look.time_s for look in after if look.acknowledged >= highest and look.cwnd >= look.ssthresh)
        return next(done, math.inf)


@dataclass(frozen=True)
class Reading:
    """All that ns-2 said of an experiment."""

    flows: Sequence[FlowReading]
    ways: Sequence[WayTotals]


def read(folder: Path, experiment: Experiment) -> Reading:
    """Read what was written into a folder. Raises `UnreadableError`."""
    drops = list(_drops(folder))
    looks: list[list[Look]] = [[] for _ in experiment.connections]
    for number, *values in _numbers(folder / "looks", 6):
        looks[int(number)].append(Look(round(values[0], 9), *values[1:]))
    totals = {int(number): Totals(*map(int, values)) for number, *values in _numbers(folder / "flows", 6)}
    ways = [WayTotals(*map(int, values)) for _, *values in _numbers(folder / "ways", 5)]
    if len(totals) != len(experiment.connections) or len(ways) != len(experiment.ways):
        raise UnreadableError("it did not come to its end")
    flows = [
        _flow(folder / f"cuts.{number}", connection, looks[number], totals[number], [d for d in drops if d[0] == number])
        for number, connection in enumerate(experiment.connections)
    ]
    return Reading(flows, ways)


def _flow(
    cuts: Path, connection: Connection, looks: list[Look], totals: Totals, drops: list[tuple[int, float, int]]
) -> FlowReading:
    changes, sent, at_first_cut = [], 0, 0
    initial: float | None = None
    for time, name, value in _changes(cuts):
        if name == "ndatapack_":
            sent = int(value)
        elif initial is None:
            initial = value
        elif time > connection.start_s:
            at_first_cut = at_first_cut or sent
            changes.append((time, value))
    slow_start = None
    if changes:
        end, threshold = changes[0]
        # The first packet, of number 0, is the SYN. Nothing was sent twice before the first cut, so that the first
        # drop of a number below is of a packet that was sent in slow start.
        lost = {number for _, _, number in drops if number < at_first_cut}
        slow_start = SlowStart(end - connection.start_s, at_first_cut, len(lost), threshold)
    shifted = [(time - connection.start_s, value) for time, value in changes]
    own = [Look(look.time_s - connection.start_s, *_rest(look)) for look in looks if look.time_s >= connection.start_s]
    return FlowReading(own, totals, len(drops), shifted, slow_start)


def _rest(look: Look) -> tuple[float, float, float, float]:
    return look.cwnd, look.ssthresh, look.highest_sent, look.acknowledged


def _drops(folder: Path) -> Iterator[tuple[int, float, int]]:
    """Data packets that were dropped: flow, time and number."""
    for line in _lines(folder / "drops"):
        words = line.split()
        if len(words) != 12 or words[0] != "d":
            raise UnreadableError(f"drops: {line[:80]!r}")
        if words[4] == "tcp":
            yield int(words[7]), _number(words[1]), int(words[10])


def _changes(path: Path) -> Iterator[tuple[float, str, float]]:
    """Changes of watched variables: time, name and value."""
    for line in _lines(path):
        words = {word[0]: word[1:] for word in line.split()[1:]}
        if not line.startswith("f ") or not words.keys() >= set("tnv"):
            raise UnreadableError(f"{path.name}: {line[:80]!r}")
        yield _number(words["t"]), words["n"], _number(words["v"])


def _numbers(path: Path, count: int) -> Iterator[list[float]]:
    """Lines of so many numbers."""
    for line in _lines(path):
        words = line.split()
        if len(words) != count:
            raise UnreadableError(f"{path.name}: {line[:80]!r}")
        yield [_number(word) for word in words]


def _number(word: str) -> float:
    try:
        value = float(word)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise UnreadableError(f"{word[:40]!r} is no number")
    return value


def _lines(path: Path) -> Iterator[str]:
    try:
        with path.open(encoding="ascii", errors="replace") as file:
            yield from file
    except OSError as error:
        raise UnreadableError(f"{path.name}: {error.strerror}") from None
