"""`vazao check`: validates a file, and reports what it would run and how long that would take."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from vazao import _core, execution, forecast, measurements, scenario, store, study as studies
from vazao.cli import completions, programs
from vazao.cli.options import AsJson, Changes, Seed, change
from vazao.cli.texts import say
from vazao.units import duration, quantity


@dataclass(frozen=True)
class _Need:
    """A kernel or another simulator that runs need."""

    runs: int
    what: str
    name: str
    sha256: str | None
    lacking: str | None
    """Reason why it is not available."""


@dataclass(frozen=True)
class _Estimate:
    """The work of runs, and how long they take on this machine."""

    packet_hops: float
    seconds: float
    at_least: bool
    """Whether the runs include programs, whose duration is unknown."""


def check(
    name: Annotated[
        str,
        typer.Argument(
            metavar="FILE|NAME", help="A TOML file, or a built-in study or scenario.", autocompletion=completions.files
        ),
    ],
    changes: Changes = None,
    seed: Seed = None,
    as_json: AsJson = False,
) -> None:
    """Validate; say what would be run, and how long that would take, for which a piece of it is run."""
    path = studies.find(name)
    text = studies.read_text(path)
    overrides = [change(one) for one in changes or []]
    if studies.is_study(text):
        _check_study(path, text, overrides, seed, as_json)
        return
    only = scenario.load(text, file=str(path), overrides=overrides, seed=seed)
    estimate, needs, runs = (
        _estimate([only], 1),
        list(_needs([scenario.needs_of(only)])),
        execution.CodeRequest.of([only]),
    )
    notes = list(_notes(only))
    if as_json:
        data = {"file": str(path), "kind": "scenario", "runs": 1, "run_id": only.run_id, **asdict(estimate)}
        print(json.dumps(data | {"needs": [asdict(need) for need in needs], "notes": notes, **asdict(runs)}))
        return
    say(f"{path}: a valid scenario: 1 run, about {_described(estimate)}")
    for need in needs:
        say(f"    {_sentence(need)}")
    for note in notes:
        say(f"    {note}")
    if runs:
        say(runs.message(str(path)))


def _notes(only: _core.Scenario) -> Iterator[str]:
    """Warnings about settings that are valid but probably not intended."""
    for link in only.graph()["links"]:
        for direction, way in ("forward", link), ("reverse", link["reverse"]):
            if way["queue"]["parameters"].get("limit", "").startswith("0 "):
                yield (
                    f"{link['name']}, {direction}: a queue of 0 drops whatever comes while another packet is sent, "
                    'all but one of each burst; the bufferless link of textbooks is a fluid: "2 packets" are nearer'
                )


def _check_study(path: Path, text: str, overrides: Sequence[tuple[str, Any]], seed: int | None, as_json: bool) -> None:
    study = studies.parse_study(text, str(path)).changed(overrides, seed)
    store.validate_queries(study)
    measurements.joined(study)
    cores = os.cpu_count() or 1
    sizes = [_Size(study, size, cores) for size in _SIZES]
    runs = programs.of_study(study, text, overrides)
    if as_json:
        counts = {"figures": len(study.figures), "findings": len(study.findings), **asdict(runs)}
        data = {"file": str(path), "kind": "study", "name": study.name, "cores": cores}
        print(json.dumps(data | {"sizes": {each.size: each.as_json() for each in sizes}} | counts))
        return
    for each in sizes:
        each.say(path)
    if runs:
        say(runs.message(str(path)))
    say(f"{path}: a valid study: {len(study.figures)} figures, {len(study.findings)} findings")


_SIZES: tuple[studies.Size, ...] = ("quick", "full")


class _Size:
    """A study in one size: its runs by part, their duration, and their needs."""

    def __init__(self, study: studies.Study, size: studies.Size, cores: int) -> None:
        planned = studies.plan(study, size)
        self.size, self.cores = size, cores
        self.runs = len(planned.runs)
        self.estimate = _estimate(planned.runnable, cores)
        self.needs = list(_needs([run.cell.needs for run in planned.runs]))
        counts = Counter(run.part for run in planned.runs)
        self.parts: list[dict[str, Any]] = [
            {
                "name": part.name,
                "runs": counts[part.name],
                "design": part.design,
                "factors": {factor.name: len(factor.at(size)) for factor in part.factors},
            }
            for part in study.parts
        ]

    def as_json(self) -> dict[str, Any]:
        """Data for JSON."""
        needs = [asdict(need) for need in self.needs]
        return {"runs": self.runs, **asdict(self.estimate), "parts": self.parts, "needs": needs}

    def say(self, path: Path) -> None:
        """Print the size for people."""
        say(f"{path}: {self.size}: {self.runs} runs, about {_described(self.estimate)} on {self.cores} cores")
        for part in self.parts:
            factors = " × ".join(f"{name} ({levels})" for name, levels in part["factors"].items())
            say(f"    {part['name']}: {part['runs']} runs, {part['design']}{': ' if factors else ''}{factors}")
        for need in self.needs:
            say(f"    {_sentence(need)}")


def _needs(runs: Sequence[scenario.Needs]) -> Iterator[_Need]:
    """Kernels and other simulators that runs need, and whether each is available."""
    every = ((needs, *each) for needs in runs for each in _needed(needs))
    counted = Counter((what, name, digest, needs.lacking) for needs, what, name, digest in every)
    for (what, name, digest, reason), count in counted.items():
        yield _Need(count, what, name, digest, None if digest else reason)


def _sentence(need: _Need) -> str:
    runs = f"{need.runs} run{'' if need.runs == 1 else 's'} {need.what}"
    if need.sha256:
        return f"{runs}: {need.name} is there (sha256 {need.sha256[:12]})"
    left = "is" if need.runs == 1 else "are"
    return f"{runs} cannot be run here and {left} left out: {need.lacking}"


def _needed(needs: scenario.Needs) -> Iterator[tuple[str, str, str | None]]:
    """Kernels and simulators that a run needs: a description of such runs, the name, the digest if it is available."""
    for name, digest in needs.kernels.items():
        yield "with Linux guests", f"kernel {name}", digest
    for name, digest in needs.simulators.items():
        yield f"by {name}", name, digest


def _estimate(runs: Sequence[_core.Scenario | studies.PlannedRun], cores: int) -> _Estimate:
    """Estimate the packet-hops of runs, and their duration on this machine."""
    work = [each.work() for each in runs]
    seconds = forecast.forecast_run(runs[0]).seconds if len(runs) == 1 else forecast.forecast_runs(runs, cores).seconds
    return _Estimate(sum(each.hops for each in work), seconds, any(each.has_programs for each in work))


def _described(estimate: _Estimate) -> str:
    known = " at least (nobody knows what programs do)" if estimate.at_least else ""
    return f"{quantity(estimate.packet_hops, 'packet-hops')}, {duration(estimate.seconds)}{known}"
