"""Completion candidates: names of studies and files, results directories, keys of a scenario.

A candidate becomes part of the user's command line, and file names are untrusted: names with characters that are
special to a shell are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

_HARMLESS = re.compile(r"[\w./+@%,=*-]+")

MOST = 500
"""Maximum number of entries of a folder that are considered."""

MANIFEST = "manifest.json"
"""Name of the file that marks a results directory."""


def _fitting(incomplete: str, every: Iterable[str]) -> list[str]:
    found = (one for one in every if one.startswith(incomplete) and _HARMLESS.fullmatch(one))
    return list(dict.fromkeys(found))


def _inside(incomplete: str) -> Iterator[tuple[str, Path]]:
    """Entries of the folder that an incomplete path leads into, each with its path as typed."""
    above, slash, _ = incomplete.rpartition("/")
    try:
        entries = sorted(Path(above + slash or ".").iterdir())[:MOST]
    except OSError:
        return
    yield from ((f"{above}{slash}{path.name}", path) for path in entries if not path.name.startswith("."))


def paths(incomplete: str) -> list[str]:
    """TOML files, and folders that may contain some."""
    found = ((f"{name}/" if path.is_dir() else name, path) for name, path in _inside(incomplete))
    return _fitting(incomplete, (name for name, path in found if name.endswith("/") or path.suffix == ".toml"))


def files(incomplete: str) -> list[str]:
    """Built-in studies and scenarios, and TOML files: everything that `vazao run` accepts."""
    from vazao import scenario, study

    built_in = [*study.built_in_studies(), *scenario.built_in_scenarios(), "all-theses"]
    return [*_fitting(incomplete, built_in), *paths(incomplete)]


def origins(incomplete: str) -> list[str]:
    """Built-in studies and scenarios."""
    from vazao import scenario, study

    return _fitting(incomplete, [*study.built_in_studies(), *scenario.built_in_scenarios()])


def lessons(incomplete: str) -> list[str]:
    """Lessons of the laboratory, and files that may contain one."""
    from vazao import seeing

    return [*_fitting(incomplete, seeing.lessons()), *paths(incomplete)]


def directories(incomplete: str) -> list[str]:
    """Results directories, including those in `results`; if none match, folders that may lead to some."""
    here = [*_inside(incomplete), *(() if "/" in incomplete else _inside("results/"))]
    folders = [(name, path) for name, path in here if path.is_dir()]
    kept = [name for name, path in folders if (path / MANIFEST).is_file()]
    wanted = _fitting(incomplete, kept)
    if wanted:
        return wanted
    return _fitting(incomplete, (f"{name}/" for name, _ in folders))


def explained(incomplete: str) -> list[str]:
    """Names that `vazao explain` knows; for a dotted key, its next part."""
    from vazao import study

    if "." in incomplete:
        return _keys(incomplete, leaf="")
    return _fitting(incomplete, study.reference.names())


def listed(incomplete: str) -> list[str]:
    """Kinds that `vazao list` knows."""
    from vazao import study

    return _fitting(incomplete, study.catalogue.plurals())


def changes(incomplete: str) -> list[str]:
    """Keys of a scenario, one part at a time; after the equals sign, the named values that the key accepts."""
    key, equals, value = incomplete.partition("=")
    if not equals:
        return _keys(incomplete, leaf="=")
    before, comma, _ = value.rpartition(",")
    return _fitting(incomplete, (f"{key}={before}{comma}{name}" for name in _values(key)))


def _values(key: str) -> list[str]:
    """Named values that a key accepts: algorithms, or the keywords that its declaration lists."""
    from vazao import study

    reference = study.reference
    path = reference.canonical(key)
    accepted = [each.accepted for each in reference.known_keys() if each.name in (path, f"{path}.kind")]
    kinds = [name for text in accepted for name in re.findall(r"`([\w+-]+)`", text)]
    words = [name for text in accepted if text.startswith("one of ") for name in text[7:].split(", ")]
    flags = ["true", "false"] if "true or false" in accepted else []
    return sorted({*kinds, *words, *flags})


def _keys(incomplete: str, leaf: str) -> list[str]:
    """Keys that continue the typed text up to the next dot; `leaf` is appended to those that can have a value."""
    from vazao import study

    reference = study.reference
    written, dot, _ = incomplete.rpartition(".")
    under = reference.canonical(f"{written}.key").rpartition(".")[0] if written else ""
    # Only keys of a scenario take a value.
    every = [key.name for key in reference.known_keys() if not leaf or key.kind == reference.SCENARIO]
    found: list[str] = []
    for name in every:
        if under and not name.startswith(f"{under}."):
            continue
        part, more, _ = (name.removeprefix(f"{under}.") if under else name).partition(".")
        found.append(f"{written}{dot}{part}{'.' if more else leaf}")
        if not written and part == "flow":
            found += ["flow.0.", "flow.*."]
        if under == "network" and part == "link" and more:
            found += [f"{written}{dot}{link}." for link in reference.LINKS]
    return _fitting(incomplete, sorted(found))


def measures(incomplete: str) -> list[str]:
    """Measures that can be traced, except those already named."""
    from vazao import _core

    before, comma, _ = incomplete.rpartition(",")
    named = before.split(",")
    return _fitting(incomplete, (f"{before}{comma}{measure}" for measure in _core.MEASURES if measure not in named))
