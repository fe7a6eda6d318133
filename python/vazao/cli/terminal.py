"""Terminal output: consoles that print any text literally, and tables with units."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from rich.console import Console, ConsoleOptions, JustifyMethod, RenderableType
from rich.measure import Measurement
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from vazao.cli.texts import clean
from vazao.units import displayed_columns, heading
from vazao.words import ENGLISH, Words

if TYPE_CHECKING:
    import polars as pl


class Cleaned(Console):
    """A console that prints texts literally: no markup, and no escape sequences but its own."""

    def __init__(self, **options: Any) -> None:
        super().__init__(highlight=False, markup=False, emoji=False, **options)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Render to segments, in which control characters are escaped except the console's own."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(clean(segment.text), segment.style)


out = Cleaned()
if not out.is_terminal:
    # A pipe or a file has no width at which a table would be truncated.
    out.width = 200
err = Cleaned(stderr=True, soft_wrap=True)


def table(frame: pl.DataFrame, *, title: str = "", raw: bool = False, words: Words = ENGLISH) -> RenderableType:
    """A data frame as a table: units in the cells, or (`raw`) names and numbers as stored.

    If the terminal is too narrow, columns with one value in all rows move into the title, and lines break between
    words; if that is not enough, rows are printed one value per line, because a table would be truncated.
    """
    made = grid(frame, title=title, raw=raw, words=words)
    if measured(made).minimum <= out.width:
        return made
    return Text.assemble((f"{title}\n" if title else "", "bold"), records(frame, raw=raw, words=words))


def measured(made: Table) -> Measurement:
    """Minimum and maximum width of a table, regardless of the terminal's."""
    return Measurement.get(out, out.options.update(max_width=10_000), made)


def grid(frame: pl.DataFrame, *, title: str = "", raw: bool = False, words: Words = ENGLISH) -> Table:
    """A data frame as a table, which may be wider than the terminal; see `table`."""
    names, cells = _formatted(frame, raw, words)
    wide = sum(max(map(len, [names[name], *cells[name]])) + 2 for name in cells) > out.width
    if wide and not raw and frame.height > 1:
        same = [name for name in cells if len(set(cells[name])) == 1]
        title = " · ".join([title, *(f"{names[name]} {cells.pop(name)[0]}" for name in same)])
    made = Table(
        title=Text(title, style="bold") if title else None,
        title_justify="left",
        title_style="bold",
        header_style="bold",
        box=None,
    )
    made.collapse_padding = wide
    for name in cells:
        numeric = frame.schema[name].is_numeric()
        longest = max(map(len, " ".join([names[name], *([] if numeric else cells[name])]).split() or [""]))
        least = max([longest, *(map(len, cells[name]) if numeric else ())])
        justify: JustifyMethod = "right" if numeric else "left"
        whole = least == max(map(len, [names[name], *cells[name]]))
        made.add_column(Text(names[name]), overflow="fold", justify=justify, min_width=least, no_wrap=wide and whole)
    for row in zip(*cells.values(), strict=True):
        made.add_row(*map(Text, row))
    return made


def _formatted(frame: pl.DataFrame, raw: bool, words: Words) -> tuple[dict[str, str], dict[str, list[str]]]:
    """Headings and cells of the displayed columns."""
    columns = dict.fromkeys(frame.columns) if raw else displayed_columns(frame.columns)
    names = {name: name if raw else words.column(heading(name)) for name in columns}
    return names, {name: _cells(frame, name, half, raw, words) for name, half in columns.items()}


def _cells(frame: pl.DataFrame, name: str, half: str | None, raw: bool, words: Words) -> list[str]:
    halves = frame[half] if half else [None] * frame.height
    pairs = zip(frame[name], halves, strict=True)
    return [_raw(value) if raw else words.cell(name, value, around) for value, around in pairs]


def records(frame: pl.DataFrame, *, raw: bool = True, words: Words = ENGLISH) -> str:
    """Rows with one value per line, for tables that are too wide for the terminal."""
    names, cells = _formatted(frame, raw, words)
    width = max(map(len, names.values()), default=0)
    rows = zip(*cells.values(), strict=True)
    blocks = [
        "\n".join(f"{name:<{width}}  {cell}" for name, cell in zip(names.values(), row, strict=True)) for row in rows
    ]
    return "\n\n".join(blocks) or f"no rows; columns: {', '.join(names.values())}"


def fits(frame: pl.DataFrame) -> bool:
    """Whether a table of these rows fits the width of the terminal."""
    widths = [max([len(name), *(len(_raw(value)) for value in frame[name])]) for name in frame.columns]
    return sum(widths) + 2 * len(widths) <= out.width


def _raw(value: Any) -> str:
    return "NULL" if value is None else str(value)
