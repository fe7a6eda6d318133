"""The style of charts: for the screen, or for paper, with a fixed column width and optionally without colours."""

from __future__ import annotations

import re
from dataclasses import dataclass
from types import TracebackType
from typing import Literal

from vazao.errors import VazaoError
from vazao.figures.channels import Face
from vazao.figures.theme import GREY_DASHES, GREYS, PAPER, Theme

COLUMNS = {"column": 252.0, "page": 516.0}
"""Widths of one column and of both in points (1/72 in), in IEEE's and ACM's conference formats: 3.5 and 7.16 in."""

_UNITS = {"pt": 1.0, "in": 72.0, "cm": 72 / 2.54, "mm": 72 / 25.4, "px": 1.0}
_LENGTH = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(pt|in|cm|mm|px)\s*")
_LEAST, _MOST = 72.0, 2000.0


@dataclass(frozen=True)
class Look:
    """A style: its theme, the medium of its charts, and whether charts show their titles."""

    theme: Theme
    face: Face
    titled: bool


SCREEN = Look(PAPER, Face.CHART, titled=True)
_current = [SCREEN]


def current() -> Look:
    """The style that new charts get."""
    return _current[-1]


class Style:
    """A style that applies from now on or, as a context manager (`with vz.style("paper"):`), until the block ends."""

    def __init__(self, look: Look) -> None:
        self._before = current()
        _current[:] = [look]

    def __enter__(self) -> Look:
        """Return the current style."""
        return current()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Restore the previous style."""
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
    """Set the style of charts made from now on: `style("paper")`, or `style("screen")` to go back.

    On paper, a drawing is `width` wide including all text: `"column"` (3.5 in), `"page"` (7.16 in), a length such as
    `"88 mm"`, or a number of points; `height` is that of a panel (0.6 of the width by default). Text is `font_size`
    points high, in `font` if it is installed. With `grey`, series differ by greys, dashes and shapes, which print
    without colours. Charts have no title, which belongs in the caption, and are not interactive. As a context manager
    (`with`), the style ends with the block. Raises `VazaoError`.
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
