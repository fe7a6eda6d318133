"""Cache of derived outputs: a study's ledger, figures and report.

They depend only on this program, the study and every stored row: the digests of these give a *product* its key. A
record in the user's own cache lists, by key, the files that were written and the digest of each. While the results
directory has all of these files unchanged, they are not written again. The record is not stored beside them: a results
directory may come from an untrusted source, which could pass off any page as up to date.
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
from vazao.scenario import available_stacks
from vazao.store import parts
from vazao.store.directory import MEASUREMENTS, NOT_RUN, PLANNED, STUDY
from vazao.store.manifest import MANIFEST, read_manifest
from vazao.study import Study

MOST = 500
"""Number of records kept, the most recent ones."""


@dataclass(frozen=True)
class Product:
    """Files derived from a study's stored results, identified by a cache key; they may not exist yet."""

    directory: Path
    key: str

    def is_there(self) -> bool:
        """Whether its files exist and are unchanged. Raises `ResultsError` for a folder that is a symbolic link."""
        recorded = self._known_digests()
        for folder in {Path(name).parent for name in recorded} - {Path()}:
            files.owned(self.directory / folder, folder=True)
        return bool(recorded) and all(_digest(self.directory / name) == made for name, made in recorded.items())

    def note(self, made: Iterable[Path]) -> None:
        """Record these files of the directory as the product. If that fails, they are written again next time."""
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

    def _known_digests(self) -> dict[str, str]:
        with suppress(OSError, ValueError):
            if (record := self._record()) and isinstance(known := json.loads(files.read_file(record)), dict):
                return {str(name): str(digest) for name, digest in known.items()}
        return {}


def product(kind: str, study: Study, directory: Path) -> Product:
    """The product of a directory's current results. Raises `ResultsError` if they cannot be read."""
    known = [kind, program(), _study_key(study), list(_stored_digests(directory)), _input_digests(study, directory)]
    return Product(directory, sha256(json.dumps(known).encode()).hexdigest())


@cache
def program() -> list[str]:
    """Identity of this program: digest of the package with engine and templates, versions of Python and libraries."""
    libraries = sorted(f"{each.name} {each.version}" for each in distributions())
    return [tree(Path(__file__).parents[1]), platform.python_version(), *libraries]


def tree(folder: Path) -> str:
    """Digest of a folder of programs: every file's name and content, except compiled Python files."""
    own = sorted(path for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc")
    return sha256("".join(f"{path.relative_to(folder)} {_digest(path)}\n" for path in own).encode()).hexdigest()


def _study_key(study: Study) -> list[Any]:
    """The study's text, translation, overrides and seed, and the kernels available here for its guests."""
    return [
        study.text,
        *study.telling,
        repr(study.overrides),
        study.seed,
        available_stacks(study.text, study.overrides),
    ]


def _stored_digests(directory: Path) -> Iterator[tuple[str, str]]:
    """Every file that stores or describes the rows of a directory, with its digest."""
    for table in parts.TABLES:
        files.owned(directory / table, folder=True)
    every = [directory / name for name in (MANIFEST, STUDY, PLANNED, NOT_RUN)]
    if files.owned(directory / MEASUREMENTS, folder=True):
        every += sorted((directory / MEASUREMENTS).glob("*.csv"))
    every += [parts.part(directory, table, batch) for batch in parts.batches(directory) for table in parts.TABLES]
    for path in every:
        if files.owned(path):
            stat = path.stat()
            yield str(path.relative_to(directory)), _digest_once(path, stat.st_ino, stat.st_size, stat.st_mtime_ns)


@lru_cache(maxsize=100_000)
def _digest_once(path: Path, *_: int) -> str:
    """Digest of a file of rows, read once per process: samples may take gigabytes."""
    return _digest(path)


def _input_digests(study: Study, directory: Path) -> list[tuple[str, str]]:
    """The files that the study's scenarios name, with the current digests of those beside the study."""
    names = sorted((read_manifest(directory) or {}).get("inputs", {}))
    return [(name, _digest(Path(study.file).parent / name)) for name in names]


def _digest(path: Path) -> str:
    """SHA-256 of a file; empty if it is missing, a symbolic link, or unreadable."""
    try:
        if path.is_symlink() or not path.is_file():
            return ""
        with path.open("rb") as file:
            return file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""
