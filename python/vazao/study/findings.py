"""Ledger of a study: the verdict on every claim, decided by a query over stored rows and never by hand."""

from __future__ import annotations

import math
import re
import string
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

import polars as pl
from pydantic import TypeAdapter

from vazao.errors import ResultsError, StudyError
from vazao.files import explained, read_file, write_json
from vazao.study import needs
from vazao.study.fields import Label
from vazao.study.model import Finding, Number, Study
from vazao.study.needs import Queryable
from vazao.units import Unit
from vazao.words import ENGLISH, Words

FINDINGS = "findings.json"

Verdict = Literal["reproduced", "differs", "undecided", "not testable"]
"""Verdict on a claim: it holds, it does not, the rows allow both, or there are no rows that could decide it."""


@dataclass(frozen=True)
class Pair:
    """A reported number and the measured one, in base units; a percentage is a ratio.

    `effect` is the measured number as a ratio of the reported one, 1 if they are equal (the relative effect size of
    replications: Open Science Collaboration, Science 349, 2015); None if nothing was measured or 0 reported.
    """

    of: str
    unit: str
    reported: float
    measured: float | None
    ci: float | None
    effect: float | None

    def formatted(self, words: Words = ENGLISH) -> tuple[str, str, str]:
        """The reported number, the measured one with its interval, and the effect, formatted for people."""
        unit = Unit(self.unit)
        interval = "" if self.ci is None else f" ± {unit.text(self.ci, 2)}"
        effect = "–" if self.effect is None else f"{self.effect:.2f}"
        told = unit.text(self.reported), unit.text(self.measured, 3) + interval, effect
        return words.quantity(told[0]), words.quantity(told[1]), words.quantity(told[2])


@dataclass(frozen=True)
class AbandonedCriterion:
    """A criterion that was changed after results had been seen, and the reason."""

    criterion: str
    because: str


@dataclass(frozen=True)
class Ruling:
    """A claim with its verdict; `level` is a level of the factor `per`, if the claim is decided for each."""

    id: str
    claim: str
    reported: str
    per: str | None
    level: str | None
    verdict: Verdict
    measured: str
    explanation: str
    criterion: str = ""
    earlier: list[AbandonedCriterion] = field(default_factory=list)
    numbers: list[Pair] = field(default_factory=list)
    answer: str = ""
    """Sentence that the claim contributes to the answer to the study's question; empty if there is none."""


def evaluate(study: Study, store: Queryable, not_run: pl.DataFrame | None = None) -> list[Ruling]:
    """Decide every finding, in the file's order and for each level of its `per` factor.

    `not_run` are planned runs that could not be run, with the `reason`: a finding that needs one of them is not
    testable. Raises `StudyError` naming the finding whose query or text is wrong.
    """
    present = needs.Present.of(study, store)
    return [
        decide(finding, study, store, not_run, present, level, parameters)
        for finding in study.findings
        for level, parameters in levels(finding, study)
    ]


def counted(results: Iterable[Ruling], words: Words = ENGLISH) -> str:
    """Number of claims with each verdict, as text."""
    counts = Counter(result.verdict for result in results)
    verdicts: tuple[Verdict, ...] = get_args(Verdict)
    return ", ".join(f"{counts[verdict]} {words.of('counted', verdict)}" for verdict in verdicts)


def write(results: list[Ruling], directory: Path) -> Path:
    """Store the ledger as findings.json."""
    path = directory / FINDINGS
    write_json(path, [asdict(result) for result in results])
    return path


def read(directory: Path) -> list[Ruling]:
    """Read the stored ledger. Raises `ResultsError` if it is missing or unreadable."""
    path = directory / FINDINGS
    with explained(path, "read"):
        text = read_file(path)
    try:
        return TypeAdapter(list[Ruling]).validate_json(text, strict=True)
    except ValueError:
        raise ResultsError(f"{path}: is not a ledger that this version understands; run `vazao report`") from None


def levels(finding: Finding, study: Study) -> list[tuple[str | None, dict[str, Label]]]:
    """Levels at which a finding is decided, each with its query's parameters; None if it is decided as a whole."""
    if finding.per is None:
        return [(None, {})]
    return [(str(label), {finding.per: label}) for label in study.labels(finding.per)]


def decide(
    finding: Finding,
    study: Study,
    store: Queryable,
    not_run: pl.DataFrame | None,
    present: needs.Present,
    level: str | None,
    parameters: dict[str, Label],
) -> Ruling:
    """Decide a finding at one of its `levels`. Raises `StudyError` if its query or one of its texts is wrong."""
    words = study.words
    where = f"{study.file}: finding {finding.id!r}" + (f" ({finding.per} = {level})" if level else "")

    def ruling(
        verdict: Verdict, measured: str = "", explanation: str = "", row: dict[str, Any] | None = None, answer: str = ""
    ) -> Ruling:
        claim = (finding.id, finding.claim, finding.reported, finding.per, level)
        earlier = [AbandonedCriterion(one.criterion, one.because) for one in finding.earlier]
        numbers = [_pair(number, row or {}, where) for number in finding.numbers]
        return Ruling(*claim, verdict, measured, explanation, finding.criterion, earlier, numbers, answer)

    if finding.sql is None:
        return ruling("not testable", explanation=finding.not_testable or "")
    if not_run is not None and (lost := needs.lost(finding, study, not_run, parameters)).height:
        missing = words.say("page.missing_runs", told=needs.not_run_message(needs.reasons(lost), words))
        return ruling("not testable", explanation=missing)
    try:
        rows = store.query(finding.sql, parameters)
    except ResultsError as error:
        raise StudyError(f"{where}: {error}") from None
    _check_columns(finding, rows.columns, where)
    if rows.height == 0:
        return ruling("not testable", explanation=words.say("page.no_row"))
    if rows.height > 1:
        raise StudyError(f"{where}: the query gives {rows.height} rows; a finding is decided by one")
    row = rows.row(0, named=True)
    verdict = _verdict(row, where)
    if absent := present.lacks(finding, parameters):
        verdict = "undecided"
    by_verdict = {
        "reproduced": finding.if_reproduced,
        "differs": finding.if_differs,
        "undecided": finding.if_undecided,
    }
    explanation = " ".join(
        _fill(text, row, where, words) for text in (finding.explanation, by_verdict[verdict]) if text
    )
    if absent:
        explanation = f"{words.say('page.missing_levels', told='; '.join(absent))} {explanation}".rstrip()
    answer = _fill(getattr(finding.answer, verdict), row, where, words) if finding.answer else ""
    return ruling(verdict, _measured(finding, row, where, words), explanation, row, answer)


def _pair(number: Number, row: dict[str, Any], where: str) -> Pair:
    """A reported number with the measured one from the row."""
    reported = number.reported.value
    measured, ci = (_number(column, row, where) for column in (number.measured, number.ci))
    effect = measured / reported if measured is not None and reported else None
    return Pair(number.of, number.reported.unit.symbol, reported, measured, ci, effect)


def _number(column: str | None, row: dict[str, Any], where: str) -> float | None:
    """Number in a column; None if it is missing or not finite."""
    value = row.get(column) if column else None
    if value is not None and not isinstance(value, int | float):
        raise StudyError(f"{where}: {column!r} is {value!r}, and `numbers` compares numbers")
    return float(value) if value is not None and math.isfinite(value) else None


def _check_columns(finding: Finding, columns: list[str], where: str) -> None:
    """Check that the query returns the columns that the verdict and the texts use, however many rows it has."""
    if "holds" not in columns:
        raise StudyError(f"{where}: the query gives no column `holds` (it gives {', '.join(columns)})")
    answers = (finding.answer.reproduced, finding.answer.differs, finding.answer.undecided) if finding.answer else ()
    explanations = (finding.explanation, finding.if_reproduced, finding.if_differs, finding.if_undecided)
    texts = (finding.measured, *explanations, *answers)
    for text in filter(None, texts):
        _fill(text, dict.fromkeys(columns), where)
    for number in finding.numbers:
        for column in filter(None, (number.measured, number.ci)):
            if column not in columns:
                raise StudyError(
                    f"{where}: {column!r} in `numbers` is no column of its query (columns: {', '.join(columns)})"
                )


def _verdict(row: dict[str, Any], where: str) -> Verdict:
    match row["holds"]:
        case bool(holds):
            return "reproduced" if holds else "differs"
        case None:
            return "undecided"
        case other:
            raise StudyError(f"{where}: `holds` is {other!r}; it must be true, false or NULL")


def _measured(finding: Finding, row: dict[str, Any], where: str, words: Words) -> str:
    if finding.measured is not None:
        return _fill(finding.measured, row, where, words)
    value = row.get("measured")
    if value is None:
        return ""
    return words.number(f"{value:.4g}") if isinstance(value, float) else words.phrase(str(value))


NEGATIVE_ZERO = re.compile(r"(?<![\w.])-(?=0(?:\.0+)?(?![\d.]*[1-9]))")
"""Sign of a number that is zero after rounding."""


class _Missing:
    """NULL in a text: formatted as a dash, whatever the format."""

    def __format__(self, spec: str) -> str:
        return "–"


class _Formatter(string.Formatter):
    """Formatter of texts with a row's columns: no attributes, no indices, no excessive width, NULL as a dash."""

    def __init__(self, words: Words) -> None:
        self.words = words

    def format_field(self, value: Any, format_spec: str) -> str:
        if re.search(r"\d{3}", format_spec):
            raise ValueError(f"{format_spec!r} is wider than any text here")
        text = str(super().format_field(value, format_spec))
        if format_spec.endswith("%") and text.endswith("%"):
            text = f"{text[:-1]} %"
        return self.words.number(NEGATIVE_ZERO.sub("", text)) if isinstance(value, int | float) else text

    def get_field(self, field_name: str, args: Any, kwargs: Any) -> tuple[Any, str]:  # noqa: ARG002
        if field_name not in kwargs:
            raise KeyError(field_name)
        value = kwargs[field_name]
        if isinstance(value, str):
            return self.words.phrase(NEGATIVE_ZERO.sub("", value)), field_name
        return (_Missing() if value is None else value), field_name


def displayed_columns(finding: Finding) -> list[str]:
    """Columns of a finding's query that are displayed next to its verdict, in a text or as numbers."""
    text = "{measured}" if finding.measured is None else finding.measured
    named = [name for _, name, _, _ in string.Formatter().parse(text) if name]
    beside = [column for number in finding.numbers for column in (number.measured, number.ci) if column]
    return list(dict.fromkeys([*named, *beside]))


def _fill(text: str, row: dict[str, Any], where: str, words: Words = ENGLISH) -> str:
    try:
        return words.agreed(_Formatter(words).vformat(text, (), row))
    except KeyError as error:
        known = ", ".join(row)
        raise StudyError(f"{where}: {error} in {text!r} is no column of its query (columns: {known})") from None
    except (ValueError, TypeError, IndexError, AttributeError) as error:
        raise StudyError(f"{where}: {text!r} cannot be filled in: {error}") from None
