"""The letter: one page on an original's claims in its own setting: which hold, which do not and why, which are open."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import get_args

from vazao.study import Part, Ruling, Size, Study, Verdict, labels_run
from vazao.words import Words

SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-ZÀ-Ý`*])")
"""Boundary between two sentences."""


@dataclass(frozen=True)
class Line:
    """A claim with its results as the letter presents them, one for each level with the paragraph's verdict."""

    id: str
    claim: str
    measured: list[tuple[str, str]]
    """Pairs of a level, empty where the claim has only one, and the measurement there."""
    why: str
    """First sentence of the explanation; for an open claim, the sentence on what keeps it open."""
    full: str = ""
    """Growth from the quick size to the full one, for an open claim."""


@dataclass(frozen=True)
class Paragraph:
    """The claims that share a verdict."""

    verdict: Verdict
    title: str
    lines: list[Line]
    note: str = ""
    """The experiment that would decide the open claims."""


def letter(study: Study, findings: Sequence[Ruling], size: Size) -> list[Paragraph]:
    """The original's claims that the letter presents, at the levels of its own setting, grouped by verdict."""
    chosen = [one for one in _own(study, findings) if not study.letter or one.id in study.letter]
    growing = {part.name: _Growth.of(part) for part in study.parts} if size == "quick" else {}
    times = Counter(ruling.id for ruling in chosen)
    paragraphs: list[Paragraph] = []
    for verdict in get_args(Verdict):
        lines = []
        for name, ruled in groupby((one for one in chosen if one.verdict == verdict), key=lambda one: one.id):
            rulings = list(ruled)
            measured = [(one.level or "" if times[name] > 1 else "", one.measured) for one in rulings if one.measured]
            reasons = {_why(study, ruling) for ruling in rulings}
            full = _growth(study, name, growing) if verdict == "undecided" else ""
            lines.append(Line(name, rulings[0].claim, measured, reasons.pop() if len(reasons) == 1 else "", full))
        if lines:
            if verdict == "undecided":
                paragraphs.append(_left_open(study, size, lines))
            else:
                paragraphs.append(Paragraph(verdict, study.words.of("letter", verdict), lines))
    return paragraphs


def _left_open(study: Study, size: Size, lines: list[Line]) -> Paragraph:
    """The open claims with the experiment that would decide them; the most common growth is stated only once."""
    words = study.words
    if size == "full":
        return Paragraph("undecided", words.of("letter", "undecided"), lines, words.say("page.more_replications"))
    ((most, times),) = Counter(line.full for line in lines).most_common(1)
    shared = most if times > 1 else ""
    note = words.say("page.full_size", command=f"vazao run {study.name} --full")
    if shared:
        note = f"{note} {words.say('page.else_in_full', changes=shared)}"
    open_lines = [
        replace(line, full=words.say("page.in_full", changes=line.full) if line.full not in {"", shared} else "")
        for line in lines
    ]
    return Paragraph("undecided", words.of("letter", "undecided"), open_lines, note)


def left_to_the_ledger(study: Study, findings: Sequence[Ruling]) -> list[Ruling]:
    """The rulings on the original's claims in its own setting that the letter omits."""
    return [one for one in _own(study, findings) if study.letter and one.id not in study.letter]


def _own(study: Study, findings: Sequence[Ruling]) -> Iterator[Ruling]:
    """Rulings on the original's claims at the levels where it made them."""
    beyond = study.beyond
    for ruling in findings:
        own = study.claimed_at.get(ruling.per or "", [])
        if ruling.id not in beyond and (not own or ruling.level in [str(label) for label in own]):
            yield ruling


def _why(study: Study, ruling: Ruling) -> str:
    """The first sentence of a verdict's explanation; for an open claim, the sentence on what keeps it open."""
    sentences = SENTENCE.split(ruling.explanation.strip())
    match ruling.verdict:
        case "reproduced":
            return ""
        case "undecided":
            explained = any(one.if_undecided for one in study.findings if one.id == ruling.id)
            return sentences[-1] if explained else ""
        case _:
            return sentences[0]


def _growth(study: Study, name: str, growing: Mapping[str, _Growth]) -> str:
    """The growth of the parts that decide a finding, in words."""
    parts = [part for one in study.findings if one.id == name for part in study.named_parts(one.sql or "")]
    return _growth_text([growing[part] for part in parts if part in growing], study.words)


@dataclass(frozen=True)
class _Growth:
    """Growth of a part from the quick size to the full one."""

    replications: tuple[int, int]
    """Replications in the quick size and in the full one."""
    factors: list[str]
    """Titles of the factors that have more levels in the full size."""

    @classmethod
    def of(cls, part: Part) -> _Growth:
        quick, full = labels_run(part, "quick"), labels_run(part, "full")
        more = [one.title or one.name for one in part.factors if len(full[one.name]) > len(quick[one.name])]
        return cls((part.replications.quick, part.replications.full), more)


def _growth_text(parts: Sequence[_Growth], words: Words) -> str:
    """The growth of parts in words, empty where there is none."""
    grown = [part.replications for part in parts if part.replications[1] > part.replications[0]]
    changes = []
    if grown:
        now, more = (_span(counts) for counts in zip(*grown, strict=True))
        changes.append(words.say("page.more_replicated", now=now, more=more))
    if factors := dict.fromkeys(words.label(one) for part in parts for one in part.factors):
        changes.append(words.say("page.more_levels", factors=", ".join(factors)))
    return "; ".join(changes)


def _span(counts: Sequence[int]) -> str:
    """The least and the greatest of some counts."""
    least, most = min(counts), max(counts)
    return str(least) if least == most else f"{least}–{most}"
