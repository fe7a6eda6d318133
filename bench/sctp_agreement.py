"""Agreement of our SCTP with the Linux kernel's: the same transfers, with the same lost packets, on both.

.venv/bin/python bench/sctp_agreement.py [--only grid|means|failover] [--jobs N] [--json FILE]

The grid has one upload over one link with every queue, and with patterns of loss; chance has means with Welch's 95 %
interval of their difference; and failover has two paths of which the primary one fails for a while.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from itertools import product
from multiprocessing import get_context
from statistics import median
from typing import Any

import associations
from pairs import TOLERANCE, Pair, show
from stacks import arguments, keep, lacks_kernel, terminal

import vazao as vz

PATHS = (
    ("1 Mbps", 50, 100_000),
    ("10 Mbps", 10, 1_000_000),
    ("10 Mbps", 50, 100_000),
    ("10 Mbps", 50, 1_000_000),
    ("10 Mbps", 100, 1_000_000),
    ("100 Mbps", 10, 1_000_000),
    ("100 Mbps", 50, 1_000_000),
)
"""Rate, round-trip time in ms, bytes of each transfer."""

QUEUES = ("0.5 bdp", "1 bdp", "2 bdp")
FIRST = 3
"""Number of the first packet with data: INIT and COOKIE ECHO precede it."""

LOSSES: Mapping[str, Callable[[int], list[int]]] = {
    "none": lambda _: [],
    "INIT": lambda _: [1],
    "cookie": lambda _: [2],
    "early": lambda _: [FIRST + 6],
    "middle": lambda packets: [FIRST + packets // 2],
    "burst": lambda packets: [FIRST + packets // 3 + i for i in range(5)],
    "last": lambda packets: [FIRST + packets - 1],
}
"""Numbers of the packets lost towards the server, given the number with data."""

CHANCES = (("4.95 Mbps", 60, 0.01), ("10 Mbps", 100, 0.01), ("10 Mbps", 50, 0.03), ("5.9 Mbps", 40, 0.1))
"""Rate, round-trip time in ms, and share of the data that is lost."""

RUNS = 20

OUTAGES = (("1 s", "30 s"), ("6 s", "0.5 s"), ("6 s", "2 s"), ("6 s", "30 s"))
"""Start and length of the primary path's failure."""

MESSAGE = 1452
OURS: dict[str, Any] = associations.LINUX | {"pf_retries": 0}
THEIRS: dict[str, Any] = {"stack": "linux"}


SHORT_TIMERS: tuple[dict[str, Any], dict[str, Any]] = (
    {"initial_rto": "500 ms", "min_rto": "500 ms"},
    {"sysctl": {"net.sctp.rto_initial": 500, "net.sctp.rto_min": 500}},
)
"""Settings with timeouts that Linux keeps to a tick.

Its timer wheel rounds those of 64 to 511 ticks up to the next multiple of eight ticks, and the guest's tick is 10 ms: a
timeout of one second may come 80 ms late, one of half a second 10 ms."""


@dataclass(frozen=True)
class Transfer:
    """One upload, as run on both stacks."""

    name: str
    kind: str
    network: vz.Network
    size: int
    seeds: tuple[int, ...] = (1,)


def link(rate: str, rtt_ms: float, queue: str, loss: Any = None) -> vz.Link:
    """Link that may lose packets towards the server."""
    return vz.link(rate, f"{rtt_ms / 2} ms", queue=queue, forward=vz.link(loss=loss) if loss else None)


def grid() -> list[Transfer]:
    """Transfers without loss over every queue, with loss over three paths."""
    found = []
    for (rate, rtt, size), queue, loss in product(PATHS, QUEUES, LOSSES):
        if loss != "none" and (queue != "1 bdp" or (rate, rtt, size) not in PATHS[2:5]):
            continue
        lost = LOSSES[loss](-(-size // MESSAGE))
        network = vz.point_to_point(link(rate, rtt, queue, {"kind": "list", "packets": lost} if lost else None))
        name = f"{rate}, {rtt} ms, {queue}, {size:,} B, {loss}"
        found.append(Transfer(name, "without loss" if loss == "none" else "with loss", network, size))
    return found


def means() -> list[Transfer]:
    """Transfers with random losses, repeated."""
    seeds = tuple(range(1, RUNS + 1))
    return [
        Transfer(
            f"{rate}, {rtt} ms, {loss:.0%} lost",
            "by chance",
            vz.point_to_point(link(rate, rtt, "100 packets", loss)),
            1_000_000,
            seeds,
        )
        for rate, rtt, loss in CHANCES
    ]


def failover() -> list[Transfer]:
    """Transfers over two paths, of which the first fails for a while. The times of heartbeats are random."""
    seeds = tuple(range(1, RUNS // 2 + 1))
    found = []
    for at, span in OUTAGES:
        paths = [link("10 Mbps", 40, "100 packets") for _ in range(2)]
        paths[0]["outages"] = [{"at": at, "for": span, "kind": "loss"}]
        found.append(
            Transfer(f"primary fails after {at} for {span}", "failover", vz.multipath(*paths), 10_000_000, seeds)
        )
    return found


def run(transfer: Transfer, settings: Mapping[str, Any], seed: int) -> tuple[float, int]:
    """Completion time and number of retransmissions of one run."""
    # The guest's messages fill a packet anyway.
    message = {} if "stack" in settings else {"message": f"{MESSAGE} B"}
    app = vz.upload(f"{transfer.size} B", **message)
    try:
        row = vz.run(transfer.network, [vz.flow(app, vz.sctp(**settings))], seed=seed).flows.to_dicts()[0]
    except vz.VazaoError as error:
        # Exceptions that cross processes must not carry the engine's own exception.
        raise RuntimeError(f"{transfer.name}: {error}") from None
    if not (row["completed"] and row["intact"]):
        raise RuntimeError(f"{transfer.name}: not every byte arrived")
    return row["completion_s"], row["retransmissions"]


def compare(transfer: Transfer) -> Pair:
    """Run a transfer on both stacks; single runs that differ are repeated with shorter timeouts."""
    pair = both(transfer, OURS, THEIRS)
    if pair.agree or len(transfer.seeds) > 1:
        return pair
    ours, theirs = SHORT_TIMERS
    return replace(pair, error_without=both(transfer, OURS | ours, THEIRS | theirs).error)


def both(transfer: Transfer, our: Mapping[str, Any], their: Mapping[str, Any]) -> Pair:
    """Run a transfer on both stacks with these settings."""
    ours = [run(transfer, our, seed) for seed in transfer.seeds]
    linux = [run(transfer, their, seed) for seed in transfer.seeds]
    times = [tuple(time for time, _ in runs) for runs in (ours, linux)]
    resent = sum(again for _, again in ours), sum(again for _, again in linux)
    return Pair(transfer.name, transfer.kind, times[0], times[1], resent)


def main() -> int:
    """Run everything and print the agreement. The exit code is 1 if the median without loss is above the tolerance."""
    parser = arguments(__doc__)
    parts = {"grid": grid, "means": means, "failover": failover}
    parser.add_argument("--only", choices=list(parts), help="only this part")
    given = parser.parse_args()
    console = terminal()
    if lacks_kernel(console):
        return 0
    transfers = [each for name, make in parts.items() if given.only in (None, name) for each in make()]
    with (
        console.status(f"{len(transfers)} transfers on both"),
        ProcessPoolExecutor(given.jobs, mp_context=get_context("spawn")) as pool,
    ):
        pairs = list(pool.map(compare, transfers))
    show(console, pairs)
    keep(given.json, [asdict(pair) | {"error": pair.error} for pair in pairs])
    free = [abs(pair.error) for pair in pairs if pair.kind == "without loss"]
    return int(bool(free) and median(free) > TOLERANCE)


if __name__ == "__main__":
    raise SystemExit(main())
