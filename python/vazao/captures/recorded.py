"""Connections of a capture as a recording, which the viewer of runs draws."""

from __future__ import annotations

import contextlib
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

from vazao import _core, study
from vazao.captures.reading import Capture, analysed, pieces, read
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


def record_both(first: str | Path, second: str | Path, *, flow: int | None = None, most: int = MOST) -> Recording:
    """Record connections that two captures show at two places, with what was lost between and what the rest took.

    `flow` is a connection's number in the first. Raises `ScenarioError` as `record` does, and if no connection of the
    first is in the second.
    """
    paths = [Path(first), Path(second)]
    (capture, one), (far, other) = (analysed(path) for path in paths)
    notes = [f"{each.path.name}: {note}" for each in (capture, far) for note in each.remarks]
    chosen = connections(capture, flow, most)
    partners = dict(zip(chosen, one.partners(other, chosen), strict=True))
    shared = {number: partner for number, partner in partners.items() if partner is not None}
    if not shared:
        named = "none of the connections" if flow is None else f"no connection {flow}"
        raise ScenarioError(f"{paths[1]}: has {named} of {paths[0]}: the same ends, or the same numbers in the SYNs")
    names = (paths[0].name, paths[1].name if paths[1].name != paths[0].name else str(paths[1]))

    def joined(kept: int) -> bytes:
        sources = [
            kept_packets(path, list(numbers), kept)
            for path, numbers in zip(paths, (shared, shared.values()), strict=True)
        ]
        return sources[0].joined(sources[1], names, notes)

    return Recording(", ".join(names), joined(most), joined)


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
    return kept_packets(capture.path, chosen, most).recording(capture.path.name, capture.remarks)


def kept_packets(path: Path, chosen: list[int], most: int) -> _core.Capture:
    """A capture with the first `most` packets of connections."""
    source = _core.Capture(chosen, most)
    # What is wrong with the file was met when it was read.
    with contextlib.suppress(ScenarioError, EOFError, zlib.error):
        for piece in pieces(path):
            source.feed(piece)
    return source
