"""The laboratory with sliders: one page with the engine, the names that a scenario can use, and lessons."""

from __future__ import annotations

import html
import json
import tomllib
from functools import cache
from typing import Any

from vazao import _core
from vazao.scenario import built_in, presets
from vazao.seeing.page import FOLDER, Page, built, packed_file, page

START = "two-flows"
"""The starting scenario of a page that is given none."""


ENGINE = "engine.wasm"


def play_page(
    text: str | None = None,
    name: str = "",
    lesson: str | None = None,
    *,
    own: dict[str, Any] | None = None,
    served: bool = False,
) -> Page:
    """A page for changing a scenario by hand and running it at once; it may open at a lesson and include an `own` one.

    A `served` page uses the engine of its server; any other contains the engine. Raises `ResultsError` when the page or
    its engine was not built.
    """
    content = {
        "kinds": {
            kind: entries for kind, entries in json.loads(_core.registry()).items() if kind != "strippable option"
        },
        "presets": _presets(),
        "lessons": [*([own] if own else []), *lessons().values()],
        "scenario": starts()[START] if text is None else text,
        "file": name,
        "lesson": lesson or "",
    }
    # Text inside an element of a page must not close it.
    content_json = json.dumps(content, ensure_ascii=False).replace("<", "\\u003c")
    title = f"{name} – Vazão" if name else "Vazão laboratory"
    engine = "" if served else packed_file(built(ENGINE, "make wasm"))
    asks = "'self'" if served else "'none'"
    filled = {"TITLE": html.escape(title), "CONTENT": content_json, "ENGINE": engine, "ASKS": asks}
    return Page(title, page("play.html", "play", filled))


def has_engine() -> bool:
    """Whether the engine for pages is built."""
    return (FOLDER / "static" / ENGINE).is_file()


@cache
def starts() -> dict[str, str]:
    """The starting scenarios by name, the default one first."""
    found = {name: path.read_text(encoding="utf-8") for name, path in built_in("starts").items()}
    return {START: found.pop(START), **found}


@cache
def lessons() -> dict[str, dict[str, Any]]:
    """The built-in lessons by name, in the order in which they are taught."""
    found = {name: tomllib.loads(path.read_text(encoding="utf-8")) for name, path in built_in("lessons").items()}
    ordered = sorted(found, key=lambda name: (found[name]["place"], name))
    return {name: _lesson(name, found[name]) for name in ordered}


def _lesson(name: str, one: dict[str, Any]) -> dict[str, Any]:
    """A lesson in the page's form, with its list of steps under `steps`."""
    return {"name": name, "place": one["place"], "title": one["title"], "about": one["about"], "steps": one["step"]}


def _presets() -> list[dict[str, str]]:
    named = {str(tomllib.loads(text)["name"]).capitalize(): text for text in starts().values()}
    entries = [{"name": title, "title": title, "text": text} for title, text in named.items()]
    paths = built_in("scenarios")
    for preset in presets():
        text = paths[preset.name].read_text(encoding="utf-8")
        entries.append({"name": preset.name, "title": f"{preset.title} ({preset.name})", "text": text})
    return entries
