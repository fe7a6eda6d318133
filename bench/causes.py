"""Scenarios with known causes, and how often `vazao why` names one of them first.

python bench/causes.py              # 300 of them; prints how many, and each that was answered otherwise
python bench/causes.py --cases 40
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import vazao as vz
from vazao.causes import Answer, why

NEVER = "nothing"
"""Answer where none of the suspects matters."""


@dataclass(frozen=True)
class Case:
    """A scenario and what was put into it."""

    text: str
    causes: frozenset[str]


@dataclass(frozen=True)
class Way:
    """A path without queues: its rate in Mbit/s, and its round trip in seconds."""

    rate: int
    round_trip: float

    @property
    def quarter(self) -> str:
        """A quarter of the bandwidth-delay product, as a window."""
        return f'"{max(6000, round(self.rate * 1e6 * self.round_trip / 32))} B"'

    @property
    def loss(self) -> str:
        """Losses that leave a third of the rate (Mathis et al. 1997)."""
        p = (1.22 * 1448 * 8 / (self.rate * 1e6 / 3 * self.round_trip)) ** 2
        return f"{min(0.05, max(2e-4, p)):.6f}"


Table = dict[str, str]

AMPLE: Mapping[str, Table] = {
    "tcp": {"receive_buffer": '"100 MB"'},
    "quic": {"receive_buffer": '"100 MB"', "stream_window": '"50 MB"', "connection_window": '"60 MB"'},
    "sctp": {"receive_buffer": '"100 MB"'},
}
"""Windows of each transport that are no limit."""

CAUSES: Mapping[str, tuple[Callable[[Way], Table], Callable[[Way, str], Table]]] = {
    "receive window": (lambda _: {}, lambda way, kind: dict.fromkeys(AMPLE[kind], way.quarter)),
    "send buffer": (lambda _: {}, lambda way, _: {"send_buffer": way.quarter}),
    "random loss": (lambda way: {"loss": way.loss}, lambda *_: {}),
    "short queue": (lambda _: {"queue": '"2 packets"'}, lambda *_: {}),
    "other flows": (lambda _: {}, lambda *_: {}),
    # An acknowledgement of 52 bytes for two packets of 1500 takes a 58th of the rate: a third of that is there. Where
    # some were dropped, others would acknowledge as much.
    "return path": (
        lambda way: {"reverse.rate": f'"{way.rate * 1e3 / 170:.0f} kbps"', "reverse.queue": '"100000 packets"'},
        lambda *_: {},
    ),
}
"""Changes of the link and of the transport for each cause, by the names of the suspects; other flows are two more."""

UNKNOWN = {("send buffer", "quic")}
"""Causes that a transport does not have: a QUIC sender keeps what it is given."""


def case(seed: int) -> Case:
    """A random network with room for everything but up to three causes, each of which costs half of the rate."""
    draw = random.Random(seed)
    way = Way(draw.choice([10, 40, 100]), draw.choice([0.01, 0.03, 0.06]))
    kind = draw.choice(["tcp", "tcp", "quic", "sctp"])
    known = [name for name in CAUSES if (name, kind) not in UNKNOWN]
    causes = draw.sample(known, draw.choice([0, 1, 1, 1, 1, 2, 2, 3]))
    link = {"rate": f'"{way.rate} Mbps"', "delay": f'"{way.round_trip * 500:.0f} ms"', "queue": '"2 bdp"'}
    transport = {"kind": f'"{kind}"', **AMPLE[kind]}
    for of_link, of_transport in (CAUSES[name] for name in causes):
        link |= of_link(way)
        transport |= of_transport(way, kind)
    flow = f'[[flow]]\ntransport = {{ {_inline(transport)} }}\napp = "upload"\n'
    others = '[[flow]]\napp = "upload"\n' * (2 if "other flows" in causes else 0)
    network = f'[network]\ntopology = "point-to-point"\nlink = {{ {_inline(link)} }}\n'
    return Case(f'until = "20 s"\nseed = {seed}\n{network}{flow}{others}', frozenset(causes))


def _inline(table: Table) -> str:
    return ", ".join(f"{key} = {value}" for key, value in table.items())


def named(answer: Answer) -> str:
    """The cause that an answer names first."""
    if answer.hiding:
        return answer.hiding[0]
    return next(iter(answer.steps[0].removed)) if answer.steps else NEVER


def is_right(one: Case, answer: Answer) -> bool:
    """Whether the first named cause was put in, or none was and none is named."""
    return named(answer) in one.causes or (not one.causes and named(answer) == NEVER)


def ask(one: Case, folder: Path) -> Answer:
    """The answer to a case."""
    file = folder / "case.toml"
    file.write_text(one.text)
    experiment = vz.load(file)
    assert isinstance(experiment, vz.Experiment)
    return why(experiment)


def main() -> int:
    """Ask about cases, and count."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=300)
    parser.add_argument("--first", type=int, default=1, help="seed of the first case")
    arguments = parser.parse_args()
    right = 0
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(arguments.first, arguments.first + arguments.cases):
            one = case(seed)
            answer = ask(one, Path(folder))
            right += is_right(one, answer)
            if not is_right(one, answer):
                print(f"seed {seed}: {', '.join(sorted(one.causes)) or NEVER}, not {named(answer)}", flush=True)
    print(f"{right} of {arguments.cases} right: {100 * right / arguments.cases:.1f} %")
    return 0 if right >= 0.95 * arguments.cases else 1


if __name__ == "__main__":
    sys.exit(main())
