"""ns-2 as a stack for SCTP: translation of scenarios, refusals, and the results of the installed ns-2."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from test_ns2_stack import HOSTILE, LINE
from tools import needs
from vazao import _core, ns2
from vazao.errors import ScenarioError
from vazao.ns2 import script, translation
from vazao.results import Result, run_scenario
from vazao.scenario import load

pytestmark = pytest.mark.study

SCENARIO = """
until = "300 s"

[network]
topology = "multipath"
path = [
    { rate = "45 Mbps", delay = "24 ms", queue = "1000 packets", loss = 0.01 },
    { rate = "45 Mbps", delay = "24 ms", queue = "1000 packets", loss = 0.05 },
]

[[flow]]
app = { kind = "upload", size = "2 MiB", message = "1452 B" }

[flow.transport]
kind = "sctp"
stack = "ns2"
cmt = true
semantics = "rfc2960"
window_unit = "data"
initial_window = "4332 B"
initial_ssthresh = "64 KiB"
missing_reports = 3
fast_recovery = "per-window"
fast_after_timeout = false
path_choice = "round-robin"
delayed_first_sack = true
max_burst = 0
receive_buffer = "16 MB"
"""
"""Scenario of an association with CMT, as ns-2 supports it."""

T = "flow.0.transport."

ROUND_TRIP = 0.05
"""Round-trip time in seconds: 48 ms, plus the transmission time of half a dozen packets."""

PLAIN = [
    (T + "cmt", False),
    (T + "semantics", "rfc4960"),
    (T + "fast_recovery", "per-association"),
    (T + "fast_after_timeout", True),
    (T + "delayed_first_sack", False),
]
"""Settings of an association without CMT."""

Overrides = Sequence[tuple[str, object]]


def losing(*packets: int) -> str:
    """Scenario in which the first path loses these packets of the client's, and nothing else is lost."""
    lost = f', forward = {{ loss = {{ kind = "list", packets = {list(packets)} }} }}' if packets else ""
    return SCENARIO.replace(", loss = 0.01", lost).replace(", loss = 0.05", "")


def told(*overrides: tuple[str, object], scenario: str = SCENARIO) -> list[str]:
    """Lines of the script that depend on the scenario."""
    return list(script.calls(translation.translate(load(scenario, overrides=overrides))))


def run(*overrides: tuple[str, object], scenario: str = SCENARIO, stack: str = "ns2") -> Result:
    return run_scenario(load(scenario, overrides=[(T + "stack", stack), *overrides]))


def flow(*overrides: tuple[str, object], scenario: str = SCENARIO, stack: str = "ns2") -> dict[str, Any]:
    return run(*overrides, scenario=scenario, stack=stack).flows.row(0, named=True)


def both(*overrides: tuple[str, object], scenario: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Rows of the flow: ns-2's, then ours."""
    return flow(*overrides, scenario=scenario), flow(*overrides, scenario=scenario, stack="vazao")


# ---- The script ----------------------------------------------------------------------------------------------------


def settings(line: str) -> dict[str, float]:
    words = re.search(r"\{([^{}]*)\}", line)[1].split()  # type: ignore[index]
    return dict(zip(words[::2], map(float, words[1::2]), strict=True))


def test_an_association_becomes_calls_with_numbers() -> None:
    """Each interface is a node; 2 MiB are 1445 chunks of 1452 bytes, which ns-2's windows and buffers count as 1468."""
    lines = told()
    assert lines[:5] == [
        "hosts 4",
        "way 0 2 45000000.0 0.024 1000",
        "way 2 0 45000000.0 0.024 1000",
        "way 1 3 45000000.0 0.024 1000",
        "way 3 1 45000000.0 0.024 1000",
    ]
    heads = [re.sub(r" \d+ \{\}", " SEED {}", line) for line in lines[5:9]]
    assert heads == [
        "lose 0 0 2 0.01 SEED {}",
        "lose 1 2 0 0.01 SEED {}",
        "lose 2 1 3 0.05 SEED {}",
        "lose 3 3 1 0.05 SEED {}",
    ]
    assert len({line.split()[5] for line in lines[5:9]}) == 4
    assert lines[9].startswith("association 0.0 2097152 1445 Agent/SCTP/CMT {")
    assert lines[9].endswith(" {{0 2 2 0 0.010000000000000009} {1 3 3 1 0.050000000000000044}}")
    assert settings(lines[9]) == {
        "eCmtRtxPolicy_": 1,
        "initialCwnd_": 2,
        "useCmtReordering_": 1,
        "useCmtCwnd_": 1,
        "useCmtDelAck_": 1,
        "useCmtPF_": 0,
        "initialRwnd_": round(16e6 * 1468 / 1452),
        "initialSsthresh_": round(65536 * 1468 / 1452),
        "initialSwnd_": 0,
        "fastRtxTrigger_": 3,
        "useDelayedSacks_": 1,
        "initialRto_": 3,
        "minRto_": 1,
        "maxRto_": 60,
        "sackDelay_": 0.2,
        "pathMaxRetrans_": 5,
        "associationMaxRetrans_": 10,
        "maxInitRetransmits_": 8,
        "heartbeatInterval_": 30,
        "useMaxBurst_": 0,
    }
    assert lines[10:] == ["go 300.0 0.01 1.0 2"]
    assert all(LINE.fullmatch(line) for line in lines), lines


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        ([(T + "retransmission", "asap")], "eCmtRtxPolicy_ 0 "),
        ([(T + "retransmission", "ssthresh")], "eCmtRtxPolicy_ 2 "),
        ([(T + "retransmission", "loss-rate")], "eCmtRtxPolicy_ 3 "),
        ([(T + "retransmission", "cwnd")], "eCmtRtxPolicy_ 4 "),
        ([(T + "semantics", "rfc4960")], "initialCwnd_ 4 "),
        ([(T + "sfr", False), (T + "missing_in_recovery", False)], "useCmtReordering_ 0 "),
        ([(T + "cwnd_growth", "rfc4960")], "useCmtCwnd_ 0 "),
        ([(T + "dac", False)], "useCmtDelAck_ 0 "),
        ([(T + "delayed_sack", 1)], "useDelayedSacks_ 0 "),
        ([(T + "heartbeat", "0 s")], "heartbeatInterval_ 0 "),
        ([(T + "send_buffer", "1452 kB")], "initialSwnd_ 1468000 "),
        ([(T + "initial_ssthresh", "auto")], "initialSsthresh_ 16176309 "),
        ([(T + "min_rto", "200 ms")], "minRto_ 0.2 "),
        ([(T + "multihomed", False)], " {{0 2 2 0 0.010000000000000009}}"),
        ([("flow.0.start", "1500 ms")], "association 1.5 "),
        (PLAIN, "association 0.0 2097152 1445 Agent/SCTP {initialCwnd_ 4 rtxToAlt_ 2 initialRwnd_ "),
        ([*PLAIN, (T + "retransmission", "same")], "rtxToAlt_ 0 "),
    ],
)
def test_a_setting_becomes_ns2s_own_word(overrides: Overrides, words: str) -> None:
    assert words in next(line for line in told(*overrides) if line.startswith("association"))


def test_losses_become_error_models() -> None:
    """Packets of a list count from 1 here, from 0 in ns-2; seeds depend on the run's seed and the direction."""
    listed = told(scenario=losing(20, 7, 20))
    assert re.fullmatch(r"lose 0 0 2 0\.0 \d+ \{6 19\}", listed[5])
    assert listed[6].startswith("association")
    one, other = ([line for line in told(("seed", seed)) if line.startswith("lose")] for seed in (1, 2))
    assert not {line.split()[5] for line in one} & {line.split()[5] for line in other}
    assert one == [line for line in told(("seed", 1), (T + "retransmission", "cwnd")) if line.startswith("lose")]


CHAINS = """[network]
topology = "custom"
hosts = ["exit", "puts.b"]
routers = ["exec"]
link = [
    { from = "exit", to = "exec", name = "x", rate = "10 Mbps", delay = "5 ms", queue = "20 packets" },
    { from = "exec", to = "puts.b", name = "y", rate = "10 Mbps", delay = "5 ms", queue = "20 packets" },
    { from = "exit", to = "puts.b", name = "z", rate = "10 Mbps", delay = "5 ms", queue = "20 packets" },
]
"""


def of(network: str) -> str:
    return re.sub(r"\[network\].*?\n\]\n", network, SCENARIO, flags=re.DOTALL)


def test_paths_may_have_routers_and_names_do_not_pass_through() -> None:
    lines = list(script.calls(translation.translate(load(of(CHAINS)))))
    assert lines[0] == "hosts 5"
    assert lines[-2].endswith(" {{0 2 4 4 0.0} {1 3 3 1 0.0}}")
    assert all(LINE.fullmatch(line) and not re.search("exec|exit|puts", line) for line in lines), lines


@pytest.mark.parametrize(
    "overrides", [[("name", HOSTILE)], [(T + "kernel", HOSTILE)], [(T + "module", {"tcp_cubic.hystart": "[exit]"})]]
)
def test_nothing_that_a_stranger_writes_gets_into_a_script(overrides: Overrides) -> None:
    assert told(*overrides) == told()


# ---- Refusals ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        (T + "semantics", "rfc9260", "transport.semantics: rfc9260 has no counterpart in ns-2; write rfc2960, rfc4960"),
        (
            T + "retransmission",
            "alternate",
            "alternate has no counterpart in ns-2; write asap, same, ssthresh, loss-rate, cwnd",
        ),
        (T + "cwnd_growth", "gap-acked", "cwnd_growth: gap-acked has no counterpart in ns-2; write rfc4960, cuc-v2"),
        (T + "fast_recovery", "per-path", 'fast_recovery: per-path has no counterpart in ns-2; write "per-window"'),
        (T + "window_unit", "packet", 'window_unit: packet has no counterpart in ns-2; write "data"'),
        (T + "initial_window", "8 kB", 'initial_window: 8 kB has no counterpart in ns-2; write "4332 B"'),
        (T + "delayed_sack", 3, "delayed_sack: 3 has no counterpart in ns-2; write 1 or 2"),
        (T + "max_burst", 8, "max_burst: 8 has no counterpart in ns-2; write 0"),
        (T + "heartbeat", "500 ms", "heartbeat: 0.5 s has no counterpart in ns-2; write a whole number of seconds"),
        (T + "pf_retries", 0, "pf_retries: 0 has no counterpart in ns-2; write nothing there"),
        (T + "mtu", 1400, "transport.mtu: 1400 has no counterpart in ns-2; write 1500"),
        (T + "nr_sack", True, "transport.nr_sack: true has no counterpart in ns-2; write false"),
        (T + "streams", 2, "transport.streams: 2 has no counterpart in ns-2; write 1"),
        (T + "cc", "cubic", 'transport.cc.kind: cubic has no counterpart in ns-2; write "sctp"'),
        (T + "sfr", False, "transport.missing_in_recovery: "),
        (
            T + "receive_buffer",
            "1 MiB",
            "receive_buffer: 1.048576 MB has no counterpart in ns-2; write one that holds all",
        ),
        (T + "receive_buffer", "3 GB", "receive_buffer: 3 GB has no counterpart in ns-2"),
        (T + "initial_ssthresh", "3 GB", "initial_ssthresh: 3 GB has no counterpart in ns-2; write 2"),
        (
            "flow.0.app",
            {"kind": "download", "size": "1 MB"},
            'flow.0.app.kind: download has no counterpart in ns-2; write "upload"',
        ),
        ("flow.0.app.message", "100 B", 'flow.0.app.message: 100 B has no counterpart in ns-2; write "1452 B"'),
        (
            "flow.0.app.read_rate",
            "8 Mbps",
            "flow.0.app.read_rate: 8 Mbps has no counterpart in ns-2; write nothing there",
        ),
        (
            "network.path.0.loss",
            {"kind": "gilbert-elliott", "p": 0.01, "r": 0.1},
            "network, path1, forward.loss.kind: gilbert-elliott has no counterpart in ns-2; write bernoulli, list",
        ),
        (
            "network.path.0.loss",
            {"kind": "bernoulli", "p": 0.01, "unit": "train"},
            'network, path1, forward.loss.unit: train has no counterpart in ns-2; write "packet"',
        ),
        ("network.path.0.outages", [{"at": "1 s", "for": "1 s"}], "network, path1, forward.outages: "),
        ("trace", ["rtt"], "trace: rtt has no counterpart in ns-2; write cwnd, ssthresh"),
    ],
)
def test_what_ns2_has_no_counterpart_for_is_refused(key: str, value: object, message: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        load(SCENARIO, file="mine.toml", overrides=[(key, value)])
    assert str(refused.value).startswith("mine.toml: ")
    assert message in str(refused.value)
    assert f"{refused.value.key}: " in str(refused.value)


def test_an_upload_has_a_size() -> None:
    with pytest.raises(ScenarioError, match=r"flow\.0\.app\.size: an upload without a size has no counterpart in ns-2"):
        load(SCENARIO.replace(', size = "2 MiB"', ""))


def test_an_association_is_alone_in_its_run() -> None:
    second = SCENARIO + SCENARIO[SCENARIO.index("[[flow]]") :]
    with pytest.raises(
        ScenarioError, match="flow: another flow beside one over sctp has no counterpart in ns-2; write one"
    ):
        load(second)


def test_paths_may_not_meet() -> None:
    """Paths share one interface, or a second link behind the router from two interfaces that arrive there."""
    one = CHAINS.replace('from = "exit", to = "puts.b"', 'from = "exit", to = "exec"')
    link = '{ from = "exec", to = "puts.b", name = "w", rate = "10 Mbps", delay = "5 ms", queue = "20 packets" },'
    for network in (one, one.replace("\n]\n", f"\n    {link}\n]\n")):
        with pytest.raises(ScenarioError, match=r"network: paths that meet.* in ns-2; write paths that share no link"):
            load(of(network))


def test_ns2_must_play_both_sides() -> None:
    with pytest.raises(ScenarioError, match='ns-2 plays both sides of a flow; write stack = "ns2"'):
        load(SCENARIO, overrides=[(T + "stack", {"client": "ns2", "server": "vazao"})])
    with pytest.raises(ScenarioError, match='there is no mptcp with stack "ns2" yet'):
        load(SCENARIO, overrides=[("flow.0.transport", {"kind": "mptcp", "stack": "ns2"})])


# ---- ns-2 itself ---------------------------------------------------------------------------------------------------


def traced(name: Path, *arguments: object) -> dict[str, float]:
    """Counts and times from the trace of an independent script: `+` a packet leaves a node, `r` one arrives."""
    tcl = Path(__file__).with_name("ns2_association.tcl")
    subprocess.run(["ns", str(tcl), str(name), *map(str, arguments)], check=True, timeout=120)
    arrived: set[int] = set()
    left: set[int] = set()
    result = {"sent": 0, "again": 0, "needless": 0, "first": 0.0, "last": 0.0}
    for line in name.read_text().splitlines():
        what, at, source, target, _, _, flags, *_, tsn, _, _, _ = line.split()
        is_data, number = flags[7] == "D", int(tsn)
        if what == "+" and source in ("2", "4"):
            result["sent"] += 1
            result["again"] += is_data and number in left
            left |= {number} if is_data else set()
            result["first"] = result["first"] or (float(at) if is_data else 0.0)
        elif what == "r" and target in ("3", "5") and is_data:
            result["needless"] += number in arrived
            arrived.add(number)
            if len(arrived) == 1445:
                result["last"] = float(at)
                return result
    raise AssertionError("the data did not arrive")


@needs("ns")
@pytest.mark.parametrize(
    ("policy", "number"), [("same", 1), ("asap", 0), ("cwnd", 4), ("ssthresh", 2), ("loss-rate", 3)]
)
@pytest.mark.parametrize("seed", [1, 2])
def test_counts_and_times_equal_those_of_an_independent_script(
    policy: str, number: int, seed: int, tmp_path: Path
) -> None:
    """An independent script with the same losses gives the same counts, and times equal to the trace's microseconds."""
    overrides = [(T + "retransmission", policy), ("seed", seed)]
    ways = translation.translate(load(SCENARIO, overrides=overrides)).ways
    seeds = [way.loss.seed for way in ways if way.loss]
    theirs = traced(tmp_path / "trace", 2 * 2**20, number, 0.01, 0.05, *seeds, 1 + seed)
    ours = flow(*overrides)
    assert ours["completed"]
    assert [ours[name] for name in ("packets_sent", "retransmissions", "duplicates")] == [
        theirs["sent"],
        theirs["again"],
        theirs["needless"],
    ]
    assert ours["completion_s"] == pytest.approx(theirs["last"], abs=2e-6)
    assert ours["handshake_s"] == pytest.approx(theirs["first"], abs=2e-6)


@needs("ns")
def test_without_losses_one_path_is_ours_a_round_trip_later() -> None:
    """ns-2 sends data once heartbeats have confirmed each path, ours with the first path's COOKIE ACK."""
    theirs, ours = both(*PLAIN, scenario=losing())
    assert theirs["retransmissions"] == ours["retransmissions"] == theirs["packets_lost"] == theirs["timeouts"] == 0
    assert theirs["handshake_s"] - ours["handshake_s"] == pytest.approx(0.048, abs=0.001)
    assert theirs["completion_s"] - ours["completion_s"] == pytest.approx(0.048, abs=0.001)


@needs("ns")
def test_without_losses_both_paths_are_ours_to_a_round_trip() -> None:
    """With CMT ours starts a round trip sooner on the first path, and at the same time on the second."""
    theirs, ours = both(scenario=losing())
    assert theirs["retransmissions"] == ours["retransmissions"] == theirs["packets_lost"] == theirs["timeouts"] == 0
    assert theirs["completion_s"] == pytest.approx(ours["completion_s"], abs=ROUND_TRIP)


@needs("ns")
@pytest.mark.parametrize("overrides", [[], PLAIN])
def test_a_lost_packet_is_repaired_as_in_our_stack(overrides: Overrides) -> None:
    """The 60th packet is repaired by one fast retransmission, with the same window after it, so the rest is as fast."""
    theirs, ours = both(*overrides, scenario=losing(60))
    assert theirs["retransmissions"] == ours["retransmissions"] == theirs["packets_lost"] == 1
    assert theirs["timeouts"] == ours["timeouts"] == theirs["duplicates"] == 0
    assert theirs["completion_s"] == pytest.approx(ours["completion_s"], abs=ROUND_TRIP)


@needs("ns")
@pytest.mark.parametrize("overrides", [[(T + "retransmission", "cwnd")], PLAIN])
def test_a_path_that_falls_silent_times_out_as_ours_does(overrides: Overrides) -> None:
    """The first path loses everything from its 30th packet on: timers detect it, the other path repairs it."""
    theirs, ours = both(*overrides, (T + "path_retries", 1), scenario=losing(*range(30, 3000)))
    assert theirs["completed"] is ours["completed"] is True
    assert theirs["timeouts"] == ours["timeouts"] > 0


@needs("ns")
def test_a_lost_heartbeat_is_no_timeout_of_data() -> None:
    """The second path is idle except for heartbeats: the first confirms it, and the second is lost."""
    lost = ', forward = { loss = { kind = "list", packets = [2] } }'
    slow = [("network.path.0.rate", "5 Mbps"), (T + "heartbeat", "1 s")]
    result = run(*PLAIN, *slow, scenario=losing().replace('packets" },\n]', f'packets"{lost} }},\n]'))
    assert result.paths["packets_lost"].to_list() == [0, 1]
    assert result.flows["timeouts"].to_list() == [0]


@needs("ns")
def test_rows_add_up() -> None:
    result = run(("trace", ["cwnd", "ssthresh"]))
    whole, paths, links = result.flows.row(0, named=True), result.paths, result.links
    assert (whole["stack"], whole["transport"], whole["client"], whole["server"]) == ("ns2", "sctp", "a.1", "b.1")
    assert whole["app_bytes"] == 2 * 2**20
    assert whole["goodput_bps"] == pytest.approx(8 * 2 * 2**20 / whole["completion_s"])
    assert [paths[name].sum() for name in ("packets_sent", "packets_lost", "retransmissions")] == [
        whole[name] for name in ("packets_sent", "packets_lost", "retransmissions")
    ]
    assert paths["client_interface"].to_list() == ["a.1", "a.2"]
    assert paths["route"].to_list() == ["path1", "path2"]
    out = links.filter(direction="forward")
    assert (paths["packets_sent"] - out["packets"]).abs().max() <= 3, "but for what waits at the end"
    assert out["drops_loss"].to_list() == paths["packets_lost"].to_list()
    assert links.filter(direction="reverse")["drops_loss"].sum() > 0
    samples = result.samples
    assert set(samples["measure"]) == {"cwnd", "ssthresh"}
    assert set(samples["path"]) == {0, 1}
    first = samples.filter(pl.col("path") == 0, pl.col("measure") == "ssthresh").sort("time_s")["value"][0]
    assert first == pytest.approx(65536, abs=1)


@needs("ns")
def test_what_does_not_arrive_in_time_is_not_complete() -> None:
    short = flow(("until", "500 ms"))
    assert short["completed"] is False
    assert short["completion_s"] is None
    assert 0 < short["app_bytes"] < 2 * 2**20
    none = flow(("until", "50 ms"))
    assert (none["app_bytes"], none["handshake_s"], none["first_byte_s"]) == (0, None, None)


def test_our_engine_does_not_run_ns2_flows() -> None:
    known = _core.load(SCENARIO, simulators=[("ns2", "2.35", "ab")])
    assert ns2.plays(known)
    assert _core.run(known).not_run == "flow 0: ns-2 plays it, which runs scenarios by itself"
