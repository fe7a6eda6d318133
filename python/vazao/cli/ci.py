"""Verdicts on a study's claims for continuous integration: an exit code and a JUnit XML file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, get_args
from xml.etree import ElementTree

from vazao.errors import RunError, StudyError, did_you_mean
from vazao.files import explained, write_atomically

if TYPE_CHECKING:
    from vazao.results import Campaign
    from vazao.study import Ruling, Verdict

DEFAULT: tuple[Verdict, ...] = ("differs",)
"""Verdicts that count as failures in a JUnit file if none are named."""

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True)
class Demands:
    """Demands on a study's verdicts: those that fail the command, and the file that all of them are written to."""

    fail_on: tuple[Verdict, ...] = ()
    junit: Path | None = None


@dataclass(frozen=True)
class Case:
    """A test case of a suite: a claim or a run."""

    name: str
    outcome: str = ""
    """"failure", "error" or "skipped"; empty for one that passed."""
    kind: str = ""
    message: str = ""
    text: str = ""


def demands(fail_on: str | None, junit: Path | None) -> Demands:
    """Parse `--fail-on` and `--junit`. Raises `StudyError` for an unknown verdict or a missing directory."""
    if junit and not junit.parent.is_dir():
        raise StudyError(f"--junit {str(junit)!r}: there is no directory {str(junit.parent)!r}")
    names = [name.strip() for name in (fail_on or "").split(",") if name.strip()]
    from vazao import study

    verdicts: tuple[Verdict, ...] = get_args(study.Verdict)
    known = {verdict.replace(" ", "-"): verdict for verdict in verdicts}
    for name in names:
        if name.replace(" ", "-") not in known:
            raise StudyError(f"--fail-on {name!r}: is no verdict{did_you_mean(name, known)}")
    if fail_on is not None and not names:
        raise StudyError(f"--fail-on {fail_on!r}: names no verdict (known: {', '.join(known)})")
    return Demands(tuple(known[name.replace(" ", "-")] for name in names), junit)


def record(campaigns: Sequence[Campaign], asked: Demands) -> None:
    """Write the JUnit file, if one was requested. Raises `ResultsError` if it cannot be written."""
    if asked.junit:
        write(asked.junit, [(done.study.name, list(_cases(done, asked.fail_on or DEFAULT))) for done in campaigns])


def check(campaigns: Sequence[Campaign], asked: Demands) -> None:
    """Raise `RunError` if any claim has a verdict that fails the command."""
    failed = [(done.study.name, one) for done in campaigns for one in done.findings if one.verdict in asked.fail_on]
    if failed:
        study, first = failed[0]
        of = sum(len(done.findings) for done in campaigns)
        example = f"{study}: {_named(first)}: {first.verdict}" + (f" ({first.measured})" if first.measured else "")
        raise RunError(f"--fail-on {','.join(asked.fail_on)}: {len(failed)} of {of} claims; the first, {example}")


def _cases(done: Campaign, failing: Sequence[Verdict]) -> Iterable[Case]:
    """Test cases of a campaign: its claims and its failed runs."""
    for one in done.findings:
        verdict = "failure" if one.verdict in failing else "skipped" if one.verdict == "not testable" else ""
        measured = f": {one.measured}" if one.measured else ""
        yield Case(_named(one), verdict, one.verdict, f"{one.verdict}{measured}", _details(one))
    for run_id, reason in done.failures():
        yield Case(f"run {run_id}", "error", "failed", reason.partition("\n")[0], reason)


def _named(one: Ruling) -> str:
    return f"{one.id} [{one.level}]" if one.level else one.id


def _details(one: Ruling) -> str:
    """Claim, reported and measured values, criterion and explanation of a ruling, one per line."""
    lines = {"claim": one.claim, "reported": one.reported, "measured": one.measured, "criterion": one.criterion}
    return "\n".join(
        [f"{key}: {text}" for key, text in lines.items() if text] + [one.explanation] * bool(one.explanation)
    )


def write(path: Path, suites: Sequence[tuple[str, Sequence[Case]]]) -> None:
    """Write test suites as JUnit XML. Raises `ResultsError` if the file cannot be written."""
    root = ElementTree.Element(
        "testsuites", {"name": "vazao"} | _counts([case for _, cases in suites for case in cases])
    )
    for name, cases in suites:
        suite = ElementTree.SubElement(root, "testsuite", {"name": _text(name)} | _counts(cases))
        for case in cases:
            element = ElementTree.SubElement(suite, "testcase", {"classname": _text(name), "name": _text(case.name)})
            if case.outcome:
                more = {} if case.outcome == "skipped" else {"type": _text(case.kind)}
                problem = ElementTree.SubElement(element, case.outcome, {"message": _text(case.message)} | more)
                problem.text = _text(case.text)
            elif case.text:
                ElementTree.SubElement(element, "system-out").text = _text(case.text)
    ElementTree.indent(root)
    with explained(path):
        write_atomically(path, ElementTree.tostring(root, "utf-8", xml_declaration=True) + b"\n")


def _counts(cases: Sequence[Case]) -> dict[str, str]:
    outcomes = [case.outcome for case in cases]
    counted = {"failures": "failure", "errors": "error", "skipped": "skipped"}
    return {"tests": str(len(cases))} | {key: str(outcomes.count(outcome)) for key, outcome in counted.items()}


def _text(text: str) -> str:
    """Replace characters that XML does not allow."""
    return _NOT_XML.sub("?", text)
