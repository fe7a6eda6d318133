"""The built-in studies in their quick size: every run ends, every claim has a verdict, the report is written."""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest

from command import caller
from documents import DOCUMENTS, ROOT, exchanges, fenced, shows
from portuguese import english_in, seen
from vazao import _core, figures, kernel, ns2, report
from vazao.cli import rendering, terminal
from vazao.kernel import cache
from vazao.results import Campaign, Study, campaign, load_study
from vazao.study import built_in_studies
from vazao.study.findings import Ruling
from vazao.study.planning import PlannedRun, plan

pytestmark = pytest.mark.study

VERDICTS = Path(__file__).parent / "verdicts.toml"

TRANSLATED = {name for name, path in built_in_studies().items() if path.with_suffix(".pt.toml").exists()}

REASON = """\
# The verdict of every finding of every built-in study in its quick size, on a machine with a Linux kernel for guests
# and ns-2.
#
# A verdict is what a reader takes home from a study, and it is computed: a change of the engine can turn one round
# with every other test passing. This table is there so that nobody overlooks it; test_studies.py compares. A verdict
# that turns is no mistake as such, but its reason must be known and stand in CHANGELOG.md. Then write the table anew:
#
#     .venv/bin/pytest tests/python/test_studies.py --write-verdicts
"""


NEAR_A_BOUND = {"sctp-tcp-udp-2016": {"netem (TCP's)"}}
"""Verdicts that another build of the guests' kernel turns. With the larger stacks that it has on processors with AMX,
SCTP takes 10.3 s on average where it takes 10.0 elsewhere, and three runs do not tell that from 6.4."""


def has_all() -> bool:
    """Whether everything that a built-in study may need is installed: a kernel for Linux guests, and ns-2."""
    return kernel.find() is not None and ns2.find() is not None


@dataclass(frozen=True)
class Run:
    """Built-in study after a run in its quick size."""

    name: str
    study: Study
    done: Campaign


@pytest.fixture(scope="module", params=built_in_studies())
def ran(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Runs each study once for all tests of this file."""
    study = load_study(request.param)
    out = tmp_path_factory.mktemp("studies") / request.param
    return Run(request.param, study, campaign.run_study(study, size="quick", out=out))


def test_a_built_in_study_runs_and_concludes(ran: Run) -> None:
    study, done = ran.study, ran.done
    assert done.failures() == []
    assert done.not_run.is_empty() or not has_all()
    given_up = {finding.id for finding in study.findings if finding.not_testable}
    if has_all():
        untested = [f"{r.id} ({r.level})" for r in done.findings if r.verdict == "not testable"]
        # Findings that need the full size say so in their criterion.
        allowed = given_up | {finding.id for finding in study.findings if "Only the full size" in finding.criterion}
        assert [each for each in untested if each.split(" ")[0] not in allowed] == []
    for table in study.tables:
        assert done.table(table.id).height > 0, table.id
    figures.render(study, done.store, done.directory)
    page = report.write(study, done.store, done.findings, done.directory)
    assert "No stored run answers" not in page.read_text(encoding="utf-8")


def test_a_part_in_which_nothing_is_random_ignores_the_seed(ran: Run) -> None:
    planned = plan(ran.study, "quick").runs
    for part in (part.name for part in ran.study.parts if not part.random):
        runs = sorted((run for run in planned if run.part == part and not run.lacking), key=lambda run: run.work().hops)
        for run in {run.run_id: run for run in (*runs[:2], *runs[len(runs) // 2 :][:1])}.values():
            first, second = (flows_under(run, seed) for seed in (run.seed, run.seed + 1))
            assert first.equals(second), f"{part}: {run.labels}"


def flows_under(run: PlannedRun, seed: int) -> pl.DataFrame:
    """The flows' rows of a run under a seed."""
    return pl.DataFrame(_core.run(run.cell.recipe.read(seed)).table("flows")).drop("run_id")


Verdicts = Mapping[str, str]
"""Verdict of each finding of a study, by `ID`, or `ID (LEVEL)` if it is decided for each level of a factor."""


def computed(rulings: list[Ruling]) -> Verdicts:
    return {f"{r.id} ({r.level})" if r.level is not None else r.id: r.verdict for r in rulings}


def undecided_here(rulings: list[Ruling]) -> set[str]:
    """Findings that are undecided here because runs with guests or by ns-2 were left out."""
    return set(computed([r for r in rulings if r.explanation.startswith("It needs runs that are missing: ")]))


def turned(study: str, stored: Verdicts, now: Verdicts, undecidable: set[str]) -> list[str]:
    """Differences between the stored verdicts and those of a run, a line each."""
    compared = sorted((stored.keys() | now.keys()) - undecidable)
    return [
        f"study {study}, finding {finding}: stored {stored.get(finding, 'nothing')!r}, "
        f"computed {now.get(finding, 'nothing')!r}"
        for finding in compared
        if stored.get(finding) != now.get(finding)
    ]


def written(table: Mapping[str, Verdicts]) -> str:
    """Text of the verdicts' file: studies and findings in alphabetical order."""
    lines = [REASON.rstrip()]
    for study in sorted(table):
        lines += ["", f"[{study}]"]
        lines += [f'"{finding}" = "{verdict}"' for finding, verdict in sorted(table[study].items())]
    return "\n".join(lines) + "\n"


def test_no_verdict_turns_unnoticed(ran: Run, request: pytest.FixtureRequest) -> None:
    table = tomllib.loads(VERDICTS.read_text(encoding="utf-8")) if VERDICTS.exists() else {}
    rulings = ran.done.findings
    if request.config.getoption("--write-verdicts"):
        assert has_all(), "verdicts are written where a Linux kernel (make kernel) and ns-2 (Debian's package ns2) are"
        kept = {study: verdicts for study, verdicts in table.items() if study in built_in_studies()}
        VERDICTS.write_text(written(kept | {ran.name: computed(rulings)}), encoding="utf-8")
        return
    undecidable = set() if has_all() else undecided_here(rulings)
    elsewhere = NEAR_A_BOUND.get(ran.name, set()) if cache.has_large_state() else set()
    found = turned(ran.name, table.get(ran.name, {}), computed(rulings), undecidable | elsewhere)
    assert found == [], "explain each in CHANGELOG.md, then see the top of tests/python/verdicts.toml"
    if undecidable:
        pytest.skip(
            f"no Linux kernel for guests, or no ns-2: {len(undecidable)} of {len(rulings)} verdicts not compared"
        )


def test_a_portuguese_reader_meets_no_english(
    ran: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if ran.name not in TRANSLATED:
        pytest.skip("has no translation")
    translated = ran.done.in_language("pt")
    page = report.write(translated.study, translated.store, translated.findings, tmp_path).read_text(encoding="utf-8")
    assert english_in(seen(page)) == []
    for name in ("letter.tex", "ledger.tex"):
        text = "\n".join(line for line in (tmp_path / name).read_text("utf-8").splitlines() if line[:1] not in "\\%")
        assert english_in(text) == [], name
    shown = caller(monkeypatch, capsys)("show", str(ran.done.directory), "--lang", "pt")
    assert english_in(shown.out + shown.err) == []


@pytest.mark.parametrize("ran", ["hstcp-2010"], indirect=True)
def test_the_front_page_shows_what_the_demonstration_finds(
    ran: Run, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """README shows an excerpt of `make demo`, on a terminal of 120 columns with neither a guest kernel nor ns-2."""
    readme = next(path for path in DOCUMENTS if path.name == "README.md")
    ((_, shown),) = exchanges(next(block for block in fenced(readme) if block.comment("not compared:")))
    found, totals = shown.split(f"\n{len(ran.done.findings)} findings: ")
    monkeypatch.setattr(terminal.out, "width", 120)
    rendering.show_findings(ran.done.findings)
    printed = capsys.readouterr().out
    assert shows(found + "\n…", printed), f"README.md: the findings are\n{printed}"
    if not kernel.find() and not ns2.find():
        assert f"{len(ran.done.findings)} findings: {totals.splitlines()[0]}" in printed


def test_the_documents_count_the_verdicts_as_they_are_stored() -> None:
    stored = Counter(tomllib.loads(VERDICTS.read_text(encoding="utf-8"))["hstcp-2010"].values())
    counts = [stored[verdict] for verdict in ("reproduced", "differs", "undecided", "not testable")]
    sentence = "Of the {} verdicts of `hstcp-2010` (quick, with a Linux kernel and ns-2), "
    sentence += "{} say reproduced, {} differs, {} undecided, {} not"
    page = (ROOT / "docs/index.md").read_text(encoding="utf-8")
    assert sentence.format(sum(counts), *counts) in page


def test_the_stored_verdicts_are_of_studies_that_exist_and_in_order() -> None:
    text = VERDICTS.read_text(encoding="utf-8")
    table = tomllib.loads(text)
    assert sorted(table) == sorted(built_in_studies())
    assert text == written(table)


def test_a_verdict_that_turns_is_named() -> None:
    stored = {"a": "reproduced", "b (modern)": "differs", "gone": "differs", "guest": "reproduced"}
    now = {"a": "differs", "b (modern)": "differs", "guest": "not testable", "new": "differs"}
    assert turned("s", stored, now, {"guest"}) == [
        "study s, finding a: stored 'reproduced', computed 'differs'",
        "study s, finding gone: stored 'differs', computed 'nothing'",
        "study s, finding new: stored 'nothing', computed 'differs'",
    ]


def test_what_needs_a_kernel_is_not_compared_where_there_is_none(
    stacks: Study, tmp_path: Path, no_kernel: None
) -> None:
    rulings = campaign.run_study(stacks, out=tmp_path / "results").findings
    undecidable = undecided_here(rulings)
    assert undecidable == {"same", "each (linux)"}
    assert turned("stacks", computed(rulings) | {"same": "reproduced"}, computed(rulings), undecidable) == []
