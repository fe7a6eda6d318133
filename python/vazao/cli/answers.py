"""Display of answers to why a flow is as fast as it is."""

from __future__ import annotations

import polars as pl
from rich.text import Text

from vazao import causes, limits
from vazao.cli.rendering import PROSE
from vazao.cli.terminal import out, table


def show(answer: causes.Answer) -> None:
    """Print why a flow is as fast as it is."""
    out.print(Text(causes.sentence(answer)), width=min(out.width, PROSE))
    out.print(f"\nAs it is: {limits.sentence(answer.limits) or 'no account'}.", highlight=False, soft_wrap=True)
    headings, *lines = causes.effect_lines(answer)
    if lines:
        rows = pl.DataFrame([dict(zip(headings, line, strict=True)) for line in lines])
        out.print(table(rows, title="\neach taken away alone"))
    runs = f"{answer.runs} runs" + (
        f", {answer.seeds} seeds" if answer.seeds > 1 else "; nothing that matters is random"
    )
    out.print(f"\n{runs}")
