"""A figure with its rows, drawn as an interactive chart, a still image or files."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any

import vl_convert

from vazao.errors import StudyError
from vazao.figures.channels import Face, Plot, Spec, legend
from vazao.figures.description import describe
from vazao.figures.rows import Rows
from vazao.figures.styles import current
from vazao.figures.theme import FONTS, PAPER, VEGA_LITE, Theme
from vazao.study import Figure

if TYPE_CHECKING:
    from vazao.figures.charts import AnyChart as AnyChart


@dataclass(frozen=True)
class Drawing:
    """A figure with its rows, queried once for all faces."""

    plot: Plot

    @property
    def figure(self) -> Figure:
        """The study's description of the figure."""
        return self.plot.figure

    @property
    def rows(self) -> Rows:
        """The rows to draw."""
        return self.plot.rows

    def spec(self, face: Face, theme: Theme = PAPER, title: bool = False) -> Spec:
        """The Vega-Lite description, without data."""
        return describe(replace(self.plot, face=face, theme=theme), title)

    def with_data(self, spec: Spec) -> Spec:
        """The description with its rows inside."""
        return spec | {"datasets": self.datasets()}

    def datasets(self) -> dict[str, list[dict[str, Any]]]:
        """The rows by the dataset names that the description uses."""
        return {"rows": self.rows.drawn().to_dicts()}

    def svg(self, theme: Theme = PAPER) -> str:
        """The still drawing as SVG. Raises `StudyError` where it cannot be drawn."""
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
        from vazao.figures import charts

        _register_fonts()
        style = current()
        spec = self.spec(style.face, style.theme, title=style.titled)
        return charts.made(spec, self.datasets()["rows"], style.theme.width)


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


def _own_ids(svg: str, figure: str) -> str:
    """Replace ids by the figure's own, numbered from zero: drawings can share a page, and output is reproducible."""
    ids = {name: f"{figure}-{i}" for i, name in enumerate(re.findall(r' id="([^"]+)"', svg))}
    return re.sub(r'(?<= id=")[^"]+|(?<=url\(#)[^)]+', lambda found: ids.get(found[0], found[0]), svg)


@cache
def _register_fonts() -> None:
    vl_convert.register_font_directory(str(FONTS))
