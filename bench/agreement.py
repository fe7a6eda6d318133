"""Agreement of our TCP with Linux's: the same scenarios, with the same lost packets, on both; and what makes them part.

.venv/bin/python bench/agreement.py [--cc reno,cubic] [--only grid|means] [--lossy] [--jobs N] [--json FILE]

Every scenario is one upload over one link, run with `stack = "vazao"` and with `stack = "linux"` (the kernel as guest).
A deviation above the tolerance is run again with one mechanism after the other taken away, or with Linux's receiver
for ours: what makes it vanish is its explanation. What nothing makes vanish is compared with Linux's own spread.
Where chance decides, means are compared (chance.py). A summary for each control ends it all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, field
from itertools import chain, groupby, product
from statistics import median
from typing import Any

from chance import Means, measure, paths, record as record_means, show_means
from rich.console import Console
from stacks import (
    CONTROLS,
    DRAWING,
    Outcome,
    arguments,
    columns,
    keep,
    lacks_kernel,
    ours,
    percent,
    terminal,
    theirs,
    upload,
)

import vazao as vz

TOLERANCE = 0.02
"""Relative difference of completion times above which a run counts as a deviation."""

SEGMENT = 1448
PATHS = (
    ("1 Mbps", "50 ms", "100 kB"),
    ("10 Mbps", "10 ms", "1 MB"),
    ("10 Mbps", "50 ms", "100 kB"),
    ("10 Mbps", "100 ms", "1 MB"),
    ("100 Mbps", "10 ms", "10 MB"),
    ("100 Mbps", "50 ms", "10 MB"),
    ("100 Mbps", "100 ms", "1 MB"),
)
"""Rate, round-trip time and size of each transfer."""

BYTES = {"100 kB": 100_000, "1 MB": 1_000_000, "10 MB": 10_000_000}
HALF_US = {"10 ms": 5_000, "50 ms": 25_000, "100 ms": 50_000}
QUEUES = ("0.5 bdp", "1 bdp", "2 bdp")
FIRST = 3
"""Number of the first packet with data: the SYN and the handshake's acknowledgement precede it."""

LOSSES: dict[str, Callable[[int], list[int]]] = {
    "none": lambda _: [],
    "early": lambda _: [FIRST + 6],
    "middle": lambda segments: [FIRST + segments // 2],
    "burst": lambda segments: [FIRST + segments // 3 + i for i in range(5)],
    "last": lambda segments: [FIRST + segments - 1],
}
"""Numbers of the lost packets, given the number of segments."""


@dataclass(frozen=True)
class Scenario:
    """One upload over one link."""

    rate: str
    rtt: str
    size: str
    queue: str
    loss: str
    cc: str

    @property
    def name(self) -> str:
        """Label for tables and messages."""
        return f"{self.cc}, {self.rate}, {self.rtt}, {self.queue}, {self.size}, {self.loss}"

    def network(self, stretch: float = 1.0) -> vz.Network:
        """Network of one link, with its delay scaled by `stretch`."""
        packets = LOSSES[self.loss](-(-BYTES[self.size] // SEGMENT))
        forward = vz.link(loss={"kind": "list", "packets": packets}) if packets else None
        return vz.point_to_point(
            vz.link(self.rate, f"{round(stretch * HALF_US[self.rtt])} us", queue=self.queue, forward=forward)
        )


def grid() -> list[Scenario]:
    """Scenarios without loss for every queue, with loss for the middle one, and each control without random numbers."""
    controls = [cc for cc in CONTROLS if cc not in DRAWING]
    free = product(controls, PATHS, QUEUES, ["none"])
    lossy = product(controls, PATHS[2:5], ["1 bdp"], [loss for loss in LOSSES if loss != "none"])
    return [Scenario(rate, rtt, size, queue, loss, cc) for cc, (rate, rtt, size), queue, loss in chain(free, lossy)]


@dataclass(frozen=True)
class Mechanism:
    """A mechanism that makes the stacks differ, and how to remove it: by settings of either, or another receiver."""

    name: str
    source: str
    ours: Mapping[str, Any] = field(default_factory=dict)
    theirs: Mapping[str, Any] = field(default_factory=dict)
    controls: tuple[str, ...] = CONTROLS

    def applies(self, scenario: Scenario) -> bool:
        """Whether the scenario's control has this mechanism."""
        return scenario.cc in self.controls


MECHANISMS = (
    Mechanism(
        "HyStart",
        "Ha and Rhee 2011",
        ours={"slow_start": "standard"},
        theirs={"module": {"tcp_cubic.hystart": 0}},
        controls=("cubic",),
    ),
    Mechanism("tail loss probes", "RFC 8985 section 7", theirs={"sysctl": {"net.ipv4.tcp_early_retrans": 0}}),
    Mechanism(
        "Linux waits for more to send at once (tcp_tso_should_defer)",
        "net/ipv4/tcp_output.c",
        ours={"bursts": "prompt"},
        theirs={"sysctl": {"net.ipv4.tcp_tso_win_divisor": 255}},
    ),
    Mechanism(
        "Linux's send buffer, which grows too late at times",
        "tcp_sndbuf_expand, net/ipv4/tcp_input.c",
        theirs={"send_buffer": "8 MB"},
    ),
    Mechanism(
        "receive buffers that grow",
        "tcp_rcv_space_adjust, net/ipv4/tcp_input.c",
        ours={"receive_buffer": "4 MB"},
        theirs={"receive_buffer": "4 MB"},
    ),
    Mechanism(
        "time stamps, which measure in milliseconds",
        "RFC 7323 section 4",
        ours={"timestamps": False},
        theirs={"timestamps": False},
    ),
    Mechanism("F-RTO", "RFC 5682", theirs={"sysctl": {"net.ipv4.tcp_frto": 0}}),
    Mechanism(
        "recovery by time against duplicates",
        "RFC 8985, RFC 6675",
        ours={"recovery": "sack", "host": "linux"},
        theirs={"sysctl": {f"net.ipv4.tcp_{name}": 0 for name in ("recovery", "early_retrans", "frto")}},
    ),
    Mechanism(
        "recovery by SACK",
        "RFC 8985, RFC 9937",
        ours={"sack": False, "recovery": "newreno", "host": "linux"},
        theirs={"sysctl": {"net.ipv4.tcp_sack": 0}},
    ),
    Mechanism(
        "time stamps and waiting for more to send at once, together",
        "RFC 7323 section 4, net/ipv4/tcp_output.c",
        ours={"timestamps": False, "bursts": "prompt"},
        theirs={"timestamps": False, "sysctl": {"net.ipv4.tcp_tso_win_divisor": 255}},
    ),
    Mechanism(
        "the send buffer and waiting for more to send at once, together: a burst ends where a write filled a buffer",
        "tcp_sendmsg_locked, net/ipv4/tcp.c",
        ours={"bursts": "prompt"},
        theirs={"send_buffer": "8 MB", "sysctl": {"net.ipv4.tcp_tso_win_divisor": 255}},
    ),
    Mechanism(
        "the receiver: when it acknowledges, what window it offers",
        "our sender with Linux's receiver",
        ours={"stack": {"client": "vazao", "server": "linux"}},
    ),
)
"""Mechanisms in the order in which they are tried: the most specific first, half of the connection last."""


NEIGHBOURS: tuple[dict[str, Any], ...] = (
    *({"start": f"{ms} ms"} for ms in range(1, 10)),
    *({"stretch": stretch} for stretch in (0.99, 0.995, 1.005, 1.01)),
)
"""Variations that make no practical difference: start times within a tick of the kernel's clock, and RTTs within 1 %.

Linux itself may differ more between them than ours does from Linux."""

CLOSE = 0.001
"""Margin by which ours may lie outside the spread of Linux itself."""

WITHIN = Mechanism("within Linux's own spread", "Linux against Linux: start up to 9 ms later, RTT +-1 %")


@dataclass(frozen=True)
class Pair:
    """One scenario on both stacks."""

    ours: Outcome
    linux: Outcome

    @property
    def error(self) -> float:
        """Relative excess of our time over Linux's."""
        return self.ours.completion_s / self.linux.completion_s - 1


def outcome(scenario: Scenario, settings: Mapping[str, Any], start: str | None = None, stretch: float = 1.0) -> Outcome:
    """Simulates one run."""
    return upload(scenario.network(stretch), scenario.size, settings, scenario.name, start)


def pair(scenario: Scenario, without: Mechanism | None = None) -> Pair:
    """Runs a scenario on both stacks, as it is or without a mechanism."""
    change = without or Mechanism("", "")
    settings = {**ours(scenario.cc), **change.ours}, {**theirs(scenario.cc), **change.theirs}
    return Pair(*(outcome(scenario, each) for each in settings))


@dataclass(frozen=True)
class Finding:
    """A scenario, how its runs differ, and the explanation if one was needed and found."""

    scenario: Scenario
    pair: Pair
    mechanism: Mechanism | None = None
    error_without: float | None = None
    spread: tuple[float, float] | None = None
    """Least and largest relative difference between Linux and its neighbours."""

    @property
    def deviates(self) -> bool:
        """Whether the difference needs an explanation."""
        return abs(self.pair.error) > TOLERANCE


def examine(scenario: Scenario, explain: bool) -> Finding:
    """Run a scenario on both stacks and, if they differ and `explain` is set, look for the mechanism."""
    finding = Finding(scenario, pair(scenario))
    if not (finding.deviates and explain):
        return finding
    for mechanism in MECHANISMS:
        if mechanism.applies(scenario):
            error = pair(scenario, mechanism).error
            # Moving from just above the tolerance to just below it explains nothing.
            if abs(error) <= min(TOLERANCE, abs(finding.pair.error) / 2):
                return Finding(scenario, finding.pair, mechanism, error)
    linux = finding.pair.linux.completion_s
    near = [outcome(scenario, theirs(scenario.cc), **neighbour).completion_s / linux - 1 for neighbour in NEIGHBOURS]
    spread = min(near), max(near)
    within = spread[0] - CLOSE <= finding.pair.error <= spread[1] + CLOSE
    return Finding(scenario, finding.pair, WITHIN if within else None, spread=spread)


def show_runs(console: Console, findings: Iterable[Finding]) -> None:
    """Print a row for each scenario."""
    table = columns("ours / Linux", "scenario", "completion (s)", "error", "retransmissions", "packets")
    for found in findings:
        mine, linux = found.pair.ours, found.pair.linux
        table.add_row(
            found.scenario.name,
            f"{mine.completion_s:.4f} / {linux.completion_s:.4f}",
            percent(found.pair.error),
            f"{mine.retransmissions} / {linux.retransmissions}",
            f"{mine.packets} / {linux.packets}",
            style="yellow" if found.deviates else None,
        )
    console.print(table)


def groups(findings: Iterable[Finding]) -> dict[str, list[float]]:
    """Absolute errors: all without loss, all with, and both for each control."""
    errors: dict[str, list[float]] = {}
    for found in findings:
        kind = "without loss" if found.scenario.loss == "none" else "with loss"
        for group in (kind, f"{found.scenario.cc}, {kind}"):
            errors.setdefault(group, []).append(abs(found.pair.error))
    return dict(sorted(errors.items(), key=lambda item: ("," in item[0], item[0])))


def show_groups(console: Console, errors: Mapping[str, list[float]]) -> None:
    """Print the medians."""
    table = columns("errors by group", "group", "scenarios", "median", "largest", f"above {TOLERANCE:.0%}")
    for name, values in errors.items():
        above = sum(value > TOLERANCE for value in values)
        table.add_row(name, str(len(values)), f"{median(values):.2%}", f"{max(values):.1%}", str(above))
    console.print(table)


def show_explanations(console: Console, findings: Iterable[Finding]) -> None:
    """Print the explanations of the deviations, each with the error that remains without the mechanism."""

    def name(found: Finding) -> str:
        return f"{found.mechanism.name} ({found.mechanism.source})" if found.mechanism else "not explained"

    deviating = sorted((found for found in findings if found.deviates), key=name)
    for mechanism, explained in groupby(deviating, key=name):
        console.print(f"\n{mechanism}:", markup=False)
        for found in explained:
            left = "" if found.error_without is None else f"; without it {percent(found.error_without)}"
            if found.spread:
                left = f"; Linux's neighbours {percent(found.spread[0])} to {percent(found.spread[1])}"
            console.print(f"  {found.scenario.name}: {percent(found.pair.error)}{left}", markup=False, highlight=False)


def show_summary(console: Console, findings: Sequence[Finding], means: Sequence[Means]) -> None:
    """Print a row for each control: the error without loss, how many means agree with loss, the number explained."""
    names = ("control", "loss-free", "median error", f"above {TOLERANCE:.0%}", "named", "lossy means", "agree")
    table = columns("summary", *names)
    for cc in CONTROLS:
        free = [found for found in findings if found.scenario.cc == cc and found.scenario.loss == "none"]
        drawn = [found for found in means if found.path.cc == cc and not found.path.loss]
        lossy = [found for found in means if found.path.cc == cc and found.path.loss]
        errors = [abs(found.pair.error) for found in free] + [abs(found.error) for found in drawn]
        apart = [found.mechanism is not None for found in free if found.deviates]
        apart += [False for found in drawn if not found.agree]
        if errors or lossy:
            table.add_row(
                cc,
                str(len(errors)),
                f"{median(errors):.2%}" if errors else "",
                str(len(apart)),
                str(sum(apart)),
                str(len(lossy)),
                str(sum(found.agree for found in lossy)),
            )
    console.print(table)


def record(found: Finding) -> dict[str, Any]:
    """Converts a finding to JSON data."""
    return {
        **asdict(found.scenario),
        "ours": asdict(found.pair.ours),
        "linux": asdict(found.pair.linux),
        "error": found.pair.error,
        "mechanism": found.mechanism.name if found.mechanism else None,
        "error_without": found.error_without,
        "spread": found.spread,
    }


def main() -> int:
    """Run the grid and print the results. The exit code is 1 if the median without loss is above the tolerance."""
    parser = arguments(__doc__)
    parser.add_argument("--cc", default=",".join(CONTROLS), help="congestion controls, with commas between them")
    parser.add_argument("--only", choices=("grid", "means"), help="leave the other part out")
    parser.add_argument("--lossy", action="store_true", help="explain deviations with loss, too")
    given = parser.parse_args()
    console = terminal()
    if lacks_kernel(console):
        return 0
    controls = given.cc.split(",")
    if unknown := [name for name in controls if name not in CONTROLS]:
        parser.error(f"--cc: {', '.join(unknown)}: not among {', '.join(CONTROLS)}")
    scenarios = [scenario for scenario in grid() if scenario.cc in controls and given.only != "means"]
    explain = [given.lossy or scenario.loss == "none" for scenario in scenarios]
    drawn = paths(controls, PATHS) if given.only != "grid" else []
    work = f"{len(scenarios)} scenarios and {len(drawn)} means on both"
    with console.status(work), ProcessPoolExecutor(given.jobs) as pool:
        findings = list(pool.map(examine, scenarios, explain))
        means = measure(pool, drawn)
    errors = groups(findings)
    if findings:
        show_runs(console, findings)
        show_groups(console, errors)
        show_explanations(console, [found for found, wanted in zip(findings, explain, strict=True) if wanted])
    if means:
        show_means(console, means)
    show_summary(console, findings, means)
    keep(given.json, {"grid": [record(found) for found in findings], "means": [record_means(found) for found in means]})
    return int(median(errors.get("without loss", [0.0])) > TOLERANCE)


if __name__ == "__main__":
    raise SystemExit(main())
