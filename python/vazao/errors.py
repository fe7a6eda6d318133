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
    "printable",
]


def printable(text: str) -> str:
    """A text for a message: lines stay, letters that steer a terminal or the direction of its text are escaped."""
    return "".join(c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in text)


class _TextError(VazaoError):
    """An error whose message may repeat what a file says, which may be anybody's."""

    def __init__(self, message: str = "") -> None:
        super().__init__(printable(message))


class StudyError(_TextError):
    """A study file is wrong: `file:line: key: problem; what would be accepted`."""


class ResultsError(_TextError):
    """A results directory cannot be used as asked, or a query over it is wrong."""


class ClusterError(_TextError):
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
