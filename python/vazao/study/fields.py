"""Kinds of values in a study file: how each is read, and how a wrong one is refused."""

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
    """Refuse a value while it is being validated; `key` leads from it to what is wrong inside it."""
    raise PydanticCustomError("vazao", "{problem}", {"problem": problem, "key": key})


def unique(names: Iterable[str], what: str, key: str) -> None:
    """Refuse a name that two things have."""
    seen: set[str] = set()
    for n, name in enumerate(names):
        if name in seen:
            wrong(f"two {what} are called {name!r}; give each its own name", key, n)
        seen.add(name)


def as_list(value: Any) -> Any:
    """A value by itself is a list of one."""
    return value if isinstance(value, list) else [value]


def as_label(value: Any) -> Any:
    """TOML's `true` is the label "true"; other scalars are their own labels."""
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, str | int | float):
        wrong(f"{value!r} is not a label; write a text or a number")
    return value


def as_measure(value: Any) -> Any:
    """A number, or a text like "70 s" or "20.8 %", with its unit."""
    if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
        return units.Measure(float(value), units.Unit(""))
    if isinstance(value, str) and (read := units.measure(value)):
        return read
    wrong(f"{value!r} is no number of an original; write a quantity like '70 s', '9.96 Mbps', '20.8 %', or a number")


def as_language(value: Any) -> Any:
    """A language of reports."""
    if value not in LANGUAGES:
        wrong(f"{value!r} is no language of reports; choose {' or '.join(LANGUAGES)}")
    return value


LabelField = Annotated[Label, BeforeValidator(as_label)]
Identifier = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]*$")]
Slug = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9._-]*$")]


Column = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
"""A column that a figure names: elsewhere than in SQL, `a.b` or `a[0]` would be a path to something inside."""


def with_views(sql: str, views: Iterable[tuple[str, str]]) -> str:
    """A query with the queries of the views that it names, itself or by others of them; a view names earlier ones."""
    for name, query in reversed(list(views)):
        if re.search(rf"\b{re.escape(name)}\b", sql):
            sql = f"{sql} {query}"
    return sql
