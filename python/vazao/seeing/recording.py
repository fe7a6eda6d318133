"""Recordings of runs (docs/recording.md), and of stored runs that are run again for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from vazao import _core, results, study
from vazao.errors import ResultsError, RunError, ScenarioError

MOST = 300_000
"""Packets that a recording has at most unless its reader wants more."""


@dataclass(frozen=True)
class Recording:
    """A run with every packet's way and every sender's state."""

    name: str
    scenario: _core.Scenario
    content: bytes

    def __repr__(self) -> str:
        return f"Recording({self.name!r}, {self.scenario.run_id}, {len(self.content) / 1e6:.3g} MB)"


def record(
    scenario: _core.Scenario,
    name: str | None = None,
    *,
    most: int = MOST,
    on_tick: Callable[[float], None] | None = None,
) -> Recording:
    """Run a scenario and record it, its first `most` packets at least by their number.

    Raises `RunError` when the run fails, and `ScenarioError` for one that another simulator plays.
    """
    outcome = _core.run(scenario, recording=most, on_tick=on_tick)
    if outcome.not_run is not None:
        raise ScenarioError(f"{scenario.name}: cannot be recorded: {outcome.not_run}")
    if outcome.failure is not None:
        error = RunError(outcome.failure)
        error.scenario = scenario
        raise error
    assert outcome.recording is not None
    return Recording(name if name is not None else scenario.name, scenario, outcome.recording)


def recorded_again(directory: str | Path, run_id: str, *, most: int = MOST) -> Recording:
    """Record a stored run of a study or a sweep, by running it again. Code that it names is not run.

    Raises `ResultsError` when there is no such run, or none that this engine would run alike.
    """
    campaign = results.open_campaign(directory)
    planned = campaign.store.planned
    known = planned.filter(planned["run_id"].str.starts_with(run_id)) if planned is not None else None
    if known is None or known.height == 0:
        raise ResultsError(
            f"{directory}: has no run {run_id!r}; `vazao sql {directory} 'SELECT run_id FROM runs'` lists them"
        )
    ids = known["run_id"].unique()
    if len(ids) > 1:
        raise ResultsError(f"{directory}: {run_id!r} begins {len(ids)} runs; write more of it")
    size: study.Size = "full" if campaign.store.manifest["size"] == "full" else "quick"
    wanted = ids[0]
    run = next((run for run in study.plan(campaign.study, size).runs if run.run_id == wanted), None)
    if run is None:
        raise ResultsError(
            f"{directory}: run {wanted} is another one with this version of the engine; run the study again"
        )
    labels = ", ".join(f"{factor} {label}" for factor, label in run.labels.items())
    return record(run.scenario, f"{labels}, seed {run.seed}", most=most)
