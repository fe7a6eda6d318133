"""Translations of a study: a file of texts next to the study's file, checked against it."""

from __future__ import annotations

import string
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from vazao.errors import StudyError, did_you_mean
from vazao.study.model import Finding, Part, Study, Table
from vazao.study.named import built_in_studies
from vazao.study.source import Key, Source, read_text
from vazao.words import LANGUAGES, Words, checked

S = TypeVar("S", bound=Study)
T = TypeVar("T", bound=Table)

Say = Callable[[Key, str], str]
"""Translates a text, given its place, such as `("finding", "fair", "claim")`, and the study's own version."""

WORDS = "words"
"""Table of recurring texts: a text, a level's label or words of a query, each with its translation."""

_FINDING = (
    *("claim", "reported", "criterion", "measured", "explanation"),
    *("if_reproduced", "if_differs", "if_undecided", "not_testable"),
)
_FIGURE = ("title", "caption", "x_title", "y_title", "color_title", "facet_title")


def in_language(study: S, lang: str | None = None) -> S:
    """Study translated into a language, by default the one it asks for; untranslated texts stay as they are.

    Raises `StudyError` for an unknown language, and for a translation file that does not fit the study.
    """
    lang = checked(lang or study.lang)
    source = _source(study.original, lang)
    return study.with_texts(Words(lang)) if source is None else _translated(study, source, lang)


def sources(study: Study) -> dict[str, Source]:
    """Translation files next to a study, or of the built-in study that it is, by language."""
    found = ((lang, _source(study.original, lang)) for lang in LANGUAGES)
    return {lang: source for lang, source in found if source is not None}


def texts(study: Study) -> dict[Key, str]:
    """Every translatable text of a study, by its place."""
    found: dict[Key, str] = {}

    def note(at: Key, text: str) -> str:
        found[at] = text
        return text

    _mapped(study, note)
    return found


def untranslated(study: Study, lang: str) -> list[Key]:
    """Places of a study's texts that its translation into a language lacks."""
    source = _source(study.original, lang)
    flat = {} if source is None else dict(_flat(source.document))
    return [at for at, text in texts(study.original).items() if at not in flat and (WORDS, text) not in flat]


def _source(study: Study, lang: str) -> Source | None:
    beside = Path(study.file).with_suffix(f".{lang}.toml")
    if beside.is_file():
        return Source(str(beside), read_text(beside))
    home = built_in_studies().get(study.name)
    if home is None or not (texts := home.with_suffix(f".{lang}.toml")).is_file() or read_text(home) != study.text:
        return None
    return Source(str(texts), read_text(texts))


def _translated(study: S, source: Source, lang: str) -> S:
    flat, expected = dict(_flat(source.document)), texts(study.original)
    problems = [problem for at, text in flat.items() if (problem := _problem(at, text, expected, source))]
    if problems:
        raise StudyError("\n".join(problems))
    words = {str(at[1]): text for at, text in flat.items() if at[0] == WORDS}
    for part in study.parts:
        for factor in part.factors:
            labels = {words.get(str(label), str(label)) for label in factor.labels}
            if len(labels) < len(factor.labels):
                raise StudyError(f"{source.file}: {WORDS}: two levels of {factor.name!r} would read alike")

    def say(at: Key, text: str) -> str:
        return flat.get(at) or words.get(text) or text

    fields = _mapped(study.original, say)
    return study.with_texts(Words(lang, words), fields, source.text)


def _flat(value: Any, at: Key = ()) -> Iterator[tuple[Key, Any]]:
    """Every value that is not a table or list, by its place; items of lists by their index."""
    if isinstance(value, dict | list):
        for key, inside in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _flat(inside, (*at, key))
    else:
        yield at, value


def _problem(at: Key, text: Any, expected: dict[Key, str], source: Source) -> str:
    """Problem of a translated text; empty if there is none."""
    if not isinstance(text, str):
        return str(source.error(at, "is no text"))
    if at[0] == WORDS and len(at) == 2:
        return ""
    if at not in expected:
        known = (".".join(map(str, one)) for one in expected if one[0] == at[0])
        hint = did_you_mean(".".join(map(str, at)), known)
        return str(source.error(at, f"the study has no such text{hint if 'mean' in hint else ''}"))
    if at[0] == "finding" and (here := gaps(text)) != (there := gaps(expected[at])):
        missing, more = ("".join(sorted(one)) for one in (there - here, here - there))
        differences = " and ".join(filter(None, [missing and f"lacks {missing}", more and f"has {more} more"]))
        return str(source.error(at, f"{differences}; its gaps must be those of the study's text"))
    return ""


def gaps(text: str) -> set[str]:
    """Placeholders of a finding's text with their formats: `{used:.1%}`. The error if they cannot be parsed."""
    try:
        fields = [(name, spec) for _, name, spec, _ in string.Formatter().parse(text) if name is not None]
    except ValueError as error:
        return {str(error)}
    return {f"{{{name}{':' if spec else ''}{spec}}}" for name, spec in fields}


# Mapping of each text


def _mapped(study: Study, say: Say) -> dict[str, Any]:
    """Fields of a study that hold texts, each text mapped by `say`."""
    return {
        **{key: text for key in ("title", "question", "about") if (text := _one(study, key, ("study",), say))},
        "parts": [_part(part, say) for part in study.parts],
        "tables": [_texts(one, ("title", "caption"), ("table", one.id), say) for one in study.tables],
        "figures": [_texts(one, _FIGURE, ("figure", one.id), say) for one in study.figures],
        "findings": [_finding(one, say) for one in study.findings],
        "measurements": [
            _texts(one, ("title", "source"), ("measurements", one.name), say) for one in study.measurements
        ],
    }


def _one(holder: Any, key: str, at: Key, say: Say) -> str:
    text = getattr(holder, key)
    return say((*at, key), text) if text else ""


def _texts(one: T, keys: tuple[str, ...], at: Key, say: Say) -> T:
    return one.model_copy(update={key: text for key in keys if (text := _one(one, key, at, say))})


def _part(part: Part, say: Say) -> Part:
    at: Key = ("part", part.name)
    factors = [
        factor.model_copy(update={"title": say((*at, "factor", factor.name), factor.title or factor.name)})
        for factor in part.factors
    ]
    return _texts(part, ("title", "question"), at, say).model_copy(update={"factors": factors})


def _finding(finding: Finding, say: Say) -> Finding:
    at: Key = ("finding", finding.id)
    several = len(finding.earlier) > 1
    update: dict[str, Any] = {
        "earlier": [
            _texts(one, ("criterion", "because"), (*at, "earlier", *([n] if several else [])), say)
            for n, one in enumerate(finding.earlier)
        ],
        "numbers": [_texts(one, ("of",), (*at, "numbers", n), say) for n, one in enumerate(finding.numbers)],
    }
    if finding.answer:
        update["answer"] = _texts(finding.answer, ("reproduced", "differs", "undecided"), (*at, "answer"), say)
    return _texts(finding, _FINDING, at, say).model_copy(update=update)
