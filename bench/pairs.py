"""Transfers on our stack and on Linux's: times side by side, and tables of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median

from rich.console import Console
from stacks import columns, percent

from vazao.statistics import t_interval, welch

TOLERANCE = 0.02
"""Median error without loss above which the command fails."""


@dataclass(frozen=True)
class Pair:
    """Times of both stacks, run by run, and their numbers of retransmissions."""

    name: str
    kind: str
    ours_s: tuple[float, ...]
    linux_s: tuple[float, ...]
    resent: tuple[int, int]
    error_without: float | None = None
    """Remaining deviation of single runs without the cause of their difference: with timeouts of half a second."""

    @property
    def error(self) -> float:
        """Relative excess of our time over Linux's."""
        return fmean(self.ours_s) / fmean(self.linux_s) - 1

    @property
    def agree(self) -> bool:
        """Whether the interval of the difference of means contains zero; for equal runs, whether within 2 %."""
        if all(max(times) <= (1 + TOLERANCE) * min(times) for times in (self.ours_s, self.linux_s)):
            return abs(self.error) <= TOLERANCE
        difference = welch(self.ours_s, self.linux_s)
        return difference.low <= 0 <= difference.high


def spread(values: Sequence[float]) -> str:
    """Formats a time, or a mean with the half-width of its interval."""
    return f"{values[0]:.4f}" if len(values) < 2 else f"{fmean(values):.3f} ± {t_interval(values).half:.3f}"


def show(
    console: Console, pairs: Sequence[Pair], title: str = "our SCTP / Linux's", without: str = "short timers"
) -> None:
    """Print a row for each transfer, and one for each kind."""
    table = columns(title, "transfer", "ours (s)", "Linux (s)", "error", "sent again", "agrees", without)
    for pair in pairs:
        again = f"{pair.resent[0]} / {pair.resent[1]}"
        agrees = "yes" if pair.agree else "no"
        left = "" if pair.error_without is None else percent(pair.error_without)
        table.add_row(pair.name, spread(pair.ours_s), spread(pair.linux_s), percent(pair.error), again, agrees, left)
    console.print(table)
    summary = columns("by kind", "kind", "transfers", "median |error|", "largest", "agree")
    for kind in dict.fromkeys(pair.kind for pair in pairs):
        of_kind = [pair for pair in pairs if pair.kind == kind]
        errors = [abs(pair.error) for pair in of_kind]
        agree = f"{sum(pair.agree for pair in of_kind)} of {len(of_kind)}"
        summary.add_row(kind, str(len(of_kind)), f"{median(errors):.2%}", f"{max(errors):.1%}", agree)
    console.print(summary)
