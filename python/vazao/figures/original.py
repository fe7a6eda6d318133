"""Explanation of the marks of an original in a drawing: a legend for diamonds, words on a broken line."""

from __future__ import annotations

from typing import Any

from vazao.figures.theme import Theme

SOURCE = "source_text"
"""Field of a mark's row that has the words."""


def key(theme: Theme) -> dict[str, Any]:
    """The size of diamonds, a channel that nothing else has, for its legend."""
    # A scale of one point lies in the middle of its range.
    scale = {"range": [round(130 * theme.scale**2, 2)] * 2}
    legend = {"symbolType": "diamond", "symbolFillColor": "transparent", "symbolStrokeColor": theme.ink}
    return {"size": {"field": SOURCE, "type": "nominal", "title": None, "scale": scale, "legend": legend}}


def label(theme: Theme, y: dict[str, Any]) -> dict[str, Any]:
    """A layer with the words above the end of a line."""
    mark = {"type": "text", "align": "right", "dy": -7, "fontSize": 11, "color": theme.ink}
    return {"mark": mark, "encoding": {"y": y, "x": {"value": "width"}, "text": {"field": SOURCE, "type": "nominal"}}}
