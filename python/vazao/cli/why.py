"""`vazao why`: what keeps a flow from being faster."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from vazao import causes, results, study
from vazao.cli import completions, options, programs
from vazao.cli.options import Allow, Changes, Jobs, Seed, change
from vazao.errors import ScenarioError


def why(
    name: Annotated[str, typer.Argument(metavar="FILE", help="A scenario.", autocompletion=completions.paths)],
    flow: Annotated[int, typer.Option(min=0, metavar="N", help="Flow to ask about, from 0.")] = 0,
    changes: Changes = None,
    seed: Seed = None,
    seeds: Annotated[
        str | None, typer.Option(metavar="N|A-B", help="Seeds of what matters, for intervals: 10 of them, or 1-10.")
    ] = None,
    runs: Annotated[int, typer.Option(min=2, metavar="N", help="Runs at most.")] = 60,
    jobs: Jobs = None,
    page: Annotated[Path | None, typer.Option("--html", metavar="FILE", help="Write the answer as a page.")] = None,
    allow: Allow = False,
    as_json: Annotated[bool, typer.Option("--json", help="The answer as one JSON object, nothing else.")] = False,
) -> None:
    """Take away what may limit a flow, run it again under the same seeds, and say what each costs."""
    path = Path(name)
    text = study.read_text(path)
    if study.is_study(text):
        raise ScenarioError(f"{path}: is a study; why takes a scenario")
    first, count = options.seeds(seeds, seed)
    experiment = results.Experiment(path, text, tuple(change(one) for one in changes or []), first)
    leave = True if allow else programs.ask_for(path, programs.of_experiment(experiment), built_in=False)
    experiment = replace(experiment, allow_programs=leave)
    from vazao.cli.progress import progress

    answer = causes.why(experiment, flow=flow, seeds=count or causes.SEEDS, most=runs, jobs=jobs, progress=progress())
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
