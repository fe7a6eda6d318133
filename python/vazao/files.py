"""Files that are there whole or not at all, and a directory that one process at a time writes to."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedWriter
from pathlib import Path
from typing import Any

from vazao.errors import ResultsError

TEMPORARY = ".tmp"
"""Ending of a file being written. One left behind by a killed process means nothing and is removed."""

LOCK = ".lock"

MOST_BYTES = 4_000_000
"""The largest file of text that is read: far beyond any study, scenario or ledger, and soon read."""

_REASONS = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.EACCES: "no permission to write there",
    errno.EPERM: "no permission to write there",
    errno.EROFS: "the file system is read-only",
    errno.ENOTDIR: "a file stands where a directory is needed",
    errno.EEXIST: "a file stands where a directory is needed",
    errno.ENAMETOOLONG: "the name is too long",
    errno.ELOOP: "it is a symbolic link, which may lead elsewhere",
    errno.ENXIO: "it is no regular file",
}


def cache_folder() -> Path | None:
    """Directory where Vazão keeps what is no part of anybody's results; None where there is no home directory.

    `$VAZAO_CACHE`, or `vazao` in `$XDG_CACHE_HOME`, or `~/.cache/vazao`.
    """
    if own := os.environ.get("VAZAO_CACHE"):
        return Path(own).absolute()
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    try:
        return (base if base.is_absolute() else Path.home() / ".cache") / "vazao"
    except RuntimeError:
        return None


@contextmanager
def explained(path: Path, doing: str = "write") -> Iterator[None]:
    """Turn an operating system's error into one clear `ResultsError`."""
    try:
        yield
    except OSError as error:
        raise ResultsError(f"{path}: cannot {doing}: {in_words(error)}") from None


def in_words(error: OSError) -> str:
    """Describe what the operating system would not do."""
    return _REASONS.get(error.errno or 0, error.strerror or str(error))


def is_there(path: Path) -> bool:
    """Whether a path leads to anything; one that is too long to be a path does not."""
    try:
        return path.exists()
    except OSError:
        return False


class UnfitError(OSError):
    """A file that is not what may be read: a device, a pipe, something too large."""


def read_file(path: Path, *, links: bool = False, first: int | None = None) -> bytes:
    """A regular file's content, or its `first` bytes. Raises `OSError`.

    `links`: the user named it, so a symbolic link is followed.
    """
    # A pipe without a writer would keep an ordinary open waiting for ever.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | (0 if links else os.O_NOFOLLOW))
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if stat.S_ISDIR(status.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if not stat.S_ISREG(status.st_mode):
            raise UnfitError(0, "it is a device or a pipe; a regular file is needed")
        # Some files of the system's own say that they are empty and never end.
        content = file.read(MOST_BYTES + 1 if first is None else first)
    if len(content) > MOST_BYTES:
        raise UnfitError(0, f"it is larger than {MOST_BYTES // 10**6} MB, the most that is read")
    return content


def owned(path: Path, *, folder: bool = False) -> bool:
    """Whether a results directory has this file (or `folder`) of its own.

    Raises `ResultsError` where something else stands: a symbolic link leads out of the directory, to what is nobody's
    to read, write or delete there; a pipe or a device never ends.
    """
    with explained(path, "read"):
        try:
            mode = path.lstat().st_mode
        except FileNotFoundError:
            return False
    if not (stat.S_ISDIR(mode) if folder else stat.S_ISREG(mode)):
        wanted = "folder" if folder else "file"
        found = "a symbolic link" if stat.S_ISLNK(mode) else "something else"
        raise ResultsError(f"{path}: is {found} where a results directory has a {wanted} of its own; remove it")
    return True


def make_folder(path: Path) -> None:
    """Create a folder of a results directory; one that exists is fine, a symbolic link to one is not."""
    if not owned(path, folder=True):
        make_directory(path)


def make_directory(path: Path) -> None:
    """Create a directory and those above it; one that exists is fine."""
    with explained(path, "create the directory"):
        path.mkdir(parents=True, exist_ok=True)


def write_atomically(path: Path, content: bytes | memoryview) -> None:
    """Put `content` at `path` so that, whenever the process is killed, the old file or the whole new one is there."""
    with replacing(path) as file:
        file.write(content)


def write_json(path: Path, content: Any) -> None:
    """Write readable JSON, whole or not at all."""
    write_atomically(path, (json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode())


@contextmanager
def replacing(path: Path) -> Iterator[BufferedWriter]:
    """A file to write that takes its place at `path` when it is whole."""
    temporary = path.with_name(f".{path.name}{TEMPORARY}")
    with explained(path):
        try:
            # What stands there may be a link to elsewhere: it is removed, and the file must be new.
            temporary.unlink(missing_ok=True)
            with temporary.open("xb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
        except BaseException:
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
    with explained(directory / LOCK):
        owned(directory / LOCK)
        descriptor = os.open(directory / LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, 0o666)
    with os.fdopen(descriptor, "rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise ResultsError(f"{directory}: another vazao is writing there; wait for it, or choose --out") from None
        yield
