"""`vazao run`: a scenario, or the campaign of a study."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from vazao import _core, results, scenario, study as studies
from vazao.cli import options, programs
from vazao.cli.options import Allow, Changes, Lang, Seed, change
from vazao.cli.questions import publish
from vazao.cli.signals import terminable
from vazao.errors import RunError, ScenarioError
from vazao.results.shard import WHOLE, Shard
from vazao.words import DEFAULT, Words


@terminable()
def run(
    name: Annotated[
        str, typer.Argument(metavar="FILE|NAME", help="A TOML file, a built-in study or scenario, or all-theses.")
    ],
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
    shard: Annotated[
        str | None, typer.Option(metavar="K/N", help="Run the K-th of N parts of a study's runs; see vazao merge.")
    ] = None,
    vary: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY=VALUES", help="Sweep a scenario's key: cubic,bbr or 0:0.05:6. May be repeated."),
    ] = None,
    seeds: Annotated[
        int | None, typer.Option(min=1, max=10_000, help="Runs of each combination, from --seed on.")
    ] = None,
    precision: Annotated[
        str | None, typer.Option("--until-precision", metavar="PERCENT", help="Add seeds until goodput is known to 5%.")
    ] = None,
    lang: Lang = None,
    allow: Allow = False,
    as_json: Annotated[bool, typer.Option("--json", help="The result as one JSON object, nothing else.")] = False,
) -> None:
    """Run a scenario (one run) or a study (a campaign; interrupted ones resume, finished ones are not run again)."""
    size: studies.Size | None = None if full is None else "full" if full else "quick"
    if studies.is_all_theses(name):
        if changes or seed is not None or trace or pcap or qlog or shard:
            raise ScenarioError(
                f"{name}: are studies as they stand; leave --set, --seed, --trace, --pcap, --qlog and --shard out"
            )
        _run_theses(size, jobs, directory or Path("results"), lang, as_json)
        return
    path = studies.find(name)
    text = studies.read_text(path)
    overrides = [change(one) for one in changes or []]
    if not studies.is_study(text):
        if full is not None:
            raise ScenarioError(f"{path}: is a scenario; --quick and --full are for studies")
        if lang is not None:
            raise ScenarioError(f"{path}: is a scenario; --lang is for studies")
        if vary or seeds or precision:
            from vazao.cli import sweeps

            if trace or pcap or qlog:
                raise ScenarioError(f"{path}: is swept; --trace, --pcap and --qlog are for single runs")
            swept = sweeps.Sweep(path, text, tuple(overrides), seed, tuple(map(studies.variation, vary or ())))
            if not (allow or studies.is_built_in(name)):
                programs.ask(str(path), programs.of([swept.only]))
            sweeps.run(swept, seeds, precision, jobs, directory, as_json)
            return
        if shard is not None:
            raise ScenarioError(f"{path}: is a scenario; --shard is for studies")
        kept = results.kept_inputs(directory) if directory else {}
        only = scenario.load(text, file=str(path), overrides=overrides, seed=seed, inputs=kept)
        if not (allow or studies.is_built_in(name)):
            programs.ask(str(path), programs.of([only]))
        _run_scenario(only, trace, pcap, qlog, directory, as_json)
        return
    if trace or pcap or qlog:
        raise ScenarioError(f"{path}: is a study; --trace, --pcap and --qlog are for scenarios")
    if vary or seeds or precision:
        raise ScenarioError(f"{path}: is a study; --vary, --seeds and --until-precision are for scenarios")
    study = studies.parse_as(results.Study, text, str(path)).changed(overrides, seed)
    if not (allow or studies.is_built_in(name)):
        programs.ask(str(path), programs.of_study(study, text, overrides))
    place = directory or results.default_directory(study.name)
    run_study(studies.told_in(study, lang), size, jobs, place, options.shard(shard), as_json)


def _run_scenario(
    only: _core.Scenario,
    trace: str | None,
    pcap: Path | None,
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
    with Clock(only.until_s) as clock:
        result = results.run_scenario(only, pcap=pcap, qlog=qlog, on_tick=clock)
    if directory:
        results.keep(result, directory)
    if as_json:
        from vazao.cli.printing import write_result

        write_result(result)
    else:
        showing.show_run(only.name, only.run_id, result.rows())
    failed = showing.failures(result.flows)
    if failed:
        flow, failure = failed[0]
        raise RunError(f"{len(failed)} of {result.flows.height} flows failed; flow {flow}: {failure.splitlines()[0]}")


def run_study(
    study: results.Study,
    size: studies.Size | None,
    jobs: int | None,
    directory: Path,
    shard: Shard,
    as_json: bool,
) -> None:
    """Run what is missing of a study, or of a shard of it, and show what came out."""
    done = campaign(study, size, jobs, directory, shard)
    if shard != WHOLE:
        _show_shard(done, shard, as_json)
        return
    page = publish(done)
    if as_json:
        print(json.dumps(_told(done)))
    else:
        _show(done, page)
    _ended(done)


def _run_theses(size: studies.Size | None, jobs: int | None, directory: Path, lang: str | None, as_json: bool) -> None:
    """The studies that re-run an original, one after the other, and a page over their answers."""
    from vazao import report
    from vazao.cli.terminal import out

    campaigns = []
    for name in studies.theses():
        study = results.load_study(name, lang=lang)
        campaigns.append(campaign(study, size, jobs, directory / name))
        publish(campaigns[-1])
        if not as_json:
            out.print(f"{study.title}: {studies.counted(campaigns[-1].findings, study.words)}", soft_wrap=True)
    told = [(done.study, done.findings, done.directory.name) for done in campaigns]
    page = report.write_index(told, directory, Words(lang or DEFAULT))
    if as_json:
        print(json.dumps({"page": str(page), "studies": [_told(done) for done in campaigns]}))
    else:
        out.print(f"answers: {page}", soft_wrap=True)
    for done in campaigns:
        _ended(done)


def _show_shard(done: results.Campaign, shard: Shard, as_json: bool) -> None:
    from vazao.cli.terminal import out

    told = {"directory": str(done.directory), "shard": [shard.number, shard.of], "runs": done.runs.height}
    if as_json:
        print(json.dumps(told | {"started": done.started}))
    else:
        there = f"{done.runs.height} runs in {done.directory} ({done.started} simulated now)"
        out.print(f"shard {shard.number} of {shard.of}: {there}; `vazao merge` puts shards together", soft_wrap=True)
    _ended(done)


def campaign(
    study: results.Study,
    size: studies.Size | None,
    jobs: int | None,
    directory: Path,
    shard: Shard = WHOLE,
) -> results.Campaign:
    """The campaign of a study with what was missing run; its progress is shown."""
    from vazao.cli.progress import progress
    from vazao.cli.terminal import err

    try:
        return results.run_study(study, size=size, jobs=jobs, out=directory, progress=progress(), shard=shard)
    except KeyboardInterrupt:
        err.print("interrupted; finished runs are kept, and the same command goes on from there")
        raise typer.Exit(130) from None


def _told(done: results.Campaign) -> dict[str, Any]:
    """A campaign as data."""
    return {
        "study": done.study.name, "directory": str(done.directory), "runs": done.runs.height,
        "not_run": studies.reasons(done.not_run), "findings": [asdict(result) for result in done.findings],
    }  # fmt: skip


def _show(done: results.Campaign, page: Path) -> None:
    """A campaign as people read it."""
    from vazao.cli import showing
    from vazao.cli.terminal import out

    if done.study.findings:
        showing.show_findings(done.findings, done.study.words)
    showing.show_tables((one.title, done.table(one.id)) for one in done.study.tables)
    runs = f"{done.runs.height} runs in {done.directory} ({done.started} simulated now)"
    out.print(f"{runs}; report: {page}", soft_wrap=True)


def _ended(done: results.Campaign) -> None:
    """Say what was not run, and what is left out. Raises `RunError` where a run failed."""
    from vazao.cli.terminal import err

    if done.left_out:
        reasons = "; ".join(done.left_out)
        err.print(
            f"stored runs that the study does not have now: {reasons}. `vazao gc {done.directory}` removes them",
            soft_wrap=True,
        )
    if done.not_run.height:
        err.print(studies.told_not_run(studies.reasons(done.not_run)))
    if failures := done.failures():
        run_id, reason = failures[0]
        raise RunError(f"{len(failures)} runs failed; the first, {run_id}: {reason}")
