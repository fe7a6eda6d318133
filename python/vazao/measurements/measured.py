"""An author's own measurements beside a campaign: separate tables, evaluated and plotted by the same queries.

They are never pooled with rows of simulated runs. A verdict uses only those measured runs that have every column on
which it depends, so that missing values decide nothing; missing columns are named.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from itertools import islice
from typing import Any

import polars as pl

from vazao import _core, display
from vazao.errors import ResultsError, StudyError, VazaoError
from vazao.measurements.readings import SETTINGS, MeasuredRun, Readings
from vazao.store import Stage, columns_of, in_order, table
from vazao.study import (
    MAX_LOOKED_AT,
    Figure,
    Finding,
    Label,
    Part,
    Present,
    Ruling,
    Study,
    combinations_of,
    design_columns,
    findings,
    labels_of,
    labels_run,
    scenario_of,
)

KEYS = {"run_id", "flow", "part", "replication", "failure"}
"""Columns that every row has, whatever was measured."""

BEGINNING_S = 1e-6
"""Simulated time after which a run has the settings of its flows."""

MAX_STAGES = 2
"""Number of databases kept open, one per set of runs: each is a separate process."""

MAX_TOLD = 3
"""Number of missing combinations that are listed one by one."""

_NO_TEXTS = dict.fromkeys(("explanation", "if_reproduced", "if_differs", "if_undecided"), "") | {"answer": None}
"""Empty values for a finding's texts about simulated runs."""

Column = tuple[str, str]
"""Names of a table and of one of its columns."""


@dataclass(frozen=True)
class Measured:
    """A set of an author's measurements that has joined a study."""

    study: Study = field(repr=False)
    readings: Readings = field(repr=False)
    _rows: _Rows = field(repr=False)

    @classmethod
    def of(cls, study: Study, readings: Readings) -> Measured:
        """Build the tables of a set. Raises `StudyError` for rows with a missing or unknown flow."""
        return cls(study, readings, _Rows(study, readings))

    def __reduce__(self) -> tuple[Callable[[Study, Readings], Measured], tuple[Study, Readings]]:
        """Pickle the readings, from which another process builds its own tables."""
        return Measured.of, (self.study, self.readings)

    @property
    def name(self) -> str:
        """Name of the set."""
        return self.readings.name

    @property
    def title(self) -> str:
        """Title of the set, by default its name."""
        return self._entry[0] or self.readings.title or self.name

    @property
    def source(self) -> str:
        """Description of who measured, where, when and how."""
        return self._entry[1] or self.readings.source

    @property
    def _entry(self) -> tuple[str, str]:
        """Title and source from the study, in the study's language."""
        return next(((one.title, one.source) for one in self.study.measurements if one.name == self.name), ("", ""))

    @property
    def runs(self) -> pl.DataFrame:
        """Measured rows of `runs`."""
        return self._rows.runs

    @property
    def flows(self) -> pl.DataFrame:
        """Measured rows of `flows`."""
        return self._rows.flows

    def query(self, sql: str, parameters: Mapping[str, object] | None = None) -> pl.DataFrame:
        """Run a query on the tables of this set alone. Raises `ResultsError`."""
        return self._rows.stage(self._rows.ids).query(sql, parameters)

    def in_language(self, study: Study) -> Measured:
        """The set with the study in another language."""
        return self if study is self.study else replace(self, study=study)

    @cached_property
    def findings(self) -> list[Ruling]:
        """Verdicts from its rows on each claim that they concern, in the study's order."""
        return [ruling for finding in self.study.findings for ruling in self._rulings(finding)]

    def asked(self, figure: Figure) -> Stage | None:
        """Tables of the runs that have every column a figure draws; None if there are none."""
        try:
            known = self.query(figure.sql).columns
            drawn = [figure.x, figure.y, figure.color, figure.facet, "low", "high"]
            needed = self._rows.reads(figure.sql, [one for one in dict.fromkeys(drawn) if one in known], {})
        except (ResultsError, StudyError):
            return None
        kept = self._rows.having(needed)
        return self._rows.stage(kept) if kept else None

    def as_data(self) -> dict[str, Any]:
        """Summary of the set and its verdicts, as data for JSON."""
        rows = {"runs": self.runs.height, "flows": self.flows.height, "measures": list(self.readings.measures)}
        facts = {"name": self.name, "title": self.title, "source": self.source} | rows
        return facts | {"assumed": dict(self.readings.assumed), "findings": [asdict(one) for one in self.findings]}

    def _repr_html_(self) -> str:
        facts = [("source", self.source), ("runs", self.runs.height), ("measures", ", ".join(self.readings.measures))]
        ledger = [[one.claim, one.level or "", one.verdict, one.measured] for one in self.findings]
        return display.card("Measured", self.title, facts, [("", [["claim", "at", "verdict", "measured"], *ledger])])

    def _rulings(self, finding: Finding) -> list[Ruling]:
        """Verdicts on a claim at the levels that the rows cover."""
        if finding.sql is None:
            return []
        parts = self.study.named_parts(finding.sql)
        concerned = {run_id: run for run_id, run in self._rows.every.items() if run.part in parts}
        ruled = []
        for level, parameters in findings.levels(finding, self.study):
            at_level = {run_id for run_id, run in concerned.items() if _is_at(run, finding.per, level)}
            if at_level:
                ruled.append(self._ruling(finding, level, parameters, at_level))
        return ruled

    def _ruling(self, finding: Finding, level: str | None, parameters: dict[str, Label], at_level: set[str]) -> Ruling:
        rows, sql = self._rows, finding.sql or ""
        bare = finding.model_copy(update=_NO_TEXTS)
        claim = (finding.id, finding.claim, finding.reported, finding.per, level)

        def untested(key: str, **told: str) -> Ruling:
            return Ruling(*claim, "not testable", "", self.study.words.say(key, **told), finding.criterion)

        try:
            needed = rows.reads(sql, ["holds"], parameters)
            kept = rows.having(needed)
            if not kept & at_level:
                tables, columns = rows.lacking(needed, at_level)
                key, names = ("page.missing_tables", tables) if tables else ("page.missing_columns", columns)
                return untested(key, told=", ".join(names))
            answers = _Answers(rows, kept, finding, parameters)
            present = rows.present(kept)
            absent = present.lacks(finding, parameters) or rows.gaps(finding, parameters, kept)
            if more := (*absent, *answers.missing_flows()):
                present = replace(present, more=more)
            return findings.decide(bare, self.study, answers, None, present, level, parameters)
        except (ResultsError, StudyError) as error:
            return untested("page.not_answered", told=str(error).removeprefix(f"{self.study.file}: "))


def _is_at(run: MeasuredRun, factor: str | None, level: str | None) -> bool:
    """Whether a run is at a level of a factor, or has no such factor."""
    return factor not in run.combination or str(run.combination[factor]) == level


class _Rows:
    """The rows of a set as tables, for all its runs or for some of them."""

    def __init__(self, study: Study, readings: Readings) -> None:
        self._study = study
        self.every = {_run_id(readings.name, run): run for run in readings.runs}
        self.ids = frozenset(self.every)
        self._columns = columns_of(study)
        self._scenarios: dict[tuple[str, tuple[Label, ...]], list[dict[str, Any]]] = {}
        self._settings = {run_id: self._settings_of(run) for run_id, run in self.every.items()}
        self._check_flows(readings)
        self._stages: dict[frozenset[str], Stage] = {}
        self._present: dict[frozenset[str], Present] = {}
        self._designs: dict[str, tuple[dict[str, list[Label]], list[tuple[Label, ...]]]] = {}
        self._read: dict[str, set[Column]] = {}
        self._with: dict[Column, frozenset[str]] = {}

    def _settings_of(self, run: MeasuredRun) -> list[dict[str, Any]]:
        """Settings of each flow in a run's scenario; none if only executing guests or code would reveal them."""
        key = run.part, labels_of(run.combination)
        if key not in self._scenarios:
            self._scenarios[key] = _settings(self._study, run)
        return self._scenarios[key]

    def _check_flows(self, readings: Readings) -> None:
        """Reject rows of flows that the scenario lacks, or that name none of several flows. Raises `StudyError`."""
        # The number of arrivals depends on the seed, which measured runs lack.
        random = "arrivals" in self._study.text
        for run_id, run in self.every.items():
            count = len(self._settings[run_id])
            last = max(run.lines)
            if run.unnamed and any(run.flows.values()) and count > 1:
                line, problem = run.lines[0], "is missing"
            elif last >= count > 0 and not random:
                line, problem = run.lines[last], f"{last} is too large"
            else:
                continue
            levels = "".join(f", {name} = {level}" for name, level in run.combination.items())
            numbers = f"{count} flows, 0 to {count - 1}" if count > 1 else "one flow, 0"
            raise StudyError(f"{readings.file}:{line}: flow: {problem}; the part {run.part!r}{levels} has {numbers}")

    @cached_property
    def runs(self) -> pl.DataFrame:
        """All rows of `runs`, in design order."""
        schema = self._columns["runs"].schema
        rows = []
        for run_id, run in self.every.items():
            row: dict[str, Any] = {"run_id": run_id, "part": run.part, "replication": run.replication}
            for name, level in run.combination.items():
                row[name] = str(level.label) if schema[name] == pl.String() else level.label
                if number := level.number:
                    row[f"{name}_{number[0]}"] = number[1]
            rows.append(dict.fromkeys(schema) | row | run.values)
        made = pl.DataFrame(rows, schema=schema, orient="row")
        order = in_order(made.select("run_id", *design_columns(self._study))).select("run_id")
        return order.join(made, on="run_id", maintain_order="left").select(list(schema))

    @cached_property
    def flows(self) -> pl.DataFrame:
        """All rows of `flows`, in the order of their runs."""
        return self._flows_of(self.ids)

    def _runs_of(self, kept: Collection[str]) -> pl.DataFrame:
        """Rows of some runs, in design order."""
        return self.runs.filter(pl.col("run_id").is_in(list(kept)))

    def _flows_of(self, kept: Collection[str], others: Mapping[str, Any] | None = None) -> pl.DataFrame:
        """Rows of the flows of some runs; with `others`, also of flows missing from the file, with these columns."""
        schema = self._columns["flows"].schema
        rows = []
        for run_id in (run_id for run_id in self.runs["run_id"] if run_id in kept):
            settings = self._settings[run_id]
            more = {} if others is None else dict.fromkeys(self.missing(run_id), others)
            for flow, values in sorted((self.every[run_id].flows | more).items()):
                if values:
                    known = settings[flow] if flow < len(settings) else {}
                    rows.append(dict.fromkeys(schema) | known | {"run_id": run_id, "flow": flow} | dict(values))
        return pl.DataFrame(rows, schema=schema, orient="row")

    def stage(self, kept: frozenset[str]) -> Stage:
        """Tables of some runs; the least recently used ones are closed once nothing refers to them."""
        made = self._stages.pop(kept, None)
        if made is None:
            while len(self._stages) >= MAX_STAGES:
                del self._stages[next(iter(self._stages))]
            made = Stage(self._study, {"runs": self._runs_of(kept), "flows": self._flows_of(kept)})
        self._stages[kept] = made
        return made

    def present(self, kept: frozenset[str]) -> Present:
        """Levels that some runs cover."""
        if kept not in self._present:
            self._present[kept] = replace(Present.of(self._study, self.stage(kept)), whole=True)
        return self._present[kept]

    def gaps(self, finding: Finding, parameters: Mapping[str, Label], kept: frozenset[str]) -> list[str]:
        """Combinations that a finding needs and no run covers, although runs cover each of their levels.

        A campaign runs all of them. A finding needs those at the levels of `per` and `needs`, otherwise of the quick
        size.
        """
        named = finding.levels_named(parameters)
        covered = {(run.part, labels_of(run.combination)) for run_id, run in self.every.items() if run_id in kept}
        parts = {name for name, _ in covered} & set(self._study.named_parts(finding.sql or ""))
        absent: list[str] = []
        for part in (part for part in self._study.parts if part.name in parts):
            quick, every = self._design(part)
            wanted = [set(named.get(name, quick[name])) for name in part.factor_names]
            for labels in every:
                needed = all(label in known for label, known in zip(labels, wanted, strict=True))
                if needed and (part.name, labels) not in covered:
                    varied = zip(part.factors, labels, strict=True)
                    absent.append(", ".join(f"{one.name} {label}" for one, label in varied if len(one.levels) > 1))
        return absent if len(absent) <= MAX_TOLD else [*absent[:MAX_TOLD], f"… (+{len(absent) - MAX_TOLD})"]

    def _design(self, part: Part) -> tuple[dict[str, list[Label]], list[tuple[Label, ...]]]:
        """Labels of a part's quick size, and combinations of its full size."""
        if part.name not in self._designs:
            every = islice(combinations_of(part, "full"), MAX_LOOKED_AT)
            self._designs[part.name] = labels_run(part, "quick"), list(dict.fromkeys(map(labels_of, every)))
        return self._designs[part.name]

    def completed(self, kept: frozenset[str], others: Mapping[str, Any]) -> Stage:
        """Tables of some runs with all flows of their scenarios; flows not in the file have `others` as columns."""
        return Stage(self._study, {"runs": self._runs_of(kept), "flows": self._flows_of(kept, others)})

    def reads(self, sql: str, columns: Sequence[str], parameters: Mapping[str, object]) -> set[Column]:
        """Columns of tables that `columns` of a query's result depend on, except those that every row has.

        An empty column name stands for flows that are only counted.
        """
        key = repr((sql, columns, sorted(parameters.items())))
        if key not in self._read:
            found = self._analyser.reads(sql, columns, parameters)
            given = {"", *KEYS, *design_columns(self._study)}
            needed = {one for one in found if one[0] not in ("runs", "flows") or one[1] not in given}
            tables = {name for name, _ in found}
            if "flows" in tables and not any(name == "flows" for name, _ in needed):
                needed.add(("flows", ""))
            self._read[key] = needed
        return self._read[key]

    @cached_property
    def _analyser(self) -> Stage:
        return Stage(self._study, telling=True)

    def having(self, needed: Collection[Column]) -> frozenset[str]:
        """Runs that have a value in each of these columns, for each of their flows."""
        return self.ids.intersection(*(self._having(one) for one in needed))

    def lacking(self, needed: Collection[Column], there: Collection[str]) -> tuple[list[str], list[str]]:
        """Tables that no file has, and columns that no run in `there` has; if there are none, all needed columns."""
        none = [one for one in sorted(needed) if not self._having(one) & set(there)]
        tables = sorted({name for name, _ in none if name not in ("runs", "flows")})
        return tables, [column or name for name, column in none or sorted(needed) if name not in tables]

    def _having(self, one: Column) -> frozenset[str]:
        if one not in self._with:
            self._with[one] = frozenset(run_id for run_id in self.every if self._has(run_id, one))
        return self._with[one]

    def _has(self, run_id: str, one: Column) -> bool:
        run, (name, column) = self.every[run_id], one
        if name == "runs":
            return column in run.values
        if name != "flows" or not run.flows:
            return False
        if column in SETTINGS:
            return all(flow < len(self._settings[run_id]) for flow in run.flows)
        return all(values if column == "" else column in values for values in run.flows.values())

    def missing(self, run_id: str) -> list[int]:
        """Flows of a run's scenario without a row in the file."""
        return [flow for flow in range(len(self._settings[run_id])) if flow not in self.every[run_id].flows]


class _Answers:
    """Query results of some measured runs for one finding; values that depend on a column they lack are NULL."""

    def __init__(self, rows: _Rows, kept: frozenset[str], finding: Finding, parameters: Mapping[str, Label]) -> None:
        self._rows, self._kept, self._finding, self._parameters = rows, kept, finding, parameters

    def query(self, sql: str, parameters: Mapping[str, object] | None = None) -> pl.DataFrame:
        """Run a query. Raises `ResultsError`."""
        found = self._rows.stage(self._kept).query(sql, parameters)
        if sql != self._finding.sql:
            return found
        return found.with_columns(pl.lit(None, found.schema[name]).alias(name) for name in self._unknown(found.columns))

    def _unknown(self, columns: Sequence[str]) -> list[str]:
        """Displayed columns that depend on something these runs lack."""
        shown = [name for name in findings.displayed_columns(self._finding) if name in columns]
        sql = self._finding.sql or ""
        needed = {name: self._rows.reads(sql, [name], self._parameters) for name in shown}
        return [name for name, columns in needed.items() if not self._kept <= self._rows.having(columns)]

    def missing_flows(self) -> tuple[str, ...]:
        """Flows without rows in the file, as "flow 1", if the answer depends on the values that they would have."""
        sql = self._finding.sql or ""
        columns = [column for name, column in self._rows.reads(sql, ["holds"], self._parameters) if name == "flows"]
        flows = sorted({flow for run_id in self._kept for flow in self._rows.missing(run_id)})
        if not flows or not columns:
            return ()
        known = self._rows.stage(self._kept).query(sql, self._parameters)
        shown = ["holds", *(name for name in findings.displayed_columns(self._finding) if name in known.columns)]
        for amount in (0.0, 1e12):
            others = {column: _typed(self._rows.flows.schema[column], amount) for column in columns if column}
            probed = self._rows.completed(self._kept, others or {"completed": True}).query(sql, self._parameters)
            if not probed.select(shown).equals(known.select(shown)):
                return tuple(f"flow {flow}" for flow in flows)
        return ()


def _typed(kind: pl.DataType, amount: float) -> Any:
    """An amount as a value of the given type."""
    return bool(amount) if kind == pl.Boolean() else int(amount) if kind.is_integer() else amount


def _run_id(name: str, run: MeasuredRun) -> str:
    labels = [f"{factor}={level}" for factor, level in run.combination.items()]
    identity = "\n".join(["measured", name, run.part, *labels, str(run.replication)])
    return sha256(identity.encode()).hexdigest()[:16]


def _settings(study: Study, run: MeasuredRun) -> list[dict[str, Any]]:
    """Settings of each flow, read from the start of a run; none if guests or code would have to be executed."""
    with suppress(VazaoError):
        scenario = scenario_of(study, study.part(run.part), run.combination)
        if not (scenario.simulators or scenario.code or scenario.work().guests):
            return table(_core.run(scenario.with_until(BEGINNING_S)), "flows").select(SETTINGS).to_dicts()
    return []
