"""Graceful termination of commands by signals."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager


class Terminated(BaseException):
    """The process has received SIGTERM."""


@contextmanager
def terminable() -> Iterator[None]:
    """Turn SIGTERM into an exception within a block, as Ctrl-C is one, so that finished work is stored."""

    def end(*_: object) -> None:
        raise Terminated

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
