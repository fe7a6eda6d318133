"""Runs that the page can run again: for each mark of a figure the scenarios behind it, told by what they differ in."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from vazao.errors import VazaoError
from vazao.report import behind
from vazao.results import Store, planned_runs
from vazao.seeing import can_run_again
from vazao.study import Cell, Figure, PlannedRun, Study
from vazao.units import unit_of
from vazao.words import Words

MOST_FLOWS = 12
"""Flows of a run whose goodput stands beside that of the new run; of more, the first ones."""

MOST_RUNS = 40
"""Runs of a mark among which a reader chooses; of more, the first ones."""


def content(study: Study, store: Store, explorer: str = "") -> dict[str, Any] | None:
    """Everything that the page must know to run runs again (`web/src/again/content.ts`); None where it cannot.

    `explorer` is the address of the explorer's page, where a server has one.
    """
    if not can_run_again():
        return None
    runs: dict[str, PlannedRun] = {}
    with suppress(VazaoError):  # what the study names is not here, or this version reads it otherwise
        runs = planned_runs(study, store)
    told = _Told(study.words, runs)
    figures = {}
    for figure in study.figures if runs else []:
        found = behind.marks(figure, study, store)
        marks = [_mark(figure, found.columns, mark, told) for mark in found.marks] if found else []
        if found and (offered := [mark for mark in marks if mark[2]]):
            figures[figure.id] = {"columns": found.columns, "marks": offered}
    if not figures:
        return None
    stored = _stored(store, told.used)
    return {
        "figures": figures,
        "runs": [[run_id, *told.runs[run_id], *stored.get(run_id, [None, []])] for run_id in told.used],
        "cells": told.cells,
        "settings": told.settings,
        "texts": told.texts,
        "words": study.words.again,
        "engine": store.manifest["versions"]["engine"],
        "explorer": explorer,
        "command": f"vazao view {shlex.quote(f'results/{study.name}')}/",
    }


@dataclass
class _Told:
    """Runs as the page has them, each text and each setting once."""

    words: Words
    planned: dict[str, PlannedRun]
    used: dict[str, int] = field(default_factory=dict)
    """Place of each run that a mark has."""
    runs: dict[str, list[int]] = field(default_factory=dict)
    cells: list[dict[str, Any]] = field(default_factory=list)
    settings: list[tuple[str, Any]] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    _cells: dict[int, int] = field(default_factory=dict)
    _settings: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.order = {run_id: nth for nth, run_id in enumerate(self.planned)}

    def place(self, run_id: str) -> int:
        """The place of a run in the page's list."""
        if run_id not in self.used:
            run = self.planned[run_id]
            self.used[run_id] = len(self.used)
            self.runs[run_id] = [self._cell(run.cell), run.seed]
        return self.used[run_id]

    def _cell(self, cell: Cell) -> int:
        if id(cell) not in self._cells:
            self._cells[id(cell)] = len(self.cells)
            labels = ((name, str(level.label)) for name, level in cell.combination.items())
            levels = [f"{self.words.column(name)} {self.words.label(label)}" for name, label in labels]
            self.cells.append(
                {
                    "levels": ", ".join(levels) or cell.part,
                    "text": self._text(cell.recipe.text),
                    "set": [self._setting(key, value) for key, value in cell.recipe.overrides],
                    "part": cell.part,
                    "needs": _needs(cell),
                }
            )
        return self._cells[id(cell)]

    def _text(self, text: str) -> int:
        if text not in self.texts:
            self.texts.append(text)
        return self.texts.index(text)

    def _setting(self, key: str, value: Any) -> int:
        place = self._settings.setdefault(repr((key, value)), len(self.settings))
        if place == len(self.settings):
            self.settings.append((key, value))
        return place


def _needs(cell: Cell) -> str:
    """Word for what a run needs that no page has; empty where it needs nothing."""
    needs = cell.needs
    if needs.simulators:
        return "simulator"
    if needs.code or cell.work.has_programs:
        return "program"
    if needs.kernels or cell.work.guests:
        return "guest"
    return "file" if needs.inputs else ""


def _mark(figure: Figure, columns: tuple[str, ...], mark: behind.Mark, told: _Told) -> list[Any]:
    """A mark: its values, what it is called, the runs that are offered, and how many there are."""
    named = []
    for column, value in zip(columns, mark.values, strict=True):
        unit = unit_of(column, figure.x_unit if column == figure.x else None)
        named.append(value if isinstance(value, str) else told.words.quantity(unit.text(value)))
    known = sorted(mark.runs & told.order.keys(), key=told.order.__getitem__)
    return [list(mark.values), " · ".join(named), [told.place(run_id) for run_id in known[:MOST_RUNS]], len(mark.runs)]


def _stored(store: Store, run_ids: Iterable[str]) -> dict[str, list[Any]]:
    """Events and the goodputs of the first flows of stored runs."""
    wanted = pl.DataFrame({"run_id": list(run_ids)}, schema={"run_id": pl.String()})
    runs = store.query("SELECT DISTINCT run_id, events FROM runs").join(wanted, on="run_id")
    flows = store.query("SELECT run_id, flow, goodput_bps FROM flows").join(wanted, on="run_id")
    goodputs = flows.sort("run_id", "flow").group_by("run_id", maintain_order=True)
    by_run = dict(goodputs.agg(pl.col("goodput_bps").head(MOST_FLOWS)).iter_rows())
    return {run_id: [events, by_run.get(run_id, [])] for run_id, events in runs.iter_rows()}
