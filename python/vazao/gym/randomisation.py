"""Variations of a world from episode to episode (domain randomisation)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from numpy.random import Generator

from vazao import units
from vazao.errors import ScenarioError

Draw = Callable[[Generator], Any]
"""A function that draws a value of a key."""

Limit = str | float | int


@dataclass(frozen=True)
class Distribution:
    """Uniform or log-uniform distribution of values between two limits."""

    low: Limit
    high: Limit
    is_log: bool

    def __post_init__(self) -> None:
        (low, unit), (high, other) = _parsed(self.low), _parsed(self.high)
        if unit != other or not low <= high or (self.is_log and not low > 0):
            wanted = "two numbers or quantities of one unit, the lower first" + (", above zero" if self.is_log else "")
            raise ScenarioError(f"vary: from {self.low!r} to {self.high!r}; give {wanted}")

    def __call__(self, random: Generator) -> Any:
        """Draw a value of the distribution."""
        (low, unit), (high, _) = _parsed(self.low), _parsed(self.high)
        if self.is_log:
            value = math.exp(random.uniform(math.log(low), math.log(high)))
        elif isinstance(self.low, int) and isinstance(self.high, int):
            return int(random.integers(self.low, self.high, endpoint=True))
        else:
            value = random.uniform(low, high)
        return _written(min(max(value, low), high), unit)


@dataclass(frozen=True)
class Choice:
    """Uniform choice among several values."""

    values: tuple[Any, ...]

    def __call__(self, random: Generator) -> Any:
        """Draw a value."""
        return self.values[int(random.integers(len(self.values)))]


def uniform(low: Limit, high: Limit) -> Distribution:
    """Uniform distribution of numbers or quantities: `uniform("5 ms", "100 ms")`."""
    return Distribution(low, high, is_log=False)


def log_uniform(low: Limit, high: Limit) -> Distribution:
    """Log-uniform distribution of numbers or quantities: `log_uniform("1 Mbps", "1 Gbps")`."""
    return Distribution(low, high, is_log=True)


def choice(*values: Any) -> Choice:
    """Uniform choice among the values."""
    if not values:
        raise ScenarioError("vary: choice() of nothing; give values")
    return Choice(values)


def draw_of(key: str, given: Any) -> Draw:
    """Function that draws a key's values, given as a function, a list, or a range such as `"1 Mbps:50 Mbps"`."""
    if callable(given):
        draw: Draw = given
        return draw
    if isinstance(given, str):
        low, colon, high = given.partition(":")
        if not colon:
            raise ScenarioError(f"vary: {key}: {given!r}; write FROM:TO, as in '1 Mbps:50 Mbps', a list, or a function")
        return uniform(_limit(low), _limit(high))
    if isinstance(given, Sequence) and given:
        return choice(*given)
    raise ScenarioError(f"vary: {key}: {given!r}; write FROM:TO, as in '1 Mbps:50 Mbps', a list, or a function")


def extremes(draw: Draw) -> tuple[Any, ...]:
    """Values to validate a key and its range with before any is drawn."""
    if isinstance(draw, Distribution):
        return tuple(_written(*_parsed(end)) if isinstance(end, str) else end for end in (draw.low, draw.high))
    return draw.values if isinstance(draw, Choice) else ()


def _limit(text: str) -> Limit:
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    return text.strip()


def _parsed(limit: Limit) -> tuple[float, str]:
    """A number and the suffix of its unit, none for a plain number."""
    if not isinstance(limit, str):
        return float(limit), ""
    if (parsed := units.parse(limit)) is None:
        raise ScenarioError(f"vary: {limit!r} is no number and no quantity; write one as in '10 Mbps' or 0.01")
    return parsed[1], parsed[0]


_WRITTEN: dict[str, Callable[[float], Any]] = {
    "": float,
    "bps": lambda value: f"{value:.0f} bps",
    "s": lambda value: f"{1e9 * value:.0f} ns",
    "bytes": lambda value: f"{value:.0f} B",
    "packets": lambda value: f"{value:.0f} packets",
    "bdp": lambda value: f"{value:.6f} bdp",
}


def _written(value: float, unit: str) -> Any:
    return _WRITTEN[unit](value)
