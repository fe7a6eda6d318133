"""Registers of criteria agree with the history of their study's file, and reports cite them."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

import vazao as vz
from vazao.report.page import fixed
from vazao.study import built_in_studies, parse_study, registration
from vazao.study.registration import Change, decision, digest, registered

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    """Script that writes the registers, as a module."""
    spec = importlib.util.spec_from_file_location("register", ROOT / "docs/register.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def history_is_here() -> bool:
    """Whether this is a git clone with its full history."""
    command = ["git", "-C", str(ROOT), "rev-parse", "--is-shallow-repository"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode == 0 and done.stdout.strip() == "false"


@pytest.mark.parametrize("name", built_in_studies())
def test_every_criterion_is_registered_as_it_stands(name: str) -> None:
    study = vz.load_study(name)
    deciding = [finding.id for finding in study.findings if finding.sql]
    assert set(registered(name)["finding"]) == set(deciding)
    odd = [one for one in deciding if not registration.stands(study, "finding", one)]
    odd += [part.name for part in study.parts if not registration.stands(study, "part", part.name)]
    assert not odd, f"{odd}: run docs/register.py"


@pytest.mark.parametrize("name", built_in_studies())
def test_a_register_is_what_the_history_says(tool: ModuleType, name: str) -> None:
    if not history_is_here():
        pytest.skip("this is no clone with its whole history")
    derived = tool.register(list(tool.versions(built_in_studies()[name])))
    kept = registered(name)
    for kind, registrations in kept.items():
        assert set(derived[kind]) == set(registrations), "run docs/register.py"
        for one, found in derived[kind].items():
            assert found.digest == registrations[one].digest, f"{one}: run docs/register.py"
            assert len(found.changes) == len(registrations[one].changes), one
            for change, known in zip(found.changes, registrations[one].changes, strict=True):
                # A commit cannot contain its own name, date and subject.
                unknown = tool.NEXT in (change.commit, known.commit)
                assert change.what == known.what if unknown else change == known, one


def test_what_decides_is_the_expression_of_holds() -> None:
    assert (
        decision("SELECT a, greater(d, max(ci), 0.1)\n    AND n > 2 AS holds, b FROM t")
        == "greater(d, max(ci), 0.1) AND n > 2"
    )
    assert decision("WITH t AS (SELECT 1 AS holds) SELECT (a OR b) AS holds FROM t") == "(a OR b)"
    assert decision("SELECT CASE WHEN a IN (1, 2) THEN true END as holds") == "CASE WHEN a IN (1, 2) THEN true END"
    assert decision("SELECT 1") == ""
    assert decision("SELECT a = 'x, y' AND b IN ('(', 'z') AS holds") == "a = 'x, y' AND b IN ('(', 'z')"


def test_a_history_names_what_each_commit_changed(tool: ModuleType) -> None:
    finding = {"id": "a", "criterion": "at  least\n2", "sql": "SELECT x > 2 AS holds FROM runs"}
    part = {"name": "p", "replications": 3, "factor": [{"name": "f", "levels": [1, 2]}]}
    documents = [
        {"part": [part], "finding": [finding]},
        {"part": [part], "finding": [{**finding, "criterion": "at least 2"}]},  # the same query with different spacing
        {"part": [part], "finding": []},
        {"part": [part | {"replications": {"quick": 3, "full": 9}}], "finding": [finding]},
        {"part": [part | {"factor": []}], "finding": [{**finding, "sql": "SELECT y, x > 1 AS holds FROM runs"}]},
    ]
    derived = tool.register([(f"2026-01-0{n}", f"c{n}", "why", document) for n, document in enumerate(documents)])
    written, changed = derived["finding"]["a"].changes
    assert (written.commit, written.what) == ("c0", ("written",))
    assert (changed.commit, changed.what) == ("c4", ("decision", "query"))
    assert [change.what for change in derived["part"]["p"].changes] == [
        ("written",),
        ("replications 3, 3 → 3, 9",),
        ("levels", "replications 3, 9 → 3, 3"),
    ]


def test_reports_tell_when_a_criterion_was_fixed(monkeypatch: pytest.MonkeyPatch) -> None:
    study = vz.load_study("cmt-2019", lang="en")
    register = registered(study.name)
    name = study.findings[0].id
    changes = (
        Change("2026-01-02", "abc", "first", ("written",)),
        Change("2026-01-03", "def", "then", ("criterion", "replications 3, 3 → 3, 9")),
    )
    findings = register["finding"]
    known = {**register, "finding": {**findings, name: replace(findings[name], changes=changes)}}
    monkeypatch.setattr(registration, "registered", lambda _: known)
    sentence = fixed(study)[name]
    assert (
        sentence
        == "Written on 2026-01-02 (abc); changed on 2026-01-03 (def: words, replications (quick, full) 3, 3 → 3, 9)."
    )
    assert "redação" in fixed(vz.load_study("cmt-2019", lang="pt"))[name]


def test_a_copy_with_another_criterion_says_so() -> None:
    path = built_in_studies()["hstcp-2010"]
    text = path.read_text(encoding="utf-8")
    name = next(one.id for one in vz.load_study("hstcp-2010").findings if one.criterion)
    block = text[text.index(f'id = "{name}"') :]
    criterion = re.search(r"^criterion = .*$", block, re.MULTILINE)
    assert criterion
    changed = text.replace(criterion[0], 'criterion = "whatever came out"', 1)
    sentence = "another one than the registered"
    assert sentence in fixed(parse_study(changed, "mine.toml"))[name]
    assert not any(sentence in told for told in fixed(parse_study(text, "mine.toml")).values())
    assert digest({"a": 1}) != digest({"a": 2})


def changed(old: str, new: str) -> tuple[set[str], set[str]]:
    """Findings and parts of hstcp-2010 that no longer match their registration once `old` is replaced by `new`."""
    text = built_in_studies()["hstcp-2010"].read_text(encoding="utf-8")
    assert old in text
    study = parse_study(text.replace(old, new, 1), "mine.toml")
    known = registered("hstcp-2010")
    odd = {kind: [] for kind in registration.KINDS}  # type: dict[str, list[str]]
    for kind, names in known.items():
        odd[kind] = [name for name in names if not registration.stands(study, kind, name)]
    return set(odd["finding"]), set(odd["part"])


def test_nothing_that_decides_changes_unseen() -> None:
    names = re.findall(r"^name = .([a-z_]+).\nsql = ", built_in_studies()["hstcp-2010"].read_text(), re.MULTILINE)
    study = vz.load_study("hstcp-2010")
    view = next(
        one for one in study.views if one.name in names and any(one.name in (f.sql or "") for f in study.findings)
    )
    findings, parts = changed(view.sql, view.sql.replace("SELECT", "SELECT 1 AS more,", 1))
    assert findings
    assert not parts
    findings, parts = changed("network.bottleneck.rate", "network.bottleneck.delay")
    assert parts


def test_a_study_of_ones_own_has_no_register() -> None:
    assert registered("mine")["finding"] == {}
