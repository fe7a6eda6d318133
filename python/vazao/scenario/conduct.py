"""Check of a class of the user's own before it is used: what it says in vain is refused at once."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from typing import Any

from vazao._core import slip_of
from vazao.errors import ScenarioError, did_you_mean


def check(own: type, base: type, name: str, parameters: Mapping[str, Any]) -> None:
    """Refuse a class that is no `base`, whose methods nobody calls or calls otherwise, or that takes other parameters.

    `name` is what messages call it. Raises `ScenarioError`.
    """
    if not issubclass(own, base):
        raise ScenarioError(f"{name} is not a subclass of vazao.{base.__name__}")
    known = [member for member in dir(base) if not member.startswith("_")]
    for member, value in _members(own, base):
        if member in known:
            _check_call(own, base, name, member)
        elif callable(value) and member.startswith("on_"):
            raise ScenarioError(
                f"{name}.{member} is never called: {_told(base)} has no such method{_hint(member, base)}"
            )
        elif meant := slip_of(member, known):
            raise ScenarioError(f"{name}.{member} is nothing that {_told(base)} knows; did you mean {meant}?")
    _check_parameters(own, base, name, parameters)


def _members(own: type, base: type) -> Iterator[tuple[str, object]]:
    """Public names of a class and of those that it builds on, as far as they are the user's."""
    for each in own.__mro__:
        if each not in base.__mro__:
            yield from ((name, value) for name, value in vars(each).items() if not name.startswith("_"))


def _told(base: type) -> str:
    return f"vazao.{base.__name__}"


def _hint(member: str, base: type) -> str:
    methods = [name for name, value in vars(base).items() if not name.startswith("_") and callable(value)]
    return did_you_mean(member, methods)


def _check_call(own: type, base: type, name: str, member: str) -> None:
    """Refuse a method that cannot be called as the engine does, or whose call would do nothing."""
    method, pattern = getattr(own, member), getattr(base, member)
    if not inspect.isfunction(pattern):
        return
    given = list(inspect.signature(pattern).parameters)
    told = f"{name}.{member}"
    if not callable(method):
        raise ScenarioError(f"{told} = {method!r} is no method; write def {member}({', '.join(given)})")
    if inspect.iscoroutinefunction(method) or inspect.isgeneratorfunction(method):
        raise ScenarioError(f"{told} is asynchronous or a generator, which would not run; write a plain def")
    try:
        inspect.signature(method).bind(*given[isinstance(inspect.getattr_static(own, member), staticmethod) :])
    except TypeError as error:
        raise ScenarioError(f"{told} is called as {member}({', '.join(given)}), and: {error}") from None


def _check_parameters(own: type, base: type, name: str, parameters: Mapping[str, Any]) -> None:
    """Refuse parameters that the constructor does not take."""
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
