"""A short `make fuzz`, and tests of the fuzzer itself: every check must be able to fail."""

from __future__ import annotations

import os
import signal
import tomllib
from collections import Counter
from random import Random
from threading import Timer
from typing import Any

import pytest

from fuzz import generate, invariants, mutate, registry, toml
from fuzz.case import FILE, TABLES, Case, judge, make, missing_place, wording_faults
from fuzz.shrink import shrink
from fuzz.worker import Worker
from vazao import _core
from vazao.scenario import load
from vazao.store import table
from vazao.study import catalogue

SCENARIO = """
[network]
topology = "point-to-point"
link = { rate = "10 Mbps", delay = "10 ms", loss = 0.02, queue = "20 packets" }

[[flow]]
app = { kind = "upload", size = "300 kB" }
transport = "tcp"
"""


@pytest.mark.parametrize(("kind", "cases"), [("valid", range(33, 100)), ("mutant", range(80)), ("study", range(1))])
def test_cases_of_every_kind_are_refused_plainly_or_run_to_a_true_end(kind: str, cases: range) -> None:
    sources, outcomes = mutate.sources(), Counter[str]()
    for seed in cases:
        case = make(kind, seed, sources)
        verdict = judge(case)
        assert verdict.wrong == (), f"{kind} {seed}:\n{case.text}"
        outcomes[verdict.outcome] += 1
    if kind == "valid":
        assert outcomes["run"] > 0.8 * len(cases), outcomes
    if kind == "mutant":
        assert min(outcomes["run"], outcomes["refused"]) > 0.05 * len(cases), outcomes


POINT_TO_POINT = '[network]\ntopology = "point-to-point"\n'
COUNTS = {
    "datagrams of a path": """link = { rate = "10 Mbps", delay = "5 ms" }
[[flow]]
app = { kind = "upload", size = "1 B" }
transport = { kind = "quic", multipath = true }""",
    "parity is data": """link = { rate = "150 kbps", delay = "5 ms", loss = { kind = "list", packets = [6, 8, 12] } }
[[flow]]
app = { kind = "messages", message = "1 kB", count = 10 }
transport = { kind = "quic", fec = 1 }""",
    "a slow start that never ended": """link = { rate = "10 Mbps", loss = { kind = "list", packets = [1] } }
[[flow]]
app = { kind = "upload", size = "1 B" }""",
    "bytes of a page": """link = { rate = "10 Mbps", delay = "5 ms" }
[[flow]]
app = { kind = "page", objects = 3, size = "5 kB", http = "1.1" }""",
}


@pytest.mark.parametrize("counted", COUNTS)
def test_counts_are_what_the_document_says(counted: str) -> None:
    rows, resolved = tables(POINT_TO_POINT + COUNTS[counted])
    assert invariants.violations(rows, resolved) == []


def tables(text: str) -> tuple[dict[str, Any], str]:
    scenario = load(text, file=FILE)
    outcome = _core.run(scenario)
    return {name: table(outcome, name).to_dicts() for name in TABLES}, scenario.json


def test_a_good_run_violates_nothing() -> None:
    assert invariants.violations(*tables(SCENARIO)) == []


@pytest.mark.parametrize(
    ("name", "column", "value"),
    [
        ("runs", "jain", 1.01),
        ("runs", "jain", 0.0),
        ("runs", "utilisation", float("nan")),
        ("flows", "packets_lost", 10**6),
        ("flows", "packets_sent", 10),
        ("flows", "packets_sent", 100_000),
        ("flows", "goodput_bps", 1e9),
        ("flows", "app_bytes", 299_999),
        ("flows", "intact", False),
        ("flows", "completed", False),
        ("flows", "failure", "gave up"),
        ("flows", "first_byte_s", 0.001),
        ("flows", "last_byte_s", 1e6),
        ("flows", "rtt_p50_s", 0.019),
        ("flows", "rtt_p95_s", 1e6),
        ("flows", "owd_p50_s", 0.009),
        ("flows", "retransmissions", 10**6),
        ("flows", "fast_retransmissions", 10**6),
        ("flows", "slow_start_lost", 10**6),
        ("flows", "handshake_s", 1e6),
        ("flows", "jitter_s", -1.0),
        ("paths", "packets_sent", 1),
        ("paths", "packets_lost", 10**6),
        ("paths", "path", 1),
        ("paths", "bytes", 1),
        ("links", "utilisation", 1.01),
        ("links", "packets", 1),
        ("links", "drops_queue", 10**6),
        ("links", "drops_loss", 10**6),
        ("links", "drops_early", 10**6),
        ("links", "bytes", 1),
        ("links", "queue_delay_mean_s", float("inf")),
    ],
)
def test_a_false_number_is_noticed(name: str, column: str, value: object) -> None:
    rows, resolved = tables(SCENARIO)
    assert rows[name][0][column] != value
    rows[name][0][column] = value
    assert invariants.violations(rows, resolved) != []


def test_a_sample_out_of_time_is_noticed() -> None:
    rows, resolved = tables('trace = ["cwnd"]\n' + SCENARIO)
    assert invariants.violations(rows, resolved) == []
    rows["samples"].reverse()
    assert invariants.violations(rows, resolved) != []


@pytest.mark.parametrize(
    ("message", "is_plain"),
    [
        (f"{FILE}:3: network.link.rate: 5 is not a rate", True),
        (f"part 'x', n = 1: {FILE}:3: network.link.rate: 5 is not a rate", True),
        ("network.link.rate: 5 is not a rate", False),
        (f"{FILE}:3: this is a defect", False),
        (f"{FILE}:3: called `Result::unwrap()` on an `Err` value", False),
        (f"{FILE}:3: name: Some(3) is none", False),
        (f"{FILE}:3: name: \x1b[2J", False),
        (f"{FILE}:3: name: {'x' * 100_000}", False),
    ],
)
def test_a_plain_message_names_the_file_and_the_key(message: str, is_plain: bool) -> None:
    assert (wording_faults(message) + missing_place(message) == []) == is_plain


UNDRAWN = {
    "a text",
    'a list of names such as ["r1", "r2"]',
    "a list of tables, each with at and rate",
    "a list of tables, each with at and delay",
}
"""Forms of parameters that the generator handles separately, or leaves to guests."""


def test_every_form_of_parameter_is_drawn() -> None:
    for entry in catalogue.entries():
        for parameter in entry.parameters:
            drawn = registry.value(Random(1), parameter)
            known = parameter.expected in UNDRAWN or entry.name in ("empirical", "list")
            assert (drawn is not None) or known, f"{entry.name}.{parameter.name}: {parameter.expected}"


def test_everything_registered_is_generated() -> None:
    text = "\n".join(toml.dump(generate.scenario(Random(seed))) for seed in range(1500))
    left_out = {"command", "schedule", "trace", "token-bucket", "delay-schedule", "delay-trace"}
    for kind in {entry.kind for entry in catalogue.entries()} - {"study", "scenario"}:
        for entry in registry.entries(kind):
            names = [f'"{name}"' for name in (entry.name, *entry.aliases)] + [f"{entry.name} = "]
            assert entry.name in left_out or any(name in text for name in names), f"{kind} {entry.name}"


def test_a_case_is_its_seed() -> None:
    sources = mutate.sources()
    for kind in ("valid", "mutant", "study"):
        assert make(kind, 3, sources) == make(kind, 3, sources) != make(kind, 4, sources)


def test_tables_survive_being_written() -> None:
    document = {"a b": 1, "x": [{"y": '\x7f\x00\u202e"\n'}], "t": {"n": [1.5, True, {}]}, "e": []}
    assert tomllib.loads(toml.dump(document)) == document


def test_a_reproducer_keeps_only_what_is_wrong() -> None:
    text = toml.dump(
        {"seed": 4, "network": {"topology": "path", "link": [{"rate": "1 Mbps", "loss": 1}]}, "flow": [{"a": 1}]}
    )
    small = shrink(text, lambda text: '"path"' in text and "loss" in text)
    assert tomllib.loads(small) == {"network": {"topology": "path", "link": [{"loss": 1}]}}
    assert shrink("good\n[[bad\nmore\n", lambda text: "[[bad" in text) == "[[bad\n"


def test_a_worker_that_dies_hangs_or_grows_is_a_finding() -> None:
    long = SCENARIO.replace("300 kB", "200 MB").replace('"10 Mbps"', '"1 Gbps"').replace(", loss = 0.02", "")
    case = Case("valid", 1, long)
    worker = Worker(wall=0.0)
    assert worker.judge(case).wrong == ("no answer in 0 s",)
    worker.close()
    worker = Worker(memory=1e6)
    assert "memory above" in worker.judge(case).wrong[0]
    worker.close()
    worker = Worker()
    assert worker.judge(Case("valid", 1, SCENARIO)).outcome == "run"
    Timer(0.1, os.kill, (worker._process.pid, signal.SIGABRT)).start()
    verdicts = (worker.judge(case) for _ in range(1000))
    assert any(wrong.startswith("the process died, exit code -6") for verdict in verdicts for wrong in verdict.wrong)
    worker.close()
