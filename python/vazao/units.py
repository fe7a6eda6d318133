"""Quantities with units: parsing, formatting, column titles, and Vega expressions for axes and tooltips.

A column names its unit by its suffix: `_s` seconds, `_bps` bits per second, `_bytes` bytes, `_packets` packets.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

_UNITS: dict[str, dict[str, str]] = {
    "bps": {"bps": "1", "kbps": "1e3", "Mbps": "1e6", "Gbps": "1e9", "Tbps": "1e12"}
    | {"bit/s": "1", "kbit/s": "1e3", "Mbit/s": "1e6", "Gbit/s": "1e9", "Tbit/s": "1e12"}
    | {"b/s": "1", "kb/s": "1e3", "Mb/s": "1e6", "Gb/s": "1e9", "Tb/s": "1e12"},
    "s": {"ns": "1e-9", "us": "1e-6", "µs": "1e-6", "μs": "1e-6", "ms": "1e-3", "s": "1", "min": "60", "h": "3600"},
    "bytes": {"B": "1", "kB": "1e3", "MB": "1e6", "GB": "1e9", "TB": "1e12"}
    | {"KiB": str(2**10), "MiB": str(2**20), "GiB": str(2**30), "TiB": str(2**40)},
    "packets": {"packet": "1", "packets": "1"},
    "bdp": {"bdp": "1"},
}
_SCALES = {unit: (suffix, Decimal(scale)) for suffix, units in _UNITS.items() for unit, scale in units.items()}
_QUANTITY = re.compile(r"\s*([+-]?[0-9][0-9_]*(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)\s*([A-Za-zµμ/]+)\s*")
_PERCENTAGE = re.compile(r"\s*([+-]?[0-9]+(?:\.[0-9]+)?)\s*%\s*")

PREFIXES = {12: "T", 9: "G", 6: "M", 3: "k", 0: "", -3: "m", -6: "µ", -9: "n"}
"""SI prefix of each power of ten, the largest first."""

SUFFIXES = {"_bps": "bit/s", "_bytes": "B", "_packets": "packets", "_s": "s"}
"""Unit of a column by the suffix of its name."""

SCALED = {"bit/s", "B", "s"}
"""Units that take SI prefixes."""

SPELLINGS = {"bps": "bit/s", "bytes": "B", "seconds": "s", "percent": "%", "ratio": "", "1": ""}
"""Alternative unit names that a study may use, and their symbols."""

PERCENT_COLUMNS = {"utilisation", "loss_rate", "slow_start_loss", "sent_again"}
"""Ratios that are displayed as percentages."""

FRACTIONS = PERCENT_COLUMNS | {"jain", "share"}
"""Columns whose values lie between 0 and 1, so that intervals are clipped to this range."""


def parse(text: str) -> tuple[str, float] | None:
    """Parse a quantity into a column suffix (`bps`, `s`, `bytes`, `packets`, `bdp`) and a number; None if invalid.

    Decimal arithmetic, so that `"25 ms"` is the float nearest to 0.025.
    """
    if not (found := _QUANTITY.fullmatch(text)) or found[2] not in _SCALES:
        return None
    suffix, scale = _SCALES[found[2]]
    try:
        return suffix, float(Decimal(found[1].replace("_", "")) * scale)
    except ArithmeticError:
        return None


def quantity(value: float, unit: str) -> str:
    """Format a number with an SI-prefixed unit and four significant digits: `9.57 Mbit/s`, `25 ms`."""
    if not math.isfinite(value) or value == 0:
        return f"{value:g} {unit}"
    if unit == "s" and abs(value) >= 1:
        return f"{value:.4g} s" if abs(value) < 1e4 else f"{value:.0f} s"
    exponent = _exponent(value, near=0.99995)  # closer values round up at four digits
    return f"{value / 10.0**exponent:.4g} {PREFIXES[exponent]}{unit}"


def duration(seconds: float) -> str:
    """Format a duration: `3 s`, `2 min 5 s`, `1 h 10 min`."""
    whole = max(1, round(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def cell(column: str, value: Any) -> str:
    """Format a table value for display, with its column's unit."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if not isinstance(value, int | float):
        return str(value)
    if suffix := _scaled_suffix(column):
        return quantity(float(value), SUFFIXES[suffix])
    return f"{value:,}".replace(",", " ") if isinstance(value, int) else f"{value:.4g}"


HALF = "± "
"""Prefix of half-width columns, which are displayed in the cells of the column that they belong to."""


def interval(column: str, value: Any, half: Any) -> str:
    """Format a value with the half-width of its interval: `9.57 ± 0.31 Mbit/s`; without one, the value alone."""
    text = cell(column, value)
    if not half:
        return text
    (number, _, unit), (_, _, other) = text.partition(" "), (around := cell(column, half)).partition(" ")
    return f"{number if unit == other else text} ± {around}"


def displayed_columns(columns: Sequence[str]) -> dict[str, str | None]:
    """The displayed columns, each with its half-width column or None."""
    halves = {name.removeprefix(HALF): name for name in columns if name.startswith(HALF)}
    return {
        name: halves.get(name)
        for name in columns
        if name not in halves.values() or name.removeprefix(HALF) not in columns
    }


def heading(column: str) -> str:
    """Heading of a column: its name without the unit suffix, as every cell shows the unit."""
    return column.removesuffix(_scaled_suffix(column)).replace("_", " ")


def title_of(column: str) -> str:
    """Readable default title of a column: "Queue delay mean" for `queue_delay_mean_s`."""
    suffix = next((s for s in SUFFIXES if column.endswith(s)), "")
    words = column.removesuffix(suffix).replace("_", " ").replace("-", " ").strip() or column
    return words[0].upper() + words[1:]


@dataclass(frozen=True)
class Unit:
    """A unit of measure: `bit/s`, `B`, `s`, `%` (of a ratio), any counted noun, or nothing.

    Figures need each rule twice: in Python for texts, and as a Vega expression for axes and tooltips.
    """

    symbol: str

    def text(self, value: float | None, digits: int = 4) -> str:
        """Format a value with its unit: `1.5 Mbit/s`, `25 ms`, `98.2 %`, `12 packets`."""
        if value is None or not math.isfinite(value):
            return "–"
        if self.symbol == "%":
            return f"{_plain(value * 100, digits)} %"
        exponent = self._exponent(value)
        number = _plain(value / 10.0**exponent, digits)
        return f"{number} {PREFIXES[exponent]}{self.symbol}".rstrip()

    def expression(self, value: str, digits: int = 4) -> str:
        """Vega expression that formats a value as `text` does."""
        plain = f"format({value}, ',.{digits}~r')"
        if self.symbol == "%":
            return f"format({value} * 100, ',.{digits}~r') + ' %'"
        if self.symbol == "":
            return plain
        if self.symbol not in SCALED:
            return f"{plain} + {json.dumps(f' {self.symbol}')}"
        prefixed = f"replace(format({value}, '.{digits}~s'), regexp('([a-zA-Zµ]?)$'), ' $1{self.symbol}')"
        if self.symbol == "s":  # kiloseconds are not used
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
        symbol, factor = self.common(values)
        label = f"format(datum.value / {factor!r}, ',.6~r')"
        return (f"{title} ({symbol})" if symbol else title), label

    def common(self, values: Sequence[float]) -> tuple[str, float]:
        """Common unit of several values: the symbol with the prefix of the largest one, and its factor."""
        if self.symbol == "%":
            return "%", 0.01
        exponent = self._exponent(max((abs(v) for v in values if math.isfinite(v)), default=0.0))
        return PREFIXES[exponent] + self.symbol, 10.0**exponent

    def _exponent(self, value: float) -> int:
        if self.symbol not in SCALED or value == 0:
            return 0
        return _exponent(value, most=0 if self.symbol == "s" else max(PREFIXES))


@dataclass(frozen=True)
class Measure:
    """A number and its unit. A percentage is stored as a ratio: 0.208 and %."""

    value: float
    unit: Unit


def measure(text: str) -> Measure | None:
    """Parse a quantity or a percentage: `70 s`, `9.96 Mbps`, `20.8 %`; None for anything else."""
    if percent := _PERCENTAGE.fullmatch(text):
        return Measure(float(Decimal(percent[1]) / 100), Unit("%"))
    if (known := parse(text)) and (unit := SUFFIXES.get(f"_{known[0]}")):
        return Measure(known[1], Unit(unit))
    return None


def unit_of(column: str, stated: str | None = None) -> Unit:
    """The unit of a column: the stated one, else the one of its name's suffix, else none."""
    if stated is not None:
        return Unit(SPELLINGS.get(stated, stated))
    if column in PERCENT_COLUMNS:
        return Unit("%")
    return Unit(next((unit for suffix, unit in SUFFIXES.items() if column.endswith(suffix)), ""))


def _exponent(value: float, most: int = max(PREFIXES), near: float = 1 - 2e-9) -> int:
    """Exponent of a number's SI prefix: the largest, up to `most`, with `near` · 10^exponent not above the number."""
    return next((power for power in PREFIXES if power <= most and near * 10.0**power <= abs(value)), min(PREFIXES))


def _scaled_suffix(column: str) -> str:
    """The suffix of a column whose cells carry a prefixed unit; empty for any other."""
    return next((suffix for suffix, unit in SUFFIXES.items() if unit in SCALED and column.endswith(suffix)), "")


def _plain(value: float, digits: int) -> str:
    """Format a number with `digits` significant digits, thousands separators, no exponent and no trailing zeros."""
    if value == 0:
        return "0"
    decimals = max(digits - 1 - math.floor(math.log10(abs(value))), 0)
    rounded = round(value, digits - 1 - math.floor(math.log10(abs(value))))
    written = f"{rounded:,.{decimals}f}"
    return written.rstrip("0").rstrip(".") if "." in written else written
