"""Reference of all names: keys of files, columns of results, measures, and the words of the glossary.

Algorithms declare their own parameters, the engine its columns and measures. The rest is in the tables of the package's
folder `reference`, which `docs/generate.py` writes into the documentation as well.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from vazao import _core, units
from vazao.errors import ScenarioError, nearest
from vazao.scenario import Entry, Parameter, built_in, registry
from vazao.study import catalogue

SCENARIO, STUDY = "key of a scenario", "key of a study"
MEASURE, WORD, FIELD = "measure", "word", "word of the field"


@dataclass(frozen=True)
class Meaning:
    """A meaning of a name: its kind, and its description in Markdown."""

    kind: str
    name: str
    help: str
    default: str = ""
    accepted: str = ""
    unit: str = ""
    of: tuple[str, ...] = ()
    """Algorithms, protocols or topologies that have a key; empty if all have it."""
    also: tuple[str, ...] = ()
    """Synonyms."""
    here: tuple[str, ...] = ()
    """Names in Vazão that relate to a word of the field."""


@dataclass(frozen=True)
class Row:
    """A row of a declared table: keys that share a description."""

    keys: tuple[str, ...]
    default: str
    accepted: str
    help: str
    also: str = ""
    """Name of the key elsewhere: `design.kind` is `part.design`."""


def declared(file: str) -> dict[str, list[Row]]:
    """Tables of keys in a file of the folder `reference`, by name."""
    return {table["name"]: [_row(**row) for row in table["keys"]] for table in _read(file)["table"]}


def _row(help: str, default: str, accepted: str, key: str = "", keys: Sequence[str] = (), also: str = "") -> Row:  # noqa: A002
    return Row(tuple(keys or [key]), default, accepted, help, also)


@cache
def _read(file: str) -> dict[str, Any]:
    return tomllib.loads(built_in("reference")[file].read_text(encoding="utf-8"))


def words() -> dict[str, str]:
    """The glossary: words with their meanings."""
    return dict(_read("glossary"))


@cache
def field() -> tuple[Meaning, ...]:
    """Words of the field that Vazão has no such word for, with the names that relate to them here."""
    return tuple(
        Meaning(FIELD, word["names"][0], word["help"], also=tuple(word["names"][1:]), here=tuple(word["here"]))
        for word in _read("field")["word"]
    )


def folded(name: str) -> str:
    """Normalized name for the lookup of words: people write `slow start`, `slow-start` and `Slow_Start`."""
    return re.sub(r"[\s_-]+", " ", name).strip().lower()


def more_columns() -> dict[str, list[dict[str, str]]]:
    """Columns that a run by itself does not have: those of a study's runs, of samples, and of further tables."""
    return {table["name"]: list(table["columns"]) for table in _read("columns")["table"]}


@cache
def known_keys() -> tuple[Meaning, ...]:
    """Every key of a scenario and of a study, by its path in the file without list indices."""
    every = [
        Meaning(kind, key, row.help, row.default, row.accepted)
        for kind, file in ((SCENARIO, "scenario"), (STUDY, "study"))
        for rows in declared(file).values()
        for row in rows
        for key in filter(None, (*row.keys, row.also))
    ]
    return (*every, *_grouped(_parameters()))


def _grouped(every: Iterable[Meaning]) -> Iterator[Meaning]:
    """Merge keys that several algorithms declare with the same meaning."""
    owners: dict[Meaning, list[str]] = {}
    for meaning in every:
        owners.setdefault(replace(meaning, of=()), []).extend(meaning.of)
    return (replace(meaning, of=tuple(dict.fromkeys(of))) for meaning, of in owners.items())


LINK = "network.link"
LINKS = ("bottleneck", "access", "path")
"""Keys of a network, besides `link`, whose values are links."""

CHOICES = {
    "rate": f"{LINK}.rate", "delay": f"{LINK}.delay", "shaper": f"{LINK}.shaper", "queue": f"{LINK}.queue",
    "loss model": f"{LINK}.loss", "topology": "network", "application": "flow.app", "transport": "flow.transport",
}  # fmt: skip
"""Keys whose value is an entry of a kind of the registry, with its parameters in a table; by kind."""


def _parameters() -> Iterator[Meaning]:
    """Parameters that the registry declares, as keys of a file."""
    for entry in registry():
        if entry.kind in CHOICES:
            yield from _inside(CHOICES[entry.kind], entry)
        elif entry.kind == "impairment":
            yield from _inside(f"{LINK}.{entry.name}", entry)
    for kind, key in CHOICES.items():
        if kind != "topology":
            yield _kind(key, kind)


def _inside(key: str, entry: Entry) -> Iterator[Meaning]:
    """Parameters of an entry that is the value of a key, and of the entries that these parameters choose."""
    for parameter in entry.parameters:
        path = f"{key}.{parameter.name}"
        default = "required" if parameter.required else f"`{parameter.default}`" if parameter.default else "none"
        yield Meaning(SCENARIO, path, parameter.help, default, parameter.expected, of=(entry.name,))
        if kind := _chosen(parameter):
            yield _kind(path, kind)
            for each in (each for each in registry() if each.kind == kind):
                yield from _inside(path, each)


def _kind(key: str, kind: str) -> Meaning:
    names = ", ".join(f"`{entry.name}`" for entry in registry() if entry.kind == kind)
    return Meaning(
        SCENARIO, f"{key}.kind", f"the name of the {kind}, in a table with its parameters", "required", names
    )


def _chosen(parameter: Parameter) -> str:
    """Kind of the registry that a parameter's value has; empty for a plain value, and for a whole personality."""
    found = re.match(r"the name of an? ([a-z ]+), or a table with", parameter.expected)
    kind = found[1] if found else "distribution" if "or a distribution" in parameter.expected else ""
    return "" if kind == "personality" else kind


@cache
def columns() -> tuple[Meaning, ...]:
    """Every column of results and every measure."""
    engine_tables: dict[str, list[dict[str, str]]] = json.loads(_core.tables())
    measures = engine_tables.pop("measures")
    rows = [(table, column["name"], column["help"]) for table, listed in engine_tables.items() for column in listed]
    rows += [(one["table"], one["name"], one["help"]) for listed in more_columns().values() for one in listed]
    found = [Meaning(f"column of {table}", name, text, unit=units.unit_of(name).symbol) for table, name, text in rows]
    traced = [Meaning(MEASURE, one["name"], one["help"], unit=_core.MEASURES[one["name"]][1]) for one in measures]
    return (*found, *traced)


def explained(name: str) -> tuple[list[Entry], list[Meaning]]:
    """Everything named `name`: algorithms, studies and scenarios; keys, columns, measures and words.

    A key may be given by its path (`network.bottleneck.rate`, `flow.0.transport.cc`) or by the end of it (`min_rto`).
    Raises `ScenarioError` for an unknown name.
    """
    entries = catalogue.having(name)
    lower, spoken = "_".join(name.lower().split()), folded(name)
    found = [replace(each, name=name if "." in name else each.name) for each in _keys(lower)]
    found += [each for each in columns() if each.name.lower() == lower]
    found += [Meaning(WORD, word, text) for word, text in words().items() if _is_word(spoken, word)]
    found += [each for each in field() if any(_is_word(spoken, word) for word in (each.name, *each.also))]
    if not entries and not found:
        raise ScenarioError(f"nothing is called {name!r}{_hint(lower)}")
    return entries, found


def _is_word(spoken: str, word: str) -> bool:
    """Whether a normalized name is a word or its plural."""
    return spoken in (folded(word), f"{folded(word)}s")


def _keys(name: str) -> list[Meaning]:
    path = canonical(name)
    # A full path denotes one key; the end of a path may denote several.
    whole = [each for each in known_keys() if each.name == path]
    if whole and "." in path:
        return whole
    return [each for each in known_keys() if f".{each.name}".endswith(f".{path}")]


def canonical(key: str) -> str:
    """Declared path of a key: without list indices and `*`, and with `link` for every link."""
    parts = [part for part in key.split(".") if part and not part.isdecimal() and part != "*"]
    # A study's template has the keys of a scenario, and a part's factors have those of the study's factors.
    if parts[0:1] == ["part"] and parts[1:2] in (["scenario"], ["factor"]) and len(parts) > 2:
        parts = parts[1:]
    if parts[0:1] == ["scenario"] and len(parts) > 1:
        parts = parts[1:]
    for place, part in enumerate(parts[:-1]):
        if part in LINKS and parts[:place] in ([], ["network"]):
            parts[place] = "link"
    directions = ("forward", "reverse")
    return ".".join(part for n, part in enumerate(parts) if part not in directions or n == len(parts) - 1)


def _hint(name: str) -> str:
    """End of a message about an unknown name: the nearest name, or where names are listed."""
    above, _, last = name.rpartition(".")
    under = canonical(name).rpartition(".")[0]
    inside = {
        key.name.removeprefix(f"{under}.").partition(".")[0] for key in known_keys() if key.name.startswith(f"{under}.")
    }
    if above and inside:
        meant = nearest(last, inside)
        return f"; did you mean {f'{above}.{meant}'!r}?" if meant else f"; {above} has {', '.join(sorted(inside))}"
    if meant := nearest(name, names()):
        return f"; did you mean {meant!r}?"
    return "; `vazao list` names what there is, and docs/scenarios.md, studies.md and results.md keys and columns"


def names() -> list[str]:
    """Every name that can be explained; of a key, only the last part."""
    ends = [key.name.rpartition(".")[2] for key in known_keys()]
    spoken = [word for each in field() for word in (each.name, *each.also)]
    return list(dict.fromkeys([*catalogue.names(), *ends, *(each.name for each in columns()), *words(), *spoken]))


def plain(text: str) -> str:
    """Markdown as a terminal displays it: without markup, and with a command for each link to a list of algorithms."""
    listed = re.sub(r"see \[algorithms\]\(algorithms\.md#([\w-]+)\)", r"see vazao list \1", text)
    return re.sub(r"\[([^\]]+)\]\([^)]*\)", r"\1", listed).replace("`", "")
