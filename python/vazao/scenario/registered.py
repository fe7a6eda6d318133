"""Functions that build the tables of applications and transports, each made from its entry in the registry."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from inspect import Parameter, Signature
from typing import Any

from vazao.scenario import catalogue
from vazao.scenario.build import App, Transport

TABLES: dict[str, type[App] | type[Transport]] = {"application": App, "transport": Transport}
"""Kinds of entries that have a builder, and the table that it builds."""

NAMES = {"packets": "packet_generator"}
"""Builders with another name than their entry: `vazao.packets` compares packets."""

POSITIONAL = {
    **dict.fromkeys(("upload", "download"), ("size",)),
    **dict.fromkeys(("cbr", "on-off"), ("rate",)),
    **dict.fromkeys(("tcp", "dccp", "sctp", "quic"), ("cc",)),
    "packets": ("idt", "ps"),
    "messages": ("message", "interval"),
    "requests": ("count",),
    "page": ("objects", "size"),
    "video": ("duration",),
    "arrivals": ("interval", "sizes"),
    "command": ("client", "server"),
    "mptcp": ("cc", "scheduler", "path_manager"),
    "udp": ("rate", "payload"),
}
"""Settings that may be given by position; all others are keywords."""

TYPES = (
    ("one of ", "Choice"),
    ("true or false", "bool"),
    ("a whole number", "int"),
    ("a number", "float"),
    ("a list of whole numbers", "Sequence[int]"),
    ("a list of", "Sequence[str]"),
    ("a list", "Sequence[Mapping[str, Any]]"),
    ("the name of a congestion control", "Control"),
    ("the name of a packet scheduler", "str | Mapping[str, Any] | type[Scheduler]"),
    ("the name of a slow start", "str | Mapping[str, Any] | type[SlowStart]"),
    ("the name of", "str | Mapping[str, Any]"),
    ("a text", "str | Mapping[str, Any]"),
    ("", "str"),
)
"""Types of settings, by the beginning of what is accepted."""


def entries() -> Iterator[tuple[str, catalogue.Entry]]:
    """Entries that have a builder, each with its builder's name."""
    for entry in catalogue.registry():
        if entry.kind in TABLES:
            yield NAMES.get(entry.name, entry.name.replace("-", "_")), entry


@cache
def builder(name: str) -> Callable[..., App | Transport]:
    """The builder of a name. Raises `AttributeError` if there is none."""
    entry = dict(entries()).get(name)
    if entry is None:
        raise AttributeError(f"no application and no transport is built by {name!r}")
    table, taken = TABLES[entry.kind], signature(entry)

    def build(*args: Any, **settings: Any) -> App | Transport:
        given = taken.bind(*args, **settings).arguments
        given |= given.pop("more", {})
        return table({"kind": entry.name} | {key: _plain(value) for key, value in given.items() if value is not None})

    build.__name__ = build.__qualname__ = name
    build.__module__ = "vazao.scenario.builders"
    build.__doc__ = about(entry)
    build.__signature__ = taken  # type: ignore[attr-defined]
    return build


def signature(entry: catalogue.Entry) -> Signature:
    """Parameters of an entry's builder: the settings of the entry with their types and defaults, and any other key."""
    first = POSITIONAL.get(entry.name, ())
    settings = {setting.name: setting for setting in entry.parameters}
    order = [settings.pop(name) for name in first] + list(settings.values())
    parameters = [
        Parameter(
            setting.name,
            Parameter.POSITIONAL_OR_KEYWORD if setting.name in first else Parameter.KEYWORD_ONLY,
            default=Parameter.empty if setting.required else None,
            annotation=_type(setting.expected) + ("" if setting.required else " | None"),
        )
        for setting in order
    ]
    more = Parameter("more", Parameter.VAR_KEYWORD, annotation="Any")
    return Signature([*parameters, more], return_annotation=TABLES[entry.kind].__name__)


def about(entry: catalogue.Entry) -> str:
    """Docstring of an entry's builder: help, default and range of each setting."""
    lines = [f"{entry.title}: {entry.help}.", ""]
    for setting in entry.parameters:
        default = f", {setting.default} by default" if setting.default else ""
        lines.append(f"- `{setting.name}`: {setting.help} ({setting.expected}{default})")
    return "\n".join(lines)


def _type(expected: str) -> str:
    found = next(kind for start, kind in TYPES if expected.startswith(start))
    if "or a distribution" in expected:
        return "Spread"
    if found == "Choice":
        choices = ", ".join(f'"{choice}"' for choice in expected.removeprefix("one of ").split(", "))
        return f"Literal[{choices}] | Mapping[str, Any]"
    return found


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, Sequence) and not isinstance(value, str) else value
