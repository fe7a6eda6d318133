"""Kill -9 at random moments of a real campaign: the resumed result equals the uninterrupted one, row for row."""

import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from vazao import campaign
from vazao.store import TABLES, Store
from vazao.study import load_study

RUN = "import sys, vazao; vazao.load_study(sys.argv[1]).run(size='full', out=sys.argv[2])"
KILLS = 10


def test_ten_kills_lose_nothing(tmp_path: Path, edited: Callable[[str, str], str]) -> None:
    study = tmp_path / "toy.toml"
    study.write_text(edited("full = 3 }", "full = 120 }"))
    campaign.run(load_study(study), size="full", out=tmp_path / "whole")
    moments = random.Random(7)
    killed, kept = 0, 0
    while killed < KILLS:
        # Importing takes most of a second; then commits come every half second or 256 runs.
        process = subprocess.Popen([sys.executable, "-c", RUN, str(study), str(tmp_path / "torn")])
        time.sleep(moments.uniform(0.2, 2.5))
        if process.poll() is not None:
            # It has finished: begin again, so that all ten kills hit a campaign at work.
            (tmp_path / "torn").rename(tmp_path / f"finished-{time.monotonic_ns()}")
            kept = 0
            continue
        process.send_signal(signal.SIGKILL)
        process.wait()
        killed += 1
        stored = set(Store(tmp_path / "torn").read("runs")["run_id"]) if _begun(tmp_path / "torn") else set()
        assert len(stored) >= kept
        kept = len(stored)
    campaign.run(load_study(study), size="full", out=tmp_path / "torn")
    for table in TABLES:
        whole, torn = (Store(tmp_path / name).read(table).drop("wall_s", strict=False) for name in ("whole", "torn"))
        assert torn.equals(whole), table
    for name in ("findings.json", "manifest.json"):
        assert (tmp_path / "torn" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


def _begun(directory: Path) -> bool:
    return any((directory / "runs").glob("*.parquet"))
