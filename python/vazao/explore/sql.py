"""SQL of a view that the explorer page requests: quoted identifiers, bound values, no SQL from the page."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from vazao.errors import ResultsError, did_you_mean
from vazao.explore.columns import OWN, RESULTS, Column, Tables
from vazao.explore.queries import Ask, Dimension, Filter, Value

MAX_ROWS = 200_000
"""Maximum number of rows in an answer; a grouping by a column that differs in each row has more and is truncated."""

MAX_RUNS = 500
"""Maximum number of runs behind a point that are listed."""

QUANTILES = 200
"""Number of steps of an empirical distribution."""


@dataclass(frozen=True)
class Domain:
    """Smallest and largest finite number of a column, and its count of distinct ones."""

    low: float
    high: float
    distinct: int = 0
    whole: bool = False
    """Whether all numbers are integers."""


@dataclass(frozen=True)
class Binning:
    """Bins of equal width, on a logarithmic scale if `log` is set."""

    low: float
    high: float
    bins: int
    log: bool

    @classmethod
    def of(cls, dimension: Dimension, domain: Domain) -> Binning:
        """Bins that cover a domain; a few integers have a bin each."""
        low, high, bins = domain.low, domain.high, dimension.bins or 1
        log = dimension.log and low > 0
        if domain.whole and not log and high - low < bins:
            return cls(low - 0.5, high + 0.5, int(high - low) + 1, False)
        if low == high:
            wide = abs(low) / 2 or 0.5
            return cls(low - wide, high + wide, 1, False)
        return cls(low, high, bins, log)


@dataclass
class Statement:
    """One SELECT with its parameters."""

    sql: str
    parameters: dict[str, Value] = field(default_factory=dict)

    def shown(self) -> str:
        """The SQL with parameters as literals, ready to copy."""
        return re.sub(r"\$p(\d+)\b", lambda found: literal(self.parameters[f"p{found[1]}"]), self.sql)


def literal(value: Value) -> str:
    """A value as an SQL literal."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, int | float):
        return repr(value)
    return "'" + value.replace("'", "''") + "'"


def quoted(name: str) -> str:
    """A name as a quoted SQL identifier. Raises `ResultsError` for one with a `$`, as in `$p1`, or a NUL."""
    if "$" in name or "\0" in name:
        raise ResultsError(f"{name!r}: a column whose name holds such a letter cannot be asked for")
    return '"' + name.replace('"', '""') + '"'


class Builder:
    """Builder of the statements of one query to one directory."""

    def __init__(self, ask: Ask, tables: Tables, label: str, domains: Mapping[str, Domain], known: Iterable[str]):
        """`domains` covers the binned columns, `known` the columns of all open directories."""
        self._ask, self._label, self._domains = ask, label, domains
        self._tables = tables
        self._columns: Mapping[str, Column] = tables.of(ask.table)
        self._known = set(known)
        self._parameters: dict[str, Value] = {}
        self._joined: dict[str, list[str]] = {}
        self._runs = False

    def statement(self) -> Statement:
        """The statement of the query. Raises `ResultsError` for an unknown column."""
        kinds = {
            "mean": self._mean, "points": self._points, "heat": self._heat, "box": self._box,
            "ecdf": self._ecdf, "hist": self._hist, "runs": self._behind,
        }  # fmt: skip
        return Statement(kinds[self._ask.kind](), self._parameters)

    def counts(self, dims: Sequence[tuple[int, Dimension]], own: str | None) -> Statement:
        """Counts of the values of some dimensions, all without filters on the column `own`.

        The column `set` has a bit per dimension, the first one's the highest, which is set in rows of other dimensions.
        """
        names = [f"d{n}" for n, _ in dims]
        chosen = [f"{self._grouped(dimension)} AS d{n}" for n, dimension in dims]
        active = self._ask.active
        if active:
            chosen.append(f"{self._grouped(active)} AS a")
        source = self._source([own, active.column if active else None])
        sets = ", ".join(f"({'a, ' if active else ''}{name})" for name in names)
        return Statement(
            f'SELECT {", ".join(names)}{", a" if active else ""}, grouping({", ".join(names)}) AS "set", '
            f"count(*) AS n\nFROM (SELECT {', '.join(chosen)}\n{_indented(source)})\n"
            f"GROUP BY GROUPING SETS ({sets})\nLIMIT {MAX_ROWS}",
            self._parameters,
        )

    def total(self) -> Statement:
        """The number of rows that pass all filters, and of their runs."""
        source = self._source()
        return Statement(f"SELECT count(*) AS rows, count(DISTINCT t.run_id) AS runs\n{source}", self._parameters)

    def domain(self, name: str) -> Statement:
        """The domain of a column over all rows of the part."""
        value = f"CAST({self._column(name)} AS DOUBLE)"
        source = self._source(filtered=False)
        return Statement(
            "SELECT min(v) AS low, max(v) AS high, count(DISTINCT v) AS different, bool_and(v = floor(v)) AS whole\n"
            f"FROM (SELECT {value} AS v\n{_indented(source)})\nWHERE isfinite(v)",
            self._parameters,
        )

    def _mean(self) -> str:
        """Means over replications, taken over each run's mean so that a run with many flows counts once."""
        groups = self._groups()
        inner = [*(f"{sql} AS {name}" for name, sql in groups), "t.run_id", f"avg({self._measure()}) AS v"]
        source = self._source(also=[f"{self._measure()} IS NOT NULL"])
        by = "".join(f"{name}, " for name, _ in groups)
        return (
            f"SELECT {by}avg(v) AS mean, ci95(v) AS ci, count(v) AS n\n"
            f"FROM (SELECT {', '.join(inner)}\n{_indented(source)}\n      GROUP BY ALL)\n"
            f"GROUP BY ALL{_ordered(groups)}\nLIMIT {MAX_ROWS}"
        )

    def _points(self) -> str:
        if self._ask.x is None:
            raise ResultsError("points need a column for x")
        x, y = self._column(self._ask.x.column), self._measure()
        more = [f", {sql} AS {name}" for name, sql in self._groups() if name != "x"]
        source = self._source(also=[f"{x} IS NOT NULL", f"{y} IS NOT NULL"])
        # Ordered by hash, so that the same rows are drawn where there are too many.
        order = f"ORDER BY hash(t.run_id, {x}, {y})\n" if self._ask.table != "runs" else "ORDER BY hash(t.run_id)\n"
        return f"SELECT {x} AS x, {y} AS y{''.join(more)}, t.run_id AS run_id\n{source}\n{order}LIMIT {self._ask.limit}"

    def _heat(self) -> str:
        if self._ask.x is None or self._ask.y is None:
            raise ResultsError("a heat map needs columns for x and y")
        groups = [("x", self._grouped(self._ask.x)), ("y", self._grouped(self._ask.y))]
        if self._ask.z is None:
            chosen = ", ".join(f"{sql} AS {name}" for name, sql in groups)
            count = "count(*) AS mean, NULL AS ci, count(DISTINCT t.run_id) AS n"
            return f"SELECT {chosen}, {count}\n{self._source()}\nGROUP BY ALL\nORDER BY x, y\nLIMIT {MAX_ROWS}"
        z = self._number(self._ask.z)
        inner = [*(f"{sql} AS {name}" for name, sql in groups), "t.run_id", f"avg({z}) AS v"]
        source = self._source(also=[f"{z} IS NOT NULL"])
        return (
            "SELECT x, y, avg(v) AS mean, ci95(v) AS ci, count(v) AS n\n"
            f"FROM (SELECT {', '.join(inner)}\n{_indented(source)}\n      GROUP BY ALL)\n"
            f"GROUP BY ALL\nORDER BY x, y\nLIMIT {MAX_ROWS}"
        )

    def _box(self) -> str:
        y, groups = self._measure(), self._groups()
        chosen = "".join(f"{sql} AS {name}, " for name, sql in groups)
        marks = ", ".join(
            f"quantile_cont({y}, {part}) AS p{name}"
            for name, part in [("5", 0.05), ("25", 0.25), ("50", 0.5), ("75", 0.75), ("95", 0.95)]
        )
        source = self._source(also=[f"{y} IS NOT NULL"])
        return (
            f"SELECT {chosen}{marks}, min({y}) AS low, max({y}) AS high, count({y}) AS n\n{source}\n"
            f"GROUP BY ALL{_ordered(groups)}\nLIMIT {MAX_ROWS}"
        )

    def _ecdf(self) -> str:
        y, groups = self._measure(), [each for each in self._groups() if each[0] != "x"]
        chosen = "".join(f"{sql} AS {name}, " for name, sql in groups)
        steps = f"[n / {QUANTILES} for n in range(0, {QUANTILES + 1})]"
        source = self._source(also=[f"{y} IS NOT NULL"])
        by = f"\nGROUP BY ALL{_ordered(groups)}" if groups else ""
        return f"SELECT {chosen}quantile_disc({y}, {steps}) AS q, count({y}) AS n\n{source}{by}\nLIMIT {MAX_ROWS}"

    def _hist(self) -> str:
        if self._ask.y is None:
            raise ResultsError("a histogram needs a column")
        groups = [("bin", self._grouped(self._ask.y)), *(each for each in self._groups() if each[0] != "x")]
        chosen = "".join(f"{sql} AS {name}, " for name, sql in groups)
        source = self._source(also=[f"{self._column(self._ask.y.column)} IS NOT NULL"])
        return f"SELECT {chosen}count(*) AS n\n{source}\nGROUP BY ALL{_ordered(groups)}\nLIMIT {MAX_ROWS}"

    def _behind(self) -> str:
        """The runs behind these rows, with their factors and the means of the drawn columns."""
        ask, runs = self._ask, self._tables.columns.get("runs", {})
        facts = [name for name in ("part", *self._tables.factors, "replication", "seed", "failure") if name in runs]
        self._runs = self._runs or ask.table != "runs"
        owner = "t" if ask.table == "runs" else "r"
        chosen = [f"any_value({owner}.{quoted(name)}) AS {quoted(name)}" for name in facts]
        drawn = [each.column for each in (ask.x, ask.y) if each] + ([ask.z] if ask.z else [])
        for name in dict.fromkeys(drawn):
            if name not in facts and self._kind(name) == "number":
                chosen.append(f"avg({self._column(name)}) AS {quoted(name)}")
        return (
            f"SELECT t.run_id AS run_id, {''.join(f'{one}, ' for one in chosen)}count(*) AS rows, "
            f"count(*) OVER () AS total\n{self._source()}\nGROUP BY t.run_id\nORDER BY t.run_id\nLIMIT {MAX_RUNS}"
        )

    def _groups(self) -> list[tuple[str, str]]:
        """The grouping columns: their names in the answer and their SQL."""
        groups = [("x", self._grouped(self._ask.x))] if self._ask.x else []
        pairs = ("color", self._ask.color), ("facet", self._ask.facet)
        return groups + [(name, self._column(column)) for name, column in pairs if column]

    def _measure(self) -> str:
        if self._ask.y is None:
            raise ResultsError("this view needs a measure: a column with numbers")
        return self._number(self._ask.y.column)

    def _kind(self, name: str) -> str:
        return self._columns[name].kind if name in self._columns else "text"

    def _number(self, name: str) -> str:
        """A column of numbers; a flag is 0 or 1."""
        sql = self._column(name)
        if name in self._columns and self._columns[name].kind == "flag":
            return f"CAST({sql} AS INTEGER)"
        if name == RESULTS or (name in self._columns and self._columns[name].kind == "text"):
            raise ResultsError(f"{name!r} has texts, of which there is no mean; choose a column with numbers")
        return sql

    def _column(self, name: str) -> str:
        """A column as SQL; NULL if only other directories have it."""
        if name == RESULTS:
            return self._bound(self._label)
        if name not in self._columns:
            if name in self._known:
                return "NULL"
            raise ResultsError(f"{name!r} is not a column of {self._ask.table}{did_you_mean(name, self._known)}")
        hidden = self._tables.hidden(self._ask.table)
        if name.startswith(OWN) and name.removeprefix(OWN) in hidden:
            return f"t.{quoted(name.removeprefix(OWN))}"
        if name in self._tables.columns.get(self._ask.table, {}) and name not in hidden:
            return f"t.{quoted(name)}"
        if name in self._tables.columns.get("runs", {}):
            self._runs = True
            return f"r.{quoted(name)}"
        other, _, column = name.partition(".")
        wanted = self._joined.setdefault(other, [])
        if column not in wanted:
            wanted.append(column)
        return f"{quoted(f'of_{other}')}.{quoted(column)}"

    def _grouped(self, dimension: Dimension) -> str:
        """A dimension as SQL: a column or its bin number."""
        if dimension.bins is None:
            return self._column(dimension.column)
        value = f"CAST({self._number(dimension.column)} AS DOUBLE)"
        domain = self._domains.get(dimension.column)
        if domain is None:
            return "CAST(NULL AS INTEGER)"
        one = Binning.of(dimension, domain)
        low, high = (math.log10(one.low), math.log10(one.high)) if one.log else (one.low, one.high)
        place = f"log10(greatest({value}, {one.low!r}))" if one.log else value
        part = f"floor(({place} - {low!r}) / {(high - low) / one.bins!r})"
        return f"CASE WHEN isfinite({value}) THEN CAST(least(greatest({part}, 0), {one.bins - 1}) AS INTEGER) END"

    def _source(self, without: Sequence[str | None] = (), also: Sequence[str] = (), *, filtered: bool = True) -> str:
        """The FROM and WHERE clauses; called last, as it adds the joins that the requested columns need."""
        filters = [one for one in self._ask.filters if filtered and one.column != RESULTS and one.column not in without]
        where = [*map(self._kept, filters), *also]
        parts = "part" in self._tables.columns.get("runs", {})
        if parts and self._ask.part is not None:
            owner = "t" if self._ask.table == "runs" else "r"
            self._runs = True
            where.append(f"{owner}.part = {self._bound(self._ask.part)}")
        lines = [f"FROM {self._ask.table} AS t"]
        if self._runs and self._ask.table != "runs":
            lines.append("JOIN runs AS r USING (run_id)")
        for other, names in self._joined.items():
            means = ", ".join(f"avg({quoted(name)}) AS {quoted(name)}" for name in names)
            lines.append(
                f"LEFT JOIN (SELECT run_id, {means} FROM {other} GROUP BY run_id) AS {quoted(f'of_{other}')} "
                "USING (run_id)"
            )
        if where:
            lines.append("WHERE " + "\n  AND ".join(where))
        return "\n".join(lines)

    def _kept(self, one: Filter) -> str:
        """A filter as an SQL condition."""
        sql, tests = self._column(one.column), []
        if one.values is not None:
            given = ", ".join(self._bound(value) for value in one.values if value is not None)
            options = [f"{sql} IN ({given})"] if given else []
            options += [f"{sql} IS NULL"] if None in one.values else []
            tests.append(f"({' OR '.join(options)})" if options else "FALSE")
        if one.low is not None or one.high is not None:
            number = self._number(one.column)
            tests += [f"{number} >= {self._bound(one.low)}"] if one.low is not None else []
            tests += [f"{number} < {self._bound(one.high)}"] if one.high is not None else []
        return " AND ".join(tests) or "TRUE"

    def _bound(self, value: Value) -> str:
        name = f"p{len(self._parameters)}"
        self._parameters[name] = value
        return f"${name}"


def _indented(sql: str) -> str:
    return "\n".join(f"      {line}" for line in sql.splitlines())


def _ordered(groups: Sequence[tuple[str, str]]) -> str:
    return f"\nORDER BY {', '.join(name for name, _ in groups)}" if groups else ""
