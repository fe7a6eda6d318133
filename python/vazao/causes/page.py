"""The page of an answer: the sentence, what is left after each step, and what each suspect costs alone."""

from __future__ import annotations

from html import escape
from pathlib import Path

import polars as pl

from vazao import limits
from vazao.causes.inquiry import Answer
from vazao.causes.texts import effect_lines, sentence
from vazao.figures import PAPER, Drawing, Face, Plot, Rows
from vazao.files import write_atomically
from vazao.study import Figure

_STYLE = """
:root{color-scheme:light dark;--soft:#57606a;--line:#d0d7de}
@media(prefers-color-scheme:dark){:root{--soft:#9aa4af;--line:#3b434c}figure{filter:invert(1) hue-rotate(180deg)}}
body{font:16px/1.5 Inter,"Helvetica Neue",Helvetica,Arial,sans-serif;max-width:56rem;margin:2rem auto;padding:0 1rem}
h1{font-size:1.6rem;margin:0}h2{font-size:1.1rem;margin:2.2rem 0 .4rem}.soft{color:var(--soft)}
.answer{font-size:1.15rem}.wide{overflow-x:auto}table{border-collapse:collapse;font-variant-numeric:tabular-nums}
th,td{padding:.25rem .9rem .25rem 0;text-align:left;vertical-align:top}th{font-weight:400}
thead th{border-bottom:1px solid var(--line);font-weight:600}figure{margin:1rem 0}svg{max-width:100%;height:auto}
"""


def waterfall(answer: Answer) -> Drawing:
    """Bars of the goodput: as it is, after each step, and the bound."""
    bars = [("as it is", answer.goodput_bps)]
    bars += [
        (f"without {', '.join(sorted(taken))}", step.goodput_bps)
        for taken, step in zip(answer.taken, answer.steps, strict=True)
    ]
    if answer.bound:
        bars.append(("at most", answer.bound.goodput_bps))
    frame = pl.DataFrame({"step": [name for name, _ in bars], "goodput_bps": [rate for _, rate in bars]})
    figure = Figure(
        id="steps", title="Goodput", sql="flows", kind="bar", x="step", y="goodput_bps",
        x_title="Suspects taken away", y_title="Goodput",
    )  # fmt: skip
    return Drawing(Plot(figure, Rows(frame), PAPER, Face.STILL, [], {"step": frame["step"].to_list()}))


def write(answer: Answer, path: Path) -> None:
    """Write an answer as a page of its own, which needs nothing from a network."""
    title = escape(f"{answer.name}: why flow {answer.flow} is as fast as it is")
    parts = [f"<h1>{title}</h1>", f'<p class="answer">{escape(sentence(answer))}</p>']
    parts.append(f'<p class="soft">As it is: {escape(limits.sentence(answer.limits))}. {answer.runs} runs.</p>')
    parts.append(f"<figure>{waterfall(answer).svg(PAPER)}</figure>")
    headings, *lines = effect_lines(answer)
    if lines:
        head = "".join(f'<th scope="col">{escape(name)}</th>' for name in headings)
        rows = "".join("<tr>" + "".join(f"<td>{escape(text)}</td>" for text in line) + "</tr>" for line in lines)
        parts.append("<h2>Each taken away alone</h2>")
        parts.append(f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>')
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{title}</title>'
    page = (
        f'<!doctype html><html lang="en"><head>{head}<style>{_STYLE}</style></head><body>{"".join(parts)}</body></html>'
    )
    write_atomically(path, page.encode())
