"""Vega-Lite encodings that a figure's layers share: axes, colours, shapes, tooltips, legends and panel sizes."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import polars as pl

from vazao.figures.line_breaks import LETTER, in_lines
from vazao.figures.rows import Rows
from vazao.figures.theme import SHAPES, Theme
from vazao.study import Figure
from vazao.units import Unit, title_of, unit_of
from vazao.words import ENGLISH, Words

Spec = dict[str, Any]

HOVER_ROWS = 480
"""Maximum number of rows that respond to the pointer; more would make the page heavy without being hit more often."""


class Face(Enum):
    """A medium in which a figure is shown."""

    STILL = "a file or a printed page"
    CHART = "a notebook"
    PAGE = "the report"


@dataclass(frozen=True)
class Plot:
    """Everything the layers of one figure share."""

    figure: Figure
    rows: Rows
    theme: Theme
    face: Face
    colors: Sequence[str] = ()
    """All labels of the colour column in the study, in order; a label's index determines its colour."""
    orders: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Order of the labels of a column that is text."""
    words: Words = ENGLISH
    """The language of the figure's texts."""

    @property
    def x_is_number(self) -> bool:
        """Whether the column x is numeric; some kinds of figures draw it as categories nevertheless."""
        return self.rows.frame.schema[self.figure.x].is_numeric()

    @property
    def x_is_category(self) -> bool:
        """Whether x is drawn as categories, as it always is in bar charts, box plots and heat maps."""
        return not self.x_is_number or self.figure.kind in ("bar", "box", "heat")

    @property
    def frames(self) -> list[pl.DataFrame]:
        """The rows of the figure, and those of each measurement set."""
        return [self.rows.frame, *self.rows.measured.values()]

    def present(self, column: str) -> list[str]:
        """The labels of a column that occur in this figure, in the study's order."""
        found = list(
            dict.fromkeys(label for frame in self.frames for label in frame[column].unique(maintain_order=True))
        )
        known = [label for label in self.orders.get(column, ()) if label in found]
        return known + [label for label in found if label not in known]

    def unit(self, axis: str) -> Unit:
        """The unit of `x` or `y`."""
        unit = unit_of(getattr(self.figure, axis), getattr(self.figure, f"{axis}_unit"))
        return Unit(self.words.quantity(self.words.label(unit.symbol)))

    def title(self, axis: str) -> str:
        """The title of `x` or `y`, without its unit."""
        return getattr(self.figure, f"{axis}_title") or self.words.column(title_of(getattr(self.figure, axis)))


def size(plot: Plot) -> Spec:
    """Width and height of a panel, in points; the page stretches the width to fit."""
    if plot.theme.width:
        return paper_size(plot, plot.theme.width)
    if plot.figure.kind == "heat":
        return {
            "width": 580 if panel_columns(plot) == 1 else 290,
            "height": cell_height(plot) * len(plot.present(plot.figure.color or "")),
        }
    if plot.figure.facet is None:
        return {"width": 580, "height": 300}
    return {"width": {1: 580, 2: 290}.get(panel_columns(plot), 200), "height": 210}


def paper_size(plot: Plot, width: float) -> Spec:
    """Size of a panel in a drawing of this total width: all of it for one panel, else a share without axis and gaps."""
    axis, spacing, columns = 62 * plot.theme.scale, 28 * plot.theme.scale, panel_columns(plot)
    panel = width if plot.figure.facet is None else (width - axis - spacing * (columns - 1)) / columns
    height = plot.theme.height or (0.6 if plot.figure.facet is None else 0.8) * panel
    if plot.figure.kind == "heat":
        height = cell_height(plot) * plot.theme.scale * len(plot.present(plot.figure.color or ""))
    return {"width": round(panel, 1), "height": round(height, 1)}


def cell_height(plot: Plot) -> int:
    """Height of a heat map's cell, with room for the values of several measurement sets."""
    return 44 + 20 * max(len(plot.rows.measured) - 1, 0)


def panel_columns(plot: Plot) -> int:
    """Number of panels side by side."""
    panels = len(plot.present(plot.figure.facet)) if plot.figure.facet else 1
    return min(plot.figure.columns or (3 if panels == 3 else 2), panels)


def tooltip(plot: Plot) -> list[Spec]:
    """The tooltip's lines: series, panel, x, y, number of replications."""
    figure = plot.figure
    # Without a format Vega-Lite 6.4 looks for a text in the wrong place under a `nearest` selection.
    text = {"type": "nominal", "format": ""}
    series = [
        {"field": column, "title": series_title(plot, column), **text}
        for column in dict.fromkeys([figure.color, figure.facet])
        if column and column != figure.x
    ]
    x = "x_text" if plot.x_is_number else figure.x
    middle = plot.words.say("figure.median", title=plot.title("y"))
    lines = [
        {"field": x, "title": plot.title("x"), **text},
        {"field": "y_text", "title": middle if figure.kind == "box" else plot.title("y"), **text},
    ]
    if "n" in plot.rows.frame.columns:
        counted = plot.words.say("figure.values" if figure.kind == "box" else "figure.replications")
        lines.append({"field": "n", "type": "quantitative", "format": "d", "title": counted})
    return series + lines


def series_title(plot: Plot, column: str) -> str:
    """Title of a series column: that of the colours or the panels."""
    stated = {plot.figure.facet: plot.figure.facet_title, plot.figure.color: plot.figure.color_title}
    return stated.get(column) or plot.words.column(title_of(column))


FEW = 60
"""Maximum number of rows for which a figure with bands marks its points."""

STEPS = ("step", "ecdf")
"""Kinds that draw step lines, whose points have no marks."""


def x_channel(plot: Plot) -> Spec:
    """Position along x: a numeric axis, or categories in the study's order."""
    figure = plot.figure
    if not plot.x_is_category:
        return {"field": figure.x, **number_axis(plot, "x", values_of(plot, figure.x))}
    if plot.x_is_number:
        order: list[Any] = sorted({value for frame in plot.frames for value in frame[figure.x].to_list()})
        text = lines = plot.unit("x").expression("datum.value", 3)
        longest = 8
    else:
        order = plot.present(figure.x)
        broken = in_lines(order, size(plot)["width"])
        text, lines = "datum.label", f"{json.dumps(broken, ensure_ascii=False)}[datum.label]"
        longest = max((len(line) for label in broken.values() for line in label), default=1)
    width = "width" if figure.facet is None else "child_width"
    if plot.face is Face.CHART or plot.theme.width:
        # In a concatenation the width's signal has another name, or none.
        width = f"{size(plot)['width'] / plot.theme.scale:.0f}"
    tight = f"{width} < {len(order) * (LETTER * longest + 6):.0f}"
    axis = {
        "ticks": False, "labelOverlap": False,
        "labelExpr": f"{tight} ? {text} : {lines}",
        "labelAngle": {"expr": f"{tight} ? -40 : 0"},
        "labelAlign": {"expr": f"{tight} ? 'right' : 'center'"},
        "labelBaseline": {"expr": f"{tight} ? 'middle' : 'top'"},
    }  # fmt: skip
    return {"field": figure.x, "type": "ordinal", "sort": order, "title": plot.title("x"), "axis": axis}


def y_channel(plot: Plot, column: str | None = None) -> Spec:
    """Position along y."""
    values = values_of(plot, plot.figure.y, "low", "high")
    return {"field": column or plot.figure.y, **number_axis(plot, "y", values)}


def values_of(plot: Plot, *columns: str) -> list[float]:
    """All numbers of the columns, drawn, measured or reported, that an axis must have room for."""
    tables = (*plot.frames, plot.rows.reported)
    every = (table[c].to_list() for table in tables for c in columns if c in table.columns)
    return [value for values in every for value in values if value is not None]


def number_axis(plot: Plot, axis: str, values: list[float]) -> Spec:
    """Type, scale and axis of a numeric channel."""
    kind = getattr(plot.figure, f"{axis}_scale") or "linear"
    title, label = plot.unit(axis).axis(plot.title(axis), values, kind)
    scale: Spec = {"type": kind}
    labels: Spec = {"labelExpr": label}
    positive = [v for v in values if v > 0]
    if kind == "log" and positive:
        ticks = log_ticks(min(positive), max(positive))
        labels |= {"values": ticks, "tickCount": 2 * len(ticks)}  # else Vega drops some
        # An interval may reach below zero, which a log scale cannot show: it is clamped at the edge.
        scale |= {"nice": False, "clamp": True, "padding": 14 if axis == "x" else 12}
        scale |= {"domain": [min(positive), max(positive)]}
    elif axis == "x":
        scale |= {"zero": False, "nice": False, "padding": 10 if plot.figure.kind in ("point", "line") else 2}
    elif plot.figure.kind == "ecdf":
        scale |= {"domain": [0, 1]}
    elif plot.unit(axis).symbol == "%" and max(values, default=1.0) <= 1.0:
        scale |= {"domainMax": 1.0} if max(values, default=1.0) > 0.6 else {}
    return {"type": "quantitative", "title": title, "scale": scale, "axis": labels}


def log_ticks(low: float, high: float) -> list[float]:
    """Ticks of a logarithmic axis: the powers of ten in its range, and some multiples of them where these are few."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for steps in (1,), (1, 3), (1, 2, 5), range(1, 10):
        ticks = [float(f"{step}e{power}") for power in powers for step in steps]
        inside = [tick for tick in ticks if low * 0.999 <= tick <= high * 1.001]
        if len(inside) >= 3:
            return inside
    return inside or [low]


def series_scale(plot: Plot, values: Sequence[Any]) -> Spec:
    """A scale that maps the labels in this figure to the values at their indices in the whole study."""
    labels = plot.present(plot.figure.color or "")
    places = {label: place for place, label in enumerate(plot.colors)}
    return {
        "domain": labels,
        "range": [values[places.get(label, i) % len(values)] for i, label in enumerate(labels)],
    }


def color_channel(plot: Plot) -> Spec:
    """Colour by series, or the first colour for everything."""
    if not plot.figure.color:
        return {"value": plot.theme.palette[0]}
    legend: Spec | None = None
    if plot.face is not Face.PAGE and plot.figure.color != plot.figure.x:
        letters = sum(len(label) + 6 for label in plot.present(plot.figure.color))
        wide = plot.theme.width
        legend = {"symbolOpacity": 1, "orient": "top" if wide or letters < 90 else "right"}
        if wide:
            legend["columns"] = legend_columns(plot, wide)
        if plot.figure.kind in ("band", "area") and not drawn_marked(plot):
            legend |= {"symbolType": "stroke", "symbolStrokeWidth": 2 * plot.theme.scale}
        if drawn_marked(plot):
            legend["symbolStrokeWidth"] = 0  # else the line's dashes would break up its mark
    scale = series_scale(plot, plot.theme.palette)
    return {"field": plot.figure.color, "type": "nominal", "scale": scale, "legend": legend}


def legend_columns(plot: Plot, width: float) -> int:
    """Number of legend entries that fit side by side in a drawing of this width."""
    longest = max((len(label) for label in plot.present(plot.figure.color or "")), default=1)
    return max(1, int(width / ((LETTER * longest + 40) * plot.theme.scale)))


def shape_channel(plot: Plot) -> Spec:
    """Shape by series, which repeats the colour."""
    if not plot.figure.color:
        return {"value": SHAPES[0]}
    scale = series_scale(plot, SHAPES)
    return {**color_channel(plot), "scale": scale}


def dash_channel(plot: Plot) -> Spec:
    """Dashes by series: lines of the palette's second round are dashed; with greys, all but the first."""
    theme = plot.theme
    if not plot.figure.color or len(plot.colors) <= theme.solid:
        return {"value": [1, 0]}
    channel = {**color_channel(plot), "scale": series_scale(plot, theme.dashes)}
    # Where lines have no marks, the legend shows how each is dashed.
    return channel if theme.solid == 1 and not drawn_marked(plot) else channel | {"legend": None}


def drawn_marked(plot: Plot) -> bool:
    """Whether the points of the figure's lines have marks."""
    if plot.figure.kind in ("band", "area") and plot.rows.frame.height > FEW:
        return False
    return marked(plot) and plot.figure.kind not in STEPS


def legend(plot: Plot) -> list[Spec]:
    """The series for a legend drawn elsewhere: label, colour, shape (None: a bare line), dash."""
    color = plot.figure.color
    if not color or color == plot.figure.x or plot.figure.kind == "heat":
        return []
    colors, shapes = series_scale(plot, plot.theme.palette), series_scale(plot, SHAPES)["range"]
    dashes = series_scale(plot, plot.theme.dashes)["range"]
    kind = plot.figure.kind
    if kind in ("bar", "box"):
        shapes = ["square"] * len(shapes)
    elif kind != "point" and not drawn_marked(plot):
        shapes = [None] * len(shapes)
    return [
        {"label": label, "color": c, "shape": shape, "dash": " ".join(map(str, dash)) if dash[1] else "none"}
        for label, c, shape, dash in zip(colors["domain"], colors["range"], shapes, dashes, strict=True)
    ]


def marked(plot: Plot) -> bool:
    """Whether a line has few enough points to mark them."""
    return plot.rows.frame.height <= HOVER_ROWS // 2


def opacity_channel(plot: Plot, full: float = 1.0, faint: float = 0.1) -> Spec:
    """Opacity that fades the series that the reader did not pick."""
    column = plot.figure.color
    if not column or plot.face is Face.STILL:
        return {"value": full}
    test: Spec = {"param": "picked"}
    if plot.face is Face.PAGE:
        test = {"test": f"picked === null || datum[{column!r}] === picked"}
    return {"condition": {**test, "value": full}, "value": faint}


SIDE_BY_SIDE: dict[str, Spec | None] = {
    "bar": None, "point": None,
    # The scale leaves the gaps: bars whose width is a share of their band would be off its centre.
    "box": {"paddingInner": 0.3, "paddingOuter": 0.15},
    # Lines run from category to category, close enough to its centre to be seen to pass through it.
    "line": {"paddingInner": 0, "paddingOuter": 2},
}  # fmt: skip
"""Kinds that place the series of a category side by side, with the scale of their offsets."""


def offset_channel(plot: Plot) -> Spec:
    """Offset that places the series of a category side by side, in every layer: marks, intervals, reported values."""
    color, kind = plot.figure.color, plot.figure.kind
    if not (color and plot.x_is_category and color != plot.figure.x and kind in SIDE_BY_SIDE):
        return {}
    scale = SIDE_BY_SIDE[kind]
    more = {"scale": scale} if scale else {}
    return {"xOffset": {"field": color, "type": "nominal", "sort": plot.present(color), **more}}


def legend_pick(plot: Plot) -> list[Spec]:
    """The parameter that a click in the chart's own legend sets."""
    if plot.face is not Face.CHART or not plot.figure.color:
        return []
    select = {"type": "point", "fields": [plot.figure.color]}
    return [{"name": "picked", "select": select, "bind": "legend"}]


def base(plot: Plot) -> Spec:
    """The channels that all layers of all kinds share."""
    return {"x": x_channel(plot), **offset_channel(plot), "y": y_channel(plot), "color": color_channel(plot)}
