"""JSON output of tables, written in batches of rows because they may exceed memory."""

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
"""Maximum number of rows that are Python objects at a time."""


def write_result(result: Result, facts: Mapping[str, Any] | None = None) -> None:
    """Write a run as one JSON object: its row, a list of rows for each table, and samples if any were traced."""
    write_run(result.rows(), result.samples_batches() if len(result.samples_stream()) else None, facts)


def write_run(
    rows: Mapping[str, pl.DataFrame],
    samples: Iterable[pl.DataFrame] | None = None,
    facts: Mapping[str, Any] | None = None,
) -> None:
    """Write the tables of a run, stored or not, as one JSON object, with further facts about it."""
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
    """Write rows as a JSON array of objects; a value that JSON cannot represent, such as a date, becomes text."""
    _write_rows([rows], default=str)
    sys.stdout.write("\n")


def write_object(facts: Mapping[str, Any], tables: Mapping[str, Mapping[str, pl.DataFrame]] | None = None) -> None:
    """Write facts as one JSON object, which includes objects of named tables."""
    data = {key: {name: _rows(rows) for name, rows in named.items()} for key, named in (tables or {}).items()}
    sys.stdout.write(json.dumps(finite({**facts, **data}), allow_nan=False, default=str) + "\n")


def finite(value: Any) -> Any:
    """Replace numbers that are not finite, which JSON cannot represent, with None."""
    if isinstance(value, dict):
        return {str(key): finite(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _write_rows(frames: Iterable[pl.DataFrame], default: Callable[[Any], str] | None = None) -> None:
    """Write rows as a JSON array; `default` converts values that JSON cannot represent."""
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
    """Rows as dictionaries for JSON, with None for numbers that are not finite."""
    numbers = [(name, pl.nth(place)) for place, (name, kind) in enumerate(frame.schema.items()) if kind.is_float()]
    return frame.with_columns(pl.when(one.is_finite()).then(one).alias(name) for name, one in numbers).to_dicts()
