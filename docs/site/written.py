"""Parts of the documentation site that code writes: Python's names, the keys of TOML, the command, the reports.

A page asks for one by a line of its own, `<!-- written: NAME -->`, and has it there when the site is built. Nothing is
written into the documents' folders.
"""

from __future__ import annotations

import inspect
import re
import shutil
from collections.abc import Callable, Iterable, Iterator
from html import escape
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cells import SHOWN
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

from vazao import _core, lazy
from vazao.results import load_study
from vazao.study import catalogue, reference

if TYPE_CHECKING:
    from sphinx.environment import BuildEnvironment

ASKED = re.compile(r"^<!-- written: ([a-z ]+) -->$", re.MULTILINE)

NOTEBOOK = "file_format: mystnb"
"""The mark of a page whose cells run."""

ROOMS = {
    "vazao.scenario.build": "Networks and flows",
    "vazao.scenario.builders": "Applications and transports",
    "vazao.results": "Runs, sweeps and studies",
    "vazao.store": "Results directories",
    "vazao.figures": "The look of charts",
    "vazao.captures": "Captures of real networks",
    "vazao.twins": "Twins of captures",
    "vazao.causes": "Why a flow is slow",
    "vazao.comparing": "Stacks side by side",
    "vazao.scenario": "Algorithms of your own",
    "vazao.seeing": "Recordings",
    "vazao.gym": "Environments for agents",
    "vazao.errors": "Errors",
    "vazao._core": "The engine",
}
"""Headings for the rooms that the public names live in, in the order of the page."""

APART = ("vazao.gym", "vazao.seeing")
"""Rooms whose names are not those of the package itself."""

TOLD = "What algorithms of your own are told"
"""Heading for what the engine hands to their methods."""

INNER = {"Outcome"}
"""Classes of the engine that only the package itself meets."""

BAR, ESCAPED = re.compile(r"(?<!\\)\|"), "\\|"
"""A bar in a cell, and how it is written there."""

NO_MEMBERS_OF = "BaseModel, dict, Exception, object"
"""Classes whose members a reader knows."""


def python(_: Sphinx) -> Iterator[str]:
    """Every public name of the package, by the room that it lives in."""
    homes = lazy.homes("vazao")
    if unknown := set(homes.values()) - set(ROOMS):
        raise ExtensionError(f"names of {', '.join(sorted(unknown))} have no heading: give it one in {__file__}")
    named = [(room, "vazao", name) for name, room in homes.items()]
    # A constant there has no docstring of its own, only its type's.
    apart = [(room, name) for room in APART for name in lazy.homes(room)]
    named += [(room, room, name) for room, name in apart if callable(getattr(import_module(room), name))]
    for room, title in ROOMS.items():
        yield from [f"## {title}", ""]
        for home, name in sorted(
            ((home, name) for at, home, name in named if at == room), key=lambda one: one[1].lower()
        ):
            yield from documented(f"{home}.{name}", getattr(import_module(home), name))
    yield from [f"## {TOLD}", "", "They are made by the engine alone, and are to be read.", ""]
    for name, value in sorted(vars(_core).items()):
        if inspect.isclass(value) and name not in {*homes, *INNER}:
            yield from documented(f"vazao._core.{name}", value)


def documented(path: str, value: object) -> Iterator[str]:
    """A name under a heading of its own, with all that its docstrings say."""
    kind = "class" if inspect.isclass(value) else "function" if callable(value) else "data"
    if kind == "class" and issubclass(value, Exception):  # type: ignore[arg-type]
        kind = "exception"
    yield from [f"### `{path.rpartition('.')[2]}`", "", "```{eval-rst}", f".. auto{kind}:: {path}"]
    if kind in ("class", "exception"):
        yield from ["   :members:", f"   :inherited-members: {NO_MEMBERS_OF}"]
    if kind == "data":
        yield "   :no-value:"
    yield from ["```", ""]


def scenario_keys(_: Sphinx) -> Iterator[str]:
    """Every key of a scenario."""
    return keys(reference.SCENARIO, "scenarios.md")


def study_keys(_: Sphinx) -> Iterator[str]:
    """Every key of a study."""
    return keys(reference.STUDY, "studies.md")


def keys(kind: str, document: str) -> Iterator[str]:
    """Every key of one kind of file, in a table for each table of the file; links in texts are those of a document."""
    tables: dict[str, list[reference.Meaning]] = {}
    for meaning in reference.known_keys():
        if meaning.kind == kind:
            tables.setdefault(meaning.name.rpartition(".")[0], []).append(meaning)
    for table, meanings in sorted(tables.items()):
        yield from [f"### `{table}`" if table else "### Top level", ""]
        of = any(meaning.of for meaning in meanings)
        head = ["key", *(["of"] if of else []), "default", "accepted", "meaning"]
        yield from [row(head), row(["---"] * len(head))]
        for meaning in sorted(meanings, key=lambda meaning: meaning.name):
            owners = ", ".join(f"`{name}`" for name in meaning.of) or "all"
            name = f"`{meaning.name.rpartition('.')[2]}`"
            texts = (meaning.default, meaning.accepted, meaning.help)
            told = (re.sub(r"\]\((#?)", lambda at: f"](../{document}#" if at[1] else "](../", text) for text in texts)
            yield row([name, *([owners] if of else []), *told])
        yield ""


def commands(_: Sphinx) -> Iterator[str]:
    """Every command with its arguments and options."""
    import typer.main

    from vazao.cli import app

    yield from _commands(typer.main.get_command(app), "vazao")


def _commands(command: Any, path: str) -> Iterator[str]:
    for name, inside in getattr(command, "commands", {}).items():
        if not inside.hidden:
            yield from [f"## `{path} {name}`", "", prose(inside.help or ""), "", *options(inside)]
            yield from _commands(inside, f"{path} {name}")


def options(command: Any) -> Iterator[str]:
    """The arguments and options of a command, as a table."""
    taken = [each for each in command.params if not getattr(each, "hidden", False) and each.name != "help"]
    if taken:
        yield from ["| argument or option | meaning |", "| --- | --- |"]
    for each in taken:
        names = ", ".join(f"`{name}`" for name in (*each.opts, *each.secondary_opts))
        if each.param_type_name == "argument":
            names = f"`{(each.metavar or each.name).strip('{}[]').upper()}`"
        yield row([names, prose(each.help or "")])
    yield ""


def reports(app: Sphinx) -> Iterator[str]:
    """Every built-in study with its report, where there is one."""
    yield from [row(["study", "what it asks", "report", "claims"]), row(["---"] * 4)]
    for entry in catalogue.of_kind(catalogue.STUDIES):
        study, there = load_study(entry.name), report_of(app, entry.name)
        link = f'<a href="../reports/{entry.name}.html">report</a>' if there else f"`vazao run {entry.name} --quick`"
        told = Path(app.srcdir) / f"docs/studies/{entry.name}.md"
        claims = f"[claims](studies/{entry.name}.md)" if told.exists() else "–"
        yield row([f"`{entry.name}`", escape(study.question or study.title), link, claims])


def report_of(app: Sphinx, study: str) -> Path | None:
    """A study's report; None where none was made or none is wanted."""
    path = Path(app.srcdir) / app.config.vazao_results / study / "report.html"
    return path if app.config.vazao_results and path.is_file() else None


def row(cells: Iterable[str]) -> str:
    """A row of a table."""
    return f"| {' | '.join(BAR.sub(lambda _: ESCAPED, ' '.join(cell.split())) for cell in cells)} |"


def prose(text: str) -> str:
    """A help text of the command as Markdown."""
    return escape(" ".join(text.split()), quote=False).replace("*", r"\*")


WRITERS: dict[str, Callable[[Sphinx], Iterator[str]]] = {
    "python": python,
    "scenario keys": scenario_keys,
    "study keys": study_keys,
    "commands": commands,
    "reports": reports,
}


def fill(app: Sphinx, _: str, source: list[str]) -> None:
    """Put into a page what it asks for, and leave out what its cells show: here they run."""
    source[0] = ASKED.sub(lambda asked: "\n".join(WRITERS[asked[1]](app)), SHOWN.sub("", source[0]))


def refer(app: Sphinx, env: BuildEnvironment, node: Any, shown: nodes.Element) -> nodes.Element | None:
    """Links to a type that a signature names: to its public name if it has one; to nothing if it is not ours."""
    if node.get("refdomain") != "py":
        return None
    name = node["reftarget"].rpartition(".")[2]
    for path in (f"vazao.{name}", f"vazao._core.{name}"):
        found = env.domains["py"].resolve_xref(env, node["refdoc"], app.builder, "obj", path, node, shown)
        if found is not None:
            return found
    return shown


def rest(app: Sphinx, config: Any) -> None:
    """Let all notebooks but one rest, where only that one is wanted."""
    if config.vazao_only:
        root = Path(app.srcdir)
        notebooks = [page for page in (root / "docs").rglob("*.md") if NOTEBOOK in page.read_text(encoding="utf-8")]
        names = {str(page.relative_to(root)) for page in notebooks}
        config.nb_execution_excludepatterns = sorted(names - {f"{config.vazao_only}.md"})


def add_reports(app: Sphinx, failed: Exception | None) -> None:
    """Put the studies' reports beside the pages, as they are."""
    if failed is None and app.builder.format == "html":
        for entry in catalogue.of_kind(catalogue.STUDIES):
            if report := report_of(app, entry.name):
                there = Path(app.outdir) / "reports" / f"{entry.name}.html"
                there.parent.mkdir(exist_ok=True)
                shutil.copyfile(report, there)


def escape_references(_app: Sphinx, _what: str, _name: str, _value: object, _options: Any, lines: list[str]) -> None:
    """Escape underscores at the ends of words, which name no targets: ns-2's `minrto_`."""
    lines[:] = [re.sub(r"(?<=\w)_(?=[\s).,;:]|$)", r"\\_", line) for line in lines]


def setup(app: Sphinx) -> dict[str, Any]:
    """Register all of it."""
    app.add_config_value("vazao_results", "results", "env", str)
    app.add_config_value("vazao_only", "", "env", str)
    app.connect("autodoc-process-docstring", escape_references)
    app.connect("config-inited", rest, priority=0)
    app.connect("source-read", fill)
    app.connect("missing-reference", refer)
    app.connect("build-finished", add_reports)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
