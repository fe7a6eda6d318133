"""Helpers that call the command `vazao` as its users do: in this process, or in a subprocess."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from vazao import cli

MAIN = "from vazao.cli import main; main()"
"""The command as a program of `python -c`."""


@dataclass
class Answer:
    """Exit code and output of the command."""

    code: int
    out: str
    err: str


Vazao = Callable[..., Answer]


def caller(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *first: str) -> Vazao:
    """Calls the command in this process, with `first` as its leading arguments."""

    def call(*arguments: str) -> Answer:
        monkeypatch.setattr(sys, "argv", ["vazao", *first, *arguments])
        with pytest.raises(SystemExit) as end:
            cli.main()
        output = capsys.readouterr()
        code = end.value.code
        return Answer(code if isinstance(code, int) else 0, output.out, output.err)

    return call


def program(*arguments: str | Path) -> list[str]:
    """Command line that starts `vazao` in a subprocess."""
    return [sys.executable, "-c", MAIN, *map(str, arguments)]


def vazao(*arguments: str | Path, **environment: str) -> Answer:
    """Runs the command in a subprocess."""
    done = subprocess.run(
        program(*arguments), capture_output=True, text=True, timeout=120, env=os.environ | environment, check=False
    )
    return Answer(done.returncode, done.stdout, done.stderr)
