"""Report languages: every text is translated, translations fit their study, and results are independent of language."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from string import Formatter
from typing import Any

import pytest

import synthetic
from command import caller
from portuguese import english_in
from vazao import figures, kernel, ns2, report
from vazao.errors import StudyError
from vazao.results import Study, campaign, load_study, open_campaign
from vazao.study import built_in_studies, parse_as, translation
from vazao.words import ENGLISH, LANGUAGES, Words
from vazao.words.language import table

pytestmark = pytest.mark.study

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "python/vazao"
WHOLE = ("number", "unit", "script", "again")
"""Sections of the table that the program reads as a whole."""

TRANSLATED = [
    (name, lang)
    for name, path in built_in_studies().items()
    for lang in LANGUAGES
    if path.with_suffix(f".{lang}.toml").exists()
]


def keys(lang: str) -> dict[str, str]:
    """Every sentence of a language, by dotted key."""
    found = {}
    for section, entries in table(lang).items():
        if section == "agreement":  # Rules of a language's own grammar.
            continue
        for name, value in entries.items():
            forms = value.items() if isinstance(value, dict) else [("", value)]
            found |= {f"{section}.{name}{form and f'.{form}'}": text for form, text in forms}
    return found


def gaps(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name}


@pytest.mark.parametrize("lang", LANGUAGES[1:])
def test_each_language_has_every_sentence_with_its_gaps(lang: str) -> None:
    english, other = keys("en"), keys(lang)
    assert other.keys() == english.keys()
    assert [key for key, text in other.items() if gaps(text) != gaps(english[key])] == []


def test_every_sentence_is_used() -> None:
    sources = [path for kind in ("*.py", "*.j2", "*.js") for path in PACKAGE.rglob(kind)]
    text = "\n".join(path.read_text() for path in sources)
    called = {match[1] for match in re.finditer(r"[\"']([a-z_]+\.[a-z_]+)[\"']", text)}
    called |= {f"network.{side}" for side in ("queue", "loss")}
    sections = set(re.findall(r"\bof\([\"']([a-z]+)[\"']", text)) | set(WHOLE)
    named = {key.removesuffix(".one").removesuffix(".other") for key in keys("en")}
    assert {key for key in named if key not in called and key.partition(".")[0] not in sections} == set()
    assert [name for name in table("en")["script"] if f"words.{name}" not in text] == []
    page = "\n".join(path.read_text() for path in (ROOT / "web/src/again").glob("*.ts") if path.name != "words.ts")
    assert [name for name in table("en")["again"] if not re.search(rf"words\.{name}\b|\"{name}\"", page)] == []


def test_reasons_of_the_program_are_told_in_the_reports_language(monkeypatch: pytest.MonkeyPatch) -> None:
    portuguese = Words("pt")
    monkeypatch.setenv("VAZAO_KERNEL", "/none")
    assert portuguese.reason(kernel.missing()).startswith("VAZAO_KERNEL=/none: esse arquivo não existe")
    assert portuguese.reason(ns2.missing()).startswith("o ns-2 não está instalado (nenhum comando 'ns'")
    for key, template in table("en")["reason"].items():
        gaps = {name: f"<{name}>" for name in re.findall(r"\{(\w+)\}", template)}
        text = ENGLISH.say(f"reason.{key}", **gaps)
        assert ENGLISH.reason(text) == text
        assert portuguese.reason(text) == portuguese.say(f"reason.{key}", **gaps) != text
    assert portuguese.reason("of another kind") == "of another kind"
    # Long texts from untrusted results are not searched.
    long = ": was selected as kernel x and is gone; `vazao kernel use y` forgets " * 9000
    assert portuguese.reason(long) == long


@pytest.mark.parametrize(
    ("english", "portuguese"),
    [
        ("98.2 %", "98,2 %"), ("1,024 runs, 0.5 of them", "1.024 runs, 0,5 of them"), ("-1.5", "-1,5"),
        ("1,234,567.8", "1.234.567,8"), ("Linux 6.1.2", "Linux 6.1.2"), ("ns-2.35", "ns-2.35"),
        ("HTTP/1.1", "HTTP/1.1"), ("1, 2, 3", "1, 2, 3"), ("70 s.", "70 s."),
        ("DTLS 1.3: 1.3 s", "DTLS 1.3: 1,3 s"), ("from 1.5 to 2.", "from 1,5 to 2."),
    ],
)  # fmt: skip
def test_numbers_are_written_the_languages_way(english: str, portuguese: str) -> None:
    assert Words("pt").number(english) == portuguese
    assert Words("en").number(english) == english


def test_a_querys_words_are_replaced_where_they_stand_whole() -> None:
    words = Words("pt", {"at": "a", "none": "nenhuma", "TLS 1.3": "TLS 1.3", "not at all": "de modo algum"})
    assert words.phrase("12.5 % at 10 Mbit/s; that") == "12,5 % a 10 Mbit/s; that"
    assert words.phrase("TLS 1.3 takes 1.3 s, not at all") == "TLS 1.3 takes 1,3 s, de modo algum"
    assert words.label("none") == "nenhuma"
    assert words.many("page.runs", 1200) == "1.200 execuções"
    assert words.quantity("200 packets") == "200 pacotes"


# The built-in studies


@pytest.mark.parametrize(("name", "lang"), TRANSLATED)
def test_every_text_of_a_translated_study_has_its_translation(name: str, lang: str) -> None:
    study = load_study(name)
    missing = [".".join(map(str, at)) for at in translation.untranslated(study, lang) if says_something(study, at)]
    assert missing == [], f"{name}.{lang}.toml lacks these"


@pytest.mark.parametrize(("name", "lang"), TRANSLATED)
def test_a_translation_fits_its_study(name: str, lang: str) -> None:
    translated = load_study(name, lang=lang)  # raises if a text is stale or has different gaps
    every = {*translation.texts(translated.original).values(), *names(translated), *("\n".join(queries(translated)),)}
    idle = [word for word in translated.words.own if not any(stands(word, text) for text in every)]
    assert idle == [], f"[words] of {name}.{lang}.toml that the study has no use for"


@pytest.mark.parametrize(("name", "lang"), TRANSLATED)
def test_what_queries_write_has_its_words(name: str, lang: str) -> None:
    translated = load_study(name, lang=lang)
    labels = {label for text in names(translated) for label in (text, *re.findall(r"[\w-]+", text))}
    unsaid = {}
    for literal in {text for sql in queries(translated) for text in re.findall(r"'((?:[^']|'')*)'", sql)}:
        if " " in literal and literal not in translated.words.own and "\n" not in literal:
            left = translated.words._known.sub(" ", re.sub(r"%[-+.\d]*[dfgs]", " ", literal.replace("''", "'")))
            if found := [
                word for word in re.findall(r"(?<![\w-])[a-z][a-z-]+\b(?!/)", left) if word not in labels | UNITS
            ]:
                unsaid[literal] = found
    assert unsaid == {}, f"[words] of {name}.{lang}.toml lacks what its queries write"


UNITS = {"s", "ms", "bit", "kbit", "kB", "x"}


def says_something(study: Study, at: tuple[str | int, ...]) -> bool:
    """Whether a text contains words, beside gaps, numbers and units."""
    text = re.sub(r"\{[^}]*\}", " ", translation.texts(study)[at])
    return bool(set(re.findall(r"[^\W\d_]+(?:/s)?", text)) - {"s", "ms", "kB", "MB", "Mbit/s", "Gbit/s"})


def names(study: Study) -> Iterator[str]:
    """Names that a study displays: factors, levels, columns."""
    for part in study.parts:
        for factor in part.factors:
            yield from (factor.name, *map(str, factor.labels))
    for figure in study.figures:
        yield from (column for column in (figure.x, figure.y, figure.color, figure.facet, figure.y_unit) if column)


def queries(study: Study) -> list[str]:
    return [one.sql for one in (*study.views, *study.tables, *study.figures, *study.findings) if one.sql]


def stands(word: str, text: str) -> bool:
    return bool(re.search(rf"(?<![\w-]){re.escape(word.replace(' ', '_'))}(?![\w-])|{re.escape(word)}", text))


# User-defined studies

TEXTS = """
[words]
variant = "variante"
cubic = "cúbico"
utilisation = "utilização"

[study]
title = "Um brinquedo"

[figure.utilisation]
title = "Utilização do gargalo"

[finding.busy]
claim = "O enlace nunca fica ocioso"
measured = "em média {mean:.2f}"
"""


@pytest.fixture
def mine(toy: Study, tmp_path: Path) -> Study:
    """The toy study in a file, with a Portuguese translation beside it."""
    (tmp_path / "toy.toml").write_text(toy.text)
    (tmp_path / "toy.pt.toml").write_text(TEXTS)
    return parse_as(Study, toy.text, str(tmp_path / "toy.toml"))


def test_a_study_is_reported_in_the_requested_language(mine: Study, tmp_path: Path) -> None:
    done = load_study(mine.file, lang="pt").run(out=tmp_path / "r")
    busy = [one for one in done.findings if one.id == "busy"]
    assert {one.claim for one in busy} == {"O enlace nunca fica ocioso"}
    assert all(re.fullmatch(r"em média \d,\d\d", one.measured) for one in busy)
    assert [one.claim for one in done.findings if one.id == "moon"] == ["It works on the moon"]
    page = report.html(done.study, done.store, done.findings)
    assert '<html lang="pt-BR">' in page
    for text in (
        "Um brinquedo",
        "Utilização do gargalo",
        "reproduzida",
        "cúbico",
        "O registro",
        "20 pacotes",
        "variante",
    ):
        assert text in page, text
    spec: Any = done.figure("utilisation").to_dict()
    assert spec["config"]["locale"]["number"]["decimal"] == ","


def test_results_do_not_depend_on_the_language(mine: Study, tmp_path: Path) -> None:
    plain = mine.run(out=tmp_path / "en")
    translated = translation.in_language(mine, "pt").run(out=tmp_path / "pt")
    assert [one.verdict for one in translated.findings] == [one.verdict for one in plain.findings]
    for name in ("findings.json", "manifest.json", "study.toml", "study.pt.toml"):
        assert (tmp_path / "en" / name).read_bytes() == (tmp_path / "pt" / name).read_bytes()
    assert campaign.run_study(translated.study, out=tmp_path / "en").started == 0
    assert open_campaign(tmp_path / "en", lang="pt").findings == translated.findings
    assert open_campaign(tmp_path / "pt").findings == plain.findings


def test_a_study_has_a_language_of_its_own(mine: Study, tmp_path: Path) -> None:
    text = mine.text.replace('name = "toy"\n', 'name = "toy"\nlang = "pt"\n', 1)
    Path(mine.file).write_text(text)
    assert load_study(mine.file).title == "Um brinquedo"
    assert load_study(mine.file, lang="en").title == "A toy"
    with pytest.raises(StudyError, match=r"study.lang: 'fr' is no language of reports; choose en or pt"):
        parse_as(Study, text.replace('"pt"', '"fr"'), mine.file)
    with pytest.raises(StudyError, match="'fr' is no language of reports; choose en or pt"):
        load_study(mine.file, lang="fr")


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (
            '[finding.bussy]\nclaim = "x"\n',
            r"toy.pt.toml:2: finding.bussy.claim: the study has no such text; did you mean",
        ),
        ('[finding.busy]\nmeasured = "{men:.2f}"\n', r"lacks \{mean:.2f\} and has \{men:.2f\} more"),
        ('[finding.busy]\nmeasured = "{mean:.1f}"\n', r"lacks \{mean:.2f\} and has \{mean:.1f\} more"),
        ("[study]\ntitle = 3\n", r"study.title: is no text"),
        ('[words]\nreno = "cubic"\n', r"two levels of 'variant' would read alike"),
        ("[study\n", r"toy.pt.toml:1: "),
    ],
)
def test_texts_that_do_not_fit_are_refused(mine: Study, tmp_path: Path, texts: str, message: str) -> None:
    (tmp_path / "toy.pt.toml").write_text(texts)
    with pytest.raises(StudyError, match=message):
        load_study(mine.file, lang="pt")


def test_the_command_speaks_it(
    mine: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    vazao = caller(monkeypatch, capsys)
    assert "reproduzida" in vazao("run", mine.file, "--out", "r", "--lang", "pt").out
    assert '<html lang="pt-BR">' in Path("r/report.html").read_text()
    assert vazao("report", "r").code == 0
    assert '<html lang="en">' in Path("r/report.html").read_text()
    assert "O enlace nunca fica ocioso" in vazao("show", "r", "--lang", "pt").out
    wrong = vazao("report", "r", "--lang", "fr")
    assert (wrong.code, "choose en or pt" in wrong.err) == (2, True)
    assert "--lang, --fail-on and --junit out" in vazao("run", "interop-loss", "--lang", "pt").err


def test_a_command_says_nothing_in_english(
    mine: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("vazao.cli.progress.PLAIN_SECONDS", 0.0)
    vazao = caller(monkeypatch, capsys)
    ran = vazao("run", mine.file, "--out", "r", "--lang", "pt")
    assert re.search(r"^\d+ de \d+ execuções a fazer$", ran.err, re.MULTILINE)
    assert re.search(r"^\d+/\d+ execuções, .* execuções/s, faltam ", ran.err, re.MULTILINE)
    assert re.search(r"^\d+ execuções em r \(\d+ simuladas agora\); relatório: r/report.html$", ran.out, re.MULTILINE)
    Path(mine.file).write_text(mine.text.replace("seed = 5", "seed = 6"))
    again = vazao("run", mine.file, "--out", "r", "--lang", "pt")
    assert "execuções armazenadas que o estudo já não tem" in again.err
    shown = vazao("show", "r", "--lang", "pt")
    assert "utilização" in shown.out
    # The toy's own texts are English, except for three.
    own = re.compile("|".join(map(re.escape, translation.texts(mine).values())))
    for printed in (ran.err, again.err, own.sub("", shown.out)):
        assert english_in(printed) == []


def test_what_cannot_be_run_is_told_in_the_language(
    stacks: Study, tmp_path: Path, no_kernel: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "stacks.toml").write_text(stacks.text)
    monkeypatch.chdir(tmp_path)
    answer = caller(monkeypatch, capsys)("run", "stacks.toml", "--out", "r", "--lang", "pt")
    assert re.search("execuções? planejadas? não fo(i|ram) feitas?: ", answer.err)
    assert english_in(answer.err) == []


def test_figures_are_described_in_no_other_language(tmp_path: Path) -> None:
    study, store = synthetic.study(), synthetic.store(tmp_path)
    for lang, described in (("en", True), ("pt", False)):
        translated = study.with_texts(Words(lang))
        figure = next(one for one in translated.figures if one.facet == "setting")
        assert ("titled '" in figures.drawing(translated, store, figure).svg()) is described


def test_a_drawing_has_the_languages_numbers(tmp_path: Path) -> None:
    study, store = synthetic.study(), synthetic.store(tmp_path)
    translated = study.with_texts(Words("pt", {"historic": "histórico"}))
    figure = next(one for one in translated.figures if one.facet == "setting")
    svg = figures.drawing(translated, store, figure).svg()
    assert "histórico" in svg
    assert not re.search(r">\d+\.\d", svg)
