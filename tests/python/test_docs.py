"""The documents are correct: scenarios load, commands exist, links resolve, lists are complete."""

import re
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import typer.main
from typer.testing import CliRunner

import vazao as vz
from documents import DOCUMENTS, ROOT, blocks, name, save, script
from test_json import commands as every_command
from vazao import _core
from vazao.cli import app
from vazao.results import load_study, run_study
from vazao.scenario import load
from vazao.study import (
    Factor,
    Figure,
    Finding,
    Measurements,
    Part,
    Study,
    Summary,
    View,
    catalogue,
    parse_study,
    plan,
    reference,
)

pytestmark = pytest.mark.study


def every(language: str) -> Iterator[object]:
    for path in DOCUMENTS:
        for n, text in enumerate(blocks(path, language)):
            yield pytest.param(text, id=f"{name(path)}-{n}")


@pytest.mark.parametrize("text", list(every("toml")))
def test_what_is_shown_in_toml_loads(text: str, tmp_path: Path) -> None:
    tables = tomllib.loads(text)
    if "words" in tables:
        save(tmp_path)
        translated = next(tmp_path.glob("*.pt.toml"))
        assert translated.read_text() == text
        assert load_study(str(translated).replace(".pt", ""), lang="pt").title == tables["study"]["title"]
    elif "study" in tables:
        study = parse_study(text, "shown.toml")
        assert plan(study, "quick").runs
    elif "network" in tables:
        # Nobody knows beforehand how much the host's programs will send.
        programs = any(flow.get("app", {}).get("kind") == "command" for flow in tables["flow"])
        save(tmp_path)
        assert (load(text, file=str(tmp_path / "shown.toml")).work().hops > 0) != programs
    else:
        assert set(tables) <= {"flow", "factor", "measurements"}, "neither a scenario nor a study nor a part of one"


def test_the_study_of_the_documents_answers(tmp_path: Path) -> None:
    text = next(text for text in blocks(ROOT / "docs/studies.md", "toml") if "[study]" in text)
    done = run_study(parse_study(text, "shown.toml"), out=tmp_path / "results")
    assert {result.verdict for result in done.findings} <= {"reproduced", "differs"}
    assert len(done.findings) == 2
    assert done.figure("utilisation").to_dict()


COMMANDS = typer.main.get_command(app).commands


def commands() -> Iterator[object]:
    for path in DOCUMENTS:
        text = path.read_text(encoding="utf-8")
        lines = [line for block in blocks(path, "sh") for line in block.splitlines()]
        lines += [line.removeprefix("$ ") for block in blocks(path, "console") for line in block.splitlines()]
        for line in [*lines, *re.findall(r"`([^`\n]+)`", text)]:
            if re.match(r"(\.venv/bin/)?vazao \w", line):
                yield pytest.param(line, id=f"{name(path)}-{line}")


@pytest.mark.parametrize("line", list(commands()))
def test_commands_that_are_shown_exist(line: str) -> None:
    _, name, *arguments = shlex.split(line, comments=True)
    command = COMMANDS[name]
    while subcommands := getattr(command, "commands", None):
        command = subcommands[arguments.pop(0)]
    known = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
    for argument in arguments:
        assert not argument.startswith("--") or argument in known, argument
    if name == "explain" and arguments and arguments[0] not in ("NAME", "WORD"):
        assert reference.explained(arguments[0])


def test_targets_of_make_that_are_shown_exist() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    shown = {t for path in DOCUMENTS for t in re.findall(r"(?:^|`|\$ )make (\w+)", path.read_text(), re.MULTILINE)}
    assert {"demo", "test"} <= shown <= targets


def anchors(path: Path) -> set[str]:
    """Anchors of a document's headings, as code hosts generate them."""
    headings = re.findall(r"^#+ (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("path", DOCUMENTS, ids=name)
def test_links_between_documents_resolve(path: Path) -> None:
    text = re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if target.startswith("https://"):
            continue
        file, _, anchor = target.partition("#")
        there = (path.parent / file).resolve() if file else path
        assert there.exists(), target
        assert not anchor or anchor in anchors(there), target


def test_the_front_pages_lead_to_every_document() -> None:
    """README links to `docs/index.md`, and that to all others except the pages of the studies."""
    pages = [ROOT / page for page in ("README.md", "docs/index.md", "docs/studies.md")]
    linked = {
        (page.parent / target.partition("#")[0]).resolve()
        for page in pages
        for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8"))
    }
    assert {name(path) for path in DOCUMENTS if path not in linked} == set()


EXAMPLES = {"crates/congestion/src/window/binomial.rs", "crates/transport/src/common/scheduler/least_lossy.rs"}
"""Files that a reader of CONTRIBUTING.md creates."""


@pytest.mark.parametrize("path", [path for path in DOCUMENTS if path.name != "CHANGELOG.md"], ids=name)
def test_files_that_are_named_exist(path: Path) -> None:
    text = re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    named = re.findall(r"`((?:crates|python|tests|docs|bench|fuzz)/[^`\s]*)`", text)
    assert [file for file in named if not any(ROOT.glob(file)) and file not in EXAMPLES] == []


def test_generated_documents_are_up_to_date() -> None:
    for path, text in script("docs/generate.py").pages().items():
        assert path.read_text(encoding="utf-8") == text, f"{path.name}: run .venv/bin/python docs/generate.py"


def test_every_entry_of_the_registry_is_documented() -> None:
    text = "".join((ROOT / "docs" / f"{page}.md").read_text() for page in ("algorithms", "scenarios"))
    missing = [e.name for e in catalogue.entries() if e.kind != catalogue.STUDIES and f"`{e.name}`" not in text]
    assert missing == []


def test_every_measure_is_documented() -> None:
    text = (ROOT / "docs/results.md").read_text()
    assert [measure for measure in _core.MEASURES if f"`{measure}`" not in text] == []


def sections(page: str) -> dict[str, str]:
    """Text under each second-level heading, by the heading's first word."""
    _, *parts = re.split(r"^## ", (ROOT / "docs" / page).read_text(), flags=re.MULTILINE)
    return {part.split(maxsplit=1)[0].rstrip(":"): part for part in parts}


def test_every_column_is_documented_and_no_other() -> None:
    net = vz.point_to_point(vz.link("10 Mbps", "5 ms"))
    result = vz.run(net, [vz.flow(vz.upload("100 kB"))], trace=["cwnd"])
    for table, frame in result.tables().items():
        rows = re.findall(r"^\| (`[^|]+) \|", sections("results.md")[table], re.MULTILINE)
        documented = {column for row in rows for column in re.findall(r"`(\w+)`", row)}
        studies_only = {"part", "replication", "failure"} if table == "runs" else set()
        assert documented - studies_only == set(frame.columns), table


@pytest.mark.parametrize("model", [Study, Part, Factor, View, Summary, Figure, Finding, Measurements])
def test_every_key_of_a_study_is_documented(model: type) -> None:
    text = (ROOT / "docs/studies.md").read_text()
    keys = [field.alias or key for key, field in model.model_fields.items()]
    missing = [key for key in keys if not re.search(rf"`{key}`|\[\[?(part\.)?{key}\]", text)]
    assert missing == []


def terms() -> list[str]:
    """Terms that the glossary defines."""
    return re.findall(r"^\| \*\*(.+?)\*\* \| .", (ROOT / "docs/glossary.md").read_text(), re.MULTILINE)


def test_the_glossary_is_in_alphabetical_order_and_explains_a_word_once() -> None:
    assert len(terms()) > 50
    assert terms() == sorted(set(terms()), key=str.lower)


def test_every_word_of_the_glossary_is_used_elsewhere() -> None:
    files = [path for path in (ROOT / "docs").glob("*.md") if path.name != "glossary.md"]
    files += (ROOT / "crates").rglob("*.rs")
    text = re.sub(r"\s+(//[/!]? )?", " ", " ".join(path.read_text() for path in files)).lower()
    assert [term for term in terms() if not re.search(rf"\b{re.escape(term.lower())}(s|es)?\b", text)] == []


def test_sql_functions_that_are_shown_exist(tmp_path: Path) -> None:
    from vazao.sql import database, dynamics

    connection = database.connect()
    shown = re.findall(r"`(\w+)\(", sections("studies.md")["SQL"])
    known = set(
        pl.DataFrame(connection.sql("SELECT DISTINCT function_name FROM duckdb_functions()").to_arrow_table())[
            "function_name"
        ]
    )
    known |= set(re.findall(r"CREATE MACRO (\w+)\(", dynamics.MACROS))
    assert len(shown) >= 8
    assert set(shown) <= known


HELPED = list(every_command())


@pytest.mark.parametrize(("words", "command"), HELPED, ids=[" ".join(words) for words, _ in HELPED])
def test_the_help_of_a_command_has_an_example_that_it_takes(words: tuple[str, ...], command: Any) -> None:
    examples = str(command.epilog).split("\n\n")[1:]
    assert examples
    known = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
    for line in examples:
        first, *arguments = shlex.split(line)
        assert (first, *arguments[: len(words)]) == ("vazao", *words)
        assert {argument for argument in arguments if argument.startswith("--")} <= known


def test_help_tells_no_default_that_is_none() -> None:
    """A flag that turns something off is not on by default, and a free port is not port 0."""
    shown = CliRunner().invoke(app, ["report", "--help"], env={"COLUMNS": "200"}).output
    assert "--no-browser" in shown
    assert "[default:" not in shown
    assert "vazao report results/tcp-bakeoff --serve" in " ".join(shown.split())
