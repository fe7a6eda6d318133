"""Words of commands that a reader pastes into a shell, whoever wrote what they say."""

from __future__ import annotations

import shlex
import unicodedata
from collections.abc import Iterable

_UNSEEN = {"Cc", "Cf", "Zl", "Zp"}
"""Categories of letters that are no sight: a terminal obeys some of them, quoted or not."""


def quoted(word: str) -> str:
    """A word of a shell: one of plain letters as it is, any other between quotes, unseen letters by their bytes."""
    if not any(map(_is_unseen, word)):
        return shlex.quote(word)
    return "".join(
        f'"$(printf {shlex.quote(_octal(each))})"' if _is_unseen(each) else shlex.quote(each) for each in word
    )


def joined(words: Iterable[str]) -> str:
    """A command of these words."""
    return " ".join(map(quoted, words))


def _is_unseen(letter: str) -> bool:
    return letter != "\n" and unicodedata.category(letter) in _UNSEEN


def _octal(letter: str) -> str:
    return "".join(f"\\{byte:03o}" for byte in letter.encode())
