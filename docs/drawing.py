"""Writes figures to files, for the pages with pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from vazao.figures import PAPER, Drawing, Face, Plot, Rows, thin
from vazao.study import Figure

OVER_TIME: Mapping[str, Any] = {"kind": "step", "x": "time_s", "x_title": "Time"}
"""Options of a figure over time."""


def draw(
    file: Path, title: str, panels: Mapping[str, pl.DataFrame], series: Sequence[str], y_title: str, **more: Any
) -> None:
    """Draw panels side by side, a line for each of `series`; frames have columns `value`, `series` and that of x."""
    options = {"y": "value", "color": "series", "facet": "panel", "columns": 2} | more
    frames = [frame.with_columns(panel=pl.lit(panel)) for panel, frame in panels.items()]
    frame = pl.concat(frames).sort("panel", "series", options["x"], maintain_order=True)
    if len(panels) == 1:
        options["facet"] = None
    figure = Figure(id=file.stem, title=title, sql="samples", y_title=y_title, **options)
    drawn = thin(frame, ["panel", "series"], "value") if figure.kind == "step" else frame
    order = {"series": list(series), "panel": list(panels)}
    svg = Drawing(Plot(figure, Rows(drawn), PAPER, Face.STILL, list(series), order)).svg()
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(svg + "\n", encoding="utf-8")
