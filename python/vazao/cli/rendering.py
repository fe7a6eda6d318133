"""Display of results: a run's summary, the ledger of findings, a study's tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from vazao import limits, study
from vazao.cli.terminal import grid, measured, out, table
from vazao.words import ENGLISH, Words

if TYPE_CHECKING:
    from vazao.measurements import Measured
    from vazao.study import Pair, Ruling

_VERDICTS = {"reproduced": "green", "differs": "yellow", "undecided": "magenta", "not testable": "dim"}


PROSE = 100
"""Maximum line length of the ledger's texts, regardless of the terminal's width."""

MAX_ROWS = 24
"""Maximum number of flows or links shown for a run."""

_CC = pl.when(pl.col("cc") == "none").then(pl.lit("")).otherwise(pl.format(" {}", "cc"))
_STACK = pl.when(pl.col("stack") == "vazao").then(pl.lit("")).otherwise(pl.format(" · {}", "stack"))

FLOWS = [
    pl.col("flow"),
    pl.format("{}{}{}", "transport", _CC, _STACK).alias("transport"),
    pl.format("{} → {}", "client", "server").alias("hosts"),
    pl.col("app_bytes").alias("data_bytes"),
    pl.col("completion_s").alias("time_s"),
    pl.col("goodput_bps"),
    pl.col("packets_sent").alias("sent"),
    pl.col("packets_lost").alias("lost"),
    pl.col("timeouts"),
    pl.col("rtt_mean_s").alias("RTT_s"),
]
LINKS = [
    pl.format("{} {}", "link", "direction").alias("link"),
    pl.col("utilisation"),
    pl.col("packets"),
    pl.col("bytes").alias("data_bytes"),
    pl.col("drops_queue").alias("dropped"),
    pl.col("drops_loss").alias("lost"),
    pl.col("queue_delay_mean_s").alias("queueing_s"),
]
RUN = [
    pl.col("jain", "utilisation"),
    pl.col("sim_s").alias("simulated_s"),
    pl.col("packet_hops"),
    pl.col("wall_s").alias("took_s"),
]
KERNEL = pl.format("Linux {}, {} Hz", "kernel", "kernel_hz").alias("guests")


def show_run(name: str, run_id: str, tables: Mapping[str, pl.DataFrame]) -> None:
    """Print a single run's summary: flows, links, the run."""
    out.print(Text.assemble((name, "bold"), f"   run {run_id}"))
    for each, columns in ("flows", FLOWS), ("links", LINKS):
        rows = tables[each]
        out.print(_narrowed(rows.head(MAX_ROWS).select(columns), f"\n{each}"))
        if rows.height > MAX_ROWS:
            out.print(f" … and {rows.height - MAX_ROWS} more; --json prints all, --out DIR keeps them for `vazao sql`")
        if each == "flows":
            _show_limits(rows.head(MAX_ROWS))
    for flow, problem in problems(tables["flows"]):
        out.print(f" flow {flow}: {problem}")
    _show_output(tables["flows"])
    columns = [*RUN, KERNEL] if tables["runs"]["kernel"].is_not_null().any() else RUN
    out.print(table(tables["runs"].select(columns), title="\nrun"))


def show_places(places: Mapping[str, Path | None], lost: int) -> None:
    """Print where a run's files are, and how many samples were not kept (`lost`)."""
    if listed := [f"{what}: {place}" for what, place in places.items() if place is not None]:
        out.print("\n" + "; ".join(listed), soft_wrap=True)
    if lost:
        out.print(
            f"\n{lost} samples were recorded and not kept: --out DIR keeps them, --json prints them", soft_wrap=True
        )


def problems(flows: pl.DataFrame) -> list[tuple[int, str]]:
    """Flows that failed or had not completed when the run ended, each with a message."""
    unfinished = pl.lit("had not completed when the run ended")
    messages = flows.select("flow", problem=pl.coalesce("failure", pl.when(~pl.col("completed")).then(unfinished)))
    return [(flow, problem) for flow, problem in messages.drop_nulls().iter_rows()]


def failures(flows: pl.DataFrame) -> list[tuple[int, str]]:
    """Flows that failed, each with the reason."""
    return flows.filter(pl.col("failure").is_not_null()).select("flow", "failure").rows()


def _show_limits(flows: pl.DataFrame) -> None:
    """Print what each flow's sender waited for, where it accounts for that."""
    said = [(flow["flow"], limits.sentence(limits.shares(flow))) for flow in flows.iter_rows(named=True)]
    rows = [{"flow": flow, "limited by": text} for flow, text in said if text]
    if rows:
        out.print(table(pl.DataFrame(rows), title="\nlimits"))


MAX_LINES = 30
"""Maximum number of lines shown of a program's output; the flow's row has all of it."""


def _show_output(flows: pl.DataFrame) -> None:
    """Print the output of the clients' programs, and of the servers' where they failed."""
    for row in flows.filter(pl.col("client_output").is_not_null()).iter_rows(named=True):
        sides = ["client", "server"] if row["failure"] else ["client"]
        for side in sides:
            lines = row[f"{side}_output"].rstrip().splitlines()
            left_out = f", the last {MAX_LINES} of {len(lines)} lines" if len(lines) > MAX_LINES else ""
            out.print(f"\nflow {row['flow']}, what the {side} printed{left_out}")
            for line in lines[-MAX_LINES:]:
                out.print(f" {line}", highlight=False, soft_wrap=True)


SPARE = ["sent", "packets", "RTT_s", "hosts"]
"""Columns that are dropped on a narrow terminal, in this order."""


def _narrowed(rows: pl.DataFrame, title: str) -> RenderableType:
    """A table without the spare columns that do not fit the terminal."""
    for name in SPARE:
        if measured(grid(rows, title=title)).maximum <= out.width:
            break
        if name in rows.columns:
            rows = rows.drop(name)
    return table(rows, title=title)


def show_findings(
    results: Sequence[Ruling],
    words: Words = ENGLISH,
    *,
    explained: bool = False,
    measurements: Sequence[Measured] = (),
) -> None:
    """Print the ledger and its totals; `explained` adds criteria, and explanations of claims that were not reproduced.

    Verdicts from `measurements` are listed below those of the runs.
    """
    theirs = [(one.name, {(ruling.id, ruling.level): ruling for ruling in one.findings}) for one in measurements]
    out.print(Text(words.say("terminal.findings"), style="bold"))
    levels = max((len(words.label(result.level or "")) for result in results), default=0)
    levels = max([levels, *(len(name) + 2 for name, _ in theirs)])
    reported, measured = words.say("terminal.reported"), words.say("terminal.measured")
    least = len(words.say("terminal.criterion") if explained else reported)
    for _, claimed in groupby(results, key=lambda result: result.id):
        claim = list(claimed)
        out.print()
        out.print(Text(claim[0].claim, style="bold"))
        rows = Table.grid(padding=(0, 2, 0, 0))
        rows.add_column(min_width=max(levels, least) + 2, no_wrap=True)
        rows.add_column(overflow="fold", max_width=PROSE)
        if claim[0].reported:
            rows.add_row(Text(f"  {reported}", style="dim"), Text(claim[0].reported, style="dim"))
        if explained:
            for label, text in _criteria(claim[0], words):
                rows.add_row(Text(f"  {label}", style="dim"), Text(text, style="dim"))
        explanations = _explanations(claim) if explained else [""] * len(claim)
        for result, why in zip(claim, explanations, strict=True):
            _add(rows, f"  {words.label(result.level) if result.level else measured}", result, words)
            if why:
                rows.add_row("", Text(why, style="dim"))
            for name, found in theirs:
                other = found.get((result.id, result.level))
                if other and (explained or other.verdict != "not testable"):
                    _add(rows, f"    {name}", other, words)
                    if other.explanation:
                        rows.add_row("", Text(other.explanation, style="dim"))
        out.print(rows)
    out.print(f"\n{words.many('terminal.counted', len(results))}: {study.counted(results, words)}")
    for one in measurements:
        out.print(f"{words.say('figure.measured', name=one.name)}: {_joined(one, words)}", soft_wrap=True)


def _add(rows: Table, head: str, result: Ruling, words: Words) -> None:
    """Add a verdict with its numbers to the rows of a claim."""
    values = f": {result.measured}" if result.measured else ""
    rows.add_row(Text(head), Text.assemble((words.of("verdict", result.verdict), _VERDICTS[result.verdict]), values))
    for pair in result.numbers:
        rows.add_row("", Text(_side_by_side(pair, words), style="dim"))


def _joined(one: Measured, words: Words) -> str:
    """Summary of a set of measurements: the runs and measures that joined the study, and the verdicts."""
    runs, measures = words.many("page.runs", one.runs.height), ", ".join(one.readings.measures)
    sentences = [words.say("page.joined", runs=runs, measures=measures)]
    if one.readings.assumed:
        levels = (words.say("page.assumed", factor=name, level=at) for name, at in one.readings.assumed.items())
        sentences.append(words.say("page.taken_to_be", told="; ".join(levels)))
    counted = study.counted(one.findings, words) if one.findings else words.say("page.touches_nothing")
    return " ".join([*sentences, counted])


def _side_by_side(pair: Pair, words: Words) -> str:
    """A number of the original next to ours: `SACK: 70 s reported, 66.9 s measured, 0.96 times`."""
    reported, measured, effect = pair.formatted(words)
    of = f"{pair.of}: " if pair.of else ""
    numbers = of + words.say("terminal.side_by_side", reported=reported, measured=measured)
    return numbers if pair.effect is None else f"{numbers}, {words.say('terminal.times', effect=effect)}"


def _criteria(result: Ruling, words: Words) -> list[tuple[str, str]]:
    """Labelled criteria of a claim: the current one, and earlier ones with the reason for each change."""
    now = [(words.say("terminal.criterion"), result.criterion)] if result.criterion else []
    changed = (words.say("terminal.changed", criterion=one.criterion, because=one.because) for one in result.earlier)
    return [*now, *((words.say("terminal.earlier"), text) for text in changed)]


def _explanations(claim: Sequence[Ruling]) -> list[str]:
    """Explanations of a claim's verdicts unless reproduced; one that several share is shown at the last."""
    texts = ["" if result.verdict == "reproduced" else result.explanation for result in claim]
    return ["" if text in texts[n + 1 :] else text for n, text in enumerate(texts)]


def show_title(title: str, question: str) -> None:
    """Print a study's title and question, as the head of an answer without claims."""
    out.print(Text(title, style="bold"))
    if question:
        out.print(Text(question), soft_wrap=True)


def show_tables(tables: Iterable[tuple[str, pl.DataFrame]], words: Words = ENGLISH) -> None:
    """Print a study's own tables, each under its title."""
    for title, rows in tables:
        out.print(table(rows, title=f"\n{title}", words=words))


def show_summary(runs: pl.DataFrame, factors: Mapping[str, Sequence[str]], words: Words = ENGLISH) -> None:
    """Print the mean utilisation and fairness of each combination of every part, over its replications."""
    for part, names in factors.items():
        rows = summary(runs, part, names)
        if rows["runs"].sum():
            heads = {name: words.of("summary", name) for name in ("runs", "utilisation", "jain")}
            out.print(table(rows.rename(heads), title=f"\n{part}", words=words))


def summary(runs: pl.DataFrame, part: str, factors: Sequence[str]) -> pl.DataFrame:
    """The mean utilisation and fairness of each combination of a part, over its replications."""
    rows = runs.filter(pl.col("part") == part)
    measures = [pl.len().alias("runs"), pl.col("utilisation", "jain").mean()]
    return rows.group_by(list(factors), maintain_order=True).agg(measures) if factors else rows.select(measures)
