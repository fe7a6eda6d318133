"""Shrinks reproducers: deletes keys as long as the finding persists."""

from __future__ import annotations

import copy
import tomllib
from collections.abc import Callable
from typing import Any

from fuzz import toml
from fuzz.mutate import owner, paths

TRIES = 250


def shrink(text: str, still: Callable[[str], bool], tries: int = TRIES) -> str:
    """Shrink a text by deleting keys and elements of lists, or lines if it is not TOML, while `still` holds."""
    try:
        document = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        return _lines(text, still, tries)
    if not still(toml.dump(document)):
        return _lines(text, still, tries)
    return toml.dump(_keys(document, still, tries))


def _keys(document: dict[str, Any], still: Callable[[str], bool], tries: int) -> dict[str, Any]:
    progress = True
    while progress and tries > 0:
        progress = False
        for path in sorted(paths(document), key=lambda path: (len(path), [str(key) for key in path]), reverse=False)[
            ::-1
        ]:
            if tries <= 0 or path not in paths(document):
                continue
            smaller = copy.deepcopy(document)
            del owner(smaller, path)[path[-1]]
            tries -= 1
            if still(toml.dump(smaller)):
                document, progress = smaller, True
    return document


def _lines(text: str, still: Callable[[str], bool], tries: int) -> str:
    lines = text.splitlines(keepends=True)
    step = max(1, len(lines) // 2)
    while tries > 0:
        for at in range(0, len(lines), step):
            tries -= 1
            fewer = lines[:at] + lines[at + step :]
            if fewer and still("".join(fewer)):
                lines = fewer
                break
        else:
            if step == 1:
                break
            step //= 2
    return "".join(lines)
