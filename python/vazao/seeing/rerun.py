"""Engine, viewer and the script that uses both: all that a page needs to re-run runs."""

from __future__ import annotations

import html
import json
from dataclasses import dataclass
from typing import Any

from vazao.seeing.page import FOLDER, built, digest, packed, packed_file, page

_FILES = ("engine.wasm", "again.js", "again.css", "viewer.js", "viewer.css")


def can_rerun() -> bool:
    """Whether all that a page needs to re-run runs is built."""
    return all((FOLDER / "static" / name).is_file() for name in _FILES)


@dataclass(frozen=True)
class Again:
    """Parts of a page that can re-run runs; data are text in script elements that browsers do not execute."""

    elements: str
    """Engine, viewer and data, in HTML."""
    script: str
    style: str
    digests: list[str]
    """SHA-256 of the script and of the viewer's, in base64, which the page's content policy must allow."""


def again(content: dict[str, Any]) -> Again:
    """Parts of a page that can re-run the runs of `content` (`web/src/again/content.ts`).

    Raises `ResultsError` when they were not built.
    """
    script, style = (built(f"again.{kind}", "make web").decode() for kind in ("js", "css"))
    # The viewer is a separate page in a frame, so that the two do not share styles and keys.
    viewer = page("view.html", "viewer", {"TITLE": html.escape("Run"), "RECORDINGS": ""})
    content_json = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    data = {
        "engine": packed_file(built("engine.wasm", "make wasm")),
        "viewer": packed_file(viewer.encode()),
        "again": packed(content_json.encode(), 9),
    }
    elements = "\n".join(
        f'<script type="application/octet-stream" data-{name}>{text}</script>' for name, text in data.items()
    )
    return Again(elements, script, style, [digest(script), digest(built("viewer.js", "make web").decode())])
