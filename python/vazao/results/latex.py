"""LaTeX tables in the style of journals: units in the header, numbers aligned at the decimal point.

They need only `booktabs`: all numbers of a column have the same number of decimals, so right alignment aligns their
decimal points.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from vazao.units import PERCENT_COLUMNS, SCALED, cell, displayed_columns, heading, unit_of

DIGITS = 4
"""Significant digits of a column's largest value if its uncertainty is unknown."""

MAX_DIGITS = 6
"""Upper limit on the significant digits of a column's largest value."""


def tabular(rows: pl.DataFrame) -> str:
    """Format rows as a `tabular` with `booktabs` rules; a column `± name` is set beside the column `name`."""
    columns = [_column(rows, name, half) for name, half in displayed_columns(rows.columns).items()]
    body = [_line(column.cell(row) for column in columns) for row in rows.iter_rows(named=True)]
    lines = [
        "% \\usepackage{booktabs}",
        rf"\begin{{tabular}}{{{''.join(column.alignment for column in columns)}}}",
        r"\toprule",
        _line(column.head for column in columns),
        r"\midrule",
        *body,
        r"\bottomrule",
        r"\end{tabular}",
    ]
    return "\n".join(lines) + "\n"


def _line(cells: Iterator[str]) -> str:
    return " & ".join(cells) + r" \\"


@dataclass(frozen=True)
class _Column:
    """A column and the format of its numbers."""

    name: str
    half: str | None
    """Name of the column with the half-width of each value's interval."""
    number: bool
    title: str
    factor: float = 1.0
    """Value of one unit of the header, in the base unit."""
    decimals: int = 0
    grouped: bool = False

    @property
    def alignment(self) -> str:
        """Specification of the column in the argument of `tabular`."""
        return r"r@{${}\pm{}$}r" if self.half else "r" if self.number else "l"

    @property
    def head(self) -> str:
        """The heading, which spans both parts of a column with intervals."""
        return self._spanning(self.title) if self.half else self.title

    def cell(self, row: dict[str, Any]) -> str:
        """A value in LaTeX."""
        value, half = row[self.name], row[self.half] if self.half else None
        if not self.number:
            return escaped(cell(self.name, value))
        number = self._formatted(value)
        if not self.half:
            return number
        return f"{number} & {self._formatted(half)}" if half and _is_finite(value) else self._spanning(number)

    def _spanning(self, text: str) -> str:
        return rf"\multicolumn{{2}}{{c}}{{{text}}}"

    def _formatted(self, value: Any) -> str:
        """A number in the unit of the header, with the decimals of the column."""
        if not _is_finite(value):
            return "--" if value is None or math.isnan(value) else r"$\infty$" if value > 0 else r"$-\infty$"
        scaled, sign = abs(value) / self.factor, "$-$" if value < 0 else ""
        least = 10.0**-self.decimals
        if 0 < scaled < least / 2:
            return rf"$<$\,{least:.{self.decimals}f}" if not sign else rf"$>-${least:.{self.decimals}f}"
        separated = f"{scaled:,.{self.decimals}f}"
        return sign + separated.replace(",", r"\," if self.grouped else "")


def _is_finite(value: Any) -> bool:
    return value is not None and math.isfinite(value)


def _column(rows: pl.DataFrame, name: str, half: str | None) -> _Column:
    if not rows.schema[name].is_numeric():
        return _Column(name, None, number=False, title=escaped(heading(name)))
    values, halves = _magnitudes(rows[name]), _magnitudes(rows[half]) if half else []
    unit = unit_of(name)
    symbol, factor = unit.common(values) if unit.symbol in SCALED or name in PERCENT_COLUMNS else ("", 1.0)
    scaled, around = [value / factor for value in values], [value / factor for value in halves]
    whole = rows.schema[name].is_integer() and factor == 1.0 and not around
    title = escaped(f"{heading(name)} ({symbol})" if symbol else heading(name))
    decimals = 0 if whole else _decimals(scaled, around)
    return _Column(name, half, True, title, factor, decimals, grouped=max(scaled, default=0.0) >= 1e4)


def _magnitudes(column: pl.Series) -> list[float]:
    """Absolute values of the finite nonzero numbers of a column."""
    return [abs(float(value)) for value in column if _is_finite(value) and value]


def _decimals(values: Sequence[float], halves: Sequence[float]) -> int:
    """Number of decimals for a column: those that its intervals justify, if there are any.

    The largest half-width is shown with two significant digits, the smallest with at least one.
    """
    if not values:
        return 0
    greatest = max(values)
    needed = max(_places(max(halves), 2), _places(min(halves), 1)) if halves else _places(greatest, DIGITS)
    return min(needed, _places(greatest, MAX_DIGITS))


def _places(value: float, digits: int) -> int:
    """Decimals that show `digits` significant digits of a number."""
    return max(0, digits - 1 - math.floor(math.log10(value)))


_REPLACEMENTS = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "_": r"\_", "%": r"\%",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "±": r"$\pm$", "≤": r"$\leq$", "≥": r"$\geq$", "·": r"$\cdot$", "√": r"$\surd$", "Σ": r"$\Sigma$", "…": r"\dots{}",
    "³": r"$^{3}$", "⁻": r"$^{-}$", "µ": r"\textmu{}", "×": r"$\times$", "→": r"$\to$", "–": "--",
    "\N{MINUS SIGN}": "$-$", "\N{NO-BREAK SPACE}": "~",
}  # fmt: skip
"""Replacements for characters that are special in LaTeX or that its fonts may lack."""


def escaped(text: str) -> str:
    """Escape a text for LaTeX; a non-breaking space keeps a number and its unit on one line."""
    signed = re.sub(r"(?<![\w.)])-(?=\d)", "\N{MINUS SIGN}", " ".join(text.split()))
    text = "".join(_REPLACEMENTS.get(character, character) for character in signed)
    return re.sub(r"(?<=\d) (?=\S{1,7}$)", "~", text)
