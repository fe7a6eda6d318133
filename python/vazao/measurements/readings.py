"""CSV files of an author's own measurements: columns are a study's factors and measures, rows are read as its runs.

A file may come from anyone: its size is limited, its cells are labels or numbers, and anything else is one error.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from decimal import Decimal
from io import StringIO
from pathlib import Path

import polars as pl

from vazao import units
from vazao.errors import StudyError, did_you_mean, nearest
from vazao.files import read_file
from vazao.study import Combination, Factor, Label, Level, Part, Study, design_columns, is_run, labels_of, readable

MAX_ROWS, MAX_COLUMNS, LONGEST = 10_000, 200, 200
"""Limits on the rows and columns of a file and the characters of a cell. `files` limits the bytes too."""

MAX_SAID = 2_000
"""Limit on the characters of the leading lines that start with `#`."""

GREATEST = 1e18
"""Largest number accepted as a measure."""

MAX_NUMBERED = 10**6
"""Exclusive upper bound of the numbers of flows and replications."""

SETTINGS = (
    *("group", "transport", "stack", "cc", "recovery", "scheduler", "path_manager"),
    *("app", "client", "server"),
)
"""Columns of flows that follow from the scenario, so that nobody measures them."""

NO_MEASURES = {"run_id", "flow", "seed", "events", "packet_hops", "kernel_hz", "wall_s", *SETTINGS}
"""Columns of runs and flows that are not measures, besides text columns."""

NOTHING = "none"
"""Text of a cell for a value that the run does not have, such as the recovery of a flow without losses."""

AVERAGED = "write one row, as with the mean of all that was measured"

_COUNTED = ("part", "replication", "flow")
"""Columns besides the factors that identify a row."""

_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_HEADING = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)\s*(?:\[\s*([^\[\]]*?)\s*\])?")
_FLAGS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}

Value = float | int | bool | None
Schemas = Mapping[str, Mapping[str, pl.DataType]]
"""Column types of `runs` and `flows`."""


@dataclass
class MeasuredRun:
    """A run measured by an author; values that were not measured are absent from its tables."""

    part: str
    combination: Combination
    replication: int
    values: dict[str, Value] = field(default_factory=dict)
    """Measures that are columns of `runs`."""
    flows: dict[int, dict[str, Value]] = field(default_factory=dict)
    """Measures that are columns of `flows`, by flow."""
    lines: dict[int, int] = field(default_factory=dict)
    """Line of each flow in the file."""
    unnamed: bool = False
    """Whether a row does not name its flow."""


@dataclass(frozen=True)
class Readings:
    """A set of measurements as read from its file."""

    name: str
    title: str
    source: str
    content: bytes
    runs: list[MeasuredRun]
    measures: tuple[str, ...]
    assumed: Mapping[str, str]
    """Factors that its rows omit, each with the level assumed instead."""
    file: str = ""


def read(
    study: Study, schemas: Schemas, path: Path, name: str, title: str = "", source: str = "", *, links: bool = False
) -> Readings:
    """Read a set of measurements. Raises `StudyError` with line, column, value, and what would be accepted.

    Without a `source`, the leading lines that start with `#` give it. `links`: follow a symbolic link, as the user
    named the file.
    """
    content, text = _text(path, links)
    lines = list(StringIO(text, newline=""))
    commented = next((n for n, line in enumerate(lines) if not line.startswith("#")), len(lines))
    notes = " ".join(line.lstrip("#").strip() for line in lines[:commented]).strip()
    if len(notes) > MAX_SAID:
        raise StudyError(f"{path}: its lines that start with # have {len(notes)} letters; at most {MAX_SAID} are read")
    source = source or notes
    rows = _cells(path, lines[commented:], commented)
    first = next(rows, None)
    if first is None:
        raise StudyError(f"{path}: is empty; its first line names the columns")
    table = _Reader(study, schemas, path, *first)
    for line, cells in rows:
        table.take(line, cells)
    if not table.runs:
        raise StudyError(f"{path}: has no rows below its header in which anything is measured")
    measures = tuple(column.name for column in table.columns if isinstance(column, _Measure))
    assumed = {name: ", ".join(labels) for name, labels in table.assumed.items()}
    return Readings(name, title, source, content, list(table.runs.values()), measures, assumed, str(path))


def name_of(path: Path) -> str:
    """Name of a set that the command line gives by its file: `Testbed 2.csv` becomes testbed-2. Raises `StudyError`."""
    name = re.sub(r"[^a-z0-9._-]+", "-", path.stem.lower()).strip("-._")
    if not name:
        raise StudyError(f"{path}: its name, without .csv, is that of the measurements; it needs letters or digits")
    return name


def _text(path: Path, links: bool) -> tuple[bytes, str]:
    with readable(path, "a CSV of measurements", links=links):
        content = read_file(path, links=links)
        text = content.decode("utf-8-sig")
    if "\0" in text:
        raise StudyError(f"{path}: has a NUL among its letters; a CSV is needed")
    return content, text


def _cells(path: Path, lines: Sequence[str], before: int) -> Iterator[tuple[int, list[str]]]:
    """Non-empty rows, each with the number of its first line."""
    reader = csv.reader(lines, strict=True)
    count = 0
    while True:
        line = before + reader.line_num + 1
        try:
            cells = next(reader, None)
        except csv.Error as error:
            raise StudyError(f"{path}:{line}: is no row of a CSV: {error}") from None
        if cells is None:
            return
        if len(cells) > MAX_COLUMNS:
            raise StudyError(f"{path}:{line}: has {len(cells)} columns; at most {MAX_COLUMNS} are read")
        if not any(cell.strip() for cell in cells):
            continue
        count += 1
        if count > MAX_ROWS + 1:
            raise StudyError(f"{path}: has more than {MAX_ROWS:,} rows, the most that are read")
        yield line, [cell.strip() for cell in cells]


@dataclass(frozen=True)
class _Measure:
    """A column of measured values."""

    name: str
    table: str
    kind: pl.DataType
    unit: str
    """Unit of its cells; empty for the base unit."""


@dataclass(frozen=True)
class _Key:
    """A column that identifies a row: `part`, a factor, `replication` or `flow`."""

    name: str
    unit: str = ""
    """Unit of its cells; empty if each cell includes its own, or there is none."""

    def with_unit(self, cell: str) -> str:
        """Text of a cell with its unit."""
        return f"{cell} {self.unit}" if self.unit else cell


class _Reader:
    """Reader of the rows of one file, one after the other."""

    def __init__(self, study: Study, schemas: Schemas, path: Path, line: int, header: Sequence[str]) -> None:
        self.study, self.schemas, self.path = study, schemas, path
        self.header = list(header)
        self.runs: dict[tuple[str, tuple[Label, ...], int], MeasuredRun] = {}
        self.assumed: dict[str, dict[str, None]] = {}
        self._factors = {name for part in study.parts for name in part.factor_names}
        self._design = design_columns(study)
        self._measures = {
            table: {
                name: kind
                for name, kind in columns.items()
                # Columns of the design describe a run and are not measured.
                if _is_measure(name, kind) and not (table == "runs" and name in self._design)
            }
            for table, columns in schemas.items()
        }
        self.columns = [self._column(line, text) for text in header]
        self._seen: dict[tuple[str, tuple[Label, ...], int, int], int] = {}
        self._times: dict[tuple[str, tuple[Label, ...], int], int] = {}
        names = [column.name for column in self.columns]
        self._counts_runs = "replication" in names
        for name in names:
            if names.count(name) > 1:
                raise self._error(line, name, "two columns are of this name; leave one out")
        if not any(isinstance(column, _Measure) for column in self.columns):
            hint = "; columns have commas between them" if len(header) == 1 and re.search(r"[;\t]", header[0]) else ""
            raise StudyError(
                f"{path}:{line}: names no measure, such as completion_s, goodput_bps or utilisation [%]{hint}"
            )

    def _error(self, line: int, column: str, problem: str) -> StudyError:
        return StudyError(f"{self.path}:{line}: {_short(column)}: {problem}")

    # The header

    def _column(self, line: int, text: str) -> _Key | _Measure:
        found = _HEADING.fullmatch(text)
        if not found:
            separated = "; columns have commas between them" if re.search(r"[;\t]", text) else ""
            raise self._error(line, text, f"is no name of a column, such as goodput_bps or goodput [Mbit/s]{separated}")
        name, unit = found[1], found[2]
        if unit is None and (name in self._factors or name in _COUNTED):
            return _Key(name)
        if name in self._factors and self._is_in(name, unit or ""):
            return _Key(name, unit or "")
        found_in = self._known(name, unit)
        if found_in is None:
            raise self._error(line, text, self._unknown(name, unit))
        table, column = found_in
        return _Measure(column, table, self.schemas[table][column], unit or "")

    def _known(self, name: str, unit: str | None) -> tuple[str, str] | None:
        """Table and column of a measure: `goodput` in Mbit/s is `goodput_bps`. None if there is no such measure."""
        suffix = _suffix(unit) if unit is not None else None
        for wanted in dict.fromkeys([name, *([f"{name}{suffix}"] if suffix else [])]):
            for table, columns in self._measures.items():
                if wanted in columns:
                    fits = unit is None or suffix == _own_suffix(wanted, columns[wanted])
                    return (table, wanted) if fits else None
        return None

    def _is_in(self, factor: str, unit: str) -> bool:
        """Whether a factor's levels are quantities in a unit of this kind; fractions of 1 count as percentages."""
        labels, kind = self.study.labels(factor), (_quantity(f"1 {unit}") or ("",))[0]
        numbers = [label for label in labels if not isinstance(label, str)]
        if kind == "%" and numbers:
            return all(0 <= label <= 1 for label in numbers)
        return any(known[0] == kind for label in labels if (known := _quantity(str(label))))

    def _unknown(self, name: str, unit: str | None) -> str:
        measures = [one for columns in self._measures.values() for one in columns]
        known = [*self._factors, *measures, *_COUNTED]
        if unit is not None and name in _COUNTED:
            return f"has no unit; write {name}"
        factor = name.rpartition("_")[0]
        if name in self._design and factor in self._factors:
            return f"is of the factor {factor!r}; write {factor}, or {factor} and its unit in brackets"
        if unit is not None and _suffix(unit) is None:
            return f"{_short(unit)!r} is no unit; write ms, s, kbit/s, Mbit/s, kB, MiB, packets, %, or the like"
        if name in self._factors:
            return f"its levels are not in {unit}: {', '.join(map(str, self.study.labels(name)))}"
        hint = did_you_mean(name, known) if nearest(name, known) else ""
        what = "no column" if unit is None else f"no column in {unit}"
        return f"is no factor of the study, and {what} of runs or flows that can be measured{hint}"

    # The rows

    def take(self, line: int, cells: Sequence[str]) -> None:
        """Add a row, unless it has no measured value. Raises `StudyError`."""
        if len(cells) != len(self.columns):
            raise StudyError(f"{self.path}:{line}: has {len(cells)} cells where the header has {len(self.columns)}")
        for text, cell in zip(self.header, cells, strict=True):
            if len(cell) > LONGEST:
                raise self._error(line, text, f"a cell of {len(cell)} letters; at most {LONGEST} are read")
        if not any(cell for column, cell in zip(self.columns, cells, strict=True) if isinstance(column, _Measure)):
            return
        keys = {
            column.name: column.with_unit(cell)
            for column, cell in zip(self.columns, cells, strict=True)
            if isinstance(column, _Key) and cell
        }
        part = self._part(line, keys)
        combination = self._combination(line, part, keys)
        flow = self._number(line, "flow", keys, 0)
        labels = labels_of(combination)
        nth = self._times.get((part.name, labels, flow), 0)
        self._times[part.name, labels, flow] = nth + 1
        if self._counts_runs and "replication" not in keys and part.replications.full > 1:
            raise self._error(line, "replication", "is empty; where there is such a column, each row has its number")
        replication = self._number(line, "replication", keys, nth)
        if replication and part.replications.full == 1:
            problem = f"runs each combination once, and its findings take one value of each; {AVERAGED}"
            raise StudyError(f"{self.path}:{line}: the part {part.name!r} {problem}")
        identity = (part.name, labels, replication, flow)
        if identity in self._seen:
            problem = (
                f"is of the same run and flow as line {self._seen[identity]}; a column `replication` tells runs apart"
            )
            raise StudyError(f"{self.path}:{line}: {problem}")
        self._seen[identity] = line
        run = self.runs.setdefault(identity[:3], MeasuredRun(part.name, combination, replication))
        run.lines[flow] = line
        run.unnamed |= "flow" not in keys
        values = run.flows.setdefault(flow, {})
        for text, column, cell in zip(self.header, self.columns, cells, strict=True):
            if isinstance(column, _Measure) and cell:
                value = self._value(line, text, column, cell)
                into = run.values if column.table == "runs" else values
                if into.setdefault(column.name, value) != value:
                    raise self._error(line, text, f"{cell!r} here, and {into[column.name]} in another row of the run")

    def _part(self, line: int, keys: Mapping[str, str]) -> Part:
        names = [part.name for part in self.study.parts]
        if "part" not in keys:
            if len(names) == 1:
                return self.study.parts[0]
            raise self._error(line, "part", f"is missing; the study has the parts {', '.join(names)}")
        if keys["part"] not in names:
            raise self._error(line, "part", f"{_short(keys['part'])!r} is no part{did_you_mean(keys['part'], names)}")
        return self.study.part(keys["part"])

    def _combination(self, line: int, part: Part, keys: Mapping[str, str]) -> Combination:
        """Level of each factor of the part. Raises `StudyError` if a factor has none or the part has no such run."""
        for name in keys:
            if name in self._factors and name not in part.factor_names:
                raise self._error(line, name, f"is no factor of the part {part.name!r}; leave its cell empty")
        combination = {
            factor.name: self._level(line, factor, keys[factor.name])
            if factor.name in keys
            else self._left_out(line, part, factor)
            for factor in part.factors
        }
        if not is_run(part, combination):
            levels = ", ".join(f"{name} = {level}" for name, level in combination.items())
            raise StudyError(f"{self.path}:{line}: the part {part.name!r} has no run with {levels}")
        return combination

    def _level(self, line: int, factor: Factor, text: str) -> Level:
        labels = [label for label in factor.labels if str(label) == text]
        labels = labels or [label for label in factor.labels if _alike(label, text)]
        if len(labels) != 1:
            hint = did_you_mean(text, map(str, factor.labels))
            raise self._error(line, factor.name, f"{_short(text)!r} is not a level{hint}")
        return factor.level(labels[0])

    def _left_out(self, line: int, part: Part, factor: Factor) -> Level:
        """Level of a factor that a row omits, if the study leaves only one. Raises `StudyError` otherwise."""
        claimed = [label for label in self.study.claimed_at.get(factor.name, []) if label in factor.labels]
        if len(claimed) == 1:
            level = factor.level(claimed[0])
        elif len(factor.levels) == 1:
            level = factor.levels[0]
        elif factor.default is not None or part.design in ("one-at-a-time", "list"):
            level = factor.centre
        else:
            known = ", ".join(map(str, factor.labels))
            raise self._error(
                line, factor.name, f"is missing, and the study does not say which level holds; it has {known}"
            )
        if len(factor.levels) > 1:
            self.assumed.setdefault(factor.name, {})[str(level)] = None
        return level

    def _number(self, line: int, name: str, keys: Mapping[str, str], default: int) -> int:
        text = keys.get(name)
        if text is None:
            return default
        if not re.fullmatch(r"[0-9]{1,6}", text):
            raise self._error(line, name, f"{_short(text)!r} is no number from 0 to {MAX_NUMBERED - 1}")
        return int(text)

    def _value(self, line: int, heading: str, column: _Measure, text: str) -> Value:
        if text.lower() == NOTHING:
            return None
        if column.kind == pl.Boolean():
            if text.lower() not in _FLAGS:
                raise self._error(line, heading, f"{_short(text)!r} is neither true nor false, nor {NOTHING!r}")
            return _FLAGS[text.lower()]
        if not _NUMBER.fullmatch(text) or not abs(float(text)) <= GREATEST:
            comma = "; decimals follow a point" if re.fullmatch(r"[+-]?[0-9]+,[0-9]+", text) else ""
            raise self._error(line, heading, f"{_short(text)!r} is no number, as 4.17 or 2e-3, nor {NOTHING!r}{comma}")
        value = _converted(text, column.unit)
        if not 0 <= value <= GREATEST:
            raise self._error(line, heading, f"{_short(text)!r} is {'below zero' if value < 0 else 'too large'}")
        if column.name in units.FRACTIONS and value > 1:
            hint = "" if column.unit else f"; a percentage has its unit in the header: {column.name} [%]"
            raise self._error(line, heading, f"{_short(text)!r} is more than 1, and {column.name} is a part of 1{hint}")
        if column.kind.is_integer():
            if not value.is_integer():
                raise self._error(line, heading, f"{_short(text)!r} is no whole number")
            return int(value)
        return value


def _is_measure(name: str, kind: pl.DataType) -> bool:
    return name not in NO_MEASURES and (kind.is_numeric() or kind == pl.Boolean())


def _own_suffix(name: str, kind: pl.DataType) -> str:
    """Unit suffix of a column's name: `%` for a ratio and `_packets` for a count."""
    found = next((suffix for suffix in units.SUFFIXES if name.endswith(suffix)), "")
    return found or ("%" if kind.is_float() else "_packets")


def _suffix(unit: str) -> str | None:
    """Suffix of columns in a unit of this kind; None if it is not a unit."""
    if unit == "%":
        return unit
    known = units.parse(f"1 {unit}")
    suffix = f"_{known[0]}" if known else ""
    return suffix if suffix in units.SUFFIXES else None


def _converted(text: str, unit: str) -> float:
    """Number of a column with a unit, converted to the base unit."""
    text = _plain(text)
    if not unit:
        return float(text)
    if unit == "%":
        with suppress(ArithmeticError):
            return float(Decimal(text) / 100)
    known = units.parse(f"{text} {unit}")
    return known[1] if known else float("nan")


def _alike(label: Label, text: str) -> bool:
    """Whether a text is another spelling of a label: 0.010 for 0.01, 10 Mbit/s for 10 Mbps, 1 % for 0.01."""
    text = _plain(text)
    quantity = _quantity(text)
    if isinstance(label, str):
        return quantity is not None and quantity == _quantity(label)
    if quantity is not None and quantity[0] == "%":
        return quantity[1] == label
    return bool(_NUMBER.fullmatch(text)) and float(text) == label


def _plain(text: str) -> str:
    """Number with a digit before its decimal point: 0.5 for .5."""
    return re.sub(r"^([+-]?)\.(?=[0-9])", r"\g<1>0.", text)


def _quantity(text: str) -> tuple[str, float] | None:
    """Column suffix of a quantity's unit, and the number in the base unit; None if the text is not a quantity."""
    number, _, unit = text.partition(" ")
    if unit.strip() == "%" or number.endswith("%"):
        number = number.removesuffix("%")
        return ("%", _converted(number, "%")) if _NUMBER.fullmatch(number) else None
    known = units.parse(text)
    return (f"_{known[0]}", known[1]) if known else None


def _short(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:40]}…"
