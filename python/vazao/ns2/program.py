"""The installed ns-2: where it is, its version and its digest."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from functools import cache
from hashlib import file_digest
from pathlib import Path

from vazao.words import ENGLISH

COMMAND = "ns"
PACKAGE = "ns2"
"""Name of the command, and of Debian's package that has it."""

_PATIENCE = 20.0
"""Seconds within which ns-2 must report its version; a command that does not is not ns-2."""


@dataclass(frozen=True)
class Program:
    """An installed ns-2."""

    path: Path
    version: str
    sha256: str
    """Digest of the executable: a distribution may build one version several times."""


def find() -> Program | None:
    """The ns-2 that the command `ns` starts; None if there is none."""
    found = shutil.which(COMMAND)
    return _known(Path(found).resolve()) if found else None


@cache
def _known(path: Path) -> Program | None:
    commands = ["puts [ns-version]", "exit 0"]
    try:
        answer = subprocess.run(
            [path],
            input="\n".join(commands),
            capture_output=True,
            text=True,
            timeout=_PATIENCE,
            env=environment(),
            cwd="/",
            errors="replace",
        )
        version = re.fullmatch(r"\s*(2\.[0-9]{1,3}[a-z0-9.]{0,8})\s*", answer.stdout)
        if not version:
            return None
        with path.open("rb") as file:
            return Program(path, version[1], file_digest(file, "sha256").hexdigest())
    except (OSError, subprocess.TimeoutExpired):
        return None


def missing() -> str:
    """Message that explains what to do if `find` finds nothing."""
    return ENGLISH.say("reason.simulator", command=COMMAND, package=PACKAGE)


def environment() -> dict[str, str]:
    """Environment of ns-2, without anything of the user's that could change what it simulates."""
    return {"PATH": os.defpath, "HOME": "/nonexistent", "LC_ALL": "C"}
