"""The style of charts: for the screen, or for paper, where a column has a width and ink may have no colour."""

from __future__ import annotations

import re
from dataclasses import dataclass
from types import TracebackType
from typing import Literal

from vazao.errors import VazaoError
from vazao.figures.channels import Face
from vazao.figures.theme import GREY_DASHES, GREYS, PAPER, Theme

COLUMNS = {"column": 252.0, "page": 516.0}
"""Widths of one column and of both in points (1/72 in), as IEEE's and ACM's conferences have them: 3.5 and 7.16 in."""

_UNITS = {"pt": 1.0, "in": 72.0, "cm": 72 / 2.54, "mm": 72 / 25.4, "px": 1.0}
_LENGTH = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(pt|in|cm|mm|px)\s*")
_LEAST, _MOST = 72.0, 2000.0


@dataclass(frozen=True)
class Look:
    """A style: what it looks like, what a reader can do, whether a chart says its title."""

    theme: Theme
    face: Face
    titled: bool


SCREEN = Look(PAPER, Face.CHART, titled=True)
_current = [SCREEN]


def current() -> Look:
    """The style of charts that are made now."""
    return _current[-1]


class Style:
    """A style that holds from now on; as a context (`with vz.style("paper"):`) until its end."""

    def __init__(self, look: Look) -> None:
        self._before = current()
        _current[:] = [look]

    def __enter__(self) -> Look:
        """Leave the style as it is."""
        return current()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Go back to the style before."""
        _current[:] = [self._before]

    def __repr__(self) -> str:
        theme = current().theme
        width = f", {theme.width:g} pt wide" if theme.width else ""
        return f"Style({'screen' if current().titled else 'paper'}{width})"


def style(
    name: Literal["screen", "paper"] = "paper",
    *,
    width: str | float = "column",
    height: str | float | None = None,
    font_size: float = 8,
    font: str | None = None,
    grey: bool = False,
) -> Style:
    """Set how charts look that are made from now on: `style("paper")`, and `style("screen")` to go back.

    On paper a drawing is `width` wide with all of its text: `"column"` (3.5 in), `"page"` (7.16 in), a length as
    `"88 mm"`, or points; `height` is that of a panel (0.6 of the width). Text has `font_size` points, in `font` if it
    is installed. With `grey` series differ by greys, dashes and shapes, which print without colours. Charts have no
    title, as a caption has it, and nothing that moves. As a context (`with`) it ends with the block. Raises
    `VazaoError`.
    """
    if name == "screen":
        return Style(SCREEN)
    if name != "paper":
        raise VazaoError(f"{name!r} is no style; choose 'screen' or 'paper'")
    if not 4 <= font_size <= 24:
        raise VazaoError(f"font_size = {font_size!r}: give 4 to 24 points")
    wide = _points("width", width)
    high = None if height is None else _points("height", height)
    theme = Theme(
        ink="#000000", soft="#222222", line="#666666", grid="#DDDDDD", background="#FFFFFF", paper="#FFFFFF",
        palette=GREYS if grey else PAPER.palette, dashes=GREY_DASHES if grey else PAPER.dashes,
        solid=1 if grey else PAPER.solid, scale=font_size / 12, width=wide, height=high, font=font or PAPER.font,
    )  # fmt: skip
    return Style(Look(theme, Face.STILL, titled=False))


def _points(key: str, length: str | float) -> float:
    """A length in points. Raises `VazaoError`."""
    points: float | None = None
    if isinstance(length, str):
        found = _LENGTH.fullmatch(length)
        points = COLUMNS.get(length) or (float(found[1]) * _UNITS[found[2]] if found else None)
    elif not isinstance(length, bool):
        points = float(length)
    if points is None or not _LEAST <= points <= _MOST:
        raise VazaoError(
            f"{key} = {length!r}: write 'column', 'page', a length as '88 mm', or {_LEAST:g} to {_MOST:g} points"
        )
    return points
