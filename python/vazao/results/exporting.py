"""Tables as files whose form follows from the suffix: CSV and Parquet for programs, Markdown and LaTeX for texts."""

from __future__ import annotations

import re
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import polars as pl

from vazao.errors import ResultsError
from vazao.files import write_atomically
from vazao.results.latex import tabular
from vazao.units import heading, interval, told_columns


def write_table(rows: pl.DataFrame, path: str | Path) -> Path:
    """Write rows to `path`, whole or not at all, in the form of its suffix, and return the path.

    `.csv` and `.parquet` have names and numbers as they are; `.md` has what a terminal shows: numbers with their units,
    and with their intervals where a column `± name` has half of the one of `name`. `.tex` is a tabular with booktabs'
    rules, the unit in the head and as many decimals in all of a column. Raises `ResultsError`.
    """
    path = Path(path)
    write = FORMS.get(path.suffix.lower())
    if write is None:
        known = ", ".join(FORMS)
        raise ResultsError(
            f"{path}: {path.suffix or 'no suffix'} is no form of a table; choose a name that ends in {known}"
        )
    try:
        content = write(rows)
    except pl.exceptions.PolarsError as error:
        raise ResultsError(f"{path}: cannot hold these rows: {str(error).partition(chr(10))[0]}") from None
    write_atomically(path, content)
    return path


def _csv(rows: pl.DataFrame) -> bytes:
    return rows.write_csv().encode()


def _parquet(rows: pl.DataFrame) -> bytes:
    buffer = BytesIO()
    rows.write_parquet(buffer)
    return buffer.getvalue()


def _markdown(rows: pl.DataFrame) -> bytes:
    names, numeric, lines = _told(rows)
    rule = ["---:" if number else "---" for number in numeric]
    every = [list(map(_in_markdown, names)), rule, *(list(map(_in_markdown, line)) for line in lines)]
    return "".join(f"| {' | '.join(line)} |\n" for line in every).encode()


def _latex(rows: pl.DataFrame) -> bytes:
    return tabular(rows).encode()


FORMS: dict[str, Callable[[pl.DataFrame], bytes]] = {
    ".csv": _csv, ".parquet": _parquet, ".md": _markdown, ".tex": _latex,
}  # fmt: skip
"""Suffix to what writes the form."""


def _told(rows: pl.DataFrame) -> tuple[list[str], list[bool], list[list[str]]]:
    """Headings, which columns are numbers, and the cells, as people read them."""
    columns = told_columns(rows.columns)
    lines = [
        [interval(name, row[name], row[half] if half else None) for name, half in columns.items()]
        for row in rows.iter_rows(named=True)
    ]
    return [heading(name) for name in columns], [rows.schema[name].is_numeric() for name in columns], lines


def _in_markdown(text: str) -> str:
    """A text that is shown as it is, in one cell."""
    return re.sub(r"([\\`*_\[\]<>|~&])", r"\\\1", " ".join(text.split()))
