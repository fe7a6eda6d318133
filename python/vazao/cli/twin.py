"""`vazao twin`: a scenario estimated from a captured connection."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from vazao import files, twins
from vazao.cli import completions
from vazao.cli.options import AsJson, Jobs


def twin(
    path: Annotated[
        Path,
        typer.Argument(
            metavar="CAPTURE", help="A capture, pcap or pcapng, gzipped or not.", autocompletion=completions.files
        ),
    ],
    flow: Annotated[
        int | None,
        typer.Option(min=0, metavar="N", help="Connection, as `vazao read` numbers them: that with most data."),
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", metavar="FILE", help="Write the scenario there.")] = None,
    page: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Write a page that lays it over the connection.")
    ] = None,
    jobs: Jobs = None,
    as_json: AsJson = False,
) -> None:
    """Estimate a scenario from a captured connection of TCP: its path, its ends, and the control that fits best."""
    from vazao.cli.progress import progress

    found = twins.twin(path, flow=flow, jobs=jobs, progress=progress())
    if out:
        files.write_atomically(out, found.text.encode())
    if page:
        twins.overlay(found).save(page)
    if as_json:
        print(json.dumps(twins.as_json(found), allow_nan=False))
        return
    from vazao.cli.twin_tables import show

    show(found, out)
    if page:
        from vazao.cli.terminal import out as terminal

        terminal.print(f"page: {page}", soft_wrap=True)
