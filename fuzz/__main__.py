"""`python -m fuzz`: cases of every kind for a time; each finding is printed and written with what makes it again."""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from threading import Lock

from fuzz import mutate
from fuzz.case import Case, Verdict, make
from fuzz.shrink import shrink
from fuzz.worker import Worker

TURNS = ("valid", "mutant", "valid", "mutant", "study")
"""Kinds of cases, in the order in which they take turns."""
WRITTEN = 5
"""Number of findings of one class that are printed and written."""
SHRINKING = 60.0
"""Time limit for shrinking one finding, in seconds."""


def main() -> int:
    """Fuzz for the given time; returns 1 if anything was found."""
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--seed", type=int, default=int(time.time()), help="of the first case; each has the next")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--cases", type=int, default=10**9, help="at most so many")
    parser.add_argument(
        "--kind", choices=(*TURNS, "guests"), action="append", help="only these; guests are not tried unasked"
    )
    parser.add_argument("--out", type=Path, default=Path("fuzz-findings"))
    parser.add_argument("--file", type=Path, help="judge this file (of the first --kind) instead")
    asked = parser.parse_args()
    turns = tuple(asked.kind or TURNS)
    if asked.file:
        worker = Worker()
        verdict = worker.judge(Case(turns[0], asked.seed, asked.file.read_text()))
        worker.close()
        print(verdict.outcome, *verdict.wrong, sep="\n  ")
        return int(verdict.outcome == "finding")
    print(f"seed {asked.seed}", flush=True)
    hunt = Hunt(turns, asked.seed, asked.cases, time.monotonic() + 60 * asked.minutes, asked.out)
    with ThreadPoolExecutor(asked.jobs) as pool:
        list(pool.map(lambda _: hunt.go_on(), range(asked.jobs)))
    print(hunt.summary())
    return int(bool(hunt.found))


class Hunt:
    """Shared state of the threads that each watch a worker."""

    def __init__(self, turns: tuple[str, ...], seed: int, cases: int, until: float, out: Path) -> None:
        self._turns, self._seed, self._cases, self._until, self._out = turns, seed, cases, until, out
        self._numbers, self._lock = count(), Lock()
        self._sources = mutate.sources()
        self.outcomes: Counter[tuple[str, str]] = Counter()
        self.found: Counter[str] = Counter()

    def go_on(self) -> None:
        """Try cases until the time is up."""
        worker = Worker()
        while time.monotonic() < self._until and (number := next(self._numbers)) < self._cases:
            case = make(self._turns[number % len(self._turns)], self._seed + number, self._sources)
            verdict = worker.judge(case)
            self.outcomes[case.kind, verdict.outcome] += 1
            if verdict.outcome == "finding":
                self._find(worker, case, verdict)
        worker.close()

    def _find(self, worker: Worker, case: Case, verdict: Verdict) -> None:
        """Print and write a finding: the first of a class shrunk, a few more unchanged."""
        for label, wrong in {signature(wrong): wrong for wrong in verdict.wrong}.items():
            with self._lock:
                self.found[label] += 1
                known = self.found[label]
            if known <= WRITTEN:
                print(f"{case.kind} {case.seed}: {wrong}", flush=True)
                self._write(case, label, wrong, self._shrunk(worker, case, label) if known == 1 else case.text)

    def _write(self, case: Case, label: str, wrong: str, text: str) -> None:
        self._out.mkdir(parents=True, exist_ok=True)
        name = f"{case.kind}-{case.seed}-{re.sub(r'[^a-z]+', '-', label.lower())[:60].strip('-')}.toml"
        head = f"# {case.kind}, seed {case.seed}: {wrong!r}\n"
        (self._out / name).write_text(head + text, encoding="utf-8", errors="surrogateescape")

    def _shrunk(self, worker: Worker, case: Case, label: str) -> str:
        end = time.monotonic() + SHRINKING

        def still(text: str) -> bool:
            if time.monotonic() > end:
                return False
            return label in map(signature, worker.judge(Case(case.kind, case.seed, text)).wrong)

        return shrink(case.text, still)

    def summary(self) -> str:
        """Number of cases by kind and outcome, and the findings."""
        counts = [f"{kind}: {outcome} {n}" for (kind, outcome), n in sorted(self.outcomes.items())]
        return "\n".join(
            [
                f"{sum(self.outcomes.values())} cases",
                *counts,
                *(f"{n} × {label}" for label, n in self.found.most_common()),
            ]
        )


def signature(wrong: str) -> str:
    """Description of a finding without the parts that vary from case to case: numbers and quoted text."""
    return re.sub(r"'[^']*'|\"[^\"]*\"|\[[^]]*\]|[\d.]+(?:e-?\d+)?", "_", wrong)[:120]


if __name__ == "__main__":
    sys.exit(main())
