"""Escaping of texts, so that they cannot control the terminal."""

from __future__ import annotations

_UNSEEN = {code: f"\\x{code:02x}" for code in (*range(32), *range(0x7F, 0xA0)) if chr(code) not in "\n\t"}
_UNSEEN |= {code: f"\\u{code:04x}" for code in (0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))}
"""Escapes of characters that control a terminal or the direction of text."""


def clean(text: str) -> str:
    """Escape control characters of a text, which may come from an untrusted file."""
    return text.translate(_UNSEEN)


def say(text: str) -> None:
    """Print a line that may contain text from an untrusted file."""
    print(clean(text))
