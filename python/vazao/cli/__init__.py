"""The command line: what a user types, and what a terminal shows."""

from vazao.cli.main import app, main

__all__ = ["app", "main"]
