"""`vazao verify`, and `vazao run` of a stored run (compared bit by bit) or campaign (run anew)."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from vazao import _core, forecast, measurements, results, store
from vazao.cli import programs
from vazao.cli.ci import Case, write
from vazao.cli.options import Allow, AsJson, Directory, Jobs, Junit
from vazao.cli.signals import terminable
from vazao.cli.texts import say
from vazao.errors import RunError, ScenarioError
from vazao.scenario import lacking

_RUN_ID = re.compile(r"[0-9a-f]{4,16}")

MOST = 20
"""Maximum number of differing runs that are listed one by one."""


def stored_run(name: str) -> tuple[str, str] | None:
    """Split `results/wan/1f0c` into a results directory and the prefix of a `run_id`; None if it is no such name.

    The directory of a single run stands for that run.
    """
    directory, _, run_id = name.rpartition("/")
    if directory and _RUN_ID.fullmatch(run_id) and Path(directory).is_dir() and not Path(name).exists():
        return directory, run_id
    manifest = store.read_manifest(Path(name)) if Path(name).is_dir() else None
    return (name, str(manifest["run"])) if manifest and manifest["kind"] == "scenario" else None


def asked_for(directory: str, run_ids: Sequence[str], allow: bool) -> results.Stored:
    """Stored runs with permission to run their programs and custom algorithms. Raises `ScenarioError` if refused."""
    stored = results.stored_runs(directory, run_ids)
    return replace(stored, allowed=programs.gate(allow)(directory, stored.request()))


def simulated(only: _core.Scenario, pcap: Path | None, snap: int | None, qlog: Path | None) -> results.Result:
    """Run a scenario with its progress displayed."""
    from vazao.cli.progress import Clock

    with Clock(only.until_s, lambda: _ends(only)) as clock:
        return results.run_scenario(only, pcap=pcap, snap=snap, qlog=qlog, on_tick=clock)


def _ends(only: _core.Scenario) -> float | None:
    """Forecast of the simulated time at which a run ends; None if there is none.

    The forecast runs a piece of the scenario, which could change state that custom algorithms keep: they get none.
    """
    return None if only.has_own_algorithms else forecast.forecast_run(only).ends_s


def study_of(source: Path, allow: bool) -> results.Study:
    """The study of a results directory, as it was run there. Raises `ScenarioError` if its code may not run."""
    study = results.open_campaign(source).study
    asked = programs.of_study(study, study.text, study.overrides)
    return study.allowing(programs.gate(allow)(str(source), asked))


def measurements_of(source: Path, given: Sequence[Path]) -> tuple[Path, ...]:
    """Measurement files kept in a results directory, except those that its study names or that are `given`."""
    named = {one.name for one in results.open_campaign(source).study.measurements}
    others = named | set(map(measurements.name_of, given))
    return tuple(path for name, path in measurements.kept_measurements(source).items() if name not in others)


def run(
    source: str,
    run_id: str,
    trace: str | None,
    pcap: Path | None,
    snap: int | None,
    qlog: Path | None,
    allow: bool,
    as_json: bool,
) -> None:
    """Repeat a stored run, and report whether its results are identical to the bit."""
    stored = asked_for(source, [run_id], allow)
    (point,) = stored.points
    only = stored.scenario(point)
    if reason := lacking(only):
        raise ScenarioError(f"{source}/{point.run_id}: cannot be run here: {reason}")
    measures = [measure.strip() for measure in trace.split(",")] if trace else []
    result = simulated(only.with_trace(measures) if measures else only, pcap, snap, qlog)
    # Additional traces have nothing stored to be compared with.
    one = stored.compared(point, only, result.rows() if measures else result.tables())
    if as_json:
        from vazao.cli.json_tables import write_result

        there, here = stored.engines
        write_result(result, {"again": as_data(one) | {"engine": here, "stored_engine": there}})
    else:
        from vazao.cli import rendering

        rendering.show_run(f"{only.name} ({point.label})", result.scenario.run_id, result.rows())
        rendering.show_places({"captures": pcap, "logs": qlog}, len(result.samples_stream()) if measures else 0)
        say(f"\nrun {point.run_id} of {source}: {one.summary()} ({stored.engine_label()})")
    check([one])


@terminable()
def verify(
    directory: Directory,
    runs: Annotated[
        list[str] | None,
        typer.Argument(metavar="[RUN_ID…]", help="Runs, or the beginnings of their names; all without any."),
    ] = None,
    jobs: Jobs = None,
    junit: Junit = None,
    allow: Allow = False,
    as_json: AsJson = False,
) -> None:
    """Run stored runs again from what is stored with them, and compare their tables to the bit."""
    from vazao.cli.progress import progress

    stored = asked_for(directory, runs or [], allow)
    done = list(stored.repeat(jobs or os.cpu_count() or 1, progress()))
    if junit:
        write(junit, [(str(stored.store.manifest["name"]), [_case(one) for one in done])])
    if as_json:
        print(json.dumps(_summary(stored, done), default=str))
    else:
        _print_summary(stored, done)
    check(done)


def check(done: Sequence[results.Repeated]) -> None:
    """Raise `RunError` if any repeated run differs."""
    if differ := [one for one in done if one.differences]:
        raise RunError(
            f"{len(differ)} of {len(done)} runs differ; the first, {differ[0].point.run_id}: {differ[0].summary()}"
        )


def _print_summary(stored: results.Stored, done: Sequence[results.Repeated]) -> None:
    same = sum(one.same for one in done)
    say(f"{same} of {len(done)} runs are the same to the bit ({stored.engine_label()})")
    others = [one for one in done if not one.same]
    for one in others[:MOST]:
        say(f"  {one.point.run_id} ({one.point.label}): {one.summary()}")
    if len(others) > MOST:
        say(f"  … and {len(others) - MOST} more; --json has all of them")


def _summary(stored: results.Stored, done: Sequence[results.Repeated]) -> dict[str, Any]:
    there, here = stored.engines
    return {
        "directory": str(stored.store.directory), "engine": here, "stored_engine": there, "runs": len(done),
        "same": sum(one.same for one in done), "differing": [as_data(one) for one in done if one.differences],
        "not_run": [{"run_id": one.point.run_id, "reason": one.not_run} for one in done if one.not_run is not None],
    }  # fmt: skip


def as_data(one: results.Repeated) -> dict[str, Any]:
    """A repeated run as data for JSON."""
    scenario = [{"key": key, "stored": was, "now": now} for key, (was, now) in one.scenario.items()]
    rows = [asdict(each) for each in one.differences]
    return {
        "run_id": one.point.run_id,
        "label": one.point.label,
        "same": one.same,
        "scenario": scenario,
        "differences": rows,
    }


def _case(one: results.Repeated) -> Case:
    name = f"run {one.point.run_id} ({one.point.label})"
    if one.not_run is not None:
        return Case(name, "skipped", "not run", one.not_run)
    if one.same:
        return Case(name)
    return Case(name, "failure", "differs", one.summary(), "\n".join(map(str, one.differences)))
