"""Experiments: a scenario with what is changed and varied in it, run once or as the campaign of a study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from vazao import _core, display
from vazao.errors import ClusterError, ScenarioError
from vazao.results.campaign import Campaign, Study, open_campaign, run_study
from vazao.results.result import Result, run_scenario
from vazao.results.running import Progress
from vazao.results.single import StoredResult
from vazao.results.store import Store
from vazao.scenario import Allowed, load as load_scenario
from vazao.study import Source, Variation, find, is_study, parse_as, read_text, sweep, variation

if TYPE_CHECKING:
    from vazao.results.cluster import On


@dataclass(frozen=True)
class Experiment:
    """A scenario's file, changes to it, and keys that are varied. Immutable: `set` and `vary` give another one."""

    file: Path
    text: str
    overrides: tuple[tuple[str, Any], ...] = ()
    seed: int | None = None
    """The first seed; None: the file's."""
    variations: tuple[Variation, ...] = ()
    inputs: Mapping[str, Path] = field(default_factory=dict)
    """Copies of files that the scenario names, for want of any beside it."""
    allow_programs: Allowed = False
    """Leave to run algorithms that it names by their files (`mine.py:Cautious`)."""

    def set(self, changes: Mapping[str, Any]) -> Experiment:
        """The experiment with keys of its scenario changed: `{"network.bottleneck.loss": 0.01}`."""
        return replace(self, overrides=(*self.overrides, *changes.items()))

    def vary(self, key: str, values: str | Sequence[Any]) -> Experiment:
        """The experiment with a key at each of `values`: a list, or a text as `--vary` has it, `"0:0.05:6"`."""
        varied = variation(f"{key}={values}") if isinstance(values, str) else Variation(key, tuple(values))
        return replace(self, variations=(*self.variations, varied))

    @cached_property
    def scenario(self) -> _core.Scenario:
        """The scenario with nothing varied. Raises `ScenarioError`, also for a value that cannot be varied to."""
        for varied in self.variations:
            for value in varied.values:
                try:
                    self._load((varied.key, value))
                except ScenarioError as error:
                    raise ScenarioError(f"--vary {varied.key}={value}: {error}") from None
        return self._load()

    @property
    def name(self) -> str:
        """The scenario's name, or its file's."""
        return str(Source(str(self.file), self.text).document.get("name", self.file.stem))

    def study(self, seeds: int = 1) -> Study:
        """The experiment as a study with `seeds` runs of each combination. Raises `ScenarioError`, `StudyError`."""
        document = Source(str(self.file), self.text).document
        text = sweep(document, self.name, self.variations, seeds, self.scenario.seed)
        study = parse_as(Study, text, str(self.file)).changed(list(self.overrides), None).with_inputs(self.inputs)
        return study.allowing(self.allow_programs)

    @overload
    def run(
        self,
        *,
        seeds: None = None,
        trace: Sequence[str] = (),
        pcap: str | Path | None = None,
        snap: int | None = None,
        qlog: str | Path | None = None,
    ) -> Result: ...

    @overload
    def run(
        self,
        *,
        seeds: int,
        jobs: int | None = None,
        out: str | Path | None = None,
        progress: Progress | None = None,
        on: On | None = None,
    ) -> Campaign: ...

    def run(
        self,
        *,
        seeds: int | None = None,
        trace: Sequence[str] = (),
        pcap: str | Path | None = None,
        snap: int | None = None,
        qlog: str | Path | None = None,
        jobs: int | None = None,
        out: str | Path | None = None,
        progress: Progress | None = None,
        on: On | None = None,
    ) -> Result | Campaign:
        """Run it once; or, with `seeds`, every combination of what is varied so many times.

        A campaign runs what `out` (default: results/NAME) does not have yet, and keeps it there; its runs go `on` a
        cluster, if one is named, as in `Study.run`. Raises `ScenarioError`, `StudyError`, `RunError`, `ResultsError`,
        `ClusterError`.
        """
        if seeds is not None:
            return run_study(self.study(seeds), jobs=jobs, out=out, progress=progress, on=on)
        if on is not None:
            raise ClusterError("on: a single run goes on no cluster; say how many there are, as in run(seeds=5, on=…)")
        if self.variations:
            raise ScenarioError(f"{self.file}: is varied; say how often each combination is run, as in run(seeds=5)")
        return run_scenario(self.scenario, trace=trace, pcap=pcap, snap=snap, qlog=qlog)

    def __repr__(self) -> str:
        varied = "".join(f", {each.key}: {len(each.values)} levels" for each in self.variations)
        return f"Experiment({self.name!r}{varied})"

    def _repr_html_(self) -> str:
        facts: list[tuple[str, Any]] = [("file", self.file), ("seed", self.seed)]
        facts += [(key.removeprefix("="), value) for key, value in self.overrides]
        varied = [(each.key, "; ".join(map(str, each.values))) for each in self.variations]
        return display.card("Experiment", self.name, [*facts, *varied])

    def _load(self, *more: tuple[str, Any]) -> _core.Scenario:
        changes = [*self.overrides, *more]
        beside: dict[str, Any] = {"inputs": self.inputs, "allow_programs": self.allow_programs}
        return load_scenario(self.text, file=str(self.file), overrides=changes, seed=self.seed, **beside)


def load(name: str | Path, *, allow_programs: bool = False) -> Experiment | Study:
    """A scenario or a study: a TOML file, or a built-in one by its name. Raises `ScenarioError`, `StudyError`.

    `allow_programs` lets algorithms that it names by their files (`mine.py:Cautious`) run: code of whoever wrote them.
    """
    path = find(str(name))
    text = read_text(path)
    if not is_study(text):
        return Experiment(path, text, allow_programs=allow_programs)
    study = parse_as(Study, text, str(path))
    return study.allowing() if allow_programs else study


def open(directory: str | Path) -> Campaign | StoredResult:  # noqa: A001
    """Stored results: a study's or sweep's campaign, or a single run's tables. Raises `ResultsError`, `StudyError`."""
    store = Store(directory)
    return open_campaign(directory) if store.manifest["kind"] == "study" else StoredResult(store)
