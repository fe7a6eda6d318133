"""The page of a run, by the address /view/RUN_ID?dir=RESULTS: it is run again, with every packet recorded.

With `&beside=RUN_ID&beside_dir=RESULTS` a second run is drawn over it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from vazao import results, seeing

Run = tuple[Path, str]
"""A results directory and a `run_id` that is stored there."""

OpenRuns = Callable[[Sequence[Run]], str]
"""Maker of the page of one run or two: its HTML."""

POLICY = "frame-ancestors 'none'"
"""Policy that the server adds to the page's own, which lets nothing in but the page's script and style."""


def open_runs(runs: Sequence[Run]) -> str:
    """The page of stored runs, which are run again. Raises `VazaoError` where one cannot be."""
    stored = [results.stored_scenario(directory, run_id) for directory, run_id in runs]
    return seeing.view([seeing.record(scenario, name) for name, scenario in stored]).text
