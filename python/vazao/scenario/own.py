"""Algorithms of a user's own in files that a scenario names: `mine.py:Cautious`.

What such a file does follows from its text, and from the texts of the modules beside it that it imports: their digest
is part of a run's identity, and is known without running any of it. It is run only where that is allowed.
"""

from __future__ import annotations

import ast
import builtins
import hashlib
import json
import linecache
import re
import sys
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

from vazao.errors import ScenarioError, did_you_mean
from vazao.scenario.conduct import check
from vazao.scenario.plugins import BASES

Found = tuple[type | None, str, list[tuple[str, Path, str]]]
"""Answer of a finder to the engine: the class (None: not to be run), a digest of its code, its files."""

_NAME = re.compile(r"([^:\0]+\.py)(?::(.*))?")

MOST_BYTES = 1 << 20
"""Size of the largest file that is read."""


@dataclass(frozen=True)
class _Text:
    """A Python file: its name as seen from the scenario, where it was read, what it holds."""

    name: str
    path: Path
    text: str

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()

    @property
    def module(self) -> str:
        return Path(self.name).stem


@dataclass(frozen=True)
class Finder:
    """A finder of algorithms for the scenario of `file`; `inputs` has copies of files that are not beside it."""

    file: str
    inputs: Mapping[str, Path]
    allowed: bool
    """Whether code may be run."""
    _texts: dict[str, tuple[_Text, ...]] = field(default_factory=dict)

    def __call__(self, key: str, name: str, parameters: Mapping[str, Any]) -> Found | None:
        """Find an algorithm; None where `name` is none of a file. Raises `ScenarioError`."""
        named = _NAME.fullmatch(name)
        if named is None:
            return None
        file, wanted = named.groups()
        if not (wanted or "").isidentifier():
            raise ScenarioError(f'{name!r} names no class; write FILE.py:CLASS, as in "mine.py:Cautious"')
        if file not in self._texts:
            self._texts[file] = self._read_all(file)
        texts = self._texts[file]
        known = _tops(texts[0])
        if wanted not in known:
            raise ScenarioError(f"{file} has no class {wanted!r}{did_you_mean(wanted, known)}")
        inputs = [(text.name, text.path, text.digest) for text in texts]
        code = json.dumps(sorted((text.name, text.digest) for text in texts))
        own = _class(texts, wanted, key, parameters) if self.allowed else None
        return own, hashlib.sha256(code.encode()).hexdigest()[:16], inputs

    def _read_all(self, file: str) -> tuple[_Text, ...]:
        """A file, and the modules beside it that it imports, those that these import, and so on."""
        first = self._read(file)
        if first is None:
            raise ScenarioError(f"{Path(self.file).parent / file}: there is no such file")
        found, left = {first.module: first}, [first]
        while left:
            for module in _imported(left.pop()):
                beside = str(Path(file).parent / f"{module}.py")
                if module not in found and (text := self._read(beside)):
                    found[module] = text
                    left.append(text)
        return tuple(found.values())

    def _read(self, name: str) -> _Text | None:
        """The file of this name beside the scenario, or a copy, or else in the working directory."""
        if not self.allowed and (Path(name).is_absolute() or ".." in Path(name).parts):
            raise ScenarioError(
                f"{name} is not beside the scenario or below; it is read only where programs are allowed"
            )
        places = [Path(self.file).parent / name, self.inputs.get(name), Path(name)]
        path = next((place for place in places if place is not None and place.is_file()), None)
        if path is None:
            return None
        try:
            content = path.read_bytes()
            if len(content) > MOST_BYTES:
                raise ScenarioError(f"{path}: has {len(content)} bytes; the most are {MOST_BYTES}")
            return _Text(name, path, content.decode())
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is no text in UTF-8"
            raise ScenarioError(f"{path}: cannot be read: {reason}") from None


@lru_cache(maxsize=64)
def _tree(text: _Text) -> ast.Module:
    try:
        return ast.parse(text.text, text.name)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = f":{error.lineno}" if isinstance(error, SyntaxError) and error.lineno else ""
        reason = error.msg if isinstance(error, SyntaxError) else error
        raise ScenarioError(f"{text.name}{line}: is no Python: {reason}") from None


def _tops(text: _Text) -> list[str]:
    """Names that a file defines at its top level and that could be classes."""
    names: list[str] = []
    for node in _tree(text).body:
        match node:
            case ast.ClassDef(name=name):
                names.append(name)
            case ast.ImportFrom(names=aliases):
                names += [alias.asname or alias.name for alias in aliases]
            case ast.Assign(targets=[ast.Name(id=name)]):
                names.append(name)
    return names


def _imported(text: _Text) -> list[str]:
    """Modules that a file imports anywhere, by the first part of their names. Ours is nobody else's."""
    names: list[str] = []
    for node in ast.walk(_tree(text)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.append(node.module)
    return [first for name in dict.fromkeys(names) if (first := name.partition(".")[0]) != "vazao"]


def _class(texts: tuple[_Text, ...], wanted: str, key: str, parameters: Mapping[str, Any]) -> type:
    own = getattr(_loaded(texts), wanted, None)
    name = f"{texts[0].name}:{wanted}"
    if not isinstance(own, type):
        raise ScenarioError(f"{name} is {own!r}, no class")
    check(own, BASES[key], name, parameters)
    return own


@lru_cache(maxsize=64)
def _loaded(texts: tuple[_Text, ...]) -> ModuleType:
    return _Modules(texts).load(texts[0].module)


class _Modules:
    """Modules that are made of texts and import each other: nothing on Python's own path can take their places."""

    def __init__(self, texts: Sequence[_Text]) -> None:
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
        if level or first not in self._texts:
            return builtins.__import__(name, globals, locals, fromlist, level)
        if rest:
            raise ImportError(f"{first}.py is a module, no package: there is no {name}")
        return self.load(first)


def _place(error: BaseException, text: _Text) -> str:
    """The place in a file at which it failed."""
    calls = traceback.extract_tb(error.__traceback__)
    lines = [call.lineno for call in calls if call.filename == str(text.path)]
    return f"{text.name}:{lines[-1]}" if lines else text.name
