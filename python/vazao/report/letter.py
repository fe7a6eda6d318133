"""The letter: one page on an original's claims in its own setting: which hold, which do not and why, which are open."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import get_args

from vazao.study import Part, Ruling, Size, Study, Verdict, labels_run

SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-ZÀ-Ý`*])")
"""Boundary between two sentences."""


@dataclass(frozen=True)
class Line:
    """A claim with its results as the letter presents them, one for each level with the paragraph's verdict."""

    id: str
    claim: str
    measured: list[tuple[str, str]]
    """Pairs of a level, empty where the claim has only one, and the measurement there."""
    basis: str
    """What the measurements rest on, empty where it is what most of the letter's rest on."""
    why: str
    """First sentence of the explanation; for an open claim, the sentence on what keeps it open."""
    full: str = ""
    """For an open claim, a sentence on what the full size has more, empty where the paragraph's note says it."""


@dataclass(frozen=True)
class Paragraph:
    """The claims that share a verdict."""

    verdict: Verdict
    title: str
    lines: list[Line]
    note: str = ""
    """The experiment that would decide the open claims."""


@dataclass(frozen=True)
class Letter:
    """The claims that one would tell an original's author."""

    basis: str
    """What most measurements rest on; empty where nothing was measured."""
    paragraphs: list[Paragraph]


def letter(study: Study, findings: Sequence[Ruling], size: Size) -> Letter:
    """The original's claims that the letter presents, at the levels of its own setting, grouped by verdict."""
    chosen = [one for one in _own(study, findings) if not study.letter or one.id in study.letter]
    bases = {one.id: _basis(study, one.id, size) for one in chosen if one.measured}
    shared = _most_common(bases.values())
    levels = Counter(ruling.id for ruling in chosen)
    paragraphs: list[Paragraph] = []
    for verdict in get_args(Verdict):
        lines = []
        for name, ruled in groupby((one for one in chosen if one.verdict == verdict), key=lambda one: one.id):
            rulings = list(ruled)
            measured = [(one.level or "" if levels[name] > 1 else "", one.measured) for one in rulings if one.measured]
            basis = bases[name] if measured and bases[name] != shared else ""
            reasons = {_why(study, ruling) for ruling in rulings}
            why = reasons.pop() if len(reasons) == 1 else ""
            lines.append(Line(name, rulings[0].claim, measured, basis, why))
        if lines:
            note, lines = _left_open(study, size, lines) if verdict == "undecided" else ("", lines)
            paragraphs.append(Paragraph(verdict, study.words.of("letter", verdict), lines, note))
    return Letter(shared, paragraphs)


def _basis(study: Study, name: str, size: Size) -> str:
    """What the measurements of a finding rest on: runs in which nothing is random, or a number of runs of each cell."""
    words, parts = study.words, _parts(study, name)
    counts = [getattr(part.replications, size) for part in parts if part.random]
    if not counts:
        return words.say("page.exact") if parts else ""
    return words.say("page.runs_of_cell", counts=_span(counts)) if max(counts) > 1 else words.say("page.one_run")


def _parts(study: Study, name: str) -> list[Part]:
    """The parts whose runs decide a finding."""
    named = {part for one in study.findings if one.id == name for part in study.named_parts(one.sql or "")}
    return [part for part in study.parts if part.name in named]


def _left_open(study: Study, size: Size, lines: list[Line]) -> tuple[str, list[Line]]:
    """Note on the experiment that would decide the open claims, and these, each with what the full size has more.

    What it has more for the largest number of them stands only in the note, if that is more than one.
    """
    words = study.words
    if size == "full":
        return words.say("page.more_replications"), lines
    growth = {line.id: growth_to_full(study, [line.id]) for line in lines}
    most = _most_common(growth.values())
    shared = most if list(growth.values()).count(most) > 1 else ""
    note = words.say("page.full_size", command=f"vazao run {study.name} --full")
    if shared:
        note = f"{note} {words.say('page.else_in_full', changes=shared)}"
    own = {name: words.say("page.in_full", changes=more) for name, more in growth.items() if more not in {"", shared}}
    return note, [replace(line, full=own.get(line.id, "")) for line in lines]


def _most_common(texts: Iterable[str]) -> str:
    """The most common of some texts, the first of equals; empty if there is none."""
    return next((text for text, _ in Counter(texts).most_common(1)), "")


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


def growth_to_full(study: Study, names: Sequence[str]) -> str:
    """What the full size has more than the quick one of the runs that decide findings, in words; empty if nothing."""
    words, parts = study.words, [part for name in names for part in _parts(study, name)]
    grown = [part.replications for part in parts if part.replications.full > part.replications.quick]
    changes = []
    if grown:
        now, more = _span([one.quick for one in grown]), _span([one.full for one in grown])
        changes.append(words.say("page.more_replicated", now=now, more=more))
    if factors := dict.fromkeys(_within_sentence(words.label(one)) for part in parts for one in _extended(part)):
        changes.append(words.say("page.more_levels", factors=", ".join(factors)))
    return "; ".join(changes)


def _extended(part: Part) -> Iterator[str]:
    """Titles of a part's factors that have more levels in the full size."""
    quick, full = labels_run(part, "quick"), labels_run(part, "full")
    for one in part.factors:
        if len(full[one.name]) > len(quick[one.name]):
            yield one.title or one.name


def _within_sentence(label: str) -> str:
    """A label as it stands within a sentence: its first letter is small unless an abbreviation begins with it."""
    return label[:1].lower() + label[1:] if label[1:2].islower() else label


def _span(counts: Sequence[int]) -> str:
    """The least and the greatest of some counts."""
    least, most = min(counts), max(counts)
    return str(least) if least == most else f"{least}–{most}"
