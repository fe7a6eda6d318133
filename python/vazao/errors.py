"""Everything Vazão can complain about. Each message is written for the person who caused it."""

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
]


class StudyError(VazaoError):
    """A study file is wrong: `file:line: key: problem; what would be accepted`."""


class ResultsError(VazaoError):
    """A results directory cannot be used as asked, or a query over it is wrong."""


class ClusterError(VazaoError):
    """A cluster on which runs were to go cannot be used: it is not there, or another version is."""


def nearest(given: str, candidates: Iterable[str]) -> str | None:
    """The candidate that `given` was probably meant to be, if any is near enough."""
    by_folded = {candidate.lower(): candidate for candidate in candidates}
    found = difflib.get_close_matches(given.lower(), by_folded, n=1, cutoff=0.6)
    return by_folded[found[0]] if found else None


def did_you_mean(given: str, candidates: Iterable[str]) -> str:
    """The end of a message about an unknown name: the nearest one, or all there are."""
    known = sorted(candidates)
    if name := nearest(given, known):
        return f"; did you mean {name!r}?"
    return f" (known: {', '.join(known)})" if known else ""
