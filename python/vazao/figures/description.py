"""Vega-Lite specification of a figure for three media: still image, notebook chart, and report page.

A figure is a set of layers over prepared rows (`rows.py`), perhaps split into panels. Three
*faces* of the same description differ only in what a reader can do: a still drawing for files, an
Altair chart with its own clickable legend, and the page's chart, whose legend is the page's own.
"""

import json
import math
from collections.abc import Callable

from vazao.figures import overlays
from vazao.figures.channels import (
    HOVER_ROWS,
    Face,
    Plot,
    Spec,
    base,
    dash_channel,
    drawn_marked,
    legend_pick,
    offset_channel,
    opacity_channel,
    panel_columns,
    series_title,
    shape_channel,
    size,
    tooltip,
    x_channel,
    y_channel,
)
from vazao.figures.print_layout import scaled
from vazao.words import DEFAULT

SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"


def describe(plot: Plot, title: bool = False) -> Spec:
    """The Vega-Lite description, its data named `rows` and not included."""
    figure = plot.figure
    layers, params = lifted([*own(plot), *marks(plot)])
    if plot.theme.scale != 1.0:
        layers = [{**layer, "mark": scaled(layer["mark"], plot.theme.scale)} for layer in layers]
    unit = {"layer": layers, **size(plot)}
    config = plot.theme.config() | ({"locale": {"number": plot.words.locale}} if plot.words.locale else {})
    if plot.words.lang != DEFAULT:
        # Vega describes axes and legends to screen readers only in English.
        config |= {key: config[key] | {"aria": False} for key in ("axis", "legend")}
    spec: Spec = {
        "$schema": SCHEMA,
        "description": alt_text(plot),
        "data": {"name": "rows"},
        "transform": tooltip_texts(plot),
        "config": config,
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
    """Named layers, and their parameters lifted out with the names of the layers they listen to, as Altair requires."""
    named: list[Spec] = [{"name": f"layer_{i}", **layer} for i, layer in enumerate(layers)]
    params = [param | {"views": [layer["name"]]} for layer in named for param in layer.pop("params", [])]
    return named, params


def alt_text(plot: Plot) -> str:
    """Alternative text of the figure for screen readers."""
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
    """Transforms that add the columns of a tooltip's texts, formatted with units."""
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


# Layers


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
    """One line per series, points marked where they are few, intervals as rules."""
    dense = plot.rows.frame.height > CROWD
    encoding = {**base(plot), "opacity": opacity_channel(plot), "strokeDash": dash_channel(plot)}
    detail = [c for c in ("run_id", "replication") if c in plot.rows.frame.columns]
    if detail:
        encoding["detail"] = [{"field": c, "type": "nominal"} for c in detail]
    mark = {"type": "line", "strokeWidth": 1.3 if dense else 2, "interpolate": interpolate, "clip": True}
    lines = {"mark": mark, "encoding": encoding, "params": legend_pick(plot)}
    return [*intervals(plot), lines, *(points(plot) if drawn_marked(plot) else []), *hover(plot)]


CROWD = 1500  # rows beyond which lines are drawn thinner


def zoomed(plot: Plot) -> bool:
    """Whether the reader can zoom, so that marks are clipped at the axes; elsewhere marks at an edge stay whole."""
    return plot.face is Face.CHART


def points(plot: Plot) -> list[Spec]:
    """The marks of a line's points."""
    encoding = {**base(plot), "shape": shape_channel(plot), "opacity": opacity_channel(plot)}
    mark = {"type": "point", "filled": True, "size": 46, "clip": zoomed(plot)}
    return [{"mark": mark, "encoding": encoding}]


def hover(plot: Plot) -> list[Spec]:
    """Hidden points that appear, with a tooltip, when the pointer is nearest to them."""
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
    """The layers of the figure's kind, which skip the rows of overlay marks."""
    layers = LAYERS[plot.figure.kind](plot)
    if not marks(plot):
        return layers
    unmarked = {"filter": "!datum.mark"}
    return [{**layer, "transform": [unmarked, *layer.get("transform", [])]} for layer in layers]


def marks(plot: Plot) -> list[Spec]:
    """Layers over the figure's own: outliers, values that the original reports, values that others measured."""
    measurements = (layer for name in plot.rows.measured for layer in overlays.measured(plot, name))
    return [*outliers(plot), *overlays.reported(plot), *measurements]


def outliers(plot: Plot) -> list[Spec]:
    """Small rings for the values beyond the whiskers of boxes."""
    if not plot.rows.outliers.height:
        return []
    mark = {"type": "point", "size": 16, "strokeWidth": 1}
    source = {"calculate": json.dumps(plot.words.say("figure.outlier"), ensure_ascii=False), "as": overlays.SOURCE}
    # The report explains in a sentence what a file explains in a legend.
    legend = {} if plot.face is Face.PAGE else overlays.rings(plot.theme)
    transform = [{"filter": "datum.mark === 'outlier'"}, source]
    return [{"transform": transform, "mark": mark, "encoding": base(plot) | legend}]


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
    # Text is light on the dark half of the cells.
    middle = math.sqrt(min(values) * max(values)) if figure.y_scale == "log" else (min(values) + max(values)) / 2
    ink = {"condition": {"test": f"datum[{figure.y!r}] > {middle}", "value": plot.theme.paper}, "value": plot.theme.ink}
    text = {**place, "text": {"field": "y_text", "type": "nominal"}, "color": ink}
    return [{"mark": {"type": "rect"}, "encoding": cells}, {"mark": {"type": "text", "fontSize": 12}, "encoding": text}]


LAYERS: dict[str, Callable[[Plot], list[Spec]]] = {
    "line": line, "step": step, "bar": bar, "point": point, "box": box, "band": band, "area": band,
    "heat": heat, "ecdf": step,
}  # fmt: skip
"""Kind of figure to the function that makes its layers."""
