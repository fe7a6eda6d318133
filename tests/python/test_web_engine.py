"""The engine in a web page and the engine in Python give bit-identical rows for the same scenario."""

from __future__ import annotations

import math
import random
from typing import Any

import polars as pl
import pytest

from engines import ENGINE, answers
from vazao import _core
from vazao.scenario import built_in_scenarios

pytestmark = [
    pytest.mark.skipif(not ENGINE.exists(), reason="the engine for pages is not built (make wasm)"),
]

APART = {"run_id", "wall_s", "kernel", "kernel_config", "kernel_sha256", "kernel_hz"}
"""Columns that may differ: the run's identity, which includes the engine's version, guest kernels and elapsed time."""

CONTROLS = ["reno", "cubic", "vegas", "westwood", "htcp", "illinois", "ledbat", "bbr", "bbr3", "copa", "cdg", "yeah"]
QUEUES = [
    '"40 packets"',
    '"1 bdp"',
    '"codel"',
    '"fq-codel"',
    '"pie"',
    '{ kind = "red", min = "8 packets", max = "30 packets" }',
]
TRANSPORTS = [
    'kind = "tcp", cc = "{cc}"',
    'kind = "tcp", cc = "{cc}", recovery = "sack", slow_start = "hystart++"',
    'kind = "quic", cc = "{cc}", streams = 4',
    'kind = "sctp", streams = 4',
    'kind = "dccp"',
]
APPS = [
    '"upload"',
    '{ kind = "upload", size = "300 kB" }',
    '{ kind = "on-off", rate = "3 Mbps" }',
    '{ kind = "messages", count = 40 }',
]
MULTIPATH = ["lowest-rtt", "round-robin", "blest", "ecf", "daps", "redundant", "adaptive", "forward-prediction"]


def flow(dice: random.Random) -> str:
    transport, app = dice.choice(TRANSPORTS).format(cc=dice.choice(CONTROLS)), dice.choice(APPS)
    if dice.random() < 0.15:
        transport, app = 'kind = "udp", rate = "3 Mbps"', '"upload"'
    return f'[[flow]]\nstart = "{dice.randrange(400)} ms"\napp = {app}\ntransport = {{ {transport} }}\n'


def two_flows(dice: random.Random) -> str:
    loss = dice.choice(["", ", loss = 0.01", ', loss = { kind = "gilbert-elliott", p = 0.01, r = 0.3 }'])
    jitter = dice.choice(["", ', jitter = { spread = "3 ms", distribution = "normal" }', ", reorder = 0.01"])
    flows = "".join(flow(dice) for _ in range(2))
    return (
        f'seed = {dice.randrange(1000)}\nuntil = "4 s"\n[network]\ntopology = "dumbbell"\npairs = 2\n'
        'access = { rate = "50 Mbps", delay = "3 ms" }\n'
        f'bottleneck = {{ rate = "{dice.randrange(2, 12)} Mbps", delay = "{dice.randrange(2, 60)} ms", '
        f"queue = {dice.choice(QUEUES)}{loss}{jitter} }}\n{flows}"
    )


def two_paths(dice: random.Random) -> str:
    paths = ", ".join(
        f'{{ rate = "{dice.randrange(1, 9)} Mbps", delay = "{dice.randrange(1, 80)} ms", queue = "60 packets", '
        "loss = 0.005 }"
        for _ in range(2)
    )
    transport = dice.choice(
        ['kind = "sctp", cmt = true', f'kind = "mptcp", cc = "olia", scheduler = "{dice.choice(MULTIPATH)}"']
    )
    return (
        f'seed = {dice.randrange(1000)}\nuntil = "6 s"\n[network]\ntopology = "multipath"\npath = [{paths}]\n'
        f'[[flow]]\napp = {{ kind = "upload" }}\ntransport = {{ {transport} }}\n'
    )


def at_random(count: int) -> list[str]:
    """Random scenarios: seven of ten have two flows and one bottleneck, the others two paths."""
    dice = random.Random(7)
    return [two_paths(dice) if nth % 10 >= 7 else two_flows(dice) for nth in range(count)]


BUILT_IN = {name: path.read_text(encoding="utf-8") for name, path in built_in_scenarios().items()}


@pytest.fixture(scope="module")
def told() -> dict[str, dict[str, Any]]:
    return dict(zip(BUILT_IN, answers(list(BUILT_IN.values())), strict=True))


def plain(value: Any) -> Any:
    """A value as in JSON, which has no infinite numbers."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def differences(text: str, answer: dict[str, Any]) -> list[tuple[str, str, Any, Any]]:
    """Values that a page and Python compute differently: table, column, Python's value and the page's."""
    assert "error" not in answer, answer["error"]
    outcome = _core.run(_core.load(text))
    wrong = []
    for table in ("runs", "flows", "paths", "links", "samples"):
        native = pl.DataFrame(outcome.table(table)).to_dict(as_series=False)
        page = answer["tables"][table]
        assert page.keys() | APART == native.keys() | APART
        wrong += [
            (table, column, mine, theirs)
            for column in native.keys() - APART
            for mine, theirs in zip(native[column], page[column], strict=True)
            if plain(mine) != theirs
        ]
    return wrong


@pytest.mark.parametrize("name", BUILT_IN)
def test_a_page_computes_what_python_computes(name: str, told: dict[str, dict[str, Any]]) -> None:
    assert differences(BUILT_IN[name], told[name]) == []


@pytest.mark.process
def test_a_page_computes_a_thousand_random_scenarios_as_python_does() -> None:
    texts = at_random(1000)
    hops = 0
    for first in range(0, len(texts), 50):
        batch = texts[first : first + 50]
        for text, answer in zip(batch, answers(batch), strict=True):
            assert differences(text, answer) == [], text
            hops += sum(answer["tables"]["runs"]["packet_hops"])
    # Packets have moved: equality of empty tables would prove nothing.
    assert hops > 1000 * 1000


def test_what_is_wrong_is_told_alike() -> None:
    for text in ("until = 3", '[network]\ntopology = "dumbell"\n', "a = [", "x\n"):
        (answer,) = answers([text])
        with pytest.raises(_core.ScenarioError) as native:
            _core.load(text)
        assert answer["error"]["line"] == native.value.line
        assert answer["error"]["problem"] == native.value.problem
