"""`vazao why`: what keeps a flow from being faster."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from vazao import causes
from vazao.cli import completions, options, programs
from vazao.cli.options import Allow, Changes, Jobs, Seed


def why(
    name: Annotated[str, typer.Argument(metavar="FILE", help="A scenario.", autocompletion=completions.paths)],
    flow: Annotated[int, typer.Option(min=0, metavar="N", help="Flow to ask about, from 0.")] = 0,
    changes: Changes = None,
    seed: Seed = None,
    seeds: Annotated[
        str | None, typer.Option(metavar="N|A-B", help="Seeds of what matters, for intervals: 10 of them, or 1-10.")
    ] = None,
    runs: Annotated[int | None, typer.Option(min=2, metavar="N", help="Runs at most: 60 unless given.")] = None,
    jobs: Jobs = None,
    page: Annotated[Path | None, typer.Option("--html", metavar="FILE", help="Write the answer as a page.")] = None,
    allow: Allow = False,
    as_json: Annotated[bool, typer.Option("--json", help="The answer as one JSON object, nothing else.")] = False,
) -> None:
    """Take away what may limit a flow, run it again under the same seeds, and say what each costs."""
    path = Path(name)
    first, count = options.seeds(seeds, seed)
    experiment = programs.experiment(path, "why takes a scenario", changes, first, allow=allow)
    from vazao.cli.progress import progress

    most, several = runs or causes.MOST_RUNS, count or causes.SEEDS
    answer = causes.why(experiment, flow=flow, seeds=several, most=most, jobs=jobs, progress=progress())
    if page:
        causes.write(answer, page)
    if as_json:
        print(json.dumps(causes.as_json(answer), allow_nan=False))
        return
    from vazao.cli.answers import show

    show(answer)
    if page:
        from vazao.cli.terminal import out

        out.print(f"\npage: {page}", soft_wrap=True)
