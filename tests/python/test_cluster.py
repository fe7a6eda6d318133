"""Campaigns on Dask clusters: the same rows as without one, whichever process dies, and no other version accepted."""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import vazao as vz
from command import Vazao, caller, program
from conftest import TOY
from vazao import _core, kernel
from vazao.errors import ClusterError, RunError
from vazao.execution import cluster_of
from vazao.execution.rows import Rows
from vazao.results import Study, campaign, load_study
from vazao.scenario import Recipe, fingerprint, needs_of
from vazao.store import Store
from vazao.store.parts import TABLES
from vazao.study import Cell, PlannedRun

pytestmark = pytest.mark.process

distributed = pytest.importorskip("distributed", reason="Dask is not installed: pip install 'vazao[dask]'")


@pytest.fixture(scope="module")
def dask() -> Iterator[Any]:
    """A local Dask cluster with two worker processes."""
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, worker_dashboard_address=None
    ) as cluster:
        yield cluster


@pytest.fixture
def vazao(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Vazao:
    return caller(monkeypatch, capsys)


RUNS = 3000
"""Number of runs in the larger study."""


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Study of some thousand runs."""
    path = tmp_path_factory.mktemp("large") / "large.toml"
    path.write_text(TOY.replace("full = 3 }", f"full = {RUNS // 6} }}"))
    return path


@pytest.fixture(scope="module")
def whole(large: Path) -> Path:
    """Results of the larger study, computed without a cluster."""
    return campaign.run_study(load_study(large), size="full", out=large.parent / "whole").directory


def assert_equal(one: Path, other: Path) -> None:
    """Checks that two directories have bit-identical rows, elapsed times aside, and no run twice."""
    for name in TABLES:
        tables = [Store(directory).read(name).drop("wall_s", strict=False) for directory in (one, other)]
        key = [column for column in ("run_id", "part", "replication") if column in tables[0].columns]
        if name == "scenarios":
            tables = [table.sort("run_id") for table in tables]
        assert tables[0].equals(tables[1]), name
        if name == "runs":
            assert tables[1].select(key).is_duplicated().sum() == 0


def stored(directory: Path) -> int:
    files = list((directory / "runs").glob("[0-9]*.parquet"))
    return sum(pl.read_parquet(file, columns=["run_id"]).height for file in files)


def wait_for(what: Callable[[], bool], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.parametrize("how", ["client", "cluster"])
def test_rows_are_the_same_as_without_a_cluster(toy: Study, tmp_path: Path, dask: Any, how: str) -> None:
    toy.run(size="full", out=tmp_path / "here")
    if how == "client":
        with distributed.Client(dask, set_as_default=False) as client:
            done = toy.run(size="full", out=tmp_path / "there", on=client)
            assert client.status == "running"
    else:
        done = toy.run(size="full", out=tmp_path / "there", on=dask)
    assert done.started == 18
    assert_equal(tmp_path / "here", tmp_path / "there")
    for name in ("findings.json", "manifest.json"):
        assert (tmp_path / "here" / name).read_bytes() == (tmp_path / "there" / name).read_bytes()
    assert toy.run(size="full", out=tmp_path / "there", on=dask).started == 0


def test_the_command_starts_workers_of_its_own(vazao: Vazao, toy_file: Path, tmp_path: Path) -> None:
    here = vazao("run", str(toy_file), "--out", str(tmp_path / "here"))
    there = vazao("run", str(toy_file), "--on", "local:2", "--out", str(tmp_path / "there"))
    assert (here.code, there.code) == (0, 0), there.err
    assert there.out.splitlines()[:-1] == here.out.splitlines()[:-1]
    assert_equal(tmp_path / "here", tmp_path / "there")


def test_sweeps_take_it_and_single_runs_do_not(vazao: Vazao, tmp_path: Path, dask: Any) -> None:
    file = tmp_path / "swept.toml"
    file.write_text(SWEPT)
    address = dask.scheduler_address.replace("tcp", "dask")
    asked = ("run", str(file), "--vary", "network.link.loss=0,0.01", "--seeds", "3")
    assert vazao(*asked, "--out", str(tmp_path / "here")).code == 0
    assert vazao(*asked, "--on", address, "--out", str(tmp_path / "there")).code == 0
    assert_equal(tmp_path / "here", tmp_path / "there")
    refused = vazao("run", str(file), "--on", address)
    assert (refused.code, "is a scenario; leave" in refused.err) == (2, True)
    with pytest.raises(ClusterError, match="a single run goes on no cluster"):
        vz.load(file).run(on=dask)  # type: ignore[call-overload]


SWEPT = """
[network]
topology = "point-to-point"
link = { rate = "10 Mbps", delay = "5 ms" }
[[flow]]
app = { kind = "upload", size = "100 kB" }
"""


def test_samples_and_files_travel(tmp_path: Path, dask: Any, toy_text: str) -> None:
    """A trace file beside the study is read by workers that do not have it."""
    (tmp_path / "study").mkdir()
    trace = tmp_path / "study" / "link.trace"
    trace.write_text("".join(f"{1 + 3 * n}\n" for n in range(2000)))
    text = toy_text.replace('rate = "10 Mbps", delay = "5 ms"', 'rate = { trace = "link.trace" }, delay = "5 ms"')
    text = re.sub(r'\[\[part.factor\]\]\nname = "bandwidth"\n(?:.*\n)*?\n', "", text)
    text = re.sub(r"\[\[figure\]\]\n(?:.*\n)*?\n", "", text)
    text = text.replace("[[scenario.flow]]", '[scenario.trace]\nmeasures = ["cwnd"]\n\n[[scenario.flow]]', 1)
    (tmp_path / "study" / "traced.toml").write_text(text)
    study = load_study(tmp_path / "study" / "traced.toml")
    study.run(out=tmp_path / "here")
    study.run(out=tmp_path / "there", on=dask)
    assert Store(tmp_path / "there").read("samples").height > 100
    assert_equal(tmp_path / "here", tmp_path / "there")


OWN = """
import vazao as vz
from steps import SHARE

class Cautious(vz.CongestionControl):
    def on_ack(self, ack):
        self.cwnd += ack.acked_bytes / SHARE
"""


def test_algorithms_in_files_travel(
    vazao: Vazao, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dask: Any, toy_text: str
) -> None:
    """A user's own file and the module beside it are read by workers that have neither."""
    (tmp_path / "study").mkdir()
    (tmp_path / "study" / "mine.py").write_text(OWN)
    (tmp_path / "study" / "steps.py").write_text("SHARE = 7\n")
    text = toy_text.replace('levels.reno = { "flow.0.transport.cc" = "reno" }', LEVEL)
    (tmp_path / "study" / "own.toml").write_text(text)
    asked = ("run", str(tmp_path / "study" / "own.toml"), "--allow-programs", "--out")
    assert vazao(*asked, str(tmp_path / "here")).code == 0
    there = vazao(*asked, str(tmp_path / "there"), "--on", dask.scheduler_address.replace("tcp", "dask"))
    assert there.code == 0, there.err
    assert_equal(tmp_path / "here", tmp_path / "there")


LEVEL = 'levels.mine = { "flow.0.transport.cc" = "mine.py:Cautious" }'


@dataclass
class Kept:
    """Sink that keeps rows in memory."""

    not_run: dict[str, str] = field(default_factory=dict)
    rows: list[Rows] = field(default_factory=list)

    def add_rows(self, rows: Rows) -> None:
        self.rows.append(rows)


class Cautious(vz.CongestionControl):
    """Control whose class does not exist in the workers' Python."""

    def on_ack(self, ack: Any) -> None:
        self.cwnd += ack.acked_bytes / 7


def planned(recipe: Recipe, seeds: Sequence[int]) -> list[PlannedRun]:
    first = recipe.read(seeds[0])
    cell = Cell("part", {}, recipe, first.run_id, seeds[0], first.work(), needs_of(first))
    return [PlannedRun(cell, number, run_id) for number, run_id in enumerate(recipe.run_ids(first, seeds))]


def test_an_algorithm_of_ones_own_travels_by_value(dask: Any) -> None:
    flow = {"app": {"kind": "upload", "size": "300 kB"}, "transport": {"kind": "tcp", "cc": "Cautious"}}
    network = {"topology": "point-to-point", "link": {"rate": "10 Mbps", "loss": 0.01}}
    plugins = [("cc", "Cautious", Cautious, fingerprint(Cautious))]
    recipe = Recipe("", overrides=[("network", network), ("flow", [flow])], plugins=plugins)
    runs, kept = planned(recipe, range(1, 6)), Kept()
    cluster_of(dask).simulate(runs, [0.001] * 5, kept, lambda _: None)
    found = pl.concat([rows.tables["flows"] for rows in kept.rows]).sort("run_id")
    here = pl.concat([vz.run_scenario(run.scenario).flows for run in runs]).sort("run_id")
    assert found.equals(here)
    assert found["retransmissions"].sum() > 0


def test_a_long_run_does_not_delay_others(dask: Any) -> None:
    """The other runs of its chunk arrive soon; the long one is run separately."""
    short = planned(Recipe(SWEPT), range(1, 4))
    endless = planned(Recipe(SWEPT, overrides=[("flow.0.app.size", "900 TB"), ("until", "100000 s")]), [1])
    began, arrived, kept = time.monotonic(), [], Kept()

    class EnoughError(Exception):
        pass

    def note(ended: Sequence[int]) -> None:
        arrived.extend(ended)
        if len(arrived) == 3 and time.monotonic() - began > 3:
            raise EnoughError

    runs = [*short[:1], *endless, *short[1:]]
    with pytest.raises(EnoughError):
        cluster_of(dask).simulate(runs, [0.0] * 4, kept, note)
    assert sorted(arrived) == [0, 2, 3]
    # Runs that are no longer wanted are cancelled: the workers are free again.
    with distributed.Client(dask, set_as_default=False) as client:
        wait_for(lambda: not any(client.processing().values()), 5)


@contextmanager
def external(tmp_path: Path, *workers: str, **environment: str) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """Starts a scheduler and workers as separate processes; yields the address for `--on`, and the scheduler."""
    file = tmp_path / "scheduler.json"
    quiet = {"stderr": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "start_new_session": True}
    command = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0"]
    scheduler = subprocess.Popen([*command, "--no-dashboard", "--scheduler-file", file], **quiet)  # type: ignore[call-overload]
    started = [scheduler]
    try:
        wait_for(lambda: file.exists() and file.read_text().rstrip().endswith("}"))
        found = re.search(r'"address": "tcp://([^"]+)"', file.read_text())
        assert found is not None
        for said in workers:
            arguments = ["--scheduler-file", str(file), "--nthreads", "1", "--no-dashboard", "--no-nanny"]
            code = f"{said}; import sys; sys.argv = ['', *{arguments!r}]; from distributed.cli import dask_worker as w"
            command = [sys.executable, "-c", f"{code}; w.go() if hasattr(w, 'go') else w.main()"]
            started.append(subprocess.Popen(command, env=os.environ | environment, **quiet))  # type: ignore[call-overload]
        yield f"dask://{found[1]}", scheduler
    finally:
        for process in started:
            process.kill()
        for process in started:
            process.wait()


OTHER = "from vazao import _core; _core.ENGINE_VERSION = '0.0.1+0123456789abcdef'"
"""Code that makes a worker report another version."""


def test_another_version_is_refused_and_both_are_named(vazao: Vazao, toy_file: Path, tmp_path: Path) -> None:
    with external(tmp_path, OTHER) as (address, _):
        refused = vazao("run", str(toy_file), "--on", address, "--out", str(tmp_path / "r"))
    assert refused.code == 2
    assert f"has engine 0.0.1+0123456789abcdef, not {_core.ENGINE_VERSION}" in refused.err
    assert stored(tmp_path / "r") == 0


@pytest.mark.skipif(kernel.find() is None, reason="no kernel for Linux guests (vazao kernel build)")
def test_guests_run_where_a_worker_has_their_kernel(stacks: Study, tmp_path: Path) -> None:
    with external(tmp_path, "pass", VAZAO_CACHE=str(tmp_path / "nothing")) as (address, _):
        done = stacks.run(out=tmp_path / "there", on=address)
    assert (done.runs.height, done.not_run.height) == (3, 2)
    assert all(reason.startswith("no worker can: ") for reason in done.not_run["reason"])
    assert stacks.run(out=tmp_path / "there", on="local:1").started == 2
    stacks.run(out=tmp_path / "here")
    assert_equal(tmp_path / "here", tmp_path / "there")


def test_workers_without_vazao_are_refused(vazao: Vazao, toy_file: Path, tmp_path: Path) -> None:
    hidden = "import sys; sys.modules['vazao'] = None"
    with external(tmp_path, hidden) as (address, _):
        refused = vazao("run", str(toy_file), "--on", address, "--out", str(tmp_path / "r"))
    assert (refused.code, "a worker cannot load Vazão" in refused.err) == (2, True), refused.err


def test_a_scheduler_that_is_gone_is_told_and_the_campaign_goes_on(large: Path, whole: Path, tmp_path: Path) -> None:
    torn = tmp_path / "torn"
    with external(tmp_path, "pass", "pass") as (address, scheduler):
        threading.Thread(target=lambda: (wait_for(lambda: stored(torn) > 50), scheduler.kill()), daemon=True).start()
        with pytest.raises(RunError, match="the scheduler is gone; finished runs are kept"):
            campaign.run_study(load_study(large), size="full", out=torn, on=address)
    kept = stored(torn)
    assert 50 < kept < RUNS
    assert campaign.run_study(load_study(large), size="full", out=torn, on="local:2").started == RUNS - kept
    assert_equal(whole, torn)


def workers_of(pid: int) -> list[int]:
    """Process ids of the workers that a driver has started."""
    found = [path for path in Path("/proc").glob("[0-9]*/status") if f"\nPPid:\t{pid}\n" in told(path)]
    numbers = [int(path.parent.name) for path in found]
    return [number for number in numbers if "vazao.execution.local_cluster" in told(Path(f"/proc/{number}/cmdline"))]


def told(path: Path) -> str:
    """Text of a file in /proc; empty if the process ends before it is read."""
    try:
        return path.read_text()
    except (FileNotFoundError, ProcessLookupError):
        return ""


@pytest.mark.skipif(sys.platform != "linux", reason="workers are found in /proc")
def test_killed_workers_lose_nothing(large: Path, whole: Path, tmp_path: Path) -> None:
    moments = random.Random(3)
    command = program("run", large, "--full", "--on", "local:2", "--out", tmp_path / "torn", "--json")
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        for more in range(0, 200, 50):
            wait_for(lambda least=more: stored(tmp_path / "torn") > least)  # type: ignore[misc]
            time.sleep(moments.uniform(0, 0.3))
            if workers := workers_of(process.pid):
                os.kill(moments.choice(workers), signal.SIGKILL)
        _, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    assert_equal(whole, tmp_path / "torn")


@pytest.mark.skipif(sys.platform != "linux", reason="workers are found in /proc")
def test_a_killed_driver_takes_its_workers_along_and_is_resumed(large: Path, whole: Path, tmp_path: Path) -> None:
    torn = tmp_path / "torn"
    command = program("run", large, "--full", "--on", "local:2", "--out", torn)
    with subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as process:
        wait_for(lambda: stored(torn) > 50)
        workers = workers_of(process.pid)
        process.kill()
    assert len(workers) == 2
    wait_for(lambda: not any(Path(f"/proc/{pid}/cmdline").exists() for pid in workers), 10)
    kept = stored(torn)
    assert kept < RUNS
    assert campaign.run_study(load_study(large), size="full", out=torn, on="local:2").started == RUNS - kept
    assert_equal(whole, torn)


@pytest.mark.timed
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_ctrl_c_keeps_what_has_finished(large: Path, tmp_path: Path, number: signal.Signals, code: int) -> None:
    command = program("run", large, "--full", "--on", "local:2", "--out", tmp_path / "r")
    with subprocess.Popen(command, stderr=subprocess.PIPE, start_new_session=True) as process:
        wait_for(lambda: stored(tmp_path / "r") > 20)
        before, began = stored(tmp_path / "r"), time.monotonic()
        os.killpg(process.pid, number)
        _, errors = process.communicate(timeout=30)
    # Within a second, plus the time that the interpreter takes to exit.
    assert (process.returncode, time.monotonic() - began < 3) == (code, True)
    assert before <= stored(tmp_path / "r") < RUNS
    assert b"Traceback" not in errors
    assert b"finished runs" in errors


@pytest.mark.parametrize("on", ["local:0", "local:1025", "local:", "dask://", "dask://host", "tcp://host:1", "slurm"])
def test_a_wrong_place_is_told(vazao: Vazao, toy_file: Path, on: str) -> None:
    refused = vazao("run", str(toy_file), "--on", on)
    assert refused.code == 2
    assert f"--on {on!r}: write local:8 for 8 workers (1 to 1024) on this machine, or dask://HOST:PORT" in refused.err


def test_conflicting_options_are_reported(vazao: Vazao, toy: Study, toy_file: Path, tmp_path: Path) -> None:
    refused = vazao("run", str(toy_file), "--on", "local:2", "--jobs", "3")
    assert (refused.code, "--jobs 3: is for runs of this process; leave it out" in refused.err) == (2, True)
    with pytest.raises(ClusterError, match=r"on=7: give a text as 'local:8', a distributed.Client, or a cluster"):
        toy.run(on=7, out=tmp_path)  # type: ignore[arg-type]


def test_workers_that_anybody_on_the_machine_could_command_are_not_started(
    toy: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "cryptography", None)
    with pytest.raises(ClusterError, match="needs cryptography, which is not installed"):
        toy.run(on="local:1", out=tmp_path)


def test_without_dask_the_extra_is_named(
    vazao: Vazao, toy_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    refused = vazao("run", str(toy_file), "--on", "local:2", "--out", str(tmp_path / "r"))
    assert (refused.code, "pip install 'vazao[dask]'" in refused.err) == (2, True)
    assert not (tmp_path / "r").exists()
