"""Keys of a scenario: each has a counterpart in ns-2 or is rejected by name."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NoReturn

from vazao.errors import ScenarioError
from vazao.units import parse


class Table:
    """A table of a scenario, every key of which must be consumed."""

    def __init__(self, given: Mapping[str, Any], where: str) -> None:
        self.given = given
        self.where = where
        self._left = dict(given)

    def take(self, key: str, otherwise: Any = None) -> Any:
        """Consume a key and return its value."""
        return self._left.pop(key, otherwise)

    def only(self, key: str, *accepted: Any) -> None:
        """Consume a key that must have one of these values or be absent."""
        value = self.take(key, accepted[0])
        if value not in accepted:
            refuse(self.path(key), value, " or ".join(map(_as_text, accepted)))

    def quantity(self, key: str, unit: str, otherwise: str | None = None) -> float:
        """Consume a key and return its number in a unit."""
        return quantity_of(self.path(key), self.take(key, otherwise), unit)

    def quantity_of(self, key: str, value: object, unit: str) -> float:
        """The number of a key that was already consumed, in a unit."""
        return quantity_of(self.path(key), value, unit)

    def finish(self) -> None:
        """Reject the keys that were not consumed."""
        for key, value in self._left.items():
            refuse(self.path(key), value, "nothing there")

    def path(self, key: str) -> str:
        """The full name of a key, as the user writes it."""
        return f"{self.where}.{key}".lstrip(".")


_EXAMPLES = {"s": '"10 ms"', "bps": '"10 Mbps"', "bytes": '"64 MB"', "packets": '"200 packets"'}


def quantity_of(key: str, value: object, unit: str) -> float:
    """Parse a value as a number in a unit. Raises `ScenarioError`."""
    found = parse(value) if isinstance(value, str) else None
    if not found or found[0] != unit:
        refuse(key, value, f"one such as {_EXAMPLES[unit]}")
    return found[1]


def _as_text(value: object) -> str:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return "nothing there" if value is None else json.dumps(value, ensure_ascii=False)


def refuse(key: str, value: object, accepted: str) -> NoReturn:
    """Reject a value with a message on accepted ones. Raises `ScenarioError`."""
    text = value if isinstance(value, str) else _as_text(value)
    fail(key, text, f"{text[:60]} has no counterpart in ns-2; write {accepted}")


def fail(key: str, value: str, problem: str, file: str = "") -> NoReturn:
    """Raise a `ScenarioError` about a key of a file."""
    error = ScenarioError(": ".join(filter(None, [file, key, problem])))
    error.file, error.key, error.value, error.problem = file, key, value, problem
    raise error from None
