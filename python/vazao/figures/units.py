"""Units of the stored columns, and how their values are written for people.

A column says its unit by its suffix (`_s` seconds, `_bps` bits per second, `_bytes` bytes); a
figure may override it with `x_unit` and `y_unit`. The same rule is needed twice: in Python for
tables and alternative text, and as a Vega expression for axes and tooltips. Both stand here side by side.
"""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass

PREFIXES = {-9: "n", -6: "µ", -3: "m", 0: "", 3: "k", 6: "M", 9: "G", 12: "T"}

SUFFIXES = {"_bps": "bit/s", "_bytes": "B", "_packets": "packets", "_s": "s"}
"""Column suffix to unit. Order matters: `_bps` also ends in `s`."""

SPELLINGS = {"bps": "bit/s", "bytes": "B", "seconds": "s", "percent": "%", "ratio": "", "1": ""}
"""What a study may write for a unit, beside the unit's own symbol."""

PERCENT_COLUMNS = {"utilisation", "loss_rate", "slow_start_loss", "sent_again"}
"""Ratios that everybody reads as a percentage."""

FRACTIONS = PERCENT_COLUMNS | {"jain", "share"}
"""Between 0 and 1 by nature, whatever the spread of a few values would allow."""

SCALED = {"bit/s", "B", "s"}
"""Units that take SI prefixes."""


@dataclass(frozen=True)
class Unit:
    """A unit of measure: `bit/s`, `B`, `s`, `%` (of a ratio), any counted noun, or nothing."""

    symbol: str

    def text(self, value: float | None, digits: int = 4) -> str:
        """The value with its unit: `1.5 Mbit/s`, `25 ms`, `98.2 %`, `12 packets`."""
        if value is None or not math.isfinite(value):
            return "–"
        if self.symbol == "%":
            return f"{_plain(value * 100, digits)} %"
        exponent = self._exponent(value)
        number = _plain(value / 10.0**exponent, digits)
        return f"{number} {PREFIXES[exponent]}{self.symbol}".rstrip()

    def expression(self, value: str, digits: int = 4) -> str:
        """The Vega expression that writes what :meth:`text` writes."""
        plain = f"format({value}, ',.{digits}~r')"
        if self.symbol == "%":
            return f"format({value} * 100, ',.{digits}~r') + ' %'"
        if self.symbol == "":
            return plain
        if self.symbol not in SCALED:
            return f"{plain} + {json.dumps(f' {self.symbol}')}"
        prefixed = f"replace(format({value}, '.{digits}~s'), regexp('([a-zA-Zµ]?)$'), ' $1{self.symbol}')"
        if self.symbol == "s":  # nobody says kiloseconds
            return f"(abs({value}) >= 1 ? {plain} + ' s' : {prefixed})"
        return prefixed

    def axis(self, title: str, values: Sequence[float], scale: str) -> tuple[str, str]:
        """Title and label expression of an axis over these values.

        A linear axis names its unit once, in the title, with the prefix of the largest value; a
        logarithmic one spans prefixes, so there each label carries its own.
        """
        if self.symbol in SCALED and scale == "log":
            return title, self.expression("datum.value", 3)
        if self.symbol == "%":
            return title, "format(datum.value * 100, ',.6~r') + ' %'"
        exponent = self._exponent(max((abs(v) for v in values if math.isfinite(v)), default=0.0))
        symbol = PREFIXES[exponent] + self.symbol
        label = f"format(datum.value / {10.0**exponent!r}, ',.6~r')"
        return (f"{title} ({symbol})" if symbol else title), label

    def _exponent(self, value: float) -> int:
        if self.symbol not in SCALED or value == 0:
            return 0
        top = 0 if self.symbol == "s" else max(PREFIXES)
        power = math.floor(math.log10(abs(value)) + 1e-9)
        return min(max(3 * (power // 3), min(PREFIXES)), top)


def unit_of(column: str, stated: str | None = None) -> Unit:
    """The unit of a column: the stated one, else the one its name's suffix says, else none."""
    if stated is not None:
        return Unit(SPELLINGS.get(stated, stated))
    if column in PERCENT_COLUMNS:
        return Unit("%")
    return Unit(next((unit for suffix, unit in SUFFIXES.items() if column.endswith(suffix)), ""))


def title_of(column: str) -> str:
    """A readable title for a column nobody titled: `queue_delay_mean_s` is "Queue delay mean"."""
    suffix = next((s for s in SUFFIXES if column.endswith(s)), "")
    words = column.removesuffix(suffix).replace("_", " ").replace("-", " ").strip() or column
    return words[0].upper() + words[1:]


def _plain(value: float, digits: int) -> str:
    """A number with so many significant digits, thousands separated, no exponent, no idle zeros."""
    if value == 0:
        return "0"
    decimals = max(digits - 1 - math.floor(math.log10(abs(value))), 0)
    rounded = round(value, digits - 1 - math.floor(math.log10(abs(value))))
    written = f"{rounded:,.{decimals}f}"
    return written.rstrip("0").rstrip(".") if "." in written else written
