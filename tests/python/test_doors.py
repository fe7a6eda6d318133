"""The table of doors in SECURITY.md: every entry point for untrusted bytes has a row, with the tests that guard it."""

from __future__ import annotations

import re
import typing
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from vazao import seeing
from vazao.cli import kernel
from vazao.cli.main import COMMANDS

ROOT = Path(__file__).parents[2]
DOCUMENT = (ROOT / "SECURITY.md").read_text()

READS = {
    "python/vazao/**/*.py": r"\bread_file\(|\.read_(?:bytes|text)\(|\bread_(?:parquet|table)\(|\b(?:fdopen|urlopen)\("
    r"|\bpickle\.loads|\bsubprocess\.|(?<!webbrowser)(?<!\bos)\.open\(|\bos\.read\(",
    "crates/*/src/**/*.rs": r"\bfs::(?:read|File|OpenOptions)|\bFile::open|\bCommand::new|\bUnix(?:Stream|Listener)"
    r"|\bstdin\(",
    "crates/guest/program/src/**/*.rs": r"\bfs::(?:read|File)|\bFile::open|\bCommand::new|\bstdin\(",
    "web/src/**/*.ts": r"\blocation\.(?:hash|search)|type: \"file\"|EventListener\(\"(?:message|drop|paste)\"",
}
"""Patterns of source code that reads untrusted input: files, processes, addresses, messages."""


def sources() -> Iterator[str]:
    """Source files that read untrusted input, without tests inside them."""
    for pattern, words in READS.items():
        for file in sorted(ROOT.glob(pattern)):
            text = file.read_text().partition("#[cfg(test)]\nmod")[0]
            if not file.name.startswith("test") and "/tests" not in str(file) and re.search(words, text):
                yield str(file.relative_to(ROOT)).removeprefix("python/vazao/")


def commands() -> Iterator[str]:
    """Arguments and options that name files, directories, clusters or lessons."""
    others = {
        f"kernel {one.name or one.callback.__name__}": one.callback
        for one in kernel.app.registered_commands
        if one.callback
    }
    for name, command in {**COMMANDS, **others}.items():
        for parameter, hint in typing.get_type_hints(command, include_extras=True).items():
            for place in places(parameter, hint):
                yield f"vazao {name} {place}"


def places(parameter: str, hint: Any) -> Iterator[str]:
    """Placeholders that a parameter of a command accepts: `FILE`, `--out DIR`."""
    kind, *annotations = typing.get_args(hint) if typing.get_origin(hint) is typing.Annotated else (hint, None)
    metavar = getattr(annotations[0], "metavar", None) or ""
    words = re.findall(r"\b(?:FILE|DIR/RUN_ID|DIR|PATH|CLUSTER)\b", metavar)
    if not words and (Path in (kind, *typing.get_args(kind)) or parameter == "lesson"):
        words = [metavar]
    option = type(annotations[0]).__name__ == "OptionInfo"
    spelled = (
        annotations[0].default
        if option and isinstance(annotations[0].default, str)
        else f"--{parameter.replace('_', '-')}"
    )
    yield from (f"{spelled} {word}" if option else word for word in words)


def routes() -> Iterator[str]:
    """HTTP methods and paths of the servers."""
    pytest.importorskip("starlette")
    from vazao import explore

    page = seeing.Page("", "")
    apps: list[Any] = [
        explore.laboratory(page, token="t", port=1),
        explore.application([], token="t", port=1, front=""),
    ]
    for app in apps:
        for route in app._app.routes:
            yield from (f"{method} {route.path}" for method in sorted(route.methods - {"HEAD"}))


def pages() -> Iterator[str]:
    """Templates of the HTML pages."""
    found = (ROOT / "python/vazao").rglob("*.html*")
    return (str(path.relative_to(ROOT / "python/vazao")) for path in sorted(found))


DERIVED: dict[str, Callable[[], Iterator[str]]] = {
    "commands": commands,
    "routes": routes,
    "pages": pages,
    "sources": sources,
}


def rows() -> list[list[str]]:
    """Cells of the table: door, how it is reached, what may pass, what guards it."""
    section = DOCUMENT.partition("## Every door\n")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[2:]]


def coded(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


@pytest.mark.parametrize("kind", DERIVED)
def test_every_door_has_a_row(kind: str) -> None:
    found = set(DERIVED[kind]())
    assert len(found) >= 4
    assert sorted(found - {key for row in rows() for key in coded(row[1])}) == []


def test_every_row_is_of_a_door_that_is_there() -> None:
    found = {key for derived in DERIVED.values() for key in derived()}
    assert sorted({key for row in rows() for key in coded(row[1])} - found) == []


def is_held(name: str) -> bool:
    """Whether a test, or a file with tests, of this name exists."""
    if "/" in name or name.endswith(".py"):
        file = ROOT / name if "/" in name else ROOT / "tests/python" / name
        return file.is_file() and bool(re.search(r"#\[test\]|\btest\(|^def test_", file.read_text(), re.MULTILINE))
    return name in TESTS


TESTS = {
    name
    for file in (ROOT / "tests/python").glob("test_*.py")
    for name in re.findall(r"^def (test_\w+)", file.read_text(), re.M)
}


@pytest.mark.parametrize("row", rows(), ids=lambda row: row[0])
def test_a_row_says_what_may_pass_and_names_tests_that_are_there(row: list[str]) -> None:
    door, reached, passes, held = row
    assert all([door, coded(reached), passes, coded(held)])
    assert [name for name in coded(held) if not is_held(name)] == []


def test_every_test_that_the_document_names_is_there() -> None:
    named = re.findall(r"`(test_\w+(?:\.py)?)`", DOCUMENT)
    assert len(named) > 40
    assert [name for name in named if not is_held(name)] == []


def test_a_test_that_is_not_there_is_missed() -> None:
    assert not is_held("test_nothing_of_the_kind")
    assert not is_held("crates/guest/src/lib.rs")
    assert is_held("test_doors.py")
