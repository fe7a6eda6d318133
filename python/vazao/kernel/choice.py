"""Selection of a kernel by name: a series (`6.12`), a kernel's name in the cache, or a path."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

from vazao.errors import did_you_mean
from vazao.files import make_directory, write_atomically
from vazao.kernel import binary, cache
from vazao.kernel.cache import DEFAULT_SERIES, SERIES, Kernel, kernels
from vazao.kernel.errors import KernelError
from vazao.words import ENGLISH


def find(name: str | None = None) -> Kernel | None:
    """Find a kernel by series, by name in the cache, or by path; None if there is none.

    Without a name, `$VAZAO_KERNEL` is used, or else the default series. Raises `KernelError` for a kernel that cannot
    be used.
    """
    name = name or os.environ.get("VAZAO_KERNEL") or DEFAULT_SERIES
    chosen = default(name) or name
    if there := cache.cached(chosen):
        return _verified(there)
    path = Path(chosen)
    if path.is_file() and (path.is_absolute() or "/" in chosen):
        return binary.inspect(path)
    return None


def _verified(kernel: Kernel) -> Kernel:
    """Check that a cached kernel is still the file that was built, because results record its digest."""
    if cache.digest(kernel.path.read_bytes()) != kernel.sha256:
        raise KernelError(f"{kernel.path}: is not what was built; build it again with --force")
    return kernel


def missing(name: str | None = None) -> str:
    """Message that explains why `find(name)` finds nothing, and what to do."""
    variable = os.environ.get("VAZAO_KERNEL")
    if not name and variable:
        return ENGLISH.say("reason.kernel_file", variable=variable)
    name = name or DEFAULT_SERIES
    older = [kernel.name for kernel in cache.built() if not kernel.current]
    if selected := selection().get(name, name if name in older else None):
        if selected in older:
            return ENGLISH.say("reason.kernel_older", kernel=selected)
        return ENGLISH.say("reason.kernel_gone", kernel=selected, name=name)
    if name in SERIES:
        command = "vazao kernel build" + ("" if name == DEFAULT_SERIES else f" {name}")
        reason = "reason.kernel_outdated" if older else "reason.kernel"
        return ENGLISH.say(reason, name=name, command=command)
    if "/" in name:
        return f"{name}: no such file"
    known = [*SERIES, *(kernel.name for kernel in kernels())]
    return f"no kernel is called {name!r}{did_you_mean(name, known)}; a path has a slash in it, as in ./linux"


def use(name: str) -> Kernel | None:
    """Make a kernel the default of its series; the name of a series clears the selection.

    Returns the new default of the series. Raises `KernelError` if there is no such kernel or it cannot be used.
    """
    if name in SERIES or name in selection():
        select(name, None)
        return find(name)
    kernel = find(name) or (binary.inspect(Path(name)) if Path(name).is_file() else None)
    if not kernel:
        raise KernelError(missing(name))
    if kernel.source == "elsewhere":
        kernel = replace(kernel, path=kernel.path.resolve())
    select(kernel.series, kernel.name)
    return kernel


def default(series: str) -> str | None:
    """Name of a series' default kernel: the selected one, else the newest unmodified one, else the newest."""
    if selected := selection().get(series):
        return selected
    candidates = [kernel for kernel in kernels() if kernel.series == series]
    best = max(candidates, key=lambda k: (k.unmodified, k.built), default=None)
    return best.name if best else None


def selection() -> dict[str, str]:
    """Kernels selected with `vazao kernel use`, by series: the name of a kernel in the cache or a path."""
    try:
        chosen = json.loads(_selection_file().read_bytes())
    except (OSError, ValueError):
        return {}
    return {str(series): str(name) for series, name in chosen.items()} if isinstance(chosen, dict) else {}


def select(series: str, name: str | None) -> None:
    """Select a kernel as the default of its series; None clears the selection."""
    chosen = {key: value for key, value in (selection() | {series: name}).items() if value}
    make_directory(cache.folder())
    write_atomically(_selection_file(), json.dumps(chosen, indent=1, sort_keys=True).encode())


def _selection_file() -> Path:
    return cache.folder() / "selected.json"
