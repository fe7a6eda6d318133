"""Estimation of a captured connection's twin."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from vazao import captures
from vazao.errors import ScenarioError
from vazao.execution import Progress, Silent
from vazao.twins.ends import Ends, ends_of
from vazao.twins.fitting import Fit
from vazao.twins.model import Twin
from vazao.twins.path import estimate
from vazao.twins.search import Search
from vazao.twins.timeline import Timeline, timeline

MOST = 1_000_000
"""Most packets of a connection that are looked at."""

MOST_SEGMENTS = 4 * MOST
"""Full segments up to which a connection is run again and again."""

LONGEST_S = 3600.0
"""Duration up to which it is, in seconds."""

LEAST_SEGMENTS = 10
"""Data segments without which nothing can be estimated."""


def twin(
    capture: str | Path, *, flow: int | None = None, jobs: int | None = None, progress: Progress | None = None
) -> Twin:
    """Estimate a scenario from a connection of TCP in a capture: its path, ends, application and congestion control.

    `flow` is the connection's number in `vz.read`, by default the one with the most data. Several controls and paths
    are run, and the nearest is taken. Raises `ScenarioError` for what is no capture, for a connection that is not
    there, and for one of which too little passed.
    """
    path = Path(capture)
    read = captures.read(path)
    row = _chosen(read, flow)
    what = f"{path}: connection {row['connection']}"
    ends = ends_of(row)
    real = timeline(captures.content(read, [row["connection"]], MOST), ends.sender)
    if len(real.sent_s) < LEAST_SEGMENTS:
        raise ScenarioError(f"{what}: {len(real.sent_s)} segments with data are too few for a twin ({LEAST_SEGMENTS})")
    if row["rtt_min_s"] is None or not len(real.acked):
        raise ScenarioError(f"{what}: no round trip can be seen, as only one direction was captured")
    segments = real.size / row["mss_bytes"]
    if segments > MOST_SEGMENTS:
        raise ScenarioError(f"{what}: {segments:.0f} full segments are too many for a twin ({MOST_SEGMENTS})")
    if real.finished_s > LONGEST_S:
        raise ScenarioError(f"{what}: {real.finished_s:.0f} s are too long for a twin ({LONGEST_S:.0f} s)")
    if real.size > 2 * float((real.end - real.start).sum()):
        raise ScenarioError(f"{what}: most of its data did not pass where it was captured")
    # What is looked at may end before the connection does.
    return _found(path, row, real, replace(ends, size=int(real.size)), jobs, progress or Silent())


def _chosen(capture: captures.Capture, flow: int | None) -> Mapping[str, Any]:
    """The row of a connection: the one asked for, or of TCP's the one with the most data."""
    rows = [row for row in capture.connections.iter_rows(named=True) if flow in (None, row["connection"])]
    known = [row for row in rows if row["protocol"] == "tcp"]
    if known:
        return max(known, key=lambda row: row["app_bytes"])
    if rows and flow is not None:
        raise ScenarioError(f"{capture.path}: connection {flow} is of {rows[0]['protocol']}; twins are of TCP")
    there = f"connection {flow}" if flow is not None else "connection of TCP"
    raise ScenarioError(f"{capture.path}: no {there} (`vazao read --all` lists what there is)")


def _found(
    path: Path, row: Mapping[str, Any], real: Timeline, ends: Ends, jobs: int | None, progress: Progress
) -> Twin:
    search = Search(real, ends, MOST, jobs, progress)
    paths = estimate(real, row["rtt_min_s"], ends.mss, is_afar=ends.is_afar)
    progress.start(search.most_runs(paths), 0)
    try:
        found = search.candidates(paths)
    finally:
        progress.close()
    best = found[0]
    others: dict[str, Fit] = {}
    for candidate in found:
        others.setdefault(candidate.control, candidate.fit)
    del others[best.control]
    return Twin(path, row, best.path, ends, best.control, best.fit, others, search.ended, real.finished_s)
