"""Charts of samples over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from vazao.errors import ResultsError, did_you_mean
from vazao.figures.plots import Kind, measure_chart
from vazao.figures.rivals import OWNER

if TYPE_CHECKING:
    from vazao.figures.faces import AnyChart


def trace_chart(samples: pl.DataFrame, measure: str, kind: Kind = "step") -> AnyChart:
    """Chart of one run's samples of a measure: a line over time for each flow, path or link, or another `kind`.

    `samples` has the columns of the samples table. Raises `ResultsError` when it holds no such measure.
    """
    frame = series(samples, measure)
    color = "series" if kind != "band" and frame["series"].n_unique() > 1 else None
    return measure_chart(frame, measure, kind, color=None if kind == "box" else color)


def series(samples: pl.DataFrame, measure: str) -> pl.DataFrame:
    """Samples of one measure, with the flow, path or link of each in the column `series`, and any `run_id` kept.

    Where `samples` has `group`, the number of each flow's `[[flow]]` table, the column `OWNER` names that table or the
    link. Raises `ResultsError` when there are no samples.
    """
    chosen = samples.filter(pl.col("measure") == measure)
    if chosen.is_empty():
        hint = did_you_mean(measure, samples["measure"].unique())
        raise ResultsError(f"no samples of {measure!r} were traced{hint}")
    runs = [name for name in samples.columns if name == "run_id"]
    owner = {OWNER: _series(chosen, "flow.{}", "group")} if "group" in chosen.columns else {}
    frame = chosen.select(*runs, "time_s", "value", series=_series(chosen), **owner).sort(
        *runs, "series", "time_s", maintain_order=True
    )
    # Of many links few ever have a queue; where none has, all are shown.
    queued = frame.filter((pl.col("value") > 0).any().over("series")) if measure == "queue" else frame
    return frame if queued.is_empty() else queued


def _series(samples: pl.DataFrame, called: str = "flow {}", number: str = "flow") -> pl.Expr:
    """Name of a sample's series: a link's direction, a flow, or one of several paths of a flow."""
    columns = set(samples.columns)
    flow = pl.format(called, pl.col(number)) if number in columns else pl.lit(None, pl.String)
    if "path" in columns and samples["path"].drop_nulls().n_unique() > 1:
        flow = pl.when(pl.col("path").is_null()).then(flow).otherwise(pl.format("{} path {}", flow, pl.col("path")))
    link = pl.format("{} {}", pl.col("link"), pl.col("direction")) if "link" in columns else pl.lit(None, pl.String)
    return pl.coalesce(flow, link, pl.lit("run"))
