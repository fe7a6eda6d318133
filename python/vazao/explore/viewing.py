"""The page of one run, by the address /view/RUN_ID?dir=RESULTS: its place is here, and what draws it is not yet."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

OpenRun = Callable[[Path, str], str]
"""Maker of the page of a run: a results directory and a `run_id`, which is stored there, give HTML."""


class NotYetError(Exception):
    """A run cannot be shown yet; the message says why."""


def open_run(directory: Path, run_id: str) -> str:
    """The page of a run that is run again with full traces. Raises `NotYetError`."""
    raise NotYetError(f"run {run_id} of {directory}: showing a single run again is not built yet")
