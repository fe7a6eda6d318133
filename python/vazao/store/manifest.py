"""Manifest of a results directory: it identifies the results, and decides which ones may be added."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from vazao.errors import ResultsError
from vazao.files import explained, owned, read_file
from vazao.store import parts
from vazao.store.parts import TABLES

MANIFEST = "manifest.json"

IDENTITY = {
    "kind": "kind",
    "name": "study or scenario",
    "run": "scenario",
    "versions.engine": "version of the engine",
}
"""Manifest fields that must agree for results to share a directory, each with its name in messages.

A study's runs are identified by their content, however the study has changed since; a scenario has one run. A sweep may
have grown from the single run of its scenario: its manifest has that run as `grown_from`.
"""


class Manifest(BaseModel):
    """Schema of the manifest, limited to the keys that this version reads."""

    model_config = ConfigDict(extra="allow", strict=True)

    kind: Literal["study", "scenario"]
    name: str
    run: str = ""
    grown_from: str = ""
    versions: dict[str, str]
    title: str = ""
    size: Literal["quick", "full"] = "quick"
    seed: int = 1
    overrides: list[tuple[str, Any] | list[Any]] = []
    runs: int = 0
    parts: list[dict[str, str | int]] = []
    kernels: dict[str, str | None] = {}
    simulators: dict[str, str | None] = {}
    inputs: dict[str, str] = {}
    not_run: dict[str, int] = {}


def read_manifest(directory: Path) -> dict[str, Any] | None:
    """Read the manifest; None if there is none. Raises `ResultsError` if it is invalid."""
    path = directory / MANIFEST
    if not owned(path):
        return None
    with explained(path, "read"):
        content = read_file(path)
    try:
        manifest = json.loads(content)
        Manifest.model_validate(manifest)
    except (ValidationError, ValueError, RecursionError) as error:
        problems = error.errors() if isinstance(error, ValidationError) else []
        key = (
            f" (its key {'.'.join(map(str, problems[0]['loc']))!r} is none)" if problems and problems[0]["loc"] else ""
        )
        raise ResultsError(f"{path}: is not a manifest that this version understands{key}") from None
    return dict(manifest)


def check_usable(directory: Path, manifest: Mapping[str, Any]) -> dict[str, Any] | None:
    """Check that results can be added to `directory`, and return its manifest; None if it is new or empty.

    Raises `ResultsError` if it holds other files, or results that differ in any key of `IDENTITY`.
    """
    with explained(directory, "read"):
        if directory.exists() and not directory.is_dir():
            raise ResultsError(f"{directory}: is a file; choose another --out")
        names = {path.name for path in directory.iterdir()} if directory.exists() else set()
    there = read_manifest(directory)
    if there is None:
        # A process killed just after its start leaves a lock, a temporary file and empty folders.
        if "runs" in names and parts.batches(directory):
            raise ResultsError(f"{directory}: holds results whose {MANIFEST} is lost; choose another --out")
        if any(not name.startswith(".") for name in names - set(TABLES)):
            raise ResultsError(f"{directory}: holds other files and no results; choose another --out")
        return None
    if difference := _difference(there, manifest):
        raise ResultsError(f"{directory}: holds results of another {difference}; choose another --out")
    return there


def _difference(there: Mapping[str, Any], now: Mapping[str, Any]) -> str | None:
    """Describe the first difference for which the results of two manifests must not be mixed; None if there is none."""
    # Inputs come first, as they are more specific: a different input file also makes a different run.
    for name, digest in now.get("inputs", {}).items() if now.get("run") else ():
        old = there.get("inputs", {}).get(name)
        if old and old != digest:
            return f"input {name} (sha256 {old[:12]} there, {digest[:12]} now)"
    grown = there.get("kind") == "scenario" and there.get("run") == now.get("grown_from")
    for key, what in IDENTITY.items():
        if grown and key in ("kind", "name", "run"):
            continue
        old, new = _entry(there, key), _entry(now, key)
        if old != new:
            return f"{what} ({str(old)[:40]} there, {str(new)[:40]} now)"
    return None


def _entry(manifest: Mapping[str, Any], dotted: str) -> Any:
    value: Any = manifest
    for key in dotted.split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def origin_of(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """The identifying fields of a manifest, as recorded in each batch."""
    whole = {name.partition(".")[0] for name in IDENTITY}
    return {key: manifest[key] for key in sorted(whole) if key in manifest}


def check_origin(path: Path, origin: Mapping[str, Any], manifest: Mapping[str, Any]) -> None:
    """Reject a batch that belongs to other results. Raises `ResultsError`."""
    if origin and (difference := _difference(origin, manifest)):
        problem = f"is of another {difference.replace(' there', ' in it').replace(' now', ' here')}"
        raise ResultsError(f"{path}: {problem}; remove it, and those of its name in the folders beside it")
