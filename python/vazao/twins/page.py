"""Page that lays a twin over the connection that it stands for."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

from vazao import _core, captures
from vazao.scenario import load
from vazao.seeing import Page, view
from vazao.twins.model import Twin

SNAP = 128
"""Bytes of each of the twin's packets that are captured: no more is drawn."""


def overlay(twin: Twin) -> Page:
    """The connection and its twin over each other in the viewer, both captured at the same place.

    Raises `ResultsError` when the viewer was not built.
    """
    connection = captures.record(twin.capture, flow=twin.connection["connection"])
    with tempfile.TemporaryDirectory(prefix="vazao-") as directory:
        _core.run(load(twin.text), pcap=directory, snap=SNAP)
        captured = Path(directory) / f"{'ab'[twin.ends.at]}.1.pcapng"
        return view([connection, replace(captures.record(captured), name="twin")], twin.name)
