"""Plan of a study's runs: scenarios with seeds, and the columns that describe each run."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from math import prod
from typing import Any

import polars as pl
import tomli_w

from vazao import _core
from vazao.errors import ScenarioError, StudyError
from vazao.scenario import Input, Needs, Recipe, merged_inputs, needs_of, read_each
from vazao.study.design import Combination, combinations
from vazao.study.fields import Label
from vazao.study.model import RESERVED, Part, Size, Study

KEY = "replication"
"""Column of every design besides `part` and its factors."""

PLANNED_BYTES = 2_000
"""Approximate memory of a planned run; its scenario is read only when it is run."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A combination of levels of a part, with what its scenarios, which differ only in their seeds, share."""

    part: str
    combination: Combination
    recipe: Recipe
    run_id: str
    """`run_id` of the first replication."""
    seed: int
    """Seed of the first replication."""
    work: _core.Work
    """Rough estimate of the work of a run; see `_core.Scenario.work`."""
    needs: Needs

    @property
    def scenario(self) -> _core.Scenario:
        """Scenario of the first replication."""
        return self.recipe.read(self.seed)


@dataclass(frozen=True, slots=True)
class PlannedRun:
    """One run of a study: a combination of levels under one seed, which is one row of the design."""

    cell: Cell
    replication: int
    run_id: str

    @property
    def part(self) -> str:
        """Name of its part."""
        return self.cell.part

    @property
    def combination(self) -> Combination:
        """Level of each factor."""
        return self.cell.combination

    @property
    def labels(self) -> dict[str, Label]:
        """Label of each factor's level."""
        return {name: level.label for name, level in self.combination.items()}

    @property
    def seed(self) -> int:
        """Seed of its random streams."""
        return self.cell.seed + self.replication

    @property
    def lacking(self) -> str | None:
        """Reason why this machine cannot run it; None if nothing is missing."""
        return self.cell.needs.lacking

    @property
    def scenario(self) -> _core.Scenario:
        """The scenario, read again. Raises `ScenarioError` if a file that it names has changed in the meantime."""
        return scenarios_of([self])[0]

    def work(self) -> _core.Work:
        """Rough estimate of its work, that of its combination's first replication; see `_core.Scenario.work`."""
        return self.cell.work


def scenarios_of(runs: Sequence[PlannedRun]) -> list[_core.Scenario]:
    """Scenarios of runs, read again, a combination's at once. Raises `ScenarioError` as `PlannedRun.scenario`."""
    scenarios = read_each([(run.cell.recipe, run.seed) for run in runs])
    for run, scenario in zip(runs, scenarios, strict=True):
        if scenario.run_id != run.run_id:
            raise ScenarioError(f"run {run.run_id}: a file that its scenario names changed since it was planned")
    return scenarios


@dataclass(frozen=True)
class Plan:
    """All runs of a study at a size, and the types of the design's columns."""

    study: Study
    size: Size
    runs: list[PlannedRun]

    @cached_property
    def columns(self) -> dict[str, pl.DataType]:
        """Columns of the design: `part`, a column per factor, its numbers with their units, `replication`.

        They cover the whole study, whatever the part and size, so that all rows can be combined.
        """
        return design_columns(self.study)

    @cached_property
    def cells(self) -> list[Cell]:
        """Combinations that have runs, in their order."""
        return list({id(run.cell): run.cell for run in self.runs}.values())

    def rows(self, runs: list[PlannedRun]) -> pl.DataFrame:
        """Rows of the design for some of the runs, with their `run_id`."""
        numbers = {id(cell): number for number, cell in enumerate(self.cells)}
        cells = pl.DataFrame(list(map(self._row, self.cells)), schema=self.columns, orient="row").drop(KEY)
        which = {
            "run_id": pl.Series([run.run_id for run in runs], dtype=pl.String()),
            KEY: pl.Series([run.replication for run in runs], dtype=pl.Int64()),
        }
        of = pl.Series([numbers[id(run.cell)] for run in runs], dtype=pl.UInt32())
        return cells[of].with_columns(**which).select("run_id", *self.columns)

    def _row(self, cell: Cell) -> dict[str, Any]:
        row: dict[str, Any] = dict.fromkeys(self.columns) | {"part": cell.part}
        for name, level in cell.combination.items():
            row[name] = str(level.label) if self.columns[name] == pl.String() else level.label
            if number := level.number:
                row[f"{name}_{number[0]}"] = number[1]
        return row

    @cached_property
    def distinct(self) -> list[PlannedRun]:
        """Runs without duplicates: a run that several parts share is run once."""
        first: dict[str, PlannedRun] = {}
        for run in self.runs:
            first.setdefault(run.run_id, run)
        return list(first.values())

    @property
    def runnable(self) -> list[PlannedRun]:
        """Distinct runs that this machine can run."""
        return [run for run in self.distinct if run.lacking is None]

    @cached_property
    def kernels(self) -> dict[str, str | None]:
        """Kernels of all guests by name, each with its SHA-256, or None if it is not built."""
        return {name: digest for cell in self.cells for name, digest in cell.needs.kernels.items()}

    @cached_property
    def simulators(self) -> dict[str, str | None]:
        """Other simulators by name, each with its SHA-256, or None if it is not installed."""
        return {name: digest for cell in self.cells for name, digest in cell.needs.simulators.items()}

    @cached_property
    def inputs(self) -> dict[str, Input]:
        """Files that the scenarios use, by name."""
        return merged_inputs(cell.needs.inputs for cell in self.cells)


def plan(study: Study, size: Size) -> Plan:
    """Expand a study's designs and build every scenario.

    Raises `StudyError` naming part and levels if a combination of levels makes no valid scenario.
    """
    _check_room(study, size)
    runs = [run for part in study.parts for run in _part_runs(study, part, size)]
    return Plan(study, size, runs)


def _check_room(study: Study, size: Size) -> None:
    """Check that the plan fits in memory, before it is built. Raises `StudyError`."""
    left = _core.memory_left()
    for part in study.parts:
        levels = (len(factor.at(size)) for factor in part.factors)
        combinations = len(part.runs) if part.design == "list" else prod(levels)
        replications = getattr(part.replications, size)
        runs = combinations * replications
        if left is not None and runs * PLANNED_BYTES > left:
            count = f"{combinations} combinations, each {replications} times"
            most = f"{left // PLANNED_BYTES} runs fit into the memory that may be taken"
            raise StudyError(f"{study.file}: part {part.name!r} has {count}, but {most}; write fewer replications")
        left = None if left is None else left - runs * PLANNED_BYTES


def design_columns(study: Study) -> dict[str, pl.DataType]:
    """Columns of a design: `part`, each factor (numeric if its labels are) with its units' numbers, `replication`."""
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
    seeds = range(study.seed, study.seed + getattr(part.replications, size))
    runs = []
    for combination in combinations(part, size):
        cell, first = _cell(study, part, combination)
        try:
            run_ids = cell.recipe.run_ids(first, seeds)
        except ScenarioError as error:
            raise StudyError(f"{_where(study, part, combination)}: {error}") from None
        if len(set(run_ids)) < len(run_ids):
            raise StudyError(f"{_where(study, part, combination)}: replications share their random numbers")
        runs += [PlannedRun(cell, replication, run_id) for replication, run_id in enumerate(run_ids)]
    return runs


def _cell(study: Study, part: Part, combination: Combination) -> tuple[Cell, _core.Scenario]:
    """Cell of a combination, and the scenario of its first replication. Raises `StudyError`."""
    recipe, first = _first(study, part, combination)
    return Cell(part.name, combination, recipe, first.run_id, study.seed, first.work(), needs_of(first)), first


def scenario_of(study: Study, part: Part, combination: Combination) -> _core.Scenario:
    """Scenario of the first replication of a combination. Raises `StudyError`."""
    return _first(study, part, combination)[1]


def _first(study: Study, part: Part, combination: Combination) -> tuple[Recipe, _core.Scenario]:
    """Recipe of a combination's scenarios, and the first of them. Raises `StudyError`."""
    levels = [override for level in combination.values() for override in level.overrides]
    overrides = [*study.overrides, *part.scenario.items(), *levels]
    more: dict[str, Any] = {"inputs": study.inputs, "allow_programs": study.allows_programs}
    recipe = Recipe(_template(study.text), study.file, "scenario", overrides, **more)
    try:
        return recipe, recipe.read(study.seed)
    except ScenarioError:
        pass
    # Reading the whole file gives the line of a mistake.
    try:
        whole = replace(recipe, text=study.text)
        return whole, whole.read(study.seed)
    except ScenarioError as error:
        raise StudyError(f"{_where(study, part, combination)}: {error}") from None


@lru_cache(maxsize=16)
def _template(text: str) -> str:
    """Scenario table of a study's text alone: each run reads it, and claims and figures may be many times as long."""
    return tomli_w.dumps({"scenario": tomllib.loads(text)["scenario"]})


def _where(study: Study, part: Part, combination: Combination) -> str:
    levels = ", ".join(f"{name} = {level.label}" for name, level in combination.items())
    several = f"part {part.name!r}" if len(study.parts) > 1 else ""
    return ", ".join(filter(None, [several, levels])) or f"study {study.name!r}"
