"""Keyboard interrupt for users' algorithms that swallow Ctrl-C; the engine's Python bindings throw it."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any, NoReturn


class Halt(KeyboardInterrupt):
    """A keyboard interrupt that is raised again within any handler that catches it.

    It is thrown into a thread that has caught ordinary ones, as `while True: try: … except: pass` does. A handler
    instantiates it in that thread: from then on the next line of any of its frames, and the next call, raise again.
    """

    def __init__(self) -> None:
        super().__init__()
        frame: FrameType | None = sys._getframe(1)
        while frame:
            frame.f_trace = _again
            frame = frame.f_back
        sys.settrace(_again)
        sys.setprofile(_again)


def _again(*_: Any) -> NoReturn:
    raise KeyboardInterrupt
