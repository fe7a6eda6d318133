"""Speed and size: packet-hops per CPU-second, memory, the cost of tracing, and the same in ns-3, ns-2 and htsim.

One packet that crosses one link is one hop. README.md says what is measured and how.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from rich.console import Console
from rich.table import Table
from rivals import RIVALS, Htsim, Ns2, Ns3
from scenarios import FLOW_MEASURES, dumbbell, idle, path, smallest, two_paths

from vazao import _core

HERE = Path(__file__).parent
TIMEOUT_S = 120


@dataclass(frozen=True)
class Case:
    """A scenario whose speed is measured."""

    name: str
    scenario: str
    flows: int
    target_mhops: float | None = None


CASES = (
    Case("1 flow", path(), 1, 33),
    Case("100 flows", dumbbell(100, "20 s"), 100, 27),
    Case("1 000 flows", dumbbell(1000, "5 s"), 1000, 15),
    Case("10 000 flows", dumbbell(10_000, "1 s"), 10_000, 10),
)
RIVAL_TARGETS = {
    "ns-3": {1: 250, 100: 250},
    "ns-2": {1: 5, 100: 5},
    "htsim": {1: 2.5, 100: 2.5, 1000: 3, 10_000: 4},
}
ALIKE = ", its algorithms"
"""Suffix of comparisons in which ours does no more than the other simulator can."""
GROWTH = {1: "20 s", 10: "20 s", 100: "20 s", 1000: "5 s", 10_000: "1 s", 100_000: "1 s"}
"""Simulated time for each number of flows."""
SPANS = ("1 s", "10 s", "100 s")
IDLE_FLOWS = 10_000
IDLE_TARGET_BYTES = 2000
ACTIVE_TARGET_BYTES = 4000
"""Maximum bytes per flow at the peak of the largest case."""
ALGORITHM_TARGET = 0.80
TRANSPORT_TARGET = 0.70
PARALLEL_TARGET = 1.05 / 2
CAMPAIGNS = (
    ("a kilobyte", smallest(), (1_000, 10_000, 100_000), None),
    ("200 MB", path(app='{ kind = "upload", size = "200 MB" }'), (500,), 1.0),
)
"""Campaigns of short runs: a run's scenario, numbers of runs, and their cost beside simulation, as a part of it."""


class RunFailedError(Exception):
    """Raised if a measured run fails."""


@dataclass(frozen=True)
class Recording:
    """Something that a run can record, and the CPU time that it may add."""

    name: str
    transport: str
    request: Mapping[str, Any]
    target: float


RECORDINGS = (
    Recording("every change of every measure", "tcp", {"trace": FLOW_MEASURES}, 0.40),
    Recording("captures of every interface", "tcp", {"pcap": True}, 1.00),
    Recording("captures of 96 bytes a packet", "tcp", {"pcap": True, "snap": 96}, 1.00),
    Recording("qlog of both sides", "quic", {"qlog": True}, 1.50),
)


def measured(scenario: str, child: str = "child.py", **asked: Any) -> dict[str, Any]:
    """Run a scenario in a fresh process and return its cost; `asked` holds further keys of the child's request."""
    request = json.dumps({"scenario": scenario, **asked})
    command = [sys.executable, str(HERE / child)]
    try:
        done = subprocess.run(command, input=request, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired:
        raise RunFailedError(f"no result within {TIMEOUT_S} s") from None
    if done.returncode != 0:
        raise RunFailedError((done.stderr.strip().splitlines() or ["no message"])[-1])
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def mhops(result: dict[str, Any]) -> float:
    """Speed of a run in million packet-hops per CPU-second."""
    return float(result["hops"] / result["cpu_s"] / 1e6)


def columns(title: str, first: str, *others: str) -> Table:
    """Empty table: names on the left, numbers on the right."""
    table = Table(first, title=title, title_justify="left")
    for name in others:
        table.add_column(name, justify="left" if name == "target" else "right", no_wrap=True)
    return table


@dataclass
class Report:
    """Report of the measurements, as tables and as data."""

    console: Console
    repeats: int
    data: dict[str, Any] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)

    def attempt(self, what: str, act: Callable[..., None], *arguments: object) -> None:
        """Run one part; if it fails, the others still run."""
        try:
            with self.console.status(what):
                act(*arguments)
        except (RunFailedError, subprocess.SubprocessError) as error:
            self.failures.append(f"{what}: {error}")
            self.console.print(f"{what}: {error}", style="red", markup=False, soft_wrap=True)

    def verdict(self, reached: bool, target: str) -> str:
        """Formats whether a target was reached or missed."""
        return f"[green]reached[/] ({target})" if reached else f"[yellow]missed[/] ({target})"

    def machine(self) -> None:
        """Report this machine and its load."""
        model = platform.processor() or platform.machine()
        if (info := Path("/proc/cpuinfo")).exists():
            lines = info.read_text().splitlines()
            model = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), model)
        load = os.getloadavg()[0]
        self.data["machine"] = {"cpu": model, "cores": os.cpu_count(), "load": load, "engine": _core.ENGINE_VERSION}
        self.data["repeats"] = self.repeats
        self.console.print(
            f"{model}, {os.cpu_count()} cores, load {load:.1f}; engine {_core.ENGINE_VERSION}; "
            f"medians of {self.repeats} runs; s: CPU seconds",
            soft_wrap=True,
        )

    def speed(self) -> None:
        """Measure speed and memory of each case."""
        table = columns("Speed and memory", "case", "Mhops", "Mhops/s", "min-max", "peak MB", "B/flow", "target")
        rows = self.data.setdefault("speed", {})

        def one(case: Case) -> None:
            runs = [measured(case.scenario) for _ in range(self.repeats)]
            speeds = sorted(map(mhops, runs))
            speed, peak = median(speeds), median(run["peak_bytes"] for run in runs)
            rows[case.flows] = {
                "case": case.name,
                "hops": runs[0]["hops"],
                "mhops_per_cpu_s": speed,
                "all": speeds,
                "target": case.target_mhops,
                "peak_bytes": peak,
                "bytes_per_flow": peak / case.flows,
            }
            target = case.target_mhops
            table.add_row(
                case.name,
                f"{runs[0]['hops'] / 1e6:.2f}",
                f"{speed:.1f}",
                f"{speeds[0]:.1f}-{speeds[-1]:.1f}",
                f"{peak / 1e6:.1f}",
                f"{peak / case.flows:,.0f}",
                self.verdict(speed >= target, f"{target:g}") if target else "",
            )

        for case in CASES:
            self.attempt(case.name, one, case)
        self.console.print(table)

    def rivals(self) -> None:
        """Measure the same scenarios in other simulators."""
        table = columns("Against other simulators", "simulator", "flows", "Mhops/s", "ours", "ratio", "target")
        rows = self.data.setdefault("rivals", {})

        def one(kind: type[Ns2 | Ns3 | Htsim]) -> None:
            rival = kind()
            repeats = 1 if kind is Ns3 else self.repeats
            for flows in rival.seconds:
                ours = {"": next(case.scenario for case in CASES if case.flows == flows)}
                if kind is Htsim:
                    # Its flows start within 100 ms: thousands at once would all wait for their first timeout together.
                    until, spread = f"{Htsim.seconds[flows]} s", "100 ms" if flows > 1 else "0 s"
                    ours = {"": dumbbell(flows, until, spread), ALIKE: dumbbell(flows, until, spread, Htsim.transport)}
                # In turns, so that other load on the machine affects all equally.
                turns = [
                    (rival.speed(flows) / 1e6, *(mhops(measured(scenario)) for scenario in ours.values()))
                    for _ in range(repeats)
                ]
                theirs, *speeds = (median(each) for each in zip(*turns, strict=True))
                for alike, speed in zip(ours, speeds, strict=True):
                    name, ratio, target = f"{kind.name}{alike}", speed / theirs, RIVAL_TARGETS[kind.name][flows]
                    rows.setdefault(name, {})[flows] = {
                        "mhops_per_cpu_s": theirs,
                        "ours": speed,
                        "ratio": ratio,
                        "target": target,
                    }
                    verdict = self.verdict(ratio >= target, f"{target:g}x")
                    cells = f"{rival.version}{alike}", f"{flows}", f"{theirs:.3f}", f"{speed:.1f}", f"{ratio:.2f}x"
                    table.add_row(*cells, verdict)

        for kind in RIVALS:
            if kind.is_installed():
                self.attempt(kind.name, one, kind)
            else:
                table.add_row(kind.name, "", "not installed", "", "", "")
        self.console.print(table)

    def growth(self) -> None:
        """Measure the cost of a packet-hop and of a flow as flows and simulated time grow."""
        table = columns(
            "How cost grows: CUBIC flows over a dumbbell", "flows", "simulated", "ns/hop", "B/flow", "MB", "target"
        )
        rows = self.data.setdefault("growth", [])

        def one(flows: int, until: str) -> None:
            run = measured(dumbbell(flows, until))
            each = {"ns_per_hop": 1e3 / mhops(run), "bytes_per_flow": run["peak_bytes"] / flows}
            rows.append({"flows": flows, "until": until, "peak_bytes": run["peak_bytes"], **each})
            peak = f"{run['peak_bytes'] / 1e6:.1f}"
            limit = ACTIVE_TARGET_BYTES if flows == CASES[-1].flows else None
            verdict = self.verdict(each["bytes_per_flow"] <= limit, f"at most {limit:,} B/flow") if limit else ""
            costs = f"{each['ns_per_hop']:.0f}", f"{each['bytes_per_flow']:,.0f}", peak
            table.add_row(f"{flows:,}", until, *costs, verdict)

        for flows, until in [*GROWTH.items(), *((100, span) for span in SPANS)]:
            self.attempt(f"{flows} flows for {until}", one, flows, until)
        self.console.print(table)

    def idle_memory(self) -> None:
        """Measure the memory of an idle flow."""
        run = measured(idle(IDLE_FLOWS), sample=True)
        if run["connected"] != IDLE_FLOWS or run["closed"]:
            raise RunFailedError(f"of {IDLE_FLOWS} flows {run['connected']} connected and {run['closed']} closed")
        each = run["resident_bytes"] / IDLE_FLOWS
        self.data["idle"] = {
            "bytes_per_flow": each,
            "peak_bytes": run["peak_bytes"],
            "target": IDLE_TARGET_BYTES,
            "flows": IDLE_FLOWS,
        }
        verdict = self.verdict(each < IDLE_TARGET_BYTES, f"below {IDLE_TARGET_BYTES} B")
        peak = run["peak_bytes"] / IDLE_FLOWS
        text = f"Idle flow: {each:,.0f} B while the run goes on, {peak:,.0f} B at the peak (results made)  {verdict}"
        self.console.print(text, soft_wrap=True)

    def recording(self) -> None:
        """Measure the cost of recording time series, captures and logs."""
        table = columns("Recording: 1 flow, 5 s", "what", "off s", "on s", "more", "target")
        rows = self.data.setdefault("recording", {})
        for what in RECORDINGS:
            scenario = path(until="5 s", transport=what.transport)
            pairs = [(measured(scenario), measured(scenario, **what.request)) for _ in range(self.repeats)]
            off, on = (median(run["cpu_s"] for run in runs) for runs in zip(*pairs, strict=True))
            extra = on / off - 1
            rows[what.name] = {"off_s": off, "on_s": on, "extra": extra, "target": what.target}
            verdict = self.verdict(extra <= what.target, f"at most {what.target:.0%}")
            table.add_row(what.name, f"{off:.2f}", f"{on:.2f}", f"{extra:+.0%}", verdict)
        self.console.print(table)

    def parallel(self) -> None:
        """Measure the wall time of sixteen runs on two threads, relative to one thread."""
        pairs = [(measured(path(until="5 s"), runs=16, jobs=1), measured(path(until="5 s"), runs=16, jobs=2))]
        one, two = (median(run["wall_s"] for run in runs) for runs in zip(*pairs, strict=True))
        part = two / one
        self.data["parallel"] = {"one_s": one, "two_s": two, "part": part, "target": PARALLEL_TARGET}
        verdict = self.verdict(part <= PARALLEL_TARGET, f"at most {PARALLEL_TARGET:.1%}")
        self.console.print(f"Sixteen runs on two threads: {part:.1%} of the time on one  {verdict}")

    def campaigns(self) -> None:
        """Measure what planning, collecting, storing and opening add to the simulation of many short runs."""
        table = columns(
            "Campaigns: CPU milliseconds of a run",
            "run",
            "runs",
            "all",
            "simulation",
            "besides",
            "wall s",
            "MB",
            "open s",
            "target",
        )
        rows = self.data.setdefault("campaigns", [])

        def one(name: str, scenario: str, runs: int, target: float | None) -> None:
            cost = measured(scenario, "campaign.py", runs=runs, jobs=os.cpu_count() or 1)
            besides = cost["cpu_s"] / cost["simulation_s"] - 1
            rows.append({"run": name, "besides": besides, "target": target, **cost})
            table.add_row(
                name,
                f"{runs:,}",
                *(f"{1e3 * cost[key]:.3g}" for key in ("cpu_s", "simulation_s")),
                f"{besides:+.0%}",
                f"{cost['wall_s']:.1f}",
                f"{cost['peak_bytes'] / 1e6:.0f}",
                f"{cost['opened_s']:.2f}",
                self.verdict(besides <= target, f"at most {target:+.0%}") if target else "",
            )

        for name, scenario, numbers, target in CAMPAIGNS:
            for runs in numbers:
                self.attempt(f"{runs} runs of {name}", one, name, scenario, runs, target)
        self.console.print(table)

    def algorithms(
        self, title: str, scenarios: Mapping[str, str], reference: str, target: float = ALGORITHM_TARGET
    ) -> None:
        """Measure the first case with each algorithm of a kind, relative to the simplest."""
        table = columns(title, "name", "Mhops", "Mhops/s", f"of {reference}", "target")
        rows = self.data.setdefault(title, {})
        # In turns, so that other load on the machine affects all equally.
        runs: dict[str, list[dict[str, Any]]] = {name: [] for name in scenarios}
        for _ in range(self.repeats):
            for name, scenario in scenarios.items():
                runs[name].append(measured(scenario))
        speeds = {name: median(map(mhops, found)) for name, found in runs.items()}
        for name, speed in speeds.items():
            part = speed / speeds[reference]
            rows[name] = {"hops": runs[name][0]["hops"], "mhops_per_cpu_s": speed, "part": part}
            verdict = self.verdict(part >= target, f"at least {target:.0%}")
            table.add_row(name, f"{rows[name]['hops'] / 1e6:.2f}", f"{speed:.1f}", f"{part:.0%}", verdict)
        self.console.print(table)

    def controls(self) -> None:
        """Measure every congestion control."""
        names = [entry["name"] for entry in json.loads(_core.registry())["congestion control"]]
        self.algorithms("Congestion controls: 1 flow", {name: path(cc=name) for name in names}, "reno")

    def transports(self) -> None:
        """Compare other transports with TCP."""
        scenarios = {kind: path(cc="reno", transport=kind) for kind in ("tcp", "quic", "sctp", "dccp")}
        scenarios["mptcp, two paths"] = two_paths()
        self.algorithms("Transports: 1 flow", scenarios, "tcp", TRANSPORT_TARGET)

    def queues(self) -> None:
        """Measure every queue discipline, with a limit of the bandwidth-delay product."""
        names = [entry["name"] for entry in json.loads(_core.registry())["queue"]]
        kinds = {name: f'{{ kind = "{name}", limit = "1 bdp" }}' for name in names}
        self.algorithms("Queues: 1 flow", {name: path(queue=kind) for name, kind in kinds.items()}, "drop-tail")


def main() -> int:
    """Measure everything; returns 1 if a run failed. A missed target is a finding, not a failure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5, help="runs of each case; their median counts (default 5)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write what was measured there as well")
    arguments = parser.parse_args()
    report = Report(Console(), max(1, arguments.repeats))
    report.machine()
    report.speed()
    report.rivals()
    report.growth()
    report.attempt("idle flows", report.idle_memory)
    report.attempt("recording", report.recording)
    report.attempt("parallel runs", report.parallel)
    report.campaigns()
    report.attempt("congestion controls", report.controls)
    report.attempt("queues", report.queues)
    report.attempt("transports", report.transports)
    report.data["failures"] = report.failures
    if arguments.json:
        arguments.json.write_text(json.dumps(report.data, indent=1) + "\n")
    return 1 if report.failures else 0


if __name__ == "__main__":
    sys.exit(main())
