"""Runs ns-2: a process for each scenario, in a temporary directory, with a time limit."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vazao import _core
from vazao.errors import RunError, ScenarioError
from vazao.ns2.outputs import UnreadableError, read
from vazao.ns2.program import Program, environment, find, missing
from vazao.ns2.script import script
from vazao.ns2.tables import empty, tables
from vazao.ns2.translation import translate

TICK = 0.05
"""Seconds between two checks of the running processes."""

SECONDS = 3600.0
"""Default time limit of a run in seconds."""

_VARIABLE = "VAZAO_NS2_SECONDS"


@dataclass(frozen=True)
class Outcome:
    """The outcome of a run by ns-2, with the interface of `_core.Outcome`."""

    run_id: str
    failure: str | None = None
    """Reason why the run failed, if it did; its tables are then empty."""
    not_run: str | None = None
    """Reason why it was not run at all; its tables are then empty."""
    _tables: Mapping[str, Any] = field(default_factory=empty, repr=False)

    def table(self, name: str) -> Any:
        """Rows of "runs", "flows", "paths", "links" or "samples" as an Arrow table."""
        return self._tables[name]


class _CancelledError(Exception):
    """The run is no longer wanted."""


def run(scenario: _core.Scenario, *, on_tick: Callable[[float], None] | None = None) -> Outcome:
    """Run one scenario; `on_tick` is called every 50 ms with 0, because ns-2 does not report its progress."""
    outcomes: list[Outcome] = []
    run_many(
        [scenario],
        jobs=1,
        on_outcome=lambda _, outcome: outcomes.append(outcome),
        on_tick=lambda: on_tick(0.0) if on_tick else None,
    )
    return outcomes[0]


def run_many(
    scenarios: Sequence[_core.Scenario],
    *,
    jobs: int,
    on_outcome: Callable[[int, Outcome], None],
    on_tick: Callable[[], None],
) -> None:
    """Run scenarios, `jobs` at a time. Both callbacks are called in the calling thread, `on_tick` every 50 ms.

    An exception in either, or Ctrl-C, ends the running processes and propagates.
    """
    if not scenarios:
        return
    limit = _limit()
    stop = threading.Event()
    with ThreadPoolExecutor(max(1, jobs), thread_name_prefix="ns-2") as pool:
        runs: dict[Future[Outcome], int] = {
            pool.submit(_run, scenario, limit, stop): index for index, scenario in enumerate(scenarios)
        }
        try:
            while runs:
                for done in wait(runs, TICK, FIRST_COMPLETED).done:
                    on_outcome(runs.pop(done), done.result())
                on_tick()
        except BaseException:
            stop.set()
            pool.shutdown(cancel_futures=True)
            raise


def _run(scenario: _core.Scenario, limit: float, stop: threading.Event) -> Outcome:
    program = find()
    if program is None:
        return Outcome(scenario.run_id, not_run=missing())
    try:
        experiment = translate(scenario)
    except ScenarioError as error:
        return Outcome(scenario.run_id, not_run=str(error))
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="vazao-ns2-") as name:
        folder = Path(name)
        (folder / "script.tcl").write_text(script(experiment), encoding="ascii")
        try:
            problem = _run_script(program, folder, limit, stop)
            if problem is None:
                made = tables(scenario.run_id, experiment, read(folder, experiment), time.monotonic() - began)
                return Outcome(scenario.run_id, _tables=made)
        except UnreadableError as error:
            problem = f"ns-2 wrote what is not understood: {error}"
        return Outcome(scenario.run_id, failure=problem)


def _run_script(program: Program, folder: Path, limit: float, stop: threading.Event) -> str | None:
    """Let ns-2 run the script in a folder; returns the problem, or None."""
    with (folder / "said").open("wb") as output:
        process = subprocess.Popen(
            [program.path, "script.tcl"],
            cwd=folder,
            env=environment(),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        began = time.monotonic()
        try:
            while process.poll() is None:
                if stop.wait(TICK / 5):
                    raise _CancelledError
                if time.monotonic() - began > limit:
                    return f"ns-2 takes longer than {limit:g} s, the limit; {_VARIABLE}=… gives it more"
        finally:
            if process.poll() is None:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
    if process.returncode == 0:
        return None
    lines = (folder / "said").read_text(encoding="utf-8", errors="replace").strip().splitlines()
    return f"ns-2 ended with {_status(process.returncode)}: {(lines or ['it said nothing'])[0][:200]}"


def _status(code: int) -> str:
    return f"code {code}" if code >= 0 else signal.Signals(-code).name


def _limit() -> float:
    """Time limit of a run, from the environment or the default. Raises `RunError`."""
    text = os.environ.get(_VARIABLE, "")
    try:
        value = float(text or SECONDS)
    except ValueError:
        value = 0.0
    if not 0 < value < 1e7:
        raise RunError(f"{_VARIABLE}={text!r}: write a positive number of seconds, as in {_VARIABLE}={SECONDS:g}")
    return value
