"""Runs one upload over one link on our TCP or on Linux's, both with Linux's defaults; and formats the results."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

import vazao as vz
from vazao import kernel

CONTROLS = (
    *("reno", "cubic", "vegas", "westwood", "scalable", "highspeed", "bic"),
    *("htcp", "hybla", "veno", "westwood-plus", "illinois", "yeah"),
    *("tcp-lp", "dctcp", "cdg", "bbr"),
)
"""Congestion controls that both stacks have."""

DRAWING = ("cdg",)
"""Controls that draw random numbers: a single run says nothing about them, even without loss."""


def ours(control: str) -> dict[str, Any]:
    """Settings that make our TCP behave like Linux's."""
    found = kernel.find()
    tick = f"{1000 / found.hz} ms" if found else "0 ms"
    return {"cc": control, "like": "linux", "tick": tick}


def theirs(control: str) -> dict[str, Any]:
    """Settings of the kernel: its defaults."""
    return {"cc": control, "stack": "linux"}


@dataclass(frozen=True)
class Outcome:
    """Outcome of a run."""

    completion_s: float
    retransmissions: int
    packets: int


def upload(
    network: vz.Network, size: str, settings: Mapping[str, Any], name: str, start: str | None = None, seed: int = 1
) -> Outcome:
    """Run one transfer; `name` identifies it in error messages."""
    flow = vz.flow(vz.upload(size), vz.tcp(**settings), start=start)
    try:
        row = vz.run(network, [flow], seed=seed).flows.to_dicts()[0]
    except vz.VazaoError as error:
        # Exceptions that cross processes must not carry the engine's own exception.
        raise RuntimeError(f"{name}: {error}") from None
    if not (row["completed"] and row["intact"]):
        raise RuntimeError(f"{name}: not every byte arrived")
    return Outcome(row["completion_s"], row["retransmissions"], row["packets_sent"])


def arguments(description: str | None) -> argparse.ArgumentParser:
    """Parser of the arguments that every comparison takes."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="runs at a time")
    parser.add_argument("--json", type=Path, help="where to keep the numbers")
    return parser


def keep(path: Path | None, rows: Any) -> None:
    """Write numbers to a file, if the user gave one."""
    if path:
        path.write_text(json.dumps(rows, indent=1) + "\n")


def lacks_kernel(console: Console) -> bool:
    """Whether there is no kernel to compare with; prints how to get one."""
    missing = kernel.find() is None
    if missing:
        console.print(kernel.missing(), markup=False, soft_wrap=True)
    return missing


def terminal() -> Console:
    """Console for tables: as wide as the terminal, or wide enough for them without one."""
    return Console(width=None if sys.stdout.isatty() else 140)


def percent(value: float) -> str:
    """Formats a percentage."""
    return f"{100 * value:+.2f} %"


def columns(title: str, *names: str) -> Table:
    """Empty table: text in the first column, numbers in the others."""
    table = Table(names[0], title=title, title_justify="left")
    for name in names[1:]:
        table.add_column(name, justify="right", no_wrap=True)
    return table
