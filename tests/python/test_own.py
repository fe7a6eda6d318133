"""User-defined algorithms: in files that a scenario names, and of every kind that accepts a class."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

import vazao as vz
from command import program, vazao
from own import made, run
from vazao.scenario import load

pytestmark = pytest.mark.process

MINE = '''"""Reno, with another decrease."""
from pathlib import Path

import vazao as vz
from beside import GAIN

Path("was-run").touch()


class Plain(vz.CongestionControl):
    """Reno, as the base class is."""


class Cautious(vz.CongestionControl):
    def __init__(self, mss, initial_window, initial_ssthresh, *, beta=0.5):
        super().__init__(mss, initial_window, initial_ssthresh)
        self.beta = beta

    def on_congestion(self, congestion):
        super().on_congestion(congestion)
        if congestion.signal == "loss":
            self.cwnd = self.ssthresh = max(GAIN * self.beta * congestion.flight_bytes, 2 * self.mss)


class First(vz.Scheduler):
    def decide(self, situation):
        return next(iter(situation.available), None)
'''

SCENARIO = """
name = "mine"
[network]
topology = "dumbbell"
access = { rate = "1 Gbps", delay = "1 ms" }
bottleneck = { rate = "10 Mbps", delay = "20 ms", queue = "50 packets", loss = 0.002 }
[[flow]]
app = { kind = "upload", size = "2 MB" }
transport = { kind = "tcp", cc = "mine.py:Plain" }
"""

CC = "flow.0.transport.cc"


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Working directory with a scenario and its algorithms."""
    (tmp_path / "mine.py").write_text(MINE)
    (tmp_path / "beside.py").write_text("GAIN = 1\n")
    (tmp_path / "one.toml").write_text(SCENARIO)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def told(*arguments: str) -> Any:
    """Runs the scenario with `--json` and parses the output."""
    answer = vazao("run", "one.toml", "--json", "--allow-programs", *arguments)
    assert answer.code == 0, answer.err
    return json.loads(answer.out)


def flow(*changes: str) -> dict[str, Any]:
    row: dict[str, Any] = told(*(part for change in changes for part in ("--set", change)))["flows"][0]
    return row


def without(row: dict[str, Any]) -> dict[str, Any]:
    """Row of a flow without the fields that identify its control."""
    return {key: value for key, value in row.items() if key not in ("cc", "run_id")}


def test_a_control_of_a_file_runs_wherever_a_built_in_one_does() -> None:
    plain = flow()
    assert plain["cc"] == "mine.py:Plain"
    assert without(plain) == without(flow(f"{CC}=reno"))
    # Reno halves, so a control that reduces by a half equals it, except for the window in use.
    gentle, harsh = (flow(f'{CC}={{ kind = "mine.py:Cautious", beta = {beta} }}') for beta in (0.9, 0.1))
    assert gentle["goodput_bps"] > 1.1 * harsh["goodput_bps"]


def test_a_scheduler_of_a_file_decides() -> None:
    (Path() / "paths.toml").write_text("""
[network]
topology = "multipath"
path = [{ rate = "10 Mbps", delay = "40 ms" }, { rate = "10 Mbps", delay = "5 ms" }]
[[flow]]
app = { kind = "upload", size = "60 kB" }
transport = { kind = "mptcp", scheduler = "mine.py:First", initial_window = 50 }
""")
    answer = vazao("run", "paths.toml", "--json", "--allow-programs")
    first, second = (path["bytes"] for path in json.loads(answer.out)["paths"])
    # Everything fits the first path's initial window, of which lowest-rtt would use little once it knew the second
    # path.
    assert (first, second) == (60_000, 0), answer.err


COMMANDS = (
    ("run", "one.toml"),
    ("run", "one.toml", "--json", "--out", "there"),
    ("run", "one.toml", "--vary", "flow.0.transport.mss=500,1000"),
    ("compare", "one.toml"),
)


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_nothing_runs_unasked(command: tuple[str, ...], place: Path) -> None:
    answer = vazao(*command)
    assert answer.code == 2
    for part in ("mine.py:Plain (mine.py)", "can do all that you can", "--allow-programs"):
        assert part in answer.err
    assert not (place / "was-run").exists()
    assert not (place / "there").exists()
    assert not (place / "results").exists()


def test_code_that_only_a_sweep_names_is_asked_about_too(place: Path) -> None:
    (place / "one.toml").write_text(SCENARIO.replace("mine.py:Plain", "reno"))
    answer = vazao("run", "one.toml", "--vary", f"{CC}=cubic,mine.py:Plain")
    assert (answer.code, "mine.py:Plain" in answer.err) == (2, True)
    built_in = next(iter(load_names()))
    answer = vazao("run", built_in, "--set", f"{CC}=mine.py:Plain")
    assert (answer.code, "mine.py:Plain" in answer.err) == (2, True)
    assert not (place / "was-run").exists()


def load_names() -> list[str]:
    from vazao.scenario import built_in_scenarios

    return [name for name, path in built_in_scenarios().items() if 'kind = "tcp"' in path.read_text()]


@pytest.mark.parametrize(("reply", "code"), [("n", 2), ("y", 0)])
def test_a_terminal_is_asked(reply: str, code: int, place: Path) -> None:
    ours, theirs = pty.openpty()
    command = program("run", "one.toml")
    with subprocess.Popen(command, stdin=theirs, stderr=theirs, stdout=subprocess.DEVNULL) as process:
        os.close(theirs)
        os.write(ours, f"{reply}\n".encode())
        assert process.wait(timeout=60) == code
    os.close(ours)
    assert (place / "was-run").exists() == (code == 0)


def test_what_looks_at_files_and_results_runs_nothing(place: Path) -> None:
    answer = vazao("run", "one.toml", "--vary", f"{CC}=reno,mine.py:Plain", "--out", "there", "--allow-programs")
    assert answer.code == 0, answer.err
    (place / "was-run").unlink()
    for command in (("check", "one.toml"), ("report", "there"), ("show", "there"), ("sql", "there", "SELECT 1")):
        answer = vazao(*command)
        assert answer.code == 0, answer.err
        assert ("mine.py:Plain (mine.py)" in answer.out) == (command[0] == "check")
    campaign = vz.open("there")
    assert campaign.runs.height == 2
    assert not (place / "was-run").exists()


def test_python_must_allow_programs_explicitly(place: Path) -> None:
    with pytest.raises(vz.ScenarioError, match=r"mine\.py:Plain is Python code.*allow_programs=True"):
        vz.load("one.toml").run()  # type: ignore[call-overload]
    with pytest.raises(vz.ScenarioError, match="allow_programs=True"):
        vz.load("one.toml").run(seeds=2, out="there")
    net, app = vz.point_to_point(vz.link("10 Mbps", "5 ms")), vz.upload("10 kB")
    with pytest.raises(vz.ScenarioError, match="allow_programs=True"):
        vz.run(net, [vz.flow(app, vz.tcp(cc="mine.py:Plain"))])
    assert not (place / "was-run").exists()
    assert not (place / "there").exists()
    assert vz.run(net, [vz.flow(app, vz.tcp(cc="mine.py:Plain"))], allow_programs=True).flows["completed"].item()
    allowed = vz.load("one.toml", allow_programs=True)
    assert isinstance(allowed, vz.Experiment)
    assert allowed.run(seeds=2, out="there").runs.height == 2


def run_id(allowed: bool = False) -> str:
    return load((Path() / "one.toml").read_text(), file="one.toml", allow_programs=allowed).run_id


def test_changed_code_changes_the_run_id_without_running_it(place: Path) -> None:
    first = run_id()
    assert not (place / "was-run").exists()
    assert run_id(allowed=True) == first
    for name, text in (("mine.py", MINE + "\n# changed\n"), ("beside.py", "GAIN = 2\n")):
        before = (place / name).read_text()
        (place / name).write_text(text)
        assert run_id() == run_id(allowed=True) != first
        (place / name).write_text(before)
    (place / "unrelated.py").write_text("GAIN = 3\n")
    assert run_id() == first


def test_parameters_are_part_of_a_runs_identity() -> None:
    def identity(control: object) -> str:
        return load(SCENARIO, file="one.toml", overrides=[(CC, control)]).run_id

    kinds: list[object] = ["mine.py:Cautious", {"kind": "mine.py:Cautious", "beta": 0.5}]
    kinds.append({"kind": "mine.py:Cautious", "beta": 0.6})
    assert len({identity(kind) for kind in kinds}) == 3


STUDY = """
[study]
name = "cautious"
title = "How far to fall"
[scenario]
name = "cautious"
[scenario.network]
topology = "point-to-point"
link = { rate = "10 Mbps", delay = "20 ms", queue = "50 packets", loss = 0.002 }
[[scenario.flow]]
app = { kind = "upload", size = "500 kB" }
transport = { kind = "tcp" }
[[part]]
name = "main"
replications = 2
[[part.factor]]
name = "control"
[part.factor.levels]
reno = { "flow.0.transport.cc" = "reno" }
plain = { "flow.0.transport.cc" = "mine.py:Plain" }
gentle = { "flow.0.transport.cc" = { kind = "mine.py:Cautious", beta = 0.8 } }
"""


def test_a_study_keeps_its_algorithms_and_runs_again_elsewhere(place: Path) -> None:
    (place / "cautious.toml").write_text(STUDY)
    assert vazao("run", "cautious.toml", "--out", "there").code == 2
    answer = vazao("run", "cautious.toml", "--out", "there", "--allow-programs", "--json")
    assert answer.code == 0, answer.err
    runs, flows = (vz.Store("there").read(name) for name in ("runs", "flows"))
    both = flows.join(runs, on="run_id").sort("replication")
    times = {level: both.filter(control=level)["completion_s"].to_list() for level in ("reno", "plain")}
    # Both meet the losses of the same seed, and the class is Reno again, written in Python.
    assert times["plain"] == times["reno"]
    elsewhere = place / "elsewhere"
    elsewhere.mkdir()
    (place / "there").rename(elsewhere / "there")
    for name in ("mine.py", "beside.py", "cautious.toml", "was-run"):
        (place / name).unlink()
    (elsewhere / "cautious.toml").write_text(STUDY.replace("replications = 2", "replications = 3"))
    command = ("run", "elsewhere/cautious.toml", "--out", "elsewhere/there")
    asked = vazao(*command)
    assert (asked.code, "inputs/" in asked.err) == (2, True)
    answer = vazao(*command, "--allow-programs")
    assert answer.code == 0, answer.err
    assert "9 runs in elsewhere/there (3 simulated now)" in answer.out


def test_a_sweep_goes_over_controls_of_ones_own() -> None:
    values = 'reno,mine.py:Plain,{ kind = "mine.py:Cautious", beta = 0.8 }'
    answer = vazao("run", "one.toml", "--allow-programs", "--vary", f"{CC}={values}", "--seeds", "2", "--out", "there")
    assert answer.code == 0, answer.err
    rows = vz.Store("there").query("SELECT cc, count(*) AS n, avg(goodput_bps) AS rate FROM flows GROUP BY cc")
    counted = dict(rows.select("cc", "n").iter_rows())
    assert counted == {"reno": 2, "mine.py:Plain": 2, "mine.py:Cautious": 2}
    rates = dict(rows.select("cc", "rate").iter_rows())
    assert rates["mine.py:Plain"] == rates["reno"]


def test_compare_takes_a_control_of_ones_own(place: Path) -> None:
    (place / "one.toml").write_text(
        SCENARIO.replace('"tcp"', '"quic"').replace("[[flow]]", "pairs = 2\n[[flow]]")
        + '[[flow]]\napp = { kind = "upload", size = "1 MB" }\ntransport = { kind = "quic", cc = "cubic" }\n'
    )
    answer = vazao("compare", "one.toml", "--allow-programs", "--json", "--out", "there")
    assert answer.code == 0, answer.err
    ours = next(run for run in json.loads(answer.out)["runs"] if run["run"] == "vazao")
    assert ours["problem"] is None


WRONG = {
    "mine.py": "names no class; write FILE.py:CLASS",
    "mine.py:Cautius": "mine.py has no class 'Cautius'; did you mean 'Cautious'?",
    "mine.py:GAIN": "mine.py:GAIN is 1, no class",
    "mine.py:First": "mine.py:First is not a subclass of vazao.CongestionControl",
    "other.py:Mine": "there is no such file",
    '{ kind = "mine.py:Cautious", betta = 0.7 }': "unexpected keyword argument 'betta'; its parameters are beta",
    '{ kind = "mine.py:Plain", beta = 0.7 }': "it has no parameters",
    "broken.py:Mine": "broken.py:2: is no Python: ",
    "failing.py:Mine": "failing.py:3: ZeroDivisionError: division by zero",
    "leaving.py:Mine": "leaving.py:2: SystemExit: 3",
    "missing.py:Mine": "missing.py:1: ModuleNotFoundError: No module named 'nowhere_to_be_found'",
}


@pytest.mark.parametrize("control", WRONG)
def test_what_cannot_be_found_or_made_is_refused(control: str, place: Path) -> None:
    (place / "broken.py").write_text("class Mine:\n    def (\n")
    (place / "failing.py").write_text("Mine = int\n\n1 / 0\n")
    (place / "leaving.py").write_text("Mine = int\nraise SystemExit(3)\n")
    (place / "missing.py").write_text("from nowhere_to_be_found import Mine\n")
    answer = vazao("run", "one.toml", "--allow-programs", "--set", f"{CC}={control}")
    assert answer.code == 2
    assert f"one.toml: {CC}: " in answer.err
    assert WRONG[control] in answer.err
    assert "Traceback" not in answer.err


@pytest.mark.parametrize("name", ["../secret.py:Mine", "{}/secret.py:Mine"])
def test_a_scenario_reads_no_code_elsewhere_unasked(name: str, place: Path) -> None:
    (place / "below").mkdir()
    (place / "secret.py").write_text("key = 'not for you'\n")
    named = name.format(place)
    (place / "below" / "one.toml").write_text(SCENARIO.replace("mine.py:Plain", named))
    answer = vazao("check", "below/one.toml")
    assert answer.code == 2
    assert "is not beside the scenario or below" in answer.err
    (place / "secret.py").write_text("import vazao as vz\nclass Mine(vz.CongestionControl): pass\n")
    assert "is not beside" not in vazao("run", "below/one.toml", "--allow-programs").err


REFUSED = {
    "def on_akc(self, ack): pass": "Own.on_akc is never called: .* did you mean 'on_ack'",
    "def on_loss(self): pass": "Own.on_loss is never called",
    "pacing_rat = 1e6": "Own.pacing_rat is nothing that vazao.CongestionControl knows; did you mean pacing_rate",
    "want_rate = True\nwants_rates = True": "did you mean wants_rate",
    "def on_ack(self): pass": r"Own.on_ack is called as on_ack\(self, ack\), and: too many positional",
    "async def on_ack(self, ack): pass": "asynchronous or a generator",
    "def on_ack(self, ack): yield 1": "asynchronous or a generator",
    "on_ack = 3": r"Own.on_ack = 3 is no method; write def on_ack\(self, ack\)",
    "def __init__(self): pass": r"made by __init__\(self, mss, initial_window, initial_ssthresh\)",
}


@pytest.mark.parametrize("body", REFUSED)
def test_what_would_do_nothing_is_refused_before_the_run(body: str) -> None:
    with pytest.raises(vz.ScenarioError, match=REFUSED[body]):
        run(made(body))


FAILING = {
    "def on_ack(self, ack): self.cwnd = float('nan')": "cwnd = NaN; it is a number of bytes, a segment",
    "def on_ack(self, ack): self.cwnd = -1": "cwnd = -1; it is",
    "def on_ack(self, ack): self.cwnd = 100": r"cwnd = 100; it is a number of bytes, a segment \(1448 bytes\) or more",
    "def on_ack(self, ack): self.cwnd = 'big'": "cwnd = 'big'; it is a number of bytes",
    "def on_ack(self, ack): self.ssthresh = -5": "ssthresh = -5; it is a number of bytes",
    "def on_ack(self, ack): self.cwdn = 3": "sets cwdn, which nobody reads; did you mean cwnd?",
    "def on_ack(self, ack): self.ssthres = 3": "sets ssthres, which nobody reads; did you mean ssthresh?",
    "def on_ack(self, ack): ack.rtts": "AttributeError: .* has no attribute 'rtts'; did you mean rtt_s?",
    "def on_ack(self, ack): ack.rtt_s = 1": "AttributeError",
    "wants_rate = 'yes'": "wants_rate = 'yes'; it is True or False",
    "def __init__(self, *given): pass": r"has no wants_rate|has no cwnd, .* super\(\).__init__",
    "def on_congestion(self, congestion): 1 / 0": "Own.on_congestion: ZeroDivisionError",
}


@pytest.mark.parametrize("body", FAILING)
def test_what_makes_no_sense_ends_the_run(body: str) -> None:
    with pytest.raises(vz.RunError, match=FAILING[body]):
        run(made(body))


def test_user_defined_names_do_not_clash() -> None:
    body = "def on_ack(self, ack):\n    vz.CongestionControl.on_ack(self, ack)\n"
    assert run(made(body + "    self.cwnd0 = self.last_cwnd = self.rtts = self._cwd = 1")).flows["completed"].item()


def test_an_error_says_where_and_when(place: Path) -> None:
    late = "import vazao as vz\n\n\nclass Late(vz.CongestionControl):\n    def on_ack(self, ack):\n"
    late += "        if ack.now_s > 0.5:\n            self.helper()\n\n"
    late += "    def helper(self):\n        return {}['nothing']\n"
    (place / "late.py").write_text(late)
    text = SCENARIO.replace("bottleneck", "pairs = 2\nbottleneck").replace('"mine.py:Plain"', '"reno"')
    second = text[text.index("[[flow]]") :].replace('"reno"', '"late.py:Late"')
    (place / "one.toml").write_text(text + second)
    answer = vazao("run", "one.toml", "--allow-programs")
    assert answer.code == 1
    assert "flow 1, 0.5" in answer.err
    assert "late.py:Late.on_ack: KeyError: 'nothing'" in answer.err
    assert 'late.py", line 7, in on_ack' in answer.err
    assert 'late.py", line 10, in helper\n    return {}' in answer.err


KINDS = """
import os
import vazao as vz
{module}
def spin():
    os.write(1, b"begun\\n")
    while True:
        try:
            pass
        except Exception:
            pass
class Control(vz.CongestionControl):
    def on_ack(self, ack): spin()
class Loss(vz.LossModel):
    def lose(self, size_bytes, now_s): spin()
class Line(vz.Queue):
    def on_arrival(self, packet): spin()
class Start(vz.SlowStart):
    def grow(self, window, ack): spin()
class App(vz.Application):
    def next_message(self, now_s): spin()
class Stubborn(vz.CongestionControl):
    def on_ack(self, ack):
        while True:
            try:
                spin()
            except:
                pass
"""


LOOPS = (
    "flow.0.transport.cc=own.py:Control",
    "flow.0.transport.cc=own.py:Stubborn",
    "network.bottleneck.loss=own.py:Loss",
    "network.bottleneck.queue=own.py:Line",
    "flow.0.transport.slow_start=own.py:Start",
    'flow.0.app={ kind = "own.py:App", duration = "1 s" }',
    "module",
)


@pytest.mark.parametrize("sweep", [False, True], ids=["run", "sweep"])
@pytest.mark.parametrize("change", LOOPS)
def test_ctrl_c_ends_any_loop(change: str, sweep: bool, place: Path) -> None:
    loop = "print('begun', flush=True)\nwhile True: pass" if change == "module" else ""
    (place / "own.py").write_text(KINDS.format(module=loop))
    text = SCENARIO.replace("mine.py:Plain", "reno")
    if "app" in change:
        text = text.replace('app = { kind = "upload", size = "2 MB" }', "")
    (place / "one.toml").write_text(text)
    changes = "flow.0.transport.cc=own.py:Control" if change == "module" else change
    command = program("run", "one.toml", "--allow-programs", "--set", changes, *(["--seeds", "3"] if sweep else []))
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        try:
            _, errors = process.communicate(timeout=20)
        finally:
            process.kill()
    assert process.returncode in (130, -signal.SIGINT), errors
    assert "defect" not in errors
    # Within a second, plus the time that the interpreter takes to exit.
    assert time.monotonic() - began < 3
