"""What can be named in a scenario, from the engine's registry, and the built-in studies and scenarios."""

from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from vazao import _core
from vazao.errors import ScenarioError, did_you_mean
from vazao.study import built_in_scenarios, built_in_studies, load_study

STUDIES = "study"
SCENARIOS = "scenario"


@dataclass(frozen=True)
class Parameter:
    """A setting of an algorithm: its default as a user would type it, and what is accepted."""

    name: str
    default: str
    expected: str
    help: str
    required: bool


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


@cache
def entries() -> tuple[Entry, ...]:
    """Everything in the registry, every built-in study and every built-in scenario."""
    registry: dict[str, list[dict[str, Any]]] = json.loads(_core.registry())
    found = [_entry(kind, entry) for kind, listed in registry.items() for entry in listed]
    studies = [_study(name) for name in built_in_studies()]
    return tuple(found + studies + [_scenario(name, path) for name, path in built_in_scenarios().items()])


def _entry(kind: str, entry: dict[str, Any]) -> Entry:
    parameters = tuple(Parameter(**parameter) for parameter in entry["parameters"])
    return Entry(
        kind, entry["name"], tuple(entry["aliases"]), entry["title"], entry["source"], entry["help"], parameters
    )


def _study(name: str) -> Entry:
    study = load_study(name)
    return Entry(STUDIES, name, (), study.title, study.source, study.question, ())


def _scenario(name: str, path: Path) -> Entry:
    """What the comments at the head of a scenario say of it: what it is, and after `source:` whose."""
    text = path.read_text(encoding="utf-8")
    comments = [line.removeprefix("# ") for line in text.splitlines() if line.startswith("# ")]
    about, _, source = " ".join(comments).partition(". source: ")
    return Entry(SCENARIOS, name, (), tomllib.loads(text)["name"].capitalize(), source, about, ())


def kinds() -> list[str]:
    """What can be listed: "congestion control", "queue", …, "study"."""
    return list(dict.fromkeys(entry.kind for entry in entries()))


def of_kind(name: str) -> list[Entry]:
    """The entries of a kind: "queue", "queues", "congestion-controls", also by its last word: "schedulers".

    Raises `ScenarioError` for an unknown one.
    """
    short = {spelling.split()[-1]: kind for kind in kinds() for spelling in (_plural(kind), kind)}
    whole = {spelling: kind for kind in kinds() for spelling in (_plural(kind), kind)}
    kind = (short | whole).get(name.lower().replace("-", " ").replace("_", " "))
    if kind is None:
        known = [_plural(kind).replace(" ", "-") for kind in kinds()]
        raise ScenarioError(f"{name!r} is nothing that can be listed{did_you_mean(name, known)}")
    return [entry for entry in entries() if entry.kind == kind]


def named(name: str) -> list[Entry]:
    """Every entry of that name or alias, of whatever kind. Raises `ScenarioError` for an unknown one."""
    found = [entry for entry in entries() if name.lower() in (entry.name, *entry.aliases)]
    if not found:
        known = {known for entry in entries() for known in (entry.name, *entry.aliases)}
        raise ScenarioError(f"nothing is called {name!r}{did_you_mean(name, known)}")
    return found


def _plural(kind: str) -> str:
    return kind[:-1] + "ies" if kind.endswith("y") else kind if kind.endswith("s") else kind + "s"
