"""`vazao check`: what a file would run, and how long it would take."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Annotated

import typer

from vazao import _core, results, scenario, study as studies
from vazao.cli import programs
from vazao.cli.options import Changes, Seed, change
from vazao.cli.texts import say
from vazao.units import duration, quantity


def check(
    name: Annotated[str, typer.Argument(metavar="FILE|NAME", help="A TOML file, or a built-in study or scenario.")],
    changes: Changes = None,
    seed: Seed = None,
) -> None:
    """Validate without running; say what would be run and how long it would take."""
    path = studies.find(name)
    text = studies.read_text(path)
    overrides = [change(one) for one in changes or []]
    cores = os.cpu_count() or 1
    if not studies.is_study(text):
        only = scenario.load(text, file=str(path), overrides=overrides, seed=seed)
        say(f"{path}: a valid scenario: 1 run, about {_estimate([only], 1)}")
        for line in _needs([scenario.needs_of(only)]):
            say(f"    {line}")
        if runs := programs.of([only]):
            say(programs.told(str(path), runs))
        return
    study = studies.parse_study(text, str(path)).changed(overrides, seed)
    results.rehearse(study)
    sizes: tuple[studies.Size, ...] = ("quick", "full")
    for size in sizes:
        planned = studies.plan(study, size)
        estimate = _estimate(planned.runnable, cores)
        say(f"{path}: {size}: {len(planned.runs)} runs, about {estimate} on {cores} cores")
        for part in study.parts:
            count = sum(run.part == part.name for run in planned.runs)
            factors = " × ".join(f"{factor.name} ({len(factor.at(size))})" for factor in part.factors)
            say(f"    {part.name}: {count} runs, {part.design}{': ' if factors else ''}{factors}")
        for line in _needs([run.cell.needs for run in planned.runs]):
            say(f"    {line}")
    if runs := programs.of_study(study, text, overrides):
        say(programs.told(str(path), runs))
    say(f"{path}: a valid study: {len(study.figures)} figures, {len(study.findings)} findings")


def _needs(runs: Sequence[scenario.Needs]) -> Iterator[str]:
    """Lines on the kernels and other simulators that runs need, and whether each is there."""
    every = ((needs, *each) for needs in runs for each in _needed(needs))
    counted = Counter((what, name, digest, needs.lacking) for needs, what, name, digest in every)
    for (what, name, digest, reason), count in counted.items():
        told = f"{count} run{'' if count == 1 else 's'} {what}"
        left = "is" if count == 1 else "are"
        if digest:
            yield f"{told}: {name} is there (sha256 {digest[:12]})"
        else:
            yield f"{told} cannot be run here and {left} left out: {reason}"


def _needed(needs: scenario.Needs) -> Iterator[tuple[str, str, str | None]]:
    """Kernels and simulators that a run needs: words for such runs, the name, the digest where it is there."""
    for name, digest in needs.kernels.items():
        yield "with Linux guests", f"kernel {name}", digest
    for name, digest in needs.simulators.items():
        yield f"by {name}", name, digest


def _estimate(scenarios: Sequence[_core.Scenario | studies.PlannedRun], cores: int) -> str:
    """Packet-hops and time that runs take, at the pace of this machine."""
    hops = sum(each.work()[0] for each in scenarios)
    seconds = results.measured(scenarios).total(scenarios, cores)
    known = " at least (nobody knows what programs do)" if any(each.work()[3] for each in scenarios) else ""
    return f"{quantity(hops, 'packet-hops')}, {duration(seconds)}{known}"
