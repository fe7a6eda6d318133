"""Lessons of one's own: a TOML file, held to what a page reads before it is put into one (docs/play.md)."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any, Literal

import tomli_w
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from vazao import _core
from vazao.errors import ScenarioError, StudyError, did_you_mean
from vazao.study import Source, read_text

MOST_STEPS = 40
"""Steps of a lesson: more are a book."""

_UNREAD = {"__proto__", "constructor", "prototype"}
"""Names that are more than a key's to the page's JavaScript."""


def _key(text: str) -> str:
    if not text or set(text.split(".")) & _UNREAD:
        raise ValueError("is no key of a scenario, as network.bottleneck.rate is")
    return text


Key = Annotated[str, AfterValidator(_key)]
Text = Annotated[str, Field(min_length=1, max_length=20_000)]


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class _Asked(_Table):
    ask: Text
    why: Text


class Choice(_Asked):
    """A question with options, of which one is right."""

    kind: Literal["choice"]
    options: list[Text] = Field(min_length=2, max_length=12)
    right: int = Field(ge=0)
    where: list[Text] = []


class Number(_Asked):
    """A question for a number."""

    kind: Literal["number"]
    answer: float | int
    tolerance: float | int
    of: Text | None = None
    unit: str = ""


class Goal(_Asked):
    """A question that a setting answers."""

    kind: Literal["goal"]
    until: Text
    solution: dict[Key, Any] = {}


class Step(_Table):
    """A step: a setting, what is said of it, and perhaps a question."""

    title: Text
    text: Text
    scenario: Text | None = None
    set: dict[Key, Any] = {}
    pin: bool = False
    move: list[Key] = []
    observe: Text | None = None
    question: Annotated[Choice | Number | Goal, Field(discriminator="kind")] | None = None


class Lesson(_Table):
    """A lesson as its file says it."""

    title: Text
    about: Text
    place: int = 0
    step: list[Step] = Field(min_length=1, max_length=MOST_STEPS)


def own_lesson(path: Path) -> dict[str, Any]:
    """A lesson of one's own as the page reads it. Raises `StudyError` and `ScenarioError` for what is wrong with it."""
    source = Source(str(path), read_text(path))
    try:
        lesson = Lesson.model_validate(source.document)
    except ValidationError as error:
        raise _first(error, source) from None
    _check(lesson, source)
    steps = [step.model_dump(exclude_defaults=True) for step in lesson.step]
    # No lesson that comes with Vazão has a dot in its name.
    return {
        "name": f"{path.stem}.toml",
        "place": lesson.place,
        "title": lesson.title,
        "about": lesson.about,
        "steps": steps,
    }


def _first(error: ValidationError, source: Source) -> StudyError:
    """A mistake, where it is and what would be accepted. A key that nobody knows explains one that is missing."""
    details = sorted(error.errors(include_url=False), key=lambda detail: detail["type"] != "extra_forbidden")
    detail = details[0]
    place = _place(detail["loc"], source.document)
    match detail["type"]:
        case "extra_forbidden":
            return source.error(place, f"unknown key{did_you_mean(str(place[-1]), _known(place))}")
        case "missing":
            return source.error(place, "is missing (docs/play.md lists what a lesson has)")
        case "union_tag_invalid" | "union_tag_not_found":
            return source.error((*place, "kind"), 'is none of a question; write "choice", "number" or "goal"')
        case "value_error":
            return source.error(place, detail["msg"].removeprefix("Value error, "))
        case _:
            return source.error(place, detail["msg"].replace("Input should be", "should be").replace(" valid ", " "))


def _place(loc: tuple[int | str, ...], document: Any) -> tuple[int | str, ...]:
    """The place of a mistake in the file, without the names of alternatives that pydantic tried on the way."""
    kept: list[int | str] = []
    at: Any = document
    for nth, part in enumerate(loc):
        inside = part in at if isinstance(at, dict) else isinstance(at, list) and part in range(len(at))
        if inside:
            at = at[part]
            kept.append(part)
        elif isinstance(at, dict) and nth == len(loc) - 1:
            kept.append(part)
    return tuple(kept)


def _known(place: tuple[int | str, ...]) -> list[str]:
    """Keys of the table that a place is in."""
    tables: dict[int, tuple[type[_Table], ...]] = {1: (Lesson,), 3: (Step,)}
    return sorted({name for table in tables.get(len(place), (Choice, Number, Goal)) for name in table.model_fields})


def _check(lesson: Lesson, source: Source) -> None:
    """Hold every step to a scenario that loads, and to questions that have an answer. Raises what is wrong."""
    text = None
    for nth, step in enumerate(lesson.step):
        text = step.scenario or text
        if text is None:
            raise source.error(("step", nth), "has no scenario, and no step before it has; write scenario = '''…'''")
        if step.pin and nth == 0:
            raise source.error(("step", nth, "pin"), "no step is before the first one; leave pin out")
        if isinstance(step.question, Choice) and step.question.right >= len(step.question.options):
            raise source.error(("step", nth, "question", "right"), "is no number of an option; the first is 0")
        try:
            text = _setting(text, step.set)
            # Only what the page's engine can run loads here: no guest, no algorithm of a file.
            _core.load(text)
        except ScenarioError as error:
            told = re.sub(r"^line \d+: ", "", str(error)) if step.set else str(error)
            raise source.error(("step", nth, "set" if step.set else "scenario"), told) from None


def _setting(text: str, changes: dict[str, Any]) -> str:
    """A step's scenario with what it sets, as the page sets it. Raises `ScenarioError` for a key that leads nowhere."""
    if not changes:
        return text
    document = Source("", text).document
    for key, value in changes.items():
        *above, last = (int(part) if part.isdigit() else part for part in key.split("."))
        at: Any = document
        try:
            for part in above:
                inside = at[part] if isinstance(part, int) else at.setdefault(part, {})
                # A name alone becomes the kind of a table.
                if not isinstance(inside, dict | list):
                    inside = at[part] = {"kind": inside}
                at = inside
            at[last] = value
        except (AttributeError, IndexError, KeyError, TypeError):
            raise ScenarioError(f"{key}: leads nowhere in the scenario of this step") from None
    return tomli_w.dumps(document)
