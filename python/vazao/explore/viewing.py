"""The page of a run: it is run again, with every packet recorded, and a second run may be drawn over it.

A run is run again for a POST of the page /running/RUN_ID?dir=RESULTS, and what it came to has an address of its own.
Programs and code that it names are told first, and run once the user has pressed a button: results may be a stranger's.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from threading import Lock

from vazao import results, seeing
from vazao.results import Asked

Run = tuple[Path, str]
"""A results directory and a `run_id` that is stored there."""

OpenRuns = Callable[[Sequence[Run], Collection[str]], str]
"""Maker of the page of one run or two: its HTML. It is given what the user has allowed."""

POLICY = "frame-ancestors 'none'"
"""Policy that the server adds to the page's own, which lets nothing in but the page's script and style."""

MOST_PAGES = 4
"""Pages of runs that are kept, some of tens of megabytes: the latest."""


class UnaskedError(Exception):
    """Programs or code that a run names, which nobody has allowed."""

    def __init__(self, name: str, asked: Asked) -> None:
        self.told = asked.told(name)
        """The sentences that say what would be run."""
        self.leave = hashlib.sha256("\n".join([self.told, *sorted(asked.leave)]).encode()).hexdigest()
        """Leave to run just that."""
        super().__init__(self.told)


def open_runs(runs: Sequence[Run], leave: Collection[str]) -> str:
    """The page of stored runs, which are run again. Raises `UnaskedError`, and `VazaoError` where one cannot be."""

    def gate(name: str, asked: Asked) -> frozenset[str]:
        unasked = UnaskedError(name, asked)
        if unasked.leave not in leave:
            raise unasked
        return asked.leave

    stored = [results.stored_scenario(directory, run_id, gate) for directory, run_id in runs]
    return seeing.view([seeing.record(scenario, name) for name, scenario in stored]).text


class Pages:
    """Pages that were made, by a key that nobody guesses."""

    def __init__(self) -> None:
        self._pages: dict[str, str] = {}
        self._lock = Lock()

    def keep(self, page: str) -> str:
        """Keep a page; gives its key."""
        key = secrets.token_urlsafe(16)
        with self._lock:
            self._pages[key] = page
            for old in list(self._pages)[:-MOST_PAGES]:
                del self._pages[old]
        return key

    def get(self, key: str) -> str | None:
        """The page of a key; None where there is none any more."""
        return self._pages.get(key)
