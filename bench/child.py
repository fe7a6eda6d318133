"""Measures one run in a separate process: a request as JSON on stdin, the cost as JSON on stdout.

Request: `scenario` (TOML) and, optionally, `trace` (measures to record), `pcap` and `qlog` (whether to record those),
`snap` (bytes of a packet that captures keep), `sample` (whether to sample memory during the run), `runs` and `jobs`
(that many equal runs on that many threads). No module is imported before the run unless the run needs it.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import sys
import tempfile
import threading
import time
from statistics import median
from typing import Any

from usage import memory

from vazao import _core

SAMPLE_INTERVAL_S = 0.005


def return_freed_memory() -> None:
    """Return the heap that loading the scenario freed to the system, lest it hide the run's memory."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


class Sampler:
    """Samples resident memory during the run; costs CPU time, so never in a timed run."""

    def __init__(self) -> None:
        self.samples: list[int] = []
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def _watch(self) -> None:
        while not self._done.wait(SAMPLE_INTERVAL_S):
            self.samples.append(memory("VmRSS"))

    def __enter__(self) -> Sampler:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()


def measure(request: dict[str, Any]) -> dict[str, Any]:
    """Load and run the scenario; CPU time covers only the run, memory both."""
    idle = memory("VmHWM")
    scenario = _core.load(request["scenario"])
    if request.get("trace"):
        scenario = scenario.with_trace(request["trace"])
    if "runs" in request:
        started = time.perf_counter()
        _core.run_many(
            [scenario] * request["runs"],
            jobs=request["jobs"],
            on_outcome=lambda _number, _outcome: None,
            on_tick=lambda: None,
        )
        return {"wall_s": time.perf_counter() - started}
    return_freed_memory()
    loaded = memory("VmRSS")
    sampler = Sampler()
    with sampler if request.get("sample") else contextlib.nullcontext(), tempfile.TemporaryDirectory() as folder:
        places = {kind: folder for kind in ("pcap", "qlog") if request.get(kind)}
        started = time.process_time()
        outcome = _core.run(scenario, snap=request.get("snap"), **places)
        cpu_s = time.process_time() - started
    peak = memory("VmHWM")
    if outcome.failure:
        raise SystemExit(outcome.failure)

    import polars

    run = polars.DataFrame(outcome.table("runs")).row(0, named=True)
    flows = polars.DataFrame(outcome.table("flows"))
    if not flows["intact"].all():
        raise SystemExit("a flow's bytes did not arrive intact")
    return {
        "cpu_s": cpu_s,
        "hops": run["packet_hops"],
        "events": run["events"],
        "samples": len(polars.DataFrame(outcome.table("samples"))),
        "connected": flows["handshake_s"].count(),
        "closed": int(flows["completed"].sum() or 0),
        "peak_bytes": peak - idle,
        "resident_bytes": int(median(sampler.samples)) - loaded if sampler.samples else None,
    }


if __name__ == "__main__":
    json.dump(measure(json.load(sys.stdin)), sys.stdout)
