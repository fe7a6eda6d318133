"""Agreement of our Multipath TCP with the Linux kernel's: the same transfers, with the same lost packets, on both.

.venv/bin/python bench/mptcp_agreement.py [--jobs N] [--json FILE]

Two links and five, alike and not, both ways; without loss, with packets that are lost by their number on each link, and
full meshes of subflows. What parts the two is run again with ample receive buffers on both sides.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from itertools import chain, product
from multiprocessing import get_context
from statistics import median
from typing import Any

from counterparts import LINUX_MESH
from pairs import TOLERANCE, Pair, show
from stacks import arguments, keep, lacks_kernel, ours, terminal

import vazao as vz

PATHS: Mapping[str, tuple[tuple[int, float], ...]] = {
    "10+10 Mbit/s, 20+20 ms": ((10, 20), (10, 20)),
    "50+50 Mbit/s, 20+20 ms": ((50, 20), (50, 20)),
    "10+50 Mbit/s, 20+20 ms": ((10, 20), (50, 20)),
    "10+10 Mbit/s, 20+100 ms": ((10, 20), (10, 100)),
    "5 x 20 Mbit/s, 20 ms": ((20, 20),) * 5,
}
"""Rate and round-trip time of each link."""

QUEUES = ("0.5 bdp", "1 bdp", "2 bdp")
SECONDS = 2
"""Duration of a transfer at the links' combined rate, in seconds."""

SEGMENT = 1424
FIRST = 4
"""Number of the first packet of a link that may have data: a handshake precedes it."""

LOSSES: Mapping[str, Callable[[int], list[int]]] = {
    "none": lambda _: [],
    "early": lambda _: [FIRST + 6],
    "burst": lambda packets: [FIRST + packets // 3 + i for i in range(5)],
}
"""Numbers of the packets lost on each link, given the number with data."""


@dataclass(frozen=True)
class Transfer:
    """One transfer, as run on both stacks."""

    name: str
    kind: str
    network: vz.Network
    app: vz.App
    path_manager: Any


def link(rate: int, rtt_ms: float, queue: str, loss: str, upload: bool) -> vz.Link:
    """Link that loses some of the data."""
    packets = LOSSES[loss](round(rate * 1e6 / 8 * SECONDS / SEGMENT))
    lossy = vz.link(loss={"kind": "list", "packets": packets}) if packets else None
    way = {"forward" if upload else "reverse": lossy}
    return vz.link(f"{rate} Mbps", f"{rtt_ms / 2} ms", queue=queue, **way)


def transfer(paths: str, upload: bool, queue: str, loss: str, mesh: bool) -> Transfer:
    """Transfer over the links of a path set."""
    links = PATHS[paths]
    size = f"{sum(rate for rate, _ in links) * SECONDS * 125_000} B"
    kind = "full mesh" if mesh else "without loss" if loss == "none" else "listed losses"
    way = "upload" if upload else "download"
    network = vz.multipath(*(link(rate, rtt, queue, loss, upload) for rate, rtt in links))
    app = vz.upload(size) if upload else vz.download(size)
    name = ", ".join([paths, queue, way, loss if loss != "none" else kind])
    return Transfer(name, kind, network, app, LINUX_MESH if mesh else "single-mesh")


def grid() -> list[Transfer]:
    """Every queue without loss, both ways; losses and full meshes with the middle queue.

    In a full mesh, a guest as server sends over the links of its own addresses, whatever the client's (it routes by
    source), and ours by the client's: a comparison of downloads would compare routing.
    """
    free = product(PATHS, (True, False), QUEUES, ["none"], [False])
    lossy = product(PATHS, (True, False), ["1 bdp"], [loss for loss in LOSSES if loss != "none"], [False])
    meshes = product(PATHS, [True], ["1 bdp"], ["none"], [True])
    return [transfer(*each) for each in chain(free, lossy, meshes)]


def run(what: Transfer, settings: Mapping[str, Any]) -> tuple[float, int]:
    """Completion time and number of retransmissions of one run."""
    transport = vz.mptcp(path_manager=what.path_manager, **settings)
    try:
        row = vz.run(what.network, [vz.flow(what.app, transport)]).flows.to_dicts()[0]
    except vz.VazaoError as error:
        # Exceptions that cross processes must not carry the engine's own exception.
        raise RuntimeError(f"{what.name}: {error}") from None
    if not (row["completed"] and row["intact"]):
        raise RuntimeError(f"{what.name}: not every byte arrived")
    return row["completion_s"], row["retransmissions"]


OURS: dict[str, Any] = ours("cubic")
THEIRS: dict[str, Any] = {"cc": "cubic", "stack": "linux"}

AMPLE_BYTES = 8 << 20
AMPLE: tuple[dict[str, Any], dict[str, Any]] = (
    {"receive_buffer": f"{AMPLE_BYTES} B"},
    {"sysctl": {"net.ipv4.tcp_rmem": f"4096 {AMPLE_BYTES} {AMPLE_BYTES}"}},
)
"""Receive buffers that need not grow: early arrivals on one link never block the other."""


def both(what: Transfer, our: Mapping[str, Any], their: Mapping[str, Any]) -> Pair:
    """Runs a transfer on both stacks."""
    mine, linux = run(what, our), run(what, their)
    return Pair(what.name, what.kind, (mine[0],), (linux[0],), (mine[1], linux[1]))


def compare(what: Transfer) -> Pair:
    """Runs a transfer on both stacks, and again with ample buffers if they differ."""
    pair = both(what, OURS, THEIRS)
    if pair.agree:
        return pair
    our, their = AMPLE
    return replace(pair, error_without=both(what, OURS | our, THEIRS | their).error)


def measure(transfers: Sequence[Transfer], jobs: int | None) -> list[Pair]:
    """Runs all transfers, `jobs` at a time."""
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        return list(pool.map(compare, transfers))


def main() -> int:
    """Run everything and print the agreement. The exit code is 1 if the median without loss is above the tolerance."""
    parser = arguments(__doc__)
    given = parser.parse_args()
    console = terminal()
    if lacks_kernel(console):
        return 0
    transfers = grid()
    with console.status(f"{len(transfers)} transfers on both"):
        pairs = measure(transfers, given.jobs)
    show(console, pairs, "our MPTCP / Linux's", "ample buffers")
    keep(given.json, [asdict(pair) | {"error": pair.error} for pair in pairs])
    free = [abs(pair.error) for pair in pairs if pair.kind == "without loss"]
    return int(median(free) > TOLERANCE)


if __name__ == "__main__":
    raise SystemExit(main())
