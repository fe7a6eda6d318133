"""Engine, viewer and a script that asks both: all that a page needs to run runs again."""

from __future__ import annotations

import html
import json
from dataclasses import dataclass
from typing import Any

from vazao.seeing.page import FOLDER, built, digest, packed, packed_file, page

_FILES = ("engine.wasm", "again.js", "again.css", "viewer.js", "viewer.css")


def can_run_again() -> bool:
    """Whether all that a page needs to run runs again was built."""
    return all((FOLDER / "static" / name).is_file() for name in _FILES)


@dataclass(frozen=True)
class Again:
    """Parts of a page that runs runs again; data are text of elements that no browser runs."""

    elements: str
    """Engine, viewer and data, in HTML."""
    script: str
    style: str
    digests: list[str]
    """SHA-256 of the script and of the viewer's, in base64: what the page's content policy must let in."""


def again(content: dict[str, Any]) -> Again:
    """Parts of a page that can run the runs of `content` (`web/src/again/content.ts`) again.

    Raises `ResultsError` when they were not built.
    """
    script, style = (built(f"again.{kind}", "make web").decode() for kind in ("js", "css"))
    # The viewer is a page of its own in a frame: neither's style and keys are the other's.
    viewer = page("view.html", "viewer", {"TITLE": html.escape("Run"), "RECORDINGS": ""})
    told = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    data = {
        "engine": packed_file(built("engine.wasm", "make wasm")),
        "viewer": packed_file(viewer.encode()),
        "again": packed(told.encode(), 9),
    }
    elements = "\n".join(
        f'<script type="application/octet-stream" data-{name}>{text}</script>' for name, text in data.items()
    )
    return Again(elements, script, style, [digest(script), digest(built("viewer.js", "make web").decode())])
