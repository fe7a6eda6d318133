"""Ctrl-C and SIGTERM: they interrupt even an endless loop in a user's code, and finished runs are kept."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from command import program
from vazao.store import Store

pytestmark = pytest.mark.process

ENDLESS = """
import os, sys
import vazao as vz
from vazao import _core
from vazao.scenario import load
from vazao.scenario import fingerprint


def spin():
    os.write(1, b"begun\\n")  # Whole, whatever another thread writes.
    while True:
        pass


class Control(vz.CongestionControl):
    def on_ack(self, ack):
        spin()


class Scheduler(vz.Scheduler):
    def decide(self, situation):
        spin()


class Stubborn(vz.CongestionControl):
    def on_ack(self, ack):
        while True:
            try:
                spin()
            except Exception:
                pass


class Making(vz.CongestionControl):
    def __init__(self, *given):
        spin()


def run(what, jobs):
    own = {"control": Control, "scheduler": Scheduler, "stubborn": Stubborn, "making": Making}[what]
    key = "scheduler" if what == "scheduler" else "cc"
    kind = "mptcp" if what == "scheduler" else "tcp"
    link = vz.link("10 Mbps", "5 ms")
    if jobs == 0:
        vz.run(vz.point_to_point(link), [vz.flow(vz.upload("1 MB"), {"kind": kind, key: own})])
    flow = {"app": {"kind": "upload", "size": "1 MB"}, "transport": {"kind": kind, key: own.__name__}}
    tables = {"network": {"topology": "point-to-point", "link": {"rate": "10 Mbps"}}, "flow": [flow]}
    plugins = [(key, own.__name__, own, fingerprint(own))]
    many = [load("", overrides=list(tables.items()), plugins=plugins, seed=seed) for seed in range(4)]
    _core.run_many(many, jobs=jobs, on_outcome=lambda index, outcome: None, on_tick=lambda: None)


try:
    run(sys.argv[1], int(sys.argv[2]))
finally:
    print("ended", flush=True)
"""

LONG = """
[study]
name = "long"
title = "Runs of which some are short and some long"
[scenario]
name = "long"
until = "100000 s"
[scenario.network]
topology = "point-to-point"
link = { rate = "1 Gbps", delay = "5 ms" }
[[scenario.flow]]
app = { kind = "upload", size = "10 kB" }
[[part]]
name = "short"
replications = 20
[[part]]
name = "endless"
scenario = { "flow.0.app.size" = "9000 TB" }
"""


def ended(process: subprocess.Popen[str], number: signal.Signals) -> tuple[int, float, str]:
    """Exit code of a process after a signal, the seconds until it exited, and its output."""
    began = time.monotonic()
    process.send_signal(number)
    try:
        _, errors = process.communicate(timeout=30)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        pytest.fail("a signal did not end it")
    return process.returncode, time.monotonic() - began, errors


@pytest.mark.parametrize("jobs", [0, 1, 2])
@pytest.mark.parametrize("what", ["control", "scheduler", "stubborn", "making"])
def test_ctrl_c_reaches_a_class_that_never_ends(what: str, jobs: int, tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(ENDLESS)
    command = [sys.executable, tmp_path / "own.py", what, str(jobs)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        told = [process.stdout.readline() for _ in range(max(1, jobs))]
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        told.append(process.stdout.readline())
        seconds = time.monotonic() - began
        _, said = process.communicate(timeout=30)
        code = process.returncode
    assert told == [*["begun\n"] * max(1, jobs), "ended\n"]
    assert code == -signal.SIGINT, said
    assert "KeyboardInterrupt" in said
    assert seconds < 1


WRONG = """
import vazao as vz


def helper(ack):
    return 1 / 0


class Broken(vz.CongestionControl):
    def on_ack(self, ack):
        helper(ack)


vz.run(vz.point_to_point(vz.link("10 Mbps", "5 ms")), [vz.flow(vz.upload("1 MB"), vz.tcp(cc=Broken))])
"""


def test_an_error_of_ones_own_class_says_where(tmp_path: Path) -> None:
    (tmp_path / "wrong.py").write_text(WRONG)
    done = subprocess.run([sys.executable, "wrong.py"], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    _, _, message = done.stderr.partition("RunError: ")
    lines = WRONG.splitlines()
    for code in ("helper(ack)", "return 1 / 0"):
        number = lines.index(next(line for line in lines if line.strip() == code)) + 1
        assert f'wrong.py", line {number}, in' in message
    assert "Broken.on_ack: ZeroDivisionError: division by zero" in message


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_stores_what_has_finished(number: signal.Signals, code: int, tmp_path: Path) -> None:
    (tmp_path / "long.toml").write_text(LONG)
    command = program("run", "long.toml", "--jobs", "2", "--out", "there")
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert process.stderr.readline() == "21 of 21 runs to do\n"
        time.sleep(1)
        got, seconds, errors = ended(process, number)
    assert got == code, errors
    assert "Traceback" not in errors
    assert seconds < 2
    assert Store(tmp_path / "there").read("runs").height == 20


def test_what_has_finished_is_stored_while_others_go_on(tmp_path: Path) -> None:
    (tmp_path / "long.toml").write_text(LONG)
    command = program("run", "long.toml", "--jobs", "2", "--out", "there")
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert process.stderr.readline() == "21 of 21 runs to do\n"
        began = time.monotonic()
        # Short runs take no time; two seconds after the last of them all are stored, while the long one continues.
        while stored(tmp_path / "there") < 20 and time.monotonic() < began + 30:
            time.sleep(0.05)
        seconds = time.monotonic() - began
        assert process.poll() is None
        ended(process, signal.SIGTERM)
    assert seconds < 2.5


def stored(directory: Path) -> int:
    """Number of runs stored in a directory."""
    return Store(directory).stored.height if (directory / "manifest.json").is_file() else 0


def test_sigterm_ends_a_single_run(tmp_path: Path) -> None:
    scenario = (
        LONG.partition("[[part]]")[0].partition("[scenario]")[2].replace("scenario.", "").replace("10 kB", "9000 TB")
    )
    (tmp_path / "one.toml").write_text(scenario)
    command = program("run", "one.toml", "--out", "there")
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as process:
        time.sleep(4)
        code, _, errors = ended(process, signal.SIGTERM)
    assert (code, "Traceback" in errors) == (143, False), errors
    assert not (tmp_path / "there").exists()
