"""The page of one run, by the address /view/RUN_ID?dir=RESULTS: it is run again, with every packet recorded."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from vazao import results, seeing

OpenRun = Callable[[Path, str], str]
"""Maker of the page of a run: a results directory and a `run_id`, which is stored there, give HTML."""

POLICY = "frame-ancestors 'none'"
"""Policy that the server adds to the page's own, which lets nothing in but the page's script and style."""


def open_run(directory: Path, run_id: str) -> str:
    """The page of a stored run, which is run again. Raises `VazaoError` where it cannot be."""
    name, scenario = results.stored_scenario(directory, run_id)
    return seeing.view([seeing.record(scenario, name)]).text
