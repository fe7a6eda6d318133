"""Validation of user-defined classes: base class, method names, signatures and constructor parameters."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from typing import Any

from vazao._core import slip_of
from vazao.errors import ScenarioError, did_you_mean


def check(own: type, base: type, name: str, parameters: Mapping[str, Any]) -> None:
    """Reject a class that is no `base`, has misnamed or wrongly declared methods, or does not take the parameters.

    `name` identifies the class in messages. Raises `ScenarioError`.
    """
    if not issubclass(own, base):
        raise ScenarioError(f"{name} is not a subclass of vazao.{base.__name__}")
    known = [member for member in dir(base) if not member.startswith("_")]
    for member, value in _members(own, base):
        if member in known:
            _check_call(own, base, name, member)
        elif callable(value) and member.startswith("on_"):
            raise ScenarioError(
                f"{name}.{member} is never called: {_qualified(base)} has no such method{_hint(member, base)}"
            )
        elif meant := slip_of(member, known):
            raise ScenarioError(f"{name}.{member} is nothing that {_qualified(base)} knows; did you mean {meant}?")
    _check_parameters(own, base, name, parameters)


def _members(own: type, base: type) -> Iterator[tuple[str, object]]:
    """Public members that a class and its bases define in addition to those of `base`."""
    for each in own.__mro__:
        if each not in base.__mro__:
            yield from ((name, value) for name, value in vars(each).items() if not name.startswith("_"))


def _qualified(base: type) -> str:
    return f"vazao.{base.__name__}"


def _hint(member: str, base: type) -> str:
    methods = [name for name, value in vars(base).items() if not name.startswith("_") and callable(value)]
    return did_you_mean(member, methods)


def _check_call(own: type, base: type, name: str, member: str) -> None:
    """Reject a method that cannot be called as the engine calls it, or whose call would have no effect."""
    method, pattern = getattr(own, member), getattr(base, member)
    if not inspect.isfunction(pattern):
        return
    given = list(inspect.signature(pattern).parameters)
    label = f"{name}.{member}"
    if not callable(method):
        raise ScenarioError(f"{label} = {method!r} is no method; write def {member}({', '.join(given)})")
    if inspect.iscoroutinefunction(method) or inspect.isgeneratorfunction(method):
        raise ScenarioError(f"{label} is asynchronous or a generator, which would not run; write a plain def")
    try:
        inspect.signature(method).bind(*given[isinstance(inspect.getattr_static(own, member), staticmethod) :])
    except TypeError as error:
        raise ScenarioError(f"{label} is called as {member}({', '.join(given)}), and: {error}") from None


def _check_parameters(own: type, base: type, name: str, parameters: Mapping[str, Any]) -> None:
    """Reject parameters that the constructor does not accept."""
    signature = inspect.signature(own)
    given = list(inspect.signature(base).parameters)
    try:
        signature.bind(*given, **parameters)
    except TypeError as error:
        taken = [
            each.name
            for each in list(signature.parameters.values())[len(given) :]
            if each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY)
        ]
        accepted = f"its parameters are {', '.join(taken)}" if taken else "it has no parameters"
        called = ", ".join(["self", *given])
        raise ScenarioError(f"{name} is made by __init__({called}), and: {error}; {accepted}") from None
