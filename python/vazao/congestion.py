"""Congestion controls of your own, in Python, usable wherever a built-in one is.

class Cautious(vz.CongestionControl):
    def on_ack(self, ack):
        if not ack.in_recovery:
            self.cwnd += self.mss * ack.acked_bytes / self.cwnd / 2

vz.run(net, [vz.flow(vz.upload("10 MB"), vz.tcp(cc=Cautious))])
"""

from __future__ import annotations

import contextlib
import hashlib
import inspect
from collections.abc import Sequence
from types import CodeType, FunctionType

from vazao._core import Ack, Congestion, Sibling


class CongestionControl:
    """How much a sender may have in flight. Subclass it and change what is to be different; as it stands it is Reno.

    Windows are bytes and may be fractions; the sender never goes below one segment. A method that raises ends the run
    with `RunError`. A run costs a few times as much as with a built-in control; runs with Python controls share one
    interpreter, so they do not run in parallel.
    """

    wants_rate: bool = False
    """Whether acknowledgements are to carry delivery rates (`ack.rate`). They then come after losses were looked for,
    and during a recovery the window is this class's alone."""
    coupled: bool = False
    """Whether `siblings` are to be shown: the other paths of the connection that carry data, before each call."""
    siblings: Sequence[Sibling] = ()
    told: float = 0.0
    """What the other paths' controls, of this class like this one, see of this path as `told`."""
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


def fingerprint(control: type[CongestionControl]) -> str:
    """A digest of a control's code: another code is another run.

    It covers the classes that it builds on, and the functions and values of its module that it uses. Code whose source
    cannot be read (typed at a prompt, say) is known by its compiled form.
    """
    digest = hashlib.sha256()
    seen: set[int] = set()
    for base in control.__mro__[:-1]:
        _source(base, digest)
        for name, member in sorted(vars(base).items()):
            digest.update(name.encode())
            _value(member, digest, seen)
    return digest.hexdigest()[:16]


def _source(thing: object, digest: hashlib._Hash) -> None:
    with contextlib.suppress(OSError, TypeError):
        digest.update(inspect.getsource(thing).encode())  # type: ignore[arg-type]


def _value(value: object, digest: hashlib._Hash, seen: set[int]) -> None:
    """Feed what a class or module holds: a function by its code and what that names, a plain value by its text."""
    if isinstance(value, FunctionType):
        if id(value) not in seen:
            seen.add(id(value))
            _source(value, digest)
            _code(value.__code__, value.__globals__, digest, seen)
            for cell in value.__closure__ or ():
                _value(cell.cell_contents, digest, seen)
    elif isinstance(value, bool | int | float | str | bytes | tuple | frozenset | None):
        digest.update(repr(value).encode())


def _code(code: CodeType, names: dict[str, object], digest: hashlib._Hash, seen: set[int]) -> None:
    digest.update(code.co_code)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            _code(constant, names, digest, seen)
        else:
            digest.update(repr(constant).encode())
    for name in code.co_names:
        digest.update(name.encode())
        _value(names.get(name), digest, seen)
