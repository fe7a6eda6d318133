"""ns-2 as a stack: translation of scenarios, refusals, and the results of the installed ns-2.

`test_ns2.py` compares ours with stored measurements of ns-2; here ns-2 itself runs, if it is installed.
"""

from __future__ import annotations

import os
import re
import stat
import time
from pathlib import Path

import polars as pl
import pytest

from tools import needs
from vazao import _core, ns2
from vazao.errors import RunError, ScenarioError
from vazao.ns2 import program, script, translation
from vazao.ns2.outputs import FlowReading, Look, SlowStart, Totals
from vazao.results import Result, Study, campaign, run_scenario
from vazao.scenario import lacking, load, loader
from vazao.study import parse_as

pytestmark = pytest.mark.study


TRANSPORT = """
kind = "tcp"
stack = "ns2"
cc = "reno"
recovery = "sack"
mss = 1000
initial_window = 2
abc_limit = 1
delayed_ack = 1
timestamps = false
min_rto = "200 ms"
initial_rto = "3 s"
receive_buffer = "64 MB"
"""

SCENARIO = f"""
until = "10 s"
trace = {{ measures = ["cwnd", "ssthresh", "sequence"], every = "100 ms" }}

[network]
topology = "path"
link = [
    {{ rate = "10 Gbps", delay = "100 us", queue = "100000 packets" }},
    {{ rate = "10 Mbps", delay = "12.3 ms", queue = "200 packets" }},
    {{ rate = "10 Gbps", delay = "100 us", queue = "100000 packets" }},
]

[[flow]]
app = {{ kind = "upload" }}

[flow.transport]{TRANSPORT}"""


def told(*overrides: tuple[str, object]) -> list[str]:
    """Lines of the script that depend on the scenario."""
    return list(script.calls(translation.translate(load(SCENARIO, overrides=overrides))))


def run(*overrides: tuple[str, object], stack: str = "ns2") -> Result:
    return run_scenario(load(SCENARIO, overrides=[("flow.0.transport.stack", stack), *overrides]))


# ---- The script ----------------------------------------------------------------------------------------------------


def test_a_scenario_becomes_calls_with_numbers() -> None:
    """A flow of 1000-byte packets over three links; ns-2's names are those of its manual (chapter 35)."""
    lines = told()
    assert lines[0] == "hosts 4"
    assert lines[1:7] == [
        "way 0 1 10000000000.0 0.0001 100000",
        "way 1 0 10000000000.0 0.0001 100000",
        "way 1 2 10000000.0 0.0123 200",
        "way 2 1 10000000.0 0.0123 200",
        "way 2 3 10000000000.0 0.0001 100000",
        "way 3 2 10000000000.0 0.0001 100000",
    ]
    head, settings = re.fullmatch(r"(.*) \{\} \{(.*)\}", lines[7]).groups()  # type: ignore[union-attr]
    assert head == "flow 0 0 3 0.0 Agent/TCP/Sack1 Agent/TCPSink/Sack1"
    assert dict(zip(settings.split()[::2], map(float, settings.split()[1::2]), strict=True)) == {
        "windowOption_": 1,
        "max_ssthresh_": 0,
        "packetSize_": 1000,
        "window_": 64000,
        "tcpTick_": 1e-6,
        "windowInit_": 2,
        "rtxcur_init_": 3,
        "minrto_": 0.2,
        "maxrto_": 120,
        "singledup_": 1,
    }
    assert lines[8:] == ["go 10.0 0.01 1.0 2"]


CC = "flow.0.transport.cc"
RECOVERY = "flow.0.transport.recovery"
SLOW_START = "flow.0.transport.slow_start"


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        ([(RECOVERY, "tahoe")], "Agent/TCP Agent/TCPSink {}"),
        ([(RECOVERY, "reno")], "Agent/TCP/Reno Agent/TCPSink {}"),
        ([(RECOVERY, "newreno")], "Agent/TCP/Newreno Agent/TCPSink {}"),
        ([(CC, "vegas"), (RECOVERY, "reno")], "v_alpha_ 1 v_beta_ 3 v_gamma_ 1.0 max_ssthresh_ 0 packetSize_ 1040"),
        ([(CC, {"kind": "vegas", "alpha": 2, "beta": 4}), (RECOVERY, "reno")], "v_alpha_ 2.0 v_beta_ 4.0"),
        ([(CC, "highspeed")], "windowOption_ 8 low_window_ 38.0 high_window_ 83000.0 high_p_ 1e-07"),
        ([(SLOW_START, {"kind": "limited", "max_ssthresh": 50})], "max_ssthresh_ 50"),
        (
            [(CC, {"kind": "westwood-plus", "profile": "linux", "tick": "1 ms"})],
            "Agent/TCP/Linux Agent/TCPSink/Sack1 {w",
        ),
        (
            [(CC, {"kind": "scalable", "profile": "linux", "increase": 0.02, "legacy_window": 50})],
            "Agent/TCP/Linux Agent/TCPSink/Sack1 {scalable} {timestamps_ 1 ts_option_size_ 0",
        ),
        ([("flow.0.transport.tick", "10 ms")], "tcpTick_ 0.01 "),
        ([("flow.0.start", "1500 ms")], "flow 0 0 3 1.5 "),
    ],
)
def test_a_setting_becomes_ns2s_own_word(overrides: list[tuple[str, object]], words: str) -> None:
    assert words in told(*overrides)[7]


NUMBER = r"[-+]?[0-9][-+0-9.e]*"

LINE = re.compile(
    rf"(hosts|way|lose|flow|association|windows|go)"
    rf"( {NUMBER}| Agent/[A-Za-z0-9/]+| \{{[a-z]*\}}| \{{([A-Za-z0-9_]+ {NUMBER} ?)*\}}| \{{({NUMBER} ?)*\}}"
    rf"| \{{(\{{({NUMBER} ?)*\}} ?)*\}})+"
)
"""Line of a script: words without Tcl's special characters, except braces of lists."""


HOSTILE = '[exec touch /tmp/x]; $env(HOME) {\\n\\" \\u0000'
"""Text with everything that Tcl would interpret: brackets, a dollar, braces, semicolons, quotation marks, newlines."""


@pytest.mark.parametrize(
    "overrides",
    [
        [("name", HOSTILE)],
        [("flow.0.transport.kernel", HOSTILE)],
        [("flow.0.transport.module", {"tcp_cubic.hystart": "[exit]"})],
    ],
)
def test_nothing_that_a_stranger_writes_gets_into_a_script(overrides: list[tuple[str, object]]) -> None:
    lines = told(*overrides)
    assert lines == told()
    assert all(LINE.fullmatch(line) for line in lines), lines


CUSTOM = """[network]
topology = "custom"
hosts = ["source-exec", "exit.b"]
link = [{ from = "source-exec", to = "exit.b", name = "puts", rate = "10 Mbps", delay = "5 ms", queue = "20 packets" }]
"""


def test_names_of_hosts_do_not_pass_through() -> None:
    custom = re.sub(r"\[network\].*?\n\]\n", CUSTOM, SCENARIO, flags=re.DOTALL)
    lines = list(script.calls(translation.translate(load(custom))))
    assert lines[1] == "way 0 1 10000000.0 0.005 20"
    assert all(LINE.fullmatch(line) and "exec" not in line and "puts" not in line for line in lines), lines


@pytest.mark.parametrize("part", ["[exit]", "1; exit", True, None, float("nan"), float("inf"), b"1", [1]])
def test_a_script_takes_numbers_and_its_own_words_alone(part: object) -> None:
    with pytest.raises(TypeError, match="is no number"):
        script._written(part)  # type: ignore[arg-type]


# ---- Refusals ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("flow.0.transport.delayed_ack", 2, "flow.0.transport.delayed_ack: 2 has no counterpart in ns-2; write 1"),
        ("flow.0.transport.timestamps", True, "flow.0.transport.timestamps: true has no counterpart"),
        ("flow.0.transport.abc_limit", 2, "flow.0.transport.abc_limit: 2 has"),
        ("flow.0.transport.recovery", "rack", "recovery: rack has no counterpart in ns-2; write tahoe, reno"),
        (
            "flow.0.transport.receive_buffer",
            "auto",
            'receive_buffer: auto has no counterpart in ns-2; write one such as "',
        ),
        ("flow.0.transport.ecn", True, "transport.ecn: true has no counterpart in ns-2; write false"),
        ("flow.0.transport.cc", "bbr", "transport.cc: bbr has no counterpart in ns-2; write reno, highspeed, vegas"),
        ("flow.0.transport.cc", "scalable", 'cc.profile: rfc has no counterpart in ns-2; write "linux"'),
        ("flow.0.transport.cc", "vegas", "recovery: sack has no counterpart in ns-2; write reno with cc = 'vegas'"),
        (
            "flow.0.transport.slow_start",
            "hystart",
            'slow_start.kind: hystart has no counterpart in ns-2; write "standard"',
        ),
        ("flow.0.app", {"kind": "upload", "size": "1 MB"}, "flow.0.app.size: 1 MB has no counterpart in ns-2"),
        ("flow.0.app", {"kind": "download"}, 'flow.0.app.kind: download has no counterpart in ns-2; write "upload"'),
        ("network.link.1.loss", 0.01, "network, link2, forward.loss: "),
        ("network.link.1.queue", {"kind": "codel", "limit": "100 packets"}, 'network, link2, forward.queue: {"'),
        (
            "network.link.1.queue",
            "64 kB",
            "network, link2, forward.queue: 64 kB has no counterpart in ns-2; write one such as",
        ),
        ("network.link.1.reorder", {"probability": 0.1, "delay": "1 ms"}, "network, link2, forward.reorder: "),
        ("trace", ["rtt"], "trace: rtt has no counterpart in ns-2; write cwnd, ssthresh, sequence"),
    ],
)
def test_what_ns2_has_no_counterpart_for_is_refused(key: str, value: object, message: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        load(SCENARIO, file="mine.toml", overrides=[(key, value)])
    assert str(refused.value).startswith("mine.toml: ")
    assert message in str(refused.value)
    assert refused.value.key
    assert f"{refused.value.key}: " in str(refused.value)


def test_a_run_is_ns2s_or_ours() -> None:
    second = SCENARIO + f'\n[[flow]]\napp = {{ kind = "upload" }}\n[flow.transport]{TRANSPORT}'.replace("ns2", "vazao")
    with pytest.raises(ScenarioError, match=r'flow\.1\.transport\.stack: .*; write "ns2" for every flow of a run'):
        load(second)
    with pytest.raises(ScenarioError, match='ns-2 plays both sides of a flow; write stack = "ns2"'):
        load(SCENARIO, overrides=[("flow.0.transport.stack", {"client": "ns2", "server": "vazao"})])
    with pytest.raises(ScenarioError, match='there is no quic with stack "ns2" yet'):
        load(SCENARIO, overrides=[("flow.0.transport", {"kind": "quic", "stack": "ns2"})])


# ---- Identity ------------------------------------------------------------------------------------------------------


def test_a_runs_identity_has_ns2s_version_and_digest() -> None:
    versions = [[], [("ns2", "2.35", "ab")], [("ns2", "2.33", "ab")], [("ns2", "2.35", "cd")]]
    runs = [_core.load(SCENARIO, simulators=installed) for installed in versions]
    assert len({run.run_id for run in runs}) == len(runs)
    assert '"stack":"ns2","simulator":{"version":"2.35","sha256":"ab"}' in runs[1].json
    assert _core.run(runs[1]).not_run == "flow 0: ns-2 plays it, which runs scenarios by itself"


# Machines without ns-2, or with another command of its name


@pytest.fixture
def no_ns2(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Machine without ns-2."""
    monkeypatch.setenv("PATH", str(tmp_path))


def command(folder: Path, text: str) -> None:
    """Creates a command called `ns`."""
    path = folder / "ns"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


TEMPLATE = re.sub(r"\[(\[?)(network|flow)", r"[\1scenario.\2", SCENARIO)

STUDY = f"""
[study]
name = "simulators"
title = "Two simulators"

[scenario]
{TEMPLATE}

[[part]]
name = "both"
[[part.factor]]
name = "stack"
levels.vazao = {{ "flow.0.transport.stack" = "vazao" }}
levels.ns2 = {{ "flow.0.transport.stack" = "ns2" }}

[[finding]]
id = "same"
claim = "Both use the path"
sql = "SELECT everywhere(utilisation > 0.9) AS holds FROM runs WHERE part = 'both'"
"""


def test_without_ns2_its_runs_are_left_out(no_ns2: None, tmp_path: Path) -> None:
    study = parse_as(Study, STUDY, "simulators.toml")
    done = campaign.run_study(study, out=tmp_path / "results")
    assert done.runs["stack"].to_list() == ["vazao"]
    assert done.not_run["stack"].to_list() == ["ns2"]
    assert "Debian's package ns2 has it" in done.not_run["reason"][0]
    (ruling,) = done.findings
    assert (ruling.verdict, "package ns2" in ruling.explanation) == ("not testable", True)
    with pytest.raises(RunError, match="not run: ns-2 is not installed"):
        run()
    assert lacking(load(SCENARIO)) == ns2.missing()


@needs("ns")
def test_runs_of_another_ns2_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study = parse_as(Study, STUDY, "simulators.toml")
    out = tmp_path / "results"
    done = campaign.run_study(study, out=out)
    assert done.runs.sort("stack")["stack"].to_list() == ["ns2", "vazao"]
    assert [ruling.verdict for ruling in done.findings] == ["reproduced"]
    assert campaign.run_study(study, out=out).started == 0
    monkeypatch.setattr(loader, "_simulators", lambda: [("ns2", "2.34", "0" * 64)])
    again = campaign.run_study(parse_as(Study, STUDY + "\n", "simulators.toml"), out=out)
    assert again.started == 1, "another ns-2's run is another run"
    (left,) = again.left_out
    assert left.startswith("1 flow.0.transport.simulator.sha256 is 0000")


def test_another_command_called_ns_is_not_ns2(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    command(tmp_path, "echo usage: ns HOST")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert ns2.find() is None


def test_an_ns2_that_fails_fails_the_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    command(tmp_path, "if [ $# = 0 ]; then echo 2.35; else echo 'no class Agent'; exit 3; fi")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(RunError, match="ns-2 ended with code 3: no class Agent"):
        run()
    command(tmp_path, "if [ $# = 0 ]; then echo 2.35; fi; : silent")
    program._known.cache_clear()
    with pytest.raises(RunError, match="ns-2 wrote what is not understood: drops: No such file"):
        run()


def test_a_run_has_an_end_to_its_time(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    command(tmp_path, "if [ $# = 0 ]; then echo 2.35; else exec /bin/sleep 100; fi")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("VAZAO_NS2_SECONDS", "0.3")
    with pytest.raises(RunError, match=r"takes longer than 0\.3 s, the limit; VAZAO_NS2_SECONDS=… gives it more"):
        run()
    monkeypatch.setenv("VAZAO_NS2_SECONDS", "soon")
    with pytest.raises(RunError, match="VAZAO_NS2_SECONDS='soon': write a positive number"):
        run()


def test_an_interrupted_run_leaves_no_process(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    command(tmp_path, f"if [ $# = 0 ]; then echo 2.35; else echo $$ > {tmp_path}/pid; exec /bin/sleep 100; fi")
    monkeypatch.setenv("PATH", str(tmp_path))

    def interrupt(_: float) -> None:
        if (tmp_path / "pid").exists() and (tmp_path / "pid").read_text().strip():
            raise KeyboardInterrupt

    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        ns2.run(load(SCENARIO), on_tick=interrupt)
    assert time.monotonic() - began < 20
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


# ---- ns-2 itself ---------------------------------------------------------------------------------------------------


@needs("ns")
def test_ns2_runs_what_the_scenario_says() -> None:
    """Counts that hold in any simulator: a link's capacity, the arithmetic of slow start, the losses."""
    result = run()
    flow, links = result.flows.row(0, named=True), result.links
    assert (flow["stack"], flow["cc"], flow["recovery"], flow["client"], flow["server"]) == (
        "ns2",
        "reno",
        "sack",
        "a",
        "b",
    )
    middle = links.row(by_predicate=(pl.col("link") == "link2") & (pl.col("direction") == "forward"), named=True)
    assert middle["utilisation"] == pytest.approx(8 * middle["bytes"] / (10e6 * 10))
    # All packets have 1040 bytes except the SYN, which has 40.
    assert middle["bytes"] == 1040 * (middle["packets"] - 1) + 40
    assert flow["packets_lost"] == flow["retransmissions"] == middle["drops_queue"]
    assert flow["packets_sent"] == middle["packets"] + middle["drops_queue"] + middle["waiting"]
    assert flow["bdp_bytes"] == 31250
    assert 8 * flow["app_bytes"] / 10 == flow["goodput_bps"] < 10e6 * 1000 / 1040
    assert set(result.samples["measure"]) == {"cwnd", "ssthresh", "sequence"}
    sequence = result.samples.filter(measure="sequence")["value"]
    assert sequence.is_sorted()
    assert sequence[-1] >= flow["app_bytes"]


@needs("ns")
@pytest.mark.parametrize("recovery", ["tahoe", "reno", "newreno", "sack"])
def test_slow_start_is_the_same_in_both(recovery: str) -> None:
    """The packets are identical, and slow start ends within the 832 us that one packet takes at 10 Mbit/s."""
    theirs, ours = (run((RECOVERY, recovery), stack=stack).flows.row(0, named=True) for stack in ("ns2", "vazao"))
    assert theirs["slow_start_s"] == pytest.approx(ours["slow_start_s"], abs=832e-6)
    assert [theirs[name] for name in ("slow_start_sent", "slow_start_lost")] == [
        ours[name] for name in ("slow_start_sent", "slow_start_lost")
    ]


@needs("ns")
@pytest.mark.parametrize(("recovery", "ours"), [("reno", "reno"), ("sack", "pipe")])
def test_a_fast_retransmission_restarts_the_timer(recovery: str, ours: str) -> None:
    """Behind 60 packets at 2 Mbit/s a repair outlasts the timer: ns-2 times out at most once, in slow start.

    With RFC 6298's timer, which only new data restarts, ours had five timeouts where ns-2 had one or none.
    """
    long = [("until", "60 s"), ("trace", []), ("network.link.1.queue", "60 packets")]
    long += [("network.link.1.rate", "2 Mbps"), ("network.link.1.delay", "50 ms")]
    theirs = run(*long, (RECOVERY, recovery)).flows.row(0, named=True)
    played = run(*long, (RECOVERY, ours), ("flow.0.transport.host", "ns2"), stack="vazao").flows.row(0, named=True)
    assert played["timeouts"] == theirs["timeouts"]
    assert played["retransmissions"] == pytest.approx(theirs["retransmissions"], rel=0.05)


@needs("ns")
def test_a_queue_holds_as_many_packets_as_the_scenario_says() -> None:
    """A constant window keeps its packets in the queue, except those in flight: 63 of 64 000 bytes and 26."""
    window = ("flow.0.transport.receive_buffer", "64 kB")
    waiting = [
        run(window, stack=stack).links.filter(link="link2", direction="forward")["waiting"][0]
        for stack in ("ns2", "vazao")
    ]
    assert waiting[0] == pytest.approx(waiting[1], abs=1)
    short = ("network.link.1.queue", "20 packets")
    drops = [run(window, short, stack=stack).flows["slow_start_lost"][0] for stack in ("ns2", "vazao")]
    assert drops[0] == drops[1] > 0


@needs("ns")
def test_bytes_beyond_2_to_the_32_are_counted() -> None:
    """ns-2's own counters wrap around there: 40 s at 1 Gbit/s are 5 GB."""
    fast = [("until", "40 s"), ("network.link.1.rate", "1 Gbps"), ("flow.0.transport.mss", 60000)]
    link = run(*fast, ("trace", [])).links.filter(link="link2", direction="forward").row(0, named=True)
    assert link["bytes"] == 60040 * (link["packets"] - 1) + 40 > 2**32
    assert 0.9 < link["utilisation"] <= 1


@needs("ns")
def test_outputs_that_ns2_lacks_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="--pcap: ns-2's packets have no bytes"):
        run_scenario(load(SCENARIO), pcap=tmp_path)


def test_a_window_is_regained_to_a_packet() -> None:
    """A window of 100 packets is cut at 1 s; its next peak at 51 s is 0.004 packets lower, but admits as many."""
    windows = [(0.0, 100.0), (1.0, 50.0), (50.0, 98.5), (51.0, 99.996), (52.0, 50.0)]
    looks = [Look(time, cwnd, 50.0, 0.0, 0.0, 0.0, 0.0) for time, cwnd in windows]
    totals = Totals(sent=0, again=0, acknowledged=0, highest_sent=0, timeouts=0)
    slow_start = SlowStart(end_s=0.0, sent=0, lost=0, ssthresh=50.0)
    flow = FlowReading(looks, totals, 0, [(1.0, 50.0), (52.0, 50.0)], slow_start, counts_duplicates=True)
    assert flow.window_phases(1000.0) == (None, 50.0)
