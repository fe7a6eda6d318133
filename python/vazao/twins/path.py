"""Estimate of a path from one direction of a connection."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from vazao.twins.ends import HEADERS
from vazao.twins.timeline import Numbers, Timeline

SEGMENTS = 24
"""Segments over which a rate is measured."""

BURST = 6
"""Segments of a burst, over which a rate is measured where none lasts."""

ALIKE = 0.97
"""Share of the fastest bursts' rate from which on a lasting rate is the path's, where no queue is seen."""

GUESSES = (0.25, 0.5, 1.0, 2.0, 4.0)
"""Lengths of queues that are tried where none is seen, in bandwidth-delay products."""

DOUBT = 0.05
"""Distance by which a less likely explanation of the losses must be nearer to the connection."""

SLOWEST, FASTEST = 1e3, 400e9
"""Rates of paths in bit/s: what passes at one instant, or in an age, tells none."""

SETTLED = 0.01
"""Share by which a rate may fall when it is measured over twice the time."""

SYN = 60
"""Bytes of the packets of a handshake."""

OVERFLOWING = 5
"""Ratio of losses in a queue that overflows to those elsewhere, at least."""

STANDING = 0.7
"""Share of the longest wait in the queue from which on a loss is one of a full queue."""


@dataclass(frozen=True)
class Path:
    """Path as far as a connection shows it."""

    rate_bps: float
    """Rate of the narrowest link, packets with their headers."""
    is_filled: bool
    """Whether the connection has filled it: if not, it may be faster."""
    delay_s: float
    """Delay of each direction, if both are alike."""
    jitter_s: float
    """Spread of the delay, where it is more than what a queue does to it."""
    queue_bytes: float
    """Longest queue: where it overflowed, or the longest that was seen."""
    overflows: bool
    """Whether a full queue dropped packets: if not, it may be longer."""
    lost: tuple[int, ...]
    """Numbers of the packets that were lost elsewhere, in their direction from 1 on."""
    packets: int
    """Data packets that were sent."""
    doubt: float
    """Distance by which it must be nearer to the connection than the likeliest explanation."""


def estimate(timeline: Timeline, rtt_min_s: float, mss: int, *, is_afar: bool) -> list[Path]:
    """Estimate a path from what its sender sent, its least round trip and the size of a segment.

    Losses may be due to a full queue, or have happened elsewhere, and far from the sender queues are not seen: each
    explanation is a path, the likeliest first.
    """
    trips_at, trips = (np.zeros(0), np.zeros(0)) if is_afar else timeline.round_trips()
    rate, is_filled = _rate(timeline, mss, trips, rtt_min_s)
    rate = min(max(rate * (mss + HEADERS) / mss, SLOWEST), FASTEST)
    plain = Path(
        rate_bps=rate,
        is_filled=is_filled,
        delay_s=max(rtt_min_s - 2 * SYN * 8 / rate, 1e-6) / 2,
        jitter_s=_jitter(trips, (mss + HEADERS) * 8 / rate),
        queue_bytes=0.0,
        overflows=False,
        lost=(),
        packets=len(timeline.sent_s),
        doubt=0.0,
    )
    if is_afar:
        return _guesses(plain, timeline, rtt_min_s)
    return _explanations(plain, timeline, trips_at, trips, mss)


def _explanations(plain: Path, timeline: Timeline, sent_s: Numbers, trips: Numbers, mss: int) -> list[Path]:
    """Paths whose queue overflowed when packets that had waited long were followed by losses, or always, or never."""
    packet = (mss + HEADERS) * 8 / plain.rate_bps
    waits = np.maximum(trips - trips.min(initial=np.inf), 0.0)
    longest = float(np.quantile(waits, 0.995)) if len(waits) else 0.0
    lost = timeline.repeated
    waited = np.interp(timeline.sent_s, sent_s, waits) if len(waits) else np.zeros(len(timeline.sent_s))
    is_high = waited >= STANDING * longest
    is_full = is_high[lost] & (longest > 4 * packet)
    # A queue that overflows loses far more than what is lost while it is short.
    often = is_full.sum() / max(is_high.sum(), 1)
    seldom = (~is_full).sum() / max((~is_high).sum(), 1)
    views = [is_full, np.ones_like(is_full), np.zeros_like(is_full)]
    if often < OVERFLOWING * seldom:
        views.reverse()
    paths: list[Path] = []
    for rank, full in enumerate(views):
        queue = max(float(np.median(waited[lost[full]])), longest) if full.any() else longest
        elsewhere = tuple(int(number) for number in timeline.number[lost[~full]])
        path = replace(
            plain,
            queue_bytes=queue * plain.rate_bps / 8,
            overflows=bool(full.any()),
            lost=elsewhere,
            doubt=DOUBT * rank,
        )
        if all((path.overflows, path.lost) != (other.overflows, other.lost) for other in paths):
            paths.append(path)
    return paths


def _guesses(plain: Path, timeline: Timeline, rtt_min_s: float) -> list[Path]:
    """Paths with queues of several lengths that overflow, and one on which all losses happened elsewhere."""
    bdp = plain.rate_bps * rtt_min_s / 8
    missing = timeline.missing()
    elsewhere = replace(plain, queue_bytes=bdp, lost=missing, doubt=DOUBT if missing else 0.0)
    return [*(replace(plain, queue_bytes=bdp * times, overflows=True) for times in GUESSES if missing), elsewhere]


def _jitter(trips: Numbers, packet: float) -> float:
    """Width of a uniform distribution whose differences have the median of those between round trips."""
    median = float(np.median(np.abs(np.diff(trips)))) if len(trips) > 10 else 0.0
    return median / (1 - 0.5**0.5) if median > max(2 * packet, 1e-4) else 0.0


def _rate(timeline: Timeline, mss: int, trips: Numbers, least: float) -> tuple[float, bool]:
    """Rate of data over the narrowest link in bit/s, and whether the connection has filled it for long."""
    shaking = 5 * float(np.median(np.abs(np.diff(trips)))) if len(trips) > 1 else 0.0
    found = _settled(_lasting(*rates_of(timeline, segments * mss, shaking)) for segments in _doubled(SEGMENTS))
    # Where nothing stands in the queue, bursts are spread by the narrowest link.
    burst = _settled(_highest(rates_of(timeline, segments * mss, shaking)[0]) for segments in _doubled(BURST))
    if found is None:
        return burst or timeline.size * 8 / max(timeline.finished_s, 1e-9), False
    if len(trips):
        stands = float(np.quantile(trips, 0.9)) - least > 3 * mss * 8 / found
    else:
        stands = burst is not None and found > burst * ALIKE
    return (found, True) if stands else (max(found, burst or 0.0), False)


def _doubled(first: int) -> list[int]:
    return [first << times for times in range(7)]


def _settled(rates: Iterable[float | None]) -> float | None:
    """The first of some rates that is confirmed over twice the time: jitter deceives over short ones."""
    before = None
    for rate in rates:
        if rate is None:
            return before
        if before is not None and rate > before * (1 - SETTLED):
            return before
        before = rate
    return before


def _highest(rates: Numbers) -> float | None:
    """A rate that the highest ones agree on, but for few."""
    top = np.sort(rates)[-max(3, len(rates) // 200) :]
    return float(np.median(top)) if len(top) else None


def _lasting(rates: Numbers, weights: Numbers) -> float | None:
    """The highest rate that lasts: what is within 1.5 % of it takes a tenth of the time."""
    order = np.argsort(rates)
    rates, sums = rates[order], np.concatenate([[0.0], np.cumsum(weights[order])])
    lows, highs = np.searchsorted(rates, rates * 0.985), np.searchsorted(rates, rates * 1.015)
    lasting = np.flatnonzero(sums[highs] - sums[lows] >= 0.1 * sums[-1])
    if not len(lasting):
        return None
    near = slice(lows[lasting[-1]], highs[lasting[-1]])
    return float(np.average(rates[near], weights=weights[order][near]))


def rates_of(timeline: Timeline, size: float, least_s: float) -> tuple[Numbers, Numbers]:
    """Rates in bit/s at which `size` octets and a little were delivered, in no less than a time.

    The second array has the time that each stands for.
    """
    delivered = np.maximum.accumulate(timeline.delivered)
    fresh = np.flatnonzero(np.diff(delivered, prepend=-1) > 0)
    octets, times = delivered[fresh], timeline.acked_s[fresh]
    ends = np.searchsorted(octets, octets + size)
    good = ends < len(octets)
    starts, ends = np.flatnonzero(good), ends[good]
    spans = times[ends] - times[starts]
    ok = (spans > 0) & (spans >= least_s)
    starts, ends, spans = starts[ok], ends[ok], spans[ok]
    steps = np.append(np.diff(times), 0.0)
    return (octets[ends] - octets[starts]) * 8 / spans, steps[starts]
