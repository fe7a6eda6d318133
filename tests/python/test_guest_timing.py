"""Linux guests with packets arbitrarily close together: no kernel panics, and runs repeat exactly.

A kernel is built once by `vazao kernel build`; without one these tests are skipped. `GUEST_RUNS` sets how many random
scenarios are tried (default: a few).
"""

from __future__ import annotations

import os
import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from vazao import kernel
from vazao.results import run_scenario
from vazao.scenario import load

pytestmark = pytest.mark.skipif(kernel.find() is None, reason="no Linux guest kernel: `vazao kernel build` makes one")

RUNS = int(os.environ.get("GUEST_RUNS", "16"))

FAST = """
[network]
topology = "point-to-point"
link = { rate = "RATE", delay = "1 ms", queue = "1 bdp", forward = { WIRE } }
[[flow]]
app = { kind = "upload", size = "10 MB" }
transport = { kind = "tcp", cc = "cubic", stack = "linux" }
"""


@pytest.mark.parametrize(
    ("rate", "wire"),
    [
        ("100 Gbps", ""),
        ("10 Gbps", ""),
        ("1 Gbps", 'jitter = "1 ms"'),
        ("1 Gbps", 'rate = { trace = "cellular" }'),
    ],
)
def test_packets_that_come_close_together_arrive(rate: str, wire: str) -> None:
    """Packets less than 256 ns apart, the time a guest takes to read its clock, made its kernel panic."""
    row = run_scenario(load(FAST.replace("RATE", rate).replace("WIRE", wire))).flows.row(0, named=True)
    assert (row["app_bytes"], row["completed"], row["intact"]) == (10_000_000, True, True)


DELAYED = """
seed = 1
until = "2 s"
[network]
topology = "dumbbell"
bottleneck = { rate = "189914336 bit/s", jitter = { spread = "100 ms" } }
access = [{ rate = "32901.3 Mbps" }]
[[flow]]
app = { kind = "packets", duration = "363596912 ns", idt = "100 ms" }
transport = { kind = "sctp", stack = "linux" }
[[flow]]
app = "download"
transport = { kind = "tcp", stack = "linux" }
"""


def test_packets_arrive_while_a_guest_waits_in_a_call() -> None:
    """Some system calls take a guest 1 us; it was made to run for packets that arrived meanwhile as if it were idle."""
    flows = run_scenario(load(DELAYED)).flows
    assert flows["app_bytes"].min() > 0


def drawn(seed: int) -> str:
    """Random scenario with guests: fast and slow links, every impairment, every transport, one stack or two."""
    draw = random.Random(seed)

    def wire() -> str:
        ordered = draw.choice(["true", "false"])
        kinds = [
            f'jitter = {{ spread = "{draw.choice([1, 20, 300, 1000])} us", keeps_order = {ordered} }}',
            f"duplicate = {draw.choice([0.001, 0.05, 0.5])}",
            f"reorder = {draw.choice([0.001, 0.05])}",
            f"loss = {draw.choice([0.0001, 0.005])}",
            'rate = { trace = "cellular" }',
        ]
        return ", ".join(draw.sample(kinds, draw.randint(0, 3)))

    def path() -> str:
        rate = draw.choice(["5 Mbps", "100 Mbps", "1 Gbps", "10 Gbps", "40 Gbps", "100 Gbps"])
        delay = draw.choice([0.01, 0.1, 1, 5])
        queue = draw.choice(["20 packets", "1 bdp", "2 bdp"])
        both = f"forward = {{ {wire()} }}, reverse = {{ {wire()} }}"
        return f'{{ rate = "{rate}", delay = "{delay} ms", queue = "{queue}", {both} }}'

    kind = draw.choice(["tcp", "tcp", "udp", "sctp", "mptcp"])
    stack = draw.choice(['"linux"', '"linux"', '{ client = "linux" }', '{ server = "linux" }'])
    stack = '"linux"' if kind == "udp" else stack
    more = ', payload = 1000, rate = "900 Mbps"' if kind == "udp" else ""
    more += f', moderation = "{draw.choice([0, 0, 5, 50])} us"'
    app = "upload" if kind == "udp" else draw.choice(["upload", "download"])
    size = draw.choice([1, 30, 1000, 4000])
    network = (
        f'topology = "multipath"\npath = [{path()}, {path()}]'
        if kind in ("mptcp", "sctp")
        else f'topology = "point-to-point"\nlink = {path()}'
    )
    loss = draw.choice([0, 0, 0.01]) if kind != "sctp" or stack == '"linux"' else 0
    more += f', offloads = "{draw.choice(["none", "tcp", "all"])}"'
    more += f", netem = {{ loss = {loss} }}" if loss else ""
    flow = f"""
[[flow]]
app = {{ kind = "{app}", size = "{size} kB" }}
transport = {{ kind = "{kind}", stack = {stack}{more} }}
"""
    return f'until = "20 s"\n[network]\n{network}\n{flow * draw.choice([1, 1, 3])}'


def test_random_scenarios_kill_no_kernel_and_are_the_same_again(tmp_path: Path) -> None:
    def captured(seed: int, turn: int) -> dict[str, bytes]:
        directory = tmp_path / f"{seed}-{turn}"
        flows = run_scenario(load(drawn(seed), seed=seed), pcap=directory).flows
        assert flows["intact"].all(), drawn(seed)
        content = {file.name: file.read_bytes() for file in directory.iterdir()}
        for file in directory.iterdir():
            file.unlink()
        return content

    def same(seed: int) -> bool:
        return captured(seed, 0) == captured(seed, 1)

    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        differing = [seed for seed, equal in enumerate(pool.map(same, range(RUNS))) if not equal]
    assert not differing
