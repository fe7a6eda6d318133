"""The pages of claims cover every finding of their study, and give each claim its place or a reason."""

import re
import tomllib
from itertools import chain

import pytest

from documents import ROOT
from vazao.results import load_study
from vazao.study import theses

COLUMNS = ["claim", "where in the original", "finding"]

PLACE = re.compile(r"\b(abstract|pp?\. \d+|sections? \d+|table \d+|figures? \d+)")
"""Place in an original; a section will do, because some texts have no page numbers."""

UNCOVERED = re.compile(r"not covered(?: yet\b|, missing: .|, not testable here: .)")


def text(study: str) -> str:
    return (ROOT / f"docs/studies/{study}.md").read_text(encoding="utf-8")


def rows(page: str) -> list[list[str]]:
    """Cells of each row of a page's tables, without the header rows."""
    lines = re.findall(r"^\| (.*) \|$", page, re.MULTILINE)
    cells = [line.split(" | ") for line in lines]
    return [row for row in cells if row != COLUMNS and set("".join(row)) != {"-"}]


def ids(part: str) -> list[str]:
    """Finding ids in a text, where they are set as code."""
    return re.findall(r"`([^`]+)`", part)


def beyond(page: str) -> list[str]:
    """Findings that no claim of the original asks for."""
    _, _, section = page.partition("\n## Asked beyond the original\n")
    return [one for item in re.findall(r"^- ([^:]*):", section, re.MULTILINE) for one in ids(item)]


@pytest.mark.parametrize("name", theses())
def test_a_page_knows_its_studys_findings_and_no_other(name: str) -> None:
    page, known = text(name), [finding.id for finding in load_study(name).findings]
    shown = [*chain.from_iterable(ids(row[2]) for row in rows(page)), *beyond(page)]
    assert [one for one in shown if one not in known] == []
    assert [one for one in known if one not in shown] == []


@pytest.mark.parametrize("name", theses())
def test_a_study_and_its_page_agree_on_what_is_asked_beyond_the_original(name: str) -> None:
    assert sorted(beyond(text(name))) == sorted(one.id for one in load_study(name).findings if one.beyond)


@pytest.mark.parametrize("name", theses())
def test_what_is_asked_beyond_the_original_stands_in_no_row(name: str) -> None:
    page = text(name)
    in_rows = set(chain.from_iterable(ids(row[2]) for row in rows(page)))
    assert [one for one in beyond(page) if one in in_rows] == []


@pytest.mark.parametrize("name", theses())
def test_every_claim_has_a_place_and_a_finding_or_a_reason(name: str) -> None:
    found = rows(text(name))
    assert len(found) > 15
    assert [row for row in found if len(row) != len(COLUMNS)] == []
    assert [row[0] for row in found if not PLACE.search(row[1])] == []
    assert [row[0] for row in found if not (ids(row[2]) or UNCOVERED.match(row[2]))] == []
    assert [row[0] for row in found if "not covered" in row[2] and not UNCOVERED.search(row[2])] == []


@pytest.mark.parametrize("name", theses())
def test_a_claim_appears_only_once(name: str) -> None:
    claims = [row[0] for row in rows(text(name))]
    assert sorted(claims) == sorted(set(claims))


@pytest.mark.parametrize("name", theses())
def test_a_page_begins_with_its_original_and_how_to_run_it_again(name: str) -> None:
    head, _, _ = text(name).partition("\n## ")
    study = load_study(name)
    year = re.findall(r"\d{4}", study.source)[-1]
    assert f"vazao run {name}" in head
    assert year in head
    assert f"](studies/{name}.md)" in (ROOT / "docs/studies.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", theses())
def test_published_verdicts_are_those_of_the_study_as_it_stands(name: str) -> None:
    page = (ROOT / f"docs/studies/{name}.verdicts.md").read_text(encoding="utf-8")
    found = re.findall(
        r"^\| `([^`]+)`(?: \(([^|]*)\))? \| (?:\*\*([a-z ]+)\*\*.*)? \| \*\*([a-z ]+)\*\*.* \|$", page, re.MULTILINE
    )
    assert list(dict.fromkeys(row[0] for row in found)) == [one.id for one in load_study(name).findings]
    pinned = tomllib.loads((ROOT / "tests/python/verdicts.toml").read_text(encoding="utf-8"))[name]
    # The page is written on a machine with neither a guest kernel nor ns-2.
    expected = {
        f"{id_} ({level})" if level else id_: quick for id_, level, quick, _ in found if quick != "not testable"
    }
    assert {one: pinned[one] for one in expected} == expected, "run docs/verdicts.py"
    assert len(expected) > 0.7 * len(found)


def test_a_claim_without_a_reason_is_found() -> None:
    head = "| claim | where in the original | finding |\n| --- | --- | --- |\n"
    assert rows(f"{head}| A falls | p. 4 | not covered, missing: |\n") == [["A falls", "p. 4", "not covered, missing:"]]
    assert not UNCOVERED.match("not covered, missing:")
    assert not UNCOVERED.match("not covered")
    assert UNCOVERED.match("not covered yet")
    assert UNCOVERED.match("not covered, not testable here: a judgement")
    assert not PLACE.search("somewhere")
    section = "\n## Asked beyond the original\n\n- `one`, `two`: more\n- `three`: of `one`\n"
    assert beyond(section) == ["one", "two", "three"]
