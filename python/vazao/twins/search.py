"""Search for the path and the congestion control whose run is nearest to a connection."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from operator import attrgetter

from vazao import _core
from vazao.errors import RunError
from vazao.execution import Progress
from vazao.scenario import load
from vazao.twins.document import document
from vazao.twins.ends import Ends
from vazao.twins.fitting import Fit, fit
from vazao.twins.path import Path
from vazao.twins.timeline import Timeline, timeline

CONTROLS = ("cubic", "reno", "bbr", "bbr3")
"""Congestion controls that are tried: those that most senders of today use."""

NEAR = 0.02
"""Distance from the connection at which the search ends."""

ROUNDS = 3
"""Most rounds of small changes to the path."""

MOST_CHANGES = 11
"""Most small changes of a path."""

LONGER = 3.0
"""Times the connection's duration after which a run is given up."""


@dataclass(frozen=True)
class Candidate:
    """A path and a congestion control, and how near their run is to the connection."""

    path: Path
    control: str
    fit: Fit

    @property
    def cost(self) -> tuple[bool, float]:
        """The candidate of least cost is taken: one that explains the connection, if any does."""
        return not self.fit.explains, self.fit.distance + self.path.doubt


@dataclass
class Search:
    """Runs of candidates for one connection."""

    real: Timeline
    ends: Ends
    most: int
    """Most packets of a run that are looked at."""
    jobs: int | None
    progress: Progress
    planned: int = 0
    ended: int = 0

    def candidates(self, paths: Sequence[Path]) -> list[Candidate]:
        """Candidates, the nearest first: all controls over all paths, then small changes of the nearest one's path."""
        found = self.run((path, control) for path in paths for control in CONTROLS)
        for _ in range(ROUNDS):
            best = found[0]
            if best.fit.distance < NEAR:
                break
            known = {each.path for each in found if each.control == best.control}
            changed = [path for path in changes(best, self.ends.packet) if path not in known]
            found = sorted([*found, *self.run((path, best.control) for path in changed)], key=attrgetter("cost"))
            if found[0] is best:
                break
        return found

    def most_runs(self, paths: Sequence[Path]) -> int:
        """Runs that `candidates` takes at most."""
        return len(paths) * len(CONTROLS) + ROUNDS * MOST_CHANGES

    def run(self, asked: Iterable[tuple[Path, str]]) -> list[Candidate]:
        """Run paths under controls, several at a time, and compare each with the connection; the nearest first."""
        with ThreadPoolExecutor(self.jobs or os.cpu_count() or 1) as pool:
            running = [pool.submit(self._candidate, *each) for each in asked]
            self.planned += len(running)
            for _ in as_completed(running):
                self.ended += 1
                self.progress.advance(1, min(self.ended / self.planned, 1.0))
        return sorted((done.result() for done in running), key=attrgetter("cost"))

    def _candidate(self, path: Path, control: str) -> Candidate:
        until = LONGER * self.real.finished_s + 1
        scenario = load(document(path, self.ends, control)).with_until(until)
        outcome = _core.run(scenario, recording=self.most)
        if outcome.recording is None:
            raise RunError(outcome.failure or "it cannot be recorded")
        twin = timeline(outcome.recording, self.ends.sender, self.ends.at)
        return Candidate(path, control, fit(twin, self.real, is_afar=self.ends.is_afar))


def changes(best: Candidate, packet: int) -> list[Path]:
    """Paths that differ in one value by a little; in a rate that is not known by more, where nothing fits yet."""
    path = best.path
    queues = {path.queue_bytes * factor for factor in (0.9, 1.1)} | {
        path.queue_bytes + step for step in (-packet, packet)
    }
    found = [replace(path, queue_bytes=queue) for queue in sorted(queues) if path.overflows and queue >= packet]
    rates = (0.985, 1.015) if path.is_filled or best.fit.explains else (0.985, 1.015, 1.3, 2.0)
    found += [replace(path, rate_bps=path.rate_bps * factor) for factor in rates]
    found += [replace(path, jitter_s=path.jitter_s * factor) for factor in (0.0, 0.5, 2.0) if path.jitter_s]
    return found
