"""The results of a single run in a directory, stored as a study's are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

from vazao import _core
from vazao.results import inputs
from vazao.results.manifest import check_usable, read_manifest
from vazao.results.result import Result
from vazao.results.store import Store
from vazao.results.version import versions
from vazao.results.writer import writing
from vazao.scenario import inputs_of


def kept_inputs(directory: Path) -> dict[str, Path]:
    """The copies of files that a results directory has, by the names that its scenario calls them."""
    return inputs.kept(directory, read_manifest(directory) or {}) if directory.is_dir() else {}


def check_place(directory: Path, scenario: _core.Scenario) -> None:
    """See, before a scenario is run, that its results may go to `directory`. Raises `ResultsError`."""
    check_usable(directory, _manifest_of(scenario))


def keep(result: Result, directory: Path) -> None:
    """Store a single run, so that `vazao sql` can ask it. Raises `ResultsError`."""
    scenario = result.scenario
    evidence = pl.DataFrame({"run_id": [scenario.run_id], "scenario": [scenario.json]})
    with writing(directory, _manifest_of(scenario)) as writer:
        inputs.keep(directory, inputs_of([scenario]))
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
