"""Altair charts of figures, which compose like any Altair chart and keep their look.

Vega-Lite allows a configuration only at the top of a description, so Altair refuses to concatenate a chart that has
one. These charts keep their look apart from their description and add it when they are rendered, alone or combined by
`&`, `|` and `+`. In Altair's own `alt.vconcat(…)` they have the look of Altair's theme.

Selections are added at rendering too (`_WithSelections`): a layer's conditions name the selections that it listens to,
and view names given before charts are combined could clash.
"""

from __future__ import annotations

import json
import re
from copy import deepcopy
from itertools import count
from typing import Any

import altair as alt
import vl_convert

from vazao.figures import inline, print_layout
from vazao.figures.channels import Spec
from vazao.figures.theme import VEGA_LITE

AnyChart = alt.Chart | alt.LayerChart | alt.FacetChart
"""A chart of one figure."""

_OURS = "vazao"
"""Key of the rendering context that is set where the outermost chart is one of ours."""

LOOK = "look"
"""Keyword that holds a chart's look: `config` and, on paper, the `width` of the whole drawing in points."""

PRINTED = 300
"""Resolution of a paper drawing saved as PNG, in dots per inch."""


class Styled(alt.TopLevelMixin):
    """A chart that carries its own look."""

    def to_dict(
        self: Any,
        validate: bool = True,
        *,
        format: Any = "vega-lite",  # noqa: A002
        ignore: list[str] | None = None,
        context: dict[str, Any] | None = None,
    ) -> dict[str, Any]:
        """The chart as a Vega-Lite description, with its look if it is the outermost chart."""
        bare = self.copy(deep=False)
        look = bare._kwds.pop(LOOK, None) or {}
        around = dict(context or {})
        if not around.get("top_level", True):
            spec = super(Styled, bare).to_dict(validate, format=format, ignore=ignore, context=around)
            return spec if around.get(_OURS) else _without_selections(spec)
        own = bare._kwds.get("config", alt.Undefined)
        own = own.to_dict() if isinstance(own, alt.SchemaBase) else {} if own is alt.Undefined else dict(own)
        bare._kwds["config"] = merged(look.get("config", {}), own)
        # Conditions refer to selections that are added below, so only the result is validated.
        spec = super(Styled, bare).to_dict(False, ignore=ignore, context={**around, _OURS: True})
        complete = _WithSelections().of(spec)
        if "width" in look:
            complete = print_layout.fitted(complete, look["width"])
        if validate:
            type(self).validate(complete)
        if format != "vega":
            return complete
        compiled: dict[str, Any] = vl_convert.vegalite_to_vega(complete, VEGA_LITE)
        return compiled

    def save(self: Any, *args: Any, **kwargs: Any) -> None:
        """Write the chart to a file: HTML with its scripts inline, a PNG for paper at print resolution."""
        file, form = (*args, None, None)[:2]
        file, form = file or kwargs.get("fp"), form or kwargs.get("format")
        form = form or str(getattr(file, "name", file)).rpartition(".")[2]
        if form == "html":
            kwargs.setdefault("inline", True)
        if form == "png" and "width" in self._kwds.get(LOOK, {}) and "scale_factor" not in kwargs:
            kwargs.setdefault("ppi", PRINTED)
        super().save(*args, **kwargs)

    def _repr_mimebundle_(self: Any, *args: Any, **kwargs: Any) -> Any:
        """The chart in a notebook, with its scripts inline unless another Altair renderer is enabled."""
        if alt.renderers.active != "default":
            return super()._repr_mimebundle_(*args, **kwargs)
        return {"text/html": inline.shown(self.to_dict(context={"pre_transform": False})), "text/plain": repr(self)}

    def _beside(self: Any) -> dict[str, Any]:
        """The look that a concatenation takes from this chart."""
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
    """Figures stacked vertically."""

    __and__ = alt.VConcatChart.__and__


class HConcatChart(Styled, alt.HConcatChart):
    """Figures side by side."""

    __or__ = alt.HConcatChart.__or__


def merged(under: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    """Merge two configurations; `over` takes precedence."""
    both = dict(under)
    for key, value in over.items():
        inside = both.get(key)
        both[key] = merged(inside, value) if isinstance(inside, dict) and isinstance(value, dict) else value
    return both


_numbers = count(1)
"""Suffixes that make selection names unique, like Altair's own `param_1`."""


def made(spec: Spec, rows: list[dict[str, Any]], width: float | None = None) -> AnyChart:
    """The chart of a figure's description and rows; on paper, `width` is in points and includes all text."""
    spec = _apart(spec, next(_numbers))
    look = {"config": spec["config"]} | ({"width": width} if width else {})
    more = {key: spec[key] for key in ("title", "description", "transform") if key in spec}
    data = alt.InlineData(values=rows)
    if "facet" not in spec:
        return LayerChart(data=data, look=look, **_layers(spec), **more)
    panels = LayerChart(**_layers(spec["spec"]))
    return FacetChart(data=data, spec=panels, look=look, facet=spec["facet"], columns=spec["columns"], **more)


def _layers(unit: Spec) -> dict[str, Any]:
    """Constructor keywords for a chart's layers, each a chart itself, so that Altair's methods work on them."""
    size: Spec = {key: unit[key] for key in ("width", "height") if key in unit}
    return {"layer": [_layer(layer) for layer in unit["layer"]], **size}


def _layer(layer: Spec) -> alt.Chart:
    """A layer without its name, which is assigned anew at rendering."""
    more = {key: value for key, value in layer.items() if key not in ("name", "encoding")}
    return alt.Chart(encoding=alt.FacetedEncoding(**layer["encoding"]), **more)


SELECTIONS = {"near": {"type": "point", "on": "pointerover", "nearest": True, "clear": "pointerout"}}
"""Selections that conditions name, except for `picked`, which depends on the colour's field."""


def _apart(spec: Spec, number: int) -> Spec:
    """The description with its selection names made unique by `number`."""

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
    """Our selections that a layer's conditions name."""
    conditions = (
        channel.get("condition") for channel in layer.get("encoding", {}).values() if isinstance(channel, dict)
    )
    named = [each["param"] for each in conditions if isinstance(each, dict) and "param" in each]
    return [name for name in dict.fromkeys(named) if re.fullmatch(r"(near|picked)_\d+", str(name))]


def _colours(spec: Spec) -> str:
    """Fingerprint of the colour scales of a chart's layers: a text that differs where labels or colours do."""
    inside = [each for key in ("layer", "vconcat", "hconcat", "concat") for each in spec.get(key, [])]
    found = {_colours(each) for each in [*inside, *([spec["spec"]] if "spec" in spec else [])]}
    own = spec.get("encoding", {}).get("color", {})
    return "|".join(
        sorted((found | ({json.dumps(own.get("scale", {}), sort_keys=True)} if "field" in own else set())) - {""})
    )


class _WithSelections:
    """Adds to a description of charts the selections that its layers name."""

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
        """A chart with its views named; `listening` has the selections that its panel already listens to."""
        kept = dict(spec)
        if "layer" in spec:
            kept["layer"] = [self._walk(layer, listening) for layer in spec["layer"]]
        if "spec" in spec:
            kept["spec"] = self._walk(spec["spec"], set())
        for key in ("vconcat", "hconcat", "concat"):
            if key in spec:
                kept[key] = [self._walk(chart, set()) for chart in spec[key]]
                # Charts that colour different labels would otherwise share one colour scale.
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


def _without_selections(spec: Spec) -> Spec:
    """A chart nested in a foreign one, without anything that depends on selections."""

    def channel(value: Any) -> Any:
        condition = value.get("condition") if isinstance(value, dict) else None
        return {"value": condition["value"]} if isinstance(condition, dict) and "param" in condition else value

    def layer(value: Spec) -> Spec:
        if "layer" in value:
            return value | {"layer": kept(value["layer"])}
        return value | {"encoding": {name: channel(each) for name, each in value.get("encoding", {}).items()}}

    def kept(layers: list[Spec]) -> list[Spec]:
        return [layer(one) for one in layers if not any(name.startswith("near_") for name in _asked(one))]

    inside = {"spec": _without_selections(spec["spec"])} if "spec" in spec else {}
    return layer(spec) | inside if "layer" in spec or "encoding" in spec else spec | inside
