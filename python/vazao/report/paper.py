"""Exports of a study for papers: letter and ledger in LaTeX, the ledger also as CSV, the sources as BibTeX."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from vazao.report.letter import Paragraph
from vazao.results import escaped
from vazao.study import Ruling, Study
from vazao.words import Words

MARKDOWN = re.compile(r"[`*]")
"""Inline Markdown markup, which is stripped in CSV."""

YEAR = re.compile(r", ((?:19|20)\d\d)$")
"""Year at the end of a source."""

FORMULA = re.compile(r"[=@\t\r]|[+-](?!\d)")
"""Start of a text that a spreadsheet would evaluate as a formula."""


def letter_tex(study: Study, paragraphs: Sequence[Paragraph], note: str = "", rest: str = "") -> str:
    """The letter as a standalone LaTeX document: one page in two columns.

    `note` introduces its subject, `rest` summarises what it leaves to the ledger.
    """
    words = study.words
    body = "\n\n".join(_paragraph(one, words) for one in paragraphs)
    language = {"pt": "brazilian"}.get(words.lang, "english")
    return "\n".join([
        r"\documentclass[9pt,a4paper,twocolumn]{extarticle}",
        r"\usepackage[T1]{fontenc}",
        r"\usepackage{textcomp}",
        rf"\usepackage[{language}]{{babel}}",
        r"\usepackage[margin=15mm]{geometry}",
        r"\usepackage{enumitem}",
        r"\setlist[itemize]{leftmargin=*,nosep}",
        r"\pagestyle{empty}",
        r"\begin{document}",
        rf"\twocolumn[{{{{\Large {_plain(study.title)}\par}}\smallskip {_plain(study.source)}\par\bigskip}}]",
        *([_plain(note)] if note else []),
        body,
        *([r"\medskip", _plain(rest)] if rest else []),
        r"\end{document}",
        "",
    ])  # fmt: skip


def _paragraph(paragraph: Paragraph, words: Words) -> str:
    items = []
    for line in paragraph.lines:
        results = "; ".join(
            (rf"\emph{{{_plain(words.label(level))}}}: " if level else "") + _plain(measured)
            for level, measured in line.measured
        )
        basis = f" [{line.basis}]" if line.basis else ""
        text = f"{results}{basis}." if results else ""
        why = _plain(" ".join(filter(None, (line.criterion, line.why, line.full))))
        items.append(rf"  \item \textbf{{{_plain(line.claim)}:}} {text} {why}".rstrip())
    listed = "\n".join(items)
    note = f"{_plain(paragraph.note)}\n" if paragraph.note else ""
    return f"\\section*{{{_plain(paragraph.title)}}}\n{note}\\begin{{itemize}}\n{listed}\n\\end{{itemize}}"


Theirs = Mapping[tuple[str, str | None], Sequence[tuple[str, Ruling]]]
"""Verdicts of measurement sets by claim and level, each with the name of its set."""


def ledger_tex(findings: Sequence[Ruling], words: Words, theirs: Theirs = MappingProxyType({})) -> str:
    """The ledger as a LaTeX long table: claim, level, reported, measured, verdict; measurement sets in rows below."""
    heads = [words.say(f"page.{key}") for key in ("claim", "where", "reported", "measured", "verdict")]
    rows = []
    for one in findings:
        level = words.label(one.level or "")
        rows.append([one.claim, level, one.reported, one.measured, words.of("verdict", one.verdict)])
        for name, other in theirs.get((one.id, one.level), ()):
            result = other.measured or other.explanation
            rows.append(["", words.say("figure.measured", name=name), "", result, words.of("verdict", other.verdict)])
    return "\n".join([
        r"% \usepackage{booktabs,longtable,array}",
        r"\begin{longtable}{>{\raggedright}p{.27\textwidth}>{\raggedright}p{.1\textwidth}>{\raggedright}p{.2\textwidth}"
        r">{\raggedright}p{.25\textwidth}l}",
        r"\toprule",
        " & ".join(map(_plain, heads)) + r" \\",
        r"\midrule\endhead",
        # LaTeX would read a bracket at the start of a row as an argument of the line break before it.
        *("{}" + " & ".join(map(_plain, row)) + r" \\" for row in rows),
        r"\bottomrule",
        r"\end{longtable}",
        "",
    ])  # fmt: skip


def ledger_csv(findings: Sequence[Ruling], theirs: Theirs = MappingProxyType({}), sets: Sequence[str] = ()) -> str:
    """The ledger as machine-readable CSV: one row per verdict, with the finding's id; verdicts are in English.

    Each measurement set adds two columns.
    """
    file = io.StringIO()
    rows = csv.writer(file, lineterminator="\n")
    more = [f"{name}_{what}" for name in sets for what in ("measured", "verdict")]
    rows.writerow(["finding", "level", "claim", "reported", "measured", "verdict", "criterion", "explanation", *more])
    for one in findings:
        texts = (one.claim, one.reported, one.measured, one.verdict, one.criterion, one.explanation)
        others = dict(theirs.get((one.id, one.level), ()))
        beside = [(others[name].measured, others[name].verdict) if name in others else ("", "") for name in sets]
        every = (*texts, *(text for pair in beside for text in pair))
        rows.writerow([one.id, one.level or "", *(_cell(text) for text in every)])
    return file.getvalue()


def _cell(text: str) -> str:
    """A ledger text as a CSV cell that no spreadsheet evaluates."""
    plain = MARKDOWN.sub("", text)
    return f"'{plain}" if FORMULA.match(plain) else plain


def bibtex(study: Study, engine: str) -> str:
    """BibTeX entries for the original, if the study names its source, and for the re-run."""
    entries = []
    if study.source:
        year = YEAR.search(study.source.strip())
        entries.append(_entry(f"{study.name}-original", note=study.source, year=year[1] if year else ""))
    what = f"Study {study.name}, re-run with Vazão" if study.source else f"Study {study.name}, run with Vazão"
    entries.append(_entry(study.name, title=study.title, howpublished=what, note=f"engine {engine}"))
    return "\n\n".join(entries) + "\n"


def _entry(key: str, **fields: str) -> str:
    # BibTeX counts braces, and lower-cases a title that has none of its own.
    braces = {r"\{": r"\textbraceleft{}", r"\}": r"\textbraceright{}"}
    plain = {name: re.sub(r"\\[{}]", lambda found: braces[found[0]], _plain(value)) for name, value in fields.items()}
    lines = ",\n".join(f"  {name} = {{{{{value}}}}}" for name, value in plain.items() if value)
    return f"@misc{{{key},\n{lines}\n}}"


def _plain(text: str) -> str:
    """A line of inline Markdown as LaTeX."""
    parts = text.split("`")  # Every second part is code.
    return "".join(
        rf"\texttt{{{_line(part)}}}" if n % 2 and n < len(parts) - 1 else _line(part) for n, part in enumerate(parts)
    )


def _line(text: str) -> str:
    # Two hyphens begin a command-line option; LaTeX would typeset them as a dash.
    edges = [" " if text[:1].isspace() else "", " " if text[-1:].isspace() else ""]
    body = escaped(text.replace("*", "").replace("--", "\0")).replace("\0", "-{}-")
    return edges[0] + body + edges[1] if body else ""
