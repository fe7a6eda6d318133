"""Scenarios from text, with the kernels that this machine has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from vazao import _core, kernel


def load(
    text: str,
    *,
    file: str = "",
    table: str = "",
    overrides: Sequence[tuple[str, object]] = (),
    seed: int | None = None,
    plugins: Sequence[tuple[str, str, type, str]] = (),
    inputs: Mapping[str, Path] | None = None,
) -> _core.Scenario:
    """Read a scenario as `_core.load` does; guests get the kernels that were built. Raises `ScenarioError`."""
    # Finding kernels reads their files: not for scenarios that have no guests.
    kernels = _kernels() if _may_have_guests(text, overrides) else []
    more: dict[str, Any] = {"plugins": plugins, "kernels": kernels, "inputs": dict(inputs or {})}
    return _core.load(text, file=file, table=table, overrides=overrides, seed=seed, **more)


def kernels_at_hand(text: str, overrides: Sequence[tuple[str, object]] = ()) -> list[str]:
    """Kernels that the guests of a text can have here, and why others are none: which can be run depends on them."""
    if not _may_have_guests(text, overrides):
        return []
    return [*map(repr, _kernels()), *map(kernel.missing, (None, *kernel.SERIES))]


def _may_have_guests(text: str, overrides: Sequence[tuple[str, object]]) -> bool:
    return "linux" in text or any("linux" in repr(override) for override in overrides)


@cache
def _kernels() -> list[tuple[str, str, str, str, str, int]]:
    """Every kernel by every name that means it: its series', if it is what the series stands for, and its own."""
    named = {each.name: each for each in kernel.kernels()}
    for series in kernel.SERIES:
        chosen = kernel.find() if series == kernel.DEFAULT_SERIES else kernel.find(series)
        if chosen:
            named[series] = chosen
    return [
        (name, str(each.path), each.package_version or each.release, each.config_sha256 or "", each.sha256, each.hz)
        for name, each in named.items()
    ]
