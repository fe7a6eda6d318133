"""Stored runs, to be run again."""

from __future__ import annotations

from pathlib import Path

from vazao import _core, study
from vazao.errors import ResultsError
from vazao.results.campaign import open_campaign


def stored_scenario(directory: str | Path, run_id: str) -> tuple[str, _core.Scenario]:
    """The scenario of a stored run, by the beginning of its `run_id`, and its levels and seed in words.

    Code that the study names is not run. Raises `ResultsError` when there is no such run, or none that this engine
    would run alike.
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
    return ", ".join([*labels, f"seed {run.seed}"]), run.scenario
