"""Actions of an agent, and the window and pacing rate that they set."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Discrete, Space

from vazao import units
from vazao.errors import ScenarioError, did_you_mean
from vazao.gym.step import Step


class Action(ABC):
    """A kind of action. Subclass it for custom actions."""

    @property
    @abstractmethod
    def space(self) -> Space[Any]:
        """The space of valid actions."""

    @abstractmethod
    def apply(self, action: Any, step: Step) -> tuple[float, float]:
        """The window in bytes and the rate in bit/s (0: unpaced) that an action sets after `step`."""


def _box(low: float, high: float) -> Box:
    return Box(np.float32(low), np.float32(high), (1,), np.float32)


def _number(action: Any, low: float, high: float) -> float:
    """The number of a continuous action, clamped to the bounds of the space. Raises `ScenarioError`."""
    try:
        value = float(action if isinstance(action, int | float) else action[0])
    except (TypeError, ValueError, IndexError):
        raise ScenarioError(f"action: {action!r} is no array of one number from {low:g} to {high:g}") from None
    if value != value:
        raise ScenarioError(f"action: {action!r}; give a number from {low:g} to {high:g}")
    return min(max(value, low), high)


def _chosen(action: Any, choices: Sequence[float]) -> float:
    """The choice that a discrete action selects. Raises `ScenarioError`."""
    try:
        index = int(action)
    except (TypeError, ValueError):
        index = -1
    if not 0 <= index < len(choices):
        raise ScenarioError(f"action: {action!r}; give a whole number from 0 to {len(choices) - 1}")
    return choices[index]


def _check(name: str, low: float, high: float, choices: Sequence[float] | None) -> None:
    if not 0 < low < high < float("inf"):
        raise ScenarioError(f"{name}: from {low:g} to {high:g}; give two numbers above zero, the lower first")
    if choices is not None and not (choices and all(0 < choice < float("inf") for choice in choices)):
        raise ScenarioError(f"{name}: choices {choices!r}; give numbers above zero")


@dataclass(frozen=True)
class Multiplier(Action):
    """Change of the window by a factor: `most ** a` for an action a from -1 to 1, or one of `choices`."""

    most: float = 2.0
    choices: Sequence[float] | None = None
    low: float = 2.0
    """Smallest window in packets."""
    high: float = 20_000.0
    """Largest window in packets."""

    def __post_init__(self) -> None:
        _check("Multiplier", self.low, self.high, self.choices)
        if not 1 < self.most < float("inf"):
            raise ScenarioError(f"Multiplier: most = {self.most}; give a factor above 1")

    @property
    def space(self) -> Space[Any]:
        """Numbers from -1 to 1, or indices of the choices."""
        return _box(-1, 1) if self.choices is None else Discrete(len(self.choices))

    def apply(self, action: Any, step: Step) -> tuple[float, float]:
        """The window times the factor, clamped to the limits; unpaced."""
        factor = self.most ** _number(action, -1, 1) if self.choices is None else _chosen(action, self.choices)
        mss = step.mss_bytes
        return min(max(step.cwnd_bytes * factor, self.low * mss), self.high * mss), 0.0


@dataclass(frozen=True)
class Window(Action):
    """A window in packets, from `low` to `high`, or one of `choices`."""

    low: float = 2.0
    high: float = 1000.0
    choices: Sequence[float] | None = None

    def __post_init__(self) -> None:
        _check("Window", self.low, self.high, self.choices)

    @property
    def space(self) -> Space[Any]:
        """Packets, or indices of the choices."""
        return _box(self.low, self.high) if self.choices is None else Discrete(len(self.choices))

    def apply(self, action: Any, step: Step) -> tuple[float, float]:
        """The window; unpaced."""
        packets = _number(action, self.low, self.high) if self.choices is None else _chosen(action, self.choices)
        return packets * step.mss_bytes, 0.0


_LEAST_WINDOW = 4.0
"""Packets in flight that suffice for a steady flow of delayed acknowledgements."""


def _window_for(rate: float, step: Step) -> float:
    """A window that does not limit a rate: two round trips of it, of 0.1 s each before one is measured."""
    return max(2.0 * rate / 8 * (step.srtt_s or 0.1), _LEAST_WINDOW * step.mss_bytes)


def _rate(name: str, text: str) -> float:
    parsed = units.parse(text)
    if parsed is None or parsed[0] != "bps" or not parsed[1] > 0:
        raise ScenarioError(f"{name}: {text!r} is not a rate; write one as in '10 Mbps'")
    return parsed[1]


@dataclass(frozen=True)
class Pace(Action):
    """A pacing rate in Mbit/s, from `low` to `high`, or one of `choices`; the window is two round trips of it."""

    low: str = "100 kbps"
    high: str = "100 Mbps"
    choices: Sequence[str] | None = None

    def __post_init__(self) -> None:
        _check("Pace", *self._limits, self._choices)

    @cached_property
    def _limits(self) -> tuple[float, float]:
        return _rate("Pace", self.low) / 1e6, _rate("Pace", self.high) / 1e6

    @cached_property
    def _choices(self) -> list[float] | None:
        return None if self.choices is None else [_rate("Pace", choice) / 1e6 for choice in self.choices]

    @property
    def space(self) -> Space[Any]:
        """Mbit/s, or indices of the choices."""
        return _box(*self._limits) if self._choices is None else Discrete(len(self._choices))

    def apply(self, action: Any, step: Step) -> tuple[float, float]:
        """The rate, and a window that does not limit it."""
        choices = self._choices
        rate = 1e6 * (_number(action, *self._limits) if choices is None else _chosen(action, choices))
        return _window_for(rate, step), rate


@dataclass(frozen=True)
class PaceMultiplier(Action):
    """Change of the pacing rate, Aurora's action: times 1 + `step` · a, or over 1 - `step` · a for a below 0.

    An action a is a number from -`reach` to `reach`; Aurora's `step` is 0.025.
    """

    step: float = 0.025
    reach: float = 10.0
    start: str = "1 Mbps"
    low: str = "100 kbps"
    high: str = "1 Gbps"

    def __post_init__(self) -> None:
        _check("PaceMultiplier", *self._limits, [self.step, self.reach, self._start])

    @cached_property
    def _limits(self) -> tuple[float, float]:
        return _rate("PaceMultiplier", self.low), _rate("PaceMultiplier", self.high)

    @cached_property
    def _start(self) -> float:
        return _rate("PaceMultiplier", self.start)

    @property
    def space(self) -> Space[Any]:
        """Numbers from -`reach` to `reach`."""
        return _box(-self.reach, self.reach)

    def apply(self, action: Any, step: Step) -> tuple[float, float]:
        """The new rate, and a window that does not limit it."""
        change = self.step * _number(action, -self.reach, self.reach)
        rate = step.pacing_bps or self._start
        low, high = self._limits
        rate = min(max(rate * (1 + change) if change >= 0 else rate / (1 - change), low), high)
        return _window_for(rate, step), rate


KINDS: Mapping[str, Callable[[], Action]] = {
    "multiplier": Multiplier,
    "window": Window,
    "pace": Pace,
    "pace-multiplier": PaceMultiplier,
}
"""Kinds of actions by name."""


def action_of(given: str | Action) -> Action:
    """Look up a kind of action by name; an `Action` is returned as it is. Raises `ScenarioError`."""
    if isinstance(given, Action):
        return given
    if given not in KINDS:
        raise ScenarioError(f"action: there is no {given!r}{did_you_mean(str(given), KINDS)}")
    return KINDS[given]()
