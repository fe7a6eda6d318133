"""The command-line interface."""

from vazao.cli.main import app, main

__all__ = ["app", "main"]
