"""Programs of this machine that a file's guests run: which they are, and whether the user allows them."""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import typer

from vazao import _core, study
from vazao.errors import ScenarioError

if TYPE_CHECKING:
    from vazao.study import Study

MOST, LONGEST = 20, 200
"""Programs that are shown, and characters of each."""


def of(scenarios: Iterable[_core.Scenario]) -> list[str]:
    """Programs that the guests of scenarios run, each once, in their order."""
    # Most say that they have none without being parsed, which takes a while where flows are many.
    told = (text for scenario in scenarios if '"command"' in (text := scenario.json))
    flows = (flow["app"] for text in told for flow in json.loads(text)["flows"])
    return list(
        dict.fromkeys(app[side] for app in flows if app.get("kind") == "command" for side in ("server", "client"))
    )


def of_study(asked: Study, text: str, overrides: Sequence[tuple[str, Any]]) -> list[str]:
    """Programs that the guests of a study run at full size, of which quick is a part."""
    return of(cell.scenario for cell in study.plan(asked, "full").cells) if may_have(text, overrides) else []


def may_have(text: str, overrides: Sequence[tuple[str, Any]] = ()) -> bool:
    """Whether a file could run programs at all: most say at once that they do not."""
    return "'command'" in repr((tomllib.loads(text), overrides))


def told(file: str, programs: Sequence[str]) -> str:
    """The sentence that a file runs programs, and which."""
    lines = [f"{file}: its guests run programs of this machine:", *(f"    {shown(each)}" for each in programs[:MOST])]
    if len(programs) > MOST:
        lines.append(f"    … and {len(programs) - MOST} more")
    if _core.has_walls():
        lines.append("They can read what is installed here, nothing of yours, and write nothing.")
    else:
        lines.append("This machine's Linux has no Landlock: only their guest keeps them from your files.")
    return "\n".join(lines)


def shown(program: str) -> str:
    """A program in one line, without what would command the terminal; of a long one the beginning and the length."""
    line = "".join(c if c.isprintable() else "⏎" if c == "\n" else "?" for c in program.strip())
    return line if len(line) <= LONGEST else f"{line[:LONGEST]}… ({len(line)} characters)"


def ask(file: str, programs: Sequence[str]) -> None:
    """Have the user allow the programs of a file. Raises `ScenarioError` if that is refused, or nobody can be asked."""
    if not programs:
        return
    question = told(file, programs)
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise ScenarioError(f"{question}\nIf you trust this file, say so with --allow-programs")
    typer.echo(question, err=True)
    if not typer.confirm("Run them?", err=True):
        raise ScenarioError(f"{file}: its programs were not allowed")
