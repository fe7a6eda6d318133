"""Writes arbitrary tables as TOML."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def dump(document: Mapping[str, Any]) -> str:
    """TOML of a document: scalar values first, then a section for each table, one key per line."""
    tables = {key: value for key, value in document.items() if isinstance(value, Mapping) or _is_list(value)}
    lines = [f"{_key(key)} = {_value(value)}" for key, value in document.items() if key not in tables]
    for key, value in tables.items():
        head, sections = (f"[{_key(key)}]", [value]) if isinstance(value, Mapping) else (f"[[{_key(key)}]]", value)
        for section in sections:
            lines += ["", head, *(f"{_key(name)} = {_value(inner)}" for name, inner in section.items())]
    return "\n".join(lines).lstrip("\n") + "\n"


def _is_list(value: Any) -> bool:
    """Whether a value can be written as an array of tables."""
    return isinstance(value, list) and bool(value) and all(isinstance(each, Mapping) for each in value)


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _text(name)


def _text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _value(value: Any) -> str:
    match value:
        case bool():
            return str(value).lower()
        case str():
            return _text(value)
        case Mapping():
            return "{ " + ", ".join(f"{_key(key)} = {_value(inner)}" for key, inner in value.items()) + " }"
        case list() | tuple():
            return "[" + ", ".join(map(_value, value)) + "]"
        case _:
            return str(value)
