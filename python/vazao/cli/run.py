"""`vazao run`: a scenario, or the campaign of a study."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from vazao import _core, results, study as studies
from vazao.cli import campaigns, completing, options, programs, sweeps
from vazao.cli.options import (
    Allow,
    Changes,
    Full,
    Jobs,
    Lang,
    On,
    Out,
    Pcap,
    Precision,
    Qlog,
    Seed,
    Seeds,
    ShardOf,
    Snap,
    Trace,
    Vary,
    change,
)
from vazao.cli.signals import terminable
from vazao.errors import RunError, ScenarioError

Named = Annotated[
    str,
    typer.Argument(
        metavar="FILE|NAME",
        help="A TOML file, a built-in study or scenario, or all-theses.",
        autocompletion=completing.files,
    ),
]


@terminable()
def run(
    name: Named,
    changes: Changes = None,
    seed: Seed = None,
    full: Full = None,
    jobs: Jobs = None,
    directory: Out = None,
    trace: Trace = None,
    pcap: Pcap = None,
    snap: Snap = None,
    qlog: Qlog = None,
    shard: ShardOf = None,
    on: On = None,
    vary: Vary = None,
    seeds: Seeds = None,
    precision: Precision = None,
    lang: Lang = None,
    allow: Allow = False,
    as_json: Annotated[bool, typer.Option("--json", help="The result as one JSON object, nothing else.")] = False,
) -> None:
    """Run a scenario (one run) or a study (a campaign; interrupted ones resume, finished ones are not run again)."""
    size: studies.Size | None = None if full is None else "full" if full else "quick"
    given = {
        "--set": changes, "--seed": seed, "--quick/--full": full, "--trace": trace, "--pcap": pcap, "--snap": snap,
        "--qlog": qlog, "--shard": shard, "--on": on, "--vary": vary, "--seeds": seeds, "--until-precision": precision,
        "--lang": lang,
    }  # fmt: skip
    if studies.is_all_theses(name):
        _refuse(name, "all-theses", given)
        campaigns.run_theses(size, options.cluster(on, jobs) or jobs, directory or Path("results"), lang, as_json)
        return
    path = studies.find(name)
    text = studies.read_text(path)
    overrides = [change(one) for one in changes or []]
    built_in = studies.is_built_in(name)
    if studies.is_study(text):
        _refuse(path, "study", given)
        study = studies.parse_as(results.Study, text, str(path)).changed(overrides, seed)
        place = directory or results.default_directory(study.name)
        study = study.with_inputs(results.kept_inputs(place))
        leave = True if allow else programs.ask_for(path, programs.of_study(study, text, overrides), built_in)
        told, where = studies.told_in(study.allowing(leave), lang), options.cluster(on, jobs) or jobs
        campaigns.run_study(told, size, where, place, options.shard(shard), as_json)
        return
    kind = "sweep" if vary or seeds or precision else "scenario"
    _refuse(path, kind, given)
    first, count = options.seeds(seeds, seed)
    kept = results.kept_inputs(directory) if directory else {}
    if kind == "sweep":
        varied = tuple(map(studies.variation, vary or ()))
        swept = results.Experiment(path, text, tuple(overrides), first, varied, kept)
        leave = True if allow else programs.ask_for(path, programs.of_experiment(swept), built_in)
        allowed, where = replace(swept, allow_programs=leave), options.cluster(on, jobs) or jobs
        sweeps.run(allowed, count, precision, where, directory, as_json)
        return
    more: dict[str, Any] = {"file": str(path), "overrides": overrides, "seed": first, "inputs": kept}
    _run_scenario(programs.permitted(path, text, more, allow, built_in), trace, pcap, snap, qlog, directory, as_json)


REFUSED = {
    "all-theses": (
        "are studies as they stand",
        (
            "--set",
            "--seed",
            "--trace",
            "--pcap",
            "--snap",
            "--qlog",
            "--shard",
            "--vary",
            "--seeds",
            "--until-precision",
        ),
    ),
    "study": ("is a study", ("--trace", "--pcap", "--snap", "--qlog", "--vary", "--seeds", "--until-precision")),
    "scenario": ("is a scenario", ("--quick/--full", "--shard", "--on", "--lang")),
    "sweep": ("is swept", ("--trace", "--pcap", "--snap", "--qlog", "--quick/--full", "--shard", "--lang")),
}
"""Options that a kind of file does not take, and what it is called."""


def _refuse(file: str | Path, kind: str, given: dict[str, Any]) -> None:
    """Refuse options that are for other kinds of files. Raises `ScenarioError`."""
    what, refused = REFUSED[kind]
    if any(given[option] not in (None, []) for option in refused):
        *others, last = refused
        raise ScenarioError(f"{file}: {what}; leave {', '.join(others)} and {last} out")


def _run_scenario(
    only: _core.Scenario,
    trace: str | None,
    pcap: Path | None,
    snap: int | None,
    qlog: Path | None,
    directory: Path | None,
    as_json: bool,
) -> None:
    from vazao.cli import showing
    from vazao.cli.progress import Clock

    if trace:
        only = only.with_trace([measure.strip() for measure in trace.split(",")])
    if directory:
        results.check_place(directory, only)
    with Clock(only.until_s, lambda: _ends(only)) as clock:
        result = results.run_scenario(only, pcap=pcap, snap=snap, qlog=qlog, on_tick=clock)
    if directory:
        results.keep(result, directory)
    if as_json:
        from vazao.cli.printing import write_result

        write_result(result)
    else:
        showing.show_run(only.name, only.run_id, result.rows())
        showing.show_places(
            {"captures": pcap, "logs": qlog, "results": directory},
            len(result.samples_stream()) if trace and not directory else 0,
        )
    failed = showing.failures(result.flows)
    if failed:
        flow, failure = failed[0]
        raise RunError(f"{len(failed)} of {result.flows.height} flows failed; flow {flow}: {failure.splitlines()[0]}")


def _ends(only: _core.Scenario) -> float | None:
    """The simulated time at which a run will probably end.

    What a user's own code keeps for itself would see the piece that is run for it: there, nobody knows.
    """
    return None if '"code"' in only.json else results.forecast_run(only).ends_s
