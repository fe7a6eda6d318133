"""A study file, validated: `Study`, `Part`, `Factor`, `Level`, `View`, `Summary`, `Figure`, `Finding`."""

from __future__ import annotations

import hashlib
import json
import re
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PrivateAttr, model_validator

from vazao import _core, display, units
from vazao.errors import StudyError, did_you_mean
from vazao.scenario import Allowed
from vazao.study.fields import (
    Column,
    Identifier,
    Label,
    LabelField,
    Slug,
    as_label,
    as_language,
    as_list,
    as_measure,
    unique,
    with_views,
    wrong,
)
from vazao.study.source import Source
from vazao.words import DEFAULT, ENGLISH, Words

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

Size = Literal["quick", "full"]

RESERVED = {column["name"] for column in json.loads(_core.tables())["runs"]} | {
    *("part", "replication", "wall_s", "failure", "reason"),
}
"""Columns that every row of `runs` has besides its factors."""


STORED_TABLES = {"scenarios", "samples", "links", "paths", "flows", "runs", "planned", "not_run"}
"""Names of stored tables, which a study's views may not have."""


class Table(BaseModel):
    """A TOML table: immutable; an unknown key is rejected with the nearest known one."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, populate_by_name=False)

    @model_validator(mode="before")
    @classmethod
    def _known_keys(cls, data: Any) -> Any:
        known = {field.alias or name for name, field in cls.model_fields.items()}
        for key in data if isinstance(data, dict) else ():
            if key not in known:
                wrong(f"unknown key{did_you_mean(key, known)}", key)
        return data


class Level(BaseModel):
    """One setting of a factor: its label, the scenario keys it sets, and its number if it is a quantity."""

    model_config = ConfigDict(frozen=True)

    label: Label
    overrides: tuple[tuple[str, Any], ...]

    def __str__(self) -> str:
        return str(self.label)

    @property
    def number(self) -> tuple[str, float] | None:
        """Unit suffix and number if the label is a quantity: `("bps", 1e7)`."""
        return units.parse(self.label) if isinstance(self.label, str) else None


class Factor(Table):
    """A factor. `sets` names scenario keys; without it, each level is a table of keys and values."""

    name: Identifier
    title: str = ""
    sets: Annotated[list[str], BeforeValidator(as_list)] = []
    levels: list[Level]
    quick: list[LabelField] = []
    default: LabelField | None = None

    @model_validator(mode="before")
    @classmethod
    def _read_levels(cls, data: Any) -> Any:
        if not isinstance(data, dict) or "levels" not in data:
            return data
        levels, sets = data["levels"], as_list(data.get("sets", []))
        if not isinstance(levels, list | dict) or not levels:
            wrong("needs a list of values, or a table of label = { key = value }", "levels")
        pairs = levels.items() if isinstance(levels, dict) else [(value, value) for value in levels]
        return {**data, "levels": [_read_level(label, value, sets, n) for n, (label, value) in enumerate(pairs)]}

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.name in RESERVED:
            wrong(f"{self.name!r} is a column of every run already; choose another name", "name")
        unique((str(label) for label in self.labels), "levels", "levels")
        for key, labels in ("quick", self.quick), ("default", [] if self.default is None else [self.default]):
            for label in labels:
                if label not in self.labels:
                    wrong(f"{label!r} is not a level{did_you_mean(str(label), map(str, self.labels))}", key)
        return self

    @property
    def labels(self) -> list[Label]:
        """The levels' labels, in the file's order."""
        return [level.label for level in self.levels]

    @property
    def centre(self) -> Level:
        """Level at which the factor stays while another one is varied."""
        return self.levels[0] if self.default is None else self.level(self.default)

    def level(self, label: Label) -> Level:
        """Level with this label."""
        return next(level for level in self.levels if level.label == label)

    def at(self, size: Size) -> list[Level]:
        """Levels that a study of this size uses."""
        return [self.level(label) for label in self.quick] if size == "quick" and self.quick else self.levels


def _read_level(label: Any, value: Any, sets: list[str], n: int) -> Level:
    if sets:
        overrides = tuple((key, value) for key in sets)
    elif isinstance(value, dict):
        overrides = tuple(value.items())
    else:
        wrong("nothing says which scenario key this level sets; give the factor `sets`", "levels", n)
    for key, _ in overrides:
        if key == "seed":
            wrong("the seed is no factor: replications derive theirs from study.seed", "levels", n)
    return Level(label=as_label(label), overrides=overrides)


class Replications(Table):
    """Replications of every combination, each with a different seed."""

    quick: int = Field(ge=1)
    full: int = Field(ge=1)

    @model_validator(mode="after")
    def _quick_within_full(self) -> Self:
        if self.quick > self.full:
            wrong(f"{self.quick} quick replications are more than the {self.full} full ones", "quick")
        return self


def _read_replications(value: Any) -> Any:
    return {"quick": value, "full": value} if isinstance(value, int) else value


class Part(Table):
    """One set of runs: a design over factors, on the study's scenario with the part's changes."""

    name: Slug
    title: str = ""
    question: str = ""
    scenario: dict[str, Any] = {}
    design: Literal["factorial", "one-at-a-time", "two-level", "list"] = "factorial"
    replications: Annotated[Replications, BeforeValidator(_read_replications)] = Replications(quick=1, full=1)
    random: bool = True
    """Whether the seed matters; where it does not, the one run of a combination is exact."""
    exclude: list[dict[str, Annotated[list[LabelField], BeforeValidator(as_list)]]] = []
    runs: list[dict[str, LabelField]] = []
    factors: list[Factor] = Field(default=[], alias="factor")

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        unique((factor.name for factor in self.factors), "factors", "factor")
        if "seed" in self.scenario:
            wrong("the seed belongs to [study]: replication r runs with study.seed + r", "scenario", "seed")
        if not self.random and self.replications.full > 1:
            wrong("is false, but there are replications, which would all be equal; write one of the two", "random")
        if (self.design == "list") != bool(self.runs):
            wrong('design = "list" and `runs`, a list of { factor = label }, come together', "runs")
        for n, run in enumerate(self.runs):
            self._known_labels({name: [label] for name, label in run.items()}, "runs", n)
        for n, rule in enumerate(self.exclude):
            self._known_labels(rule, "exclude", n)
        for n, factor in enumerate(self.factors):
            if self.design == "two-level" and (len(factor.levels) != 2 or factor.quick):
                wrong("a two-level design needs exactly two levels, in quick and full alike", "factor", n, "levels")
        return self

    def _known_labels(self, choice: dict[str, list[Label]], key: str, n: int) -> None:
        for name, labels in choice.items():
            factor = next((factor for factor in self.factors if factor.name == name), None)
            if factor is None:
                wrong(f"{name!r} is no factor of this part{did_you_mean(name, self.factor_names)}", key, n)
            for label in labels:
                if label not in factor.labels:
                    known = map(str, factor.labels)
                    wrong(f"{label!r} is not a level of {name!r}{did_you_mean(str(label), known)}", key, n)

    @property
    def factor_names(self) -> list[str]:
        """The factors' names, in the file's order."""
        return [factor.name for factor in self.factors]


class Figure(Table):
    """A chart of the rows that a query selects. `sql` reads the tables of the results directory."""

    id: Slug
    title: str
    caption: str = ""
    finding: Annotated[list[str], BeforeValidator(as_list)] = []
    sql: str
    reported: list[dict[str, str | float]] = []
    """Marks of the original: rows of y and of the x, color and facet that they are for; without x, for all."""
    kind: Literal["line", "step", "bar", "point", "box", "band", "area", "heat", "ecdf"] = "line"
    x: Column
    y: Column
    color: Column | None = None
    facet: Column | None = None
    columns: int | None = Field(default=None, ge=1)
    x_scale: Literal["linear", "log"] = "linear"
    y_scale: Literal["linear", "log"] = "linear"
    error: Literal["ci95", "none"] = "none"
    x_title: str = ""
    y_title: str = ""
    color_title: str = ""
    facet_title: str = ""
    x_unit: str | None = None
    y_unit: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _shares_are_counted(cls, data: Any) -> Any:
        """Default `y` of a distribution: it is counted, not queried, so its column need not be named."""
        if isinstance(data, dict) and data.get("kind") == "ecdf":
            return {"y": "share", "y_title": "ECDF"} | data
        return data

    @model_validator(mode="after")
    def _maps_have_rows(self) -> Self:
        if self.kind == "heat" and self.color is None:
            wrong("kind = 'heat' needs color, the column whose labels are the rows of the map", "kind")
        return self

    @model_validator(mode="after")
    def _marks_have_places(self) -> Self:
        known = [column for column in (self.x, self.y, self.color, self.facet) if column]
        for n, row in enumerate(self.reported):
            if self.y not in row:
                wrong(f"{row} has no {self.y!r}, the figure's y", "reported", n)
            for column in row:
                if column not in known:
                    hint = did_you_mean(column, known) or f"; it draws {', '.join(known)}"
                    wrong(f"{column!r} is no column that the figure draws{hint}", "reported", n, column)
        return self


class View(Table):
    """A named query, from which later queries can select as from a table."""

    name: Identifier
    sql: str


class Summary(Table):
    """A table of the rows that a query selects: the reader's summary. `sql` reads the results' tables."""

    id: Slug
    title: str
    caption: str = ""
    sql: str


class Number(Table):
    """A reported number, and the columns of the finding's query with the measured one and its interval."""

    of: str = ""
    reported: Annotated[units.Measure, BeforeValidator(as_measure)]
    measured: Column
    ci: Column | None = None


class Earlier(Table):
    """A criterion that was abandoned after results were seen, and the reason."""

    criterion: str
    because: str


class Measurements(Table):
    """An author's own measurements: a file of rows next to the study, and their source."""

    name: Slug
    file: str
    source: str
    title: str = ""

    @model_validator(mode="after")
    def _beside_the_study(self) -> Self:
        if not re.fullmatch(r"[^/\\\x00-\x1f.][^/\\\x00-\x1f]{0,199}", self.file):
            wrong(f"{self.file!r} is no plain name; the file stands beside the study, as 'testbed.csv'", "file")
        return self


class Answer(Table):
    """A sentence per verdict that a claim contributes to the answer to the study's question; texts as in `measured`."""

    reproduced: str
    differs: str
    undecided: str


class Finding(Table):
    """A claim of the original and the query that decides it, in one row: `holds`, `measured`, and what texts use."""

    id: Slug
    claim: str
    reported: str = ""
    beyond: bool = False
    per: str | None = None
    sql: str | None = None
    numbers: list[Number] = []
    criterion: str = ""
    earlier: Annotated[list[Earlier], BeforeValidator(as_list)] = []
    measured: str | None = None
    answer: Answer | None = None
    needs: dict[str, Annotated[list[LabelField], BeforeValidator(as_list)]] = {}
    explanation: str = ""
    if_reproduced: str = ""
    if_differs: str = ""
    if_undecided: str = ""
    not_testable: str | None = None

    def levels_named(self, parameters: Mapping[str, Label]) -> dict[str, list[Label]]:
        """Levels that `needs` names, and those of `parameters`: the level of `per` at which it is decided."""
        return self.needs | {name: [label] for name, label in parameters.items()}

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if (self.sql is None) == (self.not_testable is None):
            wrong("give either `sql`, which decides the claim, or `not_testable`, the reason why nothing can")
        return self


def _dotted(table: dict[str, Any], prefix: str = "") -> Iterator[str]:
    """Dotted keys of all values in a table."""
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _dotted(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}"


class Study(Table):
    """A published evaluation as its file describes it: template, designs, figures and findings.

    Attributes hold the keys of the file's [study] table (`name`, `title`, `source`, `claimed_at`, `question`,
    `headline`, `letter`, `about`, `lang`, `seed`), the `scenario` template as plain TOML values, and the lists `parts`,
    `views`, `tables`, `figures`, `findings`, `measurements`.
    """

    name: Slug
    title: str
    source: str = ""
    claimed_at: dict[str, Annotated[list[LabelField], BeforeValidator(as_list)]] = {}
    question: str = ""
    headline: str | None = None
    letter: list[str] = []
    about: str = ""
    lang: Annotated[str, BeforeValidator(as_language)] = DEFAULT
    seed: int = Field(default=1, ge=0, le=2**63)
    scenario: dict[str, Any]
    parts: list[Part] = Field(alias="part", min_length=1)
    views: list[View] = Field(default=[], alias="view")
    tables: list[Summary] = Field(default=[], alias="table")
    figures: list[Figure] = Field(default=[], alias="figure")
    findings: list[Finding] = Field(default=[], alias="finding")
    measurements: list[Measurements] = []

    _file: Source = PrivateAttr()
    _overrides: list[tuple[str, Any]] = PrivateAttr(default_factory=list)
    _inputs: dict[str, Path] = PrivateAttr(default_factory=dict)
    _allows: Allowed = PrivateAttr(default=False)
    _words: Words = PrivateAttr(default=ENGLISH)
    _telling: str = PrivateAttr(default="")
    _original: Self | None = PrivateAttr(default=None)

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        unique((part.name for part in self.parts), "parts", "part")
        unique((view.name for view in self.views), "views", "view")
        for n, view in enumerate(self.views):
            if view.name in STORED_TABLES:
                wrong(f"{view.name!r} is a table of every result already; choose another name", "view", n, "name")
        unique((table.id for table in self.tables), "tables", "table")
        unique((figure.id for figure in self.figures), "figures", "figure")
        unique((finding.id for finding in self.findings), "findings", "finding")
        unique((one.name for one in self.measurements), "measurements", "measurements")
        if "seed" in self.scenario:
            wrong("the seed belongs to [study]: replication r runs with study.seed + r", "scenario", "seed")
        factors = {name for part in self.parts for name in part.factor_names}
        ids = [finding.id for finding in self.findings]
        if self.headline is not None and self.headline not in (drawn := [figure.id for figure in self.figures]):
            wrong(f"{self.headline!r} is not a figure{did_you_mean(self.headline, drawn)}", "study", "headline")
        own = [finding.id for finding in self.findings if not finding.beyond]
        for n, name in enumerate(self.letter):
            if name not in own:
                why = "is asked beyond the original" if name in ids else f"is not a finding{did_you_mean(name, own)}"
                wrong(f"{name!r} {why}; the letter tells the original's claims", "study", "letter", n)
        for n, figure in enumerate(self.figures):
            for name in figure.finding:
                if name not in ids:
                    wrong(f"{name!r} is not a finding{did_you_mean(name, ids)}", "figure", n, "finding")
        for factor, labels in self.claimed_at.items():
            if factor not in factors:
                wrong(f"{factor!r} is not a factor{did_you_mean(factor, factors)}", "study", "claimed_at")
            for label in labels:
                if label not in (known := self.labels(factor)):
                    hint = did_you_mean(str(label), map(str, known))
                    wrong(f"{label!r} is not a level of {factor!r}{hint}", "study", "claimed_at", factor)
        for n, finding in enumerate(self.findings):
            if finding.per is not None and finding.per not in factors:
                wrong(f"{finding.per!r} is not a factor{did_you_mean(finding.per, factors)}", "finding", n, "per")
            for factor, labels in finding.needs.items():
                for label in labels:
                    if label not in (known := self.labels(factor)):
                        hint = did_you_mean(str(label), map(str, known))
                        wrong(f"{label!r} is not a level of {factor!r}{hint}", "finding", n, "needs", factor)
        return self

    def __repr__(self) -> str:
        counts = f"parts={len(self.parts)}, figures={len(self.figures)}, findings={len(self.findings)}"
        return f"Study({self.name!r}, {counts})"

    __str__ = __repr__

    def _repr_html_(self) -> str:
        factors = [
            (factor.title or factor.name, "; ".join(map(str, factor.labels)))
            for part in self.parts
            for factor in part.factors
        ]
        facts = [("file", self.file), ("source", self.source), ("question", self.question), *dict(factors).items()]
        claims = [[one.id, one.claim] for one in self.findings]
        return display.card("Study", self.title, facts, [("", [["finding", "claim"], *claims])] if claims else [])

    @property
    def file(self) -> str:
        """Name of the study file, as the user gave it."""
        return self._file.file

    def placed(self, figure: Figure, error: StudyError) -> StudyError:
        """Error of a figure with its location in the study file: `study.toml:12: figure.0: …`."""
        number = next((n for n, one in enumerate(self.figures) if one.id == figure.id), None)
        return error if number is None else self._file.error(("figure", number), str(error))

    @property
    def text(self) -> str:
        """Full text of the study file."""
        return self._file.text

    @property
    def hash(self) -> str:
        """SHA-256 of the study file, hexadecimal."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    @property
    def overrides(self) -> list[tuple[str, Any]]:
        """The user's changes to the scenario template, as (dotted key, value)."""
        return list(self._overrides)

    @property
    def inputs(self) -> Mapping[str, Path]:
        """Fallback files by the names that scenarios use, for those missing next to the study."""
        return self._inputs

    def with_inputs(self, inputs: Mapping[str, Path]) -> Self:
        """Copy of the study with fallback files, by the names that scenarios use, for those that are missing."""
        study = self.model_copy()
        study._inputs = dict(inputs)
        return study

    @property
    def allows_programs(self) -> Allowed:
        """Permission to run algorithms that its scenarios name by file."""
        return self._allows

    def allowing(self, code: Allowed = True) -> Self:
        """Copy of the study with permission to run algorithms that its scenarios name by file."""
        study = self.model_copy()
        study._allows = code
        return study

    @property
    def words(self) -> Words:
        """Language of the study's texts."""
        return self._words

    @property
    def telling(self) -> tuple[str, str]:
        """Language of the study's texts, and the whole text of its translation file; empty if there is none."""
        return self._words.lang, self._telling

    @property
    def original(self) -> Self:
        """The untranslated study, with the texts of its own file."""
        if self._original is None:
            return self
        study = self._original.model_copy(update={"seed": self.seed})
        study._overrides, study._inputs, study._allows = self._overrides, self._inputs, self._allows
        return study

    def with_texts(self, words: Words, texts: Mapping[str, Any] | None = None, source: str = "") -> Self:
        """Translated copy of the study: `texts` has the fields that differ, `source` the text of their file."""
        original = self.original
        study = original.model_copy(update=dict(texts or {}))
        study._words, study._telling, study._original = words, source, original
        return study

    def part(self, name: str) -> Part:
        """Part with this name."""
        return next(part for part in self.parts if part.name == name)

    @property
    def beyond(self) -> set[str]:
        """IDs of the findings that go beyond the original."""
        return {finding.id for finding in self.findings if finding.beyond}

    def named_parts(self, sql: str) -> list[str]:
        """Parts that a query names, directly or through the views that it uses; all parts if it names none."""
        sql = with_views(sql, [(view.name, view.sql) for view in self.views])
        return self.parts_in(sql) or [part.name for part in self.parts]

    def parts_in(self, sql: str) -> list[str]:
        """Parts that a query names directly.

        A string that is also the label of a level names a part only where it is compared with the column `part`.
        """
        labels = {str(label) for part in self.parts for factor in part.factors for label in factor.labels}

        def is_named(name: str) -> bool:
            before = r"\bpart\s*(?:=|IN\s*\([^)]*)\s*" if name in labels else ""
            return re.search(rf"{before}'{re.escape(name)}'", sql, re.IGNORECASE) is not None

        return [part.name for part in self.parts if is_named(part.name)]

    def labels(self, factor: str) -> list[Label]:
        """Every label of a factor across all parts, in the file's order."""
        every = (f.labels for part in self.parts for f in part.factors if f.name == factor)
        return list(dict.fromkeys(label for labels in every for label in labels))

    def changed(self, overrides: Iterable[tuple[str, Any]] = (), seed: int | None = None) -> Self:
        """Copy of the study with other values of scenario keys, or with another seed.

        Raises `StudyError` for a key that a part or a factor of the study sets itself.
        """
        overrides = [(key, value) for key, value in overrides]
        for key, _ in overrides:
            key = key.removeprefix("=")
            if owner := self._owner(key):
                raise StudyError(f"{self.file}: {key}: {owner} sets it; change the study file to vary it otherwise")
        study = self.model_copy(update={} if seed is None else {"seed": seed})
        study._overrides = [*self._overrides, *overrides]
        return study

    def _owner(self, key: str) -> str:
        """Description of the part or factor that sets a scenario key; empty if none does."""

        def meets(other: str) -> bool:
            return f"{key}.".startswith(f"{other}.") or f"{other}.".startswith(f"{key}.")

        for part in self.parts:
            if any(meets(other) for other in _dotted(part.scenario)):
                return f"part {part.name!r}"
            for factor in part.factors:
                if any(meets(other) for level in factor.levels for other, _ in level.overrides):
                    return f"factor {factor.name!r}"
        return ""
