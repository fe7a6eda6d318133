"""Measurement files in a results directory: copies of the sets that joined a study, and a file with their verdicts."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from vazao.errors import ResultsError, StudyError
from vazao.files import make_folder, owned, read_file, remove, write_atomically, write_json
from vazao.measurements.measured import Measured
from vazao.measurements.readings import name_of, read
from vazao.store import MANIFEST, MEASUREMENTS, STUDY, columns_of
from vazao.study import Source, Study, read_text

TOLD = "measurements.json"
"""File of a results directory with a summary of each set that joined, and its verdicts."""

MAX_SETS = 20
"""Largest number of sets that may join a study."""

_COPY = re.compile(r"([a-z0-9][a-z0-9._-]*)\.csv")


def kept_measurements(directory: Path) -> dict[str, Path]:
    """Copies of measurement sets in a results directory, by the names of the sets."""
    folder = directory / MEASUREMENTS
    if not owned(folder, folder=True):
        return {}
    found = {name[1]: path for path in sorted(folder.iterdir()) if (name := _COPY.fullmatch(path.name)) and owned(path)}
    if len(found) > MAX_SETS:
        raise ResultsError(f"{folder}: has {len(found)} files; at most {MAX_SETS} sets of measurements join a study")
    return found


def joined(study: Study, directory: Path | None = None, given: Sequence[Path] = ()) -> list[Measured]:
    """The measurement sets of a study: those that its file names, those `given`, and those stored in a directory.

    Raises `StudyError` for an invalid file.
    """
    files = _files(study, directory, given)
    if not files:
        return []
    known = columns_of(study)
    schemas = {table: dict(known[table].schema) for table in ("runs", "flows")}
    declared = {one.name: one for one in study.measurements}
    sets = []
    for name, path in files.items():
        title, source = (declared[name].title, declared[name].source) if name in declared else ("", "")
        try:
            # Symbolic links are followed only for files that the user gives: studies and directories may be untrusted.
            found = read(study, schemas, path, name, title, source, links=path in given)
            sets.append(Measured.of(study, found))
        except StudyError as error:
            hint = f"\nIt joined before; without {path} it is left out." if path.parent.name == MEASUREMENTS else ""
            raise StudyError(f"{error}{hint}") from None
    return sets


def are_kept(directory: Path, sets: Sequence[Measured]) -> bool:
    """Whether a results directory has copies of exactly these sets, and their verdicts."""
    copies = kept_measurements(directory)
    return owned(directory / TOLD) == bool(sets) and {one.name: one.readings.content for one in sets} == {
        name: read_file(path) for name, path in copies.items()
    }


def keep(directory: Path, sets: Sequence[Measured]) -> None:
    """Store a copy of each set, and remove copies of any others."""
    names = {one.name for one in sets}
    for name, path in kept_measurements(directory).items():
        if name not in names:
            remove(path)
    take(directory, {one.name: one.readings.content for one in sets})


def together(directory: Path, others: Sequence[Path]) -> dict[str, bytes]:
    """The sets that a directory must copy from other directories, by name.

    Raises `ResultsError` if two sets of the same name differ.
    """
    found: dict[str, tuple[Path, bytes]] = {}
    for place in (directory, *others):
        for name, path in kept_measurements(place).items():
            content = read_file(path)
            there, known = found.setdefault(name, (place, content))
            if content != known:
                raise ResultsError(f"{path}: is another set than that of this name that {there} has; rename one")
    if len(found) > MAX_SETS:
        raise ResultsError(
            f"{directory}: would have {len(found)} sets of measurements; at most {MAX_SETS} join a study"
        )
    return {name: content for name, (place, content) in found.items() if place != directory}


def take(directory: Path, sets: Mapping[str, bytes]) -> None:
    """Add copies of sets to those in a directory."""
    for name, content in sets.items():
        make_folder(directory / MEASUREMENTS)
        write_atomically(directory / MEASUREMENTS / f"{name}.csv", content)


def write(directory: Path, sets: Sequence[Measured]) -> list[Path]:
    """Store the summaries and verdicts of sets, or remove their file if there are none; return the files written."""
    path = directory / TOLD
    if not sets:
        if owned(path):
            remove(path)
        return []
    write_json(path, [one.as_data() for one in sets])
    return [path]


def _files(study: Study, directory: Path | None, given: Sequence[Path]) -> dict[str, Path]:
    """The file of each set by name, the study's own first. Raises `StudyError` for two sets of one name."""
    copies = {} if directory is None else kept_measurements(directory)
    files = _named(study, copies) if study.measurements else {}
    for path in given:
        name = name_of(path)
        if name in files:
            raise StudyError(f"{path}: measurements called {name!r} are there already; rename the file")
        files[name] = path
    before = _named_before(directory) if directory and copies else set()
    files |= {name: path for name, path in copies.items() if name not in files and name not in before}
    if len(files) > MAX_SETS:
        raise StudyError(f"{study.file}: {len(files)} sets of measurements; at most {MAX_SETS} join a study")
    return files


def _named(study: Study, copies: Mapping[str, Path]) -> dict[str, Path]:
    """The file of each set that a study names, or its copy if the file is no longer beside the study."""
    beside = Path(study.file).parent
    if Path(study.file).name == STUDY and owned(beside / MANIFEST):
        # Results may be untrusted, and have copies of all joined sets: nothing else in their directory is read.
        copies = {**copies, **kept_measurements(beside)}
        return {one.name: copies.get(one.name, beside / MEASUREMENTS / f"{one.name}.csv") for one in study.measurements}
    files = {one.name: beside / one.file for one in study.measurements}
    # A symbolic link counts as present, even a broken one: reading it is refused.
    return {name: path if os.path.lexists(path) else copies.get(name, path) for name, path in files.items()}


def _named_before(directory: Path) -> set[str]:
    """Names of the sets in the study's file, as of the last write to the directory."""
    path = directory / STUDY
    if not owned(path):
        return set()
    entries = Source(str(path), read_text(path)).document.get("measurements", [])
    return {str(one.get("name")) for one in entries if isinstance(one, dict)} if isinstance(entries, list) else set()
