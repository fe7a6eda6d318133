"""`vazao read`: the connections of captures, and what limited each."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from vazao import captures
from vazao.cli import completions
from vazao.cli.options import AsJson

SHOWN = 20
"""Connections that are shown unless all are asked for: those with the most data."""


def read(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE…", help="Captures, pcap or pcapng, gzipped or not.", autocompletion=completions.files
        ),
    ],
    every: Annotated[bool, typer.Option("--all", help=f"Show every connection, not only the largest {SHOWN}.")] = False,
    as_json: AsJson = False,
) -> None:
    """Tell the connections of captures: goodput, round trips, losses, reordering, and what each sender waited for."""
    if as_json:
        print(json.dumps(document(list(map(captures.read, paths))), allow_nan=False))
        return
    from vazao.cli.capture_tables import show

    for path in paths:
        show(captures.read(path), None if every else SHOWN)


def document(read: list[captures.Capture]) -> dict[str, Any]:
    """Captures and their connections as JSON has them."""
    return {
        "captures": [{"file": str(one.path), **one.facts, "problem": one.problem} for one in read],
        "connections": [
            {"capture": str(one.path), **row, "limits": captures.limited(row)}
            for one in read
            for row in one.connections.iter_rows(named=True)
        ],
    }
