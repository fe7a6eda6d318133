"""Drawings for paper: fitted to the width of a column including all text, whatever charts they combine.

The room that axes and legends take is known only after rendering, and Vega can subtract it from the width only for a
single panel. So a drawing is rendered, and its panels are narrowed by the excess width.
"""

from __future__ import annotations

import re
from typing import Any

import vl_convert

from vazao.figures.theme import VEGA_LITE

Spec = dict[str, Any]

LEAST = 16.0
"""Minimum width of a panel in points: a narrower one shows nothing."""

NEAR = 0.5
"""Tolerance of a drawing's width, in points."""

_TIMES = 4
"""Maximum number of fitting rounds: labels dropped from an axis free room, so one round may not be enough."""


def fitted(spec: Spec, width: float) -> Spec:
    """A drawing with its panels fitted so that its total width is `width`."""
    if _columns(spec) == 1 and "layer" in spec and "facet" not in spec:
        return spec | {"autosize": {"type": "fit-x", "contains": "padding"}}
    if "vconcat" not in spec:
        return _approached(spec, width)
    # Each row gets the full width, however many panels it has.
    alone = (_approached(spec | {"vconcat": [row]}, width) for row in spec["vconcat"])
    return spec | {"vconcat": [one["vconcat"][0] for one in alone]}


def _approached(spec: Spec, width: float) -> Spec:
    """A drawing that is rendered and narrowed until its total width is `width`."""
    for _ in range(_TIMES):
        excess = _width(spec) - width
        if abs(excess) <= NEAR:
            break
        spec = _narrowed(spec, excess)
    return spec


def _width(spec: Spec) -> float:
    """Width of a rendered drawing including all text."""
    found = re.search(r'<svg[^>]* width="([\d.]+)"', vl_convert.vegalite_to_svg(spec, VEGA_LITE))
    return float(found[1]) if found else 0.0


def _columns(spec: Spec) -> int:
    """Number of panels side by side."""
    if "hconcat" in spec:
        return sum(map(_columns, spec["hconcat"]))
    if "vconcat" in spec:
        return max(map(_columns, spec["vconcat"]), default=1)
    return int(spec.get("columns", 1)) * _columns(spec["spec"]) if "spec" in spec else 1


def _narrowed(spec: Spec, excess: float) -> Spec:
    """A drawing narrowed by `excess`, which its panels share."""
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
    """A mark with its lines and areas scaled like the text."""
    powers = {"strokeWidth": 1, "size": 2, "fontSize": 1, "cornerRadiusEnd": 1}
    return {
        key: round(value * scale ** powers.get(key, 0), 2) if key in powers else value for key, value in mark.items()
    }
