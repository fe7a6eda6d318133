"""Record of what was made of stored results and need not be made again: a study's ledger, figures and report.

What they are follows from this program, the study and every stored row: from their digests a *product* has its key. A
record in the user's own cache says, by key, which files were made and the digest of each; where all of these are in the
results directory as they were made, they are not made again. The record is not kept beside them: a results directory
may be a stranger's, who could say of any page that it is the one.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, lru_cache
from hashlib import file_digest, sha256
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

from vazao import files
from vazao.errors import VazaoError
from vazao.results import parts
from vazao.results.manifest import MANIFEST, read_manifest
from vazao.results.store import MEASUREMENTS, NOT_RUN, PLANNED, STUDY
from vazao.scenario import kernels_at_hand
from vazao.study import Study

MOST = 500
"""Records that are kept: those that were made last."""


@dataclass(frozen=True)
class Product:
    """Files that were made of a study's stored results, or are to be."""

    directory: Path
    key: str

    def is_there(self) -> bool:
        """Whether its files have been made and are as they were made. Raises `ResultsError` for a folder elsewhere."""
        recorded = self._recorded()
        for folder in {Path(name).parent for name in recorded} - {Path()}:
            files.owned(self.directory / folder, folder=True)
        return bool(recorded) and all(_digest(self.directory / name) == made for name, made in recorded.items())

    def note(self, made: Iterable[Path]) -> None:
        """Say that these files of the directory are it. Where that cannot be kept, they are made again next time."""
        with suppress(VazaoError, OSError):
            record = self._record()
            if record is None:
                return
            digests = {str(path.relative_to(self.directory)): _digest(path) for path in made}
            if not all(digests.values()):
                return
            files.make_directory(record.parent)
            files.write_json(record, dict(sorted(digests.items())))
            oldest = sorted(record.parent.glob("*.json"), key=lambda path: path.stat().st_mtime_ns)[:-MOST]
            for path in oldest:
                path.unlink(missing_ok=True)

    def _record(self) -> Path | None:
        place = files.cache_folder()
        return place / "made" / f"{self.key}.json" if place else None

    def _recorded(self) -> dict[str, str]:
        with suppress(OSError, ValueError):
            if (record := self._record()) and isinstance(known := json.loads(files.read_file(record)), dict):
                return {str(name): str(digest) for name, digest in known.items()}
        return {}


def product(kind: str, study: Study, directory: Path) -> Product:
    """The product of a directory's results as they are now. Raises `ResultsError` where they cannot be read."""
    known = [kind, program(), _asked(study), list(_stored(directory)), _named(study, directory)]
    return Product(directory, sha256(json.dumps(known).encode()).hexdigest())


@cache
def program() -> list[str]:
    """The program that makes it: this package's own files with their templates and engine, the libraries, Python."""
    libraries = sorted(f"{each.name} {each.version}" for each in distributions())
    return [tree(Path(__file__).parents[1]), platform.python_version(), *libraries]


def tree(folder: Path) -> str:
    """The digest of a folder of programs: every file's name and content, but for what Python compiles of them."""
    own = sorted(path for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc")
    return sha256("".join(f"{path.relative_to(folder)} {_digest(path)}\n" for path in own).encode()).hexdigest()


def _asked(study: Study) -> list[Any]:
    """The question: the study as it is written and changed, and the kernels that its guests can have here."""
    return [study.text, *study.telling, repr(study.overrides), study.seed, kernels_at_hand(study.text, study.overrides)]


def _stored(directory: Path) -> Iterator[tuple[str, str]]:
    """Every file that the rows of a directory are in or are described by, with its digest."""
    for table in parts.TABLES:
        files.owned(directory / table, folder=True)
    every = [directory / name for name in (MANIFEST, STUDY, PLANNED, NOT_RUN)]
    if files.owned(directory / MEASUREMENTS, folder=True):
        every += sorted((directory / MEASUREMENTS).glob("*.csv"))
    every += [parts.part(directory, table, batch) for batch in parts.batches(directory) for table in parts.TABLES]
    for path in every:
        if files.owned(path):
            status = path.stat()
            yield str(path.relative_to(directory)), _part(path, status.st_ino, status.st_size, status.st_mtime_ns)


@lru_cache(maxsize=100_000)
def _part(path: Path, *_: int) -> str:
    """The digest of a file of rows, read once in this process: of samples there may be gigabytes."""
    return _digest(path)


def _named(study: Study, directory: Path) -> list[tuple[str, str]]:
    """The files that its scenarios name, as they are beside the study now."""
    names = sorted((read_manifest(directory) or {}).get("inputs", {}))
    return [(name, _digest(Path(study.file).parent / name)) for name in names]


def _digest(path: Path) -> str:
    """SHA-256 of a file; empty where there is none, only a symbolic link, or one that cannot be read."""
    try:
        if path.is_symlink() or not path.is_file():
            return ""
        with path.open("rb") as file:
            return file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""
