"""Memory is estimated before a run, which is refused if it does not fit, and monitored while it goes on."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from command import vazao
from vazao.results import run_scenario
from vazao.scenario import load
from vazao.store import Store

pytestmark = pytest.mark.process

FLOWS = """
until = "1 s"
[network]
topology = "dumbbell"
pairs = {pairs}
access = {{ rate = "100 Mbps", delay = "5 ms" }}
bottleneck = {{ rate = "10 Gbps", delay = "20 ms" }}
[[flow]]
count = {count}
app = {{ kind = "upload", size = "10 MB" }}
transport = {transport}
"""

MEASURE = """
import sys, resource
from vazao import _core
def peak():
    status = open("/proc/self/status").read()
    return int(status.split("VmHWM:")[1].split()[0]) * 1024
before = peak()
_core.run(_core.load(sys.stdin.read()))
print(peak() - before)
"""


def taken(text: str) -> int:
    """Number of bytes that reading and running a scenario takes."""
    done = subprocess.run([sys.executable, "-c", MEASURE], input=text, capture_output=True, text=True, check=True)
    return int(done.stdout)


TRANSPORTS = ["tcp", "udp", "sctp", "mptcp", "quic"]


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_the_estimate_is_no_less_than_what_is_taken(tmp_path: Path, transport: str) -> None:
    named = '{ kind = "udp", rate = "1 Mbps" }' if transport == "udp" else f'"{transport}"'
    text = FLOWS.format(pairs=1000, count=1000, transport=named)
    bytes_taken = taken(text)
    path = tmp_path / "scenario.toml"
    path.write_text(text)
    # An idle process needs some memory, too, so a limit of just that amount is too low.
    done = vazao("check", path, VAZAO_MEMORY=f"{bytes_taken} B")
    assert done.code == 2, done
    assert "of memory" in done.err
    assert vazao("check", path, VAZAO_MEMORY="2 GB").code == 0


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ("flow.0.count=300000", "flow.0.count"),
        ("network.pairs=100000", "network.pairs"),
        ('flow.0.transport={ kind = "quic", streams = 10000 }', "flow.0.count"),
        ('flow.0.transport={ kind = "sctp", streams = 65535 }', "flow.0.count"),
        ('flow.0.app={ kind = "arrivals", interval = "1 us", count = 900000, sizes = "10 kB" }', "flow.0.count"),
    ],
)
def test_what_does_not_fit_is_refused_at_once(tmp_path: Path, change: str, key: str) -> None:
    path = tmp_path / "scenario.toml"
    text = FLOWS.format(pairs=2, count=1000, transport='"tcp"')
    path.write_text(text.replace(', size = "10 MB"', "") if "arrivals" in change else text)
    done = vazao("run", path, "--set", change, VAZAO_MEMORY="1 GB")
    assert done.code == 2, done
    assert f"{key}: " in done.err
    assert "of memory" in done.err


def test_replications_that_cannot_be_planned_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    scenario = FLOWS.format(pairs=1, count=1, transport='"tcp"').replace("[[flow]]", "[[scenario.flow]]")
    scenario = scenario.replace("[network]", "[scenario.network]").replace('until = "1 s"', "")
    design = '[study]\nname = "many"\ntitle = "Many"\n[design]\nkind = "factorial"\nreplications = 1000000000\n'
    path.write_text(design + scenario)
    for command in (["check", path], ["run", path, "--out", tmp_path / "out"]):
        done = vazao(*command)
        assert done.code == 2, done
        assert "each 1000000000 times" in done.err
    assert not (tmp_path / "out").exists()


def test_a_run_that_grows_beyond_the_limit_is_stopped(tmp_path: Path) -> None:
    path = tmp_path / "scenario.toml"
    path.write_text("""
    until = "1000 s"
    [network]
    topology = "point-to-point"
    link = { rate = "1 kbps", delay = "10 ms", queue = "1000 GB" }
    [[flow]]
    app = "upload"
    transport = { kind = "udp", rate = "10 Gbps" }
    """)
    done = vazao("run", path, "--json", VAZAO_MEMORY="500 MB")
    assert done.code == 1, done
    assert "VAZAO_MEMORY" in done.err
    assert not done.out


def test_a_limit_that_is_no_size_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "scenario.toml"
    path.write_text(FLOWS.format(pairs=1, count=1, transport='"tcp"'))
    done = vazao("run", path, VAZAO_MEMORY="much")
    assert done.code == 2
    assert 'VAZAO_MEMORY: "much" is not a size' in done.err


TRACED = """
until = "{seconds} s"
trace = ["cwnd", "ssthresh", "srtt", "rtt", "flight", "sequence", "delivered", "queue"]
[network]
topology = "point-to-point"
link = {{ rate = "1 Gbps", delay = "1 ms" }}
[[flow]]
app = "upload"
transport = "tcp"
"""


def test_time_series_of_everything_take_no_memory() -> None:
    """Some 100 000 samples of 24 bytes arrive in a simulated second: they are written to disk."""
    assert taken(TRACED.format(seconds=12)) - taken(TRACED.format(seconds=2)) < 8e6


def test_time_series_on_disk_are_read_and_stored_whole(tmp_path: Path) -> None:
    result = run_scenario(load(TRACED.format(seconds=2)))
    samples = result.samples
    assert len(result.samples_stream()) == samples.height > 150_000
    times = samples.filter(pl.col("measure") == "delivered")["time_s"]
    assert times.is_sorted()
    assert times[-1] > 1.99
    # Each increment of `delivered` is a whole number of segments.
    delivered = samples.filter(pl.col("measure") == "delivered")["value"]
    assert set((delivered.diff().drop_nulls() % 1448).unique()) == {0.0}
    path = tmp_path / "scenario.toml"
    path.write_text(TRACED.format(seconds=2))
    assert vazao("run", path, "--out", tmp_path / "kept").code == 0
    stored = Store(tmp_path / "kept").read("samples").drop("run_id")
    assert_frame_equal(stored, samples.drop("run_id"), check_row_order=False)


def test_a_folder_for_time_series_that_is_not_there_is_named(tmp_path: Path) -> None:
    path = tmp_path / "scenario.toml"
    path.write_text(TRACED.format(seconds=2))
    done = vazao("run", path, TMPDIR="/nonexistent")
    assert (done.code, "/nonexistent" in done.err and "TMPDIR" in done.err) == (2, True), done
