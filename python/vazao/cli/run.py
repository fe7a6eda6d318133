"""`vazao run`: a scenario, or the campaign of a study."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from vazao import _core, execution, results, store, study as studies
from vazao.cli import again, campaigns, ci, completions, options, programs, sweeps
from vazao.cli.options import (
    Allow,
    Changes,
    FailOn,
    Full,
    Jobs,
    Junit,
    Lang,
    Measurements,
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
from vazao.scenario import Recipe

Named = Annotated[
    str,
    typer.Argument(
        metavar="FILE|NAME",
        help="A TOML file, a built-in study or scenario, or all-theses.",
        autocompletion=completions.files,
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
    fail_on: FailOn = None,
    junit: Junit = None,
    measurements: Measurements = None,
    allow: Allow = False,
    as_json: Annotated[bool, typer.Option("--json", help="The result as one JSON object, nothing else.")] = False,
) -> None:
    """Run a scenario (one run) or a study (a campaign; interrupted ones resume, finished ones are not run again)."""
    size: studies.Size | None = None if full is None else "full" if full else "quick"
    given = {
        "--set": changes, "--seed": seed, "--trace": trace, "--pcap": pcap, "--snap": snap, "--qlog": qlog,
        "--quick/--full": full, "--shard": shard, "--on": on, "--vary": vary, "--seeds": seeds,
        "--until-precision": precision, "--measurements": measurements, "--lang": lang, "--fail-on": fail_on,
        "--junit": junit, "--out": directory, "--jobs": jobs,
    }  # fmt: skip
    how = _Campaign(size, on, jobs, directory, shard, lang, fail_on, junit, as_json, tuple(measurements or ()))
    if studies.is_all_theses(name):
        _refuse(name, "all-theses", given)
        campaigns.run_theses(size, how.place(), directory or Path("results"), lang, as_json, how.demands())
        return
    if stored := again.stored_run(name):
        _refuse(name, "stored run", given)
        again.run(*stored, trace, pcap, snap, qlog, allow, as_json)
        return
    if Path(name).is_dir() and (Path(name) / store.MANIFEST).is_file():
        _refuse(name, "results directory", given)
        if directory:
            kept_sets = again.measurements_of(Path(name), how.measurements)
            how = replace(how, measurements=(*kept_sets, *how.measurements))
        how.run(lambda: again.study_of(Path(name), allow), Path(name))
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
        how.run(lambda: _allowed(study, path, text, overrides, allow, built_in), place)
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
    only = programs.permitted(path, text, more, allow, built_in)
    _run_scenario(only, Recipe(text, overrides=overrides), trace, pcap, snap, qlog, directory, as_json)


@dataclass(frozen=True)
class _Campaign:
    """Options of a campaign, as typed."""

    size: studies.Size | None
    on: str | None
    jobs: int | None
    directory: Path | None
    shard: str | None
    lang: str | None
    fail_on: str | None
    junit: Path | None
    as_json: bool
    measurements: tuple[Path, ...] = ()

    def place(self) -> int | execution.Cluster | None:
        """Cores, or a cluster. Raises `ClusterError`."""
        return options.cluster(self.on, self.jobs) or self.jobs

    def demands(self) -> ci.Demands:
        """Demands on verdicts, from `--fail-on` and `--junit`. Raises `StudyError`."""
        return ci.demands(self.fail_on, self.junit)

    def run(self, study: Callable[[], results.Study], place: Path) -> None:
        """Run a study, which is requested only once all options are validated."""
        asked, shard = self.demands(), options.shard(self.shard)
        if shard != execution.WHOLE:
            asked_for = {"--measurements": list(self.measurements), "--fail-on": self.fail_on, "--junit": self.junit}
            _refuse("--shard", "shard", asked_for)
        translated = studies.in_language(study(), self.lang)
        where = self.place()
        out = self.directory or place
        campaigns.run_study(
            translated, self.size, where, out, shard, self.as_json, asked=asked, measurements=self.measurements
        )


def _allowed(
    study: results.Study, path: Path, text: str, overrides: list[tuple[str, Any]], allow: bool, built_in: bool
) -> results.Study:
    """Give a study permission to run its programs and custom algorithms. Raises `ScenarioError`."""
    return study.allowing(
        True if allow else programs.ask_for(path, programs.of_study(study, text, overrides), built_in)
    )


CHANGED = {"--set", "--seed"}
RECORDED = {"--trace", "--pcap", "--snap", "--qlog"}
SWEPT = {"--vary", "--seeds", "--until-precision"}
JUDGED = {"--measurements", "--fail-on", "--junit"}
CAMPAIGN = {"--quick/--full", "--shard", "--on", "--lang"} | JUDGED

REFUSED = {
    "all-theses": ("are studies as they stand", CHANGED | RECORDED | SWEPT | {"--shard", "--measurements"}),
    "study": ("is a study", RECORDED | SWEPT),
    "stored run": ("is a stored run", CHANGED | CAMPAIGN | SWEPT | {"--out", "--jobs"}),
    "results directory": ("holds results of a study as it is", CHANGED | RECORDED | SWEPT),
    "shard": ("is a part of a study, whose claims are judged when it is whole", JUDGED),
    "scenario": ("is a scenario", CAMPAIGN),
    "sweep": ("is swept", RECORDED | CAMPAIGN - {"--on"}),
}
"""Options that each kind of input does not accept, after the description of the kind for messages."""


def _refuse(file: str | Path, kind: str, given: dict[str, Any]) -> None:
    """Reject options that this kind of input does not accept. Raises `ScenarioError`."""
    what, refused = REFUSED[kind]
    if any(value not in (None, []) for option, value in given.items() if option in refused):
        *others, last = (option for option in given if option in refused)
        raise ScenarioError(f"{file}: {what}; leave {', '.join(others)} and {last} out")


def _run_scenario(
    only: _core.Scenario,
    recipe: Recipe,
    trace: str | None,
    pcap: Path | None,
    snap: int | None,
    qlog: Path | None,
    directory: Path | None,
    as_json: bool,
) -> None:
    from vazao.cli import rendering

    measures = [measure.strip() for measure in trace.split(",")] if trace else []
    if measures:
        only = only.with_trace(measures)
    if directory:
        results.check_place(directory, only)
    # Of a run that is shown and not kept, the path is accounted for as well.
    is_shown = not (directory or as_json or measures or json.loads(only.json)["trace"]["measures"])
    result = again.simulated(only.with_trace(["limit"]) if is_shown else only, pcap, snap, qlog)
    if directory:
        results.keep(result, directory, recipe, measures)
    if as_json:
        from vazao.cli.json_tables import write_result

        write_result(result)
    else:
        rendering.show_run(only.name, only.run_id, result.rows())
        rendering.show_places(
            {"captures": pcap, "logs": qlog, "results": directory},
            len(result.samples_stream()) if trace and not directory else 0,
        )
    failed = rendering.failures(result.flows)
    if failed:
        flow, failure = failed[0]
        raise RunError(f"{len(failed)} of {result.flows.height} flows failed; flow {flow}: {failure.splitlines()[0]}")
