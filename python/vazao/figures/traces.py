"""One run's samples over time, drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from vazao._core import MEASURES
from vazao.errors import ResultsError, did_you_mean
from vazao.figures.description import Face, Plot
from vazao.figures.faces import Drawing
from vazao.figures.rows import Rows, thin
from vazao.figures.theme import PAPER
from vazao.study import Figure
from vazao.units import title_of

if TYPE_CHECKING:
    from vazao.figures.faces import AnyChart


def trace_chart(samples: pl.DataFrame, measure: str) -> AnyChart:
    """One run's samples of a measure over time, one line for each flow, path or link that has it.

    `samples` has the columns of the samples table. Raises `ResultsError` when it holds no such measure.
    """
    chosen = samples.filter(pl.col("measure") == measure)
    if chosen.is_empty():
        hint = did_you_mean(measure, samples["measure"].unique())
        raise ResultsError(f"no samples of {measure!r} were traced{hint}")
    title, unit = MEASURES.get(measure, (title_of(measure), ""))
    frame = chosen.select("time_s", "value", series=_series(chosen)).sort("series", "time_s", maintain_order=True)
    # Of many links few have a queue; where none has, all are shown.
    queued = frame.filter((pl.col("value") > 0).any().over("series")) if measure == "queue" else frame
    frame = frame if queued.is_empty() else queued
    order = frame["series"].unique(maintain_order=True).to_list()
    figure = Figure(
        id=measure, title=title, sql="samples", kind="step", x="time_s", y="value", x_title="Time", y_title=title,
        y_unit=unit, color="series" if len(order) > 1 else None,
    )  # fmt: skip
    rows = Rows(thin(frame, ["series"], "value"))
    return Drawing(Plot(figure, rows, PAPER, Face.CHART, order, {"series": order})).chart()


def _series(samples: pl.DataFrame) -> pl.Expr:
    """Name of what a sample belongs to: a link's direction, a flow, or one of several paths of a flow."""
    columns = set(samples.columns)
    flow = pl.format("flow {}", pl.col("flow")) if "flow" in columns else pl.lit(None, pl.String)
    if "path" in columns and samples["path"].drop_nulls().n_unique() > 1:
        flow = pl.when(pl.col("path").is_null()).then(flow).otherwise(pl.format("{} path {}", flow, pl.col("path")))
    link = pl.format("{} {}", pl.col("link"), pl.col("direction")) if "link" in columns else pl.lit(None, pl.String)
    return pl.coalesce(flow, link, pl.lit("run"))
