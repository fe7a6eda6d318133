"""Limits of flows: shares of their lives in which a window, the path or something else held data back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

PATH = "path"
"""Limit where a window was full and the narrowest link busy: a larger window would have brought nothing."""

WORDS = {
    "handshake": "handshake",
    "application": "nothing to send",
    "send_buffer": "send buffer",
    "receive_window": "receive window",
    "connection_window": "connection's window",
    "slow_start": "slow start",
    "avoidance": "congestion avoidance",
    "recovery": "loss recovery",
    "pacing": "pacing",
    "timeout": "timeouts",
    "scheduler": "scheduler",
    "nagle": "Nagle's algorithm",
    PATH: "path",
}
"""Names of the limits in texts. All but the path have a column `limited_…_s` of flows; with the measure `limit`, those
of windows have a column `path_…_s` too."""

LEAST = 0.005
"""Least share that texts name."""


def shares(flow: Mapping[str, Any]) -> dict[str, float]:
    """Shares of a flow's life by limit, from its row of `flows`, the largest first; empty without an account of it.

    They sum to 1. What a window has in common with the path is the path's.
    """
    life = flow.get("life_s")
    if not life:
        return {}
    busy = {limit: flow.get(f"path_{limit}_s") or 0.0 for limit in WORDS if limit != PATH}
    spent = {limit: (flow[f"limited_{limit}_s"] - busy[limit]) / life for limit in busy}
    spent[PATH] = sum(busy.values()) / life
    return dict(sorted(((limit, share) for limit, share in spent.items() if share > 0), key=lambda one: -one[1]))


def apart(one: Mapping[str, Any], other: Mapping[str, Any]) -> tuple[str, float] | None:
    """The limit that two runs of a flow, given by their rows of `flows`, have for the most different times.

    The difference is in seconds, what `one` has more. None where no part that both account for differs by as much as
    texts name, of the longer life or, without one, of the longer completion.
    """
    whole = max((row.get(column) or 0.0 for row in (one, other) for column in ("life_s", "completion_s")), default=0.0)
    columns = {limit: f"limited_{limit}_s" for limit in WORDS if limit != PATH}
    more = {
        limit: one[column] - other[column]
        for limit, column in columns.items()
        if one.get(column) is not None and other.get(column) is not None
    }
    limit = max(more, key=lambda limit: abs(more[limit]), default="")
    return (limit, more[limit]) if limit and abs(more[limit]) >= max(LEAST * whole, 1e-6) else None


def sentence(of: Mapping[str, float], words: Mapping[str, str] = WORDS) -> str:
    """Shares in words: `71 % receive window, 22 % slow start, 7 % path`; `words` are the names of their limits."""
    return ", ".join(f"{100 * share:.0f} % {words[limit]}" for limit, share in of.items() if share >= LEAST)
