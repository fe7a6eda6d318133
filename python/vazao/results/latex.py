"""Tables in LaTeX as journals print them: the unit in the head, the numbers of a column below one another.

They need `booktabs` and nothing else: all numbers of a column have as many decimals, so that their points stand below
one another where the column is set to the right.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from vazao.units import PERCENT_COLUMNS, SCALED, cell, heading, told_columns, unit_of

DIGITS = 4
"""Significant digits of a column's greatest value where nobody knows how sure it is."""

MOST_DIGITS = 6
"""Significant digits of a column's greatest value at most."""


def tabular(rows: pl.DataFrame) -> str:
    """Rows as a tabular with booktabs' rules; a column `± name` stands beside the one of `name`."""
    columns = [_column(rows, name, half) for name, half in told_columns(rows.columns).items()]
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
    """A column, and how its numbers are written."""

    name: str
    half: str | None
    """Column with half of the interval of each value."""
    number: bool
    title: str
    factor: float = 1.0
    """Value of one in the unit of the head."""
    decimals: int = 0
    grouped: bool = False

    @property
    def alignment(self) -> str:
        """The column as tabular's argument has it."""
        return r"r@{${}\pm{}$}r" if self.half else "r" if self.number else "l"

    @property
    def head(self) -> str:
        """The heading, over both parts of a column with intervals."""
        return self._whole(self.title) if self.half else self.title

    def cell(self, row: dict[str, Any]) -> str:
        """A value as it is set."""
        value, half = row[self.name], row[self.half] if self.half else None
        if not self.number:
            return escaped(cell(self.name, value))
        told = self._told(value)
        if not self.half:
            return told
        return f"{told} & {self._told(half)}" if half and _is_finite(value) else self._whole(told)

    def _whole(self, text: str) -> str:
        return rf"\multicolumn{{2}}{{c}}{{{text}}}"

    def _told(self, value: Any) -> str:
        """A number in the unit of the head, with the decimals of the column."""
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
    values, halves = _sizes(rows[name]), _sizes(rows[half]) if half else []
    unit = unit_of(name)
    symbol, factor = unit.common(values) if unit.symbol in SCALED or name in PERCENT_COLUMNS else ("", 1.0)
    scaled, around = [value / factor for value in values], [value / factor for value in halves]
    whole = rows.schema[name].is_integer() and factor == 1.0 and not around
    title = escaped(f"{heading(name)} ({symbol})" if symbol else heading(name))
    decimals = 0 if whole else _decimals(scaled, around)
    return _Column(name, half, True, title, factor, decimals, grouped=max(scaled, default=0.0) >= 1e4)


def _sizes(column: pl.Series) -> list[float]:
    """Sizes of the values of a column that are not zero."""
    return [abs(float(value)) for value in column if _is_finite(value) and value]


def _decimals(values: Sequence[float], halves: Sequence[float]) -> int:
    """Decimals of all numbers of a column: as many as its intervals leave certain, if there are any.

    Two digits of the greatest half of an interval, and one at least of the smallest.
    """
    if not values:
        return 0
    greatest = max(values)
    needed = max(_after(max(halves), 2), _after(min(halves), 1)) if halves else _after(greatest, DIGITS)
    return min(needed, _after(greatest, MOST_DIGITS))


def _after(value: float, digits: int) -> int:
    """Decimals with which a number has so many significant digits."""
    return max(0, digits - 1 - math.floor(math.log10(value)))


_LETTERS = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "_": r"\_", "%": r"\%",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "±": r"$\pm$", "≤": r"$\leq$", "≥": r"$\geq$", "·": r"$\cdot$", "√": r"$\surd$", "Σ": r"$\Sigma$", "…": r"\dots{}",
    "³": r"$^{3}$", "⁻": r"$^{-}$", "µ": r"\textmu{}", "×": r"$\times$", "→": r"$\to$", "–": "--",
    "\N{MINUS SIGN}": "$-$", "\N{NO-BREAK SPACE}": "~",
}  # fmt: skip
"""Letters that mean something to LaTeX, or that its fonts may lack, and what stands for them."""


def escaped(text: str) -> str:
    """A text that is set as it is; a number keeps its unit on its line."""
    signed = re.sub(r"(?<![\w.)])-(?=\d)", "\N{MINUS SIGN}", " ".join(text.split()))
    said = "".join(_LETTERS.get(letter, letter) for letter in signed)
    return re.sub(r"(?<=\d) (?=\S{1,7}$)", "~", said)
