"""Versions of the software that produced a result: the engine, Vazão, Python."""

import platform
from importlib.metadata import PackageNotFoundError, version

from vazao import _core

try:
    __version__ = version("vazao")
except PackageNotFoundError:  # A checkout that was not installed.
    __version__ = "0+unknown"


def versions() -> dict[str, str]:
    """Versions of the software that produces results. Only the engine's affects the outcome of a run."""
    return {"engine": _core.ENGINE_VERSION, "vazao": __version__, "python": platform.python_version()}
