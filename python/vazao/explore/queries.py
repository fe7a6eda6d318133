"""Descriptions of views, as a page sends them: columns, filters, an aggregate, and never SQL."""

from __future__ import annotations

from typing import Annotated, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from vazao.errors import ResultsError

Name = Annotated[str, StringConstraints(min_length=1, max_length=200)]
Label = Annotated[str, StringConstraints(max_length=4096)]
Table = Literal["runs", "flows", "paths", "links"]
Kind = Literal["mean", "points", "heat", "box", "ecdf", "hist", "counts", "runs", "domain"]
Value = str | int | float | bool | None

MAX_BINS = 400

D = TypeVar("D", bound="_Described")


class _Described(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


class Filter(_Described):
    """Condition that keeps the rows with one of `values`, or with a number from `low` to below `high`."""

    column: Name
    values: list[Value] | None = Field(default=None, max_length=1000)
    low: float | None = None
    high: float | None = None


class Dimension(_Described):
    """A column to group rows by; with `bins`, numbers fall into that many bins of equal width (or ratio: `log`)."""

    column: Name
    bins: int | None = Field(default=None, ge=1, le=MAX_BINS)
    log: bool = False


class Ask(_Described):
    """One query: an aggregate over the rows of a table."""

    kind: Kind
    table: Table
    part: Annotated[str, StringConstraints(max_length=200)] | None = None
    """Part of the study; a run of several parts has a row in `runs` for each."""
    filters: list[Filter] = Field(default=[], max_length=100)
    x: Dimension | None = None
    y: Dimension | None = None
    """The measure; in a heat map, its rows."""
    z: Name | None = None
    """Measure of a heat map; without it, rows are counted."""
    color: Name | None = None
    facet: Name | None = None
    dims: list[Dimension] = Field(default=[], max_length=64)
    """Columns whose values are counted, each under all filters but its own."""
    active: Dimension | None = None
    """Column that is being brushed: counts are given for each of its bins, and its own filter is left out."""
    limit: int = Field(default=4000, ge=1, le=20_000)


class Look(_Described):
    """A run to re-run and view, and optionally another to draw over it."""

    dir: Label
    run: Name
    beside_dir: Label = ""
    beside: str = Field(default="", max_length=200)
    leave: list[Name] = Field(default=[], max_length=8)
    """Permissions that the user has granted, each the `leave` of an `PermissionNeededError`."""


def read(content: bytes) -> Ask:
    """Parse the description of a view from JSON. Raises `ResultsError` that explains the first mistake."""
    return _read(Ask, content)


def look(content: bytes) -> Look:
    """Parse a page's request for a run from JSON. Raises `ResultsError` that explains the first mistake."""
    return _read(Look, content)


def _read(kind: type[D], content: bytes) -> D:
    try:
        return kind.model_validate_json(content)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"])) or "the description"
        raise ResultsError(f"{where}: {first['msg']}") from None
