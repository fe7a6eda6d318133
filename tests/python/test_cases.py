"""Public reports as scenarios: each is valid and named in docs/cases.md, whose numbers are those found now."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import ModuleType

import pytest

from documents import ROOT, script
from vazao.causes import why

CASES = ROOT / "docs/cases"
TEXT = (ROOT / "docs/cases.md").read_text(encoding="utf-8")


@pytest.fixture
def cases(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The script that writes the numbers, beside those that it imports."""
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    yield script("docs/cases.py")
    sys.modules.pop("generate", None)


def test_every_scenario_is_a_valid_case_of_the_document(cases: ModuleType) -> None:
    assert {path.stem for path in CASES.iterdir()} == set(cases.CASES)
    for name, case in cases.CASES.items():
        asked = cases.experiment(name)
        for changes in ({}, *case.beside.values(), *case.again.values()):
            assert asked.set(changes).scenario.work().hops > 0
        assert f"| `docs/cases/{name}.toml` |" in TEXT


def test_the_numbers_are_those_found_now(cases: ModuleType) -> None:
    """The case with the fewest packets stands for all."""
    name = "s2n-quic-1320"
    answer = why(cases.experiment(name))
    assert cases.row(name, answer) in TEXT
    assert cases.filled(TEXT, name, cases.told(name, answer), cases.COMMAND) == TEXT
