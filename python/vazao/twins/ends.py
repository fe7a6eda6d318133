"""Settings of a connection's two ends, as far as a capture shows them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

HEADERS = 52
"""Bytes of a packet beside its data: IPv4, TCP and timestamps."""

LIMITING = 0.02
"""Share of the sender's time from which on the receive window counts as a limit."""


@dataclass(frozen=True)
class Ends:
    """Settings of both ends, and what the application did."""

    is_upload: bool
    """Whether the side that opened the connection sends the data."""
    size: int
    """Bytes of data."""
    mss: int
    window: int | None
    """Largest receive window in bytes, where it was a limit."""
    idle: float
    """Share of the time in which the sender had nothing to send."""
    at: int
    """Side at which, or nearest to which, it was captured: 0, the client, or 1."""

    @property
    def sender(self) -> int:
        """Side that sends the data: 0, the client, or 1."""
        return 0 if self.is_upload else 1

    @property
    def is_afar(self) -> bool:
        """Whether it was captured at the receiver, where no queue is seen."""
        return self.at != self.sender

    @property
    def packet(self) -> int:
        """Bytes of a full packet."""
        return self.mss + HEADERS


def ends_of(row: Mapping[str, Any]) -> Ends:
    """Conclude from a connection's row of a capture."""
    spent = {name: row[name] or 0.0 for name in row if name.startswith("limited_")}
    whole = sum(spent.values()) or 1.0
    is_limited = spent["limited_receive_window_s"] / whole > LIMITING
    is_upload = row["sender"] == "client"
    return Ends(
        is_upload=is_upload,
        size=row["app_bytes"],
        mss=row["mss_bytes"],
        window=row["window_max_bytes"] if is_limited else None,
        idle=spent["limited_application_s"] / whole,
        at=int(is_upload == (row["seen_from"] == "receiver")),
    )
