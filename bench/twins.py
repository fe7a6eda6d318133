"""Twins of Linux guests' captures over random paths: how often they explain them, and how near their estimates are.

    python bench/twins.py [--count 200] [--first 0] [--at sender|receiver] [--json FILE]

A guest sends over a path drawn at random: 2 to 100 Mbit/s, 5 to 200 ms, a queue of 0.3 to 3 bandwidth-delay products,
half of the paths with random losses or jitter, a quarter of the receivers with a small window; CUBIC, Reno or BBR. Its
capture, taken at one end, is all that the twin is made from. Then both get another congestion control, and the guest's
duration is set beside the one that the twin foretells. Needs a kernel for guests (make kernel).
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random

import vazao as vz


@dataclass(frozen=True)
class Case:
    """A random path, and what a guest does over it."""

    number: int
    rate_bps: float
    rtt_s: float
    queue_packets: int
    loss: float
    jitter_s: float
    window_bytes: int | None
    control: str
    app: str
    size: int

    @property
    def other(self) -> str:
        """Congestion control that the twin was not made from."""
        return "cubic" if self.control == "bbr" else "bbr"

    @property
    def text(self) -> str:
        """The scenario."""
        link = f'rate = "{self.rate_bps:.0f} bps", delay = "{self.rtt_s * 5e5:.0f} us"'
        link += f', queue = "{self.queue_packets} packets"'
        data = (
            link + f", loss = {self.loss}" * bool(self.loss) + f', jitter = "{self.jitter_s} s"' * bool(self.jitter_s)
        )
        forward, reverse = (data, link) if self.app == "upload" else (link, data)
        window = f', receive_buffer = "{self.window_bytes} B"' if self.window_bytes else ""
        return (
            f'until = "120 s"\nseed = {self.number}\nnetwork = {{ topology = "point-to-point", link = {{ '
            f"forward = {{ {forward} }}, reverse = {{ {reverse} }} }} }}\n[[flow]]\n"
            f'app = {{ kind = "{self.app}", size = "{self.size} B" }}\n'
            f'transport = {{ kind = "tcp", stack = "linux", cc = "{self.control}"{window} }}\n'
        )


def case(number: int) -> Case:
    """Draw a case by its number."""
    draw = Random(number)
    rate, rtt = 2e6 * 50 ** draw.random(), 5e-3 * 40 ** draw.random()
    bdp = rate * rtt / 8
    return Case(
        number=number,
        rate_bps=rate,
        rtt_s=rtt,
        queue_packets=max(12, round(bdp / 1500 * 0.3 * 10 ** draw.random())),
        loss=round(1e-4 * 100 ** draw.random(), 6) if draw.random() < 0.4 else 0.0,
        jitter_s=round(rtt * draw.uniform(0.01, 0.1), 6) if draw.random() < 0.2 else 0.0,
        window_bytes=round(max(20e3, bdp * draw.uniform(0.5, 2))) if draw.random() < 0.25 else None,
        control=draw.choice(["cubic", "cubic", "reno", "bbr"]),
        app=draw.choice(["upload", "download"]),
        size=round(rate / 8 * draw.uniform(3, 12)),
    )


@dataclass(frozen=True)
class Outcome:
    """A twin beside the truth, which it does not know."""

    case: Case
    explains: bool
    control: str
    fits: tuple[str, ...]
    """Controls that explain the connection."""
    completion: float
    """The twin's duration as a multiple of the connection's."""
    rate: float
    rtt: float
    queue: float
    """Estimates as multiples of the truth."""
    is_filled: bool
    overflows: bool
    foretold: float
    """Duration under another control that the twin foretells, as a multiple of the guest's."""
    runs: int


def measured(one: Case, at: str) -> Outcome:
    """Run a guest, capture it at an end, and estimate its twin."""
    with tempfile.TemporaryDirectory() as temporary:
        directory = Path(temporary)
        (directory / "case.toml").write_text(one.text)
        vz.load(directory / "case.toml").run(pcap=directory / "captures")
        end = "a" if (one.app == "upload") == (at == "sender") else "b"
        twin = vz.twin(directory / "captures" / f"{end}.1.pcapng")
        (directory / "twin.toml").write_text(twin.text)
        guest, foretold = (
            vz.load(directory / name).set({"flow.0.transport.cc": one.other}).run().flows["completion_s"][0]
            for name in ("case.toml", "twin.toml")
        )
    path = twin.path
    return Outcome(
        case=one,
        explains=twin.explains,
        control=twin.control,
        fits=tuple(name for name, fit in ((twin.control, twin.fit), *twin.others.items()) if fit.explains),
        completion=twin.fit.completion,
        rate=path.rate_bps / one.rate_bps,
        rtt=2 * path.delay_s / one.rtt_s,
        queue=path.queue_bytes / twin.ends.packet / one.queue_packets,
        is_filled=path.is_filled,
        overflows=path.overflows,
        foretold=foretold / guest if foretold and guest else float("inf"),
        runs=twin.runs,
    )


def shares(some: list[Outcome], holds: Callable[[Outcome], bool]) -> str:
    """In how many cases something holds, of how many."""
    return f"{sum(map(holds, some))} of {len(some)}"


def lines(outcomes: list[Outcome]) -> Iterator[str]:
    """Summary, line by line."""
    explained = [one for one in outcomes if one.explains]
    plain = [one for one in outcomes if not one.case.jitter_s]
    filled = [one for one in explained if one.is_filled]
    yield f"explained: {len(explained)} of {len(outcomes)}; without jitter {shares(plain, lambda one: one.explains)}"
    yield f"duration within 5 %: {shares(outcomes, lambda one: abs(one.completion - 1) <= 0.05)}"
    yield f"control, of those explained: right {shares(explained, lambda one: one.control == one.case.control)}"
    yield f"among the controls that explain: {shares(explained, lambda one: one.case.control in one.fits)}"
    for name, some, bound in (("rate", filled, 0.03), ("rtt", explained, 0.02), ("foretold", explained, 0.1)):
        errors = [abs(getattr(one, name) - 1) for one in some] or [float("nan")]
        within = sum(error <= bound for error in errors)
        yield f"{name}: median error {statistics.median(errors):.2%}; within {bound:.0%}: {within} of {len(some)}"
    if queues := [abs(one.queue - 1) for one in filled if one.overflows]:
        yield f"queue, where it overflowed: median error {statistics.median(queues):.1%}"
    yield f"runs: {statistics.mean(one.runs for one in outcomes):.1f} a twin"


def main() -> int:
    """Measure cases and print what came out."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--at", choices=("sender", "receiver"), default="sender")
    parser.add_argument("--json", type=Path, help="write each outcome there")
    given = parser.parse_args()
    outcomes = []
    for number in range(given.first, given.first + given.count):
        outcomes.append(measured(case(number), given.at))
        if not outcomes[-1].explains:
            print(f"not explained: {outcomes[-1]}", file=sys.stderr)
    print("\n".join(lines(outcomes)))
    if given.json:
        given.json.write_text(json.dumps([asdict(one) for one in outcomes], indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
