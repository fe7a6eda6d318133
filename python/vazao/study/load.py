"""Parsing of a study file into a validated `Study`."""

from __future__ import annotations

import json
from typing import Any, TypeVar

from pydantic import ValidationError

from vazao.errors import StudyError, did_you_mean
from vazao.study.model import Study
from vazao.study.source import Key, Source

S = TypeVar("S", bound=Study)

MAX_ERRORS = 8
"""Limit on the problems of one file that are listed; the rest are only counted."""

_TABLES = ("study", "scenario", "part", "view", "table", "figure", "finding", "measurements", "design", "factor")
_DESIGN = {"kind": "design", "replications": "replications", "random": "random", "exclude": "exclude", "runs": "runs"}
"""Keys of [design], which replaces [[part]] in a study of one part, with the fields of the part that they set."""
_WHOLE = ("scenario", "view", "table", "figure", "finding", "measurements")
"""Tables of the file that become fields of the study unchanged."""


def parse_study(text: str, file: str) -> Study:
    """Validate the text of a study file; `file` is its name in error messages. Raises `StudyError`."""
    return parse_as(Study, text, file)


def parse_as(kind: type[S], text: str, file: str) -> S:
    """Validate the text of a study file as `Study` or a subclass. Raises `StudyError`."""
    source = Source(file, text)
    fields, single = _fields(source)
    try:
        study = kind.model_validate(fields)
    except ValidationError as error:
        raise _translate(error, source, single) from None
    study._file = source
    return study


def _fields(source: Source) -> tuple[dict[str, Any], bool]:
    """Fields of `Study` in the document, and whether it is a study of one part (no [[part]])."""
    document = source.document
    for key, value in document.items():
        if key not in _TABLES:
            raise source.error((key,), f"unknown table{did_you_mean(key, _TABLES)}")
        wanted = dict if key in ("study", "scenario", "design") else list
        if not isinstance(value, wanted):
            raise source.error((key,), f"is not a table; write [{key}]" if wanted is dict else f"write [[{key}]]")
    for key in "study", "scenario":
        if key not in document:
            raise StudyError(f"{source.file}: there is no [{key}] table; a study needs one")
    fields = document["study"] | {key: document[key] for key in _WHOLE if key in document}
    single = "part" not in document
    if not single and "design" in document:
        raise source.error(("design",), "stands in a [[part]] when the study has parts; move it there: [[part.design]]")
    parts = [_only_part(source)] if single else [_with_shared(part, source) for part in document["part"]]
    return fields | {"part": parts}, single


def _with_shared(part: Any, source: Source) -> Any:
    """Part with the study's shared factors before its own, except those that it redefines by name."""
    if not isinstance(part, dict) or not isinstance(part.get("factor", []), list):
        return part
    return part | {"factor": [source.document["factor"][n] for n in _shared(part, source)] + part.get("factor", [])}


def _shared(part: dict[str, Any], source: Source) -> list[int]:
    """Indices of the study's shared factors that a part inherits."""
    own = {factor.get("name") for factor in part.get("factor", []) if isinstance(factor, dict)}
    every = enumerate(source.document.get("factor", []))
    return [n for n, factor in every if not (isinstance(factor, dict) and factor.get("name") in own)]


def _only_part(source: Source) -> dict[str, Any]:
    design = source.document.get("design", {})
    for key in design:
        if key not in _DESIGN:
            raise source.error(("design", key), f"unknown key{did_you_mean(key, _DESIGN)}")
    return {"name": "main", "factor": source.document.get("factor", [])} | {_DESIGN[k]: v for k, v in design.items()}


def _translate(error: ValidationError, source: Source, single: bool) -> StudyError:
    problems = []
    for detail in error.errors(include_url=False):
        context = detail.get("ctx", {})
        key = _toml_key((*detail["loc"], *context.get("key", ())), source, single)
        problems.append(str(source.error(key, _problem(dict(detail), context))))
    problems = list(dict.fromkeys(problems))
    if len(problems) > MAX_ERRORS:
        problems[MAX_ERRORS:] = [f"… and {len(problems) - MAX_ERRORS} more problems"]
    return StudyError("\n".join(problems))


def _toml_key(loc: Key, source: Source, single: bool) -> Key:
    """Location in the file of the model's field `loc`."""
    if single and loc[:2] == ("part", 0):
        in_design = {part: key for key, part in _DESIGN.items()}
        loc = ("design", in_design[str(loc[2])], *loc[3:]) if loc[2:3] and loc[2] in in_design else loc[2:]
    elif loc and loc[0] not in ("part", *_WHOLE):
        loc = ("study", *loc)
    elif loc[:1] == ("part",) and loc[2:3] == ("factor",) and loc[3:]:
        shared = _shared(source.document["part"][loc[1]], source)
        n = int(loc[3])
        loc = ("factor", shared[n], *loc[4:]) if n < len(shared) else (*loc[:3], n - len(shared), *loc[4:])
    # Names of alternatives that pydantic tried ("str", "list[...]") are not keys of the file.
    node: Any = source.document
    known: list[str | int] = []
    for n, part in enumerate(loc):
        inside = (isinstance(node, dict) and part in node) or (isinstance(node, list) and part in range(len(node)))
        if inside:
            node = node[part]
            known.append(part)
        elif n == len(loc) - 1 and isinstance(node, dict):
            known.append(part)
    return tuple(known)


def _problem(detail: dict[str, Any], context: dict[str, Any]) -> str:
    """Message with the mistake and what would be accepted, in this project's words."""
    value = detail.get("input")
    match detail["type"]:
        case "vazao":
            return str(context["problem"])
        case "missing":
            return "is missing"
        case "literal_error":
            choices = [choice.strip("'") for choice in context["expected"].replace(" or ", ", ").split(", ")]
            hint = did_you_mean(str(value), choices).partition(" (")[0]
            return f"{_toml(value)} is not one of {', '.join(choices)}{hint}"
        case "string_pattern_mismatch":
            return f"{_toml(value)} is no name; use small letters, digits and {_separators(context['pattern'])}"
        case _:
            message = detail["msg"].removeprefix("Input should be ").removeprefix("a valid ")
            return f"{_toml(value)} is wrong; it should be {message}"


def _separators(pattern: str) -> str:
    return "-, _ or ." if "-" in pattern else "_"


def _toml(value: Any) -> str:
    """A value as a user would write it, shortened."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else text[:57] + "..."
