"""`vazao list`, `explain` and `new`: what there is, and a file to start from."""

from __future__ import annotations

import json
import re
from importlib import resources
from pathlib import Path
from typing import Annotated

import typer

from vazao import study
from vazao.cli.texts import say
from vazao.errors import ScenarioError, did_you_mean
from vazao.files import explained
from vazao.scenario import built_in_scenarios


def list_(kind: Annotated[str | None, typer.Argument(help="What to list; without it, everything.")] = None) -> None:
    """List congestion controls, queues, loss models, applications, topologies, studies, scenarios."""
    import polars as pl

    from vazao.cli.terminal import out, table

    entries = study.catalogue.of_kind(kind) if kind else list(study.catalogue.entries())
    for each in dict.fromkeys(entry.kind for entry in entries):
        rows = [(entry.name, entry.title, entry.source) for entry in entries if entry.kind == each]
        out.print(table(pl.DataFrame(rows, schema=["name", "title", "source"], orient="row"), title=each))
        out.print()


def explain(
    name: Annotated[str, typer.Argument(help="An algorithm, a transport, a topology, a study, a scenario.")],
) -> None:
    """Say what it is, where it comes from, and its parameters with defaults."""
    import polars as pl
    from rich.text import Text

    from vazao.cli.terminal import out, table

    for entry in study.catalogue.named(name):
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


def new(
    name: Annotated[str, typer.Argument(help="Its name; NAME.toml is written.")],
    as_study: Annotated[
        bool, typer.Option("--study", help="A study: a scenario with what is varied and asked.")
    ] = False,
    origin: Annotated[
        str | None, typer.Option("--from", metavar="NAME", help="A copy of a built-in study or scenario.")
    ] = None,
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
    say(f"{path}: run it with: vazao run {path}")


def _named(text: str, name: str) -> str:
    """A scenario's or study's text under another name, which a study's results go by. Raises `ScenarioError`."""
    if study.is_study(text) and not re.fullmatch(r"[a-z0-9][a-z0-9._-]*", name):
        raise ScenarioError(f"{name!r} is not a study's name; write small letters, digits, -, _ and ., as in my-study")
    return re.sub(
        r'^name = "[^"]*"', f"name = {json.dumps(name, ensure_ascii=False)}", text, count=1, flags=re.MULTILINE
    )
