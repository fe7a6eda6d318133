"""Checks for notebook widgets: whether anywidget is installed and this notebook can display them."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType


def in_notebook() -> bool:
    """Whether this Python runs in a notebook that can show widgets, with anywidget installed."""
    return find_spec("anywidget") is not None and (_is_jupyter() or _is_marimo())


def frames() -> ModuleType:
    """The module of the widgets. Raises `ImportError` that names the extra if anywidget is missing."""
    if find_spec("anywidget") is None:
        problem = "widgets need anywidget, which is not installed; pip install 'vazao[notebook]'"
        raise ImportError(problem, name="anywidget")
    return import_module("vazao.widgets.frame")


def _is_jupyter() -> bool:
    # A notebook has imported IPython already; importing it elsewhere takes a second.
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return getattr(shell, "kernel", None) is not None


def _is_marimo() -> bool:
    marimo = sys.modules.get("marimo")
    return marimo is not None and bool(marimo.running_in_notebook())
