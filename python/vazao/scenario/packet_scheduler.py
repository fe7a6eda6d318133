"""Custom packet schedulers for Multipath TCP in Python, usable wherever a built-in one is.

class Emptiest(vz.Scheduler):
    def decide(self, situation):
        return max(situation.available, key=lambda path: path.space_bytes, default=None)

vz.run(net, [vz.flow(vz.upload("10 MB"), vz.mptcp(scheduler=Emptiest))])
"""

from __future__ import annotations

from typing import SupportsIndex

from vazao._core import Copy, PathState, Repeat, Send, Situation

__all__ = ["Copy", "Decision", "PathState", "Repeat", "Scheduler", "Send", "Situation"]

Decision = SupportsIndex | Send | Copy | Repeat | None
"""Decision of a scheduler: the path (or its index) that takes the next data, or None to wait for a change."""


class Scheduler:
    """A packet scheduler: `decide` says which subflow takes the next segment. As it stands it is `lowest-rtt`.

    An instance serves one end of one connection, and is made without arguments. What all schedulers share is done for
    them: which subflows are usable at all, what is sent again after a timeout, backups. A method that raises ends the
    run with `RunError`. A run costs a few times as much as with a built-in scheduler; runs with schedulers in Python
    share one interpreter, so they do not run in parallel.
    """

    queues: bool = False
    """Whether it assigns data to paths that have no room, where it then waits; it is asked though no path has any."""
    wake_s: float | None = None
    """Time to be asked again though nothing happens, in seconds of the run: read where `decide` waits. None, or a time
    that is past: not at all."""

    def decide(self, situation: Situation) -> Decision:
        """Decide what leaves next. Called after each segment until it waits or names a path that takes none now."""
        return min(situation.available, key=lambda path: path.srtt_s or 0.0, default=None)

    def on_sent(self, path: int, data_bytes: int) -> None:
        """Note that `data_bytes` that had not been sent before were given to a path."""
