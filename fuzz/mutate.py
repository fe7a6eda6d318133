"""Mutates valid files by one to three hostile changes, of the text or of the document."""

from __future__ import annotations

import copy
import re
import tomllib
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from random import Random
from typing import Any

from fuzz import toml
from vazao.scenario import built_in_scenarios
from vazao.study import built_in_studies

ROOT = Path(__file__).parents[1]

NUMBERS = [0, -1, 1, 2**31, 2**53, 2**63 - 1, 10**18, -(2**63), 0.0, -0.0, 1e-308, 1e308, float("nan"), float("inf")]
QUANTITIES = [
    *(
        "0 bps",
        "1e30 Gbps",
        "inf Mbps",
        "Mbps",
        "10",
        "-1 ms",
        "1 ns",
        "1e-30 s",
        "9e99 h",
        "nan s",
        " 10  ms ",
        "١٠ ms",
    ),
    *("0 B", "1 B", "1e18 B", "18446744073709551616 B", "1e400 B", "1_000 B", "0x10 B", "10 parsecs"),
    *("0 packets", "1e5 packets", "0 bdp", "1e9 bdp"),
    *("exponential 10 ms", "exponential 0 s", "pareto 1e300 s", "lognormal 1e18 B"),
]
NAMES = [
    *("", " ", "a", "a\nb", "a\rb", 'a"b', "a'b", "a/b", "../../x", "..", "a\\b", "\x1b[2J\x1b]0;x\x07", "a\x00b"),
    *(
        "/dev/zero",
        "/etc/passwd",
        "$(id)",
        "`id`",
        "%s%n",
        "{0}",
        "a.1",
        "a..b",
        "a b",
        "NULL",
        "nan",
        "true",
        "-",
        "R1",
    ),
    *("\u202egnp.exe", "\ufeff", "🦀" * 50, "x" * 100_000, "ß" * 300, "'; DROP TABLE flows; --", 'x" AS y; SELECT 1'),
]
NESTED: list[Any] = [
    [],
    {},
    [[]],
    [{}],
    {"kind": ""},
    {"kind": {"kind": {}}},
    [[[[[[1]]]]]],
    {"": 1},
    {"a.b": {"c": []}},
    [1, "a"],
]
HOSTILE: list[Any] = [*NUMBERS, *QUANTITIES, *NAMES, *NESTED, True, False]

DEEP = "[" * 3000 + "]" * 3000
JUNK = [
    *(
        "\x00",
        "\ufeff",
        "\r",
        '"""',
        "'''",
        "[[flow]]\n",
        "[network]\n",
        "= 1\n",
        "{",
        "]",
        "#",
        "\u202e",
        f"x = {DEEP}\n",
    ),
    *("seed = 1\nseed = 2\n", "a" * 1000 + "=1\n", ".".join("a" * 2000) + " = 1\n", "1979-05-27T07:32:00Z"),
]

Path_ = tuple[str | int, ...]


def sources() -> list[tuple[str, bool]]:
    """Valid files and whether each is a study: built-in ones, the starter of a new project, the documents' examples."""
    starter = resources.files("vazao.cli").joinpath("starter.toml").read_text(encoding="utf-8")
    texts = [path.read_text(encoding="utf-8") for path in built_in_scenarios().values()]
    texts += [starter.replace("{name}", "new")]
    for document in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        texts += re.findall(r"^```toml\n(.*?)^```", document.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    studies = [path.read_text(encoding="utf-8") for path in built_in_studies().values()]
    # A block in a document may be an excerpt; an ellipsis makes it invalid TOML.
    whole = [text for text in texts if _is_toml(text)]
    return [(text, "[study]" in text) for text in whole] + [(text, True) for text in studies]


def _is_toml(text: str) -> bool:
    try:
        return bool(tomllib.loads(text))
    except tomllib.TOMLDecodeError:
        return False


def mutant(rng: Random, text: str, others: list[str]) -> str:
    """Apply one to three changes to a text."""
    if rng.random() < 0.25:
        return _torn(rng, text)
    document = tomllib.loads(text)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        rng.choice(CHANGES)(rng, document, others)
    try:
        return toml.dump(document)
    except RecursionError:
        return text


def _torn(rng: Random, text: str) -> str:
    """Damage a text by lines or characters."""
    lines = text.splitlines(keepends=True)
    one, other = rng.randrange(len(lines)), rng.randrange(len(lines))
    match rng.randrange(6):
        case 0:
            lines.insert(other, lines[one])
        case 1:
            lines[one], lines[other] = lines[other], lines[one]
        case 2:
            del lines[min(one, other) : max(one, other) + 1]
        case 3:
            at = rng.randrange(len(text))
            return text[:at] + rng.choice(JUNK) + text[at:]
        case 4:
            return text[: rng.randrange(len(text))]
        case _:
            del lines[one]
    return "".join(lines)


def paths(value: Any, prefix: Path_ = ()) -> list[Path_]:
    """Paths of all values in a document."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    found = [path for key, each in inner for path in paths(each, (*prefix, key))]
    return [prefix, *found] if prefix else found


def owner(document: Any, path: Path_) -> Any:
    """Table or list that contains the last key of a path."""
    for key in path[:-1]:
        document = document[key]
    return document


def _replace(rng: Random, document: Any, _others: list[str]) -> None:
    if found := paths(document):
        path = rng.choice(found)
        owner(document, path)[path[-1]] = copy.deepcopy(rng.choice(HOSTILE))


def _delete(rng: Random, document: Any, _others: list[str]) -> None:
    if found := paths(document):
        path = rng.choice(found)
        del owner(document, path)[path[-1]]


def _rename(rng: Random, document: Any, _others: list[str]) -> None:
    named = [path for path in paths(document) if isinstance(path[-1], str)]
    if named:
        path = rng.choice(named)
        name = str(path[-1])
        new = rng.choice([name.upper(), name[:-1], name + "s", name.replace("_", "-"), *NAMES[:12], "kind", "rate"])
        table = owner(document, path)
        table[new] = table.pop(name)


def _move(rng: Random, document: Any, _others: list[str]) -> None:
    """Move or copy a value to another place."""
    found = paths(document)
    if len(found) < 2:
        return
    one, other = rng.sample(found, 2)
    value = copy.deepcopy(owner(document, one)[one[-1]])
    table = owner(document, other)
    if isinstance(table, list):
        table.append(value)
    else:
        table[one[-1] if isinstance(one[-1], str) else other[-1]] = value
    if rng.random() < 0.5 and one in paths(document):
        del owner(document, one)[one[-1]]


def _swap(rng: Random, document: Any, others: list[str]) -> None:
    """Replace a section by that of another file."""
    other = tomllib.loads(rng.choice(others))
    if key := next(iter(rng.sample(sorted(other), 1)), None):
        document[key] = other[key]


def _repeat(rng: Random, document: Any, _others: list[str]) -> None:
    """Repeat an element of a list many times."""
    lists = [path for path in paths(document) if isinstance(path[-1], int)]
    if lists:
        path = rng.choice(lists)
        table = owner(document, path)
        table.extend(copy.deepcopy(table[path[-1]]) for _ in range(rng.choice((1, 2, 300))))


CHANGES: list[Callable[[Random, Any, list[str]], None]] = [
    _replace,
    _replace,
    _replace,
    _delete,
    _rename,
    _move,
    _swap,
    _repeat,
]
