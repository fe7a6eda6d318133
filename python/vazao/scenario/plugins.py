"""Algorithm classes given to a scenario in Python: replaced by names, identified by a digest of their code."""

from __future__ import annotations

import contextlib
import hashlib
import inspect
import sys
import sysconfig
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

from vazao.errors import ScenarioError
from vazao.scenario.application import Application
from vazao.scenario.congestion import CongestionControl
from vazao.scenario.loss_model import LossModel
from vazao.scenario.packet_scheduler import Scheduler
from vazao.scenario.queueing import Queue
from vazao.scenario.slow_start import SlowStart
from vazao.scenario.validation import check

BASES: Mapping[str, type] = {
    "cc": CongestionControl,
    "scheduler": Scheduler,
    "path_scheduler": Scheduler,
    "slow_start": SlowStart,
    "loss": LossModel,
    "queue": Queue,
    "app": Application,
}
"""Keys of a scenario that accept a class, and the base class that it must have."""

Own = tuple[str, str, type, str]
"""A custom algorithm: its key in a scenario, its name, the class, and a digest of its code."""


@dataclass
class Plugins:
    """The classes that a scenario uses, by key and name."""

    classes: dict[str, dict[str, type]] = field(default_factory=lambda: {key: {} for key in BASES})

    def named(self, value: Any) -> Any:
        """Replace classes in a part of a scenario by their names. Raises `ScenarioError` for an invalid class."""
        if isinstance(value, Mapping):
            return {key: self._named(key, inner) for key, inner in value.items()}
        return [self.named(inner) for inner in value] if isinstance(value, list | tuple) else value

    def _named(self, key: str, value: Any) -> Any:
        """Replace the class in a key's value, which is a class, or a table with one as `kind` and its parameters."""
        if isinstance(value, type):
            return self._name(key, value, {})
        if isinstance(value, Mapping) and isinstance(own := value.get("kind"), type):
            parameters = {name: inner for name, inner in value.items() if name not in ("kind", *_BESIDE.get(key, ()))}
            return {**value, "kind": self._name(key, own, parameters)}
        return self.named(value)

    def _name(self, key: str, own: type, parameters: Mapping[str, Any]) -> str:
        if key not in BASES:
            raise ScenarioError(f"{key}: takes no class; classes are for {', '.join(BASES)}")
        try:
            check(own, BASES[key], own.__name__, parameters)
        except ScenarioError as error:
            raise ScenarioError(f"{key}: {error}") from None
        if self.classes[key].setdefault(own.__name__, own) is not own:
            raise ScenarioError(f"{key}: two different classes are called {own.__name__}; rename one")
        return own.__name__

    def all(self) -> list[Own]:
        """Every class in the form that the engine accepts."""
        return [
            (key, name, own, fingerprint(own)) for key, named in self.classes.items() for name, own in named.items()
        ]


_BESIDE = {"queue": ("limit",), "app": ("size", "duration", "read_rate")}
"""Keys beside `kind` that belong to the engine rather than being parameters of the class."""


def fingerprint(algorithm: type) -> str:
    """Digest of a class's code: different code makes a different run.

    It covers the base classes, and the functions, classes and plain values that the class uses, from its own module and
    from modules imported from beside it, but not from installed packages. Code whose source cannot be read (typed at a
    prompt, say) is identified by its compiled form.
    """
    digest = hashlib.sha256()
    _class(algorithm, digest, set())
    return digest.hexdigest()[:16]


def _class(algorithm: type, digest: hashlib._Hash, seen: set[int]) -> None:
    seen.add(id(algorithm))
    for base in algorithm.__mro__[:-1]:
        _source(base, digest)
        for name, member in sorted(vars(base).items()):
            if name == "__module__":  # The module of a class does not affect its behaviour.
                continue
            digest.update(name.encode())
            _value(member, digest, seen)


def _is_own(module: ModuleType | None) -> bool:
    """Whether a module is the user's: neither of the standard library nor of an installed package."""
    file = getattr(module, "__file__", None)
    typed = module is not None and module.__name__ == "__main__"
    return typed if file is None else not any(Path(file).is_relative_to(place) for place in _INSTALLED)


_INSTALLED = {Path(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib", "purelib", "platlib")} | {
    Path(__file__).parents[1]
}


def _source(thing: object, digest: hashlib._Hash) -> None:
    with contextlib.suppress(OSError, TypeError):
        digest.update(inspect.getsource(thing).encode())  # type: ignore[arg-type]


def _value(value: object, digest: hashlib._Hash, seen: set[int]) -> None:
    """Add a member of a class or module to the digest: a function by its code and the names used, a value as text."""
    if isinstance(value, FunctionType):
        if id(value) not in seen:
            seen.add(id(value))
            _source(value, digest)
            _code(value.__code__, value.__globals__, digest, seen)
            for cell in value.__closure__ or ():
                _value(cell.cell_contents, digest, seen)
    elif isinstance(value, staticmethod | classmethod):
        _value(value.__func__, digest, seen)
    elif isinstance(value, property):
        _value(value.fget, digest, seen)
    elif isinstance(value, type):
        if id(value) not in seen and _is_own(sys.modules.get(value.__module__)):
            _class(value, digest, seen)
    elif isinstance(value, list | dict | set) and all(isinstance(each, _PLAIN) for each in _inside(value)):
        digest.update(repr(sorted(value) if isinstance(value, set) else value).encode())
    elif isinstance(value, bool | int | float | str | bytes | tuple | frozenset | None):
        digest.update(repr(value).encode())


_PLAIN = (bool, int, float, str, bytes, type(None))


def _inside(value: list[object] | dict[object, object] | set[object]) -> list[object]:
    return [*value, *value.values()] if isinstance(value, dict) else list(value)


def _code(code: CodeType, names: dict[str, object], digest: hashlib._Hash, seen: set[int]) -> None:
    digest.update(code.co_code)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            _code(constant, names, digest, seen)
        else:
            digest.update(repr(constant).encode())
    for name in code.co_names:
        digest.update(name.encode())
        _value(names.get(name), digest, seen)
    for module in [value for name in code.co_names if isinstance(value := names.get(name), ModuleType)]:
        for name in code.co_names if _is_own(module) else ():
            _value(vars(module).get(name), digest, seen)
