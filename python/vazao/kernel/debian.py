"""Debian's packages of kernel sources, downloaded by the package manager without root, and not installed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from vazao.kernel.process import Log, ToolError, plain_environment
from vazao.kernel.progress import Progress
from vazao.units import quantity


class DownloadError(ToolError):
    """The package could not be downloaded; the log has the reason."""


@dataclass(frozen=True)
class Package:
    """Debian's source package of a series."""

    name: str
    """Name of the package: `linux-source-6.12`."""
    version: str
    """Debian's version: `6.12.117-1~deb12u1`."""
    size: int
    """Bytes to download."""

    tools: ClassVar[Mapping[str, str]] = {"apt-get": "apt", "dpkg-deb": "dpkg", "tar": "tar", "xz": "xz-utils"}
    """Programs that `get` needs, and the package of each."""
    steps: ClassVar[Mapping[str, float]] = {"download": 10.0, "unpack": 12.0}
    """Steps of `get`, and their usual duration in seconds."""

    @property
    def identity(self) -> str:
        """Version of the package as part of a file's name."""
        return self.version.replace(":", "_")

    def get(self, workplace: Path, log: Log, progress: Progress) -> Path:
        """Download and unpack it below `workplace`, and return the path of the tree."""
        tree, unpacked = workplace / "tree", workplace / "package"
        with tempfile.TemporaryDirectory(prefix="vazao-kernel-") as shelf:
            progress.begin("download")
            package = self._download(Path(shelf), log, progress)
            progress.begin("unpack")
            unpacked.mkdir()
            log.run(["dpkg-deb", "-x", package, unpacked], where=workplace, environment=plain_environment())
        archives = list(unpacked.glob("usr/src/linux-source-*.tar.xz"))
        if len(archives) != 1:
            raise ToolError(f"{self.name} {self.version} holds {len(archives)} archives of a source tree, not one,")
        tree.mkdir()
        size = archives[0].stat().st_size
        # tar shares the file position with our file object, which therefore shows the progress.
        with archives[0].open("rb", buffering=0) as archive:
            log.run(
                ["tar", "-xJf", "-", "--no-same-owner", "--strip-components=1", "-C", tree],
                where=workplace,
                environment=plain_environment(),
                stdin=archive,
                tick=lambda: progress.at(archive.tell() / size),
            )
        shutil.rmtree(unpacked)
        return tree

    def _download(self, shelf: Path, log: Log, progress: Progress) -> Path:
        if os.geteuid() == 0:
            # Run by root, the package manager downloads as its own user `_apt`, who must be able to write here.
            with suppress(LookupError, OSError):
                shutil.chown(shelf, "_apt")

        def tick() -> None:
            with suppress(OSError):  # A partial file may be renamed in the meantime.
                have = sum(file.stat().st_size for file in shelf.rglob("*.deb*"))
                progress.at(have / self.size, f"{quantity(have, 'B')} of {quantity(self.size, 'B')}")

        try:
            command = ["apt-get", "download", f"{self.name}={self.version}"]
            log.run(command, where=shelf, environment=os.environ | {"LC_ALL": "C"}, tick=tick)
        except ToolError as error:
            raise DownloadError(str(error)) from None
        found = list(shelf.glob("*.deb"))
        if len(found) != 1:
            raise DownloadError("apt-get left no package and")
        return found[0]


def candidate(series: str) -> Package | None:
    """The package that would be downloaded for a series; None if the package manager knows none."""
    name = f"linux-source-{series}"
    try:
        answer = subprocess.run(
            ["apt-cache", "show", "--no-all-versions", name],
            env=os.environ | {"LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError:
        return None
    fields = dict(re.findall(r"^(Version|Size): (\S+)$", answer.stdout, re.MULTILINE))
    return Package(name, fields["Version"], int(fields["Size"])) if len(fields) == 2 else None
