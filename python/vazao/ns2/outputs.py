"""Parsing of the files that ns-2 writes: windows, and counts of packets sent, lost and acknowledged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import isfinite, nan
from pathlib import Path

from vazao.ns2.experiment import Connection, Experiment

DUPLICATES = 3
"""Duplicate acknowledgements that begin a fast recovery."""


class UnreadableError(Exception):
    """A file that ns-2 wrote does not have the format that its script defines."""


@dataclass(frozen=True)
class Look:
    """Sample of a flow's state: windows in packets, highest packets sent and acknowledged, duplicates, timeouts."""

    time_s: float
    cwnd: float
    ssthresh: float
    highest_sent: float
    acknowledged: float
    duplicates: float
    """Duplicate acknowledgements since the last new one: three or more while one of ns-2's own agents recovers."""
    timeouts: float


@dataclass(frozen=True)
class Totals:
    """Final counters of a flow."""

    sent: int
    again: int
    acknowledged: int
    highest_sent: int
    timeouts: int


@dataclass(frozen=True)
class WayTotals:
    """Final counters of one direction of a link."""

    bytes: int
    packets: int
    drops: int
    waiting: int
    lost: int
    """Packets lost on the wire."""


@dataclass(frozen=True)
class SlowStart:
    """First slow start of a flow, once it has ended."""

    end_s: float
    sent: int
    lost: int
    ssthresh: float
    """Slow-start threshold in packets after its end."""


@dataclass(frozen=True)
class FlowReading:
    """Everything that is known about a flow."""

    looks: Sequence[Look]
    totals: Totals
    lost: int
    cuts: Sequence[tuple[float, float]]
    """Changes of the slow-start threshold: time, and new value in packets."""
    slow_start: SlowStart | None
    counts_duplicates: bool
    """Whether its agent counts duplicates; the one with Linux's modules does not."""

    def window_phases(self, path: float) -> tuple[float | None, float | None]:
        """Seconds to fill a path of `path` packets after slow start, and to regain the window after the next cut.

        As in our flows, both are searched once the losses of slow start are repaired and the window has reached its
        threshold, and a window counts as regained within one packet. Windows are known only at the samples.
        """
        if self.slow_start is None:
            return None, None
        looks = list(self._after_slow_start())
        repaired = next((look.time_s for look, mending in looks if not mending and look.cwnd >= look.ssthresh), None)
        if repaired is None:
            return None, None
        later = [(look, mending) for look, mending in looks if look.time_s >= repaired]
        filled = next((look.time_s - self.slow_start.end_s for look, _ in later if look.cwnd >= path), None)
        cut = next((time for time, _ in self.cuts if time > repaired), None)
        if cut is None:
            return filled, None
        before = max((look for look, _ in later if look.time_s < cut), key=lambda look: look.time_s).cwnd
        mended = (look for look, mending in later if look.time_s > cut and not mending)
        return filled, next((look.time_s - cut for look in mended if look.cwnd + 1 > before), None)

    def _after_slow_start(self) -> Iterator[tuple[Look, bool]]:
        """Samples since the end of slow start, each with whether losses are being repaired.

        Losses are being repaired while there are enough duplicates; and after a timeout, or a cut if duplicates are not
        counted, until everything sent before is acknowledged.
        """
        assert self.slow_start is not None
        cuts = [time for time, _ in self.cuts] if not self.counts_duplicates else []
        timeouts, mended = 0.0, -1.0
        for look in self.looks:
            if look.time_s < self.slow_start.end_s:
                continue
            fresh = [time for time in cuts if time <= look.time_s]
            if look.timeouts > timeouts or fresh:
                mended = look.highest_sent
            timeouts, cuts = look.timeouts, cuts[len(fresh) :]
            yield look, look.acknowledged < mended or (self.counts_duplicates and look.duplicates >= DUPLICATES)


@dataclass(frozen=True)
class PathTotals:
    """Final counters of a path of an association: packets sent on it, and how many of them were retransmissions."""

    packets: int
    again: int


@dataclass(frozen=True)
class AssociationReading:
    """Everything that is known about an association."""

    paths: Sequence[PathTotals]
    end_s: float
    """End of the run: the arrival of the last data, or the end that the scenario sets."""
    ready_s: float | None
    """Time at which the first data was sent."""
    first_s: float | None
    """Time at which the first data was read."""
    chunks: int
    """Chunks that were read, in order."""
    needless: int
    """Chunks that arrived more than once."""
    timeouts: int
    looks: Sequence[Sequence[tuple[float, float, float]]]
    """Samples of each path: time, window and threshold in bytes of chunks."""


@dataclass(frozen=True)
class Reading:
    """Everything that ns-2 reports about an experiment."""

    flows: Sequence[FlowReading]
    association: AssociationReading | None
    ways: Sequence[WayTotals]


def read(folder: Path, experiment: Experiment) -> Reading:
    """Read the files that ns-2 wrote into a folder. Raises `UnreadableError`."""
    if association := experiment.association:
        read = _association(folder, len(association.paths), bool(experiment.measures))
        return Reading([], read, _ways(folder, experiment))
    drops = list(_drops(folder))
    looks: list[list[Look]] = [[] for _ in experiment.connections]
    for number, *values in _numbers(folder / "looks", 8):
        looks[int(number)].append(Look(*values))
    totals = {int(number): Totals(*map(int, values)) for number, *values in _numbers(folder / "flows", 6)}
    if len(totals) != len(experiment.connections):
        raise UnreadableError("it did not come to its end")
    flows = []
    for number, connection in enumerate(experiment.connections):
        lost = [dropped for flow, dropped in drops if flow == number]
        flows.append(_flow(folder / f"cuts.{number}", connection, looks[number], totals[number], lost))
    return Reading(flows, None, _ways(folder, experiment))


def _ways(folder: Path, experiment: Experiment) -> list[WayTotals]:
    ways = [WayTotals(*map(int, values)) for _, *values in _numbers(folder / "ways", 6)]
    if len(ways) != len(experiment.ways):
        raise UnreadableError("it did not come to its end")
    return ways


def _association(folder: Path, count: int, is_traced: bool) -> AssociationReading:
    paths = {int(number): PathTotals(*map(int, values)) for number, *values in _numbers(folder / "paths", 3)}
    every = list(_numbers(folder / "all", 6))
    if len(every) != 1 or sorted(paths) != list(range(count)):
        raise UnreadableError("it did not come to its end")
    end, ready, first, *counts = every[0]
    chunks, needless, timeouts = map(int, counts)
    looks = _windows(folder / "windows", count) if is_traced else []
    totals = [paths[number] for number in range(count)]
    return AssociationReading(totals, end, _since(ready), _since(first), chunks, needless, timeouts, looks)


def _since(time: float) -> float | None:
    return time if time >= 0 else None


def _windows(path: Path, count: int) -> list[list[tuple[float, float, float]]]:
    """Windows of each path: each time is followed by the agent's lines on its paths, in order."""
    looks: list[list[tuple[float, float, float]]] = [[] for _ in range(count)]
    time, number = nan, 0
    for line in filter(str.strip, _lines(path)):
        words = line.split()
        if words[0] == "now" and len(words) == 2:
            time, number = _number(words[1]), 0
            continue
        fields = dict(zip(words[::2], words[1::2], strict=False))
        if number == count or not fields.keys() >= {"cwnd:", "ssthresh:"}:
            raise UnreadableError(f"{path.name}: {line[:80]!r}")
        looks[number].append((time, _number(fields["cwnd:"]), _number(fields["ssthresh:"])))
        number += 1
    return looks


def _flow(cuts: Path, connection: Connection, looks: list[Look], totals: Totals, drops: list[int]) -> FlowReading:
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
        # Packet 0 is the SYN. Nothing is retransmitted before the first cut, so that the first drop of a lower number
        # is of a packet that was sent in slow start.
        lost = {number for number in drops if number < at_first_cut}
        slow_start = SlowStart(end - connection.start_s, at_first_cut, len(lost), threshold)
    shifted = [(time - connection.start_s, value) for time, value in changes]
    since = connection.start_s
    own = [replace(look, time_s=round(look.time_s - since, 9)) for look in looks if look.time_s >= since]
    return FlowReading(own, totals, len(drops), shifted, slow_start, connection.agent.module is None)


def _drops(folder: Path) -> Iterator[tuple[int, int]]:
    """Data packets that were dropped: flow and number."""
    for line in _lines(folder / "drops"):
        words = line.split()
        if len(words) != 12 or words[0] != "d":
            raise UnreadableError(f"drops: {line[:80]!r}")
        if words[4] == "tcp":
            yield int(_number(words[7])), int(_number(words[10]))


def _changes(path: Path) -> Iterator[tuple[float, str, float]]:
    """Changes of watched variables: time, name and value."""
    for line in _lines(path):
        words = {word[0]: word[1:] for word in line.split()[1:]}
        if not line.startswith("f ") or not words.keys() >= set("tnv"):
            raise UnreadableError(f"{path.name}: {line[:80]!r}")
        yield _number(words["t"]), words["n"], _number(words["v"])


def _numbers(path: Path, count: int) -> Iterator[list[float]]:
    """Numbers of each line, of which there must be `count`."""
    for line in _lines(path):
        words = line.split()
        if len(words) != count:
            raise UnreadableError(f"{path.name}: {line[:80]!r}")
        yield [_number(word) for word in words]


def _number(word: str) -> float:
    try:
        value = float(word)
    except ValueError:
        value = nan
    if not isfinite(value):
        raise UnreadableError(f"{word[:40]!r} is no number")
    return value


def _lines(path: Path) -> Iterator[str]:
    try:
        with path.open(encoding="ascii", errors="replace") as file:
            yield from file
    except OSError as error:
        raise UnreadableError(f"{path.name}: {error.strerror}") from None
