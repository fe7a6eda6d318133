"""Progress displays for long work: a moving bar in a terminal, lines elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Self

from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, Task, TextColumn
from rich.text import Text

from vazao.cli import terminal
from vazao.units import duration, quantity
from vazao.words import ENGLISH, Words

PLAIN_STEP_SECONDS = 15.0
"""Seconds between progress lines of a build or a single run without a terminal."""

BAR_SECONDS = 0.05
"""Seconds between two moves of a bar, each of which takes a good part of a short run."""

PLAIN_SECONDS = 5.0
"""Seconds between progress lines of a campaign without a terminal."""


class _Rate(ProgressColumn):
    """Column with the runs per second and the remaining time."""

    def __init__(self, words: Words) -> None:
        super().__init__()
        self._words = words

    def render(self, task: Task) -> Text:
        elapsed = task.elapsed or 0.0
        return Text(_pace(task.fields["ended"], task.completed, elapsed, self._words), style="cyan")


def _pace(ended: int, work: float, elapsed: float, words: Words) -> str:
    """Rate and remaining time. Runs differ in length, so the remaining time is based on the fraction of work done."""
    if not ended or not work or not elapsed:
        return "…"
    rate = words.number(f"{ended / elapsed:.3g}")
    return words.say("progress.pace", rate=rate, left=duration(elapsed * (1 - work) / work))


class Bar:
    """Progress as a moving bar; see `results.Progress`."""

    def __init__(self, words: Words = ENGLISH) -> None:
        self._words = words

    def start(self, total: int, done: int) -> None:
        """Draw the bar, unless there is nothing to run."""
        counted = TextColumn("{task.fields[ended]}/{task.fields[runs]}")
        columns = (
            SpinnerColumn(),
            TextColumn(self._words.say("progress.runs")),
            BarColumn(),
            counted,
            _Rate(self._words),
        )
        self._progress = Progress(*columns, console=terminal.err, transient=True)
        # Stored runs are not counted: the rate is of those that run now.
        self._task = self._progress.add_task("runs", total=1.0, ended=0, runs=total - done)
        self._ended, self._moved_at = 0, 0.0
        if total > done:
            self._progress.start()

    def advance(self, runs: int, work: float) -> None:
        """Move the bar."""
        self._ended += runs
        if (now := time.monotonic()) - self._moved_at >= BAR_SECONDS:
            self._moved_at = now
            self._progress.update(self._task, completed=work, ended=self._ended)

    def close(self) -> None:
        """Remove the bar."""
        self._progress.stop()


class Lines:
    """Progress as occasional lines, for logs and pipes; see `results.Progress`."""

    def __init__(self, words: Words = ENGLISH) -> None:
        self._words = words

    def start(self, total: int, done: int) -> None:
        """Print how many runs there are to do."""
        self._total, self._stored, self._ended = total, done, 0
        self._began = self._printed_at = time.monotonic()
        if total > done:
            key = "progress.to_do_more" if done else "progress.to_do"
            terminal.err.print(self._words.say(key, n=total - done, all=total, stored=done))

    def advance(self, runs: int, work: float) -> None:
        """Print the progress every few seconds."""
        self._ended += runs
        now = time.monotonic()
        if now - self._printed_at >= PLAIN_SECONDS:
            self._printed_at = now
            self._print(_pace(self._ended, work, now - self._began, self._words))

    def close(self) -> None:
        """Print the final number of runs and their rate."""
        if self._ended:
            took = time.monotonic() - self._began
            rate = self._words.number(f"{self._ended / max(took, 1e-9):.3g}")
            self._print(self._words.say("progress.rate", rate=rate))

    def _print(self, pace: str) -> None:
        ended, words = self._stored + self._ended, self._words
        terminal.err.print(words.say("progress.line", ended=ended, all=self._total, pace=pace))


PATIENCE_SECONDS = 1.0
"""Seconds before a single run shows its progress."""

FORECAST_SECONDS = 4.0
"""Seconds before the end of a single run is forecast, which takes about a second of another core."""


class Clock:
    """Progress of a single run: a moving line in a terminal, occasional lines elsewhere."""

    def __init__(self, until_s: float | None, ends: Callable[[], float | None] = lambda: None) -> None:
        """`until_s` is the latest end of the run; `ends` forecasts its end, and is called once at most."""
        self._until = until_s
        self._ask: Callable[[], float | None] | None = ends
        self._ends: float | None = None
        self._began = self._printed_at = time.monotonic()
        self._progress = Progress(
            SpinnerColumn(), BarColumn(), TextColumn("{task.description}"), console=terminal.err, transient=True
        )
        self._task = self._progress.add_task("", total=until_s)
        self._shown = False

    def __call__(self, now_s: float) -> None:
        """Show that `now_s` seconds have been simulated."""
        elapsed = time.monotonic() - self._began
        if elapsed > FORECAST_SECONDS and now_s and self._ask:
            ask, self._ask = self._ask, None
            self._ends = ask()
        if terminal.err.is_terminal and elapsed > PATIENCE_SECONDS:
            self._shown = True
            self._progress.start()
            text, total = self._text(now_s, elapsed), self._ends or self._until
            self._progress.update(self._task, completed=now_s, total=total, description=text)
        elif time.monotonic() - self._printed_at >= PLAIN_STEP_SECONDS and not terminal.err.is_terminal:
            self._printed_at = time.monotonic()
            terminal.err.print(self._text(now_s, elapsed))

    def _text(self, now_s: float, elapsed: float) -> str:
        simulated = f"{quantity(now_s, 's')} simulated"
        ends = self._ends if self._ends and self._ends > now_s else self._until
        if ends is None:
            return simulated
        left = f", {duration(elapsed * (ends - now_s) / now_s)} left" if now_s else ""
        about = f"about {quantity(ends, 's')}" if ends == self._ends else f"{quantity(ends, 's')} at most"
        return f"{simulated} of {about}{left}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._shown:
            self._progress.stop()


def progress(words: Words = ENGLISH) -> Bar | Lines:
    """Return the display that suits standard error: a bar in a terminal, lines elsewhere."""
    return Bar(words) if terminal.err.is_terminal else Lines(words)


TRUSTED = 0.1
"""Fraction of a step after which its measured pace predicts more than its usual duration."""


class Steps:
    """Progress through named steps: a moving bar in a terminal, lines elsewhere."""

    def __init__(self) -> None:
        self._bar: Progress | None = None

    def plan(self, usual: Mapping[str, float]) -> None:
        """Set the steps in order, each with its usual duration in seconds."""
        self._usual = dict(usual)
        self._names = list(usual)
        if terminal.err.is_terminal:
            columns = (
                SpinnerColumn(),
                TextColumn("{task.description}"),
                BarColumn(),
                TextColumn("{task.fields[left]}"),
            )
            self._bar = Progress(*columns, console=terminal.err, transient=True)
            self._task = self._bar.add_task("", total=1.0, left="")
            self._bar.start()

    def begin(self, name: str) -> None:
        """Start a step."""
        self._name = name
        self._began = time.monotonic()
        self._printed_at = -PLAIN_STEP_SECONDS
        self.at(0.0)

    def at(self, part: float, note: str = "") -> None:
        """Show how much of the step is done, from 0 to 1."""
        number = self._names.index(self._name)
        text = f"{number + 1}/{len(self._names)} {self._name}" + (f": {note}" if note else "")
        part = min(part, 1.0)
        left = f"about {duration(self._left(number, part))} left"
        now = time.monotonic()
        if self._bar:
            total = sum(self._usual.values())
            before = sum(self._usual[name] for name in self._names[:number])
            done = (before + part * self._usual[self._name]) / total
            self._bar.update(self._task, description=text, completed=done, left=left)
        elif now - self._printed_at >= PLAIN_STEP_SECONDS:
            self._printed_at = now
            terminal.err.print(f"{text}, {left}")

    def _left(self, number: int, part: float) -> float:
        later = sum(self._usual[name] for name in self._names[number + 1 :])
        if part < TRUSTED:
            return later + self._usual[self._name] * (1 - part)
        return later + (time.monotonic() - self._began) * (1 - part) / part

    def close(self) -> None:
        """Remove the bar."""
        if self._bar:
            self._bar.stop()
