"""HTML representations of objects in notebooks: cards with facts and short tables.

Cards use inherited colours and semi-transparent lines only, so that they are legible on dark and light pages. All text
is escaped: names may come from an untrusted file.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from vazao.units import cell, displayed_columns, heading, interval

if TYPE_CHECKING:
    import polars as pl

    from vazao import _core

MAX_ROWS = 8
"""Maximum number of table rows on a card."""

MAX_COLUMNS = 10
"""Maximum number of table columns on a card."""

LONGEST = 160
"""Maximum length of a fact in characters."""

_LINE = "rgba(128,128,128,.35)"
_CARD = (
    f"border:1px solid {_LINE};border-radius:6px;padding:.6em .9em;margin:.3em 0;display:inline-block;max-width:100%"
)
_CARD += ";overflow-x:auto;box-sizing:border-box;color:inherit;background:transparent;line-height:1.45"
_SOFT = "opacity:.7"
_KEY = f"text-align:left;font-weight:400;{_SOFT};padding:.1em 1.2em .1em 0;background:transparent;vertical-align:top"
_VALUE = "text-align:left;padding:.1em 0;background:transparent;white-space:normal"
_HEAD = f"font-weight:600;padding:.2em .7em;border-bottom:1px solid {_LINE};background:transparent"
_TABLE = "border-collapse:collapse;border:none;margin:.5em 0 0;background:transparent;font-variant-numeric:tabular-nums"


def card(
    kind: str,
    name: str,
    facts: Iterable[tuple[str, Any]] = (),
    tables: Iterable[tuple[str, pl.DataFrame | Sequence[Sequence[str]]]] = (),
) -> str:
    """Render a card: kind, name, facts, and tables, each a data frame or rows of text below a row of headings."""
    shown = [(key, value) for key, value in facts if value not in (None, "", [], ())]
    rows = "".join(
        f'<tr style="background:transparent"><th scope="row" style="{_KEY}">{escape(key)}</th>'
        f'<td style="{_VALUE}">{escape(_short(value))}</td></tr>'
        for key, value in shown
    )
    listed = f'<table style="{_TABLE}"><tbody>{rows}</tbody></table>' if rows else ""
    title = f'<span style="{_SOFT}">{escape(kind)}</span> <strong>{escape(name)}</strong>'
    return f'<div class="vazao-card" style="{_CARD}"><div>{title}</div>{listed}{"".join(map(_table, tables))}</div>'


def facts(values: dict[str, Any]) -> list[tuple[str, Any]]:
    """Facts of a scenario's table: its keys, with nested values as text."""
    return [(str(key), _as_text(value)) for key, value in values.items()]


def scenario(one: _core.Scenario) -> str:
    """Render the card of a scenario: its flows and links."""
    graph = one.graph()
    links = [
        f"{link['source']} → {link['target']}" for link in graph.get("links", []) if {"source", "target"} <= {*link}
    ]
    flows = graph.get("flows", [])
    names = [f"{flow.get('client', '')} → {flow.get('server', '')}" for flow in flows]
    end = None if one.until_s is None else cell("until_s", float(one.until_s))
    shown = [("run", one.run_id), ("seed", one.seed), ("ends", end), ("flows", len(flows) or None)]
    return card(
        "Scenario", one.name, [*shown, ("between", ", ".join(dict.fromkeys(names))), ("links", ", ".join(links))]
    )


def _as_text(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} = {_as_text(inside)}" for key, inside in value.items())
    if isinstance(value, list | tuple):
        return "; ".join(map(_as_text, value))
    return value.__name__ if isinstance(value, type) else str(value)


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


def _table(titled: tuple[str, pl.DataFrame | Sequence[Sequence[str]]]) -> str:
    title, rows = titled
    headings, lines, numeric, left_out = _texts(rows) if isinstance(rows, Sequence) else _frame(rows)
    if not headings:
        return ""
    align = ["right" if number else "left" for number in numeric]
    head = "".join(
        f'<th scope="col" style="{_HEAD};text-align:{side}">{escape(name)}</th>'
        for name, side in zip(headings, align, strict=True)
    )
    body = "".join(
        '<tr style="background:transparent">'
        + "".join(
            f'<td style="padding:.15em .7em;background:transparent;text-align:{side};white-space:nowrap">'
            f"{escape(_short(value))}</td>"
            for value, side in zip(line, align, strict=True)
        )
        + "</tr>"
        for line in lines
    )
    more = f'<div style="{_SOFT}">{escape(left_out)}</div>' if left_out else ""
    caption = f'<div style="margin-top:.8em;font-weight:600">{escape(title)}</div>' if title else ""
    return f'{caption}<table style="{_TABLE}"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}'


def _texts(lines: Sequence[Sequence[str]]) -> tuple[list[str], list[Sequence[str]], list[bool], str]:
    headings, *rest = lines
    return list(headings), rest, [place > 0 for place in range(len(headings))], ""


def _frame(frame: pl.DataFrame) -> tuple[list[str], list[list[str]], list[bool], str]:
    """The first rows and columns of a data frame, with units; columns without any value are omitted."""
    kept = [name for name in frame.columns if frame[name].null_count() < frame.height or not frame.height]
    columns = dict(list(displayed_columns(kept).items())[:MAX_COLUMNS])
    lines = [
        [interval(name, row[name], row[half] if half else None) for name, half in columns.items()]
        for row in frame.head(MAX_ROWS).iter_rows(named=True)
    ]
    rows, others = frame.height - len(lines), len(displayed_columns(kept)) - len(columns)
    omitted = [f"{rows} more rows" if rows else "", f"{others} more columns" if others else ""]
    numeric = [frame.schema[name].is_numeric() for name in columns]
    return [heading(name) for name in columns], lines, numeric, " and ".join(filter(None, omitted))
