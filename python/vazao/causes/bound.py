"""Bounds of a flow's goodput, from its path and from what its application offers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from vazao.causes.document import PACKET, Document, narrowest, number, round_trip

HEADERS = 52
"""Usual bytes of headers in a packet of 1500: IP, and TCP with timestamps."""


@dataclass(frozen=True)
class Bound:
    """Most that a path can carry of what a flow alone offers, and what it costs to begin."""

    rate_bps: float
    """Rate of the narrowest link."""
    round_trip_s: float
    """Propagation delay there and back."""
    goodput_bps: float
    """Payload per second at most: over the whole flow, where its size is known, handshake and slow start counted."""


def bound(asked: Document, document: dict[str, Any]) -> Bound | None:
    """The bound of a flow; None where a rate varies, or where it has several ways."""
    way = asked.way(document)
    rate, trip = narrowest(way), round_trip(way)
    transport = asked.transport(document)
    has_ways = "scheduler" in transport or transport.get("cmt") or transport.get("multipath")
    varies = any(number(there["rate"], "bps") is None for there, _ in way)
    if has_ways or varies or rate is None:
        return None
    app = asked.flow(document)["app"]
    payload = min(rate * (PACKET - HEADERS) / PACKET, number(app.get("rate"), "bps") or math.inf)
    size = number(app.get("size"), "bytes")
    if size is None:
        return Bound(rate, trip, payload)
    took = 1.5 * trip + idle(size, rate, trip) + 8 * size / payload
    return Bound(rate, trip, 8 * size / took)


def idle(size: float, rate: float, trip: float) -> float:
    """Seconds for which a path waits in slow start, whose window doubles from ten packets each round trip."""
    waits, sent, window = 0.0, 0.0, 10.0 * PACKET
    while sent + window < size and 8 * window / rate < trip:
        waits += trip - 8 * window / rate
        sent, window = sent + window, 2 * window
    return waits
