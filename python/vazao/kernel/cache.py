"""The directory of built kernels."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from importlib import resources
from pathlib import Path

from vazao.errors import VazaoError
from vazao.files import cache_folder, explained, make_directory, write_atomically
from vazao.kernel.errors import KernelError
from vazao.kernel.process import discard

SERIES = ("6.12", "6.1")
"""The kernels whose source Debian packages and that are known to work."""

DEFAULT_SERIES = SERIES[0]

SHIPPED_HZ = 100
"""Timer interrupts a second of User Mode Linux as it is shipped. Another number is a change to its source."""

BINARY, RECORD = "linux", "kernel.json"

WORKPLACE = ".building"
"""Directory in which a build works; an interrupted one's, while it is removed, has a name that begins so."""


@dataclass(frozen=True)
class Kernel:
    """A User Mode Linux binary and where it comes from."""

    path: Path
    series: str
    """`6.12`."""
    release: str
    """Output of `uname -r` in it: `6.12.117`."""
    package_version: str | None
    """Debian's version of the source package; None if it was built from something else."""
    hz: int
    """Timer interrupts a second."""
    config_sha256: str
    """SHA-256 of the configuration fragment it was built from; for a binary built elsewhere, of its configuration."""
    sha256: str
    """SHA-256 of the binary."""
    source: str
    """The package or the source tree it was built from; `elsewhere` if Vazão did not build it."""
    compiler: str = ""
    built: str = ""
    """Time of the build in UTC: `2026-01-31 12:00:00`."""

    @property
    def name(self) -> str:
        """Name of the kernel in the cache, or its path."""
        return self.path.parent.name if self.path.parent.parent == folder() else str(self.path)

    @property
    def current(self) -> bool:
        """Whether it has the configuration that guests have today; one that was built elsewhere is asked itself."""
        return self.source == "elsewhere" or self.config_sha256 == digest(fragment())

    @property
    def unmodified(self) -> bool:
        """Whether its source is Debian's without a change."""
        return self.package_version is not None and self.hz == SHIPPED_HZ


def root() -> Path:
    """Vazão's cache. Raises `KernelError` where there is no home directory for it."""
    if place := cache_folder():
        return place
    raise KernelError("there is no home directory to keep kernels in; set VAZAO_CACHE to a directory")


def folder() -> Path:
    """Directory of kernels, each in a directory of its name."""
    return root() / "kernels"


def fragment() -> bytes:
    """The configuration that kernels are built with."""
    return (resources.files("vazao.kernel") / "linux.config").read_bytes()


def digest(content: bytes) -> str:
    """SHA-256 in hexadecimal."""
    return hashlib.sha256(content).hexdigest()


def kernels() -> list[Kernel]:
    """The kernels in the cache that can be used, by series and name.

    One with an older configuration is none: what keeps programs in their guest may be lacking.
    """
    return [kernel for kernel in built() if kernel.current]


def built() -> list[Kernel]:
    """All kernels in the cache, by series and name. What is incomplete or damaged is none."""
    found = [_read(record.parent) for record in sorted(folder().glob(f"[!.]*/{RECORD}"))]
    return sorted(filter(None, found), key=lambda kernel: (_numbers(kernel.series), kernel.name))


def cached(name: str) -> Kernel | None:
    """The kernel of that name in the cache."""
    return next((kernel for kernel in kernels() if kernel.name == name), None)


def _read(place: Path) -> Kernel | None:
    try:
        record = json.loads((place / RECORD).read_bytes())
        return Kernel(path=place / BINARY, **record) if (place / BINARY).is_file() else None
    except (OSError, ValueError, TypeError):
        return None


def _numbers(series: str) -> tuple[int, ...]:
    return tuple(int(part) for part in series.split(".") if part.isdigit())


def keep(kernel: Kernel, name: str, workplace: Path) -> Kernel:
    """Move a kernel that lies in `workplace` into the cache: whole, or not at all."""
    ready, place = workplace / "ready", folder() / name
    record = {key: value for key, value in asdict(kernel).items() if key != "path"}
    make_directory(ready)
    with explained(place):
        write_atomically(ready / BINARY, kernel.path.read_bytes())
        (ready / BINARY).chmod(0o755)
        write_atomically(ready / RECORD, json.dumps(record, indent=1).encode())
        if place.exists():
            place.rename(workplace / "replaced")
        ready.rename(place)
    return Kernel(path=place / BINARY, **record)


def clean() -> None:
    """Remove what a build has left that was killed, or interrupted while it was removing it; unless one is at work."""
    if _leftovers():
        with suppress(VazaoError), at_work() as workplace:
            workplace.rmdir()


def _leftovers() -> list[Path]:
    return list(folder().glob(f"{WORKPLACE}*"))


@contextmanager
def at_work() -> Iterator[Path]:
    """An empty directory in the cache to build in, for one process at a time; the caller empties it.

    What a killed build left there is removed first.
    """
    make_directory(folder())
    workplace = folder() / WORKPLACE
    with explained(folder()), (folder() / ".lock").open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno not in (errno.EAGAIN, errno.EACCES):
                raise
            raise KernelError(f"{folder()}: another build is at work there; wait for it to end") from None
        for leftover in _leftovers():
            discard(leftover)
        make_directory(workplace)
        yield workplace
