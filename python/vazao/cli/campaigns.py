"""Campaigns of studies: runs them with progress, and prints the outcome for people or as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from vazao import execution, results, study as studies
from vazao.cli.ci import Demands, check, record
from vazao.cli.questions import publish
from vazao.errors import RunError
from vazao.execution import WHOLE, Shard
from vazao.words import DEFAULT, Words

if TYPE_CHECKING:
    import polars as pl


def run_study(
    study: results.Study,
    size: studies.Size | None,
    place: int | execution.Cluster | None,
    directory: Path,
    shard: Shard,
    as_json: bool,
    *,
    before: int = 0,
    asked: Demands | None = None,
    measurements: Sequence[Path] = (),
) -> None:
    """Run the missing runs of a study, or of a shard of it, and print the outcome.

    `before` counts runs that the same command has already simulated. Raises `RunError` if a run failed, or if a claim
    has a verdict that `asked` treats as a failure.
    """
    done = campaign(study, size, place, directory, shard, measurements)
    if before:
        done = replace(done, started=done.started + before)
    if shard != WHOLE:
        _show_shard(done, shard, as_json)
        return
    page = publish(done)
    if as_json:
        _write(_data(done), _tables(done))
    else:
        _show(done, page)
    _ended([done], asked or Demands())


def run_theses(
    size: studies.Size | None,
    place: int | execution.Cluster | None,
    directory: Path,
    lang: str | None,
    as_json: bool,
    asked: Demands,
) -> None:
    """Run the studies that replicate an original one after the other, and write an index page of their answers."""
    from vazao import report
    from vazao.cli.terminal import out

    campaigns = []
    for name in studies.theses():
        study = results.load_study(name, lang=lang)
        campaigns.append(campaign(study, size, place, directory / name))
        publish(campaigns[-1])
        if not as_json:
            out.print(f"{study.title}: {studies.counted(campaigns[-1].findings, study.words)}", soft_wrap=True)
    answers = [(done.study, done.findings, done.directory.name) for done in campaigns]
    page = report.write_index(answers, directory, Words(lang or DEFAULT))
    if as_json:
        _write({"page": str(page), "studies": [_data(done) for done in campaigns]})
    else:
        out.print(Words(lang or DEFAULT).say("terminal.answers", page=page), soft_wrap=True)
    _ended(campaigns, asked)


def _show_shard(done: results.Campaign, shard: Shard, as_json: bool) -> None:
    from vazao.cli.terminal import out

    data = {"directory": str(done.directory), "shard": [shard.number, shard.of], "runs": done.runs.height}
    if as_json:
        _write(data | {"started": done.started})
    else:
        words = done.study.words
        out.print(words.say("terminal.shard", number=shard.number, of=shard.of, there=_there(done)), soft_wrap=True)
    _ended([done], Demands())


def campaign(
    study: results.Study,
    size: studies.Size | None,
    place: int | execution.Cluster | None,
    directory: Path,
    shard: Shard = WHOLE,
    measurements: Sequence[Path] = (),
) -> results.Campaign:
    """Run the missing runs of a study's campaign, on some cores or a cluster, with progress displayed."""
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


def _write(data: dict[str, Any], tables: Mapping[str, Mapping[str, pl.DataFrame]] | None = None) -> None:
    from vazao.cli.json_tables import write_object

    write_object(data, tables)


def _data(done: results.Campaign) -> dict[str, Any]:
    """A campaign as data for JSON."""
    return {
        "study": done.study.name, "directory": str(done.directory), "runs": done.runs.height, "started": done.started,
        "not_run": studies.reasons(done.not_run), "findings": [asdict(result) for result in done.findings],
        "measurements": [one.as_data() for one in done.measurements],
    }  # fmt: skip


def _tables(done: results.Campaign) -> dict[str, dict[str, pl.DataFrame]]:
    """A study's tables by id. Those of a sweep hold means, half-widths of their intervals, and numbers of runs."""
    return {"tables": {one.id: done.table(one.id) for one in done.study.tables}}


def _show(done: results.Campaign, page: Path) -> None:
    """Print a campaign for people."""
    from vazao.cli import rendering
    from vazao.cli.terminal import out

    if done.study.findings:
        rendering.show_findings(done.findings, done.study.words, measurements=done.measurements)
    else:
        rendering.show_title(done.study.title, done.study.question)
    words = done.study.words
    rendering.show_tables(((one.title, done.table(one.id)) for one in done.study.tables), words)
    out.print(words.say("terminal.report", there=_there(done), page=page), soft_wrap=True)


def _there(done: results.Campaign) -> str:
    """Message with the number of stored runs, their directory, and how many of them are new."""
    runs, started = done.runs.height, done.started
    return done.study.words.say("terminal.there", runs=runs, directory=done.directory, started=started)


def _ended(campaigns: Sequence[results.Campaign], asked: Demands) -> None:
    """Report runs that were not run or are left out, and write the verdicts to a file if requested.

    Raises `RunError` if a run failed, or if a claim has a verdict that `asked` treats as a failure.
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
            err.print(studies.not_run_message(studies.reasons(done.not_run), words))
    record(campaigns, asked)
    for done in campaigns:
        if failures := done.failures():
            run_id, reason = failures[0]
            message = done.study.words.say("terminal.failed", n=len(failures), run=run_id, reason=reason)
            raise RunError(message)
    check(campaigns, asked)
