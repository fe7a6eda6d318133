"""Plan of a study's runs: scenarios with seeds, and the columns that say what each one is."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import prod
from typing import Any

import polars as pl
import tomli_w

from vazao import _core
from vazao.errors import ScenarioError, StudyError
from vazao.scenario import Input, inputs_of, kernels_of, lacking, load, simulators_of
from vazao.study.design import Combination, combinations
from vazao.study.model import RESERVED, Label, Part, Size, Study

PLANNED_BYTES = 20_000
"""Memory of a run that is planned, the scenario of an ordinary one with it."""


@dataclass(frozen=True)
class PlannedRun:
    """One run of a study: a scenario under one seed, and the row it is in the design."""

    part: str
    combination: Combination
    replication: int
    scenario: _core.Scenario

    @property
    def labels(self) -> dict[str, Label]:
        """The level of each factor."""
        return {name: level.label for name, level in self.combination.items()}


@dataclass(frozen=True)
class Plan:
    """All runs of a study at a size, and the types of the design's columns."""

    study: Study
    size: Size
    runs: list[PlannedRun]

    @cached_property
    def columns(self) -> dict[str, pl.DataType]:
        """The design's columns: `part`, a column per factor, its numbers with their units, `replication`.

        They are those of the whole study, whatever the part and size, so that all rows go together.
        """
        return design_columns(self.study)

    def rows(self, runs: list[PlannedRun]) -> pl.DataFrame:
        """The design's columns of some of the runs, with their `run_id`."""
        rows = [self._row(run) for run in runs]
        return pl.DataFrame(rows, schema={"run_id": pl.String(), **self.columns}, orient="row")

    def _row(self, run: PlannedRun) -> dict[str, Any]:
        row: dict[str, Any] = dict.fromkeys(self.columns)
        row |= {"run_id": run.scenario.run_id, "part": run.part, "replication": run.replication}
        for name, level in run.combination.items():
            row[name] = str(level.label) if self.columns[name] == pl.String() else level.label
            if number := level.number:
                row[f"{name}_{number[0]}"] = number[1]
        return row

    @cached_property
    def scenarios(self) -> list[_core.Scenario]:
        """The distinct scenarios: one that several parts share is run once."""
        return list({run.scenario.run_id: run.scenario for run in self.runs}.values())

    @cached_property
    def runnable(self) -> list[_core.Scenario]:
        """The scenarios whose guests, if they have any, can be had."""
        return [scenario for scenario in self.scenarios if lacking(scenario) is None]

    @cached_property
    def kernels(self) -> dict[str, str | None]:
        """The kernels of all guests by name, each with its SHA-256, or None where it is not built."""
        return {name: digest for scenario in self.scenarios for name, digest in kernels_of(scenario).items()}

    @cached_property
    def simulators(self) -> dict[str, str | None]:
        """The simulators other than ours by name, each with its SHA-256, or None where it is not installed."""
        return {name: digest for scenario in self.scenarios for name, digest in simulators_of(scenario).items()}

    @cached_property
    def inputs(self) -> dict[str, Input]:
        """The files that its scenarios name, by these names."""
        return inputs_of(self.scenarios)


def plan(study: Study, size: Size) -> Plan:
    """Expand a study's designs and build every scenario.

    Raises `StudyError` where a combination of levels makes no valid scenario, naming part and levels.
    """
    _check_room(study, size)
    runs = [run for part in study.parts for run in _part_runs(study, part, size)]
    return Plan(study, size, runs)


def _check_room(study: Study, size: Size) -> None:
    """Whether there is memory for the plan, before it is made. Raises `StudyError`."""
    left = _core.memory_left()
    for part in study.parts:
        levels = (len(factor.at(size)) for factor in part.factors)
        combinations = len(part.runs) if part.design == "list" else prod(levels)
        replications = getattr(part.replications, size)
        runs = combinations * replications
        if left is not None and runs * PLANNED_BYTES > left:
            told = f"{combinations} combinations, each {replications} times"
            most = f"{left // PLANNED_BYTES} runs fit into the memory that may be taken"
            raise StudyError(f"{study.file}: part {part.name!r} has {told}, but {most}; write fewer replications")
        left = None if left is None else left - runs * PLANNED_BYTES


def design_columns(study: Study) -> dict[str, pl.DataType]:
    """`part`, then each factor (a number when all its labels are numbers) and its units' numbers, `replication`."""
    columns: dict[str, pl.DataType] = {"part": pl.String()}
    for factor in dict.fromkeys(name for part in study.parts for name in part.factor_names):
        labels = study.labels(factor)
        numeric = all(not isinstance(label, str) for label in labels)
        whole = all(isinstance(label, int) for label in labels)
        columns[factor] = (pl.Int64() if whole else pl.Float64()) if numeric else pl.String()
        levels = [level for part in study.parts for f in part.factors if f.name == factor for level in f.levels]
        for suffix in dict.fromkeys(number[0] for level in levels if (number := level.number)):
            name = f"{factor}_{suffix}"
            if name in columns or name in RESERVED:
                raise StudyError(f"{study.file}: factor {factor!r} needs a column {name!r}, which another one is")
            columns[name] = pl.Float64()
    return columns | {"replication": pl.Int64()}


def _part_runs(study: Study, part: Part, size: Size) -> list[PlannedRun]:
    replications = range(getattr(part.replications, size))
    runs = []
    for combination in combinations(part, size):
        scenarios = [_scenario(study, part, combination, study.seed + r) for r in replications]
        if len({scenario.run_id for scenario in scenarios}) < len(scenarios):
            raise StudyError(f"{_where(study, part, combination)}: replications share their random numbers")
        runs += [PlannedRun(part.name, combination, r, scenario) for r, scenario in enumerate(scenarios)]
    return runs


def _scenario(study: Study, part: Part, combination: Combination, seed: int) -> _core.Scenario:
    levels = [override for level in combination.values() for override in level.overrides]
    overrides = [*study.overrides, *part.scenario.items(), *levels]
    more: dict[str, Any] = {"inputs": study.inputs, "allow_programs": study.allows_programs}

    def read(text: str) -> _core.Scenario:
        return load(text, file=study.file, table="scenario", overrides=overrides, seed=seed, **more)

    try:
        return read(_template(study.text))
    except ScenarioError:
        pass
    # The whole file tells the line of a mistake.
    try:
        return read(study.text)
    except ScenarioError as error:
        raise StudyError(f"{_where(study, part, combination)}: {error}") from None


@lru_cache(maxsize=16)
def _template(text: str) -> str:
    """The scenario of a study's text by itself: each run reads it, and claims and figures may be many times as long."""
    return tomli_w.dumps({"scenario": tomllib.loads(text)["scenario"]})


def _where(study: Study, part: Part, combination: Combination) -> str:
    levels = ", ".join(f"{name} = {level.label}" for name, level in combination.items())
    several = f"part {part.name!r}" if len(study.parts) > 1 else ""
    return ", ".join(filter(None, [several, levels])) or f"study {study.name!r}"
