"""Change history of the built-in studies: commits that set each finding's criterion and each part's size.

`docs/register.py` writes a register from the history of the study's file. A study whose criterion differs from the
register's, such as a reader's own copy, is reported as changed since.
"""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

from vazao.scenario import built_in
from vazao.study.fields import with_views
from vazao.study.model import Study

KINDS = ("finding", "part")
"""Tables of a register."""

WHAT = ("criterion", "decision", "query", "levels", "replications")
"""Parts of a state. For a criterion: its words, the expression of `holds`, the rest of its query with the views that it
uses; for a part: its levels with what they set, and its replications."""


@dataclass(frozen=True)
class Change:
    """One commit that changed a criterion or the size of a part."""

    date: str
    commit: str
    subject: str
    what: tuple[str, ...]
    """`written`, or names of `WHAT`; `replications` with the old and the new quick and full ones, "5, 60 → 5, 120"."""


@dataclass(frozen=True)
class Registration:
    """History of one criterion, or of one part's levels and replications; the first change introduces it."""

    digest: str
    changes: tuple[Change, ...]


Register = Mapping[str, Mapping[str, Registration]]
"""Histories of a study's criteria and parts, by kind (one of `KINDS`) and name."""


@cache
def registered(study: str) -> Register:
    """Register of a built-in study; empty for any other."""
    files = built_in("registers")
    document = tomllib.loads(files[study].read_text(encoding="utf-8")) if study in files else {}
    return {kind: {name: _registration(row) for name, row in document.get(kind, {}).items()} for kind in KINDS}


def _registration(row: Mapping[str, Any]) -> Registration:
    changes = (Change(date, commit, subject, tuple(what)) for date, commit, subject, what in row["changes"])
    return Registration(row["digest"], tuple(changes))


def stands(study: Study, kind: str, name: str) -> bool:
    """Whether a finding's criterion, or a part, is the one in the study's register."""
    return _digests(study.original.text)[kind].get(name) == registered(study.name)[kind][name].digest


@lru_cache(maxsize=8)
def _digests(text: str) -> dict[str, dict[str, str]]:
    """Digests of the states in a study's file, by kind and name."""
    states = states_of(tomllib.loads(text))
    return {kind: {name: digest(state) for name, state in found.items()} for kind, found in states.items()}


def states_of(document: Mapping[str, Any]) -> dict[str, dict[str, dict[str, Any]]]:
    """States of a file's findings and parts, by kind and name; shared factors are those of a part named `study`."""
    views = {view["name"]: view["sql"] for view in document.get("view", ())}
    shared = {"name": "study", "factor": document.get("factor", [])}
    parts = [shared, *document["part"]] if "part" in document else [shared | dict(document)]
    return {
        "finding": {one["id"]: _of_finding(one, views) for one in document.get("finding", ()) if one.get("sql")},
        "part": {str(part.get("name", "main")): _of_part(part) for part in parts},
    }


def _of_finding(finding: Mapping[str, Any], views: Mapping[str, str]) -> dict[str, Any]:
    decides, asked = decision(finding["sql"]), _spaced(with_views(finding["sql"], views.items()))
    criterion = _spaced(finding.get("criterion", ""))
    return {"criterion": criterion, "decision": decides, "query": asked.replace(decides, "", 1)}


def _of_part(part: Mapping[str, Any]) -> dict[str, Any]:
    design: Mapping[str, Any] = part["design"] if isinstance(part.get("design"), dict) else {}
    counts = part.get("replications", design.get("replications", 1))
    quick, full = (counts["quick"], counts["full"]) if isinstance(counts, Mapping) else (counts, counts)
    levels = [{key: value for key, value in factor.items() if key != "title"} for factor in part.get("factor", ())]
    return {"levels": json.dumps(levels, sort_keys=True, default=str), "replications": f"{quick}, {full}"}


def digest(state: Mapping[str, Any]) -> str:
    """Short digest of a state: equal only for equal states."""
    return hashlib.sha256(json.dumps(state, sort_keys=True).encode()).hexdigest()[:12]


def decision(sql: str) -> str:
    """Expression of a query's last column `holds`, with whitespace collapsed; empty if there is none."""
    plain = re.sub(r"'[^']*'", lambda text: "'" * len(text[0]), sql)  # no expression ends in a literal
    ends = [found.start() for found in re.finditer(r"\s+AS\s+holds\b", plain, re.IGNORECASE)]
    if not ends:
        return ""
    end, depth, at = ends[-1], 0, ends[-1] - 1
    while at >= 0:
        letter = plain[at]
        depth += (letter in ")]") - (letter in "([")
        if depth < 0 or (depth == 0 and (letter == "," or re.match(r"SELECT\s", plain[at:], re.IGNORECASE))):
            break
        at -= 1
    return _spaced(re.sub(r"^(?:[,(\[]|SELECT\s)", "", sql[max(at, 0) : end].strip(), flags=re.IGNORECASE))


def _spaced(text: str) -> str:
    return " ".join(text.split())
