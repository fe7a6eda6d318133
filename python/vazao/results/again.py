"""Stored runs, to be run again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

from vazao import _core, study
from vazao.errors import ResultsError
from vazao.results.asked import Asked
from vazao.results.campaign import open_campaign
from vazao.scenario import Allowed

Gate: TypeAlias = Callable[[str, Asked], Allowed]
"""A question to the user, who has to allow what a stored run, called by a name, would run: gives leave, or raises."""


def stored_scenario(directory: str | Path, run_id: str, gate: Gate) -> tuple[str, _core.Scenario]:
    """The scenario of a stored run, by the beginning of its `run_id`, and its levels and seed in words.

    Results may be a stranger's: programs and code that the run names pass the `gate` first. Raises `ResultsError` when
    there is no such run, or none that this engine would run alike, and whatever the gate does.
    """
    campaign = open_campaign(directory)
    planned = campaign.store.planned
    known = planned.filter(planned["run_id"].str.starts_with(run_id)) if planned is not None else None
    if known is None or known.height == 0:
        listed = f"`vazao sql {directory} 'SELECT run_id FROM runs'` lists them"
        raise ResultsError(f"{directory}: has no run {run_id!r}; {listed}")
    ids = known["run_id"].unique()
    if len(ids) > 1:
        raise ResultsError(f"{directory}: {run_id!r} begins {len(ids)} runs; write more of it")
    size: study.Size = "full" if campaign.store.manifest["size"] == "full" else "quick"
    wanted = ids[0]
    run = next((run for run in study.plan(campaign.study, size).runs if run.run_id == wanted), None)
    if run is None:
        told = "is another one with this engine; `vazao run` runs the study again"
        raise ResultsError(f"{directory}: run {wanted} {told}")
    labels = [f"{factor} {label}" for factor, label in run.labels.items()]
    scenario = run.scenario
    if asked := Asked.of([scenario]):
        leave = gate(f"{directory}/{wanted}", asked)
        recipe = replace(run.cell.recipe, allow_programs=leave)
        scenario = replace(run, cell=replace(run.cell, recipe=recipe)).scenario
    return ", ".join([*labels, f"seed {run.seed}"]), scenario
