"""Cost of running a campaign on a cluster or in shards, and a campaign whose driver, workers and scheduler are killed.

    python bench/cluster.py cost [RUNS]         # CPU of all processes, without and with two workers, and in two shards
    python bench/cluster.py kills [RUNS]        # ten kills at random; the rows are compared with an uninterrupted run's

Needs the extra `dask`, and Linux: CPU is read from the processes' resource usage and from /proc.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from vazao import results
from vazao.execution import Shard
from vazao.store import Store

SCENARIO = """
name = "a second"
until = "1 s"
[network]
topology = "dumbbell"
access = { rate = "1 Gbps", delay = "10 ms" }
bottleneck = { rate = "100 Mbps", delay = "20 ms", queue = "1 bdp", loss = 0.001 }
[[flow]]
app = { kind = "upload" }
transport = { kind = "tcp", cc = "cubic" }
"""
TABLES = ("runs", "flows", "paths", "links")
KILLS = 10
TICKS = os.sysconf("SC_CLK_TCK")


def drive(file: str, runs: str, how: str, out: str) -> None:
    """Run a campaign in this process: `how` is `jobs 2`, `shard 1/2`, or a cluster."""
    study = results.Experiment(Path(file), Path(file).read_text()).vary("flow.0.transport.cc", "cubic,reno")
    study = study.study(int(runs) // 2)
    if how.startswith("shard "):
        number, of = map(int, how.removeprefix("shard ").split("/"))
        results.run_study(study, jobs=2, out=out, shard=Shard(number, of))
    elif how.startswith("jobs "):
        results.run_study(study, jobs=int(how.removeprefix("jobs ")), out=out)
    else:
        results.run_study(study, on=how, out=out)


def started(file: Path, runs: int, how: str, out: Path) -> subprocess.Popen[bytes]:
    """Starts a driver as a separate process."""
    command = [sys.executable, __file__, "drive", str(file), str(runs), how, str(out)]
    return subprocess.Popen(command, stderr=subprocess.DEVNULL)


def cpu(file: Path, runs: int, how: str, out: Path) -> float:
    """CPU seconds of a driver and of all processes that it started."""
    process = started(file, runs, how, out)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, how
    return used.ru_utime + used.ru_stime


def cpu_of(process: subprocess.Popen[bytes]) -> float:
    """CPU seconds of a process that is still running."""
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


class Standing:
    """A scheduler and two workers that keep running between campaigns."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "scheduler.json"
        self.crew: list[subprocess.Popen[bytes]] = []
        self.scheduler = self._scheduler("0")
        while not (found := re.search(r'"address": "tcp://([^"]+)"', self._said())):
            time.sleep(0.05)
        self.address = found[1]
        for _ in range(2):
            self.join()

    def _said(self) -> str:
        return self._file.read_text() if self._file.exists() else ""

    def _scheduler(self, port: str) -> subprocess.Popen[bytes]:
        more = ["--host", "127.0.0.1", "--port", port, "--no-dashboard", "--scheduler-file", str(self._file)]
        return self._start("distributed.cli.dask_scheduler", *more)

    def _start(self, module: str, *arguments: str) -> subprocess.Popen[bytes]:
        quiet = os.environ | {"DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "False"}
        command = [sys.executable, "-m", module, *arguments]
        return subprocess.Popen(command, env=quiet, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def join(self) -> None:
        """Start one more worker."""
        more = ["--nthreads", "1", "--memory-limit", "0", "--no-nanny", "--no-dashboard"]
        self.crew.append(self._start("distributed.cli.dask_worker", f"tcp://{self.address}", *more))

    def kill_worker(self, chosen: random.Random) -> None:
        """Kill a worker and start a replacement."""
        one = self.crew.pop(chosen.randrange(len(self.crew)))
        one.kill()
        one.wait()
        self.join()

    def kill_scheduler(self) -> None:
        """Kill the scheduler, and restart it at its address with new workers."""
        self.close()
        self.scheduler = self._scheduler(self.address.rpartition(":")[2])
        for _ in range(2):
            self.join()

    def close(self) -> None:
        """Stop all processes."""
        for process in (self.scheduler, *self.crew):
            process.kill()
            process.wait()
        self.crew = []


@contextmanager
def folder() -> Iterator[Path]:
    """Temporary folder with the scenario."""
    there = Path(tempfile.mkdtemp(prefix="vazao-bench-"))
    try:
        (there / "second.toml").write_text(SCENARIO)
        yield there
    finally:
        shutil.rmtree(there)


def same(one: Path, other: Path) -> bool:
    """Whether two directories have the same rows, elapsed times aside, and no duplicates."""
    for name in TABLES:
        first, second = (Store(directory).read(name).drop("wall_s", strict=False) for directory in (one, other))
        if not first.equals(second) or (name == "runs" and second["run_id"].is_duplicated().any()):
            return False
    return True


def cost(runs: int) -> None:
    """Print what clusters and shards cost, in CPU seconds of all processes."""
    with folder() as there:
        file = there / "second.toml"
        without = cpu(file, runs, "jobs 2", there / "here")

        def told(what: str, seconds: float) -> None:
            print(f"{what:<44} {seconds:7.2f} s CPU  {seconds / without - 1:+7.1%}", flush=True)

        told(f"{runs} runs without a cluster", without)
        told("--on local:2, start of its workers included", cpu(file, runs, "local:2", there / "local"))
        standing = Standing(there)
        try:
            # Workers import their libraries in a first campaign.
            cpu(file, 20, f"dask://{standing.address}", there / "first")
            before = sum(map(cpu_of, standing.crew))
            before_scheduler = cpu_of(standing.scheduler)
            driver = cpu(file, runs, f"dask://{standing.address}", there / "standing")
            workers = sum(map(cpu_of, standing.crew)) - before
            told("--on dask://, driver and its two workers", driver + workers)
            told("    and the scheduler", driver + workers + cpu_of(standing.scheduler) - before_scheduler)
        finally:
            standing.close()
        told("--shard 1/2 and 2/2", sum(cpu(file, runs, f"shard {n}/2", there / f"part-{n}") for n in (1, 2)))
        results.merge([there / "part-1", there / "part-2"], there / "merged")
        for name in ("local", "standing", "merged"):
            print(f"{name}: rows are {'the same' if same(there / 'here', there / name) else 'NOT THE SAME'}")


def kills(runs: int, seed: int = 1) -> None:
    """Kill driver, worker or scheduler of a campaign ten times at random moments, and compare the rows."""
    chosen = random.Random(seed)
    with folder() as there:
        file, torn = there / "second.toml", there / "torn"
        began = time.monotonic()
        cpu(file, runs, "jobs 2", there / "whole")
        took = time.monotonic() - began
        standing = Standing(there)
        try:
            driver, done, before = started(file, runs, f"dask://{standing.address}", torn), 0, 0
            while done < KILLS:
                # Every kill hits a running campaign.
                while stored(torn) <= before and driver.poll() is None:
                    time.sleep(0.1)
                time.sleep(chosen.uniform(0, took / 20))
                if driver.poll() == 0:
                    # It finished before the kill: start again.
                    assert same(there / "whole", torn)
                    shutil.rmtree(torn)
                    driver, before = started(file, runs, f"dask://{standing.address}", torn), 0
                    continue
                before = stored(torn)
                what = chosen.choice(["driver", "worker", "scheduler"])
                done += 1
                print(f"{done}: {what}, {before} of {runs} runs are stored", flush=True)
                match what:
                    case "driver":
                        driver.kill()
                        driver.wait()
                    case "worker":
                        standing.kill_worker(chosen)
                    case _:
                        standing.kill_scheduler()
                if driver.poll() not in (None, 0):
                    driver = started(file, runs, f"dask://{standing.address}", torn)
            while driver.wait() != 0:
                driver = started(file, runs, f"dask://{standing.address}", torn)
        finally:
            standing.close()
        there_now = stored(torn)
        verdict = "the same as an uninterrupted run's" if same(there / "whole", torn) else "NOT THE SAME"
        print(f"{there_now} runs are stored; rows are {verdict}")


def stored(directory: Path) -> int:
    """Number of committed runs."""
    import polars as pl

    return sum(pl.read_parquet(file).height for file in (directory / "runs").glob("[0-9]*.parquet"))


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["drive", file, runs, how, out]:
            drive(file, runs, how, out)
        case ["cost", *more]:
            cost(int(more[0]) if more else 10_000)
        case ["kills", *more]:
            kills(int(more[0]) if more else 2_000)
        case _:
            sys.exit(str(__doc__))
