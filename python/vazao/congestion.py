"""Congestion controls of your own, in Python, usable wherever a built-in one is.

class Cautious(vz.CongestionControl):
    def on_ack(self, ack):
        if not ack.in_recovery:
            self.cwnd += self.mss * ack.acked_bytes / self.cwnd / 2

vz.run(net, [vz.flow(vz.upload("10 MB"), vz.tcp(cc=Cautious))])
"""

from __future__ import annotations

import hashlib
import inspect

from vazao._core import Ack, Congestion


class CongestionControl:
    """How much a sender may have in flight. Subclass it and change what is to be different; as it stands it is Reno.

    Windows are bytes and may be fractions; the sender never goes below one segment. A method that raises ends the run
    with `RunError`. A run costs a few times as much as with a built-in control; runs with Python controls share one
    interpreter, so they do not run in parallel.
    """

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
        self.cwnd = self.ssthresh if congestion.signal == "loss" else self.mss


def fingerprint(control: type[CongestionControl]) -> str:
    """A digest of a control's code and that of the classes it builds on: another code is another run.

    Code that cannot be found (typed at a prompt, say) is known by its compiled form.
    """
    digest = hashlib.sha256()
    for base in control.__mro__[:-1]:
        try:
            digest.update(inspect.getsource(base).encode())
        except (OSError, TypeError):
            for name, member in sorted(vars(base).items()):
                code = getattr(member, "__code__", None)
                digest.update(f"{name}={member!r}".encode() if code is None else code.co_code)
    return digest.hexdigest()[:16]
