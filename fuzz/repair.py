"""Repairs a refused scenario using its error message: the key, and the names in the problem."""

from __future__ import annotations

from random import Random
from typing import Any

from fuzz import toml
from vazao import _core
from vazao.errors import ScenarioError
from vazao.scenario import load

ATTEMPTS = 15


def loaded(rng: Random, document: dict[str, Any], file: str) -> tuple[str, _core.Scenario | None]:
    """Text of a document, repaired until it loads, and its scenario, or None if it does not load."""
    for _ in range(ATTEMPTS):
        text = toml.dump(document)
        try:
            return text, load(text, file=file)
        except ScenarioError as error:
            if not _mend(rng, document, (error.key or "").split("."), error.problem or ""):
                break
    return toml.dump(document), None


def _mend(rng: Random, document: dict[str, Any], path: list[str], problem: str) -> bool:
    """Remove something that an error message names; returns whether anything was removed."""
    place: Any = document
    trail: list[tuple[Any, str]] = []
    for key in path:
        trail.append((place, key))
        index = int(key) if key.isdigit() else key
        inside = range(len(place)) if isinstance(place, list) else place if isinstance(place, dict) else ()
        if index in inside:
            place = place[index]
        else:
            trail.pop()
            break
    words = {word.strip("`\"'.,:;()") for word in problem.split()}
    scopes = [scope for scope, _ in trail if isinstance(scope, dict)] + ([place] if isinstance(place, dict) else [])
    flow = next((scope for scope in scopes if "app" in scope), None)
    scopes = (
        [table for table in (flow.get("app"), flow.get("transport")) if isinstance(table, dict)]
        if flow
        else scopes[-1:]
    )
    named = [(table, key) for table in scopes for key in table if key in words and key not in ("kind", "rate", "delay")]
    if named:
        table, key = rng.choice(named)
        del table[key]
        return True
    if flow is not None and path[-1] == "transport" and "ping" in words:
        # Pings use ICMP, which carries nothing else.
        if "alone" in words:
            flow["app"] = {"kind": "ping", "count": 3}
        else:
            flow.pop("transport", None)
        return True
    if flow is not None and path[-1] == "app":
        flow["app"] = {"kind": "upload", "size": "100 kB"}
        flow.pop("client", None)
        flow.pop("server", None)
        return True
    for scope, key in reversed(trail):
        if isinstance(scope, dict) and key not in ("kind", "app", "transport", "network", "flow", "link", "rate"):
            del scope[key]
            return True
    return False
