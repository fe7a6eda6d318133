"""The lessons of the laboratory: each says only what the engine says, when it runs the lesson's own scenarios."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest
import tomli_w

from vazao import _core
from vazao.seeing import lessons

LESSONS = lessons()
STEPS = [(name, nth) for name, lesson in LESSONS.items() for nth in range(len(lesson["steps"]))]
FILLED = re.compile(r"\{([^{}]+?):\.(\d)f\}")


class Rows:
    """A table of a result, whose rows have its columns as attributes; what is NULL is NaN."""

    def __init__(self, table: pl.DataFrame) -> None:
        self.table = table

    def __getitem__(self, row: int) -> SimpleNamespace:
        found = self.table.row(row, named=True)
        return SimpleNamespace(**{name: float("nan") if value is None else value for name, value in found.items()})


def setting(lesson: str, nth: int) -> str:
    """Scenario of a step: the last one before it, with what each step since then sets, as the page does."""
    document: dict[str, Any] = {}
    for step in LESSONS[lesson]["steps"][: nth + 1]:
        document = tomllib.loads(step["scenario"]) if "scenario" in step else document
        change(document, step.get("set", {}))
    return tomli_w.dumps(document)


def change(document: dict[str, Any], changes: dict[str, Any]) -> None:
    for key, wanted in changes.items():
        at: Any = document
        *above, last = (int(part) if part.isdigit() else part for part in key.split("."))
        for part in above:
            at = at[part] if isinstance(part, int) else at.setdefault(part, {})
        at[last] = wanted


def run(text: str) -> dict[str, Rows]:
    outcome = _core.run(_core.load(text))
    assert outcome.failure is None
    assert outcome.not_run is None
    return {name: Rows(pl.DataFrame(outcome.table(name))) for name in ("runs", "flows", "links", "paths")}


@cache
def tables(lesson: str, nth: int) -> dict[str, Rows]:
    return run(setting(lesson, nth))


def pinned(lesson: str, nth: int) -> dict[str, Rows] | None:
    """Tables of the setting that a step is compared with: that of the step before it."""
    steps = LESSONS[lesson]["steps"]
    if steps[nth].get("pin"):
        return tables(lesson, nth - 1)
    same = nth > 0 and setting(lesson, nth) == setting(lesson, nth - 1)
    return pinned(lesson, nth - 1) if same else None


def value(expression: str, found: dict[str, Rows], then: dict[str, Rows] | None) -> Any:
    names = {**found, "pinned": SimpleNamespace(**(then or {})), "min": min, "max": max, "abs": abs}
    return eval(expression, {"__builtins__": {}}, names)


def expressions(step: dict[str, Any]) -> Iterator[str]:
    question = step.get("question", {})
    yield from (found[1] for text in (step["text"], question.get("why", "")) for found in FILLED.finditer(text))
    yield from question.get("where", ())
    yield from (question[key] for key in ("of", "until") if key in question)


def test_there_are_lessons_of_every_subject() -> None:
    assert len(LESSONS) >= 15
    assert len({lesson["place"] for lesson in LESSONS.values()}) == len(LESSONS)
    for lesson in LESSONS.values():
        assert lesson["about"]
        assert sum("question" in step for step in lesson["steps"]) >= 1
        assert "scenario" in lesson["steps"][0]


@pytest.mark.parametrize(("lesson", "nth"), STEPS)
def test_what_a_step_says_is_what_the_engine_says(lesson: str, nth: int) -> None:
    step = LESSONS[lesson]["steps"][nth]
    assert set(step) <= {"title", "text", "scenario", "set", "pin", "move", "observe", "question"}
    found, then = tables(lesson, nth), pinned(lesson, nth)
    for expression in expressions(step):
        assert not math.isnan(value(expression, found, then)), f"{expression} is not a number"
    if question := step.get("question"):
        check(question, lesson, nth)


def check(question: dict[str, Any], lesson: str, nth: int) -> None:
    found, then = tables(lesson, nth), pinned(lesson, nth)
    if question["kind"] == "choice":
        assert len(question["where"]) == len(question["options"])
        holds = [bool(value(one, found, then)) for one in question["where"]]
        assert holds == [index == question["right"] for index in range(len(holds))]
    elif question["kind"] == "number":
        # A reader reads the number off a screen: what is right to the engine lies well within what is accepted.
        told = value(question["of"], found, then)
        assert abs(told - question["answer"]) <= question["tolerance"] / 2, told
    else:
        assert question["kind"] == "goal"
        assert not value(question["until"], found, then), "it is reached before anything is done"
        document = tomllib.loads(setting(lesson, nth))
        change(document, question["solution"])
        assert value(question["until"], run(tomli_w.dumps(document)), then)


@pytest.mark.parametrize(("lesson", "nth"), STEPS)
def test_what_may_be_moved_is_a_key_of_the_scenario(lesson: str, nth: int) -> None:
    for key in LESSONS[lesson]["steps"][nth].get("move", ()):
        with pytest.raises(_core.ScenarioError) as wrong:
            _core.load(setting(lesson, nth), overrides=[(key, "no such thing")])
        assert "unknown key" not in str(wrong.value), key
