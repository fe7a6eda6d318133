"""Reads the documents for tests: their fenced blocks, and how a shown output is compared with the real one.

A document shows output in one of two ways, and both are compared with what is printed here:

- a `console` block has commands after `$ `, each followed by its whole standard output, as into a pipe;
- a `text` block has the output of the `python` block before it, or of a notebook's cell (written by `docs/cells.py`).

`…` stands for what is left out, or changes from machine to machine (an elapsed time) or build to build (a `run_id`):
within a line for any characters, alone on a line for any lines. A comment directly above a block tells a test what else
to take into account:

- `<!-- saved as NAME -->`: the file that commands of any document read under that name;
- `<!-- needs Linux 6.12.117 -->`: compared only where the guests' kernel has that version;
- `<!-- not compared: REASON -->`: output that cannot be reproduced or compared, or costs too much.
"""

from __future__ import annotations

import importlib.util
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parents[2]
DOCUMENTS = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "bench/README.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]

_BLOCK = re.compile(
    r"(?P<comments>(?:^<!-- [^\n]* -->\n)*)^```(?P<language>[^`\n]*)\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE
)


def name(path: Path) -> str:
    """Path of a document relative to the repository."""
    return str(path.relative_to(ROOT))


@dataclass(frozen=True)
class Block:
    """A fenced block of a document."""

    document: str
    line: int
    language: str
    text: str
    comments: tuple[str, ...]

    def comment(self, word: str) -> str | None:
        """Text after a word in the comments above the block; None if no comment begins with the word."""
        return next((told.removeprefix(word).strip() for told in self.comments if told.startswith(word)), None)

    def __str__(self) -> str:
        return f"{self.document}:{self.line}"


def fenced(path: Path) -> list[Block]:
    """Fenced blocks of a document, in document order."""
    text = path.read_text(encoding="utf-8")
    return [
        Block(
            name(path),
            text.count("\n", 0, found.start()) + found["comments"].count("\n") + 1,
            found["language"],
            found["text"],
            tuple(re.findall(r"^<!-- (.*) -->$", found["comments"], re.MULTILINE)),
        )
        for found in _BLOCK.finditer(text)
    ]


def blocks(path: Path, language: str) -> list[str]:
    """The texts of a document's blocks in one language."""
    return [block.text for block in fenced(path) if block.language == language]


def saved() -> dict[str, str]:
    """Files that the documents ask their reader to save: name and text."""
    files = [(file, block.text) for path in DOCUMENTS for block in fenced(path) if (file := block.comment("saved as"))]
    assert len(dict(files)) == len(files), "one name, one file: commands of other documents read it too"
    return dict(files)


def save(folder: Path) -> None:
    """Save these files into a folder."""
    for file, text in saved().items():
        (folder / file).write_text(text, encoding="utf-8")


def script(file: str) -> ModuleType:
    """Imports a script of the documents, such as `docs/generate.py`, as a module."""
    path = ROOT / file
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module  # Dataclasses look their module up there.
    spec.loader.exec_module(module)
    return module


def exchanges(block: Block) -> list[tuple[str, str]]:
    """The commands of a `console` block, each with the output below it."""
    first, *parts = re.split(r"^\$ ", block.text, flags=re.MULTILINE)
    assert not first, f"{block}: begins with no command"
    return [(command, output) for command, _, output in (part.partition("\n") for part in parts)]


def shows(shown: str, printed: str) -> bool:
    """Whether a document's text matches what was printed, ignoring trailing white space."""
    pattern = "".join(
        r"(?:.*\n)*" if line == "…" else re.escape(line).replace("…", ".*") + "\n" for line in _lines(shown)
    )
    return re.fullmatch(pattern, "".join(line + "\n" for line in _lines(printed))) is not None


def _lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.strip("\n").splitlines()]
