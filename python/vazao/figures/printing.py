"""Drawings for paper: as wide as a column with all of their text, whatever charts they are made of.

How much room axes and legends take is known when they are drawn, and only of a single panel can Vega take it from the
drawing's width. So a drawing is drawn, and its panels narrowed by what it is too wide.
"""

from __future__ import annotations

import re
from typing import Any

import vl_convert

from vazao.figures.theme import VEGA_LITE

Spec = dict[str, Any]

LEAST = 16.0
"""Least width of a panel in points: a narrower one shows nothing."""

NEAR = 0.5
"""Points that a drawing may be wider or narrower."""

_TIMES = 4
"""Labels that leave an axis make room, so that a second look may be needed."""


def fitted(spec: Spec, width: float) -> Spec:
    """A drawing with its panels so wide that all of it has a width."""
    if _columns(spec) == 1 and "layer" in spec and "facet" not in spec:
        return spec | {"autosize": {"type": "fit-x", "contains": "padding"}}
    if "vconcat" not in spec:
        return _approached(spec, width)
    # Each row has the drawing's width, however many panels stand in it.
    alone = (_approached(spec | {"vconcat": [row]}, width) for row in spec["vconcat"])
    return spec | {"vconcat": [one["vconcat"][0] for one in alone]}


def _approached(spec: Spec, width: float) -> Spec:
    """A drawing that was drawn and narrowed until it has a width."""
    for _ in range(_TIMES):
        excess = _width(spec) - width
        if abs(excess) <= NEAR:
            break
        spec = _narrowed(spec, excess)
    return spec


def _width(spec: Spec) -> float:
    """Width of a drawing with all of its text."""
    found = re.search(r'<svg[^>]* width="([\d.]+)"', vl_convert.vegalite_to_svg(spec, VEGA_LITE))
    return float(found[1]) if found else 0.0


def _columns(spec: Spec) -> int:
    """Panels that stand side by side."""
    if "hconcat" in spec:
        return sum(map(_columns, spec["hconcat"]))
    if "vconcat" in spec:
        return max(map(_columns, spec["vconcat"]), default=1)
    return int(spec.get("columns", 1)) * _columns(spec["spec"]) if "spec" in spec else 1


def _narrowed(spec: Spec, excess: float) -> Spec:
    """A drawing that is narrower by so much, which its panels share."""
    made: dict[str, Any] = dict(spec)
    if "hconcat" in spec:
        all_of_them = _columns(spec)
        made["hconcat"] = [_narrowed(one, excess * _columns(one) / all_of_them) for one in spec["hconcat"]]
    elif "vconcat" in spec:
        made["vconcat"] = [_narrowed(one, excess) for one in spec["vconcat"]]
    elif "spec" in spec:
        made["spec"] = _narrowed(spec["spec"], excess / int(spec.get("columns", 1)))
    elif isinstance(spec.get("width"), int | float):
        made["width"] = round(max(LEAST, spec["width"] - excess), 1)
    return made


def scaled(mark: Spec, scale: float) -> Spec:
    """A mark with lines and areas as text of this scale needs them."""
    powers = {"strokeWidth": 1, "size": 2, "fontSize": 1, "cornerRadiusEnd": 1}
    return {
        key: round(value * scale ** powers.get(key, 0), 2) if key in powers else value for key, value in mark.items()
    }
