"""Custom slow starts in Python, usable wherever a built-in one is.

class Halfway(vz.SlowStart):
    def leave(self, window, ack):
        return window.cwnd_bytes > 64 * self.mss

vz.tcp(cc="cubic", slow_start=Halfway)
"""

from __future__ import annotations

from vazao._core import Ack, Window


class SlowStart:
    """A slow start: how the window grows below its threshold, and whether that ends early.

    As it stands it is RFC 5681's. It serves one path of a connection, below any built-in congestion control that has a
    window.
    """

    def __init__(self, mss: int, limit: float) -> None:
        self.mss = mss
        """Payload bytes of a full segment."""
        self.limit = limit
        """Segments by which one acknowledgement may open the window (RFC 3465's L)."""

    def grow(self, window: Window, ack: Ack) -> float:
        """Return the window, in bytes, after an acknowledgement of new data."""
        return window.cwnd_bytes + min(ack.acked_bytes, self.limit * self.mss)

    def leave(self, window: Window, ack: Ack) -> bool:  # noqa: ARG002 - for subclasses
        """Return whether slow start ends now, without a loss."""
        return False

    def restart(self, now_s: float) -> None:
        """Begin anew after a timeout."""
