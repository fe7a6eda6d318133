"""Scenarios of one flow whose ends are Linux guests."""

from __future__ import annotations

from typing import Any

import pytest

from vazao import _core, kernel
from vazao.results import Result
from vazao.scenario import load

BUILT = kernel.find() is not None
needs_kernel = pytest.mark.skipif(not BUILT, reason="no Linux guest kernel: `vazao kernel build` makes one")

POINT_TO_POINT = """
[network]
topology = "point-to-point"
link = { rate = "RATE Mbps", delay = "DELAY ms", queue = "QUEUE packets", forward = { loss = LOSS } }

[[flow]]
app = APP
transport = { kind = "tcp", cc = "CC", stack = STACK }
"""

LINUX = """
[network]
topology = "point-to-point"
link = { rate = "10 Mbps", delay = "10 ms" }
[[flow]]
app = { kind = "upload", size = "10 kB" }
transport = { stack = "linux" }
"""


def scenario(
    *,
    rate: float = 10,
    rtt: float = 100,
    queue: int = 84,
    loss: str = "0.0",
    cc: str = "cubic",
    app: str = '{ kind = "upload", size = "10 MB" }',
    stack: str = '"linux"',
    seed: int = 1,
    more: tuple[tuple[str, object], ...] = (),
) -> _core.Scenario:
    text = POINT_TO_POINT
    words = {"RATE": rate, "DELAY": rtt / 2, "QUEUE": queue, "LOSS": loss, "APP": app, "CC": cc, "STACK": stack}
    for word, value in words.items():
        text = text.replace(word, str(value))
    return load(text, seed=seed, overrides=more)


def flow(result: Result, number: int = 0) -> dict[str, Any]:
    return result.flows.row(number, named=True)
