"""Variants of a scenario on each comparable stack, with notes on what differs."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from vazao import _core
from vazao.errors import ScenarioError
from vazao.scenario import Allowed, load

STACKS = tuple(stack for stack, (mechanism, _) in _core.STACKS.items() if mechanism != "simulator")
"""The stacks that can carry a flow; the last one that ran is the yardstick for the others."""

_MEANT = ("kind", "cc", "cc.kind", "stack")
"""Settings that define a transport: a flow keeps its own stack rather than lose one of them."""


@dataclass(frozen=True)
class Variant:
    """A scenario with all its flows on one stack, as far as the stack can carry them."""

    stack: str
    scenario: _core.Scenario | None
    """None where the stack can carry none of the flows."""
    notes: tuple[str, ...]
    """Differences from the scenario as written: settings left out, flows that kept their stack."""


def variants(
    text: str,
    *,
    file: str = "",
    overrides: Sequence[tuple[str, Any]] = (),
    seed: int | None = None,
    allow_programs: Allowed = False,
) -> list[Variant]:
    """The scenario of a TOML text, with `overrides` and `seed`, on every stack.

    Raises `ScenarioError` if it is wrong as written, or if fewer than two stacks can run it.
    """
    load(text, file=file, overrides=overrides, seed=seed, allow_programs=allow_programs)
    document = tomllib.loads(text)
    for key, value in overrides:
        if key.startswith("="):
            # The old value is replaced, not merged.
            _set(document, key[1:].split("."), None)
        _set(document, key.removeprefix("=").split("."), value)
    kinds = {_table(flow.get("transport", "tcp")).get("kind", "tcp") for flow in document["flow"]}
    stacks = [stack for stack in STACKS if _concerns(stack, kinds)]
    made = [_variant(document, stack, seed, file, allow_programs) for stack in stacks]
    if sum(variant.scenario is not None for variant in made) < 2:
        reasons = "; ".join(note for variant in made if variant.scenario is None for note in variant.notes)
        raise ScenarioError(f"{file}: there is nothing to compare, since one stack alone can play this: {reasons}")
    return made


def plays(run: str, stack: str) -> bool:
    """Whether a flow (by its column `stack`) is carried by the stack that its run is named after, not by its own."""
    return run not in STACKS or run in stack.split("-")


def _concerns(stack: str, transports: set[str]) -> bool:
    """Whether a stack is worth a variant: a library plays one transport, and scenarios without that skip it."""
    mechanism, known = _core.STACKS[stack]
    return mechanism != "library" or not transports.isdisjoint(known)


def _variant(document: dict[str, Any], stack: str, seed: int | None, file: str, allow: Allowed) -> Variant:
    """The document with every flow on `stack`; what the loader rejects is dropped or reverted, one thing at a time."""
    changed = deepcopy(document)
    for flow in changed["flow"]:
        flow["transport"] = _table(flow.get("transport", "tcp")) | {"stack": stack}
    notes: list[str] = []
    kept: set[int] = set()
    while len(kept) < len(changed["flow"]):
        try:
            scenario = load("", file=file, overrides=list(changed.items()), seed=seed, allow_programs=allow)
            return Variant(stack, scenario, (*notes, *_meanings(changed["flow"], stack, kept)))
        except ScenarioError as error:
            table, number, key = _place(error.key or "")
            if table != "flow" or number < 0 or number in kept:
                reason = ": ".join(filter(None, (error.key, error.problem))) or str(error)
                return Variant(stack, None, (reason,))
            reason = _clause(error.problem or "")
            if key and key not in _MEANT and _remove(changed["flow"][number]["transport"], key.split(".")):
                notes.append(f"flow {number}: {key} is left out ({reason})")
                continue
            notes.append(f"flow {number} keeps its stack ({reason})")
            changed["flow"][number] = deepcopy(document["flow"][number])
            kept.add(number)
    return Variant(stack, None, tuple(notes))


_DOUBLED = ("receive_buffer", "send_buffer")
"""TCP settings that Linux takes as socket options, with another meaning."""


def _meanings(flows: Sequence[dict[str, Any]], stack: str, kept: set[int]) -> Iterator[str]:
    """Notes on settings that mean something else on `stack` than on ours, for the flows that it carries."""
    for number, flow in enumerate(flows if _core.STACKS[stack][0] == "guest" else ()):
        transport = _table(flow.get("transport", "tcp"))
        given = [key for key in _DOUBLED if transport.get(key, "auto") != "auto"]
        if given and number not in kept and transport.get("kind", "tcp") == "tcp":
            are = f"{given[0]} is" if len(given) == 1 else f"{' and '.join(given)} are"
            yield (
                f"flow {number}: {are} bytes of data on our stack; Linux doubles the number and counts its bookkeeping "
                "in it (SO_RCVBUF, SO_SNDBUF in socket(7)), so that as many bytes or more may be under way"
            )


def _place(path: str) -> tuple[str, int, str]:
    """The place of a loader's error: the table, its item's number, and the key in its transport if it lies there."""
    table, number, inner, key = (*path.split(".", 3), "", "", "")[:4]
    return table, int(number) if number.isdecimal() else -1, key if inner == "transport" else ""


def _clause(reason: str) -> str:
    """The first clause of a message; advice on what to write follows it."""
    return reason.partition("; ")[0]


def _table(value: Any) -> dict[str, Any]:
    """A value as a table; a bare name becomes its `kind`."""
    return value if isinstance(value, dict) else {"kind": value}


def _remove(table: Any, path: Sequence[str]) -> bool:
    """Remove the value at `path`; return whether there was one."""
    for part in path[:-1]:
        table = table.get(part) if isinstance(table, dict) else None
    return isinstance(table, dict) and table.pop(path[-1], None) is not None


def _set(node: Any, path: Sequence[str], value: Any) -> None:
    """Set a value as `--set` does, in a document and at a path that the loader has accepted."""
    part, rest = path[0], path[1:]
    for key in _matching(node, part):
        there = node[key] if isinstance(node, list) else node.get(key)
        if rest:
            node[key] = {} if there is None else there if isinstance(there, list) else _table(there)
            _set(node[key], rest, value)
        elif isinstance(there, dict) and isinstance(value, dict):
            for name, inner in value.items():
                _set(there, [name], inner)
        else:
            node[key] = value


def _matching(node: Any, part: str) -> Iterable[Any]:
    if not isinstance(node, list):
        return [part]
    return range(len(node)) if part == "*" else [int(part)]
