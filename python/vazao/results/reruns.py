"""Rerunning of stored runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

from vazao import _core
from vazao.errors import ResultsError
from vazao.execution import CodeRequest
from vazao.results.verification import stored_runs
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
    stored = stored_runs(directory, [run_id])
    (point,) = stored.points
    scenario = stored.scenario(point)
    if asked := CodeRequest.of([scenario]):
        scenario = replace(stored, allowed=gate(f"{directory}/{point.run_id}", asked)).scenario(point)
    if scenario.run_id != point.run_id:
        problem = "is another one with this engine; `vazao run` runs the study again"
        raise ResultsError(f"{directory}: run {point.run_id} {problem}")
    return point.label, scenario
