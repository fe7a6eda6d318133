"""`vazao run`: a scenario, or the campaign of a study."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import polars as pl
import typer

from vazao import _core, results
from vazao.cli import programs, showing
from vazao.cli.options import Allow, Changes, Seed, change, rows_of
from vazao.cli.progress import Clock, progress
from vazao.cli.questions import publish
from vazao.cli.signals import terminable
from vazao.cli.terminal import err, out
from vazao.errors import RunError, ScenarioError
from vazao.results import Result, run_scenario
from vazao.scenario import load
from vazao.study import Size, find, is_built_in, is_study, parse_as, read_text, reasons, told_not_run


@terminable()
def run(
    name: Annotated[str, typer.Argument(metavar="FILE|NAME", help="A TOML file, or a built-in study or scenario.")],
    changes: Changes = None,
    seed: Seed = None,
    full: Annotated[
        bool | None, typer.Option("--full/--quick", help="A study's size (default: as begun, else quick).")
    ] = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="Runs at a time (default: all cores).")] = None,
    directory: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Where results go (a study's default: results/NAME).")
    ] = None,
    trace: Annotated[
        str | None, typer.Option(metavar="MEASURES", help="Record time series: cwnd,ssthresh,srtt,rtt,flight,…")
    ] = None,
    pcap: Annotated[Path | None, typer.Option(metavar="DIR", help="One pcapng per host interface.")] = None,
    qlog: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Each side of each QUIC connection, for qvis.")
    ] = None,
    allow: Allow = False,
    as_json: Annotated[bool, typer.Option("--json", help="The result as one JSON object, nothing else.")] = False,
) -> None:
    """Run a scenario (one run) or a study (a campaign; interrupted ones resume, finished ones are not run again)."""
    path = find(name)
    text = read_text(path)
    overrides = [change(one) for one in changes or []]
    if not is_study(text):
        if full is not None:
            raise ScenarioError(f"{path}: is a scenario; --quick and --full are for studies")
        kept = results.kept_inputs(directory) if directory else {}
        scenario = load(text, file=str(path), overrides=overrides, seed=seed, inputs=kept)
        if not (allow or is_built_in(name)):
            programs.ask(str(path), programs.of([scenario]))
        _run_scenario(scenario, trace, pcap, qlog, directory, as_json)
        return
    if trace or pcap or qlog:
        raise ScenarioError(f"{path}: is a study; --trace, --pcap and --qlog are for scenarios")
    study = parse_as(results.Study, text, str(path)).changed(overrides, seed)
    if not (allow or is_built_in(name)):
        programs.ask(str(path), programs.of_study(study, text, overrides))
    size: Size | None = None if full is None else "full" if full else "quick"
    _run_study(study, size, jobs, directory or results.default_directory(study.name), as_json)


def _run_scenario(
    scenario: _core.Scenario,
    trace: str | None,
    pcap: Path | None,
    qlog: Path | None,
    directory: Path | None,
    as_json: bool,
) -> None:
    if trace:
        scenario = scenario.with_trace([measure.strip() for measure in trace.split(",")])
    if directory:
        results.check_place(directory, scenario)
    with Clock(scenario.until_s) as clock:
        result = run_scenario(scenario, pcap=pcap, qlog=qlog, on_tick=clock)
    if directory:
        results.keep(result, directory)
    if as_json:
        print(json.dumps(_as_json(result), allow_nan=False))
    else:
        showing.show_run(scenario.name, scenario.run_id, result.rows())
    failed = result.flows.filter(pl.col("failure").is_not_null()).select("flow", "failure").rows()
    if failed:
        flow, failure = failed[0]
        raise RunError(f"{len(failed)} of {result.flows.height} flows failed; flow {flow}: {failure.splitlines()[0]}")


def _as_json(result: Result) -> dict[str, Any]:
    tables = {name: rows_of(frame) for name, frame in result.tables().items()}
    samples = tables.pop("samples")
    return {"run": tables.pop("runs")[0], **tables, **({"samples": samples} if samples else {})}


def _run_study(study: results.Study, size: Size | None, jobs: int | None, directory: Path, as_json: bool) -> None:
    try:
        done = results.run_study(study, size=size, jobs=jobs, out=directory, progress=progress())
    except KeyboardInterrupt:
        err.print("interrupted; finished runs are kept, and the same command goes on from there")
        raise typer.Exit(130) from None
    page = publish(done)
    if as_json:
        told = {"study": study.name, "directory": str(directory), "runs": done.runs.height}
        not_run = reasons(done.not_run)
        print(json.dumps(told | {"not_run": not_run, "findings": [asdict(result) for result in done.findings]}))
    else:
        showing.show_findings(done.findings)
        showing.show_tables((one.title, done.table(one.id)) for one in done.study.tables)
        out.print(
            f"{done.runs.height} runs in {directory} ({done.started} simulated now); report: {page}", soft_wrap=True
        )
    if done.not_run.height:
        err.print(told_not_run(reasons(done.not_run)))
    if failures := done.failures():
        run_id, reason = failures[0]
        raise RunError(f"{len(failures)} runs failed; the first, {run_id}: {reason}")
