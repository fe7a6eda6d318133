"""Display of captures."""

from __future__ import annotations

import polars as pl
from rich.text import Text

from vazao import captures
from vazao.cli.terminal import out, table

COLUMNS = ("connection", "interface", "client", "server", "app_bytes", "goodput_bps", "rtt_min_s")
REPAIRS = ("retransmissions", "spurious_retransmissions", "reordered", "duplicates", "zero_windows", "unseen_packets")
"""Counts that are shown where a connection has any."""


def show(capture: captures.Capture, most: int | None) -> None:
    """Print the connections of a capture, `most` of them at most."""
    out.print(Text(f"{capture.path}: {capture.summary}"), soft_wrap=True)
    known = capture.connections.filter(pl.col("protocol") == "tcp")
    rows = known.sort("app_bytes", descending=True, maintain_order=True).head(most or len(known))
    if len(rows):
        counts = [name for name in REPAIRS if rows[name].sum()]
        fixed = [name for name in COLUMNS if name != "interface" or known[name].max()]
        out.print(table(rows.select(*fixed, *counts)))
        limits = [(row["connection"], captures.sentence(captures.limited(row))) for row in rows.iter_rows(named=True)]
        told = pl.DataFrame(
            {"connection": [number for number, _ in limits], "its sender waited for": [text for _, text in limits]}
        )
        out.print(table(told.filter(pl.col("its sender waited for") != "")))
    if len(rows) < len(known):
        out.print(f"{len(known) - len(rows)} smaller connections are not shown; --all shows them", highlight=False)
    for remark in capture.remarks:
        out.print(Text(f"note: {remark}"), soft_wrap=True)
