"""Comparison of means for random runs: random losses for every control, and controls that draw random numbers.

Two means agree if Welch's 95 % interval of their difference contains zero; one of twenty identical pairs does not. Both
stacks run with the same seeds, and so lose packets by the same random stream. Therefore the differences seed by seed
are more precise: their interval is printed, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import Executor
from dataclasses import asdict, dataclass
from typing import Any

from rich.console import Console
from stacks import DRAWING, columns, ours, percent, theirs, upload

import vazao as vz
from vazao.statistics import Interval, t_interval, welch

LOSSY = (
    ("10 Mbps", "50 ms", "1 MB", 0.01),
    ("10 Mbps", "100 ms", "1 MB", 0.003),
    ("100 Mbps", "20 ms", "10 MB", 0.001),
    ("100 Mbps", "50 ms", "10 MB", 0.0003),
)
"""Rate, round-trip time, size, and share of the data that is lost."""

RUNS = 30
DRAWN_RUNS = 200
"""Number of runs with a control that draws random numbers: even without loss, times may vary threefold."""


@dataclass(frozen=True)
class Path:
    """Repeated upload over one link."""

    rate: str
    rtt: str
    size: str
    loss: float
    cc: str

    @property
    def name(self) -> str:
        """Label for tables and messages."""
        return f"{self.cc}, {self.rate}, {self.rtt}, {self.size}, {f'{self.loss:.2%}' if self.loss else 'none'} lost"

    @property
    def network(self) -> vz.Network:
        """Network of one link, with a queue of one bandwidth-delay product."""
        one_way = f"{int(self.rtt.split()[0]) * 500} us"
        return vz.point_to_point(vz.link(self.rate, one_way, queue="1 bdp", forward=vz.link(loss=self.loss)))

    @property
    def runs(self) -> range:
        """Seeds of the runs."""
        return range(1, 1 + (DRAWN_RUNS if self.cc in DRAWING else RUNS))


@dataclass(frozen=True)
class Means:
    """Completion times on a path, one run per seed."""

    path: Path
    ours: tuple[float, ...]
    linux: tuple[float, ...]

    @property
    def error(self) -> float:
        """Relative mean excess of our time over Linux's."""
        return t_interval(self.ours).mean / t_interval(self.linux).mean - 1

    @property
    def half(self) -> float:
        """Half-width of the 95 % interval of that difference (Welch), relative to Linux's mean."""
        test = welch(self.ours, self.linux)
        return (test.high - test.difference) / t_interval(self.linux).mean if test else 0.0

    @property
    def paired(self) -> float:
        """Half-width of the interval of the differences seed by seed, relative to Linux's mean."""
        differences = [a - b for a, b in zip(self.ours, self.linux, strict=True)]
        return t_interval(differences).half / t_interval(self.linux).mean

    @property
    def agree(self) -> bool:
        """Whether the interval of the difference contains zero."""
        return abs(self.error) <= self.half


def paths(controls: Iterable[str], free: Iterable[tuple[str, str, str]]) -> list[Path]:
    """Paths with loss for all controls, and the given paths without loss for those that draw random numbers."""
    controls = list(controls)
    lossy = [Path(*path, cc) for cc in controls for path in LOSSY]
    return lossy + [Path(*path, 0.0, cc) for cc in controls if cc in DRAWING for path in free]


def completion(path: Path, linux: bool, seed: int) -> float:
    """Completion time of one run."""
    settings = theirs(path.cc) if linux else ours(path.cc)
    return upload(path.network, path.size, settings, path.name, seed=seed).completion_s


def measure(pool: Executor, wanted: Sequence[Path]) -> list[Means]:
    """Runs every path on both stacks."""
    runs = [(path, linux, seed) for path in wanted for linux in (False, True) for seed in path.runs]
    times = pool.map(completion, *zip(*runs, strict=True), chunksize=8) if runs else iter(())
    return [Means(path, *(tuple(next(times) for _ in path.runs) for _ in ("ours", "linux"))) for path in wanted]


def spread(values: Sequence[float]) -> str:
    """Formats a mean and the half-width of its 95 % interval."""
    interval: Interval = t_interval(values)
    return f"{interval.mean:.4f} ± {interval.half:.4f}"


def show_means(console: Console, means: Iterable[Means]) -> None:
    """Print a row for each path."""
    table = columns(
        "means, 95 % intervals", "path", "runs", "ours (s)", "Linux (s)", "difference", "Welch", "by seed", "agree"
    )
    for found in means:
        table.add_row(
            found.path.name,
            str(len(found.ours)),
            spread(found.ours),
            spread(found.linux),
            percent(found.error),
            f"± {100 * found.half:.1f}",
            f"± {100 * found.paired:.1f}",
            "yes" if found.agree else "no",
            style=None if found.agree else "yellow",
        )
    console.print(table)


def record(found: Means) -> dict[str, Any]:
    """Converts means to JSON data."""
    return {
        **asdict(found.path),
        "ours_s": found.ours,
        "linux_s": found.linux,
        "error": found.error,
        "welch": found.half,
        "by_seed": found.paired,
        "agree": found.agree,
    }
