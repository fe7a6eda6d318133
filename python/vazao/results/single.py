"""Results of a single run in a directory, stored like a study's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from vazao import _core, display, figures
from vazao.files import write_atomically
from vazao.results.result import Result, facts, shown
from vazao.scenario import Recipe, inputs_of
from vazao.store import Store, check_usable, inputs, read_manifest, readme, versions, writing

if TYPE_CHECKING:
    from altair import Chart, FacetChart, LayerChart

SCENARIO = "scenario.toml"
"""Scenario file of a single run; its changes, seed and trace are in the manifest."""


@dataclass(frozen=True)
class StoredResult:
    """Stored tables of one run."""

    store: Store

    @property
    def directory(self) -> Path:
        """The results directory."""
        return self.store.directory

    @cached_property
    def runs(self) -> pl.DataFrame:
        """One row: Jain's index, utilisation, simulated seconds, events, packet-hops, wall-clock seconds."""
        return self.store.read("runs")

    @cached_property
    def flows(self) -> pl.DataFrame:
        """One row per flow: times in seconds, rates in bits per second, sizes in bytes."""
        return self.store.read("flows")

    @cached_property
    def paths(self) -> pl.DataFrame:
        """One row per path of each flow."""
        return self.store.read("paths")

    @cached_property
    def links(self) -> pl.DataFrame:
        """One row per link and direction."""
        return self.store.read("links")

    @cached_property
    def samples(self) -> pl.DataFrame:
        """Time series of the traced measures: bytes and seconds."""
        return self.store.read("samples")

    def sql(self, query: str) -> pl.DataFrame:
        """Query the tables runs, flows, paths, links and samples (DuckDB). Raises `ResultsError`."""
        return self.store.query(query)

    def plot(self, measure: str, *, kind: figures.Kind = "step") -> Chart | LayerChart | FacetChart:
        """Altair chart of a traced measure ("cwnd", "rtt", "queue", …) over time.

        `kind` is "step" (a line per flow, path or link), "band" (mean and 95 % interval over these), or the
        distribution of the samples of each: "ecdf" or "box". Raises `ResultsError`.
        """
        return figures.trace_chart(self.samples, measure, kind)

    def _repr_html_(self) -> str:
        return display.card(
            "Stored result", str(self.store.manifest["name"]), [("in", self.directory), *facts(self)], shown(self)
        )

    def __reduce__(self) -> tuple[type[StoredResult], tuple[Store]]:
        """Pickle the location of the tables, not the tables."""
        return StoredResult, (self.store,)

    def __repr__(self) -> str:
        return f"StoredResult({str(self.directory)!r}, {self.store.manifest['name']!r}, flows={self.flows.height})"


def kept_inputs(directory: Path) -> dict[str, Path]:
    """Copies of input files in a results directory, by the names that its scenario uses."""
    return inputs.kept(directory, read_manifest(directory) or {}) if directory.is_dir() else {}


def check_place(directory: Path, scenario: _core.Scenario) -> None:
    """Check, before a scenario is run, that its results can be stored in `directory`. Raises `ResultsError`."""
    check_usable(directory, _manifest_of(scenario))


def keep(result: Result, directory: Path, recipe: Recipe | None = None, trace: Sequence[str] = ()) -> None:
    """Store a single run, so that `vazao sql` can query it, with the recipe to run it again.

    `trace` are measures that were traced in addition to those of the recipe. Raises `ResultsError`.
    """
    scenario = result.scenario
    evidence = pl.DataFrame({"run_id": [scenario.run_id], "scenario": [scenario.json]})
    manifest = _manifest_of(scenario)
    if recipe is not None:
        manifest |= {"overrides": [list(change) for change in recipe.overrides], "trace": list(trace)}
    with writing(directory, manifest) as writer:
        inputs.keep(directory, inputs_of([scenario]))
        if recipe is not None:
            write_atomically(directory / SCENARIO, recipe.text.encode())
        readme.write(directory, manifest)
        if not Store(directory).batches():
            writer.commit(result.rows() | {"scenarios": evidence}, [result.samples_stream()])


def _manifest_of(scenario: _core.Scenario) -> dict[str, Any]:
    return {
        "kind": "scenario",
        "name": scenario.name,
        "run": scenario.run_id,
        "seed": scenario.seed,
        "runs": 1,
        "versions": versions(),
        "inputs": inputs.digests(inputs_of([scenario])),
    }
