"""Rerunning of stored runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

from vazao import _core, study
from vazao.errors import ResultsError
from vazao.execution import CodeRequest
from vazao.results.campaign import open_campaign
from vazao.scenario import Allowed

Gate: TypeAlias = Callable[[str, CodeRequest], Allowed]
"""Callback that asks the user to allow what a stored run (its first argument) would execute.

It returns the permission, or raises.
"""


def stored_scenario(directory: str | Path, run_id: str, gate: Gate) -> tuple[str, _core.Scenario]:
    """Find a stored run by a prefix of its `run_id`, and return a label (its levels and seed) and its scenario.

    Results may come from an untrusted source: `gate` must first allow the programs and code that the run names. Raises
    `ResultsError` when no run or several match, or when this engine would run it differently, and whatever `gate`
    raises.
    """
    campaign = open_campaign(directory)
    planned = campaign.store.planned
    matching = planned.filter(planned["run_id"].str.starts_with(run_id)) if planned is not None else None
    if matching is None or matching.height == 0:
        hint = f"`vazao sql {directory} 'SELECT run_id FROM runs'` lists them"
        raise ResultsError(f"{directory}: has no run {run_id!r}; {hint}")
    ids = matching["run_id"].unique()
    if len(ids) > 1:
        raise ResultsError(f"{directory}: {run_id!r} begins {len(ids)} runs; write more of it")
    wanted = ids[0]
    run = study.planned_run(campaign.study, matching.row(0, named=True))
    if run is None or run.run_id != wanted:
        problem = "is another one with this engine; `vazao run` runs the study again"
        raise ResultsError(f"{directory}: run {wanted} {problem}")
    labels = [f"{factor} {label}" for factor, label in run.labels.items()]
    scenario = run.scenario
    if asked := CodeRequest.of([scenario]):
        allowed = gate(f"{directory}/{wanted}", asked)
        recipe = replace(run.cell.recipe, allow_programs=allowed)
        scenario = replace(run, cell=replace(run.cell, recipe=recipe)).scenario
    return ", ".join([*labels, f"seed {run.seed}"]), scenario
