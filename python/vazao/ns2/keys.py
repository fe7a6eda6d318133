"""The keys of a scenario, of which each has a counterpart in ns-2 or is refused by name."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NoReturn

from vazao.errors import ScenarioError
from vazao.units import parse


class Table:
    """A table of a scenario of which every key must be taken."""

    def __init__(self, given: Mapping[str, Any], where: str) -> None:
        self.given = given
        self.where = where
        self._left = dict(given)

    def take(self, key: str, otherwise: Any = None) -> Any:
        """The value of a key."""
        return self._left.pop(key, otherwise)

    def only(self, key: str, *accepted: Any) -> None:
        """Take a key that must have one of these values, or not be there."""
        value = self.take(key, accepted[0])
        if value not in accepted:
            refuse(self.path(key), value, " or ".join(map(_told, accepted)))

    def quantity(self, key: str, unit: str, otherwise: str | None = None) -> float:
        """The number of a key in a unit."""
        return quantity_of(self.path(key), self.take(key, otherwise), unit)

    def quantity_of(self, key: str, value: object, unit: str) -> float:
        """The number of a key that was taken, in a unit."""
        return quantity_of(self.path(key), value, unit)

    def finish(self) -> None:
        """Refuse what is left."""
        for key, value in self._left.items():
            refuse(self.path(key), value, "nothing there")

    def path(self, key: str) -> str:
        """A key as the user writes it."""
        return f"{self.where}.{key}".lstrip(".")


_EXAMPLES = {"s": '"10 ms"', "bps": '"10 Mbps"', "bytes": '"64 MB"', "packets": '"200 packets"'}


def quantity_of(key: str, value: object, unit: str) -> float:
    """The number of a value in a unit."""
    found = parse(value) if isinstance(value, str) else None
    if not found or found[0] != unit:
        refuse(key, value, f"one such as {_EXAMPLES[unit]}")
    return found[1]


def _told(value: object) -> str:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return "nothing there" if value is None else json.dumps(value, ensure_ascii=False)


def refuse(key: str, value: object, accepted: str) -> NoReturn:
    """Refuse a value with what would be accepted. Raises `ScenarioError`."""
    told = value if isinstance(value, str) else _told(value)
    fail(key, told, f"{told[:60]} has no counterpart in ns-2; write {accepted}")


def fail(key: str, value: str, problem: str, file: str = "") -> NoReturn:
    """Raise a `ScenarioError` about a key of a file."""
    error = ScenarioError(": ".join(filter(None, [file, key, problem])))
    error.file, error.key, error.value, error.problem = file, key, value, problem
    raise error from None
