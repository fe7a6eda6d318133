"""The page of a run: the run is re-run with every packet recorded, and a second run may be drawn over it.

A POST from the page /running/RUN_ID?dir=RESULTS re-runs it, and the resulting page has its own address. Programs and
code that the run names are listed first and run only once the user presses a button: results may be a stranger's.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from threading import Lock

from vazao import results, seeing
from vazao.execution import CodeRequest

Run = tuple[Path, str]
"""A results directory and a `run_id` stored there."""

OpenRuns = Callable[[Sequence[Run], Collection[str]], str]
"""Function that returns the HTML page of one or two runs, given the permissions that the user has granted."""

POLICY = "frame-ancestors 'none'"
"""Policy that the server adds to the page's own, which allows only the page's script and style."""

MAX_PAGES = 4
"""Maximum number of runs' pages that are kept, the latest ones; some have tens of megabytes."""


class PermissionNeededError(Exception):
    """Programs or code that a run names and the user has not allowed."""

    def __init__(self, name: str, asked: CodeRequest) -> None:
        self.summary = asked.message(name)
        """Sentences that list the programs and code to be run."""
        self.leave = hashlib.sha256("\n".join([self.summary, *sorted(asked.leave)]).encode()).hexdigest()
        """Permission to run exactly these."""
        super().__init__(self.summary)


def open_runs(runs: Sequence[Run], leave: Collection[str]) -> str:
    """Re-run stored runs and return their page. Raises `PermissionNeededError`; `VazaoError` if one cannot be."""

    def gate(name: str, asked: CodeRequest) -> frozenset[str]:
        unasked = PermissionNeededError(name, asked)
        if unasked.leave not in leave:
            raise unasked
        return asked.leave

    stored = [results.stored_scenario(directory, run_id, gate) for directory, run_id in runs]
    return seeing.view([seeing.record(scenario, name) for name, scenario in stored]).text


class Pages:
    """Finished pages by unguessable key."""

    def __init__(self) -> None:
        self._pages: dict[str, str] = {}
        self._lock = Lock()

    def keep(self, page: str) -> str:
        """Keep a page and return its key."""
        key = secrets.token_urlsafe(16)
        with self._lock:
            self._pages[key] = page
            for old in list(self._pages)[:-MAX_PAGES]:
                del self._pages[old]
        return key

    def get(self, key: str) -> str | None:
        """The page of a key; None once it has been dropped."""
        return self._pages.get(key)
