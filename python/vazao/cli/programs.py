"""Programs that a file's guests run, and code of its algorithms: which they are, and whether the user allows them."""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from vazao import _core, scenario, study
from vazao.errors import ScenarioError

if TYPE_CHECKING:
    from vazao.results import Experiment
    from vazao.study import Study

MOST, LONGEST = 20, 200
"""Programs that are shown, and characters of each."""


@dataclass(frozen=True)
class Asked:
    """Programs in guests and Python code in this process that a file would run, with the files that hold the code."""

    programs: list[str]
    code: list[str]

    def __bool__(self) -> bool:
        return bool(self.programs or self.code)

    def trusted(self) -> Asked:
        """The part of a built-in file that is not its own: code that the command line names."""
        return Asked([], self.code)


def of(scenarios: Iterable[_core.Scenario]) -> Asked:
    """Programs and code of scenarios, each once, in their order."""
    programs: dict[str, None] = {}
    code: dict[str, None] = {}
    for one in scenarios:
        # Most say that they have none without being parsed, which takes a while where flows are many.
        if '"command"' in (text := one.json):
            apps = [flow["app"] for flow in json.loads(text)["flows"]]
            commands = [app for app in apps if app.get("kind") == "command"]
            programs |= dict.fromkeys(app[side] for app in commands for side in ("server", "client"))
        code |= dict.fromkeys(_placed(name, one) for name, _ in one.code)
    return Asked(list(programs), list(code))


def _placed(name: str, one: _core.Scenario) -> str:
    """The name of an algorithm, with the file that holds it."""
    file = name.rpartition(":")[0]
    path = next((path for known, path, _ in one.inputs if known == file), file)
    return f"{name} ({path})"


def of_study(asked: Study, text: str, overrides: Sequence[tuple[str, Any]]) -> Asked:
    """Programs and code of a study at full size, of which quick is a part."""
    return of(cell.scenario for cell in study.plan(asked, "full").cells) if may_have(text, overrides) else Asked([], [])


def of_experiment(asked: Experiment) -> Asked:
    """Programs and code of a scenario, with every value that its keys are varied to. Raises `ScenarioError`."""
    only = asked.scenario
    given = (*asked.overrides, *((each.key, each.values) for each in asked.variations))
    if not asked.variations or not may_have(asked.text, given):
        return of([only])
    return of_study(asked.study(), asked.text, given)


def may_have(text: str, overrides: Sequence[tuple[str, Any]] = ()) -> bool:
    """Whether a file could run anything at all: most say at once that they do not."""
    told = repr((tomllib.loads(text), overrides))
    return "'command'" in told or ".py:" in told


def told(file: str, asked: Asked) -> str:
    """The sentences that a file runs programs or code, and which."""
    lines: list[str] = []
    if asked.programs:
        lines += [f"{file}: its guests run programs of this machine:", *_listed(asked.programs)]
        if _core.has_walls():
            lines.append("They can read what is installed here, nothing of yours, and write nothing.")
        else:
            lines.append("This machine's Linux has no Landlock: only their guest keeps them from your files.")
    if asked.code:
        lines += [f"{file}: it runs Python code as an algorithm:", *_listed(asked.code)]
        lines.append("Such code can do all that you can: read, change and delete your files.")
    return "\n".join(lines)


def _listed(names: Sequence[str]) -> list[str]:
    more = [f"    … and {len(names) - MOST} more"] if len(names) > MOST else []
    return [*(f"    {shown(each)}" for each in names[:MOST]), *more]


def shown(program: str) -> str:
    """A program in one line, without what would command the terminal; of a long one the beginning and the length."""
    line = "".join(c if c.isprintable() else "⏎" if c == "\n" else "?" for c in program.strip())
    return line if len(line) <= LONGEST else f"{line[:LONGEST]}… ({len(line)} characters)"


def ask(file: str, asked: Asked) -> None:
    """Have the user allow what a file runs. Raises `ScenarioError` if that is refused, or nobody can be asked."""
    if not asked:
        return
    question = told(file, asked)
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise ScenarioError(f"{question}\nIf you trust this file, say so with --allow-programs")
    typer.echo(question, err=True)
    if not typer.confirm("Run them?" if asked.programs else "Run it?", err=True):
        raise ScenarioError(f"{file}: its programs were not allowed")


def ask_for(path: Path, asked: Asked, built_in: bool) -> None:
    """Have the user allow what a file would run; of a built-in file only what the command line adds is asked for."""
    ask(str(path), asked.trusted() if built_in else asked)


def permitted(path: Path, text: str, more: dict[str, Any], allow: bool, built_in: bool) -> _core.Scenario:
    """A scenario that may run its programs and its own algorithms. Raises `ScenarioError`."""
    if not allow:
        only = scenario.load(text, **more)
        asked = of([only])
        ask_for(path, asked, built_in)
        if not asked.code:
            return only
    return scenario.load(text, **more, allow_programs=True)
