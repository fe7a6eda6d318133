"""Catalogue of all names: the registry of scenarios, and the built-in studies and scenarios."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from vazao.errors import ScenarioError, did_you_mean
from vazao.scenario import Entry, presets, registry
from vazao.study.named import built_in_studies
from vazao.study.source import read_text

STUDIES = "study"


@cache
def entries() -> tuple[Entry, ...]:
    """Everything in the registry, every built-in study and every built-in scenario."""
    return (*registry(), *(_study(*named) for named in built_in_studies().items()), *presets())


def _study(name: str, path: Path) -> Entry:
    # Imported here, as names alone (for completion, say) do not need the model of a study.
    from vazao.study.load import parse_study

    study = parse_study(read_text(path), str(path))
    return Entry(STUDIES, name, (), study.title, study.source, study.question, ())


def kinds() -> list[str]:
    """Kinds that can be listed: "congestion control", "queue", …, "study"."""
    return list(dict.fromkeys(entry.kind for entry in entries()))


def plurals() -> list[str]:
    """Kinds as `vazao list` accepts them ("congestion-controls"); parses no study."""
    kinds = dict.fromkeys([*(entry.kind for entry in (*registry(), *presets())), STUDIES])
    return [_plural(kind).replace(" ", "-") for kind in kinds]


def of_kind(name: str) -> list[Entry]:
    """Entries of a kind, by its singular, its plural or the last word: "queue", "congestion-controls", "schedulers".

    Raises `ScenarioError` for an unknown kind.
    """
    short = {spelling.split()[-1]: kind for kind in kinds() for spelling in (_plural(kind), kind)}
    whole = {spelling: kind for kind in kinds() for spelling in (_plural(kind), kind)}
    kind = (short | whole).get(name.lower().replace("-", " ").replace("_", " "))
    if kind is None:
        known = [_plural(kind).replace(" ", "-") for kind in kinds()]
        raise ScenarioError(f"{name!r} is nothing that can be listed{did_you_mean(name, known)}")
    return [entry for entry in entries() if entry.kind == kind]


def named(name: str) -> list[Entry]:
    """Every entry with this name or alias, of any kind. Raises `ScenarioError` for an unknown name."""
    found = having(name)
    if not found:
        raise ScenarioError(f"nothing is called {name!r}{did_you_mean(name, names())}")
    return found


def having(name: str) -> list[Entry]:
    """Every entry with this name or alias; none for an unknown name. Parses no study but the named one."""
    folded = name.lower()
    found = [entry for entry in (*registry(), *presets()) if folded in (entry.name, *entry.aliases)]
    known = built_in_studies()
    return [*found, _study(folded, known[folded])] if folded in known else found


def names() -> list[str]:
    """Names and aliases of all entries; parses no study."""
    entries = [name for entry in (*registry(), *presets()) for name in (entry.name, *entry.aliases)]
    return list(dict.fromkeys([*entries, *built_in_studies()]))


def _plural(kind: str) -> str:
    return kind[:-1] + "ies" if kind.endswith("y") else kind if kind.endswith("s") else kind + "s"
