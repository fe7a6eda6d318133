"""Display of twins."""

from __future__ import annotations

from pathlib import Path

import polars as pl
from rich.text import Text

from vazao import twins
from vazao.cli.rendering import PROSE
from vazao.cli.terminal import out, table


def show(twin: twins.Twin, file: Path | None) -> None:
    """Print how near a twin is to its connection, what was concluded, and what is not known."""
    width = min(out.width, PROSE)
    out.print(Text(twin.sentence), width=width)
    headings, *lines = twin.comparison
    out.print(table(pl.DataFrame([dict(zip(headings, line, strict=True)) for line in lines])))
    for line in twin.known:
        out.print(Text(line), width=width)
    for line in twin.unknown:
        out.print(Text(f"not known: {line}"), width=width)
    if file is None:
        out.print(Text("--out twin.toml writes the scenario"), width=width)
    elif twin.explains:
        out.print(Text(f"scenario: {file}; `vazao why {file}` asks what keeps it from being faster"), soft_wrap=True)
    else:
        out.print(
            Text(f"scenario: {file}; as it does not explain the connection, nothing follows from it"), soft_wrap=True
        )
