"""The page as one HTML file: its template, style, typefaces and scripts."""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, pass_context
from jinja2.runtime import Context
from markupsafe import Markup

from vazao import figures, seeing
from vazao.figures import DARK_PALETTE, FONTS, PALETTE
from vazao.files import write_atomically
from vazao.measurements import Measured
from vazao.report import paper, rerun_catalogue
from vazao.report.page import CSS, answer, context, inline
from vazao.store import PAPERS, Store
from vazao.study import Pair, Ruling, Study, counted
from vazao.words import ENGLISH, Words

HERE = Path(__file__).parent

PAGE = "report.html"
"""The page's name in a results directory."""

INDEX = "index.html"
"""The name of the index page over several studies."""

FACES = (
    ("Inter", 400, "normal", FONTS / "Inter-Regular.ttf"),
    ("Inter", 600, "normal", FONTS / "Inter-SemiBold.ttf"),
    ("Newsreader", 400, "normal", HERE / "fonts/Newsreader-Regular.woff2"),
    ("Newsreader", 400, "italic", HERE / "fonts/Newsreader-Italic.woff2"),
    ("Newsreader", 500, "normal", HERE / "fonts/Newsreader-Medium.woff2"),
)
"""Family, weight, style and file of each typeface in the page."""


def write(
    study: Study, store: Store, findings: Sequence[Ruling], out_dir: Path, measurements: Sequence[Measured] = ()
) -> Path:
    """Write `out_dir/report.html` and return its path. Its language is the study's (`load_study("…", lang="pt")`).

    For a study with claims, the letter and the ledger for papers are written beside it (`PAPERS`).

    Raises `StudyError` when a figure cannot be drawn, `ResultsError` when the page cannot be written.
    """
    path = Path(out_dir) / PAGE
    parts = context(study, store, findings, measurements)
    write_atomically(path, _page(study, store, parts).encode())
    if findings:
        texts = (
            paper.letter_tex(study, parts["letter"], parts["letter_note"], parts["letter_rest"]),
            paper.ledger_tex(findings, study.words, parts["theirs"]),
            paper.ledger_csv(findings, parts["theirs"], [one.name for one in measurements]),
            paper.bibtex(study, store.manifest["versions"]["engine"]),
        )
        for name, text in zip(PAPERS, texts, strict=True):
            write_atomically(path.with_name(name), text.encode())
    return path


def html(
    study: Study,
    store: Store,
    findings: Sequence[Ruling],
    measurements: Sequence[Measured] = (),
    *,
    explorer: str = "",
) -> str:
    """The page as HTML; the marks of its figures link to the explorer at the address `explorer`, if there is one."""
    return _page(study, store, context(study, store, findings, measurements), explorer)


def _page(study: Study, store: Store, parts: dict[str, Any], explorer: str = "") -> str:
    """The page as HTML, rendered from `parts`."""
    glue = (HERE / "glue.js").read_text(encoding="utf-8")
    runs = rerun_catalogue.content(study, store, explorer)
    again = seeing.again(runs) if runs else None
    more = {
        "papers": () if explorer else PAPERS,
        "style": _style(),
        "bundle": _bundle(),
        "glue": Markup(glue),
        "again": again,
    }
    return _filled("report", study.words, policy=_policy(again, _bundle(), glue), **parts, **more)


def _policy(again: seeing.Again | None, *scripts: str) -> str:
    """The Content-Security-Policy of a page: its own scripts, the engine in a worker, nothing from elsewhere.

    The viewer's frame inherits it, so it lists the viewer's script too. Inline styles are allowed, as charts set them.
    """
    digests = [seeing.digest(script) for script in scripts] + (again.digests if again else [])
    known = " ".join(f"'sha256-{digest}'" for digest in digests)
    engine = " 'wasm-unsafe-eval'; worker-src blob:" if again else ""
    return (
        f"default-src 'none'; script-src {known}{engine}; style-src 'unsafe-inline'; "
        "img-src data: blob:; font-src data:; base-uri 'none'; form-action 'none'"
    )


def write_index(told: Sequence[tuple[Study, Sequence[Ruling], str]], out_dir: Path, words: Words = ENGLISH) -> Path:
    """Write `out_dir/index.html`, an index page with the answers of several studies, and return its path.

    `told` lists each study with its findings and the folder below `out_dir` that holds its report. Raises
    `ResultsError` when the page cannot be written.
    """
    entries = [
        {
            "study": study, "page": f"{folder}/{PAGE}", "answers": answer(findings),
            "counted": counted(findings, words), "words": study.words,
        }
        for study, findings, folder in told
    ]  # fmt: skip
    path = Path(out_dir) / INDEX
    page = _filled("index", words, entries=entries, css=CSS, style=_style())
    write_atomically(path, page.encode())
    return path


def _filled(name: str, words: Words, **given: Any) -> str:
    """Render a template in the language of `words`."""
    template = _templates().get_template(f"{name}.html.j2")
    return template.render(say=words.say, of=words.of, words=words, pair=_pair(words), **given)


@cache
def _templates() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(HERE), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {"inline": inline, "label": _label}
    return environment


@pass_context
def _label(page_context: Context, value: Any) -> str:
    words: Words = page_context["words"]
    return words.label(value)


def _pair(words: Words) -> Callable[[Pair], tuple[str, str, str]]:
    return lambda one: one.formatted(words)


def _style() -> Markup:
    """The page's CSS: typefaces, the palettes for light and dark, the style sheet."""
    faces = "".join(
        f"@font-face{{font-family:{family};font-weight:{weight};font-style:{style};src:url({_data(file)})}}\n"
        for family, weight, style, file in FACES
    )
    dark = f"@media screen and (prefers-color-scheme:dark){{:root{{{_variables(DARK_PALETTE)}}}}}\n"
    sheet = (HERE / "style.css").read_text(encoding="utf-8")
    return Markup(f"{faces}:root{{{_variables(PALETTE)}}}\n{dark}{sheet}")


def _variables(palette: Sequence[str]) -> str:
    return "".join(f"--c{i}:{color};" for i, color in enumerate(palette))


def _data(file: Path) -> str:
    content = base64.b64encode(file.read_bytes()).decode()
    return f"data:font/{file.suffix[1:]};base64,{content}"


@cache
def _bundle() -> Markup:
    """The script that draws the figures, escaped so that it cannot close its script element."""
    return Markup(figures.embed_script().replace("</script", "<\\/script"))
