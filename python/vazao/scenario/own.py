"""Custom algorithms in files that a scenario names: `mine.py:Cautious`.

The behaviour of such a file follows from its text and the texts of the modules beside it that it imports. Their digest
is part of a run's identity, and is computed without running any of the code, which runs only if it is allowed to.
"""

from __future__ import annotations

import ast
import hashlib
import json
import re
import shlex
import warnings
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, TypeAlias

from vazao.errors import ScenarioError, VazaoError, did_you_mean
from vazao.files import cache_folder, in_words, make_directory, read_file
from vazao.scenario.plugins import BASES
from vazao.scenario.user_modules import Text, is_installed, loaded
from vazao.scenario.validation import check

Found = tuple[type | None, str, list[tuple[str, Path, str]]]
"""Answer of a finder to the engine: the class (None: not to be run), a digest of its code, its files."""

Allowed: TypeAlias = bool | frozenset[str]
"""Permission to run code: none, the scenario's own, or files with these SHA-256, which a user was asked about.

The scenario's own code is beside it, in the working directory, or kept in the results that the scenario is part of.
Code kept in other results counts only if it has run here before: it may come from a stranger, and a file of the same
name may be a different one.
"""

_NAME = re.compile(r"([^:\0]+\.py)(?::(.*))?")

MAX_BYTES = 1 << 20
"""Maximum size of a file."""

_Place = Callable[[str], Path | None]
"""A location of files: maps a name to the path of the file."""


@dataclass(frozen=True)
class Finder:
    """Finds the algorithms of the scenario in `file`; `inputs` has copies of files that are not beside it."""

    file: str
    inputs: Mapping[str, Path]
    allowed: Allowed
    _texts: dict[str, tuple[Text, ...]] = field(default_factory=dict)

    def __call__(self, key: str, name: str, parameters: Mapping[str, Any]) -> Found | None:
        """Find an algorithm; None if `name` does not name a file. Raises `ScenarioError`."""
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
        own = self._run(texts, wanted, key, parameters) if self.allowed is not False else None
        return own, hashlib.sha256(code.encode()).hexdigest()[:16], inputs

    def _read_all(self, file: str) -> tuple[Text, ...]:
        """A file and the modules beside it that it imports, transitively.

        All come from one location: files beside the scenario never import code that is kept in results.
        """
        first, place = self._first(file)
        found, left = {first.module: first}, [first]
        while left:
            for module in _imported(left.pop()):
                beside = str(Path(file).parent / f"{module}.py")
                if module in found or (text := self._read(beside, place)) is None or is_installed(module):
                    continue
                if not self._is_meant(text):
                    raise ScenarioError(f"{text.path}: has changed since it was asked about")
                found[module] = text
                left.append(text)
        return tuple(found.values())

    def _first(self, file: str) -> tuple[Text, _Place]:
        """The file that a scenario names, beside it, in the working directory, or as a copy; and its location."""
        if self.allowed is False and (Path(file).is_absolute() or ".." in Path(file).parts):
            raise ScenarioError(
                f"{file} is not beside the scenario or below; it is read only where programs are allowed"
            )
        others = []
        for place in (lambda name: Path(self.file).parent / name, Path, self.inputs.get):
            if text := self._read(file, place):
                if self._is_meant(text):
                    return text, place
                others.append(text.path)
        if others:
            raise ScenarioError(f"{others[0]}: has changed since it was asked about")
        raise ScenarioError(f"{Path(self.file).parent / file}: there is no such file")

    def _is_meant(self, text: Text) -> bool:
        return isinstance(self.allowed, bool) or text.digest in self.allowed

    def _read(self, name: str, place: _Place) -> Text | None:
        path = place(name)
        if path is None or not path.is_file():
            return None
        try:
            content = read_file(path, links=True)
            if len(content) > MAX_BYTES:
                raise ScenarioError(f"{path}: has {len(content)} bytes; the most are {MAX_BYTES}")
            text = Text(name, path, content.decode())
        except (OSError, UnicodeDecodeError) as error:
            reason = in_words(error) if isinstance(error, OSError) else "it is no text in UTF-8"
            raise ScenarioError(f"{path}: cannot be read: {reason}") from None
        if path == self.inputs.get(name) and path.name != text.digest:
            raise ScenarioError(f"{path}: is damaged: a copy is called by its SHA-256")
        return text

    def _run(self, texts: tuple[Text, ...], wanted: str, key: str, parameters: Mapping[str, Any]) -> type:
        """Execute the module and return the class. Raises `ScenarioError`, also if the code may not run."""
        first, folder = texts[0], Path(self.file).parent
        others = first.path == self.inputs.get(first.name) and not _is_kept_by(folder, first.path)
        if self.allowed is True and others and not all(map(_has_run, texts)):
            # Each path once: a long message is truncated, and the command to paste is at its end.
            put = shlex.join(["cp", str(first.path), str(folder / first.name)])
            raise ScenarioError(
                f"{first.name}: there is no such file; its copy, by whoever made these results, has never run here. "
                f"If you trust it, put it there: {put}"
            )
        _note_run(text.digest for text in texts)
        own = getattr(loaded(texts), wanted, None)
        name = f"{first.name}:{wanted}"
        if not isinstance(own, type):
            raise ScenarioError(f"{name} is {own!r}, no class")
        check(own, BASES[key], name, parameters)
        return own


def _is_kept_by(folder: Path, copy: Path) -> bool:
    """Whether a copy belongs to the results directory that contains the scenario itself."""
    return copy.parent.parent.resolve() == folder.resolve()


# Code that has run here is recorded by empty files in the user's cache, which no results directory can reach.


def _has_run(text: Text) -> bool:
    folder = cache_folder()
    return folder is not None and (folder / "code" / text.digest).is_file()


def _note_run(digests: Iterable[str]) -> None:
    if (folder := cache_folder()) is not None:
        for digest in digests:
            _note(folder / "code" / digest)


@cache
def _note(path: Path) -> None:
    # Without a record, the code counts as never run here.
    with suppress(VazaoError, OSError):
        make_directory(path.parent)
        path.touch()


@lru_cache(maxsize=64)
def _tree(text: Text) -> ast.Module:
    try:
        with warnings.catch_warnings(action="ignore"):  # Warnings quote lines of the text.
            return ast.parse(text.text, text.name)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = f":{error.lineno}" if isinstance(error, SyntaxError) and error.lineno else ""
        reason = error.msg if isinstance(error, SyntaxError) else error
        raise ScenarioError(f"{text.name}{line}: is no Python: {reason}") from None


def _tops(text: Text) -> list[str]:
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


def _imported(text: Text) -> list[str]:
    """Top-level names of the modules that a file imports anywhere, except Vazão's own."""
    names: list[str] = []
    for node in ast.walk(_tree(text)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.append(node.module)
    return [first for name in dict.fromkeys(names) if (first := name.partition(".")[0]) != "vazao"]
