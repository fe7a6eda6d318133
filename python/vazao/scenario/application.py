"""Custom applications in Python, usable wherever a built-in one is.

class Sensor(vz.Application):
    def next_message(self, now_s):
        return 200, 1 + self.random.exponential(0.1)

vz.flow({"kind": Sensor, "duration": "60 s"}, vz.tcp())
"""

from __future__ import annotations

from vazao._core import RandomStream


class Application:
    """An application: the client writes messages one after the other, `next_message` says how large and when.

    The keys `size`, `duration` and `read_rate` beside it are the engine's, as those of `cbr` are: the flow ends with
    whichever comes first, or with the last message. One of them, or the scenario's `until`, is needed.
    """

    def __init__(self, random: RandomStream) -> None:
        self.random = random
        """Stream of random numbers that is the flow's alone, the same in every run of the same seed."""

    def next_message(self, now_s: float) -> tuple[int, float] | None:  # noqa: ARG002 - for subclasses
        """Return the bytes of the message that is written now, and the seconds until the next one.

        None: it is over. As it stands no message comes.
        """
        return None
