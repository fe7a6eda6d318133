"""`vazao completion`: shell completion scripts, and the candidates that they request.

Typer could provide the candidates as well, but would load pydantic, and a shell requests them at each key press.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from enum import StrEnum
from importlib import resources
from typing import Annotated, Any

import typer

VARIABLE = "VAZAO_COMPLETE"
"""Environment variable of a script's request: the index, among the command's words, of the one to complete."""


class Shell(StrEnum):
    """A shell with a completion script."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def completion(shell: Annotated[Shell, typer.Argument(help="The shell.")]) -> None:
    """Print a script that completes commands, files, studies, results and keys; its first lines say where it goes."""
    script = resources.files("vazao.cli") / f"completion.{shell.value}"
    sys.stdout.write(script.read_text(encoding="utf-8"))


def answer(app: typer.Typer) -> None:
    """Print the candidates that a completion script requests, one per line, and exit; return if there is no request."""
    place = os.environ.get(VARIABLE)
    if place is None:
        return
    words, at = _joined(sys.argv[1:], int(place)) if place.isdecimal() else ([], 0)
    if 0 < at < len(words):
        for candidate in candidates(app, words[1:at], words[at]):
            print(candidate)
    raise SystemExit(0)


def _joined(words: Sequence[str], place: int) -> tuple[list[str], int]:
    """Rejoin KEY=VALUE, which bash splits into three words, and adjust the index of the word to complete."""
    joined: list[str] = []
    at = 0
    for n, word in enumerate(words):
        if joined and n and (word == "=" or (words[n - 1] == "=" and joined[-1].endswith("="))):
            joined[-1] += word
        else:
            joined.append(word)
        if n == place:
            at = len(joined) - 1
            break
    return joined, at


def candidates(app: typer.Typer, before: Sequence[str], incomplete: str) -> list[str]:
    """Words that may follow those `before` and start with `incomplete`."""
    command: Any = typer.main.get_command(app)
    given: list[str] = []
    owed: Any = None
    for word in before:
        if owed is not None:
            owed = None
        elif word.startswith("-"):
            owed = _valued(command, word)
        elif hasattr(command, "commands"):
            if word not in command.commands:
                return []
            command = command.commands[word]
        else:
            given.append(word)
    if owed is not None:
        return _of(command, owed, incomplete)
    if incomplete.startswith("-"):
        options = (option for each in command.params for option in (*each.opts, *each.secondary_opts))
        return sorted(option for option in options if option.startswith("--") and option.startswith(incomplete))
    if hasattr(command, "commands"):
        return [name for name in command.commands if name.startswith(incomplete)]
    arguments = [each for each in command.params if each.param_type_name == "argument"]
    several = [each for each in arguments if each.nargs != 1]
    left = [*arguments[len(given) :], *several]
    return _of(command, left[0], incomplete) if left else []


def _valued(command: Any, word: str) -> Any:
    """The option that a word names, if its value is the next word; else None."""
    named = (each for each in command.params if word in (*each.opts, *each.secondary_opts))
    found = next(named, None)
    return None if found is None or found.is_flag else found


def _of(command: Any, parameter: Any, incomplete: str) -> list[str]:
    """Candidates for a parameter's value; none for a file, which the shell completes itself."""
    items = parameter.shell_complete(typer.Context(command), incomplete)
    return [item.value for item in items if item.type == "plain"]
