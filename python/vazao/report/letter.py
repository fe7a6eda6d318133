"""The letter: an original's claims in its own setting on one page: what holds, what does not and why, what is open."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import get_args

from vazao.study import Part, Ruling, Size, Study, Verdict, labels_run
from vazao.words import Words

SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-ZÀ-Ý`*])")
"""Between two sentences."""


@dataclass(frozen=True)
class Line:
    """A claim with what came out, as the letter tells it: one sentence for each level that came out so."""

    id: str
    claim: str
    measured: list[tuple[str, str]]
    """Levels, empty where a claim is told of one alone, and what was measured there."""
    why: str
    """First sentence of what explains it; of an open claim the levels that the full size adds."""


@dataclass(frozen=True)
class Paragraph:
    """The claims that came out alike."""

    verdict: Verdict
    title: str
    lines: list[Line]
    note: str = ""
    """The experiment that would decide what is open."""


def letter(study: Study, findings: Sequence[Ruling], size: Size) -> list[Paragraph]:
    """The claims of the original that the letter tells, in the levels of its own setting, by what came out."""
    told = [one for one in _own(study, findings) if not study.letter or one.id in study.letter]
    added = {part.name: list(_added(part, study.words)) for part in study.parts} if size == "quick" else {}
    times = Counter(ruling.id for ruling in told)
    made: list[Paragraph] = []
    for verdict in get_args(Verdict):
        lines = []
        for name, ruled in groupby((one for one in told if one.verdict == verdict), key=lambda one: one.id):
            rulings = list(ruled)
            measured = [(one.level or "" if times[name] > 1 else "", one.measured) for one in rulings if one.measured]
            reasons = {_why(study, ruling, added) for ruling in rulings}
            lines.append(Line(name, rulings[0].claim, measured, reasons.pop() if len(reasons) == 1 else ""))
        if lines:
            note = _deciding(study, size) if verdict == "undecided" else ""
            made.append(Paragraph(verdict, study.words.of("letter", verdict), lines, note))
    return made


def left_to_the_ledger(study: Study, findings: Sequence[Ruling]) -> list[Ruling]:
    """The rulings on the original's claims in its own setting that the letter does not tell."""
    return [one for one in _own(study, findings) if study.letter and one.id not in study.letter]


def _own(study: Study, findings: Sequence[Ruling]) -> Iterator[Ruling]:
    """Rulings on the original's claims where it made them."""
    beyond = study.beyond
    for ruling in findings:
        own = study.claimed_at.get(ruling.per or "", [])
        if ruling.id not in beyond and (not own or ruling.level in [str(label) for label in own]):
            yield ruling


def _why(study: Study, ruling: Ruling, added: Mapping[str, list[str]]) -> str:
    """The first sentence of what explains a verdict; of an open claim the levels that the full size adds."""
    if ruling.verdict == "reproduced":
        return ""
    if ruling.verdict != "undecided":
        return SENTENCE.split(ruling.explanation.strip(), maxsplit=1)[0]
    queries = [one.sql or "" for one in study.findings if one.id == ruling.id]
    parts = [part for sql in queries for part in study.named_parts(sql)]
    levels = dict.fromkeys(level for part in parts for level in added.get(part, ()))
    return study.words.say("page.also", levels=", ".join(levels)) if levels else ""


def _deciding(study: Study, size: Size) -> str:
    """The experiment that would decide what is open: the full size, or more than that."""
    if size == "full":
        return study.words.say("page.more_replications")
    return study.words.say("page.full_size", command=f"vazao run {study.name} --full")


def _added(part: Part, words: Words) -> Iterator[str]:
    """Levels that the full size has beside those of the quick one."""
    quick, full = labels_run(part, "quick"), labels_run(part, "full")
    for factor in part.factors:
        if new := [label for label in full[factor.name] if label not in quick[factor.name]]:
            yield f"{factor.title or factor.name} {', '.join(words.label(str(label)) for label in new)}"
