"""Generates docs/studies/NAME.verdicts.md: each study's verdicts in both sizes, with the measured values, side by side.

.venv/bin/python docs/verdicts.py [NAME…]

Runs both sizes of the studies; results are kept in target/verdicts, and stored runs are not repeated.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from vazao.results import Campaign, load_study
from vazao.study import Ruling, Size, counted, reasons, theses

DOCS = Path(__file__).parent
RESULTS = DOCS.parent / "target" / "verdicts"
COMMAND = ".venv/bin/python docs/verdicts.py"


def main(names: Sequence[str]) -> None:
    """Run both sizes of each study and write its page."""
    for name in names or theses():
        quick, full = (_run(name, size) for size in ("quick", "full"))
        text = "\n".join([*_page(name, quick, full), ""])
        (DOCS / f"studies/{name}.verdicts.md").write_text(text, encoding="utf-8")


def _run(name: str, size: Size) -> Campaign:
    """Run one size of a study, with texts in English."""
    return load_study(name, lang="en").run(size=size, out=RESULTS / f"{name}-{size}")


def _page(name: str, quick: Campaign, full: Campaign) -> Iterator[str]:
    yield f"# Verdicts of {name}"
    yield ""
    yield f"Both sizes of the study, run by `{COMMAND} {name}`; ± is half the width of a 95 % interval. [Its"
    yield f"claims]({name}.md) say where the original states each; the criteria stand in the study's report."
    yield ""
    yield "| size | runs | verdicts | not run |"
    yield "| --- | --- | --- | --- |"
    yield _summary("quick", quick)
    yield _summary("full", full)
    yield ""
    yield f"Engine {full.store.manifest['versions']['engine']}."
    yield ""
    yield "| claim | quick | full |"
    yield "| --- | --- | --- |"
    found = [{(one.id, one.level): one for one in campaign.findings} for campaign in (quick, full)]
    for key, one in found[1].items():
        title = f"`{one.id}`" + (f" ({one.level})" if one.level else "")
        yield f"| {title} | {_cell(found[0].get(key))} | {_cell(one)} |"


def _summary(size: Size, campaign: Campaign) -> str:
    """Row about one size: its runs, its verdicts, and the runs that were not possible."""
    missing = "; ".join(f"{count}: {reason.partition(';')[0]}" for reason, count in reasons(campaign.not_run).items())
    return f"| {size} | {campaign.runs.height:,} | {counted(campaign.findings)} | {missing or 'none'} |"


def _cell(one: Ruling | None) -> str:
    """Cell with a verdict and the measured values."""
    if one is None:
        return ""
    measured = one.measured.replace("|", "\\|").replace("\n", " ")
    return f"**{one.verdict}**" + (f": {measured}" if measured else "")


if __name__ == "__main__":
    main(sys.argv[1:])
