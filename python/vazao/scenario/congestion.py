"""Custom congestion controls in Python, usable wherever a built-in one is.

class Cautious(vz.CongestionControl):
    def on_ack(self, ack):
        if not ack.in_recovery:
            self.cwnd += self.mss * ack.acked_bytes / self.cwnd / 2

vz.run(net, [vz.flow(vz.upload("10 MB"), vz.tcp(cc=Cautious))])
"""

from __future__ import annotations

from collections.abc import Sequence

from vazao._core import Ack, Congestion, Sibling


class CongestionControl:
    """A congestion control. Subclass it and change what is to be different; as it stands it is Reno.

    Windows are bytes and may be fractions; the sender never goes below one segment. A method that raises ends the run
    with `RunError`. A run costs a few times as much as with a built-in control; runs with Python controls share one
    interpreter, so they do not run in parallel.
    """

    steered: bool = False
    """Whether an environment (`vazao.gym`) sets the window and the rate, and nothing of this class is called."""
    wants_rate: bool = False
    """Whether acknowledgements are to carry delivery rates (`ack.rate`). They then come after losses were looked for,
    and during a recovery the window is this class's alone."""
    coupled: bool = False
    """Whether `siblings` are to be shown: the other paths of the connection that carry data, before each call."""
    siblings: Sequence[Sibling] = ()
    told: float = 0.0
    """Number that the other paths' controls, of this class like this one, see of this path."""
    pacing_rate: float | None = None
    """Bits a second at which data leaves; None: as the window admits it, or as the transport's `pacing` says."""

    def __init__(self, mss: int, initial_window: int, initial_ssthresh: float) -> None:
        self.mss = mss
        """Payload bytes of a full segment."""
        self.cwnd: float = initial_window
        """Congestion window in bytes."""
        self.ssthresh: float = initial_ssthresh
        """Slow-start threshold in bytes; infinite while there is none."""

    def on_ack(self, ack: Ack) -> None:
        """New data was acknowledged, or a duplicate arrived (`ack.acked_bytes` is 0)."""
        if ack.acked_bytes == 0 or ack.in_recovery or not ack.window_limited:
            return
        if self.cwnd < self.ssthresh:
            self.cwnd += min(ack.acked_bytes, 2 * self.mss)
        else:
            self.cwnd += self.mss * ack.acked_bytes / self.cwnd

    def on_congestion(self, congestion: Congestion) -> None:
        """The network showed congestion: at most once a recovery episode, and at each timeout."""
        if congestion.signal != "repeated-timeout":
            self.ssthresh = max(min(self.cwnd, congestion.flight_bytes) / 2, 2 * self.mss)
        self.cwnd = self.ssthresh if congestion.signal in ("loss", "mark") else self.mss

    def on_recovered(self, flight_bytes: int) -> None:
        """A recovery is over with so much left in flight: a window far above it must not become a burst."""
        self.cwnd = min(self.cwnd, max(flight_bytes, self.mss) + self.mss)
