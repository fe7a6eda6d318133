"""Kill -9 at random moments of a real campaign: the resumed results equal the uninterrupted ones, row for row."""

import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from vazao.results import campaign, load_study
from vazao.store import Store
from vazao.store.parts import TABLES

pytestmark = pytest.mark.process

RUN = """
import sys, vazao
study = vazao.load_study(sys.argv[1])
print("begun", flush=True)
study.run(size="full", out=sys.argv[2])
"""
KILLS = 10


def test_ten_kills_lose_nothing(tmp_path: Path, edited: Callable[[str, str], str]) -> None:
    study = tmp_path / "toy.toml"
    study.write_text(edited("full = 3 }", "full = 300 }"))
    began = time.monotonic()
    whole = campaign.run_study(load_study(study), size="full", out=tmp_path / "whole").runs["run_id"].n_unique()
    took = time.monotonic() - began
    moments = random.Random(7)
    killed, kept = 0, 0
    while killed < KILLS:
        if kept == whole:
            # It finished before the kill: start again, so that every kill hits a running campaign.
            (tmp_path / "torn").rename(tmp_path / f"finished-{killed}")
            kept = 0
        with subprocess.Popen([sys.executable, "-c", RUN, study, tmp_path / "torn"], stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            process.stdout.readline()
            time.sleep(moments.uniform(0, took))
            process.send_signal(signal.SIGKILL)
        killed += 1
        stored = _stored(tmp_path / "torn")
        assert stored >= kept
        kept = stored
    campaign.run_study(load_study(study), size="full", out=tmp_path / "torn")
    for table in TABLES:
        results = (Store(tmp_path / name).read(table).drop("wall_s", strict=False) for name in ("whole", "torn"))
        assert next(results).equals(next(results)), table
    for name in ("findings.json", "manifest.json"):
        assert (tmp_path / "torn" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


def _stored(directory: Path) -> int:
    """Number of runs that are committed."""
    if not any((directory / "runs").glob("*.parquet")):
        return 0
    return Store(directory).read("runs")["run_id"].n_unique()
