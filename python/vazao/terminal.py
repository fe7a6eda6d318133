"""How Vazão speaks in a terminal: tables with units, the ledger, progress."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any, Self

import polars as pl
from rich.console import Console, ConsoleOptions, JustifyMethod, RenderableType
from rich.measure import Measurement
from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, Task, TextColumn
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from vazao.findings import Result

_UNSEEN = {code: f"\\x{code:02x}" for code in (*range(32), *range(0x7F, 0xA0)) if chr(code) not in "\n\t"}
_UNSEEN |= {code: f"\\u{code:04x}" for code in (0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))}
"""Letters that steer a terminal or turn the direction of its text round, as they are shown instead."""


def clean(text: str) -> str:
    """A text that a terminal shows and does not obey: what a file says may be a stranger's."""
    return text.translate(_UNSEEN)


class Cleaned(Console):
    """A console whose texts are shown as they are: no markup, no escape sequences but its own."""

    def __init__(self, **options: Any) -> None:
        super().__init__(highlight=False, markup=False, emoji=False, **options)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """The segments of anything, in which only the console's own are control codes."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(clean(segment.text), segment.style)


out = Cleaned()
if not out.is_terminal:
    # A pipe or a file has no edge at which a table would have to be cut.
    out.width = 200
err = Cleaned(stderr=True, soft_wrap=True)

_PREFIXES = [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""), (1e-3, "m"), (1e-6, "µ"), (1e-9, "n")]
_UNITS = {"_bps": "bit/s", "_bytes": "B", "_s": "s"}
_VERDICTS = {"reproduced": "green", "differs": "yellow", "not testable here": "dim"}

_COUNTED = {"reproduced": "reproduced", "differs": "differ", "not testable here": "not testable here"}

_PROSE = 100
"""The longest line of the ledger's texts, however wide the terminal."""

PLAIN_SECONDS = 5.0
"""How often progress is told where there is no terminal to draw in."""


def quantity(value: float, unit: str) -> str:
    """A number with a prefixed unit and four digits: `9.57 Mbit/s`, `25 ms`."""
    if not math.isfinite(value) or value == 0:
        return f"{value:g} {unit}"
    if unit == "s" and abs(value) >= 1:
        return f"{value:.4g} s" if abs(value) < 1e4 else f"{value:.0f} s"
    scale, prefix = next(((s, p) for s, p in _PREFIXES if abs(value) >= s * 0.99995), _PREFIXES[-1])
    return f"{value / scale:.4g} {prefix}{unit}"


def cell(column: str, value: Any) -> str:
    """A value as people read it, by its column's unit."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        for suffix, unit in _UNITS.items():
            if column.endswith(suffix):
                return quantity(float(value), unit)
        return f"{value:,}".replace(",", " ") if isinstance(value, int) else f"{value:.4g}"
    return str(value)


def heading(column: str) -> str:
    """A column's name without its unit, which every cell shows."""
    suffix = next((suffix for suffix in _UNITS if column.endswith(suffix)), "")
    return column.removesuffix(suffix).replace("_", " ")


def table(frame: pl.DataFrame, *, title: str = "", raw: bool = False) -> Table:
    """A data frame as a table: units in the cells, or (`raw`) names and numbers as they are stored.

    Where the terminal is too narrow, what is the same in all rows goes into the title, and lines break between words.
    """
    names = {name: name if raw else heading(name) for name in frame.columns}
    cells = {name: [_raw(value) if raw else cell(name, value) for value in frame[name]] for name in frame.columns}
    wide = sum(max(map(len, [names[name], *cells[name]])) + 2 for name in cells) > out.width
    if wide and not raw and frame.height > 1:
        same = [name for name in cells if len(set(cells[name])) == 1]
        title = " · ".join([title, *(f"{names[name]} {cells.pop(name)[0]}" for name in same)])
    made = Table(
        title=Text(title, style="bold") if title else None,
        title_justify="left",
        title_style="bold",
        header_style="bold",
        box=None,
    )
    made.collapse_padding = wide
    for name in cells:
        numeric = frame.schema[name].is_numeric()
        words = max(map(len, " ".join([names[name], *([] if numeric else cells[name])]).split() or [""]))
        least = max([words, *(map(len, cells[name]) if numeric else ())])
        justify: JustifyMethod = "right" if numeric else "left"
        whole = least == max(map(len, [names[name], *cells[name]]))
        made.add_column(Text(names[name]), overflow="fold", justify=justify, min_width=least, no_wrap=wide and whole)
    for row in zip(*cells.values(), strict=True):
        made.add_row(*map(Text, row))
    return made


def records(frame: pl.DataFrame) -> str:
    """Rows that are too wide for the terminal, one value a line."""
    width = max((len(name) for name in frame.columns), default=0)
    rows = frame.iter_rows(named=True)
    blocks = ["\n".join(f"{name:<{width}}  {_raw(value)}" for name, value in row.items()) for row in rows]
    return "\n\n".join(blocks) or f"no rows; columns: {', '.join(frame.columns)}"


def fits(frame: pl.DataFrame) -> bool:
    """Whether a table of these rows is no wider than the terminal."""
    widths = [max([len(name), *(len(_raw(value)) for value in frame[name])]) for name in frame.columns]
    return sum(widths) + 2 * len(widths) <= out.width


def _raw(value: Any) -> str:
    return "NULL" if value is None else str(value)


MOST_ROWS = 24
"""How many flows or links of a run are shown."""

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
    """A single run's summary: flows, links, the run."""
    out.print(Text.assemble((name, "bold"), f"   run {run_id}"))
    for each, columns in ("flows", FLOWS), ("links", LINKS):
        rows = tables[each].select(columns)
        out.print(_narrowed(rows.head(MOST_ROWS), f"\n{each}"))
        if rows.height > MOST_ROWS:
            out.print(f" … and {rows.height - MOST_ROWS} more; --json prints all, --out DIR keeps them for `vazao sql`")
    for flow, problem in problems(tables["flows"]):
        out.print(f" flow {flow}: {problem}")
    _show_output(tables["flows"])
    columns = [*RUN, KERNEL] if tables["runs"]["kernel"].is_not_null().any() else RUN
    out.print(table(tables["runs"].select(columns), title="\nrun"))


def problems(flows: pl.DataFrame) -> list[tuple[int, str]]:
    """The flows that failed or had not done what they were to do when the run ended, each with what is to be said."""
    unfinished = pl.lit("had not completed when the run ended")
    told = flows.select("flow", problem=pl.coalesce("failure", pl.when(~pl.col("completed")).then(unfinished)))
    return [(flow, problem) for flow, problem in told.drop_nulls().iter_rows()]


MOST_LINES = 30
"""Lines of a program's output that are shown; a row has all of it."""


def _show_output(flows: pl.DataFrame) -> None:
    """What the clients' programs printed, and the servers' where they failed."""
    for row in flows.filter(pl.col("client_output").is_not_null()).iter_rows(named=True):
        sides = ["client", "server"] if row["failure"] else ["client"]
        for side in sides:
            lines = row[f"{side}_output"].rstrip().splitlines()
            left_out = f", the last {MOST_LINES} of {len(lines)} lines" if len(lines) > MOST_LINES else ""
            out.print(f"\nflow {row['flow']}, what the {side} printed{left_out}")
            for line in lines[-MOST_LINES:]:
                out.print(f" {line}", highlight=False, soft_wrap=True)


SPARE = ["sent", "packets", "RTT_s", "hosts"]
"""Columns that a narrow terminal does without, the first to go first."""


def _narrowed(rows: pl.DataFrame, title: str) -> Table:
    """A table without as many of the spare columns as do not fit."""
    made = table(rows, title=title)
    for name in SPARE:
        # Measured without the terminal's own limit.
        if Measurement.get(out, out.options.update(max_width=1000), made).maximum <= out.width:
            break
        if name in rows.columns:
            rows = rows.drop(name)
            made = table(rows, title=title)
    return made


def show_findings(results: Sequence[Result], *, explained: bool = False) -> None:
    """The ledger, and how it came out; `explained`: with what explains each claim that was not reproduced."""
    out.print(Text("findings", style="bold"))
    levels = max((len(result.level or "") for result in results), default=0)
    for _, claimed in groupby(results, key=lambda result: result.id):
        claim = list(claimed)
        out.print()
        out.print(Text(claim[0].claim, style="bold"))
        rows = Table.grid(padding=(0, 2, 0, 0))
        rows.add_column(min_width=max(levels, len("reported")) + 2, no_wrap=True)
        rows.add_column(overflow="fold", max_width=_PROSE)
        if claim[0].reported:
            rows.add_row(Text("  reported", style="dim"), Text(claim[0].reported, style="dim"))
        explanations = _explanations(claim) if explained else [""] * len(claim)
        for result, why in zip(claim, explanations, strict=True):
            measured = f": {result.measured}" if result.measured else ""
            verdict = Text.assemble((result.verdict, _VERDICTS[result.verdict]), measured)
            rows.add_row(Text(f"  {result.level or 'measured'}"), verdict)
            if why:
                rows.add_row("", Text(why, style="dim"))
        out.print(rows)
    counts = [f"{sum(r.verdict == verdict for r in results)} {word}" for verdict, word in _COUNTED.items()]
    out.print(f"\n{len(results)} findings: {', '.join(counts)}")


def _explanations(claim: Sequence[Result]) -> list[str]:
    """What explains each verdict of a claim but those that need no explaining; one that several share, at the last."""
    texts = ["" if result.verdict == "reproduced" else result.explanation for result in claim]
    return ["" if text in texts[n + 1 :] else text for n, text in enumerate(texts)]


def show_tables(tables: Iterable[tuple[str, pl.DataFrame]]) -> None:
    """A study's own tables, each under its title."""
    for title, rows in tables:
        out.print(table(rows, title=f"\n{title}"))


def show_summary(runs: pl.DataFrame, factors: Mapping[str, Sequence[str]]) -> None:
    """Of every part, the mean utilisation and fairness of each combination, over its replications."""
    for part, names in factors.items():
        rows = runs.filter(pl.col("part") == part)
        measures = [pl.len().alias("runs"), pl.col("utilisation", "jain").mean()]
        grouped = rows.group_by(list(names), maintain_order=True).agg(measures) if names else rows.select(measures)
        if rows.height:
            out.print(table(grouped, title=f"\n{part}"))


class _Rate(ProgressColumn):
    """Runs per second and the time that is left."""

    def render(self, task: Task) -> Text:
        elapsed = task.elapsed or 0.0
        return Text(_pace(task.fields["ended"], task.completed, elapsed), style="cyan")


def _pace(ended: int, work: float, elapsed: float) -> str:
    """The rate, and what is left: runs differ in length, so that goes by the share of the work that is done."""
    if not ended or not work or not elapsed:
        return "…"
    return f"{ended / elapsed:.3g} runs/s, {duration(elapsed * (1 - work) / work)} left"


def duration(seconds: float) -> str:
    """A span of time in words: `3 s`, `2 min 5 s`, `1 h 10 min`."""
    whole = max(1, round(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


class Bar:
    """Progress as a moving bar; see `campaign.Progress`."""

    def start(self, total: int, done: int) -> None:
        """Draw the bar, unless there is nothing to run."""
        counted = TextColumn("{task.fields[ended]}/{task.fields[runs]}")
        columns = (SpinnerColumn(), TextColumn("runs"), BarColumn(), counted, _Rate())
        self._progress = Progress(*columns, console=err, transient=True)
        # Stored runs are told apart: the rate is of those that run now.
        self._task = self._progress.add_task("runs", total=1.0, ended=0, runs=total - done)
        self._ended = 0
        if total > done:
            self._progress.start()

    def advance(self, runs: int, work: float) -> None:
        """Move the bar."""
        self._ended += runs
        self._progress.update(self._task, completed=work, ended=self._ended)

    def close(self) -> None:
        """Remove the bar."""
        self._progress.stop()


class Lines:
    """Progress as a line now and then, for logs and pipes; see `campaign.Progress`."""

    def start(self, total: int, done: int) -> None:
        """Say how much there is to do."""
        self._total, self._stored, self._ended = total, done, 0
        self._began = self._told = time.monotonic()
        if total > done:
            err.print(f"{total - done} of {total} runs to do" + (f", {done} stored" if done else ""))

    def advance(self, runs: int, work: float) -> None:
        """Say how far it is, every few seconds."""
        self._ended += runs
        now = time.monotonic()
        if now - self._told >= PLAIN_SECONDS:
            self._told = now
            pace = _pace(self._ended, work, now - self._began)
            err.print(f"{self._stored + self._ended}/{self._total} runs, {pace}")

    def close(self) -> None:
        """Say how it ended."""
        if self._ended:
            took = time.monotonic() - self._began
            err.print(f"{self._stored + self._ended}/{self._total} runs, {self._ended / max(took, 1e-9):.3g} runs/s")


PATIENCE_SECONDS = 1.0
"""A single run that takes no longer shows no progress."""


class Clock:
    """How far a single run is, as a moving line; nothing where there is no terminal to draw in."""

    def __init__(self, until_s: float | None) -> None:
        """`until_s`: when the run ends at the latest."""
        self._until = until_s
        self._began = time.monotonic()
        self._progress = Progress(
            SpinnerColumn(), BarColumn(), TextColumn("{task.description}"), console=err, transient=True
        )
        self._task = self._progress.add_task("", total=until_s)
        self._shown = False

    def __call__(self, now_s: float) -> None:
        """So many seconds are simulated."""
        elapsed = time.monotonic() - self._began
        if err.is_terminal and elapsed > PATIENCE_SECONDS:
            self._shown = True
            self._progress.start()
            self._progress.update(self._task, completed=now_s, description=self._told(now_s, elapsed))

    def _told(self, now_s: float, elapsed: float) -> str:
        told = f"{quantity(now_s, 's')} simulated"
        if self._until is None:
            return told
        left = f", {duration(elapsed * (self._until - now_s) / now_s)} left" if now_s else ""
        return f"{told} of {quantity(self._until, 's')} at most{left}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._shown:
            self._progress.stop()


def progress() -> Bar | Lines:
    """What suits standard error: a bar in a terminal, lines elsewhere."""
    return Bar() if err.is_terminal else Lines()
