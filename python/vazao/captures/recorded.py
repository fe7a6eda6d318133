"""Connections of a capture as a recording, which the viewer of runs draws."""

from __future__ import annotations

import contextlib
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

from vazao import _core, study
from vazao.captures.reading import Capture, pieces, read
from vazao.errors import ScenarioError
from vazao.seeing import MOST, Recording

if TYPE_CHECKING:
    import polars as pl

MOST_CONNECTIONS = 20
"""Connections of a recording unless one is asked for: as many as `vazao read` shows."""


def is_capture(path: Path) -> bool:
    """Whether a file begins as a capture does, gzipped or not."""
    try:
        with contextlib.closing(pieces(path)) as read_pieces:
            return next(read_pieces, b"")[:4] in study.CAPTURES
    except (OSError, EOFError, zlib.error):
        return False


def record(path: str | Path, *, flow: int | None = None, most: int = MOST) -> Recording:
    """Record connections of a capture as they pass there, at most their first `most` packets.

    `flow` is a connection's number in `read`. Without it: those with the most data, largest first, as many as `most`
    packets hold, 20 at most. Raises `ScenarioError` for a file that is no capture, and for a flow that is not there or
    not of TCP.
    """
    path = Path(path)
    capture = read(path)
    chosen = connections(capture, flow, most)
    return Recording(path.name, content(capture, chosen, most), lambda kept: content(capture, chosen, kept))


def connections(capture: Capture, flow: int | None, most: int) -> list[int]:
    """Numbers of the connections to record, the one with the most data first."""
    rows: pl.DataFrame = capture.connections.sort("app_bytes", descending=True, nulls_last=True, maintain_order=True)
    known = rows.filter(rows["protocol"] == "tcp")
    if flow is not None:
        found = capture.connections.filter(capture.connections["connection"] == flow)
        if not len(found):
            count = len(capture.connections)
            there = f"the last is {count - 1}" if count else "it holds none"
            raise ScenarioError(f"{capture.path}: no connection {flow}; {there} (`vazao read --all` lists them)")
        if found["protocol"][0] != "tcp":
            raise ScenarioError(f"{capture.path}: connection {flow} is of {found['protocol'][0]}; only TCP's are drawn")
        return [flow]
    if not len(known):
        raise ScenarioError(f"{capture.path}: holds no connection of TCP, of which alone packets are drawn")
    fitting = known.filter(known["packets"].cum_sum() <= most).head(MOST_CONNECTIONS)
    return list((fitting if len(fitting) else known.head(1))["connection"])


def content(capture: Capture, chosen: list[int], most: int) -> bytes:
    """Recording of connections of a capture that has been read, with at most `most` packets."""
    source = _core.Capture(chosen, most)
    # What is wrong with the file was met when it was read.
    with contextlib.suppress(ScenarioError, EOFError, zlib.error):
        for piece in pieces(capture.path):
            source.feed(piece)
    return source.recording(capture.path.name, capture.remarks)
