"""Registry of everything that a scenario can name, from the engine, and of the built-in scenarios."""

from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from vazao import _core
from vazao.scenario.packaged import built_in_scenarios


@dataclass(frozen=True)
class Parameter:
    """A setting of an algorithm: its default as a user would type it, and what is accepted."""

    name: str
    default: str
    expected: str
    help: str
    required: bool


@dataclass(frozen=True)
class Setting:
    """A setting that a personality implies: its value as TOML, and the congestion control that it applies to."""

    name: str
    value: str
    control: str | None
    help: str | None


@dataclass(frozen=True)
class Entry:
    """An algorithm: its names, the RFC or paper it comes from, one line of help, its parameters."""

    kind: str
    name: str
    aliases: tuple[str, ...]
    title: str
    source: str
    help: str
    parameters: tuple[Parameter, ...]
    settings: tuple[Setting, ...] = ()


@cache
def registry() -> tuple[Entry, ...]:
    """Every algorithm, transport, application and topology that the engine has."""
    found: dict[str, list[dict[str, Any]]] = json.loads(_core.registry())
    return tuple(_entry(kind, entry) for kind, listed in found.items() for entry in listed)


@cache
def presets() -> tuple[Entry, ...]:
    """Every built-in scenario."""
    return tuple(_preset(name, path) for name, path in built_in_scenarios().items())


def _entry(kind: str, entry: dict[str, Any]) -> Entry:
    parameters = tuple(Parameter(**{key: one[key] for key in Parameter.__match_args__}) for one in entry["parameters"])
    settings = tuple(Setting(**setting) for setting in entry.get("settings", ()))
    aliases, title, source = tuple(entry["aliases"]), entry["title"], entry["source"]
    return Entry(kind, entry["name"], aliases, title, source, entry["help"], parameters, settings)


def _preset(name: str, path: Path) -> Entry:
    """Entry of a scenario from its leading comments: a description, and its origin after `source:`."""
    text = path.read_text(encoding="utf-8")
    comments = [line.removeprefix("# ") for line in text.splitlines() if line.startswith("# ")]
    about, _, source = " ".join(comments).partition(". source: ")
    return Entry("scenario", name, (), tomllib.loads(text)["name"].capitalize(), source, about, ())
