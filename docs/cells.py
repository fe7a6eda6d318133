"""Writes each notebook cell's output below it: printed text as text, a chart as a picture in docs/images/cells.

The site executes the cells itself and ignores this output (docs/site/written.py).

.venv/bin/python docs/cells.py
"""

from __future__ import annotations

import ast
import io
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import chdir, contextmanager, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import altair
import polars
from PIL import Image

DOCS = Path(__file__).parent
IMAGES = DOCS / "images" / "cells"
BEGIN, END = "<!-- shown -->", "<!-- end of what is shown -->"
"""Marks around a cell's output."""

SHOWN = re.compile(rf"\n{BEGIN}\n.*?{END}\n", re.DOTALL)
"""Output of a cell in a document."""

COLOURS = 128
"""Number of colours in a picture: lines and letters need few."""

CELL = re.compile(r"^```\{code-cell\}[^\n]*\n(?P<code>.*?)^```\n", re.DOTALL | re.MULTILINE)

FENCED = re.compile(r"^```.*?^```\n", re.DOTALL | re.MULTILINE)
"""Any block of code: a line in it that begins with # is not a heading."""

HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Shown:
    """Output of a cell: text, the picture of a chart as PNG, or both."""

    text: str = ""
    picture: bytes = b""


def run(cells: list[str]) -> Iterator[Shown]:
    """Run cells one after another in the working directory, and yield the output of each."""
    names: dict[str, Any] = {"__name__": "__main__"}
    with polars.Config(tbl_hide_dataframe_shape=True, tbl_hide_column_data_types=True):
        for cell in cells:
            tree = ast.parse(cell)
            last = ast.Expression(tree.body.pop().value) if isinstance(tree.body[-1], ast.Expr) else None
            with redirect_stdout(io.StringIO()) as printed:
                exec(compile(tree, "<cell>", "exec"), names)
                value = eval(compile(last, "<cell>", "eval"), names) if last else None
            yield shown(printed.getvalue(), value)


def shown(printed: str, value: object) -> Shown:
    """Convert a cell's printed text and the value of its last line to the output that a notebook shows."""
    if isinstance(value, altair.TopLevelMixin):
        drawn, kept = io.BytesIO(), io.BytesIO()
        value.save(drawn, format="png", scale_factor=2)
        with Image.open(drawn) as image:
            image.convert("RGB").quantize(COLOURS).save(kept, format="png", optimize=True)
        return Shown(printed, kept.getvalue())
    return Shown(printed if value is None else f"{printed}{value}\n")


def written(path: Path, text: str) -> tuple[str, dict[Path, bytes]]:
    """Text of a notebook with the output of its cells below them, and the pictures that it refers to."""
    text = SHOWN.sub("", text)
    results = run([found["code"] for found in CELL.finditer(text)])
    pictures: dict[Path, bytes] = {}

    def with_shown(found: re.Match[str]) -> str:
        result, lines = next(results), [found[0], BEGIN]
        if result.text:
            lines += ["```text", result.text.rstrip("\n"), "```"]
        if result.picture:
            file = IMAGES / f"{path.stem}-{len(pictures) + 1}.png"
            pictures[file] = result.picture
            section = HEADING.findall(FENCED.sub("", text[: found.start()]))[-1]
            lines.append(f"![Chart: {section}]({os.path.relpath(file, path.parent)})")
        return "\n".join([*lines, END, ""]) if len(lines) > 2 else found[0]

    return CELL.sub(with_shown, text), pictures


@contextmanager
def prepared() -> Iterator[None]:
    """Temporary working directory with the files that the documents ask their reader to save."""
    sys.path.append(str(DOCS.parent / "tests/python"))
    from documents import save

    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        save(Path())
        yield


def main() -> None:
    """Rewrite every notebook."""
    IMAGES.mkdir(exist_ok=True)
    for path in [path for path in sorted(DOCS.rglob("*.md")) if CELL.search(path.read_text(encoding="utf-8"))]:
        with prepared():
            text, pictures = written(path, path.read_text(encoding="utf-8"))
        path.write_text(text, encoding="utf-8")
        for file, picture in pictures.items():
            file.write_bytes(picture)


if __name__ == "__main__":
    main()
