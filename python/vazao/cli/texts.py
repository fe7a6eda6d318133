"""Texts that a terminal shows and does not obey."""

from __future__ import annotations

_UNSEEN = {code: f"\\x{code:02x}" for code in (*range(32), *range(0x7F, 0xA0)) if chr(code) not in "\n\t"}
_UNSEEN |= {code: f"\\u{code:04x}" for code in (0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))}
"""Letters that steer a terminal or turn the direction of its text round, as they are shown instead."""


def clean(text: str) -> str:
    """A text that a terminal shows and does not obey: what a file says may be a stranger's."""
    return text.translate(_UNSEEN)


def say(text: str) -> None:
    """Print a line that may hold what a file says."""
    print(clean(text))
