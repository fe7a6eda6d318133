"""Resolution of a path or built-in name, the built-in studies, and the test for study or scenario."""

from __future__ import annotations

import re
from pathlib import Path

from vazao.errors import StudyError, did_you_mean
from vazao.files import is_there
from vazao.scenario import built_in, built_in_scenarios
from vazao.study.source import read_text
from vazao.words import LANGUAGES


def built_in_studies() -> dict[str, Path]:
    """Built-in studies, by name."""
    beside = tuple(f".{lang}" for lang in LANGUAGES)  # translations of a study
    return {name: path for name, path in built_in("studies").items() if not name.endswith(beside)}


ALL_THESES = "all-theses"
"""Name that stands for all built-in studies that reproduce an original."""


def theses() -> list[str]:
    """Built-in studies that reproduce an original, sorted by the original's year, with which their names end."""
    years = {name: year[1] for name in built_in_studies() if (year := re.search(r"-(\d{4})$", name))}
    return sorted(years, key=lambda name: (years[name], name))


def is_all_theses(name: str) -> bool:
    """Whether `name` stands for all of these studies and is not a file."""
    return name == ALL_THESES and not is_there(Path(name))


def find(name: str) -> Path:
    """File that a user names: a path, or the name of a built-in study or scenario. Raises `StudyError`."""
    if "\n" in name:
        raise StudyError("a file's name is needed, and this is a text: save it as a file, such as mine.toml")
    path = Path(name)
    if is_there(path) or path.suffix == ".toml" or len(path.parts) != 1:
        return path
    known = built_in_studies() | built_in_scenarios()
    if name not in known:
        raise StudyError(f"{name!r} is neither a file nor a built-in study or scenario{did_you_mean(name, known)}")
    return known[name]


def is_built_in(name: str) -> bool:
    """Whether `name` is a built-in study or scenario, which is trusted, and not a file."""
    return not is_there(Path(name)) and name in built_in_studies() | built_in_scenarios()


def is_shipped(name: str, text: str) -> bool:
    """Whether a study's text is exactly that of the built-in study of this name."""
    path = built_in_studies().get(name)
    return path is not None and read_text(path) == text


def is_study(text: str) -> bool:
    """Whether a TOML text is meant as a study, valid or not; otherwise it is a scenario."""
    return re.search(r"^[ \t]*\[[ \t]*study[ \t]*\]", text, re.MULTILINE) is not None
