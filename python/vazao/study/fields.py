"""Field types of a study file: how each value is parsed, and how an invalid one is rejected."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

from pydantic import BeforeValidator, StringConstraints
from pydantic_core import PydanticCustomError

from vazao import units
from vazao.words import LANGUAGES

if TYPE_CHECKING:
    from collections.abc import Iterable

Label = str | int | float


def wrong(problem: str, *key: str | int) -> NoReturn:
    """Reject a value during validation; `key` is the path from it to the invalid part inside it."""
    raise PydanticCustomError("vazao", "{problem}", {"problem": problem, "key": key})


def unique(names: Iterable[str], what: str, key: str) -> None:
    """Reject duplicate names."""
    seen: set[str] = set()
    for n, name in enumerate(names):
        if name in seen:
            wrong(f"two {what} are called {name!r}; give each its own name", key, n)
        seen.add(name)


def as_list(value: Any) -> Any:
    """Value as a list: a single value becomes a list of one."""
    return value if isinstance(value, list) else [value]


def as_label(value: Any) -> Any:
    """Value as a label: TOML's `true` becomes "true", other scalars are their own labels."""
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, str | int | float):
        wrong(f"{value!r} is not a label; write a text or a number")
    return value


def as_measure(value: Any) -> Any:
    """Parse a number, or a text with a unit like "70 s" or "20.8 %"."""
    if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
        return units.Measure(float(value), units.Unit(""))
    if isinstance(value, str) and (read := units.measure(value)):
        return read
    wrong(f"{value!r} is no number of an original; write a quantity like '70 s', '9.96 Mbps', '20.8 %', or a number")


def as_language(value: Any) -> Any:
    """Validate a language of reports."""
    if value not in LANGUAGES:
        wrong(f"{value!r} is no language of reports; choose {' or '.join(LANGUAGES)}")
    return value


LabelField = Annotated[Label, BeforeValidator(as_label)]
Identifier = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]*$")]
Slug = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9._-]*$")]


Column = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
"""Name of a figure's column: outside SQL, `a.b` or `a[0]` would be a path into a nested value."""


def with_views(sql: str, views: Iterable[tuple[str, str]]) -> str:
    """A query followed by those of the views that it uses, also indirectly; a view can use only earlier ones."""
    for name, query in reversed(list(views)):
        if re.search(rf"\b{re.escape(name)}\b", sql):
            sql = f"{sql} {query}"
    return sql
