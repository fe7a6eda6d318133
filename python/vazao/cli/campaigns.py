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
    measurements: Sequence[Path] = (),
) -> None:
    """Run what is missing of a study, or of a shard of it, and show what came out.

    `before` are runs that the same command has simulated already. Raises `RunError` where a run failed, or a claim has
    a verdict that is `asked` to fail.
    """
    done = campaign(study, size, place, directory, shard, measurements)
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
        out.print(Words(lang or DEFAULT).say("terminal.answers", page=page), soft_wrap=True)
    _ended(campaigns, asked)


def _show_shard(done: results.Campaign, shard: Shard, as_json: bool) -> None:
    from vazao.cli.terminal import out

    told = {"directory": str(done.directory), "shard": [shard.number, shard.of], "runs": done.runs.height}
    if as_json:
        _write(told | {"started": done.started})
    else:
        words = done.study.words
        out.print(words.say("terminal.shard", number=shard.number, of=shard.of, there=_there(done)), soft_wrap=True)
    _ended([done], Demands())


def campaign(
    study: results.Study,
    size: studies.Size | None,
    place: int | results.Cluster | None,
    directory: Path,
    shard: Shard = WHOLE,
    measurements: Sequence[Path] = (),
) -> results.Campaign:
    """The campaign of a study with what was missing run, on so many cores or a cluster; its progress is shown."""
    from vazao.cli.progress import progress
    from vazao.cli.terminal import err

    try:
        jobs, on = (place, None) if isinstance(place, int) else (None, place)
        return results.run_study(
            study,
            size=size,
            jobs=jobs,
            out=directory,
            progress=progress(study.words),
            shard=shard,
            on=on,
            measurements=measurements,
        )
    except KeyboardInterrupt:
        err.print(study.words.say("terminal.interrupted"))
        raise typer.Exit(130) from None


def _write(told: dict[str, Any], tables: Mapping[str, Mapping[str, pl.DataFrame]] | None = None) -> None:
    from vazao.cli.printing import write_object

    write_object(told, tables)


def _told(done: results.Campaign) -> dict[str, Any]:
    """A campaign as data."""
    return {
        "study": done.study.name, "directory": str(done.directory), "runs": done.runs.height, "started": done.started,
        "not_run": studies.reasons(done.not_run), "findings": [asdict(result) for result in done.findings],
        "measurements": [one.told() for one in done.measurements],
    }  # fmt: skip


def _tables(done: results.Campaign) -> dict[str, dict[str, pl.DataFrame]]:
    """A study's tables, by their ids: of a sweep its means, half of their intervals, and how many runs each is of."""
    return {"tables": {one.id: done.table(one.id) for one in done.study.tables}}


def _show(done: results.Campaign, page: Path) -> None:
    """A campaign as people read it."""
    from vazao.cli import showing
    from vazao.cli.terminal import out

    if done.study.findings:
        showing.show_findings(done.findings, done.study.words, measurements=done.measurements)
    else:
        showing.show_title(done.study.title, done.study.question)
    words = done.study.words
    showing.show_tables(((one.title, done.table(one.id)) for one in done.study.tables), words)
    out.print(words.say("terminal.report", there=_there(done), page=page), soft_wrap=True)


def _there(done: results.Campaign) -> str:
    """The number of stored runs, where they are, and how many of them are new."""
    runs, started = done.runs.height, done.started
    return done.study.words.say("terminal.there", runs=runs, directory=done.directory, started=started)


def _ended(campaigns: Sequence[results.Campaign], asked: Demands) -> None:
    """Say what was not run, and what is left out; write the verdicts where that is asked.

    Raises `RunError` where a run failed, or a claim has a verdict that is asked to fail.
    """
    from vazao.cli.terminal import err

    for done in campaigns:
        words = done.study.words
        if done.left_out:
            counted = (one.partition(" ") for one in done.left_out)
            reasons = "; ".join(f"{count} {words.reason(reason)}" for count, _, reason in counted)
            command = f"vazao gc {done.directory}"
            err.print(words.say("terminal.left_out", reasons=reasons, command=command), soft_wrap=True)
        if done.not_run.height:
            err.print(studies.told_not_run(studies.reasons(done.not_run), words))
    record(campaigns, asked)
    for done in campaigns:
        if failures := done.failures():
            run_id, reason = failures[0]
            told = done.study.words.say("terminal.failed", n=len(failures), run=run_id, reason=reason)
            raise RunError(told)
    check(campaigns, asked)
