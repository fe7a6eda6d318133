"""Runs and levels that a finding needs before it can be decided."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, Self

import polars as pl

from vazao.errors import ResultsError
from vazao.study.design import labels_run
from vazao.study.fields import Label
from vazao.study.model import Finding, Study
from vazao.words import ENGLISH, Words


class Queryable(Protocol):
    """Tables that can be queried."""

    def query(self, sql: str, parameters: Mapping[str, object] | None = None) -> pl.DataFrame:
        """The rows of a query. Raises `ResultsError`."""


def lost(finding: Finding, study: Study, not_run: pl.DataFrame, parameters: Mapping[str, Label]) -> pl.DataFrame:
    """Runs that a finding needs but that could not be run: those of the parts that its query names.

    `per` and `needs` select among these; in a part without such a factor, it needs all.
    """
    rows = not_run.filter(pl.col("part").is_in(study.named_parts(finding.sql or "")))
    if rows.is_empty():
        return rows
    for factor, labels in finding.levels_named(parameters).items():
        if factor not in rows.columns:
            continue
        named = {_text(label) for label in labels}
        there = [label is None or _text(label) in named for label in rows[factor]]
        rows = rows.filter(pl.Series(there, dtype=pl.Boolean))
    return rows


def reasons(not_run: pl.DataFrame) -> dict[str, int]:
    """Reasons why planned runs could not be run, with the number of runs for each."""
    return dict(not_run.group_by("reason").len().sort("reason").iter_rows())


def not_run_message(counts: Mapping[str, int], words: Words = ENGLISH) -> str:
    """Sentence with the number of planned runs that were not run, and the reasons."""
    return "; ".join(f"{words.many('page.not_run', count)}: {words.reason(reason)}" for reason, count in counts.items())


@dataclass(frozen=True)
class Present:
    """Levels that have runs in a store: for each part with runs, the labels of each factor as texts."""

    study: Study
    stored: Mapping[str, Mapping[str, set[str]]]
    whole: bool = False
    """Whether a part without any runs is missing too, as for rows that come from no campaign."""
    more: tuple[str, ...] = ()
    """Further items that every finding lacks."""

    @classmethod
    def of(cls, study: Study, store: Queryable) -> Self:
        """Levels that have runs in `store`."""
        try:
            columns = store.query("SELECT * FROM runs LIMIT 0").columns
        except ResultsError:
            return cls(study, {})
        factors = [name for name in columns if any(name in part.factor_names for part in study.parts)]
        if "part" not in columns or not factors:
            return cls(study, {})
        names = ", ".join(f'"{name}"' for name in factors)
        done = "WHERE failure IS NULL" if "failure" in columns else ""
        # An aggregate for each factor would reserve 50 MB of a database's memory.
        cells = store.query(f"SELECT DISTINCT part, {names} FROM runs {done}")
        rows = cells.group_by("part", maintain_order=True).agg(pl.col(factors).unique()).to_dicts()
        stored = {row["part"]: {name: set(map(_text, row[name])) for name in factors} for row in rows}
        return cls(study, stored)

    def lacks(self, finding: Finding, parameters: Mapping[str, Label]) -> list[str]:
        """Levels that a finding needs but that have no stored run, as "factor level".

        It needs those of `per` and `needs`; of any other factor of a part that its query names, all that the quick size
        runs. A part without any runs lacks none, as the query itself shows that, unless the parts must be there
        (`whole`).
        """
        named, words = finding.levels_named(parameters), self.study.words
        parts = self.study.named_parts(finding.sql or "")
        absent: dict[str, None] = dict.fromkeys(self.more)
        if self.whole:
            lost = (name for name in self._parts_needed(finding) if name not in self.stored)
            absent |= dict.fromkeys(words.say("page.part_called", name=name) for name in lost)
        for part in (part for part in self.study.parts if part.name in parts and part.name in self.stored):
            for factor in part.factors:
                known = self.stored[part.name].get(factor.name, set())
                wanted = named.get(factor.name, self._quick[part.name][factor.name])
                missing = [one for one in wanted if one in factor.labels and _text(one) not in known]
                title = words.column(factor.name)
                absent |= dict.fromkeys(f"{title} {words.label(str(label))}" for label in missing)
        return list(absent)

    def _parts_needed(self, finding: Finding) -> list[str]:
        """Parts that a finding's own query names, or if it names none, those that its views name."""
        sql = finding.sql or ""
        return self.study.parts_in(sql) or self.study.named_parts(sql)

    @cached_property
    def _quick(self) -> dict[str, dict[str, list[Label]]]:
        """Labels that the quick size of each part runs, by part and factor."""
        return {part.name: labels_run(part, "quick") for part in self.study.parts}


def _text(value: object) -> str:
    """Stored label as the text of the study's own label: a whole number that the column holds as 1.0 is "1"."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
