"""Custom queue disciplines (AQMs) in Python, usable wherever a built-in one is.

class Short(vz.Queue):
    def on_departure(self, packet):
        return "drop" if packet.waited_s > 0.02 else None

vz.link("10 Mbps", "50 ms", queue=Short)
"""

from __future__ import annotations

from typing import Literal

from vazao._core import LinkInfo, QueuedPacket

Verdict = Literal["drop", "mark"] | None
"""A decision on a packet. "mark" sets congestion experienced (CE), or drops the packet if it cannot be marked."""


class Queue:
    """An active queue: it decides on each packet when it comes and when it is about to be sent.

    Packets are served in their order, and those that come when the queue is full (the key `limit`, 1000 packets unless
    another is given) are dropped before they are asked about. As it stands it is drop-tail. An instance serves one
    direction of one link.
    """

    def __init__(self, link: LinkInfo) -> None:
        self.link = link
        """The direction of a link that it stands at, with its rate and its limit."""
        self.random = link.random
        """Stream of random numbers that no other algorithm draws from."""

    def on_arrival(self, packet: QueuedPacket) -> Verdict:  # noqa: ARG002 - for subclasses
        """Decide on a packet that comes: None lets it in."""
        return None

    def on_departure(self, packet: QueuedPacket) -> Verdict:  # noqa: ARG002 - for subclasses
        """Decide on the packet at the head, which the link can send now: None sends it."""
        return None
