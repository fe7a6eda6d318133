"""Tables as JSON on standard output, written some rows at a time: there may be more than memory holds."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import polars as pl

if TYPE_CHECKING:
    from vazao.results import Result

ROWS = 4096
"""Rows that are Python's objects at a time."""


def write_result(result: Result, facts: Mapping[str, Any] | None = None) -> None:
    """A run as one JSON object: its row, a list of rows for each table, and what was traced if anything was."""
    write_run(result.rows(), result.samples_batches() if len(result.samples_stream()) else None, facts)


def write_run(
    rows: Mapping[str, pl.DataFrame],
    samples: Iterable[pl.DataFrame] | None = None,
    facts: Mapping[str, Any] | None = None,
) -> None:
    """The tables of a run, stored or not, as one JSON object, with further facts of it."""
    tables: dict[str, Iterable[pl.DataFrame]] = {name: [frame] for name, frame in rows.items() if name != "runs"}
    if samples is not None:
        tables["samples"] = samples
    run = _rows(rows["runs"])[0]
    sys.stdout.write(f'{{"run": {json.dumps(run, allow_nan=False)}')
    for name, frames in tables.items():
        sys.stdout.write(f", {json.dumps(name)}: ")
        _write_rows(frames)
    for name, fact in (facts or {}).items():
        sys.stdout.write(f", {json.dumps(name)}: {json.dumps(finite(fact), allow_nan=False, default=str)}")
    sys.stdout.write("}\n")


def write_table(rows: pl.DataFrame) -> None:
    """Rows as a JSON array of objects; a value that JSON lacks, such as a date, is written as text."""
    _write_rows([rows], default=str)
    sys.stdout.write("\n")


def write_object(facts: Mapping[str, Any], tables: Mapping[str, Mapping[str, pl.DataFrame]] | None = None) -> None:
    """Facts as one JSON object, with objects of named tables in it."""
    told = {key: {name: _rows(rows) for name, rows in named.items()} for key, named in (tables or {}).items()}
    sys.stdout.write(json.dumps(finite({**facts, **told}), allow_nan=False, default=str) + "\n")


def finite(value: Any) -> Any:
    """A value for JSON, which has no number for "none": such a number is null."""
    if isinstance(value, dict):
        return {str(key): finite(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _write_rows(frames: Iterable[pl.DataFrame], default: Callable[[Any], str] | None = None) -> None:
    """Rows as an array; `default` is what JSON has no value for."""
    sys.stdout.write("[")
    between = ""
    for rows in _parts(frames):
        text = json.dumps(_rows(rows), allow_nan=default is not None, default=default)
        sys.stdout.write(between + text[1:-1])
        between = ", "
    sys.stdout.write("]")


def _parts(frames: Iterable[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    return (part for frame in frames for part in frame.iter_slices(ROWS) if part.height)


def _rows(frame: pl.DataFrame) -> list[dict[str, Any]]:
    """Rows for JSON, which has no number for "none"."""
    numbers = [(name, pl.nth(place)) for place, (name, kind) in enumerate(frame.schema.items()) if kind.is_float()]
    return frame.with_columns(pl.when(one.is_finite()).then(one).alias(name) for name, one in numbers).to_dicts()
