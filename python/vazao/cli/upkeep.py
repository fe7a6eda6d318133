"""`vazao merge` and `gc`: merges results directories, and removes stored runs that their study no longer has."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from vazao import results, store
from vazao.cli import completions
from vazao.cli.options import Directory
from vazao.cli.questions import publish
from vazao.cli.texts import say


def merge(
    sources: Annotated[
        list[str],
        typer.Argument(metavar="DIR…", help="Results of `vazao run --shard`.", autocompletion=completions.directories),
    ],
    directory: Annotated[Path, typer.Option("--out", metavar="DIR", help="Where all of them go.")],
    as_json: Annotated[bool, typer.Option("--json", help="What was merged as one JSON object.")] = False,
) -> None:
    """Put the shards of a study's campaign together; more can be added later."""
    merged = results.merge(sources, directory)
    whole = results.open_campaign(merged.directory)
    page = publish(whole)
    if as_json:
        print(json.dumps(asdict(merged) | {"directory": str(merged.directory), "report": str(page)}))
        return
    missing = f", {merged.missing} missing" if merged.missing else ""
    say(f"{merged.runs} planned runs in {merged.directory} ({merged.added} added now){missing}; report: {page}")


def gc(
    directory: Directory,
    as_json: Annotated[bool, typer.Option("--json", help="What was removed as one JSON object.")] = False,
) -> None:
    """Remove stored runs that a changed study no longer has."""
    freed = store.clean(directory)
    if as_json:
        print(json.dumps(asdict(freed)))
    else:
        say(f"{freed.runs} runs removed, {freed.bytes / 1e6:.1f} MB freed" if freed.runs else "no run is left out")
