"""Texts of reports and terminal in one language: sentences by key, number format, a study's translated labels."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from vazao.errors import StudyError, did_you_mean
from vazao.units import cell, interval

LANGUAGES = ("en", "pt")
"""Languages of reports; each has a TOML file of that name beside this file."""

DEFAULT = "en"

MAX_LETTERS = 500
"""Maximum length of a reason that is matched with the program's own: a stranger's results may contain any text."""

_NUMBER = r"(?<![\w.,/])(?<![A-Za-z]-)(?<!TLS )\d+(?:,\d{3})*(?:\.\d+)?(?!\d|[.,]\d)"
"""A number in a text, with its separators; not a part of 6.1.2, ns-2.35, HTTP/1.1 or TLS 1.3."""


@cache
def table(lang: str) -> dict[str, dict[str, Any]]:
    """The sentences of a language by section and key; a counted one is a table of `one` and `other`."""
    return tomllib.loads((Path(__file__).parent / f"{lang}.toml").read_text(encoding="utf-8"))


@cache
def _pattern(template: str) -> re.Pattern[str]:
    """Regular expression of a template's filled-in texts; a repeated placeholder matches the same text each time."""
    first, *pieces = re.split(r"\{(\w+)\}", template)
    pattern, known = re.escape(first), set[str]()
    for gap, literal in zip(pieces[::2], pieces[1::2], strict=True):
        pattern += (f"(?P={gap})" if gap in known else f"(?P<{gap}>.+?)") + re.escape(literal)
        known.add(gap)
    return re.compile(pattern)


def checked(lang: str) -> str:
    """The language, if it is in `LANGUAGES`. Raises `StudyError`, which lists them."""
    if lang not in LANGUAGES:
        raise StudyError(f"{lang!r} is no language of reports; choose {' or '.join(LANGUAGES)}{_meant(lang)}")
    return lang


def _meant(lang: str) -> str:
    return did_you_mean(lang, LANGUAGES)


@dataclass(frozen=True)
class Words:
    """The texts of a report's language; `own` maps the recurring words of a study to their form in it."""

    lang: str = DEFAULT
    own: Mapping[str, str] = field(default_factory=dict)

    def say(self, key: str, /, **values: Any) -> str:
        """The sentence of a key, `section.name`, with its placeholders filled in."""
        section, _, name = key.partition(".")
        text: str = table(self.lang)[section][name]
        return text.format(**values) if values else text

    def of(self, section: str, name: str) -> str:
        """The text for a name that the program uses: a verdict, a size, a kind of figure."""
        text: str = table(self.lang)[section][name]
        return text

    def many(self, key: str, n: int) -> str:
        """A number with its noun: `1 run`, `1,024 runs`."""
        section, _, name = key.partition(".")
        text: str = table(self.lang)[section][name]["one" if n == 1 else "other"]
        return text.format(n=self.number(f"{n:,}"))

    def reason(self, text: str) -> str:
        """A reason for missing runs, translated from the English that the program writes, with the section `reason`."""
        if len(text) > MAX_LETTERS:
            return text
        for key, template in table(DEFAULT)["reason"].items():
            if found := _pattern(template).fullmatch(text):
                return self.say(f"reason.{key}", **found.groupdict())
        return text

    def agreed(self, text: str) -> str:
        """A text with its nouns in agreement with their numbers, where those were not known when it was written."""
        for written, agreeing in table(self.lang).get("agreement", {}).items():
            text = re.sub(written, agreeing, text)
        return text

    def number(self, text: str) -> str:
        """A text with its English-style numbers in this language's format: `1,024.5` becomes `1.024,5`."""
        return text if self._is_plain else re.sub(_NUMBER, lambda found: self._marked(found[0]), text)

    @property
    def _is_plain(self) -> bool:
        return bool(self.of("number", "decimal") == ".")

    def _marked(self, number: str) -> str:
        marks = {".": self.of("number", "decimal"), ",": self.of("number", "thousands")}
        return "".join(marks.get(letter, letter) for letter in number)

    def quantity(self, text: str) -> str:
        """A number with its unit: `1.5 Mbit/s`, `200 packets`."""
        for unit, translated in table(self.lang)["unit"].items():
            text = re.sub(rf"\b{unit}\b", translated, text)
        return self.number(text)

    def label(self, text: str) -> str:
        """A label of a study (of a level, a series, a column's value) in this language."""
        return self.own[text] if text in self.own else self.phrase(text)

    def cell(self, column: str, value: Any, half: Any = None) -> str:
        """A value of a table, with half the width of its interval if it has one, formatted for readers."""
        if isinstance(value, bool):
            return self.of("cell", cell(column, value))
        return self.label(value) if isinstance(value, str) else self.quantity(interval(column, value, half))

    def column(self, title: str) -> str:
        """A title derived from a column's name, in this language."""
        translated = self.own.get(title) or self.own.get(title.lower()) or self.own.get(title.lower().replace(" ", "_"))
        if translated is None or not title[:1].isupper():
            return translated or title
        return translated[0].upper() + translated[1:]

    def phrase(self, text: str) -> str:
        """A text from a query in this language: the study's own words, matched whole, and numbers are replaced."""
        return self._known.sub(lambda found: self.own.get(found[0]) or self._marked(found[0]), text)

    @cached_property
    def _known(self) -> re.Pattern[str]:
        """Regular expression of the study's own words, the longest first, or a number."""
        every = [rf"(?<![\w-]){re.escape(one)}(?![\w-])" for one in sorted(self.own, key=len, reverse=True)]
        return re.compile("|".join([*every, *([] if self._is_plain else [_NUMBER])]) or r"(?!)")

    @property
    def locale(self) -> dict[str, Any]:
        """Vega's locale for numbers; empty where its default fits."""
        decimal, thousands = self.of("number", "decimal"), self.of("number", "thousands")
        if self._is_plain:
            return {}
        return {"decimal": decimal, "thousands": thousands, "grouping": [3], "currency": ["", ""]}

    @property
    def script(self) -> dict[str, str]:
        """Texts of the page's script."""
        return self._whole("script")

    @property
    def again(self) -> dict[str, str]:
        """Texts of the script that re-runs runs."""
        return self._whole("again")

    def _whole(self, section: str) -> dict[str, str]:
        """All texts of a section, and the decimal separator."""
        return {**table(self.lang)[section], "decimal": self.of("number", "decimal")}


ENGLISH = Words()
