"""Loading of scenarios from text, with the kernels and simulators of this machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from vazao import _core, kernel, ns2
from vazao.scenario.own import Allowed, Finder


def load(
    text: str,
    *,
    file: str = "",
    table: str = "",
    overrides: Sequence[tuple[str, object]] = (),
    seed: int | None = None,
    plugins: Sequence[tuple[str, str, type, str]] = (),
    inputs: Mapping[str, Path] | None = None,
    allow_programs: Allowed = False,
) -> _core.Scenario:
    """Read a scenario as `_core.load` does, with the built kernels for guests. Raises `ScenarioError`.

    Algorithms that it names by file (`mine.py:Cautious`) are identified by their code, and run only if programs are
    allowed. A scenario for ns-2 may use only what ns-2 supports.
    """
    # Finding kernels reads their files, and finding ns-2 starts it: skip both where the scenario names neither.
    kernels = _kernels() if _may_have_guests(text, overrides) else []
    foreign = _may_name(ns2.STACK, text, overrides)
    simulators = _simulators() if foreign else []
    more: dict[str, Any] = {"plugins": plugins, "kernels": kernels, "simulators": simulators}
    more["inputs"] = dict(inputs or {})
    more["own"] = Finder(file, more["inputs"], allow_programs)
    scenario = _core.load(text, file=file, table=table, overrides=overrides, seed=seed, **more)
    if foreign and ns2.plays(scenario):
        ns2.check(scenario, file)
    return scenario


def from_json(
    text: str,
    *,
    name: str = "scenario",
    file: str = "",
    plugins: Sequence[tuple[str, str, type, str]] = (),
    inputs: Mapping[str, Path] | None = None,
    allow_programs: Allowed = False,
) -> _core.Scenario:
    """Read a scenario's canonical form, its `json`, as `load` reads TOML: under a `name`, with files beside `file`.

    Raises `ScenarioError`, also if a file, a kernel or an algorithm in a file is not here what it was there.
    """
    kept = dict(inputs or {})
    more: dict[str, Any] = {"plugins": plugins, "kernels": _kernels(), "simulators": _simulators(), "inputs": kept}
    scenario = _core.from_json(text, name=name, file=file, own=Finder(file, kept, allow_programs), **more)
    if ns2.plays(scenario):
        ns2.check(scenario, file)
    return scenario


def available_stacks(text: str, overrides: Sequence[tuple[str, object]] = ()) -> list[str]:
    """Kernels and simulators available to a text here, and why others are not: they determine what can be run."""
    at_hand: list[str] = []
    if _may_have_guests(text, overrides):
        at_hand += [*map(repr, _kernels()), *map(kernel.missing, (None, *kernel.SERIES))]
    if _may_name(ns2.STACK, text, overrides):
        at_hand += [*map(repr, _simulators()), ns2.missing()]
    return at_hand


def _may_name(stack: str, text: str, overrides: Sequence[tuple[str, object]]) -> bool:
    return stack in text or any(stack in repr(override) for override in overrides)


def _may_have_guests(text: str, overrides: Sequence[tuple[str, object]]) -> bool:
    guests = (stack for stack, (mechanism, _) in _core.STACKS.items() if mechanism == "guest")
    return any(_may_name(stack, text, overrides) for stack in guests)


def _simulators() -> list[tuple[str, str, str]]:
    """External simulators: name of the stack, version and digest."""
    program = ns2.find()
    return [(ns2.STACK, program.version, program.sha256)] if program else []


@cache
def _kernels() -> list[tuple[str, str, str, str, str, int]]:
    """Every kernel under each of its names: its own, and its series if it is the default of the series."""
    named = {each.name: each for each in kernel.kernels()}
    for series in kernel.SERIES:
        chosen = kernel.find() if series == kernel.DEFAULT_SERIES else kernel.find(series)
        if chosen:
            named[series] = chosen
    return [
        (name, str(each.path), each.package_version or each.release, each.config_sha256 or "", each.sha256, each.hz)
        for name, each in named.items()
    ]
