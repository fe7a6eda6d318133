"""Permission to run the programs of a file's guests and the code of its algorithms."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from vazao import _core, execution, scenario, study
from vazao.cli.options import change
from vazao.errors import ScenarioError

if TYPE_CHECKING:
    from vazao.execution import CodeRequest
    from vazao.results import Experiment, Gate
    from vazao.scenario import Allowed
    from vazao.study import Study


def of_study(asked: Study, text: str, overrides: Sequence[tuple[str, Any]]) -> CodeRequest:
    """Programs and code of a study at full size, which includes the quick size."""
    return (
        execution.CodeRequest.of(cell.scenario for cell in study.plan(asked, "full").cells)
        if may_have(text, overrides)
        else execution.CodeRequest([], [])
    )


def of_experiment(asked: Experiment) -> CodeRequest:
    """Programs and code of a scenario under all values of its varied keys. Raises `ScenarioError`."""
    only = asked.scenario
    given = (*asked.overrides, *((each.key, each.values) for each in asked.variations))
    if not asked.variations or not may_have(asked.text, given):
        return execution.CodeRequest.of([only])
    return of_study(asked.study(), asked.text, given)


def experiment(path: Path, takes: str, changes: Sequence[str] | None, first: int | None, *, allow: bool) -> Experiment:
    """A file's scenario with its changes and first seed, with leave for the programs that it would run.

    `takes` is what is said of a study in its place. Raises `ScenarioError`, also on refusal.
    """
    from vazao import results

    text = study.read_text(path)
    if study.is_study(text):
        raise ScenarioError(f"{path}: is a study; {takes}")
    asked = results.Experiment(path, text, tuple(change(one) for one in changes or []), first)
    return replace(asked, allow_programs=True if allow else ask_for(path, of_experiment(asked), built_in=False))


def may_have(text: str, overrides: Sequence[tuple[str, Any]] = ()) -> bool:
    """Whether a file could run programs or code at all: a quick test that rules out most files."""
    content = repr((tomllib.loads(text), overrides))
    return "'command'" in content or ".py:" in content


def ask(file: str, asked: CodeRequest) -> None:
    """Ask the user to allow what a file runs. Raises `ScenarioError` on refusal, or without a terminal to ask on."""
    if not asked:
        return
    question = asked.message(file)
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise ScenarioError(f"{question}\nIf you trust this file, say so with --allow-programs")
    typer.echo(question, err=True)
    if not typer.confirm("Run them?" if asked.programs else "Run it?", err=True):
        raise ScenarioError(f"{file}: its programs were not allowed")


def ask_for(path: Path, asked: CodeRequest, built_in: bool) -> Allowed:
    """Ask the user to allow what a file would run; for a built-in file, only what the command line adds.

    The permission covers exactly the code that was asked about, not code that replaces it in the meantime.
    """
    ask(str(path), asked.trusted() if built_in else asked)
    return asked.leave


def gate(allow: bool) -> Gate:
    """Permission check for stored runs: asks the user, unless `--allow-programs` was given."""
    return lambda name, asked: True if allow else ask_for(Path(name), asked, built_in=False)


def permitted(path: Path, text: str, more: dict[str, Any], allow: bool, built_in: bool) -> _core.Scenario:
    """Load a scenario with permission to run its programs and custom algorithms. Raises `ScenarioError`."""
    leave: Allowed = True
    if not allow:
        only = scenario.load(text, **more)
        asked = execution.CodeRequest.of([only])
        leave = ask_for(path, asked, built_in)
        if not asked.code:
            return only
    return scenario.load(text, **more, allow_programs=leave)
