"""Finds English that a Portuguese reader would meet: sentences of the program, and words that only English has."""

from __future__ import annotations

import re
from functools import cache
from html.parser import HTMLParser

from vazao.words.language import table

UNREAD = {"script", "style", "code", "pre"}
"""Elements that hold no prose: SQL, TOML, commands, names of keys."""

READ_ALOUD = {"aria-label", "aria-description", "title", "alt", "placeholder"}

ONLY_ENGLISH = re.compile(
    r"(?<![\w/-])(the|and|with|from|which|was|were|are|is|has|have|titled|runs|left|stored)(?![\w-])"
)
"""Words that occur in nearly every English sentence, and in no Portuguese one."""


class _Reader(HTMLParser):
    """Collects the texts of a page that a reader sees or hears."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self._unread = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._unread += tag in UNREAD
        self.texts += [value for name, value in attrs if name in READ_ALOUD and value]

    def handle_endtag(self, tag: str) -> None:
        self._unread -= tag in UNREAD

    def handle_data(self, data: str) -> None:
        if not self._unread:
            self.texts.append(data)


def seen(page: str) -> str:
    """Texts of a page that a reader sees or hears, one a line."""
    reader = _Reader()
    reader.feed(page)
    return "\n".join(" ".join(text.split()) for text in reader.texts if text.strip())


def english_in(text: str) -> list[str]:
    """Lines of a text that contain an English sentence of the program, or a word that only English has."""
    present = [pattern for pieces, pattern in _sentences() if all(piece in text for piece in pieces)]
    sentences = re.compile("|".join([*present, ONLY_ENGLISH.pattern]))
    return [line for line in dict.fromkeys(text.splitlines()) if sentences.search(line)]


@cache
def _sentences() -> list[tuple[list[str], str]]:
    """English texts of at least three words that differ in Portuguese: the literal pieces of each, and a pattern."""
    found = []
    for section, entries in table("en").items():
        for name, entry in entries.items():
            other = table("pt")[section][name]
            forms = [(entry[form], other[form]) for form in entry] if isinstance(entry, dict) else [(entry, other)]
            for english, portuguese in forms:
                literal = re.split(r"\{\w+\}", english)
                if english != portuguese and len(" ".join(literal).split()) >= 3:
                    found.append((literal, ".+?".join(map(re.escape, literal))))
    return found
