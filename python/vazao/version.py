"""Vazão's own version."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("vazao")
except PackageNotFoundError:  # A checkout that was not installed.
    __version__ = "0+unknown"
