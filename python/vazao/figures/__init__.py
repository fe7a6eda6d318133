"""Figures: one Vega-Lite description gives the interactive chart and the files (SVG, PDF, PNG), without a browser."""

from typing import TYPE_CHECKING

from vazao import lazy

if TYPE_CHECKING:
    from vazao.figures.channels import Face as Face, Plot as Plot
    from vazao.figures.faces import Drawing as Drawing, files as files
    from vazao.figures.gallery import chart as chart, drawer as drawer, drawing as drawing, render as render
    from vazao.figures.overlays import shape_of as shape_of
    from vazao.figures.plots import Kind as Kind, column_chart as column_chart, measure_chart as measure_chart
    from vazao.figures.rivals import apart as apart, of_tables as of_tables
    from vazao.figures.rows import Measurements as Measurements, Rows as Rows, query as query, thin as thin
    from vazao.figures.styles import Style as Style, style as style
    from vazao.figures.theme import (
        DARK_PALETTE as DARK_PALETTE,
        FONTS as FONTS,
        PAGE as PAGE,
        PALETTE as PALETTE,
        PAPER as PAPER,
        VEGA_LITE as VEGA_LITE,
    )
    from vazao.figures.traces import series as series, trace_chart as trace_chart
    from vazao.figures.vega import embed_script as embed_script
else:
    __getattr__, __dir__ = lazy.attached(__name__)
