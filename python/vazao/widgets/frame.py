"""Notebook widgets for the viewer and the laboratory, each a page in a sandboxed iframe."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anywidget
import traitlets

from vazao import _core
from vazao.scenario import load
from vazao.seeing import FRAME, Page, built


class Frame(anywidget.AnyWidget):
    """A page that a notebook shows as a widget."""

    _esm = traitlets.Unicode(allow_none=True).tag(sync=True)
    _text = traitlets.Unicode().tag(sync=True)
    _sandbox = traitlets.Unicode(FRAME).tag(sync=True)
    height = traitlets.Int(720, min=200, max=10_000).tag(sync=True)
    """Height in the notebook, in CSS pixels."""

    def __init__(self, page: Page, **state: Any) -> None:
        self.page = page
        super().__init__(_esm=built("widget.js", "make web").decode(), _text=page.text, **state)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.page.title!r})"

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        bundle = super()._repr_mimebundle_(**kwargs)
        if bundle is not None:
            # An exported notebook has no front end that draws widgets: there the page itself is shown.
            bundle[0]["text/html"] = self.page._repr_html_()
        return bundle

    @property
    def text(self) -> str:
        """The content of the page's file, in HTML."""
        return self.page.text

    def save(self, path: str | Path) -> Path:
        """Write the page to a file for a browser, and return its path."""
        return self.page.save(path)


class View(Frame):
    """Viewer of a run, packet by packet."""


class Laboratory(Frame):
    """A scenario with sliders, and the engine that runs it in the browser."""

    toml = traitlets.Unicode().tag(sync=True)
    """The scenario in the page, the last that ran; setting another text replaces it there."""

    @property
    def scenario(self) -> _core.Scenario:
        """The scenario in the page. Raises `ScenarioError` where `toml` was set to an invalid text."""
        return load(self.toml)
