"""Campaigns of studies: run with their progress shown, and told as people and as programs read them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from vazao import results, study as studies
from vazao.cli.judging import Demands, check, record
from vazao.cli.questions import publish
from vazao.errors import RunError
from vazao.results.shard import WHOLE, Shard
from vazao.words import DEFAULT, Words

if TYPE_CHECKING:
    import polars as pl


def run_study(
    study: results.Study,
    size: studies.Size | None,
    place: int | results.Cluster | None,
    directory: Path,
    shard: Shard,
    as_json: bool,
    *,
    before: int = 0,
    asked: Demands | None = None,
) -> None:
    """Run what is missing of a study, or of a shard of it, and show what came out.

    `before` are runs that the same command has simulated already. Raises `RunError` where a run failed, or a claim has
    a verdict that is `asked` to fail.
    """
    done = campaign(study, size, place, directory, shard)
    if before:
        done = replace(done, started=done.started + before)
    if shard != WHOLE:
        _show_shard(done, shard, as_json)
        return
    page = publish(done)
    if as_json:
        _write(_told(done), _tables(done))
    else:
        _show(done, page)
    _ended([done], asked or Demands())


def run_theses(
    size: studies.Size | None,
    place: int | results.Cluster | None,
    directory: Path,
    lang: str | None,
    as_json: bool,
    asked: Demands,
) -> None:
    """The studies that re-run an original, one after the other, and a page over their answers."""
    from vazao import report
    from vazao.cli.terminal import out

    campaigns = []
    for name in studies.theses():
        study = results.load_study(name, lang=lang)
        campaigns.append(campaign(study, size, place, directory / name))
        publish(campaigns[-1])
        if not as_json:
            out.print(f"{study.title}: {studies.counted(campaigns[-1].findings, study.words)}", soft_wrap=True)
    told = [(done.study, done.findings, done.directory.name) for done in campaigns]
    page = report.write_index(told, directory, Words(lang or DEFAULT))
    if as_json:
        _write({"page": str(page), "studies": [_told(done) for done in campaigns]})
    else:
        out.print(f"answers: {page}", soft_wrap=True)
    _ended(campaigns, asked)


def _show_shard(done: results.Campaign, shard: Shard, as_json: bool) -> None:
    from vazao.cli.terminal import out

    told = {"directory": str(done.directory), "shard": [shard.number, shard.of], "runs": done.runs.height}
    if as_json:
        _write(told | {"started": done.started})
    else:
        there = f"{done.runs.height} runs in {done.directory} ({done.started} simulated now)"
        out.print(f"shard {shard.number} of {shard.of}: {there}; `vazao merge` puts shards together", soft_wrap=True)
    _ended([done], Demands())


def campaign(
    study: results.Study,
    size: studies.Size | None,
    place: int | results.Cluster | None,
    directory: Path,
    shard: Shard = WHOLE,
) -> results.Campaign:
    """The campaign of a study with what was missing run, on so many cores or a cluster; its progress is shown."""
    from vazao.cli.progress import progress
    from vazao.cli.terminal import err

    try:
        jobs, on = (place, None) if isinstance(place, int) else (None, place)
        return results.run_study(study, size=size, jobs=jobs, out=directory, progress=progress(), shard=shard, on=on)
    except KeyboardInterrupt:
        err.print("interrupted; finished runs are kept, and the same command goes on from there")
        raise typer.Exit(130) from None


def _write(told: dict[str, Any], tables: Mapping[str, Mapping[str, pl.DataFrame]] | None = None) -> None:
    from vazao.cli.printing import write_object

    write_object(told, tables)


def _told(done: results.Campaign) -> dict[str, Any]:
    """A campaign as data."""
    return {
        "study": done.study.name, "directory": str(done.directory), "runs": done.runs.height, "started": done.started,
        "not_run": studies.reasons(done.not_run), "findings": [asdict(result) for result in done.findings],
    }  # fmt: skip


def _tables(done: results.Campaign) -> dict[str, dict[str, pl.DataFrame]]:
    """A study's tables, by their ids: of a sweep its means, half of their intervals, and how many runs each is of."""
    return {"tables": {one.id: done.table(one.id) for one in done.study.tables}}


def _show(done: results.Campaign, page: Path) -> None:
    """A campaign as people read it."""
    from vazao.cli import showing
    from vazao.cli.terminal import out

    if done.study.findings:
        showing.show_findings(done.findings, done.study.words)
    else:
        showing.show_title(done.study.title, done.study.question)
    showing.show_tables((one.title, done.table(one.id)) for one in done.study.tables)
    runs = f"{done.runs.height} runs in {done.directory} ({done.started} simulated now)"
    out.print(f"{runs}; report: {page}", soft_wrap=True)


def _ended(campaigns: Sequence[results.Campaign], asked: Demands) -> None:
    """Say what was not run, and what is left out; write the verdicts where that is asked.

    Raises `RunError` where a run failed, or a claim has a verdict that is asked to fail.
    """
    from vazao.cli.terminal import err

    for done in campaigns:
        if done.left_out:
            reasons = "; ".join(done.left_out)
            err.print(
                f"stored runs that the study does not have now: {reasons}. `vazao gc {done.directory}` removes them",
                soft_wrap=True,
            )
        if done.not_run.height:
            err.print(studies.told_not_run(studies.reasons(done.not_run)))
    record(campaigns, asked)
    for done in campaigns:
        if failures := done.failures():
            run_id, reason = failures[0]
            raise RunError(f"{len(failures)} runs failed; the first, {run_id}: {reason}")
    check(campaigns, asked)
