"""`vazao list`, `explain` and `new`: the catalogue, explanations, and starter files."""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vazao import study
from vazao.cli import completions
from vazao.cli.options import AsJson
from vazao.cli.texts import say
from vazao.errors import ScenarioError, did_you_mean
from vazao.files import explained
from vazao.scenario import built_in_scenarios

if TYPE_CHECKING:
    from vazao.scenario import Entry
    from vazao.study import Meaning


def list_(
    kind: Annotated[
        str | None, typer.Argument(help="What to list; without it, everything.", autocompletion=completions.listed)
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List congestion controls, queues, loss models, applications, topologies, studies, scenarios."""
    entries = study.catalogue.of_kind(kind) if kind else list(study.catalogue.entries())
    if as_json:
        print(json.dumps([_fields(entry, "kind", "name", "aliases", "title", "source") for entry in entries]))
        return
    import polars as pl

    from vazao.cli.terminal import out, table

    for each in dict.fromkeys(entry.kind for entry in entries):
        rows = [(entry.name, entry.title, entry.source) for entry in entries if entry.kind == each]
        out.print(table(pl.DataFrame(rows, schema=["name", "title", "source"], orient="row"), title=each))
        out.print()


def _fields(entry: Entry, *names: str) -> dict[str, Any]:
    return {name: getattr(entry, name) for name in names}


def explain(
    name: Annotated[
        str,
        typer.Argument(
            help="An algorithm, a study, a key (network.bottleneck.rate), a column, a measure, a word (rwnd).",
            autocompletion=completions.explained,
        ),
    ],
    as_json: AsJson = False,
) -> None:
    """Say what it is, where it comes from, and its parameters with defaults: every meaning that a name has."""
    entries, meanings = study.reference.explained(name)
    if as_json:
        print(json.dumps([*map(asdict, entries), *map(asdict, meanings)]))
        return
    from vazao.cli.terminal import out

    for entry in entries:
        _show_entry(entry)
    for meaning in meanings:
        _show_meaning(meaning)
        out.print()


def _show_entry(entry: Entry) -> None:
    import polars as pl
    from rich.text import Text

    from vazao.cli.terminal import out, table

    also = f" (also {', '.join(entry.aliases)})" if entry.aliases else ""
    out.print(Text.assemble((entry.name, "bold"), f"{also}: {entry.kind}"))
    out.print(f"{entry.title}\n{entry.help}\nsource: {entry.source or '–'}")
    rows = [(p.name, "required" if p.required else p.default or "–", p.expected, p.help) for p in entry.parameters]
    if rows:
        columns = ["parameter", "default", "accepted", "meaning"]
        out.print(table(pl.DataFrame(rows, schema=columns, orient="row")))
    if entry.settings:
        settings = [(s.name, s.value, s.control or "any", s.help or "–") for s in entry.settings]
        columns = ["stands for", "value", "with cc", "meaning"]
        out.print(table(pl.DataFrame(settings, schema=columns, orient="row")))
    out.print()


def _show_meaning(meaning: Meaning) -> None:
    from rich.text import Text

    from vazao.cli.terminal import out

    plain = study.reference.plain
    of = f", of {', '.join(meaning.of)}" if meaning.of else ""
    also = f" (also {', '.join(meaning.also)})" if meaning.also else ""
    out.print(Text.assemble((meaning.name, "bold"), f"{also}: {meaning.kind}{of}"), soft_wrap=True)
    out.print(plain(meaning.help), soft_wrap=True)
    for fact in "default", "accepted", "unit":
        if text := getattr(meaning, fact):
            out.print(f"{fact}: {plain(text)}", soft_wrap=True)
    if meaning.here:
        out.print(f"see here: vazao explain {' | '.join(map(_quoted, meaning.here))}", soft_wrap=True)


def _quoted(name: str) -> str:
    return f'"{name}"' if " " in name else name


def new(
    name: Annotated[str, typer.Argument(help="Its name; NAME.toml is written.")],
    as_study: Annotated[
        bool, typer.Option("--study", help="A study: a scenario with what is varied and asked.")
    ] = False,
    origin: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="NAME",
            help="A copy of a built-in study or scenario.",
            autocompletion=completions.origins,
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write a commented starter scenario or study, or a copy of a built-in one."""
    stem = name.removesuffix(".toml")
    if not re.fullmatch(r"[\w-][\w.-]*", Path(stem).name):
        raise ScenarioError(f"{name!r} is not a name; write letters, digits, - and _, as in my-scenario")
    path = Path(f"{stem}.toml")
    if origin is None:
        starter = "starter-study.toml" if as_study else "starter.toml"
        text = (resources.files("vazao.cli") / starter).read_text(encoding="utf-8")
    elif study.is_built_in(origin):
        text = study.read_text(study.find(origin))
    else:
        known = {**study.built_in_studies(), **built_in_scenarios()}
        raise ScenarioError(f"--from {origin!r}: is no built-in study or scenario{did_you_mean(origin, known)}")
    written = _named(text, path.stem)
    with explained(path):
        if path.exists():
            raise ScenarioError(f"{path}: exists already; choose another name")
        path.write_text(written, encoding="utf-8")
    if as_json:
        print(json.dumps({"file": str(path)}))
    else:
        say(f"{path}: run it with: vazao run {path}")


def _named(text: str, name: str) -> str:
    """Rename a scenario or study in its text; a study's results are filed by its name. Raises `ScenarioError`."""
    if study.is_study(text) and not re.fullmatch(r"[a-z0-9][a-z0-9._-]*", name):
        raise ScenarioError(f"{name!r} is not a study's name; write small letters, digits, -, _ and ., as in my-study")
    return re.sub(
        r'^name = "[^"]*"', f"name = {json.dumps(name, ensure_ascii=False)}", text, count=1, flags=re.MULTILINE
    )
