"""Marks over a figure's own: values that the original reports and an author measured, each with a legend or label."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from vazao.figures.channels import (
    Face,
    Plot,
    Spec,
    base,
    opacity_channel,
    series_title,
    tooltip,
    x_channel,
    y_channel,
)
from vazao.figures.theme import Theme

SOURCE = "source_text"
"""Field of a mark's row that holds its legend text."""


MARKS = ("square", "triangle-up", "cross", "circle", "triangle-down")
"""Mark shapes of measurement sets, in order; they repeat where there are more sets."""


def key(theme: Theme) -> dict[str, Any]:
    """A size channel for the diamonds, which no other layer uses, so that they get their own legend."""
    return _key(theme, "size", round(130 * theme.scale**2, 2), "diamond")


def rings(theme: Theme) -> dict[str, Any]:
    """A shape channel for values beyond the whiskers, which boxes do not use, so that they get their own legend."""
    return _key(theme, "shape", "circle", "circle")


def widths(theme: Theme, names: Sequence[str]) -> dict[str, Any]:
    """A stroke-width channel for measured values, also unused elsewhere; its legend shows the shape of each set."""
    shapes = {name: shape_of(nth) for nth, name in enumerate(names)}
    symbol = {"expr": f"{json.dumps(shapes, ensure_ascii=False)}[datum.value]"}
    return _key(theme, "strokeWidth", round(2 * theme.scale, 2), symbol)


def shape_of(nth: int) -> str:
    """The mark shape of the n-th measurement set, counted from 0."""
    return MARKS[nth % len(MARKS)]


def _key(theme: Theme, channel: str, value: float | str, shape: Any) -> dict[str, Any]:
    # A point scale with a single value lies in the middle of its range.
    scale = {"range": [value] * 2}
    legend = {"symbolType": shape, "symbolFillColor": "transparent", "symbolStrokeColor": theme.ink}
    return {channel: {"field": SOURCE, "type": "nominal", "title": None, "scale": scale, "legend": legend}}


def label(theme: Theme, y: dict[str, Any]) -> dict[str, Any]:
    """A layer with the legend text above the end of a line."""
    mark = {"type": "text", "align": "right", "dy": -7, "fontSize": 11, "color": theme.ink}
    return {"mark": mark, "encoding": {"y": y, "x": {"value": "width"}, "text": {"field": SOURCE, "type": "nominal"}}}


def reported(plot: Plot) -> list[Spec]:
    """Marks of the original's values: an open diamond at its x, or a dashed line across where no x is given."""
    rows = plot.rows.reported
    if not rows.height:
        return []
    encoding = {**base(plot), "tooltip": tooltip(plot), "opacity": opacity_channel(plot)}
    if plot.figure.color:  # a mark that belongs to no series has the text's colour
        none = {"test": f"datum[{plot.figure.color!r}] === null", "value": plot.theme.ink}
        encoding["color"] = {**encoding["color"], "condition": none}
    halo = {**encoding, "color": {"value": plot.theme.paper}}
    ring = {"type": "point", "shape": "diamond", "filled": False, "size": 130}
    across = {channel: value for channel, value in encoding.items() if channel not in ("x", "xOffset")}
    rule = {"type": "rule", "strokeDash": [6, 4], "strokeWidth": 2}
    x = f"datum[{plot.figure.x!r}]"
    source = {"calculate": json.dumps(plot.words.say("page.original")), "as": SOURCE}
    # The report explains in a sentence what a file explains in the drawing.
    shown = {} if plot.face is Face.PAGE else key(plot.theme)
    layers = [
        ("!==", {"mark": {**ring, "strokeWidth": 5}, "encoding": halo}),
        ("!==", {"mark": {**ring, "strokeWidth": 2}, "encoding": encoding | shown}),
        ("===", {"mark": rule, "encoding": across}),
        *([("===", label(plot.theme, encoding["y"]))] if shown else []),
    ]
    there = {"!==": rows[plot.figure.x].is_not_null().any(), "===": rows[plot.figure.x].is_null().any()}
    return [
        {
            "transform": [{"filter": f"datum.mark === 'reported' && !datum.measured_by && {x} {has} null"}, source],
            **layer,
        }
        for has, layer in layers
        if there[has]
    ]


def measured(plot: Plot, name: str) -> list[Spec]:
    """Marks of a measurement set, over a halo, with intervals over its replications where the figure has them."""
    names = [plot.words.say("figure.measured", name=one) for one in plot.rows.measured]
    nth = list(plot.rows.measured).index(name)
    source = {"calculate": json.dumps(names[nth], ensure_ascii=False), "as": SOURCE}
    transform = [{"filter": f"datum.measured_by === {json.dumps(name)}"}, source]
    if plot.figure.kind == "heat":
        layers = in_cells(plot, name, nth)
        return [{**layer, "transform": [*transform, *layer["transform"]]} for layer in layers]
    by = {"field": SOURCE, "type": "nominal", "format": "", "title": plot.words.say("figure.source")}
    encoding = {**base(plot), "tooltip": [by, *tooltip(plot)], "opacity": opacity_channel(plot)}
    key = {} if plot.face is Face.PAGE else widths(plot.theme, names)
    ring = {"type": "point", "shape": shape_of(nth), "filled": False, "size": 90}
    halo = {**encoding, "color": {"value": plot.theme.paper}}
    layers = [
        {"mark": {**ring, "strokeWidth": 5}, "encoding": halo},
        # The report explains in a sentence what a file explains in a legend.
        {"mark": {**ring, "strokeWidth": 2}, "encoding": encoding | key},
    ]
    if "high" in plot.rows.measured[name].columns:
        spread = {**encoding, "y": y_channel(plot, "low"), "y2": {"field": "high"}}
        rule = {"type": "rule", "strokeWidth": 1.4, "strokeDash": [3, 2], "clip": True}
        layers.insert(0, {"transform": [{"filter": "datum.high > datum.low"}], "mark": rule, "encoding": spread})
    return [{**layer, "transform": [*transform, *layer.get("transform", [])]} for layer in layers]


def in_cells(plot: Plot, name: str, nth: int) -> list[Spec]:
    """Text of the measured values, below the cells' own in a heat map."""
    x, color = plot.figure.x, plot.figure.color or ""
    row = {"field": color, "type": "ordinal", "sort": plot.present(color), "title": series_title(plot, color)}
    text = {"field": "cell_text", "type": "nominal"}
    value = plot.unit("y").expression(f"datum[{plot.figure.y!r}]", 3)
    value_text = {"calculate": f"{json.dumps(name)} + ': ' + {value}", "as": "cell_text"}
    there = {"filter": f"isValid(datum[{x!r}])"}
    mark = {"type": "text", "fontSize": 9, "dy": 13 + 9 * nth}
    halo = {"stroke": plot.theme.paper, "strokeWidth": 3, "strokeJoin": "round"}
    shared = {"transform": [there, value_text], "encoding": {"x": x_channel(plot), "y": row, "text": text}}
    return [{**shared, "mark": {**mark, **more, "color": plot.theme.ink}} for more in (halo, {})]
