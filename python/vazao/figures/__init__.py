"""Figures of a study, drawn from its stored results.

One Vega-Lite description of a figure gives its interactive chart (:func:`chart`, and the report's
page) and its files (:func:`render`: SVG, PDF, PNG, and the description itself), without a browser.
"""

import json
import re
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import altair as alt
import polars as pl
import vl_convert

from vazao.errors import ResultsError, StudyError, did_you_mean
from vazao.files import make_folder, write_atomically
from vazao.store import Store
from vazao.study import Figure, Study

from .chart import Face, Plot, Spec, describe, legend
from .rows import UNDRAWN, Rows, prepare, thin
from .theme import FONTS, PAPER, Theme

__all__ = ["Drawing", "chart", "drawing", "render", "trace_chart"]

FORMATS = ("svg", "pdf", "png", "json")

VEGA_LITE = "6.4"
"""The version that draws, here and in the page."""

AnyChart = alt.Chart | alt.LayerChart | alt.FacetChart


@dataclass(frozen=True)
class Drawing:
    """A figure with its rows: everything its faces need, queried once."""

    plot: Plot

    @property
    def figure(self) -> Figure:
        """The study's description of the figure."""
        return self.plot.figure

    @property
    def rows(self) -> Rows:
        """What is drawn."""
        return self.plot.rows

    def spec(self, face: Face, theme: Theme = PAPER, title: bool = False) -> Spec:
        """The Vega-Lite description, without data."""
        return describe(replace(self.plot, face=face, theme=theme), title)

    def with_data(self, spec: Spec) -> Spec:
        """The description with its rows inside."""
        return spec | {"datasets": self.datasets()}

    def datasets(self) -> dict[str, list[dict[str, Any]]]:
        """The rows by the names that the description uses."""
        tables = {"rows": self.rows.frame}
        if self.rows.outliers.height:
            tables["outliers"] = self.rows.outliers
        return {name: table.to_dicts() for name, table in tables.items()}

    def svg(self, theme: Theme = PAPER) -> str:
        """The still drawing."""
        _register_fonts()
        spec = self.with_data(self.spec(Face.STILL, theme))
        try:
            drawn = str(vl_convert.vegalite_to_svg(spec, VEGA_LITE))
        except (ValueError, RuntimeError) as error:
            raise StudyError(f"figure {self.figure.id}: cannot be drawn: {str(error).partition(chr(10))[0]}") from None
        return _own_ids(drawn, self.figure.id)

    def legend(self, theme: Theme = PAPER) -> list[Spec]:
        """Label, colour, shape and dash of each series; no shape where lines have no marks."""
        return legend(replace(self.plot, theme=theme))

    def chart(self) -> AnyChart:
        """The interactive Altair chart."""
        _register_fonts()
        spec = self.with_data(self.spec(Face.CHART, title=True))
        made: AnyChart = alt.Chart.from_dict(spec)
        return made


def drawing(study: Study, store: Store, figure: Figure) -> Drawing:
    """Query a figure's rows and find its labels' order and colours.

    Raises `StudyError` when the query fails or does not give what the figure names.
    """
    figure = figure.model_copy(update=dict(_texts(figure)))
    rows = prepare(figure, store)
    orders: dict[str, Sequence[str]] = {c: labels(study, store, c) for c in (figure.x, figure.color, figure.facet) if c}
    colors = orders.get(figure.color or "", [])
    return Drawing(Plot(figure, rows, PAPER, Face.STILL, colors, orders))


def _texts(figure: Figure) -> Iterator[tuple[str, str]]:
    """What a figure says in words, without letters that no drawing has."""
    for name in ("title", "caption", "x_title", "y_title", "color_title", "facet_title", "x_unit", "y_unit"):
        if text := getattr(figure, name):
            # Vega-Lite takes a backslash in the title of an axis for the beginning of an escape.
            yield name, re.sub(UNDRAWN, " ", text).replace("\\", "\N{SET MINUS}")


def drawings(study: Study, store: Store) -> Iterator[Drawing]:
    """Every figure of the study."""
    return (drawing(study, store, figure) for figure in study.figures)


def chart(study: Study, store: Store, figure_id: str) -> AnyChart:
    """The figure with this id as an Altair chart: hover shows values, a click in the legend picks a series.

    Raises `StudyError` when the study has no such figure or it cannot be drawn.
    """
    for figure in study.figures:
        if figure.id == figure_id:
            return drawing(study, store, figure).chart()
    hint = did_you_mean(figure_id, (figure.id for figure in study.figures))
    raise StudyError(f"the study has no figure {figure_id!r}{hint}")


def render(study: Study, store: Store, out_dir: Path) -> dict[str, Path]:
    """Write every figure as `out_dir/figures/ID.{svg,pdf,png,json}`; returns file name to path.

    A figure without a row has no files.
    """
    folder = Path(out_dir) / "figures"
    make_folder(folder)
    written: dict[str, Path] = {}
    every = [one for one in drawings(study, store) if not one.rows.frame.is_empty()]
    # Drawing pixels is most of the work, and done outside the interpreter's lock.
    with ThreadPoolExecutor() as pool:
        for one, formats in zip(every, pool.map(files, every), strict=True):
            for suffix, content in formats.items():
                path = folder / f"{one.figure.id}.{suffix}"
                write_atomically(path, content)
                written[path.name] = path
    return written


def files(one: Drawing) -> dict[str, bytes]:
    """A figure in all formats, by suffix. PDF and PNG are made from the SVG, so they cannot differ."""
    svg = one.svg()
    described = one.with_data(one.spec(Face.CHART, title=True))
    return {
        "svg": svg.encode(),
        "pdf": bytes(vl_convert.svg_to_pdf(svg)),
        "png": bytes(vl_convert.svg_to_png(svg, scale=2)),
        "json": json.dumps(described, ensure_ascii=False, separators=(",", ":")).encode(),
    }


def labels(study: Study, store: Store, column: str) -> list[str]:
    """Every label a column has in the study, in order; a label's place gives its colour in every figure.

    A factor's labels are its levels as written; any other column's are what figures that colour by it show, in the
    order of a factor that has them all, if there is one.
    """
    if levels := [str(label) for label in study.labels(column)]:
        return levels
    known: dict[str, None] = {}
    for figure in study.figures:
        if figure.color == column:
            known |= dict.fromkeys(prepare(figure, store).frame[column].unique(maintain_order=True))
    for factor in dict.fromkeys(factor.name for part in study.parts for factor in part.factors):
        levels = [str(label) for label in study.labels(factor)]
        if known and known.keys() <= set(levels):
            return [label for label in levels if label in known]
    return list(known)


TRACES = {
    "cwnd": ("Congestion window", "B"), "ssthresh": ("Slow-start threshold", "B"), "flight": ("Bytes in flight", "B"),
    "sequence": ("Sequence number", "B"), "delivered": ("Delivered", "B"), "queue": ("Queue", "B"),
    "srtt": ("Smoothed round-trip time", "s"), "rtt": ("Round-trip time", "s"),
    "ca_state": ("Recovery's state", ""), "lost": ("Segments presumed lost", ""), "sacked": ("Segments SACKed", ""),
}  # fmt: skip
"""What a sampled measure is called, and its unit."""


def trace_chart(samples: pl.DataFrame, measure: str) -> AnyChart:
    """One run's samples of a measure over time, one line for each flow, path or link that has it.

    `samples` has the columns of the samples table. Raises `ResultsError` when it holds no such measure.
    """
    chosen = samples.filter(pl.col("measure") == measure)
    if chosen.is_empty():
        hint = did_you_mean(measure, samples["measure"].unique())
        raise ResultsError(f"no samples of {measure!r} were traced{hint}")
    title, unit = TRACES.get(measure, (measure.capitalize(), ""))
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
    """What a sample belongs to: a link's direction, a flow, or one of several paths of a flow."""
    columns = set(samples.columns)
    flow = pl.format("flow {}", pl.col("flow")) if "flow" in columns else pl.lit(None, pl.String)
    if "path" in columns and samples["path"].drop_nulls().n_unique() > 1:
        flow = pl.when(pl.col("path").is_null()).then(flow).otherwise(pl.format("{} path {}", flow, pl.col("path")))
    link = pl.format("{} {}", pl.col("link"), pl.col("direction")) if "link" in columns else pl.lit(None, pl.String)
    return pl.coalesce(flow, link, pl.lit("run"))


def _own_ids(svg: str, figure: str) -> str:
    """Ids that are the figure's own, so that drawings share a page, and count from zero, so that bytes repeat."""
    ids = {name: f"{figure}-{i}" for i, name in enumerate(re.findall(r' id="([^"]+)"', svg))}
    return re.sub(r'(?<= id=")[^"]+|(?<=url\(#)[^)]+', lambda found: ids.get(found[0], found[0]), svg)


@cache
def _register_fonts() -> None:
    vl_convert.register_font_directory(str(FONTS))
