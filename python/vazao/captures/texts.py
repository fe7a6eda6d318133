"""Captures in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from vazao import limits

if TYPE_CHECKING:
    import polars as pl

LIMITS = {
    **{limit: limits.WORDS[limit] for limit in ("handshake", "application", "receive_window", "recovery", "timeout")},
    "congestion_window": "congestion window or path",
}
"""Limits that a capture shows, each a column `limited_…_s`, and their names in texts."""


def limited(row: Mapping[str, Any]) -> dict[str, float]:
    """Shares of the time of a connection's sender by limit, the largest first; empty where nothing is known."""
    spent = {limit: row[f"limited_{limit}_s"] or 0.0 for limit in LIMITS}
    whole = sum(spent.values())
    return {limit: time / whole for limit, time in sorted(spent.items(), key=lambda each: -each[1]) if time > 0}


def sentence(shares: Mapping[str, float]) -> str:
    """Shares in words: `71 % receive window, 22 % loss recovery`."""
    return limits.sentence(shares, LIMITS)


def summary(facts: Mapping[str, Any], rows: pl.DataFrame) -> str:
    """Packets, time and connections: `1203 packets in 12.3 s; connections: 4 of tcp, 2 of udp`."""
    counts = [f"{count} of {protocol}" for protocol, count in rows["protocol"].value_counts(sort=True).iter_rows()]
    return f"{facts['packets']} packets in {facts['duration_s']:.3g} s; connections: {', '.join(counts) or 'none'}"


def remarks(facts: Mapping[str, Any], rows: pl.DataFrame, problem: str | None) -> Iterator[str]:
    """Sentences on what a capture lacks, and what that means for its numbers."""
    if problem:
        yield f"{problem}; everything before was read"
    if count := facts["unknown_link_packets"]:
        yield f"{count} packets of an unknown kind of link, type {facts['unknown_link']}, are not read"
    for name, kind in (
        ("other_packets", "packets of other protocols than IP"),
        ("fragments", "later fragments of packets"),
        ("headless_packets", "packets that were cut before the end of their headers"),
    ):
        if facts[name]:
            yield f"{facts[name]} {kind} are not read"
    if count := facts["backward_packets"]:
        yield f"the clock goes back {count} times: such a packet is taken to pass with the one before"
    if count := facts["uncounted_packets"]:
        yield f"{count} packets of connections beyond the first {len(rows)} are left out"
    if count := rows["bundled_packets"].sum():
        yield (
            f"{count} packets hold several segments, which the network card takes apart later, or has put together: "
            "`ethtool -K DEVICE tso off gso off gro off` before a capture shows them one by one"
        )
    if count := rows["unseen_packets"].sum():
        yield f"at least {count} segments were acknowledged and not captured: losses and limits may be wrong"
