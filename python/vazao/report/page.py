"""Content of the page as plain template values: verdicts, parts, figures beside claims, commands."""

from __future__ import annotations

import json
import re
import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass
from typing import Any

import polars as pl
from markdown_it import MarkdownIt
from markupsafe import Markup, escape

from vazao.errors import ScenarioError
from vazao.figures import PAGE, Drawing, Face, drawer, shape_of
from vazao.measurements import Measured
from vazao.report import network
from vazao.report.letter import left_to_the_ledger, letter
from vazao.report.shell import joined, quoted
from vazao.scenario import load
from vazao.store import Store
from vazao.study import (
    Factor,
    Figure,
    Part,
    Ruling,
    Size,
    Study,
    Summary,
    built_in_studies,
    counted,
    not_run_message,
    reasons,
    registration,
)
from vazao.units import displayed_columns, heading
from vazao.words import ENGLISH, Words

CSS = {"reproduced": "reproduced", "differs": "differs", "undecided": "undecided", "not testable": "open"}
"""Verdict to CSS class, in the order in which they are counted."""

# Images in an untrusted study would be fetched from any address that it names.
_MARKDOWN = MarkdownIt("commonmark", {"html": False, "typographer": True}).disable("image")


def markdown(text: str) -> Markup:
    """Paragraphs of Markdown as HTML; HTML inside them is escaped."""
    return Markup(_MARKDOWN.render(text))


def inline(text: str) -> Markup:
    """A line of Markdown as HTML."""
    return Markup(_MARKDOWN.renderInline(text))


@dataclass(frozen=True)
class Claim:
    """A claim with its verdicts, one per level or one overall; shown in full only where `anchor` is set."""

    id: str
    claim: str
    reported: str
    results: list[Ruling]
    anchor: bool = True

    @property
    def whole(self) -> Ruling | None:
        """The overall verdict of a claim that is not decided level by level."""
        return next((result for result in self.results if result.level is None), None)

    @property
    def by_level(self) -> Mapping[str, Ruling | None]:
        """The verdict at each level."""
        return {result.level: result for result in self.results if result.level is not None}

    @property
    def shared(self) -> str:
        """The explanation that several levels share; empty if they differ."""
        texts = {result.explanation for result in self.results}
        return texts.pop() if len(self.results) > 1 and len(texts) == 1 else ""

    @property
    def tone(self) -> str:
        """CSS class of the claim's only verdict, or `mixed`; decided verdicts take precedence over others."""
        verdicts = {CSS[result.verdict] for result in self.results}
        decided = verdicts - {"open", "undecided"} or verdicts - {"open"} or verdicts
        return decided.pop() if len(decided) == 1 else "mixed"


def context(
    study: Study, store: Store, findings: Sequence[Ruling], measurements: Sequence[Measured] = ()
) -> dict[str, Any]:
    """The template's variables, except for the page's style and scripts."""
    ledger, not_run, words = claims(findings), store.not_run, study.words
    draw = drawer(study, store, measurements)
    levels = columns(ledger.values())
    shown: set[str] = set()
    sections = [
        {
            "title": title,
            "question": question,
            "figures": [_figure(draw(one), study, not_run, ledger, shown) for one in figures],
        }
        for title, question, figures in _sections(study)
    ]
    loose = [one for one in ledger.values() if one.id not in shown]
    size: Size = store.manifest["size"]
    to_author = letter(study, findings, size)
    answers = answer(findings)
    headline = next((one for one in study.figures if one.id == study.headline), None)
    return {
        "study": study, "about": markdown(study.about), "css": CSS, "findings": findings, "levels": levels,
        "columns": set(levels), "by_level": any(result.level is not None for result in findings),
        "answers": answers, "headline": headline and _headline(draw(headline)),
        "measurements": [measured_set(one, findings, words) for one in measurements],
        "theirs": theirs(measurements),
        "letter": to_author.paragraphs, "letter_note": letter_note(study, store, to_author.basis),
        "letter_rest": letter_rest(study, findings, size),
        "asked_beyond": asked_beyond(study, findings),
        "tables": [_table(one, store, words) for one in study.tables],
        "ledger": apart(study, ledger.values()), "tally": tally(findings, levels, words),
        "sections": sections, "loose": loose, "fixed": fixed(study),
        "networks": networks(study), "parts": [_part(study, part, size, store, not_run) for part in study.parts],
        "versions": store.manifest["versions"], "hash": study.hash, "facts": facts(study, store),
        "commands": commands(study, store), "questions": questions(study),
        "contents": _contents(
            study, answer=answers, summary=ledger, tables=study.tables, results=sections, letter=to_author.paragraphs,
            ledger=ledger, measurements=measurements,
        ),
        "not_run": not_run_message(reasons(not_run), words), "script": _json(words.script),
    }  # fmt: skip


def fixed(study: Study) -> dict[str, str]:
    """Sentence per registered finding on when its criterion was fixed and what has changed since."""
    sentences = {}
    for finding in study.findings:
        if one := registration.registered(study.name)["finding"].get(finding.id):
            sentences[finding.id] = _history(study, "finding", finding.id, one)
    return sentences


def _history(study: Study, kind: str, name: str, one: registration.Registration) -> str:
    """Sentence on the commit that added a criterion or a part, and on each that changed it since."""
    words = study.words
    first, *later = one.changes
    written = words.say("page.written", date=first.date, commit=first.commit)
    changes = (f"{change.date} ({change.commit}: {', '.join(_changed(change, words))})" for change in later)
    history = words.say("page.changed", written=written, changes="; ".join(changes)) if later else f"{written}."
    return history if registration.stands(study, kind, name) else f"{history} {words.say('page.unregistered')}"


def _changed(change: registration.Change, words: Words) -> list[str]:
    return [
        " ".join([words.of("registered", name), *more]) for name, *more in (one.split(" ", 1) for one in change.what)
    ]


CONTENTS = ("answer", "letter", "summary", "tables", "results", "measurements", "setting", "ledger", "reproduce")
"""Anchors of the sections."""

UNCLAIMED = ("tables", "results", "measurements", "setting", "reproduce")
"""Anchors of the sections of a study without claims, such as a sweep."""


def _contents(study: Study, **optional: Sized) -> list[tuple[str, str]]:
    """Anchors and titles of the page's sections, without optional ones that would be empty.

    The letter has another title in a study that re-runs no original, where there is no author to address.
    """
    order = CONTENTS if len(optional["ledger"]) else UNCLAIMED
    called = {} if study.source else {"letter": "outcome"}
    there = [anchor for anchor in order if len(optional.get(anchor, anchor))]
    return [(anchor, study.words.of("contents", called.get(anchor, anchor))) for anchor in there]


# Claims and verdicts


def claims(findings: Iterable[Ruling]) -> dict[str, Claim]:
    """The findings by id, each claim once with all its verdicts."""
    gathered: dict[str, Claim] = {}
    for result in findings:
        one = gathered.setdefault(result.id, Claim(result.id, result.claim, result.reported, []))
        one.results.append(result)
    return gathered


def apart(study: Study, ledger: Iterable[Claim]) -> list[tuple[str, list[Claim]]]:
    """The original's claims and those beyond it, each group under its heading; a single group has no heading."""
    claimed, beyond = list(ledger), study.beyond
    own, others = ([one for one in claimed if (one.id in beyond) is asked] for asked in (False, True))
    if not own or not others:
        return [("", claimed)] if claimed else []
    return [(study.words.say("page.of_original"), own), (study.words.say("page.beyond"), others)]


def letter_note(study: Study, store: Store, basis: str) -> str:
    """Sentences above the letter: its subject, the number of runs, and how sure its numbers are."""
    words = study.words
    runs = words.many("page.runs", store.manifest["runs"])
    kind = "page.letter_note" if study.claimed_at else "page.letter_note_all"
    sure = [words.say("page.letter_half"), *([words.say("page.letter_basis", basis=basis)] if basis else [])]
    return words.say(kind, runs=runs, sure=" ".join(sure))


def letter_rest(study: Study, findings: Sequence[Ruling], size: Size) -> str:
    """Verdict counts of the original's claims that are left to the ledger, and the command for open ones."""
    words, rest = study.words, left_to_the_ledger(study, findings)
    if not rest:
        return ""
    sentence = words.say("page.letter_rest", counted=counted(rest, words))
    if size == "full" or all(one.verdict != "undecided" for one in rest):
        return sentence
    return f"{sentence} {words.say('page.full_size', command=f'vazao run {study.name} --full')}"


def asked_beyond(study: Study, findings: Iterable[Ruling]) -> str:
    """Verdict counts of the claims beyond the original, which the letter leaves to the ledger."""
    beyond = study.beyond
    rulings = [one for one in findings if one.id in beyond]
    return study.words.say("page.asked_beyond", counted=counted(rulings, study.words)) if rulings else ""


def answer(findings: Iterable[Ruling]) -> list[tuple[str, Ruling]]:
    """Sentences that answer the study's question, each with the levels where it holds; empty if it holds for all."""
    by_claim: dict[str, list[Ruling]] = {}
    for result in findings:
        if result.answer:
            by_claim.setdefault(result.id, []).append(result)
    sentences = []
    for results in by_claim.values():
        alike: dict[tuple[str, str], list[Ruling]] = {}
        for result in results:
            alike.setdefault((result.answer, result.verdict), []).append(result)
        for same in alike.values():
            sentences.append(("" if len(alike) == 1 else ", ".join(str(one.level) for one in same), same[0]))
    return sentences


def columns(ledger: Iterable[Claim]) -> list[str]:
    """Levels with a column of verdicts: the most common set, if at least a third of the claims are decided by it."""
    decided = [tuple(claim.by_level) for claim in ledger]
    most, times = Counter(filter(None, decided)).most_common(1)[0] if any(decided) else ((), 0)
    return list(most) if 3 * times >= len(decided) else []


def tally(findings: Sequence[Ruling], levels: Sequence[str], words: Words = ENGLISH) -> list[dict[str, Any]]:
    """Count the verdicts at each of `levels`, and those of claims decided as a whole or at other levels."""
    whole = [result for result in findings if result.level not in levels]
    groups = [(words.label(level), [r for r in findings if r.level == level]) for level in levels]
    if whole:
        groups.append((words.say("page.as_whole" if levels else "page.all_claims"), whole))
    return [
        {"name": name, "counts": {verdict: sum(r.verdict == verdict for r in results) for verdict in CSS}}
        for name, results in groups
    ]


# Measurements


def measured_set(one: Measured, findings: Iterable[Ruling], words: Words) -> dict[str, Any]:
    """A measurement set for the template: its source, its joined runs, and its verdicts beside those of our runs."""
    ours = {(ruling.id, ruling.level): ruling for ruling in findings}
    judged = [ruling for ruling in one.findings if ruling.verdict != "not testable"]
    untested: dict[str, dict[str, list[Ruling]]] = {}
    for ruling in one.findings:
        if ruling.verdict == "not testable":
            untested.setdefault(ruling.explanation, {}).setdefault(ruling.id, []).append(ruling)
    assumed = [
        words.say("page.assumed", factor=name, level=words.label(at)) for name, at in one.readings.assumed.items()
    ]
    runs, measures = words.many("page.runs", one.runs.height), ", ".join(one.readings.measures)
    return {
        "name": one.name, "title": one.title, "source": one.source, "untested": untested,
        "rows": [(ruling, ours.get((ruling.id, ruling.level))) for ruling in judged],
        "joined": words.say("page.joined", runs=runs, measures=measures), "assumed": "; ".join(assumed),
    }  # fmt: skip


def theirs(measurements: Iterable[Measured]) -> dict[tuple[str, str | None], list[tuple[str, Ruling]]]:
    """Verdicts of measurement sets by claim and level, each with the name of its set; untestable claims are omitted."""
    found: dict[tuple[str, str | None], list[tuple[str, Ruling]]] = {}
    for one in measurements:
        for ruling in one.findings:
            if ruling.verdict != "not testable":
                found.setdefault((ruling.id, ruling.level), []).append((one.name, ruling))
    return found


# The experiment


def networks(study: Study) -> list[dict[str, Any]]:
    """The networks of the study: those that differ only in values, or are part of a larger one, share one drawing.

    Each is drawn twice, from left to right for wide screens and upright for phones; the style sheet shows one of them.
    """
    shapes: dict[network.Shape, tuple[list[str], list[network.Graph]]] = {}
    for part in study.parts:
        for graph in _graphs(study, part):
            names, graphs = shapes.setdefault(network.shape(graph), ([], []))
            names.append(part.title or part.name)
            graphs.append(graph)
    for shape in sorted(shapes, key=len):
        if whole := next((other for other in shapes if shape < other), None):
            (names, graphs), (more_names, more_graphs) = shapes.pop(shape), shapes[whole]
            shapes[whole] = (names + more_names, graphs + more_graphs)
    words, drawn = study.words, []
    for names, graphs in shapes.values():
        title = words.say("page.network")
        several = words.say("page.network_of", names="; ".join(dict.fromkeys(names)))
        caption = f"{several if len(shapes) > 1 else title}."
        if len(graphs) > 1:
            caption += f" {words.say('page.network_varied')}"
        if len({len(graph["nodes"]) for graph in graphs}) > 1:
            caption += f" {words.say('page.network_largest')}"
        svg = Markup("").join(Markup(network.draw(graphs, title, words, upright=up)) for up in (False, True))
        drawn.append({"svg": svg, "caption": caption})
    return drawn


def _graphs(study: Study, part: Part) -> list[network.Graph]:
    """The networks that a part runs on: at the centre of its factors, and with each factor varied over its levels."""
    centre = {factor.name: factor.centre for factor in part.factors}
    choices = [centre, *(centre | {factor.name: level} for factor in part.factors for level in factor.levels)]
    graphs: list[network.Graph] = []
    for choice in choices:
        levels = [override for level in choice.values() for override in level.overrides]
        overrides = [*study.overrides, *part.scenario.items(), *levels]
        try:
            scenario = load(
                study.text, file=study.file, table="scenario", overrides=overrides, seed=study.seed, inputs=study.inputs
            )
        except ScenarioError:  # a combination that the design leaves out may be invalid
            continue
        graphs.append(scenario.graph())
    return graphs


def _part(study: Study, part: Part, size: Size, store: Store, not_run: pl.DataFrame) -> dict[str, Any]:
    words = study.words
    counts = next((entry for entry in store.manifest["parts"] if entry["name"] == part.name), None)
    size_text = ""
    if counts:
        made = words.many("page.combinations", counts["combinations"])
        if counts["replications"] > 1:
            runs = words.many("page.runs", counts["runs"])
            made = words.say("page.runs_made", combinations=made, replications=counts["replications"], runs=runs)
        size_text = f"{words.of('design', part.design)}: {made} ({words.of('size', size)})."
    if left_out := not_run.filter(part=part.name).height:
        size_text += f" {words.many('page.runs_not_run', left_out)}"
    if one := registration.registered(study.name)["part"].get(part.name):
        size_text += f" {_history(study, 'part', part.name, one)}"
    factors = [_factor(factor, size) for factor in part.factors]
    return {"title": part.title or part.name, "question": part.question, "factors": factors, "size": size_text}


def _factor(factor: Factor, size: Size) -> dict[str, Any]:
    levels = factor.at(size)
    keys = list(dict.fromkeys(key for level in levels for key, _ in level.overrides))
    several = not factor.sets and any(len(level.overrides) > 1 for level in levels)
    details = [(str(level), [(key, _toml(value)) for key, value in level.overrides]) for level in levels]
    return {
        "name": factor.title or factor.name, "levels": [str(level) for level in levels], "sets": keys,
        "left_out": len(factor.levels) - len(levels), "details": details if several else [],
    }  # fmt: skip


def _toml(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


# Tables


def _table(summary: Summary, store: Store, words: Words) -> dict[str, Any]:
    rows = store.query(summary.sql)
    columns = displayed_columns(rows.columns)
    numeric = [rows.schema[name].is_numeric() for name in columns]
    cells = [
        [words.cell(name, row[name], row[half] if half else None) for name, half in columns.items()]
        for row in rows.iter_rows(named=True)
    ]
    headings = [words.column(heading(name)) for name in columns]
    return {
        "id": summary.id, "title": summary.title, "caption": summary.caption, "sql": summary.sql.strip(),
        "columns": list(zip(headings, numeric, strict=True)), "rows": cells,
    }  # fmt: skip


# Figures


def _sections(study: Study) -> list[tuple[str, str, list[Figure]]]:
    """Figures grouped by the part whose runs they show; figures over several parts come last."""
    if len(study.parts) == 1:
        title = study.parts[0].title or study.words.say("page.figures")
        return [(title, study.parts[0].question, study.figures)] if study.figures else []
    of_part: dict[str | None, list[Figure]] = {}
    for figure in study.figures:
        of_part.setdefault(_part_of(figure, study), []).append(figure)
    sections = [
        (part.title or part.name, part.question, of_part[part.name]) for part in study.parts if part.name in of_part
    ]
    return [*sections, *([(study.words.say("page.across"), "", of_part[None])] if None in of_part else [])]


def _part_of(figure: Figure, study: Study) -> str | None:
    """The part that a figure's query names, if it is the only one."""
    named = study.named_parts(figure.sql)
    return named[0] if len(named) == 1 else None


def _figure(
    one: Drawing, study: Study, not_run: pl.DataFrame, ledger: Mapping[str, Claim], shown: set[str]
) -> dict[str, Any]:
    figure = one.figure
    beside = []
    for name in figure.finding:
        if name in ledger:
            claim = ledger[name]
            beside.append(Claim(name, claim.claim, claim.reported, claim.results, anchor=name not in shown))
            shown.add(name)
    content = {
        "id": figure.id, "title": figure.title, "caption": figure.caption, "note": _note(one, study, not_run),
        "sql": figure.sql.strip(), "claims": beside, "empty": one.rows.frame.is_empty(),
    }  # fmt: skip
    return content if content["empty"] else content | {"svg": still(one), "json": live(one)}


def _headline(one: Drawing) -> dict[str, Any] | None:
    """The figure at the top of the page, without its data, which follow where it appears again; None without rows."""
    return None if one.rows.frame.is_empty() else {"id": one.figure.id, "title": one.figure.title, "svg": still(one)}


def _note(one: Drawing, study: Study, not_run: pl.DataFrame) -> str:
    """Note on a figure: its symbols, thinned rows and missing runs."""
    lost = not_run.filter(pl.col("part").is_in(study.named_parts(one.figure.sql))).height
    runs = study.words.many("page.lost", lost) if lost else ""
    rings = study.words.say("page.rings") if one.rows.outliers.height else ""
    reported = study.words.say("page.diamonds") if one.rows.reported.height else ""
    shapes = [
        study.words.say("page.marks_of", shape=study.words.of("shape", shape_of(nth)), name=name)
        for nth, name in enumerate(one.rows.measured)
        if one.figure.kind != "heat"
    ]
    return " ".join(filter(None, [rings, reported, *shapes, one.rows.note, runs]))


def still(one: Drawing) -> Markup:
    """The figure as an SVG element in the page's colours."""
    name = escape(one.spec(Face.STILL, PAGE)["description"])
    return Markup(one.svg(PAGE).replace("<svg ", f'<svg role="img" aria-label="{name}" ', 1))


def live(one: Drawing) -> Markup:
    """JSON of the interactive figure: its Vega-Lite description, its rows by column, its legend."""
    plot = one.plot
    page = {
        "spec": one.spec(Face.PAGE, PAGE),
        "tables": {"rows": _columns(one.rows.drawn())},
        "legend": one.legend(PAGE),
        "lines": plot.figure.kind in ("line", "step", "band", "area", "ecdf"),
    }
    return _json(page)


def _json(value: Any) -> Markup:
    """A value as JSON that is safe inside a script element."""
    return Markup(json.dumps(value, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c"))


def _columns(frame: pl.DataFrame) -> dict[str, list[Any]]:
    """A table by column, numbers to six significant digits: as much as a screen can show, in a third of the bytes."""
    kept = frame.drop([c for c in ("run_id", "replication") if c in frame.columns and frame[c].n_unique() == 1])
    rounded = kept.with_columns(pl.col(pl.Float64).round_sig_figs(6))
    return {column: rounded[column].to_list() for column in rounded.columns}


# Reproduction


def facts(study: Study, store: Store) -> list[tuple[str, str]]:
    """Facts about a study's runs: size, counts, seed and versions."""
    manifest, words = store.manifest, study.words
    stored = store.query("SELECT count(DISTINCT run_id) AS runs FROM runs")["runs"][0]
    versions = manifest["versions"]
    known = ((name, sha) for name, sha in manifest.get("kernels", {}).items() if sha)
    kernels = {words.say("page.kernel", name=name): f"sha256 {sha[:16]}" for name, sha in known}
    runs, every = (words.number(f"{n:,}") for n in (stored, manifest["runs"]))
    return [
        (words.say("page.size"), words.of("size", manifest["size"])),
        (
            words.say("page.count"),
            runs if stored >= manifest["runs"] else words.say("page.stored", stored=runs, all=every),
        ),
        (words.say("page.seed"), words.say("page.seed_adds", seed=study.seed)),
        (words.say("page.engine"), versions["engine"]),
        ("Vazão", versions["vazao"]),
        ("Python", versions["python"]),
        *kernels.items(),
    ]


def commands(study: Study, store: Store) -> str:
    """The commands that reproduce this page."""
    spoken = [] if study.words.lang == study.lang else ["--lang", study.words.lang]
    if study.name not in built_in_studies():
        # Works wherever the directory is, with its own study, overrides, seed and files.
        again = ["vazao verify .", joined(["vazao", "run", ".", "--out", "../again", *spoken])]
        look = ["vazao show .", joined(["vazao", "report", ".", *spoken])]
        return "\n".join([f"# {study.words.say('page.beside')}", *again, *look])
    run = ["vazao", "run", study.name, f"--{store.manifest['size']}"]
    for key, value in study.overrides:
        run += ["--set", f"{key.removeprefix('=')}={value if isinstance(value, str) else _toml(value)}"]
    if study.overrides or study.seed != 1:
        run += ["--seed", str(study.seed)]
    folder = shlex.quote(f"results/{study.name}")
    return "\n".join([joined([*run, *spoken]), f"vazao show {folder}", " ".join(["vazao report", folder, *spoken])])


def questions(study: Study) -> str:
    """Example queries on the stored rows, ready to run."""
    folder = shlex.quote(f"results/{study.name}") if study.name in built_in_studies() else "."
    asked = ["SELECT part, count(*) AS runs, avg(utilisation) AS utilisation FROM runs GROUP BY part"]
    if study.figures:
        asked.append(re.sub(r"\s+", " ", study.figures[0].sql).strip())
    return "\n\n".join(f"vazao sql {folder} {quoted(sql)}" for sql in asked)
