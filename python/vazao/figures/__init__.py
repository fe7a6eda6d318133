"""Figures: from one Vega-Lite description the interactive chart and the files (SVG, PDF, PNG), without a browser."""

from typing import TYPE_CHECKING

from vazao import lazy

__all__ = [
    "DARK_PALETTE", "FONTS", "PAGE", "PALETTE", "PAPER", "VEGA_LITE", "Drawing", "Face", "Plot", "Rows", "chart",
    "drawing", "files", "query", "render", "thin", "trace_chart",
]  # fmt: skip

if TYPE_CHECKING:
    from vazao.figures.description import Face, Plot
    from vazao.figures.faces import VEGA_LITE, Drawing, files
    from vazao.figures.gallery import chart, drawing, render
    from vazao.figures.rows import Rows, query, thin
    from vazao.figures.theme import DARK_PALETTE, FONTS, PAGE, PALETTE, PAPER
    from vazao.figures.traces import trace_chart
else:
    __getattr__, __dir__ = lazy.attached(__name__, __all__)
