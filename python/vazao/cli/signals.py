"""Signals that end a command in good order."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager


class Terminated(BaseException):
    """SIGTERM has come."""


@contextmanager
def terminable() -> Iterator[None]:
    """Make SIGTERM an exception in a block, as Ctrl-C is: what has finished is stored."""

    def end(*_: object) -> None:
        raise Terminated

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
