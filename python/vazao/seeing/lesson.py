"""User-written lessons in TOML, validated and converted for the laboratory page (docs/play.md)."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any, Literal

import tomli_w
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from vazao import _core
from vazao.errors import ScenarioError, StudyError, did_you_mean
from vazao.study import Source, read_text

MAX_STEPS = 40
"""Maximum number of steps in a lesson."""

_RESERVED = {"__proto__", "constructor", "prototype"}
"""Names with a special meaning in the page's JavaScript, which no key may contain."""


def _key(text: str) -> str:
    if not text or set(text.split(".")) & _RESERVED:
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
    """A question with options, one of which is right."""

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
    """A step: a setting, a text on it, and perhaps a question."""

    title: Text
    text: Text
    scenario: Text | None = None
    set: dict[Key, Any] = {}
    pin: bool = False
    move: list[Key] = []
    observe: Text | None = None
    question: Annotated[Choice | Number | Goal, Field(discriminator="kind")] | None = None


class Lesson(_Table):
    """A lesson as its file describes it."""

    title: Text
    about: Text
    place: int = 0
    step: list[Step] = Field(min_length=1, max_length=MAX_STEPS)


def own_lesson(path: Path) -> dict[str, Any]:
    """A user-written lesson in the page's form. Raises `StudyError` and `ScenarioError` for mistakes in it."""
    source = Source(str(path), read_text(path))
    try:
        lesson = Lesson.model_validate(source.document)
    except ValidationError as error:
        raise _first(error, source) from None
    _check(lesson, source)
    steps = [step.model_dump(exclude_defaults=True) for step in lesson.step]
    # No built-in lesson has a dot in its name.
    return {
        "name": f"{path.stem}.toml",
        "place": lesson.place,
        "title": lesson.title,
        "about": lesson.about,
        "steps": steps,
    }


def _first(error: ValidationError, source: Source) -> StudyError:
    """The first mistake, its place and what would be accepted; unknown keys go first, as they explain missing ones."""
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
    """The place of a mistake in the file, without the names of the union alternatives that pydantic tried."""
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
    """Known keys of the table that a place is in."""
    tables: dict[int, tuple[type[_Table], ...]] = {1: (Lesson,), 3: (Step,)}
    return sorted({name for table in tables.get(len(place), (Choice, Number, Goal)) for name in table.model_fields})


def _check(lesson: Lesson, source: Source) -> None:
    """Check that every step has a scenario that loads and a question with an answer. Raises `StudyError`."""
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
            # This loads only what the page's engine can run: no guests, no algorithms from files.
            _core.load(text)
        except ScenarioError as error:
            problem = re.sub(r"^line \d+: ", "", str(error)) if step.set else str(error)
            raise source.error(("step", nth, "set" if step.set else "scenario"), problem) from None


def _setting(text: str, changes: dict[str, Any]) -> str:
    """A step's scenario with its changes, applied as the page does. Raises `ScenarioError` for an invalid key."""
    if not changes:
        return text
    document = Source("", text).document
    for key, value in changes.items():
        *above, last = (int(part) if part.isdigit() else part for part in key.split("."))
        at: Any = document
        try:
            for part in above:
                inside = at[part] if isinstance(part, int) else at.setdefault(part, {})
                # A bare name becomes the kind of a table.
                if not isinstance(inside, dict | list):
                    inside = at[part] = {"kind": inside}
                at = inside
            at[last] = value
        except (AttributeError, IndexError, KeyError, TypeError):
            raise ScenarioError(f"{key}: leads nowhere in the scenario of this step") from None
    return tomli_w.dumps(document)
