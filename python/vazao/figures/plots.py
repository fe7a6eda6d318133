"""Charts of data frames: a measure over time or a column of results, in the kinds of figures that studies have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

import polars as pl

from vazao._core import MEASURES
from vazao.errors import ResultsError, did_you_mean
from vazao.figures.channels import Face, Plot
from vazao.figures.faces import Drawing
from vazao.figures.rows import prepare
from vazao.figures.theme import PAPER
from vazao.study import Figure
from vazao.units import title_of

if TYPE_CHECKING:
    from vazao.figures.faces import AnyChart

Kind = Literal["step", "line", "point", "bar", "band", "box", "ecdf"]
"""A kind of chart: a line in steps or straight, points, bars, a band (mean and interval over x), boxes, an ECDF."""

POINTS = 240
"""Number of time points at which a band samples its series."""

TIMED: Sequence[str] = ("step", "line", "point", "band", "ecdf", "box")
"""Kinds that draw a measure over time."""


@dataclass(frozen=True)
class Held:
    """A data frame that answers a figure's query."""

    frame: pl.DataFrame

    def query(self, sql: str, parameters: Mapping[str, object] | None = None) -> pl.DataFrame:
        """The data frame, whatever the query."""
        del sql, parameters
        return self.frame


def column_chart(
    frame: pl.DataFrame,
    column: str,
    kind: Kind,
    *,
    x: str | None = None,
    color: str | None = None,
    facet: str | None = None,
    orders: Mapping[str, Sequence[str]] | None = None,
) -> AnyChart:
    """Chart of a column of results: its mean with a 95 % interval over `x`, or its distribution (`box`, `ecdf`).

    Raises `ResultsError` where a column is missing or the kind needs an `x`.
    """
    _check_kind(kind)
    _check_columns(frame, {"color": color, "facet": facet, "x": x} | {column: column})
    if kind == "ecdf":
        titles: dict[str, Any] = {"x": column, "x_title": title_of(column)}
    elif kind == "box":
        where = x or color or "all"
        frame = frame if where in frame.columns else frame.with_columns(all=pl.lit("all"))
        titles = {"x": where, "y": column, "x_title": " " if where == "all" else title_of(where)}
    elif x is None:
        raise ResultsError(
            f"kind = {kind!r}: needs x, the column that {column!r} is drawn over; box and ecdf need none"
        )
    else:
        titles = {"x": x, "y": column, "error": "ci95"}
        frame = _of_runs(frame, column, [x, color, facet])
    return _chart(frame, column, kind, titles, (color, facet), orders or {})


def _of_runs(frame: pl.DataFrame, column: str, groups: Sequence[str | None]) -> pl.DataFrame:
    """Means of a column per run and group, so that a run with many flows counts once in an interval."""
    if "run_id" not in frame.columns:
        return frame
    by = list(dict.fromkeys(["run_id", *filter(None, groups)]))
    return frame.group_by(by, maintain_order=True).agg(pl.col(column).mean())


def measure_chart(
    samples: pl.DataFrame,
    measure: str,
    kind: Kind,
    *,
    color: str | None = None,
    facet: str | None = None,
    orders: Mapping[str, Sequence[str]] | None = None,
) -> AnyChart:
    """Chart of a measure over time: the raw samples of each series, their distribution, or a band over the series.

    `samples` has `time_s`, `value`, `series` (the name of each sample's flow, path or link) and, with several runs,
    `run_id`. A band is the mean at each time with its 95 % interval over the runs (for one run: over its series).
    """
    _check_kind(kind, TIMED)
    _check_columns(samples, {"color": color, "facet": facet})
    title, unit = MEASURES.get(measure, (title_of(measure), ""))
    texts = {"x_title": "Time", "y": "value", "y_title": title, "y_unit": unit}
    if kind == "band":
        return _chart(
            at_times(samples, [color, facet]), measure, kind, {"x": "time_s", **texts}, (color, facet), orders or {}
        )
    if kind == "ecdf":
        return _chart(
            samples, measure, kind, {"x": "value", "x_title": title, "x_unit": unit}, (color, facet), orders or {}
        )
    if kind == "box":
        where = color or "series"
        more = {"x": where, "x_title": " " if where == "series" else title_of(where)}
        return _chart(samples, measure, kind, texts | more, (color, facet), orders or {})
    # Each series is a separate line, whatever its colour.
    own = {} if color == "series" else {"replication": pl.col("series")}
    lines = samples.with_columns(**own).sort("series", "time_s", maintain_order=True)
    return _chart(lines, measure, kind, {"x": "time_s", **texts}, (color, facet), orders or {})


def at_times(samples: pl.DataFrame, groups: Sequence[str | None]) -> pl.DataFrame:
    """Values at equally spaced times: the mean of each run or, for a single run, each series separately.

    Times at which fewer than half of a group still have values are omitted: they would show another kind of run.
    """
    by = list(dict.fromkeys(group for group in groups if group))
    runs = "run_id" if "run_id" in samples.columns and samples["run_id"].n_unique() > 1 else "series"
    whole = list(dict.fromkeys([*by, *(name for name in ("run_id", "series") if name in samples.columns)]))
    last = samples["time_s"].max()
    end = float(last) if isinstance(last, int | float) else 0.0
    times = pl.DataFrame({"time_s": [end * n / (POINTS - 1) for n in range(POINTS)]}).lazy()
    spans = samples.lazy().group_by(whole).agg(_from=pl.col("time_s").min(), _to=pl.col("time_s").max())
    wanted = spans.join(times, how="cross").filter(pl.col("time_s").is_between("_from", "_to")).sort("time_s")
    known = samples.lazy().sort("time_s", maintain_order=True).select("time_s", "value", *whole)
    held = wanted.join_asof(known, on="time_s", by=whole, strategy="backward", check_sortedness=False)
    means = held.group_by(list(dict.fromkeys(["time_s", *by, runs]))).agg(pl.col("value").mean())
    here, all_of_them = (
        pl.len().over([*by, "time_s"]),
        pl.col(runs).n_unique().over(by) if by else pl.col(runs).n_unique(),
    )
    return means.filter(2 * here >= all_of_them).sort(*by, "time_s", runs).collect()


def _chart(
    frame: pl.DataFrame,
    name: str,
    kind: Kind,
    keys: Mapping[str, Any],
    groups: tuple[str | None, str | None],
    orders: Mapping[str, Sequence[str]],
) -> AnyChart:
    color, facet = groups
    figure = Figure(id="plot", title=title_of(name), sql="rows", kind=kind, color=color, facet=facet, **_defaults(keys))
    if name in MEASURES:
        figure = figure.model_copy(update={"title": MEASURES[name][0]})
    rows = prepare(figure, Held(frame))
    if kind == "band" and "low" in rows.frame.columns and (rows.frame[figure.y] >= 0).all():
        # Student's interval ignores that the values are never below zero.
        rows = replace(rows, frame=rows.frame.with_columns(pl.col("low").clip(0.0)))
    columns = {
        column: list(orders.get(column, _order(rows.frame, column))) for column in (figure.x, color, facet) if column
    }
    return Drawing(Plot(figure, rows, PAPER, Face.CHART, columns.get(color or "", []), columns)).chart()


def _defaults(keys: Mapping[str, Any]) -> dict[str, Any]:
    return {"y": "share", "y_title": "ECDF"} | dict(keys) if "y" not in keys else dict(keys)


def _order(frame: pl.DataFrame, column: str) -> list[str]:
    return [str(label) for label in frame[column].unique(maintain_order=True)]


def _check_kind(kind: str, known: Sequence[str] = get_args(Kind)) -> None:
    if kind not in known:
        raise ResultsError(f"{kind!r} is no kind of chart for this{did_you_mean(kind, known)}")


def _check_columns(frame: pl.DataFrame, wanted: Mapping[str, str | None]) -> None:
    for key, column in wanted.items():
        if column and column not in frame.columns:
            raise ResultsError(f"{key}: {column!r} is not a column here{did_you_mean(column, frame.columns)}")
