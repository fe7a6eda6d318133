"""Agreement of our QUIC with quinn, a production library: the same transfers and congestion control on both.

.venv/bin/python bench/quic_agreement.py [--only grid|sizes|own|handshakes] [--jobs N] [--json FILE]

The grid has rates, delays and random losses with CUBIC and NewReno of ours in either stack; sizes has one path and
transfers from 10 kB up; own has the library's own controls beside ours; handshakes has the ways to begin.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from statistics import fmean, median
from typing import Any

from pairs import spread
from stacks import columns, percent, terminal

import vazao as vz
from vazao.statistics import welch

TOLERANCE = 0.10
"""Median error of the grid above which the command fails."""

ALIKE = 0.02
"""Relative difference above which single runs do not agree."""

RATES_MBPS = (5, 10, 50, 100, 500)
DELAYS_MS = (10, 50, 100, 200)
"""One-way delays."""

LOSSES = (0.0, 0.001, 0.01)
CONTROLS = ("cubic", "reno")
RUNS = 20
"""Number of runs of each transfer with random losses."""

WINDOWS: dict[str, Any] = {"stream_window": "64 MB", "connection_window": "64 MB", "send_buffer": "64 MB"}
"""Windows large enough not to limit: the library's do not grow."""


@dataclass(frozen=True)
class Transfer:
    """One transfer, and the settings of each stack."""

    name: str
    kind: str
    link: vz.Link
    app: vz.App
    ours: Mapping[str, Any]
    theirs: Mapping[str, Any]
    seeds: Sequence[int] = (1,)


@dataclass(frozen=True)
class Pair:
    """Times of both stacks, run by run, and their numbers of retransmissions."""

    name: str
    kind: str
    ours_s: tuple[float, ...]
    quinn_s: tuple[float, ...]
    resent: tuple[int, int]
    cpu_s: tuple[float, float]

    @property
    def error(self) -> float:
        """Relative excess of our time over theirs."""
        return fmean(self.ours_s) / fmean(self.quinn_s) - 1

    @property
    def agree(self) -> bool:
        """Whether the 95 % interval of the difference of means contains zero; for single runs, whether they agree."""
        if len(self.ours_s) < 2:
            return abs(self.error) <= ALIKE
        difference = welch(self.ours_s, self.quinn_s)
        return difference.low <= 0 <= difference.high


def transfer(
    kind: str,
    control: str,
    rate: int = 10,
    delay: int = 50,
    loss: float = 0.0,
    size: str = "1 MB",
    upload: bool = True,
    queue: str = "1 bdp",
    theirs: Mapping[str, Any] | None = None,
    **both: Any,
) -> Transfer:
    """Transfer over one link, by default the link that the grid varies."""
    lossy = {"loss": loss} if loss else {}
    app = vz.upload(size) if upload else vz.download(size)
    settings = WINDOWS | {"cc": control} | both
    way = "" if upload else ", download"
    name = f"{control}, {rate} Mbit/s, {delay} ms, {loss:.1%} lost, {size}{way}"
    name += "".join(f", {value}" for value in (*both.values(), *(theirs or {}).values()))
    seeds = range(1, RUNS + 1) if loss else (1,)
    link = vz.link(f"{rate} Mbps", f"{delay} ms", queue=queue, **lossy)
    return Transfer(name, kind, link, app, settings, settings | dict(theirs or {}), tuple(seeds))


def grid() -> list[Transfer]:
    """Transfers over all rates, delays and losses."""
    kinds = {0.0: "grid without loss"}
    cases = product(CONTROLS, RATES_MBPS, DELAYS_MS, LOSSES)
    return [transfer(kinds.get(loss, "grid with loss"), cc, rate, delay, loss) for cc, rate, delay, loss in cases]


def sizes() -> list[Transfer]:
    """Transfers from a size that fits the initial window to one that takes a minute."""
    cases = product(("10 kB", "100 kB", "200 kB", "500 kB", "10 MB", "50 MB"), (True, False))
    return [transfer("sizes", "cubic", size=size, upload=upload) for size, upload in cases]


def own() -> list[Transfer]:
    """The library's own controls compared with ours of the same names."""
    pairs = (("cubic", "quinn-cubic"), ("reno", "quinn-newreno"), ("bbr", "quinn-bbr"))
    cases = product(pairs, (10, 100), (0.0, 0.01), ("1 MB", "10 MB"))
    return [
        transfer("their own controls", cc, rate, 50, loss, size, theirs={"cc": other})
        for (cc, other), rate, loss, size in cases
    ]


def handshakes() -> list[Transfer]:
    """A small transfer with each kind of handshake."""
    cases = product(("1-rtt", "0-rtt", "retry"), (True, False))
    return [transfer("handshakes", "cubic", size="10 kB", upload=up, handshake=kind) for kind, up in cases]


def run(what: Transfer, settings: Mapping[str, Any], seed: int) -> tuple[float, int, float]:
    """Completion time, number of retransmissions and processor time of one run."""
    flow = vz.flow(what.app, vz.Transport({"kind": "quic"} | dict(settings)))
    try:
        result = vz.run(vz.point_to_point(what.link), [flow], seed=seed)
    except vz.VazaoError as error:
        # Exceptions that cross processes must not carry the engine's own exception.
        raise RuntimeError(f"{what.name}: {error}") from None
    row = result.flows.to_dicts()[0]
    if not (row["completed"] and row["intact"]):
        raise RuntimeError(f"{what.name}: not every byte arrived")
    return row["completion_s"], row["retransmissions"], result.runs["wall_s"][0]


def compare(what: Transfer) -> Pair:
    """Runs a transfer on both stacks, with all seeds."""
    ours = [run(what, what.ours, seed) for seed in what.seeds]
    quinn = [run(what, {**what.theirs, "stack": "quinn"}, seed) for seed in what.seeds]
    times = [tuple(time for time, _, _ in runs) for runs in (ours, quinn)]
    resent = (sum(again for _, again, _ in ours), sum(again for _, again, _ in quinn))
    cpu = (sum(wall for _, _, wall in ours), sum(wall for _, _, wall in quinn))
    return Pair(what.name, what.kind, times[0], times[1], resent, cpu)


def show(pairs: Sequence[Pair]) -> None:
    """Print a row for each transfer, and one for each kind."""
    console = terminal()
    table = columns("our QUIC / quinn", "transfer", "ours (s)", "quinn (s)", "error", "sent again", "agrees")
    for pair in pairs:
        agrees = "yes" if pair.agree else "no"
        again = f"{pair.resent[0]} / {pair.resent[1]}"
        table.add_row(pair.name, spread(pair.ours_s), spread(pair.quinn_s), percent(pair.error), again, agrees)
    console.print(table)
    summary = columns("by kind", "kind", "transfers", "median |error|", "largest", "agree", "time to run")
    for kind in dict.fromkeys(pair.kind for pair in pairs):
        of_kind = [pair for pair in pairs if pair.kind == kind]
        errors = [abs(pair.error) for pair in of_kind]
        agree = f"{sum(pair.agree for pair in of_kind)} of {len(of_kind)}"
        ours, quinn = (sum(pair.cpu_s[i] for pair in of_kind) for i in (0, 1))
        cost = f"{ours:.1f} / {quinn:.1f} s"
        summary.add_row(kind, str(len(of_kind)), f"{median(errors):.2%}", f"{max(errors):.1%}", agree, cost)
    console.print(summary)


def main() -> int:
    """Run everything and print the agreement. The exit code is 1 if the grid's median error is above the tolerance."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parts = {"grid": grid, "sizes": sizes, "own": own, "handshakes": handshakes}
    parser.add_argument("--only", choices=list(parts), help="only this part")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="runs at a time")
    parser.add_argument("--json", type=Path, help="where to keep the numbers")
    given = parser.parse_args()
    transfers = [each for name, make in parts.items() if given.only in (None, name) for each in make()]
    with ProcessPoolExecutor(given.jobs, mp_context=get_context("spawn")) as pool:
        pairs = list(pool.map(compare, transfers))
    show(pairs)
    if given.json:
        given.json.write_text(json.dumps([asdict(pair) | {"error": pair.error} for pair in pairs], indent=1) + "\n")
    errors = [abs(pair.error) for pair in pairs if pair.kind.startswith("grid")]
    return int(bool(errors) and median(errors) > TOLERANCE)


if __name__ == "__main__":
    raise SystemExit(main())
