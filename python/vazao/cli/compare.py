"""`vazao compare`: one scenario on every stack."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from vazao import compare as comparing, scenario, study
from vazao.cli import programs
from vazao.cli.options import Allow, Changes, Seed, change
from vazao.errors import RunError, ScenarioError


def compare(
    name: Annotated[str, typer.Argument(metavar="FILE", help="A scenario.")],
    changes: Changes = None,
    seed: Seed = None,
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
    text = study.read_text(path)
    if study.is_study(text):
        raise ScenarioError(f"{path}: is a study; compare takes a scenario, and a factor `stack` compares in a study")
    out_directory = directory or Path("results") / f"compare-{path.stem}"
    overrides = [change(one) for one in changes or []]
    if not allow:
        only = scenario.load(text, file=str(path), overrides=overrides, seed=seed)
        programs.ask(str(path), programs.of([only]))
    made = comparing.compare(
        text,
        file=str(path),
        overrides=overrides,
        seed=seed,
        out=out_directory,
        tolerance_s=tolerance / 1e3,
        allow_programs=True,
    )
    files = made.draw(out_directory)
    if as_json:
        print(json.dumps({"files": [str(file) for file in files], **made.as_json()}, allow_nan=False))
    else:
        from vazao.cli.comparison import show
        from vazao.cli.terminal import out

        show(made, str(path))
        out.print(f"\nfigures and captures: {out_directory}", soft_wrap=True)
    if missing := [f"{trial.name}: {trial.problem}" for trial in made.trials if trial.problem]:
        raise RunError("; ".join(missing))
