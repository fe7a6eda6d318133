"""Quoting of commands that a reader pastes into a shell, safe for untrusted text."""

from __future__ import annotations

import shlex
import unicodedata
from collections.abc import Iterable

_UNSEEN = {"Cc", "Cf", "Zl", "Zp"}
"""Unicode categories of invisible characters: a terminal acts on some of them, quoted or not."""


def quoted(word: str) -> str:
    """A word for a shell, quoted if it needs to be; invisible characters are written as their bytes in octal."""
    if not any(map(_is_unseen, word)):
        return shlex.quote(word)
    return "".join(
        f'"$(printf {shlex.quote(_octal(each))})"' if _is_unseen(each) else shlex.quote(each) for each in word
    )


def joined(words: Iterable[str]) -> str:
    """A command line of these words, quoted."""
    return " ".join(map(quoted, words))


def _is_unseen(letter: str) -> bool:
    return letter != "\n" and unicodedata.category(letter) in _UNSEEN


def _octal(letter: str) -> str:
    return "".join(f"\\{byte:03o}" for byte in letter.encode())
