"""Experiments: a scenario with overridden and varied keys, run once or as the campaign of a study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from vazao import _core, display
from vazao.errors import ClusterError, ScenarioError
from vazao.execution import Progress
from vazao.results.campaign import Campaign, Study, open_campaign, run_study
from vazao.results.result import Result, run_scenario
from vazao.results.single import StoredResult
from vazao.scenario import Allowed, load as load_scenario
from vazao.store import Store
from vazao.study import Source, Variation, find, is_study, parse_as, read_text, sweep, variation

if TYPE_CHECKING:
    from vazao.execution import On


@dataclass(frozen=True)
class Experiment:
    """A scenario file with overridden and varied keys. Immutable: `set` and `vary` return a new experiment."""

    file: Path
    text: str
    overrides: tuple[tuple[str, Any], ...] = ()
    seed: int | None = None
    """First seed; None for the file's own."""
    variations: tuple[Variation, ...] = ()
    inputs: Mapping[str, Path] = field(default_factory=dict)
    """Copies of files that the scenario names, used when they are not beside it."""
    allow_programs: Allowed = False
    """Permission to run algorithms from files that the scenario names (`mine.py:Cautious`)."""

    def set(self, changes: Mapping[str, Any]) -> Experiment:
        """The experiment with keys of its scenario overridden: `{"network.bottleneck.loss": 0.01}`."""
        return replace(self, overrides=(*self.overrides, *changes.items()))

    def vary(self, key: str, values: str | Sequence[Any]) -> Experiment:
        """The experiment with a key varied over `values`: a list, or a string as `--vary` takes it, `"0:0.05:6"`."""
        varied = variation(f"{key}={values}") if isinstance(values, str) else Variation(key, tuple(values))
        return replace(self, variations=(*self.variations, varied))

    @cached_property
    def scenario(self) -> _core.Scenario:
        """The scenario without variations. Raises `ScenarioError`, also for an invalid value of a varied key."""
        for varied in self.variations:
            for value in varied.values:
                try:
                    self._load((varied.key, value))
                except ScenarioError as error:
                    raise ScenarioError(f"--vary {varied.key}={value}: {error}") from None
        return self._load()

    @property
    def name(self) -> str:
        """The scenario's name (default: its file's)."""
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
        """Run the scenario once or, with `seeds`, every combination of varied values that many times.

        A campaign simulates the runs that `out` (default: results/NAME) lacks and stores them there; they execute `on`
        a cluster if one is given, as in `Study.run`. Raises `ScenarioError`, `StudyError`, `RunError`, `ResultsError`,
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
    """Load a scenario or a study: a TOML file, or a built-in one by its name. Raises `ScenarioError`, `StudyError`.

    `allow_programs` permits running algorithms from files that it names (`mine.py:Cautious`), whoever wrote them.
    """
    path = find(str(name))
    text = read_text(path)
    if not is_study(text):
        return Experiment(path, text, allow_programs=allow_programs)
    study = parse_as(Study, text, str(path))
    return study.allowing() if allow_programs else study


def open(directory: str | Path) -> Campaign | StoredResult:  # noqa: A001
    """Open stored results: a study's or sweep's campaign, or a single run. Raises `ResultsError`, `StudyError`."""
    store = Store(directory)
    return open_campaign(directory) if store.manifest["kind"] == "study" else StoredResult(store)
