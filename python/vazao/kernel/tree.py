"""A user's kernel source tree, modified or not, which is only read."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from vazao.files import explained
from vazao.kernel.errors import KernelError
from vazao.kernel.process import Log
from vazao.kernel.progress import Progress

BUILT = re.compile(r"(arch/\w+/)?include/(generated|config)|linux|System\.map|modules\.\w+|.*\.(o|a|so|dbg)")
"""Files that a build leaves in a tree, in addition to those that it records (`.NAME.cmd`)."""


@dataclass(frozen=True)
class Tree:
    """A source tree and the digest of its files."""

    path: Path
    digest: str

    version: ClassVar[None] = None
    tools: ClassVar[Mapping[str, str]] = {}
    steps: ClassVar[Mapping[str, float]] = {"copy": 15.0}

    @property
    def name(self) -> str:
        """Path of the tree."""
        return str(self.path)

    @property
    def identity(self) -> str:
        """Name of the tree's directory and its digest, as part of a file's name."""
        return f"{re.sub(r'[^A-Za-z0-9._]', '_', self.path.name).strip('.') or 'tree'}-{self.digest[:12]}"

    def get(self, workplace: Path, log: Log, progress: Progress) -> Path:  # noqa: ARG002 (a package needs the log)
        """Copy it below `workplace` without build products, and return the path of the copy."""
        progress.begin("copy")
        copy = workplace / "tree"
        with explained(self.path, "copy"):
            names = source_files(self.path)
            for number, name in enumerate(names):
                target = copy / name
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(self.path / name, target, follow_symlinks=False)
                progress.at(number / len(names), f"{number} of {len(names)} files")
        return copy


def read_tree(path: Path) -> Tree:
    """Read the current state of the tree at `path`. Raises `KernelError` if it is no kernel source tree."""
    path = path.absolute()
    if not (path / "arch/um/Kconfig").is_file():
        what = "no Linux source tree (it has no arch/um/Kconfig)" if path.is_dir() else "no such directory"
        raise KernelError(f"{path}: {what}; --source wants the top directory of an unpacked kernel source")
    whole = hashlib.sha256()
    with explained(path, "read"):
        for name in source_files(path):
            file = path / name
            content = os.fsencode(file.readlink()) if file.is_symlink() else file.read_bytes()
            whole.update(os.fsencode(name) + b"\0%d\0%d\0" % (os.access(file, os.X_OK), len(content)))
            whole.update(content)
    return Tree(path, whole.hexdigest())


def source_files(path: Path) -> list[str]:
    """Sorted names of a tree's files, without build products and version control."""
    return sorted(_in_git(path) or _on_disk(path))


def _in_git(path: Path) -> list[str]:
    """Files that git tracks or would add; none if the tree is no repository."""
    if not (path / ".git").exists() or not shutil.which("git"):
        return []
    command = ["git", "-C", str(path), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    answer = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    names = [] if answer.returncode else os.fsdecode(answer.stdout).split("\0")
    return [name for name in dict.fromkeys(names) if name and os.path.lexists(path / name)]


def _on_disk(path: Path) -> Iterator[str]:
    for directory, subdirectories, files in os.walk(path):
        place = os.path.relpath(directory, path)
        prefix = "" if place == "." else f"{place}/"
        links = [name for name in subdirectories if (Path(directory) / name).is_symlink()]
        subdirectories[:] = [
            name for name in subdirectories if name != ".git" and not BUILT.fullmatch(f"{prefix}{name}")
        ]
        here = set(files)
        for name in [*files, *links]:
            built = f".{name}.cmd" in here or BUILT.fullmatch(f"{prefix}{name}")
            if not built and (not name.startswith(".") or name == ".gitignore"):
                yield f"{prefix}{name}"
