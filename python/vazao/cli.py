"""The command `vazao`. Exit codes: 0 done, 1 a run failed, 2 the input is wrong, 130 interrupted, 143 terminated."""

from __future__ import annotations

import json
import math
import os
import re
import signal
import sys
import tomllib
import traceback
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from importlib import resources
from pathlib import Path
from typing import Annotated, Any

import polars as pl
import typer
from rich.text import Text

from vazao import _core, campaign, catalogue, findings, inputs, pace, programs, terminal
from vazao.campaign import Campaign
from vazao.errors import ResultsError, RunError, ScenarioError, VazaoError
from vazao.files import explained, in_words
from vazao.kernel.commands import app as kernel_app
from vazao.loading import load
from vazao.result import Result, run_scenario
from vazao.store import Store, check_usable, read_manifest, writing
from vazao.study import Size, Study, find, is_built_in, is_study, kernels, lacking, parse_study, plan
from vazao.study.source import read_text
from vazao.terminal import err, out
from vazao.version import __version__

app = typer.Typer(
    help="A laboratory for transport protocols: run scenarios and published studies, and ask their results.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

app.add_typer(kernel_app, name="kernel")

Directory = Annotated[str, typer.Argument(metavar="DIR", help="A results directory.")]
Changes = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Override a key of the scenario.")
]
Allow = Annotated[bool, typer.Option("--allow-programs", help="Let guests run the programs that the file names.")]
Seed = Annotated[int | None, typer.Option(min=0, max=2**53, help="The seed of every random stream.")]


def main() -> None:
    """Run the command; whatever a user typed ends in one clear message and an exit code."""
    try:
        try:
            app()
        finally:
            sys.stdout.flush()
    except Terminated:
        _fail("terminated; finished runs of a study are kept, and the same command goes on from there", 143)
    except RunError as error:
        _fail(str(error), 1)
    except VazaoError as error:
        _fail(str(error), 2)
    except BrokenPipeError:
        # The reader (`| head`) has gone; nothing more can be said, not even while Python ends.
        _drop_output()
        raise SystemExit(1) from None
    except OSError as error:
        _drop_output()
        _fail(f"{error.filename or 'the output'}: {in_words(error)}", 1)
    except Exception as error:
        if os.environ.get("VAZAO_TRACEBACK"):
            traceback.print_exc()
        kind = type(error).__name__
        _fail(f"this is a defect of Vazão ({kind}: {error}); VAZAO_TRACEBACK=1 shows where", 1)


class Terminated(BaseException):
    """SIGTERM has come."""


@contextmanager
def _terminable() -> Iterator[None]:
    """In here SIGTERM is an exception, as Ctrl-C is: what has finished is stored."""

    def end(*_: object) -> None:
        raise Terminated

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _drop_output() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _fail(message: str, code: int) -> None:
    print(f"error: {terminal.clean(message)}", file=sys.stderr)
    raise SystemExit(code)


def _say(text: str) -> None:
    """Print a line that may hold what a file says."""
    print(terminal.clean(text))


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"vazao {__version__} (engine {_core.ENGINE_VERSION})")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print versions and exit.")
    ] = False,
) -> None:
    pass


@app.command()
@_terminable()
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
    overrides = [_change(change) for change in changes or []]
    if not is_study(text):
        if full is not None:
            raise ScenarioError(f"{path}: is a scenario; --quick and --full are for studies")
        kept = inputs.kept(directory, read_manifest(directory) or {}) if directory and directory.is_dir() else {}
        scenario = load(text, file=str(path), overrides=overrides, seed=seed, inputs=kept)
        if not (allow or is_built_in(name)):
            programs.ask(str(path), programs.of([scenario]))
        _run_scenario(scenario, trace, pcap, qlog, directory, as_json)
        return
    if trace or pcap or qlog:
        raise ScenarioError(f"{path}: is a study; --trace, --pcap and --qlog are for scenarios")
    study = parse_study(text, str(path)).changed(overrides, seed)
    if not (allow or is_built_in(name)):
        programs.ask(str(path), _programs(study, text, overrides))
    size: Size | None = None if full is None else "full" if full else "quick"
    _run_study(study, size, jobs, directory or campaign.default_directory(study.name), as_json)


def _programs(study: Study, text: str, overrides: Sequence[tuple[str, Any]]) -> list[str]:
    """What the guests of a study run at full size, of which quick is a part."""
    if not programs.may_have(text, overrides):
        return []
    return programs.of(run.scenario for run in plan(study, "full").runs)


def _change(text: str) -> tuple[str, Any]:
    """KEY=VALUE with a value of TOML, or else a text: `network.pairs=3`, `network.bottleneck.rate=10 Mbps`."""
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise ScenarioError(f"--set {text!r}: write KEY=VALUE, as in --set 'network.bottleneck.rate=10 Mbps'")
    try:
        parsed = tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        parsed = value
    return key.strip(), parsed if isinstance(parsed, str | int | float | bool | list | dict) else value


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
    named = inputs.inputs_of([scenario])
    manifest = {
        "kind": "scenario",
        "name": scenario.name,
        "design_sha256": scenario.run_id,
        "seed": scenario.seed,
        "runs": 1,
        "order": [],
        "versions": campaign.versions(),
        "inputs": inputs.digests(named),
    }
    if directory:
        check_usable(directory, manifest)
    with terminal.Clock(scenario.until_s) as clock:
        result = run_scenario(scenario, pcap=pcap, qlog=qlog, on_tick=clock)
    if directory:
        _keep(result, directory, manifest, named)
    if as_json:
        print(json.dumps(_as_json(result), allow_nan=False))
    else:
        terminal.show_run(scenario.name, scenario.run_id, result.rows())
    failed = result.flows.filter(pl.col("failure").is_not_null()).select("flow", "failure").rows()
    if failed:
        flow, failure = failed[0]
        raise RunError(f"{len(failed)} of {result.flows.height} flows failed; flow {flow}: {failure.splitlines()[0]}")


def _keep(result: Result, directory: Path, manifest: Mapping[str, Any], named: Mapping[str, inputs.Input]) -> None:
    """Store a single run as a study's are, so that `vazao sql` can ask it."""
    evidence = pl.DataFrame({"run_id": [result.scenario.run_id], "scenario": [result.scenario.json]})
    with writing(directory, manifest) as writer:
        inputs.keep(directory, named)
        if not Store(directory).batches():
            writer.commit(result.rows() | {"scenarios": evidence}, [result.samples_stream()])


def _as_json(result: Result) -> dict[str, Any]:
    tables = {name: _rows(frame) for name, frame in result.tables().items()}
    samples = tables.pop("samples")
    return {"run": tables.pop("runs")[0], **tables, **({"samples": samples} if samples else {})}


def _rows(frame: pl.DataFrame) -> list[dict[str, Any]]:
    """Rows for JSON, which has no number for "none"."""

    def plain(value: Any) -> Any:
        return None if isinstance(value, float) and not math.isfinite(value) else value

    return [{name: plain(value) for name, value in row.items()} for row in frame.to_dicts()]


def _run_study(study: Study, size: Size | None, jobs: int | None, directory: Path, as_json: bool) -> None:
    try:
        done = campaign.run(study, size=size, jobs=jobs, out=directory, progress=terminal.progress())
    except KeyboardInterrupt:
        err.print("interrupted; finished runs are kept, and the same command goes on from there")
        raise typer.Exit(130) from None
    page = _publish(done)
    if as_json:
        told = {"study": study.name, "directory": str(directory), "runs": done.runs.height}
        not_run = findings.reasons(done.not_run)
        print(json.dumps(told | {"not_run": not_run, "findings": [asdict(result) for result in done.findings]}))
    else:
        terminal.show_findings(done.findings)
        terminal.show_tables((one.title, done.table(one.id)) for one in done.study.tables)
        out.print(
            f"{done.runs.height} runs in {directory} ({done.started} simulated now); report: {page}", soft_wrap=True
        )
    if done.not_run.height:
        err.print(findings.told_not_run(findings.reasons(done.not_run)))
    if failures := done.failures():
        run_id, reason = failures[0]
        raise RunError(f"{len(failures)} runs failed; the first, {run_id}: {reason}")


def _publish(done: Campaign) -> Path:
    """Draw the figures and write the report."""
    from vazao import figures, report

    with explained(done.directory):
        figures.render(done.study, done.store, done.directory)
        return report.write(done.study, done.store, done.findings, done.directory)


@app.command()
def compare(
    name: Annotated[str, typer.Argument(metavar="FILE", help="A scenario.")],
    changes: Changes = None,
    seed: Seed = None,
    directory: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Figures and captures (default: results/compare-NAME).")
    ] = None,
    tolerance: Annotated[
        float, typer.Option(min=0, metavar="MS", help="Milliseconds by which times of equal packets may differ.")
    ] = 1.0,
    allow: Allow = False,
    as_json: Annotated[bool, typer.Option("--json", help="The comparison as one JSON object, nothing else.")] = False,
) -> None:
    """Run a scenario on every stack that can play it (ours, the Linux kernel) and show where they part."""
    from vazao import compare as comparing
    from vazao.compare.show import show as show_comparison

    path = Path(name)
    text = read_text(path)
    if is_study(text):
        raise ScenarioError(f"{path}: is a study; compare takes a scenario, and a factor `stack` compares in a study")
    out_directory = directory or Path("results") / f"compare-{path.stem}"
    overrides = [_change(change) for change in changes or []]
    if not allow:
        programs.ask(str(path), programs.of([load(text, file=str(path), overrides=overrides, seed=seed)]))
    made = comparing.compare(
        text, file=str(path), overrides=overrides, seed=seed, out=out_directory, tolerance_s=tolerance / 1e3
    )
    files = made.draw(out_directory)
    if as_json:
        print(json.dumps({"files": [str(file) for file in files], **made.as_json()}, allow_nan=False))
    else:
        show_comparison(made, str(path))
        out.print(f"\nfigures and captures: {out_directory}", soft_wrap=True)
    if missing := [f"{trial.name}: {trial.problem}" for trial in made.trials if trial.problem]:
        raise RunError("; ".join(missing))


@app.command()
def report(directory: Directory) -> None:
    """Rebuild the figures (SVG, PDF, PNG) and report.html from stored results."""
    done = campaign.open_campaign(directory)
    findings.write(done.findings, done.directory)
    print(_publish(done))


@app.command()
def show(directory: Directory) -> None:
    """Show the findings ledger and summary tables."""
    store = Store(directory)
    if store.manifest["kind"] == "scenario":
        tables = {name: store.read(name) for name in ("runs", "flows", "links")}
        if not tables["runs"].height:
            raise ResultsError(f"{directory}: holds no finished run")
        terminal.show_run(store.manifest["name"], tables["runs"]["run_id"][0], tables)
        return
    done = campaign.open_campaign(directory)
    out.print(f"{done.study.title}\n{done.runs.height} of {store.manifest['runs']} runs ({store.manifest['size']})")
    if done.not_run.height:
        out.print(findings.told_not_run(findings.reasons(done.not_run)))
    out.print()
    terminal.show_findings(done.findings, explained=True)
    terminal.show_tables((one.title, done.table(one.id)) for one in done.study.tables)
    terminal.show_summary(done.runs, {part.name: part.factor_names for part in done.study.parts})


@app.command()
def sql(
    directory: Directory,
    query: Annotated[str, typer.Argument(metavar="SELECT", help="Tables: runs, flows, paths, links, samples.")],
    as_csv: Annotated[bool, typer.Option("--csv", help="Rows as CSV.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Rows as a JSON array of objects.")] = False,
) -> None:
    """Ask the stored results anything (DuckDB; with ci95(x), low95(x), high95(x), welch_p(list(a), list(b)))."""
    rows = Store(directory).query(query)
    if as_csv:
        text = rows.write_csv()
        sys.stdout.write(terminal.clean(text) if sys.stdout.isatty() else text)
    elif as_json:
        print(json.dumps(_rows(rows), default=str))
    elif rows.height and terminal.fits(rows):
        out.print(terminal.table(rows, raw=True))
    else:
        _say(terminal.records(rows))


@app.command()
def check(
    name: Annotated[str, typer.Argument(metavar="FILE|NAME", help="A TOML file, or a built-in study or scenario.")],
    changes: Changes = None,
    seed: Seed = None,
) -> None:
    """Validate without running; say what would be run and how long it would take."""
    path = find(name)
    text = read_text(path)
    overrides = [_change(change) for change in changes or []]
    cores = os.cpu_count() or 1
    if not is_study(text):
        scenario = load(text, file=str(path), overrides=overrides, seed=seed)
        _say(f"{path}: a valid scenario: 1 run, about {_estimate([scenario], 1)}")
        for line in _guests([scenario]):
            _say(f"    {line}")
        if runs := programs.of([scenario]):
            _say(programs.told(str(path), runs))
        return
    study = parse_study(text, str(path)).changed(overrides, seed)
    from vazao.rehearsal import rehearse

    rehearse(study)
    sizes: tuple[Size, ...] = ("quick", "full")
    for size in sizes:
        planned = plan(study, size)
        estimate = _estimate(planned.runnable, cores)
        _say(f"{path}: {size}: {len(planned.runs)} runs, about {estimate} on {cores} cores")
        for part in study.parts:
            count = sum(run.part == part.name for run in planned.runs)
            factors = " × ".join(f"{factor.name} ({len(factor.at(size))})" for factor in part.factors)
            _say(f"    {part.name}: {count} runs, {part.design}{': ' if factors else ''}{factors}")
        for line in _guests([run.scenario for run in planned.runs]):
            _say(f"    {line}")
    if runs := _programs(study, text, overrides):
        _say(programs.told(str(path), runs))
    _say(f"{path}: a valid study: {len(study.figures)} figures, {len(study.findings)} findings")


def _guests(scenarios: Sequence[_core.Scenario]) -> Iterator[str]:
    """What is needed of guests and whether it is there, by kernel."""
    needed = Counter((kernel, lacking(scenario)) for scenario in scenarios for kernel in kernels(scenario).items())
    for ((name, digest), reason), count in needed.items():
        runs = f"{count} run{'' if count == 1 else 's'} with Linux guests"
        left = "is" if count == 1 else "are"
        if digest:
            yield f"{runs}: kernel {name} is there (sha256 {digest[:12]})"
        else:
            yield f"{runs} cannot be run here and {left} left out: {reason}"


def _estimate(scenarios: Sequence[_core.Scenario], cores: int) -> str:
    """What runs take, at the pace of this machine."""
    hops = sum(scenario.work()[0] for scenario in scenarios)
    seconds = pace.measured(scenarios).total(scenarios, cores)
    known = " at least (nobody knows what programs do)" if any(scenario.work()[3] for scenario in scenarios) else ""
    return f"{terminal.quantity(hops, 'packet-hops')}, {terminal.duration(seconds)}{known}"


@app.command("list")
def list_(kind: Annotated[str | None, typer.Argument(help="What to list; without it, everything.")] = None) -> None:
    """List congestion controls, queues, loss models, applications, topologies, studies, scenarios."""
    entries = catalogue.of_kind(kind) if kind else list(catalogue.entries())
    for each in dict.fromkeys(entry.kind for entry in entries):
        rows = [(entry.name, entry.title, entry.source) for entry in entries if entry.kind == each]
        out.print(terminal.table(pl.DataFrame(rows, schema=["name", "title", "source"], orient="row"), title=each))
        out.print()


@app.command()
def explain(
    name: Annotated[str, typer.Argument(help="An algorithm, a transport, a topology, a study, a scenario.")],
) -> None:
    """Say what it is, where it comes from, and its parameters with defaults."""
    for entry in catalogue.named(name):
        also = f" (also {', '.join(entry.aliases)})" if entry.aliases else ""
        out.print(Text.assemble((entry.name, "bold"), f"{also}: {entry.kind}"))
        out.print(f"{entry.title}\n{entry.help}\nsource: {entry.source or '–'}")
        rows = [(p.name, "required" if p.required else p.default or "–", p.expected, p.help) for p in entry.parameters]
        if rows:
            columns = ["parameter", "default", "accepted", "meaning"]
            out.print(terminal.table(pl.DataFrame(rows, schema=columns, orient="row")))
        out.print()


@app.command()
def new(name: Annotated[str, typer.Argument(help="The scenario's name; NAME.toml is written.")]) -> None:
    """Write a commented starter scenario."""
    stem = name.removesuffix(".toml")
    if not re.fullmatch(r"[\w-][\w.-]*", Path(stem).name):
        raise ScenarioError(f"{name!r} is not a name; write letters, digits, - and _, as in my-scenario")
    path = Path(f"{stem}.toml")
    text = (resources.files("vazao") / "starter.toml").read_text(encoding="utf-8")
    title = json.dumps(path.stem, ensure_ascii=False)
    with explained(path):
        if path.exists():
            raise ScenarioError(f"{path}: exists already; choose another name")
        path.write_text(text.replace('"starter"', title, 1), encoding="utf-8")
    _say(f"{path}: run it with: vazao run {path}")
