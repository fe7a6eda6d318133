"""Agreement of our transports with other people's measurements: each row of theirs beside our counterpart of it.

.venv/bin/python bench/references.py [--source NAME] [--variant NAME] [--rows] [--jobs N] [--json FILE]

README.md says how to read the table, `counterparts.py` what is run for a row.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import combinations
from multiprocessing import get_context
from statistics import median, stdev
from typing import Any

from counterparts import Reference, read
from rich.console import Console
from rich.table import Table
from stacks import arguments, keep, terminal

import vazao as vz
from vazao.statistics import Interval, t_interval, t_quantile

GOALS = {"Linux": 0.05, "ns-3": 0.10, "ns-2": 0.10, "usrsctp": 0.10}
"""Goals for the median error without loss; a single row with a larger error is outside its goal."""

RANKED = 0.90
"""Share of pairs that must have the same ranking."""

APART = 0.10
"""Relative difference below which variants are not ranked."""

REPLICATIONS = 30
"""Number of runs of a row with loss, each with its own losses."""


@dataclass(frozen=True)
class Difference:
    """An intended difference and its reason: a mechanism of theirs that ours does not have."""

    source: str
    variant: str
    """Regular expression that must match the whole variant."""
    condition: str
    """Regular expression that must match a part of the row's condition."""
    reason: str
    losing: bool = False
    """Whether it applies only to rows in which theirs lost packets."""

    def explains(self, reference: Reference) -> bool:
        """Whether it applies to this row."""
        return (
            self.source == reference.source
            and re.fullmatch(self.variant, reference.variant) is not None
            and re.search(self.condition, reference.condition) is not None
            and (reference.lost > 0 or not self.losing)
        )


DIFFERENCES = (
    Difference(
        "usrsctp",
        "CMT",
        "24 ms",
        "After a timeout theirs takes a threshold of four packets at least, and in slow start a window grows by up to "
        "two packets an acknowledgement (L = 2 of RFC 3465), where ours has RFC 2960's two and one. Neither makes it "
        "slower: what does is not explained.",
    ),
    Difference(
        "ns-2.35",
        "RTX-SAME",
        r"loss (0\.0[89]|0\.1) and \1,",
        "In theirs a fast retransmission on one path lets each other path with marked chunks send one packet beyond "
        "its window as well (FastRtx), T3-rtx is restarted later (SendBufferDequeueUpTo), an unused window may rise "
        "(CwndDegradeTimerExpiration), and a path's window is filled before the next one's turn (SendMuch). They were "
        "not taken apart: with the same lists of losses on both, 24 ms and 10 %, all four make 3.4 ± 1.4 of 55 s.",
    ),
    Difference(
        "ns-3.37",
        "Lp",
        "",
        "Theirs takes the time for which the receiver keeps an acknowledgement back, 200 ms, for a queue: the time "
        "stamp that is echoed is that of the segment that waited. A window of one segment is then acknowledged late "
        "for ever, and each such acknowledgement brings it down again.",
    ),
    Difference(
        "ns-3.37",
        "Bbr",
        "",
        "Theirs takes for newly lost by how much the number of lost octets has changed, up or down "
        "(TcpSocketBase::ReceivedAck), so that in a recovery the window falls with all that is repaired, to a segment. "
        "The estimated bandwidth falls with it; most such transfers never end.",
        losing=True,
    ),
)


@dataclass(frozen=True)
class Comparison:
    """A row beside its counterpart."""

    reference: Reference
    times: tuple[float, ...]
    """Our times: one, or one per replication if there is loss."""

    @property
    def ours(self) -> Interval:
        """Our mean with its confidence interval."""
        return t_interval(self.times)

    @property
    def theirs(self) -> Interval:
        """Reference mean with its confidence interval, from its deviation, or from ours if it is a single run."""
        mean, n = self.reference.mean_s, self.reference.n
        if n > 1:
            half = t_quantile(n - 1) * self.reference.sd_s / math.sqrt(n)
        else:
            half = t_quantile(len(self.times) - 1) * stdev(self.times) if len(self.times) > 1 else 0.0
        return Interval(mean, mean - half, mean + half, n)

    @property
    def error(self) -> float:
        """Relative excess of our time over theirs."""
        return self.ours.mean / self.theirs.mean - 1

    @property
    def overlaps(self) -> bool:
        """Whether the two confidence intervals overlap."""
        return self.ours.low <= self.theirs.high and self.theirs.low <= self.ours.high

    @property
    def difference(self) -> Difference | None:
        """Intended difference that explains the row, if any."""
        return next((known for known in DIFFERENCES if known.explains(self.reference)), None)

    @property
    def outside(self) -> bool:
        """Whether it misses its goal: a larger error without loss, or disjoint intervals with loss."""
        if self.reference.loss:
            return not self.overlaps
        return abs(self.error) > goal(self.reference.source)

    @property
    def open(self) -> bool:
        """Whether it misses its goal without an explanation."""
        return self.outside and self.difference is None


@dataclass(frozen=True)
class Group:
    """Rows of a source, or of one of its variants."""

    source: str
    variant: str
    rows: tuple[Comparison, ...]

    @property
    def free(self) -> list[Comparison]:
        """Rows without loss that no intended difference explains."""
        return [row for row in self.rows if row.reference.loss == 0 and row.difference is None]

    @property
    def lossy(self) -> list[Comparison]:
        """Rows with loss that no intended difference explains."""
        return [row for row in self.rows if row.reference.loss > 0 and row.difference is None]

    @property
    def explained(self) -> int:
        """Number of rows with intended differences, which count for nothing else here."""
        return sum(row.difference is not None for row in self.rows)

    @property
    def open(self) -> int:
        """Number of rows that miss their goals without an explanation."""
        return sum(row.open for row in self.rows)

    @property
    def error(self) -> float:
        """Median error of completion times without loss; NaN if there is no such row."""
        return median(abs(row.error) for row in self.free) if self.free else math.nan

    @property
    def overlapping(self) -> int:
        """Number of rows with loss whose confidence intervals overlap."""
        return sum(row.overlaps for row in self.lossy)


def goal(source: str) -> float:
    """Maximum error for a source's rows without loss."""
    return next(error for name, error in GOALS.items() if source.startswith(name))


def compare(reference: Reference) -> Comparison:
    """Run our counterpart of a row."""
    seeds = range(1, REPLICATIONS + 1) if reference.loss else (1,)
    return Comparison(reference, tuple(completion(reference, seed) for seed in seeds))


def measure(references: Sequence[Reference], jobs: int | None = None) -> list[Comparison]:
    """Run the counterparts of all rows, `jobs` at a time. Processes are spawned afresh: a fork would copy locks."""
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        return list(pool.map(compare, references, chunksize=4))


def completion(reference: Reference, seed: int) -> float:
    """Seconds until the last of the flows is done, by the reference's definition."""
    try:
        result = vz.run(reference.network, list(reference.flows), seed=seed)
    except vz.VazaoError as error:
        # Exceptions that cross processes must not carry the engine's own exception.
        raise RuntimeError(f"{reference.name}: {error}") from None
    # A run ends when every connection has closed on both sides.
    return float(result.runs["sim_s"][0] if reference.until_closed else max(result.flows["last_byte_s"]))


def pairs(rows: Iterable[Comparison]) -> list[tuple[Comparison, Comparison]]:
    """Pairs under the same condition whose references clearly differ, without intended differences from ours."""
    return [
        (a, b)
        for a, b in combinations([row for row in rows if row.difference is None], 2)
        if (a.reference.source, a.reference.condition) == (b.reference.source, b.reference.condition)
        and abs(math.log(a.theirs.mean / b.theirs.mean)) > math.log(1 + APART)
    ]


def ranked_alike(pair: tuple[Comparison, Comparison]) -> bool:
    """Whether both have the same order in ours and in theirs."""
    a, b = pair
    return (a.theirs.mean < b.theirs.mean) == (a.ours.mean < b.ours.mean)


def groups(rows: Sequence[Comparison]) -> list[Group]:
    """Groups: all rows of each source, followed by each of its variants."""
    found = []
    for source in dict.fromkeys(row.reference.source for row in rows):
        of_source = tuple(row for row in rows if row.reference.source == source)
        found.append(Group(source, "all", of_source))
        for variant in dict.fromkeys(row.reference.variant for row in of_source):
            found.append(Group(source, variant, tuple(row for row in of_source if row.reference.variant == variant)))
    return found


def percent(value: float) -> str:
    """Formats a percentage."""
    return "" if math.isnan(value) else f"{100 * value:.1f} %"


def share(part: int, whole: int) -> str:
    """Formats a part of a whole."""
    return f"{part} of {whole}" if whole else ""


def columns(title: str, *names: str, words: int = 2) -> Table:
    """Empty table: text in the first columns, numbers in the others."""
    table = Table(title=title, title_justify="left")
    for place, name in enumerate(names):
        table.add_column(name, justify="left" if place < words else "right", overflow="fold")
    return table


def show_rows(console: Console, rows: Iterable[Comparison]) -> None:
    """Print one line per row; times have half the width of their confidence intervals."""
    table = columns("ours beside theirs", "row", "ours (s)", "theirs (s)", "error", "agrees", words=1)
    for row in rows:
        agrees = ("yes" if row.overlaps else "no") if row.reference.loss else ""
        table.add_row(row.reference.name, spread(row.ours), spread(row.theirs), f"{100 * row.error:+.1f} %", agrees)
    console.print(table)


def spread(interval: Interval) -> str:
    """Formats a mean and the half-width of its interval."""
    return f"{interval.mean:.3f}" + (f" ± {interval.half:.3f}" if interval.half else "")


def show_groups(console: Console, found: Sequence[Group]) -> None:
    """Print one line for each source and variant."""
    counted = ("rows", "explained", "open", "loss-free", "median |error|", "lossy", "means agree", "pairs ranked alike")
    table = columns("agreement by source and variant", "source", "variant", *counted)
    for group in found:
        apart = pairs(group.rows) if group.variant == "all" else []
        table.add_row(
            group.source,
            group.variant,
            str(len(group.rows)),
            str(group.explained or ""),
            str(group.open or ""),
            str(len(group.free)),
            percent(group.error),
            str(len(group.lossy)),
            share(group.overlapping, len(group.lossy)),
            share(sum(map(ranked_alike, apart)), len(apart)),
            style="bold" if group.variant == "all" else None,
        )
    console.print(table)


def show_differences(console: Console, rows: Sequence[Comparison]) -> None:
    """Print the intended differences with size and reason, then rows that miss their goals without an explanation."""
    for known in DIFFERENCES:
        explained = [row for row in rows if row.difference is known]
        if explained:
            errors = [row.error for row in explained]
            extent = f"{len(explained)} rows, {100 * min(errors):+.0f} % to {100 * max(errors):+.0f} %"
            console.print(
                f"\n{known.source}, {known.variant}, {known.condition or 'everywhere'}: {extent}", markup=False
            )
            console.print(f"  {known.reason}", markup=False)
    left = [row for row in rows if row.open]
    explained = sum(row.outside and not row.open for row in rows)
    size = (
        f"{len(left) + explained} of {len(rows)} rows are outside their goals: {explained} explained, {len(left)} open"
    )
    console.print(f"\n{size}", markup=False)
    for row in left:
        console.print(f"  open: {row.reference.name}: {100 * row.error:+.1f} %", markup=False)


def record(row: Comparison) -> dict[str, Any]:
    """Converts a comparison to JSON data."""
    reference, known = row.reference, row.difference
    return {
        "source": reference.source,
        "variant": reference.variant,
        "condition": reference.condition,
        "loss": reference.loss,
        "ours_s": list(row.times),
        "theirs_mean_s": reference.mean_s,
        "theirs_sd_s": reference.sd_s,
        "theirs_n": reference.n,
        "error": row.error,
        "overlaps": row.overlaps,
        "on_purpose": known.reason if known else None,
        "open": row.open,
    }


def chosen(source: str | None, variant: str | None) -> list[Reference]:
    """Rows of a source (or of all sources with this prefix) and of a variant."""
    rows = list(read())
    exact = any(row.source == source for row in rows)
    return [
        row
        for row in rows
        if (source is None or row.source == source or (row.source.startswith(source) and not exact))
        and (variant is None or row.variant.lower() == variant.lower())
    ]


def main() -> int:
    """Run the counterparts and print the agreement."""
    parser = arguments(__doc__)
    parser.add_argument("--source", help="only this one: Linux 6.18, Linux 6.1, ns-3, ns-2, usrsctp")
    parser.add_argument("--variant", help="only this congestion control, as the source calls it")
    parser.add_argument("--rows", action="store_true", help="print every row, too")
    given = parser.parse_args()
    console = terminal()
    references = chosen(given.source, given.variant)
    if not references:
        parser.error("no row is of that source and variant")
    ready = [reference for reference in references if reference.needs is None]
    with console.status(f"{len(ready)} rows"):
        rows = measure(ready, given.jobs)
    if given.rows:
        show_rows(console, rows)
    show_groups(console, groups(rows))
    show_differences(console, rows)
    for missing in sorted({reference.needs for reference in references if reference.needs}):
        count = sum(reference.needs == missing for reference in references)
        console.print(f"\n{count} rows were not run: there is no {missing}", markup=False)
    keep(given.json, [record(row) for row in rows])
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
