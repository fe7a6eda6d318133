"""The page of a comparison under several seeds: tables, a chart of differences, the first seed's congestion windows."""

from __future__ import annotations

import re
from dataclasses import replace
from html import escape
from pathlib import Path

import polars as pl

from vazao.comparing import texts
from vazao.comparing.replications import MEASURES, OURS, Replications
from vazao.comparing.texts import Compared
from vazao.comparing.window_plot import drawing
from vazao.figures import PAPER, Drawing, Face, Plot, Rows, files
from vazao.files import make_directory, write_atomically
from vazao.study import Figure

PAGE = "compare.html"
"""The page's name."""

SCALED = [name for name in MEASURES if name.endswith(("_s", "_bps"))]
"""Measures that are times or rates, whose differences are drawn."""

BARE = replace(PAPER, background="transparent")
"""The theme of a figure on a page that may be dark."""

MAX_FLOWS = 8
"""Maximum number of flows with a table and a panel: the first ones."""

_STYLE = """
:root{color-scheme:light dark;--soft:#57606a;--line:#d0d7de}
@media(prefers-color-scheme:dark){:root{--soft:#9aa4af;--line:#3b434c}figure{filter:invert(1) hue-rotate(180deg)}}
body{font:16px/1.5 Inter,"Helvetica Neue",Helvetica,Arial,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}
h1{font-size:1.6rem;margin:0}h2{font-size:1.1rem;margin:2.2rem 0 .4rem}.soft{color:var(--soft)}
.wide{overflow-x:auto}table{border-collapse:collapse;font-variant-numeric:tabular-nums}
th,td{padding:.25rem .9rem;text-align:right;white-space:nowrap}
th:first-child{text-align:left;padding-left:0;font-weight:400}
thead th{border-bottom:1px solid var(--line);font-weight:600}figure{margin:1rem 0}svg{max-width:100%;height:auto}
"""


def tables(made: Compared) -> list[tuple[str, list[list[str]]]]:
    """Title and table of texts for each of the first flows, with the headings first."""
    if not made.results:
        return []
    rows = texts.flows(made, MAX_FLOWS)
    titled_tables = [
        (texts.flow_title(row), texts.flow_table(made, row["flow"])) for row in rows if made.played(row["flow"])
    ]
    return [(title, [one.headings, *one.lines]) for title, one in titled_tables]


def differences(made: Replications) -> Drawing | None:
    """Chart of paired differences relative to the other stack's mean, with intervals; None where there are none."""
    # A small count may differ by a large factor, beside which nothing else would be visible.
    drawn = pl.col("measure").is_in(SCALED) & pl.col("relative").is_not_null() & (pl.col("flow") < MAX_FLOWS)
    shares = made.differences.filter(drawn)
    if shares.is_empty():
        return None
    half = pl.col("relative_half").abs().fill_null(0.0)
    names = {name: texts.NAMES.get(name, re.sub("_(s|bps)$", "", name).replace("_", " ")) for name in shares["measure"]}
    frame = shares.select(
        pl.col("measure").replace(names),
        pl.col("relative"),
        low=pl.col("relative") - half,
        high=pl.col("relative") + half,
        n="n",
        run=pl.format(f"{OURS} against {{}}", "run"),
        flow=pl.format("flow {}", "flow"),
    )
    runs, flows = (frame[name].unique(maintain_order=True).to_list() for name in ("run", "flow"))
    figure = Figure(
        id="differences", title="Differences of pairs", sql="flows", kind="point", x="measure", y="relative",
        y_title="Difference", y_unit="%", x_title="Measure", color="run",
        facet="flow" if len(flows) > 1 else None,
    )  # fmt: skip
    orders = {"run": runs, "flow": flows, "measure": list(names.values())}
    return Drawing(Plot(figure, Rows(frame, interval=True), PAPER, Face.STILL, runs, orders))


def write(made: Compared, folder: Path) -> list[Path]:
    """Write the page, and the differences as SVG, PDF and PNG; return the files."""
    replications = made.replications
    assert replications is not None
    make_directory(folder)
    drawn = differences(replications)
    written = []
    for suffix, content in (files(drawn) if drawn else {}).items():
        if suffix != "json":
            written.append(folder / f"differences.{suffix}")
            write_atomically(written[-1], content)
    path = folder / PAGE
    write_atomically(path, _html(made, replications, drawn).encode())
    return [*written, path]


def _html(made: Compared, replications: Replications, drawn: Drawing | None) -> str:
    title = escape(f"{made.name}: stacks compared")
    parts = [f"<h1>{title}</h1>", f'<p class="soft">{escape(texts.seeds_note(replications))}.</p>']
    for trial in made.trials:
        notes = "; ".join(filter(None, [trial.problem, *trial.notes]))
        parts.append(f'<p class="soft">{escape(trial.name)}: {escape(notes or "as written")}</p>')
    for stack, seed, problem in replications.failures:
        parts.append(f"<p>{escape(f'{stack}, seed {seed}, has no result: {problem}')}</p>")
    for heading, lines in tables(made):
        parts.append(f"<h2>{escape(heading)}</h2>{_table(lines)}")
    if drawn:
        parts.append(f"<h2>Differences of pairs, with 95 % intervals</h2><figure>{drawn.svg(BARE)}</figure>")
    if windows := drawing(made.results):
        parts.append(f"<h2>Congestion windows, seed {replications.seeds[0]}</h2><figure>{windows.svg(BARE)}</figure>")
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{title}</title>'
    return (
        f'<!doctype html><html lang="en"><head>{head}<style>{_STYLE}</style></head><body>{"".join(parts)}</body></html>'
    )


def _table(lines: list[list[str]]) -> str:
    headings, *rest = lines
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in headings)
    body = "".join(
        f'<tr><th scope="row">{escape(first)}</th>{"".join(f"<td>{escape(text)}</td>" for text in cells)}</tr>'
        for first, *cells in rest
    )
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'
