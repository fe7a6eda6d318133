"""The letter: one page on an original's claims in its own setting: which hold, which do not and why, which are open."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, takewhile
from typing import get_args

from vazao.study import Part, Ruling, Size, Study, Verdict, labels_run
from vazao.words import Words

SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-ZÀ-Ý`*])")
"""Boundary between two sentences."""

FEW = 3
"""Number of levels that are listed by name; more are counted."""


@dataclass(frozen=True)
class Line:
    """A claim with its results as the letter presents them, one for each level with the paragraph's verdict."""

    id: str
    claim: str
    measured: list[tuple[str, str]]
    """Pairs of a level, empty where the claim has only one, and the measurement there."""
    basis: str
    """Basis of the measurements (exact, or a number of runs), empty where it is that of most in the letter."""
    why: str
    """First sentence of the explanation; for an open claim, the sentence on what keeps it open."""
    criterion: str = ""
    """For an open claim, a sentence with what its criterion asks for."""
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
    """Basis of most measurements; empty where nothing was measured."""
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
            reasons = {_why(study, ruling) for ruling in rulings}
            measured = [(one.level or "" if levels[name] > 1 else "", one.measured) for one in rulings if one.measured]
            basis = bases[name] if measured and bases[name] != shared else ""
            lines.append(Line(name, rulings[0].claim, measured, basis, reasons.pop() if len(reasons) == 1 else ""))
        if lines:
            note, lines = _left_open(study, size, lines) if verdict == "undecided" else ("", lines)
            paragraphs.append(Paragraph(verdict, study.words.of("letter", verdict), lines, note))
    return Letter(shared, paragraphs)


def _basis(study: Study, name: str, size: Size) -> str:
    """Basis of a finding's measurements: runs in which nothing is random, or a number of runs of each cell."""
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
    asked = {one.id: _asked(one.criterion, words) for one in study.findings}
    lines = [replace(line, criterion=asked.get(line.id, "")) for line in lines]
    if size == "full":
        return words.say("page.more_replications"), lines
    growth = {line.id: _growth(_parts(study, line.id), words) for line in lines}
    most = _most_common(growth.values())
    shared = most if list(growth.values()).count(most) > 1 else ""
    note = words.say("page.full_size", command=f"vazao run {study.name} --full")
    if shared:
        note = f"{note} {words.say('page.else_in_full', changes=shared)}"
    own = {name: words.say("page.in_full", changes=more) for name, more in growth.items() if more not in {"", shared}}
    return note, [replace(line, full=own.get(line.id, "")) for line in lines]


def _asked(criterion: str, words: Words) -> str:
    """Sentence with what a criterion asks for: its first one, up to what it takes to contradict it."""
    clauses = SENTENCE.split(criterion)[0].rstrip(".").split("; ")
    text = "; ".join(takewhile(lambda clause: words.say("page.contradicts") not in clause, clauses))
    return words.say("page.criterion_asks", criterion=text) if text else ""


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


def _growth(parts: Sequence[Part], words: Words) -> str:
    """Additions of the full size of parts to the quick one, in words; empty if there are none.

    Levels that are many are counted, and told only where there is nothing else to tell.
    """
    grown = [part.replications for part in parts if part.replications.full > part.replications.quick]
    changes, counted = [], []
    if grown:
        span = {"now": _span([one.quick for one in grown]), "more": _span([one.full for one in grown])}
        changes.append(words.say("page.more_replicated", **span))
    for factor, (now, new) in _new_levels(parts).items():
        name = _within_sentence(words.label(factor))
        if len(new) <= FEW:
            levels = ", ".join(words.label(label) for label in new)
            changes.append(words.say("page.new_levels", factor=name, levels=levels))
        else:
            counted.append(words.say("page.more_levels", factor=name, now=now, more=now + len(new)))
    return "; ".join(changes or counted)


def _new_levels(parts: Sequence[Part]) -> dict[str, tuple[int, list[str]]]:
    """By factor title: the number of quick levels, and those only in the full size; of several parts, the most."""
    found: dict[str, tuple[int, list[str]]] = {}
    for part in parts:
        quick, full = labels_run(part, "quick"), labels_run(part, "full")
        for one in part.factors:
            new = [str(label) for label in full[one.name] if label not in quick[one.name]]
            title = one.title or one.name
            if new and len(new) > len(found.get(title, (0, []))[1]):
                found[title] = len(quick[one.name]), new
    return found


def _within_sentence(label: str) -> str:
    """A label as it stands within a sentence: its first letter is small unless an abbreviation begins with it."""
    return label[:1].lower() + label[1:] if label[1:2].islower() else label


def _span(counts: Sequence[int]) -> str:
    """The least and the greatest of some counts."""
    least, most = min(counts), max(counts)
    return str(least) if least == most else f"{least}–{most}"
