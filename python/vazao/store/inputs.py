"""Copies of the files that scenarios name, stored with the results."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vazao.errors import ResultsError
from vazao.files import explained, make_folder, owned, write_atomically
from vazao.scenario import Input

INPUTS = "inputs"
"""Folder of a results directory for these copies, each named by the SHA-256 of its content."""


MAX_BYTES = 64 << 20
"""Size limit of a file that a scenario names, in bytes."""


def digests(inputs: Mapping[str, Input]) -> dict[str, str]:
    """SHA-256 of each file by name, as a manifest stores them."""
    return {name: inputs[name].digest for name in sorted(inputs)}


def copies(directory: Path, inputs: Mapping[str, Input]) -> list[Path]:
    """Paths of the copies of inputs in a results directory."""
    return sorted({directory / INPUTS / each.digest for each in inputs.values()})


def keep(directory: Path, inputs: Mapping[str, Input]) -> None:
    """Copy inputs into a results directory. Raises `ResultsError` for a file that has changed since it was read."""
    for each in inputs.values():
        copy = directory / INPUTS / each.digest
        make_folder(copy.parent)
        if owned(copy):
            continue
        with explained(each.path, "read"):
            content = each.path.read_bytes()
        if hashlib.sha256(content).hexdigest() != each.digest:
            raise ResultsError(f"{each.path}: changed while it was read; run again when it is whole")
        write_atomically(copy, content)


def copy(path: Path, directory: Path) -> None:
    """Copy an input file of another results directory into `directory`."""
    make_folder(directory / INPUTS)
    with explained(path, "read"), path.open("rb") as file:
        content = file.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise ResultsError(f"{path}: is larger than {MAX_BYTES >> 20} MiB, the most that a scenario may name")
    write_atomically(directory / INPUTS / hashlib.sha256(content).hexdigest(), content)


def kept(directory: Path, manifest: Mapping[str, Any]) -> dict[str, Path]:
    """Copies of inputs in a results directory, by the names that its scenarios use.

    A manifest may be untrusted, so it can refer only to these copies. Raises `ResultsError` for one that is not a file.
    """
    named = {name: sha for name, sha in manifest.get("inputs", {}).items() if re.fullmatch(r"[0-9a-f]{64}", sha)}
    if not named or not owned(directory / INPUTS, folder=True):
        return {}
    return {name: copy for name, sha in named.items() if owned(copy := directory / INPUTS / sha)}
