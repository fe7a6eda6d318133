"""Built-in files of the package."""

from __future__ import annotations

from importlib import resources
from pathlib import Path


def built_in_scenarios() -> dict[str, Path]:
    """Built-in scenarios by name."""
    return built_in("scenarios")


def built_in(folder: str) -> dict[str, Path]:
    """The TOML files of a folder of the package, by name."""
    files = Path(str(resources.files("vazao"))) / folder
    return {path.stem: path for path in sorted(files.glob("*.toml"))}
