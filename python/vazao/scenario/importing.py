"""Modules of a user's own, made of texts: what they import is one of these texts, Python's, or installed."""

from __future__ import annotations

import builtins
import hashlib
import linecache
import os
import site
import sys
import threading
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from importlib.machinery import PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any

from vazao.errors import ScenarioError


@dataclass(frozen=True)
class Text:
    """A Python file: its name as seen from the scenario, where it was read, what it holds."""

    name: str
    path: Path
    text: str

    @property
    def digest(self) -> str:
        """SHA-256 of what it holds, hexadecimal."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    @property
    def module(self) -> str:
        """The name by which others import it."""
        return Path(self.name).stem


def is_installed(name: str) -> bool:
    """Whether Python, or a package that is installed, has a module of this name, whose place no scenario's file takes.

    Python itself would look into the working directory, and beside a script, before it looks into its own library.
    """
    if name in sys.stdlib_module_names or name in sys.builtin_module_names:
        return True
    found = PathFinder.find_spec(name, installed())
    # A folder of that name without an `__init__.py` has no origin, and is nobody's package.
    return found is not None and found.origin is not None


def installed() -> list[str]:
    """Python's path but for what is on it because Python was started there: the working directory, that of a script."""
    script = getattr(sys.modules.get("__main__"), "__file__", None)
    passing = {_real(""), *([_real(str(Path(script).parent))] if script else [])}
    # The script may be one of Vazão's, of Python's own (`python -m cProfile`), or of what is installed.
    lasting = (str(Path(__file__).parents[2]), str(Path(os.__file__).parent), *site.getsitepackages())
    passing -= {_real(place) for place in lasting}
    return [place for place in sys.path if _real(place) not in passing]


def _real(place: str) -> str:
    """The directory that a path means; the path itself where even the working directory is gone."""
    try:
        return os.path.realpath(place)
    except FileNotFoundError:
        return place


@lru_cache(maxsize=64)
def loaded(texts: tuple[Text, ...]) -> ModuleType:
    """The module of the first text, with the others to import. Raises `ScenarioError` where it fails."""
    return _Modules(texts).load(texts[0].module)


class _Modules:
    """Modules that are made of texts and import each other."""

    def __init__(self, texts: Sequence[Text]) -> None:
        self._texts = {text.module: text for text in texts}
        self._made: dict[str, ModuleType] = {}

    def load(self, name: str) -> ModuleType:
        """The module of this name, run when it is first asked for. Raises `ScenarioError` where it cannot be."""
        if name in self._made:
            return self._made[name]
        text = self._texts[name]
        shown = str(text.path)
        module = self._made[name] = ModuleType(f"{name}@{text.digest[:16]}")
        module.__file__ = shown
        vars(module)["__builtins__"] = vars(builtins) | {"__import__": self._import}
        sys.modules[module.__name__] = module  # Dataclasses look their module up there.
        # Tracebacks show its lines as they were read, whatever becomes of the file.
        linecache.cache[shown] = (len(text.text), None, text.text.splitlines(keepends=True), shown)
        try:
            exec(compile(text.text, shown, "exec", dont_inherit=True), vars(module))
        except ScenarioError:
            raise
        except (Exception, SystemExit) as error:
            del self._made[name]
            raise ScenarioError(f"{_place(error, text)}: {type(error).__name__}: {error}") from None
        return module

    def _import(
        self,
        name: str,
        globals: Mapping[str, Any] | None = None,  # noqa: A002
        locals: Mapping[str, Any] | None = None,  # noqa: A002
        fromlist: Sequence[str] = (),
        level: int = 0,
    ) -> ModuleType:
        first, _, rest = name.partition(".")
        if level or first not in self._texts or is_installed(first):
            with _nothing_passing():
                if not level and not _is_found(first):
                    raise ModuleNotFoundError(f"No module named {first!r}", name=first)
                return builtins.__import__(name, globals, locals, fromlist, level)
        if rest:
            raise ImportError(f"{first}.py is a module, no package: there is no {name}")
        return self.load(first)


def _is_found(name: str) -> bool:
    """Whether an import would find a module of this name anew, whatever else was imported by that name before."""
    return any(finder.find_spec(name, None) is not None for finder in sys.meta_path)


_path = threading.RLock()
"""Held while the path is another one."""


@contextmanager
def _nothing_passing() -> Iterator[None]:
    """Python's path without what is on it in passing: a module there was not read, and has no part in what a run is."""
    with _path:
        before, sys.path[:] = sys.path[:], installed()
        during = sys.path[:]
        try:
            yield
        finally:
            sys.path[:] = [*before, *(place for place in sys.path if place not in during)]


def _place(error: BaseException, text: Text) -> str:
    """The place in a file at which it failed."""
    calls = traceback.extract_tb(error.__traceback__)
    lines = [call.lineno for call in calls if call.filename == str(text.path)]
    return f"{text.name}:{lines[-1]}" if lines else text.name
