"""Atomic writes, guarded reads, ownership checks, directory locks, clear I/O errors, and the cache folder."""

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
from typing import IO, Any

from vazao.errors import ResultsError

TEMPORARY = ".tmp"
"""Suffix of a file being written. A leftover of a killed process is removed."""

LOCK = ".lock"

MAX_BYTES = 4_000_000
"""Maximum size of a text file: far beyond any study, scenario or ledger, and still quick to read."""

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
    """Cache directory of Vazão, for data that belongs to no results; None if there is no home directory.

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
    """Convert an `OSError` into a `ResultsError` with a clear message."""
    try:
        yield
    except OSError as error:
        raise ResultsError(f"{path}: cannot {doing}: {in_words(error)}") from None


def in_words(error: OSError) -> str:
    """Describe the cause of an operating system error."""
    return _REASONS.get(error.errno or 0, error.strerror or str(error))


def is_there(path: Path) -> bool:
    """Whether a path exists; False for one that is too long to be a path."""
    try:
        return path.exists()
    except OSError:
        return False


class UnreadableFileError(OSError):
    """A file that must not be read: a device, a pipe, or one that is too large."""


@contextmanager
def opened(path: Path, *, links: bool = True) -> Iterator[IO[bytes]]:
    """Open a regular file for reading. Raises `OSError`.

    `links` follows a symbolic link, for a path that the user named.
    """
    # Opening a pipe that has no writer would block forever without O_NONBLOCK.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | (0 if links else os.O_NOFOLLOW))
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if stat.S_ISDIR(status.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if not stat.S_ISREG(status.st_mode):
            raise UnreadableFileError(0, "it is a device or a pipe; a regular file is needed")
        yield file


def read_file(path: Path, *, links: bool = False, first: int | None = None) -> bytes:
    """Read a regular file, or its `first` bytes. Raises `OSError`; `links` is as in `opened`."""
    with opened(path, links=links) as file:
        # Some system files report size 0 and never end.
        content = file.read(MAX_BYTES + 1 if first is None else first)
    if len(content) > MAX_BYTES:
        raise UnreadableFileError(0, f"it is larger than {MAX_BYTES // 10**6} MB, the most that is read")
    return content


def owned(path: Path, *, folder: bool = False) -> bool:
    """Whether a results directory contains this regular file (or `folder`).

    Raises `ResultsError` if anything else is in its place: a symbolic link leads to files outside of the directory,
    which must not be read, written or deleted; a pipe or a device never ends.
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
    """Create a folder in a results directory; an existing one is accepted, a symbolic link to one is not."""
    if not owned(path, folder=True):
        make_directory(path)


def make_directory(path: Path) -> None:
    """Create a directory and its parents; an existing one is accepted."""
    with explained(path, "create the directory"):
        path.mkdir(parents=True, exist_ok=True)


def write_atomically(path: Path, content: bytes | memoryview) -> None:
    """Write `content` to `path` atomically: a killed process leaves either the old file or the whole new one."""
    with replacing(path) as file:
        file.write(content)


def write_json(path: Path, content: Any) -> None:
    """Write indented JSON atomically."""
    write_atomically(path, (json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode())


@contextmanager
def replacing(path: Path) -> Iterator[BufferedWriter]:
    """Open a temporary file for writing, which replaces `path` once it is complete."""
    temporary = path.with_name(f".{path.name}{TEMPORARY}")
    with explained(path):
        # Whoever may write in /dev would replace the device itself.
        if path.exists() and not (path.is_file() or path.is_dir()):
            raise OSError(errno.ENXIO, os.strerror(errno.ENXIO))
        try:
            # An existing entry may be a symbolic link to elsewhere: remove it, and require a new file.
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
    """Delete a leftover file of a killed process."""
    with explained(path, "remove a leftover"):
        path.unlink(missing_ok=True)


@contextmanager
def locked(directory: Path) -> Iterator[None]:
    """Hold the write lock of `directory`, which ends with the process. Raises `ResultsError` if another holds it."""
    with explained(directory / LOCK):
        owned(directory / LOCK)
        descriptor = os.open(directory / LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, 0o666)
    with os.fdopen(descriptor, "rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise ResultsError(f"{directory}: another vazao is writing there; wait for it, or choose --out") from None
        yield
