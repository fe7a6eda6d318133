"""Writes the numbers of docs/cases.md: what `vazao why` says of each scenario in docs/cases, and what changes bring.

.venv/bin/python docs/cases.py
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl
from generate import filled

import vazao as vz
from vazao.causes import Answer, sentence, why
from vazao.units import quantity

DOCS = Path(__file__).parent
COMMAND = ".venv/bin/python docs/cases.py"

Changes = Mapping[str, Any]
"""Keys of a scenario with other values."""

TRANSPORT = "flow.0.transport"
DEVIATION = "network.link.jitter.deviation"


@dataclass(frozen=True)
class Case:
    """A public report beside which a scenario is set."""

    report: str
    """Name of the report in the table of all."""
    measured: str
    """Goodput that it reports."""
    beside: Mapping[str, Changes] = field(default_factory=dict)
    """Words for each change of the scenario that is run beside it."""
    again: Mapping[str, Changes] = field(default_factory=dict)
    """Words for each change of the scenario that `vazao why` is asked about too."""


def windows(size: str) -> Changes:
    """Receive windows and buffers of a QUIC connection, all of one size."""
    return {f"{TRANSPORT}.{key}": size for key in ("stream_window", "connection_window", "receive_buffer")}


def library(control: str, **settings: str) -> Changes:
    """The library itself in the place of our QUIC."""
    return {f"={TRANSPORT}": {"kind": "quic", "stack": "quinn", "cc": control, **settings}}


def alone(interface: str) -> Changes:
    """Single-path TCP from one of the two interfaces."""
    tcp = {"kind": "tcp", "cc": "cubic", "receive_buffer": "6 MB", "send_buffer": "6 MB"}
    return {f"={TRANSPORT}": tcp, "flow.0.client": interface}


QUINN = {
    "windows of 64 MB": windows("64 MB"),
    "BBR": {f"{TRANSPORT}.cc": "bbr"},
    "no pacing": {f"{TRANSPORT}.pacing": False},
    "an initial window of 1000 packets": {f"{TRANSPORT}.initial_window": 1000},
    "quinn itself": library("quinn-cubic", stream_window="1.25 MB", connection_window="1 GB"),
    "quinn itself, a window of 64 MB": library("quinn-cubic", stream_window="64 MB", connection_window="1 GB"),
}

CASES: Mapping[str, Case] = {
    "quinn-1409-50ms": Case("quinn 1409, 50 ms", "80 Mbit/s (10 MB/s)", QUINN),
    "quinn-1409-200ms": Case("quinn 1409, 200 ms", "21 Mbit/s (2.62 MB/s)", QUINN),
    "quinn-1553": Case("quinn 1553, 5 ms", "667.6 Mbit/s (79.59 MiB/s)", QUINN),
    "s2n-quic-1320": Case(
        "s2n-quic 1320, 250 ms",
        "below 20 Mbit/s",
        {
            "a send buffer of 64 MB": {f"{TRANSPORT}.send_buffer": "64 MB"},
            "20 ms in place of 250": {"network.link.reverse.delay": "20 ms"},
        },
    ),
    "mptcp-278": Case(
        "mptcp 278",
        "24.8 Mbit/s",
        {"TCP over the first path": alone("a.1"), "TCP over the second path": alone("a.2")},
    ),
    "tcp-in-udp-10": Case(
        "tcp-in-udp 10",
        "120 Mbit/s",
        {"a limit of 10 000 packets": {"network.link.queue.limit": "10000 packets"}},
    ),
    "pion-sctp-445": Case(
        "pion/sctp 445",
        "no rate",
        {
            "no reordering": {"network.link.reorder": 0},
            "no loss": {"network.link.loss": 0},
            "neither": {"network.link.reorder": 0, "network.link.loss": 0},
            "fast retransmissions after ten reports": {f"{TRANSPORT}.missing_reports": 10},
        },
    ),
    "libdatachannel-409": Case(
        "libdatachannel 409, 52 ms",
        "52 Mbit/s (51 with buffers of 5 MB)",
        {"buffers of 5 MB": {f"{TRANSPORT}.receive_buffer": "5 MB", f"{TRANSPORT}.send_buffer": "5 MB"}},
    ),
    "moq-2432": Case(
        "moq 2432, ± 30 ms",
        "no rate",
        {
            "the same jitter, in order": {"network.link.jitter.keeps_order": True},
            "thresholds that adapt, reductions undone": {
                f"{TRANSPORT}.reordering": "adaptive",
                f"{TRANSPORT}.undo": True,
            },
            "quinn itself, its BBR": library("quinn-bbr"),
            "quinn itself, its BBR, ± 12 ms": library("quinn-bbr") | {DEVIATION: "6.93 ms"},
            "quinn itself, its BBR, ± 6 ms": library("quinn-bbr") | {DEVIATION: "3.46 ms"},
            "quinn itself, its CUBIC, ± 6 ms": library("quinn-cubic") | {DEVIATION: "3.46 ms"},
        },
        {"a link of 20 Mbit/s": {"network.link.rate": "20 Mbps"}},
    ),
}
"""Case of each scenario of docs/cases, in the order of the document."""


def rate(bps: float) -> str:
    """A rate as the answers have it."""
    return quantity(bps, "bit/s")


def experiment(name: str) -> vz.Experiment:
    """The scenario of a case."""
    loaded = vz.load(DOCS / "cases" / f"{name}.toml")
    assert isinstance(loaded, vz.Experiment)
    return loaded


def goodput(asked: vz.Experiment, seeds: int) -> float:
    """Mean goodput of the flow in bit/s under the first seeds."""
    first = asked.scenario.seed
    rows = [asked.set({"seed": first + more}).run().flows for more in range(seeds)]
    return float(pl.concat(rows)["goodput_bps"].mean())


def told(name: str, answer: Answer) -> list[str]:
    """Lines about a case: the answer, and a table of what was reported, what ours has, and what changes bring."""
    case, asked = CASES[name], experiment(name)
    rows = [("reported", case.measured), (f"`docs/cases/{name}.toml`", rate(answer.goodput_bps))]
    rows += [(words, rate(goodput(asked.set(changes), answer.seeds))) for words, changes in case.beside.items()]
    table = [f"| {words} | {found} |" for words, found in rows]
    again = [f"> With {words}: {sentence(why(asked.set(changes)))}" for words, changes in case.again.items()]
    said = [line for told in (f"> {sentence(answer)}", *again) for line in (told, "")]
    return [*said, "| | goodput |", "| --- | --- |", *table]


def row(name: str, answer: Answer) -> str:
    """Row of the table of all cases."""
    case, causes = CASES[name], answer.hiding or [cause for taken in answer.taken[:1] for cause in sorted(taken)]
    named = ", ".join(answer.titles[cause] for cause in causes) or "nothing"
    after = rate(answer.steps[0].goodput_bps) if answer.steps else "–"
    cells = (f"[{case.report}](#{anchor(name)})", case.measured, rate(answer.goodput_bps), named, after)
    return f"| {' | '.join(cells)} |"


def anchor(name: str) -> str:
    """Heading under which the document has a case: its name without what tells runs of one report apart."""
    return name.removesuffix("-50ms").removesuffix("-200ms")


def overview(rows: Sequence[str]) -> list[str]:
    """Lines of the table of all cases."""
    head = "| report | reported | here | `vazao why` names first | with that gone |"
    return [head, "| --- | --- | --- | --- | --- |", *rows]


def main() -> None:
    """Rewrite the numbers of the document."""
    path = DOCS / "cases.md"
    text, answers = path.read_text(encoding="utf-8"), {name: why(experiment(name)) for name in CASES}
    text = filled(text, "all", overview([row(*one) for one in answers.items()]), COMMAND)
    for name, answer in answers.items():
        text = filled(text, name, told(name, answer), COMMAND)
    path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
