"""Altair charts of figures: they compose as any of Altair's, and keep their look when they do.

A configuration may stand at the top of a Vega-Lite description alone, so Altair refuses to put a chart that has one
beside another. These charts carry their look apart from their description, and it is added where they are drawn: alone,
or as what `&`, `|` and `+` make of them. In Altair's own `alt.vconcat(…)` they have the look of Altair's theme.

Selections are added there too (`_Alive`): a layer says by its conditions which ones it listens to, and a name that
it has before charts are put together may be another's when they are.
"""

from __future__ import annotations

import json
import re
from copy import deepcopy
from itertools import count
from typing import Any

import altair as alt
import vl_convert

from vazao.figures import inline, printing
from vazao.figures.channels import Spec
from vazao.figures.theme import VEGA_LITE

AnyChart = alt.Chart | alt.LayerChart | alt.FacetChart
"""A chart of one figure."""

_OURS = "vazao"
"""Key of the context in which a chart of ours is described: whether the whole is one of ours."""

LOOK = "look"
"""Keyword under which a chart has its look: `config`; on paper the `width` of the whole drawing in points."""

PRINTED = 300
"""Dots an inch of a drawing for paper that is saved as PNG."""


class Styled(alt.TopLevelMixin):
    """A chart with a look of its own."""

    def to_dict(
        self: Any,
        validate: bool = True,
        *,
        format: Any = "vega-lite",  # noqa: A002
        ignore: list[str] | None = None,
        context: dict[str, Any] | None = None,
    ) -> dict[str, Any]:
        """The chart as a Vega-Lite description, with its look if nothing is around it."""
        bare = self.copy(deep=False)
        look = bare._kwds.pop(LOOK, None) or {}
        around = dict(context or {})
        if not around.get("top_level", True):
            said = super(Styled, bare).to_dict(validate, format=format, ignore=ignore, context=around)
            return said if around.get(_OURS) else _still(said)
        own = bare._kwds.get("config", alt.Undefined)
        own = own.to_dict() if isinstance(own, alt.SchemaBase) else {} if own is alt.Undefined else dict(own)
        bare._kwds["config"] = merged(look.get("config", {}), own)
        # Conditions wait for their selections: the whole is valid once they are there.
        said = super(Styled, bare).to_dict(False, ignore=ignore, context={**around, _OURS: True})
        alive = _Alive().of(said)
        if "width" in look:
            alive = printing.fitted(alive, look["width"])
        if validate:
            type(self).validate(alive)
        if format != "vega":
            return alive
        compiled: dict[str, Any] = vl_convert.vegalite_to_vega(alive, VEGA_LITE)
        return compiled

    def save(self: Any, *args: Any, **kwargs: Any) -> None:
        """Write the chart to a file: a page asks nobody for its scripts, a PNG for paper has the dots of a printer."""
        file, form = (*args, None, None)[:2]
        file, form = file or kwargs.get("fp"), form or kwargs.get("format")
        form = form or str(getattr(file, "name", file)).rpartition(".")[2]
        if form == "html":
            kwargs.setdefault("inline", True)
        if form == "png" and "width" in self._kwds.get(LOOK, {}) and "scale_factor" not in kwargs:
            kwargs.setdefault("ppi", PRINTED)
        super().save(*args, **kwargs)

    def _repr_mimebundle_(self: Any, *args: Any, **kwargs: Any) -> Any:
        """The chart in a notebook: with its scripts, unless Altair was told of another renderer."""
        if alt.renderers.active != "default":
            return super()._repr_mimebundle_(*args, **kwargs)
        return {"text/html": inline.shown(self.to_dict(context={"pre_transform": False})), "text/plain": repr(self)}

    def _beside(self: Any) -> dict[str, Any]:
        """The look of a drawing of several charts."""
        return dict(self._kwds.get(LOOK) or {})

    def __and__(self: Any, other: Any) -> Any:
        if not (isinstance(other, alt.TopLevelMixin) and isinstance(other, alt.SchemaBase)):
            return super().__and__(other)
        return VConcatChart(vconcat=[self, other], look=self._beside())

    def __or__(self: Any, other: Any) -> Any:
        if not (isinstance(other, alt.TopLevelMixin) and isinstance(other, alt.SchemaBase)):
            return super().__or__(other)
        return HConcatChart(hconcat=[self, other], look=self._beside())


class LayerChart(Styled, alt.LayerChart):
    """A figure with one panel."""


class FacetChart(Styled, alt.FacetChart):
    """A figure with several panels."""


class VConcatChart(Styled, alt.VConcatChart):
    """Figures one below the other."""

    __and__ = alt.VConcatChart.__and__


class HConcatChart(Styled, alt.HConcatChart):
    """Figures side by side."""

    __or__ = alt.HConcatChart.__or__


def merged(under: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    """Two configurations as one: what `over` says holds."""
    both = dict(under)
    for key, value in over.items():
        inside = both.get(key)
        both[key] = merged(inside, value) if isinstance(inside, dict) and isinstance(value, dict) else value
    return both


_numbers = count(1)
"""Numbers that tell the selections of charts apart, as Altair's own `param_1`."""


def made(spec: Spec, rows: list[dict[str, Any]], width: float | None = None) -> AnyChart:
    """The chart of a figure's description and rows; on paper so many points wide with all of its text."""
    spec = _apart(spec, next(_numbers))
    look = {"config": spec["config"]} | ({"width": width} if width else {})
    more = {key: spec[key] for key in ("title", "description", "transform") if key in spec}
    data = alt.InlineData(values=rows)
    if "facet" not in spec:
        return LayerChart(data=data, look=look, **_layers(spec), **more)
    panels = LayerChart(**_layers(spec["spec"]))
    return FacetChart(data=data, spec=panels, look=look, facet=spec["facet"], columns=spec["columns"], **more)


def _layers(unit: Spec) -> dict[str, Any]:
    """Keywords of a chart's layers, each a chart of its own, so that what Altair does to one can be done to them."""
    size: Spec = {key: unit[key] for key in ("width", "height") if key in unit}
    return {"layer": [_layer(layer) for layer in unit["layer"]], **size}


def _layer(layer: Spec) -> alt.Chart:
    """A layer, whose name is given anew when it is drawn."""
    more = {key: value for key, value in layer.items() if key not in ("name", "encoding")}
    return alt.Chart(encoding=alt.FacetedEncoding(**layer["encoding"]), **more)


SELECTIONS = {"near": {"type": "point", "on": "pointerover", "nearest": True, "clear": "pointerout"}}
"""Selections that conditions name, but for `picked`, which has the field of the colour."""


def _apart(spec: Spec, number: int) -> Spec:
    """The description with selections that no other chart names."""

    def walk(value: Any) -> Any:
        if isinstance(value, list):
            return [walk(each) for each in value]
        if not isinstance(value, dict):
            return value
        inside = {key: walk(each) for key, each in value.items() if key not in ("config", "params")}
        kept = {"config": deepcopy(value["config"])} if "config" in value else {}
        return inside | kept | ({"param": f"{value['param']}_{number}"} if "param" in value else {})

    made: Spec = walk(spec)
    return made


def _asked(layer: Spec) -> list[str]:
    """The selections of ours that a layer's conditions name."""
    conditions = (
        channel.get("condition") for channel in layer.get("encoding", {}).values() if isinstance(channel, dict)
    )
    named = [each["param"] for each in conditions if isinstance(each, dict) and "param" in each]
    return [name for name in dict.fromkeys(named) if re.fullmatch(r"(near|picked)_\d+", str(name))]


def _colours(spec: Spec) -> str:
    """The colours of a chart's layers, as a text that differs where their labels or colours do."""
    inside = [each for key in ("layer", "vconcat", "hconcat", "concat") for each in spec.get(key, [])]
    found = {_colours(each) for each in [*inside, *([spec["spec"]] if "spec" in spec else [])]}
    own = spec.get("encoding", {}).get("color", {})
    return "|".join(
        sorted((found | ({json.dumps(own.get("scale", {}), sort_keys=True)} if "field" in own else set())) - {""})
    )


class _Alive:
    """A description of charts with the selections that its layers name."""

    def __init__(self) -> None:
        self._views: dict[str, list[str]] = {}
        self._fields: dict[str, str] = {}
        self._count = count(1)

    def of(self, spec: Spec) -> Spec:
        """The description with its selections at the top."""
        walked: Spec = self._walk(spec, set())
        params = [self._param(name, views) for name, views in self._views.items()]
        return walked | ({"params": [*walked.get("params", []), *params]} if params else {})

    def _walk(self, spec: Spec, listening: set[str]) -> Spec:
        """A chart with its views named; `listening` has the selections to which its panel listens by another layer."""
        kept = dict(spec)
        if "layer" in spec:
            kept["layer"] = [self._walk(layer, listening) for layer in spec["layer"]]
        if "spec" in spec:
            kept["spec"] = self._walk(spec["spec"], set())
        for key in ("vconcat", "hconcat", "concat"):
            if key in spec:
                kept[key] = [self._walk(chart, set()) for chart in spec[key]]
                # Charts that colour other labels would take each other's colours.
                if len({_colours(chart) for chart in spec[key]} - {""}) > 1 and "resolve" not in spec:
                    kept["resolve"] = {"scale": dict.fromkeys(("color", "shape", "strokeDash"), "independent")}
        for name in _asked(spec) if "mark" in spec else ():
            if name not in listening:
                listening.add(name)
                kept.setdefault("name", f"part_{next(self._count)}")
                self._views.setdefault(name, []).append(kept["name"])
                self._fields[name] = spec["encoding"].get("color", {}).get("field", "")
        return kept

    def _param(self, name: str, views: list[str]) -> Spec:
        kind = name.partition("_")[0]
        if kind in SELECTIONS:
            return {"name": name, "select": SELECTIONS[kind], "views": views}
        select = {"type": "point", "fields": [self._fields[name]]}
        return {"name": name, "select": select, "bind": "legend", "views": views}


def _still(spec: Spec) -> Spec:
    """A chart inside of one that is not ours: without what waits for selections."""

    def channel(value: Any) -> Any:
        condition = value.get("condition") if isinstance(value, dict) else None
        return {"value": condition["value"]} if isinstance(condition, dict) and "param" in condition else value

    def layer(value: Spec) -> Spec:
        if "layer" in value:
            return value | {"layer": kept(value["layer"])}
        return value | {"encoding": {name: channel(each) for name, each in value.get("encoding", {}).items()}}

    def kept(layers: list[Spec]) -> list[Spec]:
        return [layer(one) for one in layers if not any(name.startswith("near_") for name in _asked(one))]

    inside = {"spec": _still(spec["spec"])} if "spec" in spec else {}
    return layer(spec) | inside if "layer" in spec or "encoding" in spec else spec | inside
