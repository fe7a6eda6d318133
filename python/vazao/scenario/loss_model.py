"""Custom loss models in Python, usable wherever a built-in one is.

class Tunnel(vz.LossModel):
    def lose(self, size_bytes, now_s):
        return 10 <= now_s % 60 < 12

vz.link("10 Mbps", "50 ms", loss=Tunnel)
"""

from __future__ import annotations

from vazao._core import LinkInfo


class LossModel:
    """A loss model: `lose` says which packets vanish on a link. As it stands it loses none.

    An instance serves one direction of one link. Chance comes from `self.random`, whose numbers are the same in every
    run of the same seed; those of Python's own `random` are not.
    """

    def __init__(self, link: LinkInfo) -> None:
        self.link = link
        """The direction of a link that it stands at."""
        self.random = link.random
        """Stream of random numbers that no other algorithm draws from."""

    def lose(self, size_bytes: int, now_s: float) -> bool:  # noqa: ARG002 - for subclasses
        """Decide on the packet of `size_bytes` that has left the link's transmitter at `now_s`."""
        return False
