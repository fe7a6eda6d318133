"""The congestion windows of several runs, drawn together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl

from vazao._core import MEASURES
from vazao.comparing.variants import plays
from vazao.figures import PAPER, Drawing, Face, Plot, Rows, files, thin
from vazao.files import make_directory, write_atomically
from vazao.results import Result
from vazao.study import Figure

MAX_FLOWS = 8
"""Maximum number of panels: one for each of the first flows."""


def windows(results: Mapping[str, Result]) -> pl.DataFrame:
    """The congestion window over time of each run, flow and path, to the end of the flow.

    Columns: time_s, value (bytes), flow, run (with the path's number where a flow has several paths).
    """
    frames = []
    for name, result in results.items():
        own = [flow for flow, stack in result.flows.select("flow", "stack").iter_rows() if plays(name, stack)]
        chosen = (pl.col("measure") == "cwnd") & pl.col("flow").is_in(own)
        cwnd = result.samples.filter(chosen).select("time_s", "value", "flow", "path")
        ends = result.flows.select(pl.col("flow").cast(cwnd.schema["flow"]), time_s="last_byte_s").drop_nulls()
        last = cwnd.group_by("flow", "path", maintain_order=True).last().drop("time_s").join(ends, on="flow")
        paths = cwnd["path"].n_unique() > 1
        run = pl.format(f"{name} path {{}}", "path") if paths else pl.lit(name)
        both = pl.concat([cwnd, last.select(cwnd.columns)]).with_columns(run=run)
        frames.append(both.sort("flow", "path", "time_s", maintain_order=True).drop("path"))
    return pl.concat(frames)


def drawing(results: Mapping[str, Result]) -> Drawing | None:
    """The figure, with one panel per flow; None if no run has a congestion window."""
    frame = windows(results)
    if frame.is_empty():
        return None
    shown = frame["flow"].unique().sort().head(MAX_FLOWS)
    frame = frame.filter(pl.col("flow").is_in(shown.to_list())).with_columns(flow=pl.format("flow {}", "flow"))
    title, unit = MEASURES["cwnd"]
    figure = Figure(
        id="cwnd", title=title, sql="samples", kind="step", x="time_s", y="value", x_title="Time", y_title=title,
        y_unit=unit, color="run", facet="flow" if len(shown) > 1 else None,
    )  # fmt: skip
    runs = frame["run"].unique(maintain_order=True).to_list()
    orders: dict[str, Sequence[str]] = {"run": runs, "flow": frame["flow"].unique(maintain_order=True).to_list()}
    rows = Rows(thin(frame, ["run", "flow"], "value"))
    return Drawing(Plot(figure, rows, PAPER, Face.STILL, runs, orders))


def draw(results: Mapping[str, Result], folder: Path) -> list[Path]:
    """Write the figure as `cwnd.svg`, `.pdf`, `.png` and an interactive `.html`; return the paths."""
    figure = drawing(results)
    if figure is None:
        return []
    make_directory(folder)
    made = {name: content for name, content in files(figure).items() if name != "json"}
    made["html"] = figure.chart().to_html(inline=True).encode()
    written = [folder / f"cwnd.{suffix}" for suffix in made]
    for path, content in zip(written, made.values(), strict=True):
        write_atomically(path, content)
    return written
