"""Exceptions that Vazão raises, and helpers for their messages: escaping, suggestions for misspelt names."""

import difflib
from collections.abc import Iterable

from vazao._core import RunError, ScenarioError, VazaoError

__all__ = [
    "ClusterError",
    "ResultsError",
    "RunError",
    "ScenarioError",
    "StudyError",
    "VazaoError",
    "did_you_mean",
    "nearest",
    "printable",
]


def printable(text: str) -> str:
    """Escape all non-printable characters of a message except line breaks, so that it cannot control a terminal."""
    return "".join(c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in text)


class _TextError(VazaoError):
    """An error whose message may quote an untrusted file."""

    def __init__(self, message: str = "") -> None:
        super().__init__(printable(message))


class StudyError(_TextError):
    """A study file is invalid: `file:line: key: problem; what would be accepted`."""


class ResultsError(_TextError):
    """A results directory cannot be used as requested, or a query of it is invalid."""


class ClusterError(_TextError):
    """A cluster cannot be used for runs: it is unreachable, or runs another version."""


def nearest(given: str, candidates: Iterable[str]) -> str | None:
    """The candidate closest to `given`; None if none is close enough."""
    by_folded = {candidate.lower(): candidate for candidate in candidates}
    found = difflib.get_close_matches(given.lower(), by_folded, n=1, cutoff=0.6)
    return by_folded[found[0]] if found else None


def did_you_mean(given: str, candidates: Iterable[str]) -> str:
    """Suffix of a message about an unknown name: the closest known name, or all known names."""
    known = sorted(candidates)
    if name := nearest(given, known):
        return f"; did you mean {name!r}?"
    return f" (known: {', '.join(known)})" if known else ""
