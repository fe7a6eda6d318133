"""Measures a campaign in a separate process: a request as JSON on stdin, the cost as JSON on stdout.

Request: `scenario` (TOML), `runs` (that many, under other seeds) and `jobs` (threads). The CPU time is that of this
process and of those that it starts, from planning to the rows of the directory opened again.
"""

from __future__ import annotations

import gc
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import polars
from usage import cpu, memory

from vazao import _core, results

ALONE = 100
"""Number of runs that are timed alone."""


def alone(scenario: str) -> float:
    """Seconds of the fastest of some runs with nothing beside them, tables as the engine makes them included."""
    outcomes = [_core.run(_core.load(scenario, seed=seed)) for seed in range(ALONE)]
    return min(polars.DataFrame(outcome.table("runs"))["wall_s"].item() for outcome in outcomes)


def measure(request: dict[str, Any]) -> dict[str, Any]:
    """Run the campaign and open its results again."""
    runs = request["runs"]
    simulation = alone(request["scenario"])
    with tempfile.TemporaryDirectory() as folder:
        file, directory = Path(folder) / "short.toml", Path(folder) / "results"
        file.write_text(request["scenario"])
        began, used = time.perf_counter(), cpu()
        study = results.Experiment(file, request["scenario"]).study(runs)
        done = results.run_study(study, jobs=request["jobs"], out=directory)
        wall_s, peak = time.perf_counter() - began, memory("VmHWM")
        began = time.perf_counter()
        opened = results.open_campaign(directory)
        intact = opened.sql("SELECT count(*) FILTER (intact) FROM flows").item()
        opened_s = time.perf_counter() - began
        # The databases end with these, and their CPU time counts then.
        del done, opened
        gc.collect()
        used = cpu() - used
    if intact != runs:
        raise SystemExit(f"of {runs} runs {intact} delivered all of their bytes")
    costs = {"cpu_s": used / runs, "simulation_s": simulation, "wall_s": wall_s, "opened_s": opened_s}
    return {"runs": runs, "peak_bytes": peak, **costs}


if __name__ == "__main__":
    json.dump(measure(json.load(sys.stdin)), sys.stdout)
