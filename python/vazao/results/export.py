"""Tables as files in the format of their suffix: CSV and Parquet for programs, Markdown and LaTeX for documents."""

from __future__ import annotations

import re
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import polars as pl

from vazao.errors import ResultsError
from vazao.files import write_atomically
from vazao.results.latex import tabular
from vazao.units import displayed_columns, heading, interval


def write_table(rows: pl.DataFrame, path: str | Path) -> Path:
    """Write rows to `path` atomically, in the format of its suffix, and return the path.

    `.csv` and `.parquet` keep names and numbers unchanged; `.md` shows the table as a terminal does: numbers with their
    units, and with intervals where a column `± name` has the half-widths for `name`. `.tex` is a `tabular` with
    `booktabs` rules, units in the header, and the same number of decimals throughout a column. Raises `ResultsError`.
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
    names, numeric, lines = _formatted(rows)
    rule = ["---:" if number else "---" for number in numeric]
    every = [list(map(_in_markdown, names)), rule, *(list(map(_in_markdown, line)) for line in lines)]
    return "".join(f"| {' | '.join(line)} |\n" for line in every).encode()


def _latex(rows: pl.DataFrame) -> bytes:
    return tabular(rows).encode()


FORMS: dict[str, Callable[[pl.DataFrame], bytes]] = {
    ".csv": _csv, ".parquet": _parquet, ".md": _markdown, ".tex": _latex,
}  # fmt: skip
"""Writer of each format, by suffix."""


def _formatted(rows: pl.DataFrame) -> tuple[list[str], list[bool], list[list[str]]]:
    """Headings, whether each column is numeric, and the cells, formatted for display."""
    columns = displayed_columns(rows.columns)
    lines = [
        [interval(name, row[name], row[half] if half else None) for name, half in columns.items()]
        for row in rows.iter_rows(named=True)
    ]
    return [heading(name) for name in columns], [rows.schema[name].is_numeric() for name in columns], lines


def _in_markdown(text: str) -> str:
    """Escape a text for one cell of a Markdown table."""
    return re.sub(r"([\\`*_\[\]<>|~&])", r"\\\1", " ".join(text.split()))
