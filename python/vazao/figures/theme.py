"""Appearance of figures: one typeface, one palette, quiet axes.

Colours follow Okabe and Ito's set for colour-blind readers, without its yellow (unreadable as a line
on white); a second round, with four dash patterns in turn, serves more than eight series. Shape
repeats colour, so that no figure depends on colour alone.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

VEGA_LITE = "6.4"
"""The Vega-Lite version that renders figures, here and in the page."""

FONTS = Path(__file__).parent / "fonts"
FONT = "Inter, Helvetica Neue, Helvetica, Arial, sans-serif"

PALETTE = (
    "#0072B2", "#D55E00", "#009E73", "#E69F00", "#CC79A7", "#4FA9DD", "#4B5563", "#7E57A8",
    "#1F2A80", "#9B2226", "#7F8A00", "#7A4B1E", "#B0208F", "#00808A", "#000000", "#5E3FBE",
)  # fmt: skip
DARK_PALETTE = (
    "#4FA3DC", "#F2874B", "#2FC49B", "#F0B849", "#E69AC4", "#8FD0F5", "#B4BDC9", "#B08FDA",
    "#A3B2FF", "#FF9C9C", "#D4DE5A", "#D9A877", "#F08FDC", "#5FD6DE", "#FFFFFF", "#C5B0FF",
)  # fmt: skip
SHAPES = (
    "circle", "square", "triangle-up", "diamond",
    "cross", "triangle-down", "triangle-right", "triangle-left",
)  # fmt: skip
ROUND = 8
"""Number of solid colours before the dashed ones begin."""

DASHES = ([1, 0],) * ROUND + ([7, 3], [2, 2], [9, 3, 2, 3], [4, 2]) * (ROUND // 4)
"""Dash pattern of each colour of the palette: dash, gap, dash, gap."""

GREYS = ("#000000", "#8C8C8C", "#505050", "#B4B4B4", "#2D2D2D", "#A0A0A0", "#6E6E6E", "#C8C8C8")
"""Greys that stay distinct in print, with neighbours the furthest apart."""

GREY_DASHES = ([1, 0], [5, 2], [1.5, 1.5], [7, 2, 1.5, 2], [3, 1.5], [1, 0], [9, 2, 2, 2, 2, 2], [5, 2])


@dataclass(frozen=True)
class Theme:
    """The colours of one medium: ink on paper, or variables that the page's style sheet sets."""

    ink: str
    soft: str
    line: str
    grid: str
    background: str
    paper: str
    """Colour that shows where the background is transparent."""
    palette: tuple[str, ...]
    dashes: tuple[list[Any], ...] = DASHES
    """Dash patterns of the palette's colours."""
    solid: int = ROUND
    """Number of series that are distinguished without dashes."""
    scale: float = 1.0
    """Size of text and marks relative to the default."""
    width: float | None = None
    """Width of a whole drawing in points; None for the figure's default."""
    height: float | None = None
    """Height of a panel in points."""
    font: str = FONT

    def config(self) -> dict[str, Any]:
        """The Vega-Lite configuration."""
        config = self._config()
        return config if self.scale == 1.0 else {key: self._scaled(key, value) for key, value in config.items()}

    def _scaled(self, key: str, value: Any) -> Any:
        """A part of the configuration with its sizes and distances scaled like the text."""
        if isinstance(value, dict):
            return {inside: self._scaled(inside, each) for inside, each in value.items()}
        return round(value * self.scale, 2) if key in SIZES else value

    def _config(self) -> dict[str, Any]:
        return {
            "background": self.background,
            "font": self.font,
            "padding": 6,
            "view": {"stroke": None},
            "axis": {
                "labelColor": self.soft, "labelFontSize": 11.5, "labelPadding": 6,
                "titleColor": self.ink, "titleFontSize": 12, "titleFontWeight": 600, "titlePadding": 10,
                "domainColor": self.line, "tickColor": self.line, "tickSize": 4,
                "gridColor": self.grid, "gridWidth": 1, "labelOverlap": "greedy", "labelSeparation": 8,
            },
            "axisX": {"grid": False, "tickCount": 6},
            "axisY": {"domain": False, "ticks": False, "tickCount": 5, "minExtent": 34},
            "legend": {
                "orient": "top", "title": None, "labelColor": self.ink, "labelFontSize": 12,
                "labelLimit": 0, "symbolSize": 70, "symbolStrokeWidth": 2, "columnPadding": 18,
                "rowPadding": 5, "offset": 14,
            },
            "header": {
                "title": None, "labelColor": self.ink, "labelFontSize": 12.5, "labelFontWeight": 600,
                "labelAnchor": "start", "labelPadding": 10,
            },
            "title": {
                "anchor": "start", "color": self.ink, "fontSize": 14, "fontWeight": 600, "offset": 14,
            },
            "facet": {"spacing": 28},
            "scale": {
                "bandPaddingInner": 0.22, "bandPaddingOuter": 0.16,
                "bandWithNestedOffsetPaddingInner": 0.22, "bandWithNestedOffsetPaddingOuter": 0.12,
            },
        }  # fmt: skip


SIZES = {
    *("padding", "labelFontSize", "titleFontSize", "fontSize", "labelPadding", "titlePadding", "tickSize", "minExtent"),
    *("symbolSize", "symbolStrokeWidth", "columnPadding", "rowPadding", "offset", "spacing", "labelSeparation"),
    "gridWidth",
}
"""Entries of the configuration that are sizes or distances."""

PAPER = Theme(
    ink="#1B1F24", soft="#57606A", line="#AEB6BF", grid="#E9ECEF", background="#FFFFFF",
    paper="#FFFFFF", palette=PALETTE,
)  # fmt: skip
PAGE = Theme(
    ink="var(--ink)", soft="var(--soft)", line="var(--axis)", grid="var(--grid)",
    background="transparent", paper="var(--paper)",
    palette=tuple(f"var(--c{i})" for i in range(len(PALETTE))),
)  # fmt: skip
