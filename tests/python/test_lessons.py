"""The built-in lessons: each statement holds when the engine runs the lesson's own scenarios."""

from __future__ import annotations

import ast
import math
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest
import tomli_w

import vazao
from vazao import _core
from vazao.seeing import lessons

LESSONS = lessons()
STEPS = [(name, nth) for name, lesson in LESSONS.items() for nth in range(len(lesson["steps"]))]
FILLED = re.compile(r"\{([^{}]+?):\.(\d)f\}")
TOKENS = re.compile(r"(?:\s*(?:\d+(?:\.\d+)?(?:e[+-]?\d+)?|[a-z_]\w*|<=|>=|==|[-+*/()<>\[\].,]))+\s*")
"""Tokens of an expression in the page's language (`web/src/play/ask.ts`)."""

TABLES = ("runs", "flows", "links", "paths")
KEYS: dict[str, dict[str, type | tuple[type, ...]]] = {
    "lesson": {"name": str, "title": str, "about": str, "place": int, "step": list},
    "choice": {"kind": str, "ask": str, "options": list, "right": int, "where": list, "why": str},
    "number": {"kind": str, "ask": str, "of": str, "answer": (int, float), "tolerance": (int, float), "why": str},
    "goal": {"kind": str, "ask": str, "until": str, "solution": dict, "why": str},
}
"""Required keys and the types of their values."""

MAY: dict[str, dict[str, type]] = {
    "step": {"scenario": str, "set": dict, "pin": bool, "move": list, "observe": str, "question": dict},
    "number": {"unit": str},
}
"""Optional keys and the types of their values."""

LARGEST = 600_000
"""Number of events that a page simulates in about a tenth of a second."""


class Rows:
    """Table of a result with columns as attributes of its rows; NULL becomes NaN."""

    def __init__(self, table: pl.DataFrame) -> None:
        self.table = table

    def __getitem__(self, row: int) -> SimpleNamespace:
        found = self.table.row(row, named=True)
        return SimpleNamespace(**{name: float("nan") if value is None else value for name, value in found.items()})


def setting(lesson: str, nth: int) -> str:
    """Scenario of a step: the latest one given, with the changes of each step since, as the page applies them."""
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
    return {name: Rows(pl.DataFrame(outcome.table(name))) for name in TABLES}


@cache
def tables(lesson: str, nth: int) -> dict[str, Rows]:
    return run(setting(lesson, nth))


def pinned(lesson: str, nth: int) -> dict[str, Rows] | None:
    """Tables that a step is compared with: those of the step before it, if it pins them."""
    steps = LESSONS[lesson]["steps"]
    if steps[nth].get("pin"):
        return tables(lesson, nth - 1)
    same = nth > 0 and setting(lesson, nth) == setting(lesson, nth - 1)
    return pinned(lesson, nth - 1) if same else None


def value(expression: str, found: dict[str, Rows], then: dict[str, Rows] | None) -> Any:
    names = {**found, "pinned": SimpleNamespace(**(then or {})), "min": min, "max": max, "abs": abs}
    return eval(expression, {"__builtins__": {}}, names)


def shaped(told: dict[str, Any], must: dict[str, Any], may: dict[str, Any] | None = None) -> None:
    """Checks that a table has the right keys, with values of the right types."""
    known = must | (may or {})
    assert must.keys() <= told.keys() <= known.keys(), set(told) ^ set(must)
    for key, held in told.items():
        assert isinstance(held, known[key]), key
        assert held or held is False or held == 0, f"{key} is empty"


def readable(expression: str) -> None:
    """Checks that an expression stays within the page's language, which is smaller than Python's."""
    assert TOKENS.fullmatch(expression), expression
    for node in ast.walk(ast.parse(expression.strip(), mode="eval")):
        match node:
            case ast.Compare():
                assert len(node.ops) == 1, f"{expression}: one comparison at a time"
            case ast.Subscript(value=ast.Name(id=table) | ast.Attribute(value=ast.Name(id="pinned"), attr=table)):
                assert table in TABLES, f"{expression}: {table} is no table"
                assert isinstance(node.slice, ast.Constant), f"{expression}: a row is a number"
            case ast.Call(func=ast.Name(id=function)):
                assert function in {"min", "max", "abs"}, f"{expression}: {function} is no function"
            case ast.Call() | ast.Subscript() | ast.IfExp() | ast.Lambda() | ast.Tuple() | ast.List():
                pytest.fail(f"{expression}: the page does not read this")


def parent(document: Any, key: str) -> Any:
    """Table that contains a key, which must exist for a page to set the key."""
    for part in key.split(".")[:-1]:
        document = document[int(part)] if part.isdigit() else document[part]
    return document


def expressions(step: dict[str, Any]) -> Iterator[str]:
    question = step.get("question", {})
    yield from (found[1] for text in (step["text"], question.get("why", "")) for found in FILLED.finditer(text))
    yield from question.get("where", ())
    yield from (question[key] for key in ("of", "until") if key in question)


def files() -> dict[str, dict[str, Any]]:
    folder = Path(vazao.__file__).parent / "lessons"
    return {path.stem: tomllib.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.toml"))}


def test_there_are_lessons_of_every_subject() -> None:
    written = files()
    assert len(written) >= 15
    assert list(LESSONS) == sorted(written, key=lambda name: written[name]["place"])
    assert sorted(lesson["place"] for lesson in written.values()) == list(range(1, len(written) + 1))


@pytest.mark.parametrize("name", LESSONS)
def test_a_lesson_has_the_keys_that_a_page_reads(name: str) -> None:
    shaped({"name": name, **files()[name]}, KEYS["lesson"])
    steps = LESSONS[name]["steps"]
    assert 3 <= len(steps) <= 5
    assert sum("question" in step for step in steps) >= 2
    assert "scenario" in steps[0]
    assert not steps[0].get("pin"), "no step is before the first"
    for step in steps:
        shaped(step, {"title": str, "text": str}, MAY["step"])
        if question := step.get("question"):
            shaped(question, KEYS[question["kind"]], MAY.get(question["kind"]))
        for expression in expressions(step):
            readable(expression)


@pytest.mark.parametrize(("lesson", "nth"), STEPS)
def test_what_a_step_says_is_what_the_engine_says(lesson: str, nth: int) -> None:
    step = LESSONS[lesson]["steps"][nth]
    found, then = tables(lesson, nth), pinned(lesson, nth)
    assert found["runs"][0].events < LARGEST, "a page would take too long"
    assert found["flows"].table.height <= 4, "more flows than a reader follows"
    for expression in expressions(step):
        assert not math.isnan(value(expression, found, then)), f"{expression} is not a number"
    if question := step.get("question"):
        check(question, lesson, nth)


def check(question: dict[str, Any], lesson: str, nth: int) -> None:
    found, then = tables(lesson, nth), pinned(lesson, nth)
    if question["kind"] == "choice":
        assert len(question["where"]) == len(question["options"]) == len(set(question["options"]))
        holds = [bool(value(one, found, then)) for one in question["where"]]
        assert holds == [index == question["right"] for index in range(len(holds))]
    elif question["kind"] == "number":
        # A reader reads the number off a screen: the engine's value must lie well within the tolerance.
        measured = value(question["of"], found, then)
        assert abs(measured - question["answer"]) <= question["tolerance"] / 2, measured
    else:
        assert question["kind"] == "goal"
        assert not value(question["until"], found, then), "it is reached before anything is done"
        document = tomllib.loads(setting(lesson, nth))
        moves = LESSONS[lesson]["steps"][nth]["move"]
        assert question["solution"].keys() <= set(moves), "what reaches it is not offered"
        change(document, question["solution"])
        assert value(question["until"], run(tomli_w.dumps(document)), then)


@pytest.mark.parametrize(("lesson", "nth"), STEPS)
def test_what_may_be_moved_is_a_key_of_the_scenario(lesson: str, nth: int) -> None:
    step = LESSONS[lesson]["steps"][nth]
    before = tomllib.loads(step["scenario"] if "scenario" in step else setting(lesson, nth - 1))
    for key in step.get("set", {}):
        assert key.split(".")[0] in before or key in {"seed", "until"}, f"{key} is put nowhere"
    for key in step.get("move", ()):
        assert isinstance(parent(tomllib.loads(setting(lesson, nth)), key), dict | list), f"{key} has no table"
        with pytest.raises(_core.ScenarioError) as wrong:
            _core.load(setting(lesson, nth), overrides=[(key, "no such thing")])
        assert "unknown key" not in str(wrong.value), key
