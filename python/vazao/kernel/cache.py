"""Cache of built kernels."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from functools import cache
from importlib import resources
from pathlib import Path

from vazao.errors import VazaoError
from vazao.files import cache_folder, explained, make_directory, write_atomically
from vazao.kernel.errors import KernelError
from vazao.kernel.process import discard

SERIES = ("6.12", "6.1")
"""Kernel series that Debian packages as source and that are known to work."""

DEFAULT_SERIES = SERIES[0]

SHIPPED_HZ = 100
"""Timer interrupts per second of User Mode Linux as shipped. Another number requires a change to its source."""

BINARY, RECORD = "linux", "kernel.json"

WORKPLACE = ".building"
"""Working directory of a build. That of an interrupted build, while being removed, has a name with this prefix."""


@dataclass(frozen=True)
class Kernel:
    """A User Mode Linux binary and where it comes from."""

    path: Path
    series: str
    """Series, such as `6.12`."""
    release: str
    """Output of `uname -r` in the guest: `6.12.117`."""
    package_version: str | None
    """Debian's version of the source package; None if it was built from something else."""
    hz: int
    """Timer interrupts per second."""
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
        """Whether it has the current guest configuration; a kernel built elsewhere is inspected itself."""
        return self.source == "elsewhere" or self.config_sha256 == digest(fragment())

    @property
    def unmodified(self) -> bool:
        """Whether it was built from Debian's unmodified source."""
        return self.package_version is not None and self.hz == SHIPPED_HZ


def root() -> Path:
    """Vazão's cache directory. Raises `KernelError` if there is no home directory for it."""
    if place := cache_folder():
        return place
    raise KernelError("there is no home directory to keep kernels in; set VAZAO_CACHE to a directory")


def folder() -> Path:
    """Directory of kernels, with a subdirectory for each by name."""
    return root() / "kernels"


def fragment() -> bytes:
    """Configuration fragment that kernels are built with."""
    usual = (resources.files("vazao.kernel") / "linux.config").read_bytes()
    return usual + LARGER_STACKS if has_large_state() else usual


LARGER_STACKS = b"CONFIG_KERNEL_STACK_ORDER=4\n"
"""Configuration on processors with a large state, which the kernel saves on its stacks."""


@cache
def has_large_state() -> bool:
    """Whether this processor's state is larger than User Mode Linux before 6.13 has room for, as with Intel's AMX."""
    try:
        return re.search(r"^flags\b.*\bamx_tile\b", Path("/proc/cpuinfo").read_text(), re.MULTILINE) is not None
    except OSError:
        return False


def digest(content: bytes) -> str:
    """SHA-256 in hexadecimal."""
    return hashlib.sha256(content).hexdigest()


def kernels() -> list[Kernel]:
    """Usable kernels in the cache, by series and name.

    Kernels with an older configuration are excluded: they may lack what confines programs to their guest.
    """
    return [kernel for kernel in built() if kernel.current]


def built() -> list[Kernel]:
    """All kernels in the cache, by series and name. Incomplete or damaged ones are skipped."""
    found = [_read(record.parent) for record in sorted(folder().glob(f"[!.]*/{RECORD}"))]
    return sorted(filter(None, found), key=lambda kernel: (_numbers(kernel.series), kernel.name))


def cached(name: str) -> Kernel | None:
    """The usable kernel of that name in the cache; None if there is none."""
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
    """Move a kernel from `workplace` into the cache atomically."""
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
    """Remove leftovers of builds that were killed, or interrupted during clean-up, unless a build is running."""
    if _leftovers():
        with suppress(VazaoError), build_lock() as workplace:
            workplace.rmdir()


def _leftovers() -> list[Path]:
    return list(folder().glob(f"{WORKPLACE}*"))


@contextmanager
def build_lock() -> Iterator[Path]:
    """Lock the cache and yield an empty directory to build in, which the caller must empty.

    Leftovers of killed builds are removed first. Raises `KernelError` if another build is running.
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
