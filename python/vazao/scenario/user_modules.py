"""User modules executed from source texts: they import only these texts, Python's library and installed packages."""

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
    """A Python file: its name as the scenario refers to it, the path that it was read from, and its content."""

    name: str
    path: Path
    text: str

    @property
    def digest(self) -> str:
        """SHA-256 of the content, hexadecimal."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    @property
    def module(self) -> str:
        """The name by which other modules import it."""
        return Path(self.name).stem


def is_installed(name: str) -> bool:
    """Whether Python's library or an installed package has a module of this name, which no file may shadow.

    Python itself would look in the working directory, or in a script's directory, before its own library.
    """
    if name in sys.stdlib_module_names or name in sys.builtin_module_names:
        return True
    found = PathFinder.find_spec(name, installed())
    # A folder of that name without an `__init__.py` has no origin, and does not count as a package.
    return found is not None and found.origin is not None


def installed() -> list[str]:
    """Entries of `sys.path`, except the working directory and the script's directory, which depend on the start."""
    script = getattr(sys.modules.get("__main__"), "__file__", None)
    passing = {_real(""), *([_real(str(Path(script).parent))] if script else [])}
    # The script may belong to Vazão, to Python (`python -m cProfile`), or to an installed package.
    lasting = (str(Path(__file__).parents[2]), str(Path(os.__file__).parent), *site.getsitepackages())
    passing -= {_real(place) for place in lasting}
    return [place for place in sys.path if _real(place) not in passing]


def _real(place: str) -> str:
    """The resolved path of a directory; the path itself if the working directory no longer exists."""
    try:
        return os.path.realpath(place)
    except FileNotFoundError:
        return place


@lru_cache(maxsize=64)
def loaded(texts: tuple[Text, ...]) -> ModuleType:
    """Execute the first text as a module, with the others importable. Raises `ScenarioError` if it fails."""
    return _Modules(texts).load(texts[0].module)


class _Modules:
    """Modules that are executed from texts and can import each other."""

    def __init__(self, texts: Sequence[Text]) -> None:
        self._texts = {text.module: text for text in texts}
        self._made: dict[str, ModuleType] = {}

    def load(self, name: str) -> ModuleType:
        """The module of this name, executed on first use. Raises `ScenarioError` if that fails."""
        if name in self._made:
            return self._made[name]
        text = self._texts[name]
        shown = str(text.path)
        module = self._made[name] = ModuleType(f"{name}@{text.digest[:16]}")
        module.__file__ = shown
        vars(module)["__builtins__"] = vars(builtins) | {"__import__": self._import}
        sys.modules[module.__name__] = module  # Dataclasses look their module up there.
        # Tracebacks show its lines as they were read, even if the file changes.
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
            with _installed_only():
                if not level and not _is_found(first):
                    raise ModuleNotFoundError(f"No module named {first!r}", name=first)
                return builtins.__import__(name, globals, locals, fromlist, level)
        if rest:
            raise ImportError(f"{first}.py is a module, no package: there is no {name}")
        return self.load(first)


def _is_found(name: str) -> bool:
    """Whether a fresh import would find a module of this name, regardless of earlier imports."""
    return any(finder.find_spec(name, None) is not None for finder in sys.meta_path)


_path = threading.RLock()
"""Lock held while `sys.path` is replaced."""


@contextmanager
def _installed_only() -> Iterator[None]:
    """Restrict `sys.path` to `installed()`: modules elsewhere are not part of a run's identity."""
    with _path:
        before, sys.path[:] = sys.path[:], installed()
        during = sys.path[:]
        try:
            yield
        finally:
            sys.path[:] = [*before, *(place for place in sys.path if place not in during)]


def _place(error: BaseException, text: Text) -> str:
    """The file and line at which an error occurred."""
    calls = traceback.extract_tb(error.__traceback__)
    lines = [call.lineno for call in calls if call.filename == str(text.path)]
    return f"{text.name}:{lines[-1]}" if lines else text.name
