"""One figure as one Vega-Lite description.

A figure is a set of layers over prepared rows (`rows.py`), perhaps split into panels. Three
*faces* of the same description differ only in what a reader can do: a still drawing for files, an
Altair chart with its own clickable legend, and the page's chart, whose legend is the page's own.
"""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from vazao.figures import original
from vazao.figures.breaking import LETTER, in_lines
from vazao.figures.printing import scaled
from vazao.figures.rows import Rows
from vazao.figures.theme import SHAPES, Theme
from vazao.study import Figure
from vazao.units import Unit, title_of, unit_of
from vazao.words import ENGLISH, Words

SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
Spec = dict[str, Any]

HOVER_ROWS = 480
"""Most rows that answer to the pointer; more would make the page heavy without being hit more often."""


class Face(Enum):
    """A place where a figure is shown."""

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
    """All labels the study ever colours in this column, in order: a label's colour is its place here."""
    orders: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Order of the labels of a column that is text."""
    words: Words = ENGLISH
    """The language in which it is told."""

    @property
    def x_is_number(self) -> bool:
        """Whether x has a number's axis, unless the kind of figure wants categories."""
        return self.rows.frame.schema[self.figure.x].is_numeric()

    @property
    def x_is_category(self) -> bool:
        """Bars and boxes stand beside each other whatever their x is."""
        return not self.x_is_number or self.figure.kind in ("bar", "box", "heat")

    def present(self, column: str) -> list[str]:
        """The labels of a column that occur in this figure, in the study's order."""
        found = self.rows.frame[column].unique(maintain_order=True).to_list()
        known = [label for label in self.orders.get(column, ()) if label in found]
        return known + [label for label in found if label not in known]

    def unit(self, axis: str) -> Unit:
        """The unit of `x` or `y`."""
        unit = unit_of(getattr(self.figure, axis), getattr(self.figure, f"{axis}_unit"))
        return Unit(self.words.quantity(self.words.label(unit.symbol)))

    def title(self, axis: str) -> str:
        """The title of `x` or `y`, without its unit."""
        return getattr(self.figure, f"{axis}_title") or self.words.column(title_of(getattr(self.figure, axis)))


def describe(plot: Plot, title: bool = False) -> Spec:
    """The Vega-Lite description, its data named `rows` and not included."""
    figure = plot.figure
    layers, params = lifted([*own(plot), *marks(plot)])
    if plot.theme.scale != 1.0:
        layers = [{**layer, "mark": scaled(layer["mark"], plot.theme.scale)} for layer in layers]
    unit = {"layer": layers, **size(plot)}
    spec: Spec = {
        "$schema": SCHEMA,
        "description": alt_text(plot),
        "data": {"name": "rows"},
        "transform": tooltip_texts(plot),
        "config": plot.theme.config() | ({"locale": {"number": plot.words.locale}} if plot.words.locale else {}),
    }
    if title:
        spec["title"] = figure.title
    if plot.face is Face.PAGE:
        params.append({"name": "picked", "value": None})
    if params:
        spec["params"] = params
    if figure.facet is None:
        return spec | unit
    panels = {"field": figure.facet, "type": "nominal", "sort": plot.present(figure.facet), "title": None}
    return spec | {"facet": panels, "columns": panel_columns(plot), "spec": unit}


def lifted(layers: list[Spec]) -> tuple[list[Spec], list[Spec]]:
    """Layers with names, and their parameters with the names of the layers they listen to: as Altair wants them."""
    named: list[Spec] = [{"name": f"layer_{i}", **layer} for i, layer in enumerate(layers)]
    params = [param | {"views": [layer["name"]]} for layer in named for param in layer.pop("params", [])]
    return named, params


def size(plot: Plot) -> Spec:
    """Width and height of a panel, in points; the page stretches the width to what it has."""
    if plot.theme.width:
        return paper_size(plot, plot.theme.width)
    if plot.figure.kind == "heat":
        return {
            "width": 580 if panel_columns(plot) == 1 else 290,
            "height": 44 * len(plot.present(plot.figure.color or "")),
        }
    if plot.figure.facet is None:
        return {"width": 580, "height": 300}
    return {"width": {1: 580, 2: 290}.get(panel_columns(plot), 200), "height": 210}


def paper_size(plot: Plot, width: float) -> Spec:
    """Size of a panel of a drawing so wide: that of the whole where it is the only one, else a part of what is left."""
    axis, spacing, columns = 62 * plot.theme.scale, 28 * plot.theme.scale, panel_columns(plot)
    panel = width if plot.figure.facet is None else (width - axis - spacing * (columns - 1)) / columns
    height = plot.theme.height or (0.6 if plot.figure.facet is None else 0.8) * panel
    if plot.figure.kind == "heat":
        height = 44 * plot.theme.scale * len(plot.present(plot.figure.color or ""))
    return {"width": round(panel, 1), "height": round(height, 1)}


def panel_columns(plot: Plot) -> int:
    """Panels side by side."""
    panels = len(plot.present(plot.figure.facet)) if plot.figure.facet else 1
    return min(plot.figure.columns or (3 if panels == 3 else 2), panels)


def alt_text(plot: Plot) -> str:
    """The figure in words, for who cannot see it."""
    figure, words = plot.figure, plot.words
    kind = words.of("kind", figure.kind)
    drawn = words.say("figure.against", kind=kind, y=plot.title("y"), x=plot.title("x"))
    text = f"{figure.title.rstrip('.')}. {drawn}"
    for key, column in (
        ("figure.rows" if figure.kind == "heat" else "figure.series", figure.color),
        ("figure.panels", figure.facet),
    ):
        if column:
            text += words.say(key, of=series_title(plot, column).lower(), names=", ".join(plot.present(column)))
    if figure.error == "ci95":
        text += words.say("figure.intervals")
    return text + "."


def tooltip_texts(plot: Plot) -> list[Spec]:
    """Columns that hold what a tooltip says, written with units."""
    figure = plot.figure
    texts: list[Spec] = []
    if plot.x_is_number:
        x = plot.unit("x").expression(f"datum[{figure.x!r}]")
        texts.append({"calculate": x, "as": "x_text"})
    unit = plot.unit("y")
    y = unit.expression(f"datum[{figure.y!r}]")
    if plot.rows.interval and "high" in plot.rows.frame.columns:
        y, low, high = (unit.expression(value, 3) for value in (f"datum[{figure.y!r}]", "datum.low", "datum.high"))
        y = f"{y} + (datum.high > datum.low ? '  [' + {low} + ' – ' + {high} + ']' : '')"
    return [*texts, {"calculate": y, "as": "y_text"}]


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
    """Title of the colours or the panels."""
    stated = {plot.figure.facet: plot.figure.facet_title, plot.figure.color: plot.figure.color_title}
    return stated.get(column) or plot.words.column(title_of(column))


# Channels


def x_channel(plot: Plot) -> Spec:
    """Position along x: a number's axis, or categories in the study's order."""
    figure = plot.figure
    if not plot.x_is_category:
        return {"field": figure.x, **number_axis(plot, "x", values_of(plot, figure.x))}
    if plot.x_is_number:
        order: list[Any] = sorted(plot.rows.frame[figure.x].unique().to_list())
        text = lines = plot.unit("x").expression("datum.value", 3)
        longest = 8
    else:
        order = plot.present(figure.x)
        broken = in_lines(order, size(plot)["width"])
        text, lines = "datum.label", f"{json.dumps(broken, ensure_ascii=False)}[datum.label]"
        longest = max((len(line) for label in broken.values() for line in label), default=1)
    width = "width" if figure.facet is None else "child_width"
    if plot.face is Face.CHART or plot.theme.width:
        # Beside other charts a chart's width has another name, or none.
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
    """All numbers of columns, drawn or reported: what an axis must have room for."""
    tables = (plot.rows.frame, plot.rows.reported)
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
        # An interval may reach below zero, where a logarithm cannot follow: it ends at the edge.
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
    """Ticks of a logarithmic axis: the powers of ten inside it, and some multiples of them where these are few."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for steps in (1,), (1, 3), (1, 2, 5), range(1, 10):
        ticks = [float(f"{step}e{power}") for power in powers for step in steps]
        inside = [tick for tick in ticks if low * 0.999 <= tick <= high * 1.001]
        if len(inside) >= 3:
            return inside
    return inside or [low]


def series_scale(plot: Plot, values: Sequence[Any]) -> Spec:
    """A scale from the labels that occur to the values at their places in the whole study."""
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
            legend["symbolStrokeWidth"] = 0  # else the line's dashes would gnaw at its mark
    scale = series_scale(plot, plot.theme.palette)
    return {"field": plot.figure.color, "type": "nominal", "scale": scale, "legend": legend}


def legend_columns(plot: Plot, width: float) -> int:
    """Entries of a legend that stand side by side in a drawing so wide."""
    longest = max((len(label) for label in plot.present(plot.figure.color or "")), default=1)
    return max(1, int(width / ((LETTER * longest + 40) * plot.theme.scale)))


def shape_channel(plot: Plot) -> Spec:
    """Shape repeats colour."""
    if not plot.figure.color:
        return {"value": SHAPES[0]}
    scale = series_scale(plot, SHAPES)
    return {**color_channel(plot), "scale": scale}


def dash_channel(plot: Plot) -> Spec:
    """Lines of the palette's second round are dashed; of greys, all but the first."""
    theme = plot.theme
    if not plot.figure.color or len(plot.colors) <= theme.solid:
        return {"value": [1, 0]}
    channel = {**color_channel(plot), "scale": series_scale(plot, theme.dashes)}
    # Where lines have no marks, the legend says how each is dashed.
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
    """Whether a line's points are marked: when they are few."""
    return plot.rows.frame.height <= HOVER_ROWS // 2


def opacity_channel(plot: Plot, full: float = 1.0, faint: float = 0.1) -> Spec:
    """Series that the reader did not pick step back."""
    column = plot.figure.color
    if not column or plot.face is Face.STILL:
        return {"value": full}
    test: Spec = {"param": "picked"}
    if plot.face is Face.PAGE:
        test = {"test": f"picked === null || datum[{column!r}] === picked"}
    return {"condition": {**test, "value": full}, "value": faint}


SIDE_BY_SIDE: dict[str, Spec | None] = {
    "bar": None, "point": None,
    # The scale leaves the gaps: bars that are a share of their band wide stand beside its middle.
    "box": {"paddingInner": 0.3, "paddingOuter": 0.15},
    # Lines go from category to category: near enough to its middle that each is seen to pass there.
    "line": {"paddingInner": 0, "paddingOuter": 2},
}  # fmt: skip
"""Kinds whose series of one category stand side by side, with the scale of their places."""


def offset_channel(plot: Plot) -> Spec:
    """Series of one category stand side by side, in every layer alike: marks, intervals, what was reported."""
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


# Layers


def base(plot: Plot) -> Spec:
    """The channels every layer of every kind has."""
    return {"x": x_channel(plot), **offset_channel(plot), "y": y_channel(plot), "color": color_channel(plot)}


def intervals(plot: Plot) -> list[Spec]:
    """Vertical rules from low to high, where there is a spread to show."""
    if not plot.rows.interval:
        return []
    encoding = {
        **base(plot), "y": y_channel(plot, "low"), "y2": {"field": "high"},
        "opacity": opacity_channel(plot, 0.8),
    }  # fmt: skip
    if plot.figure.kind == "bar":
        encoding["color"] = {"value": plot.theme.ink}
    spread = {"filter": "datum.high > datum.low"}
    return [{"transform": [spread], "mark": {"type": "rule", "strokeWidth": 1.4, "clip": True}, "encoding": encoding}]


def line(plot: Plot, interpolate: str = "linear") -> list[Spec]:
    """One line a series, marked points where they are few, intervals as rules."""
    dense = plot.rows.frame.height > CROWD
    encoding = {**base(plot), "opacity": opacity_channel(plot), "strokeDash": dash_channel(plot)}
    detail = [c for c in ("run_id", "replication") if c in plot.rows.frame.columns]
    if detail:
        encoding["detail"] = [{"field": c, "type": "nominal"} for c in detail]
    mark = {"type": "line", "strokeWidth": 1.3 if dense else 2, "interpolate": interpolate, "clip": True}
    lines = {"mark": mark, "encoding": encoding, "params": legend_pick(plot)}
    return [*intervals(plot), lines, *(points(plot) if drawn_marked(plot) else []), *hover(plot)]


FEW = 60
"""Most rows of a figure with bands whose points are marked."""

STEPS = ("step", "ecdf")
"""Kinds of lines that go in steps, whose points have no marks."""

CROWD = 1500  # rows beyond which lines are drawn thinner


def zoomed(plot: Plot) -> bool:
    """Whether a reader may zoom, so that marks are cut at the axes; elsewhere those at an edge are whole."""
    return plot.face is Face.CHART


def points(plot: Plot) -> list[Spec]:
    """The marks of a line's points."""
    encoding = {**base(plot), "shape": shape_channel(plot), "opacity": opacity_channel(plot)}
    mark = {"type": "point", "filled": True, "size": 46, "clip": zoomed(plot)}
    return [{"mark": mark, "encoding": encoding}]


def hover(plot: Plot) -> list[Spec]:
    """Points that show themselves, with a tooltip, when the pointer is nearest to them."""
    if plot.face is Face.STILL:
        return []
    near = {"type": "point", "on": "pointerover", "nearest": True, "clear": "pointerout"}
    shown = {"condition": {"param": "near", "empty": False, "value": 1}, "value": 0}
    layer = {
        "mark": {"type": "point", "filled": True, "size": 110, "stroke": plot.theme.paper, "strokeWidth": 1.5},
        "params": [{"name": "near", "select": near}],
        "encoding": {**base(plot), "opacity": shown, "tooltip": tooltip(plot)},
    }
    if plot.rows.frame.height > HOVER_ROWS:
        layer["transform"] = [{"sample": HOVER_ROWS}]
    return [layer]


def step(plot: Plot) -> list[Spec]:
    """Lines that hold their value until the next one."""
    return line(plot, "step-after")


def band(plot: Plot) -> list[Spec]:
    """Lines with the interval as a band around them."""
    if not plot.rows.interval:
        return line(plot)
    encoding = {
        **base(plot), "y": y_channel(plot, "low"), "y2": {"field": "high"},
        "opacity": opacity_channel(plot, 0.18, 0.03),
    }  # fmt: skip
    shade = {"mark": {"type": "area", "clip": True}, "encoding": encoding}
    return [shade, *(layer for layer in line(plot) if layer["mark"]["type"] != "rule")]


def bar(plot: Plot) -> list[Spec]:
    """Bars side by side, intervals as rules."""
    encoding = {**base(plot), "opacity": opacity_channel(plot), "tooltip": tooltip(plot)}
    mark = {"type": "bar", "cornerRadiusEnd": 1.5}
    return [{"mark": mark, "encoding": encoding, "params": legend_pick(plot)}, *intervals(plot)]


def point(plot: Plot) -> list[Spec]:
    """Points, intervals as rules."""
    encoding = {
        **base(plot), "shape": shape_channel(plot),
        "opacity": opacity_channel(plot, 0.9), "tooltip": tooltip(plot),
    }  # fmt: skip
    size = 70 if plot.rows.frame.height <= HOVER_ROWS // 2 else 22
    mark = {"type": "point", "filled": True, "size": size, "clip": zoomed(plot)}
    return [*intervals(plot), {"mark": mark, "encoding": encoding, "params": legend_pick(plot)}]


def box(plot: Plot) -> list[Spec]:
    """Quartiles as a box, whiskers, the median as a white line."""
    shared = {**base(plot), "tooltip": tooltip(plot)}
    q1 = {**shared, "y": y_channel(plot, "q1"), "y2": {"field": "q3"}, "opacity": opacity_channel(plot)}
    median = {**shared, "y": y_channel(plot, "median"), "y2": {"field": "median"}}
    width = {} if offset_channel(plot) else {"width": {"band": 0.7}}
    return [
        *intervals(plot),
        {"mark": {"type": "bar", **width}, "encoding": q1, "params": legend_pick(plot)},
        {"mark": {"type": "bar", **width, "stroke": plot.theme.paper, "strokeWidth": 2}, "encoding": median},
    ]


def own(plot: Plot) -> list[Spec]:
    """The layers of the figure's kind, which leave the marks of other layers alone."""
    layers = LAYERS[plot.figure.kind](plot)
    if not marks(plot):
        return layers
    unmarked = {"filter": "!datum.mark"}
    return [{**layer, "transform": [unmarked, *layer.get("transform", [])]} for layer in layers]


def marks(plot: Plot) -> list[Spec]:
    """Layers over the figure's own: values beyond the whiskers, and what the original reports."""
    return [*outliers(plot), *reported(plot)]


def outliers(plot: Plot) -> list[Spec]:
    """Small rings beyond the whiskers of boxes."""
    if not plot.rows.outliers.height:
        return []
    mark = {"type": "point", "size": 16, "strokeWidth": 1}
    encoding = base(plot)
    return [{"transform": [{"filter": "datum.mark === 'outlier'"}], "mark": mark, "encoding": encoding}]


def reported(plot: Plot) -> list[Spec]:
    """Marks of the original: an open diamond at its x, or a broken line across where it is said of no x."""
    rows = plot.rows.reported
    if not rows.height:
        return []
    encoding = {**base(plot), "tooltip": tooltip(plot), "opacity": opacity_channel(plot)}
    if plot.figure.color:  # what belongs to no series has the text's colour
        none = {"test": f"datum[{plot.figure.color!r}] === null", "value": plot.theme.ink}
        encoding["color"] = {**encoding["color"], "condition": none}
    halo = {**encoding, "color": {"value": plot.theme.paper}}
    ring = {"type": "point", "shape": "diamond", "filled": False, "size": 130}
    across = {channel: value for channel, value in encoding.items() if channel not in ("x", "xOffset")}
    rule = {"type": "rule", "strokeDash": [6, 4], "strokeWidth": 2}
    x = f"datum[{plot.figure.x!r}]"
    source = {"calculate": json.dumps(plot.words.say("page.original")), "as": original.SOURCE}
    # The report says in a sentence what a file says by the drawing.
    key = {} if plot.face is Face.PAGE else original.key(plot.theme)
    layers = [
        ("!==", {"mark": {**ring, "strokeWidth": 5}, "encoding": halo}),
        ("!==", {"mark": {**ring, "strokeWidth": 2}, "encoding": encoding | key}),
        ("===", {"mark": rule, "encoding": across}),
        *([("===", original.label(plot.theme, encoding["y"]))] if key else []),
    ]
    there = {"!==": rows[plot.figure.x].is_not_null().any(), "===": rows[plot.figure.x].is_null().any()}
    return [
        {"transform": [{"filter": f"datum.mark === 'reported' && {x} {has} null"}, source], **layer}
        for has, layer in layers
        if there[has]
    ]


def heat(plot: Plot) -> list[Spec]:
    """A cell for each x and each label of the colour, darker for a higher y, with y written in it."""
    figure, values = plot.figure, plot.rows.frame[plot.figure.y].to_list()
    color = figure.color or ""
    rows = {"field": color, "type": "ordinal", "sort": plot.present(color), "title": series_title(plot, color)}
    place = {"x": x_channel(plot), "y": rows}
    shades: Spec = {"type": figure.y_scale, "nice": False, "range": [0.07, 0.9]}
    if figure.y_scale == "linear":
        shades["zero"] = False
    shade = {"field": figure.y, "type": "quantitative", "scale": shades, "legend": None}
    cells = {**place, "color": {"value": plot.theme.palette[0]}, "opacity": shade, "tooltip": tooltip(plot)}
    # Letters are light on the dark half of the cells.
    middle = math.sqrt(min(values) * max(values)) if figure.y_scale == "log" else (min(values) + max(values)) / 2
    ink = {"condition": {"test": f"datum[{figure.y!r}] > {middle}", "value": plot.theme.paper}, "value": plot.theme.ink}
    told = {**place, "text": {"field": "y_text", "type": "nominal"}, "color": ink}
    return [{"mark": {"type": "rect"}, "encoding": cells}, {"mark": {"type": "text", "fontSize": 12}, "encoding": told}]


LAYERS: dict[str, Callable[[Plot], list[Spec]]] = {
    "line": line, "step": step, "bar": bar, "point": point, "box": box, "band": band, "area": band,
    "heat": heat, "ecdf": step,
}  # fmt: skip
"""Kind of figure to what draws it."""
