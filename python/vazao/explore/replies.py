"""Models of the server's answers: types of pages are written from them, and tests hold answers to them."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

from vazao.explore.queries import Value


class _Reply(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class Column(_Reply):
    """A column that can be drawn, and the table that has it."""

    name: str
    kind: Literal["number", "text", "flag"]
    of: str


class Factor(_Reply):
    """A factor of the study, with its labels in order."""

    name: str
    title: str
    labels: list[Value]


class Part(_Reply):
    """A part of the study, with the factors that it varies."""

    name: str
    title: str
    factors: list[str]


class Figure(_Reply):
    """A figure of the study: what it draws, and the findings that it shows."""

    id: str
    title: str
    kind: str
    x: str
    y: str
    color: str | None
    facet: str | None
    finding: list[str]
    x_scale: str
    y_scale: str


class Directory(_Reply):
    """A results directory."""

    label: str
    path: str
    kind: str
    title: str
    question: str
    runs: int
    planned: int
    size: str
    parts: list[Part]
    factors: list[Factor]
    figures: list[Figure]


class About(_Reply):
    """All directories, and the columns of each table."""

    directories: list[Directory]
    tables: dict[str, list[Column]]
    version: str


class Bins(_Reply):
    """Bins of equal width, or of equal ratio."""

    low: float
    high: float
    bins: int
    log: bool


class Statement(_Reply):
    """SQL that was asked of a directory."""

    results: str
    path: str
    sql: str


class Answer(_Reply):
    """Keys of every answer: its SQL, and the bins of its columns."""

    sql: list[Statement]
    truncated: bool
    bins: dict[str, Bins | None]
    version: str
    ms: float


class Rows(Answer):
    """Rows of a view, by columns."""

    columns: dict[str, list[Value]]


class Counted(_Reply):
    """Counts of a column's values: all, and those of each bin of the brushed column."""

    results: list[str]
    v: list[Value]
    n: list[int]
    a: list[int | None]


class Counts(Answer):
    """Counts of several columns, and the number of rows and runs that pass all filters."""

    dims: list[Counted]
    rows: int
    runs: int


class Domain(_Reply):
    """Range of a column's numbers."""

    low: float
    high: float
    distinct: int
    whole: bool


class Shown(_Reply):
    """A figure that shows a finding."""

    id: str
    title: str


class Finding(_Reply):
    """A claim with its verdict."""

    id: str
    claim: str
    reported: str
    per: str | None
    level: str | None
    verdict: str
    measured: str
    explanation: str
    criterion: str
    figures: list[Shown]


class Ledger(_Reply):
    """Findings of a directory, or why there are none."""

    label: str
    ledger: list[Finding]
    error: str | None = None
