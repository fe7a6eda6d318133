"""Runs that the page can re-run: for each mark of a figure the scenarios behind it, labelled by how they differ."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from vazao.errors import VazaoError
from vazao.report import mark_runs
from vazao.results import planned_runs
from vazao.seeing import can_rerun
from vazao.store import Store
from vazao.study import Cell, Figure, PlannedRun, Study
from vazao.units import unit_of
from vazao.words import Words

MAX_FLOWS = 12
"""Maximum number of flows whose stored goodput is shown beside the new run's; the first ones are kept."""

MAX_RUNS = 40
"""Maximum number of a mark's runs that a reader can choose from; the first ones are kept."""


def content(study: Study, store: Store, explorer: str = "") -> dict[str, Any] | None:
    """All data that the page needs to re-run runs (`web/src/again/content.ts`); None where it cannot.

    `explorer` is the address of the explorer's page, where a server has one.
    """
    if not can_rerun():
        return None
    runs: dict[str, PlannedRun] = {}
    with suppress(VazaoError):  # the study cannot be planned here, or this version reads it differently
        runs = planned_runs(study, store)
    catalogue = _Catalogue(study.words, runs)
    figures = {}
    for figure in study.figures if runs else []:
        found = mark_runs.marks(figure, study, store)
        marks = [_mark(figure, found.columns, mark, catalogue) for mark in found.marks] if found else []
        if found and (offered := [mark for mark in marks if mark[2]]):
            figures[figure.id] = {"columns": found.columns, "marks": offered}
    if not figures:
        return None
    stored = _stored(store, catalogue.used)
    return {
        "figures": figures,
        "runs": [[run_id, *catalogue.runs[run_id], *stored.get(run_id, [None, []])] for run_id in catalogue.used],
        "cells": catalogue.cells,
        "settings": catalogue.settings,
        "texts": catalogue.texts,
        "words": study.words.again,
        "engine": store.manifest["versions"]["engine"],
        "explorer": explorer,
        "command": f"vazao view {shlex.quote(f'results/{study.name}')}/",
    }


@dataclass
class _Catalogue:
    """Runs in the page's form, with each text and each setting stored once."""

    words: Words
    planned: dict[str, PlannedRun]
    used: dict[str, int] = field(default_factory=dict)
    """Index of each run that a mark uses."""
    runs: dict[str, list[int]] = field(default_factory=dict)
    cells: list[dict[str, Any]] = field(default_factory=list)
    settings: list[tuple[str, Any]] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    _cells: dict[int, int] = field(default_factory=dict)
    _settings: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.order = {run_id: nth for nth, run_id in enumerate(self.planned)}

    def place(self, run_id: str) -> int:
        """The index of a run in the page's list, to which it is added if new."""
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
    """The requirement of a run that no page can meet; empty where there is none."""
    needs = cell.needs
    if needs.simulators:
        return "simulator"
    if needs.code or cell.work.has_programs:
        return "program"
    if needs.kernels or cell.work.guests:
        return "guest"
    return "file" if needs.inputs else ""


def _mark(figure: Figure, columns: tuple[str, ...], mark: mark_runs.Mark, catalogue: _Catalogue) -> list[Any]:
    """A mark for the page: its values, its label, the runs on offer, and the total number of runs."""
    named = []
    for column, value in zip(columns, mark.values, strict=True):
        unit = unit_of(column, figure.x_unit if column == figure.x else None)
        named.append(value if isinstance(value, str) else catalogue.words.quantity(unit.text(value)))
    known = sorted(mark.runs & catalogue.order.keys(), key=catalogue.order.__getitem__)
    return [
        list(mark.values),
        " · ".join(named),
        [catalogue.place(run_id) for run_id in known[:MAX_RUNS]],
        len(mark.runs),
    ]


def _stored(store: Store, run_ids: Iterable[str]) -> dict[str, list[Any]]:
    """Event counts of stored runs and the goodputs of their first flows."""
    wanted = pl.DataFrame({"run_id": list(run_ids)}, schema={"run_id": pl.String()})
    runs = store.query("SELECT DISTINCT run_id, events FROM runs").join(wanted, on="run_id")
    flows = store.query("SELECT run_id, flow, goodput_bps FROM flows").join(wanted, on="run_id")
    goodputs = flows.sort("run_id", "flow").group_by("run_id", maintain_order=True)
    by_run = dict(goodputs.agg(pl.col("goodput_bps").head(MAX_FLOWS)).iter_rows())
    return {run_id: [events, by_run.get(run_id, [])] for run_id, events in runs.iter_rows()}
