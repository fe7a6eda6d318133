"""Files that are there whole or not at all, and a directory that one process at a time writes to."""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from vazao.errors import ResultsError

TEMPORARY = ".tmp"
"""Ending of a file being written. One left behind by a killed process means nothing and is removed."""

LOCK = ".lock"

_REASONS = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.EACCES: "no permission to write there",
    errno.EPERM: "no permission to write there",
    errno.EROFS: "the file system is read-only",
    errno.ENOTDIR: "a file stands where a directory is needed",
    errno.EEXIST: "a file stands where a directory is needed",
    errno.ENAMETOOLONG: "the name is too long",
}


@contextmanager
def explained(path: Path, doing: str = "write") -> Iterator[None]:
    """Turn an operating system's error into one clear `ResultsError`."""
    try:
        yield
    except OSError as error:
        reason = _REASONS.get(error.errno or 0, error.strerror or str(error))
        raise ResultsError(f"{path}: cannot {doing}: {reason}") from None


def make_directory(path: Path) -> None:
    """Create a directory and those above it; one that exists is fine."""
    with explained(path, "create the directory"):
        path.mkdir(parents=True, exist_ok=True)


def write_atomically(path: Path, content: bytes | memoryview) -> None:
    """Put `content` at `path` so that, whenever the process is killed, the old file or the whole new one is there."""
    temporary = path.with_name(f".{path.name}{TEMPORARY}")
    with explained(path):
        try:
            with temporary.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
        except OSError:
            temporary.unlink(missing_ok=True)
            raise
        sync_directory(path.parent)


def sync_directory(path: Path) -> None:
    """Make renames inside a directory survive a power cut."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def remove(path: Path) -> None:
    """Delete a file that a killed process left."""
    with explained(path, "remove a leftover"):
        path.unlink(missing_ok=True)


@contextmanager
def locked(directory: Path) -> Iterator[None]:
    """Hold `directory` for writing. Raises `ResultsError` when another process does; a killed process holds nothing."""
    with explained(directory):
        file = (directory / LOCK).open("a")
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise ResultsError(f"{directory}: another vazao is writing there; wait for it, or choose --out") from None
        yield
