"""`vazao compare`: one scenario on Vazão's stack, the Linux kernel's and, for QUIC, quinn."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from vazao import comparing
from vazao.cli import completions, options, programs
from vazao.cli.options import Allow, Changes, Jobs, Seed
from vazao.errors import RunError


def compare(
    name: Annotated[str, typer.Argument(metavar="FILE", help="A scenario.", autocompletion=completions.paths)],
    changes: Changes = None,
    seed: Seed = None,
    seeds: Annotated[
        str | None, typer.Option(metavar="N|A-B", help="Runs of each stack, for intervals: 10 of them, or seeds 1-10.")
    ] = None,
    jobs: Jobs = None,
    directory: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Figures and captures (default: results/compare-NAME).")
    ] = None,
    tolerance: Annotated[
        float, typer.Option(min=0, metavar="MS", help="Milliseconds by which times of equal packets may differ.")
    ] = 1.0,
    allow: Allow = False,
    as_json: Annotated[bool, typer.Option("--json", help="The comparison as one JSON object, nothing else.")] = False,
) -> None:
    """Run a scenario on every stack that can play it (ours, the Linux kernel) and show where they part."""
    path = Path(name)
    first, count = options.seeds(seeds, seed)
    experiment = programs.experiment(
        path, "compare takes a scenario, and a factor `stack` compares in a study", changes, first, allow=allow
    )
    place = directory or comparing.default_directory(path)
    from vazao.cli.progress import progress

    made = comparing.compare(
        experiment, seeds=count, out=place, tolerance_s=tolerance / 1e3, jobs=jobs, progress=progress()
    )
    files = made.draw(place)
    if as_json:
        print(json.dumps({"files": [str(file) for file in files], **made.as_json()}, allow_nan=False))
    else:
        from vazao.cli.comparison import show
        from vazao.cli.terminal import out

        show(made, str(path))
        page = f"; page: {place / 'compare.html'}" if made.replications else ""
        out.print(f"\nfigures and captures: {place}{page}", soft_wrap=True)
    if missing := [f"{trial.name}: {trial.problem}" for trial in made.trials if trial.problem]:
        raise RunError("; ".join(missing))
    if made.replications and (failures := made.replications.failures):
        stack, number, problem = failures[0]
        raise RunError(f"{len(failures)} runs have no result; the first, {stack} under seed {number}: {problem}")
