"""How far a build is, and about how long it will still take."""

from __future__ import annotations

import time
from collections.abc import Mapping

from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn

from vazao.terminal import duration, err

PLAIN_SECONDS = 15.0
"""How often progress is told where there is no terminal to draw in."""

TRUSTED = 0.1
"""The part of a step after which its pace says more than what such a step usually takes."""


class Steps:
    """Progress through named steps: a moving bar in a terminal, lines elsewhere."""

    def __init__(self) -> None:
        self._bar: Progress | None = None

    def plan(self, usual: Mapping[str, float]) -> None:
        """Take up the steps in their order, each with the seconds that it usually takes."""
        self._usual = dict(usual)
        self._names = list(usual)
        if err.is_terminal:
            columns = (
                SpinnerColumn(),
                TextColumn("{task.description}"),
                BarColumn(),
                TextColumn("{task.fields[left]}"),
            )
            self._bar = Progress(*columns, console=err, transient=True)
            self._task = self._bar.add_task("", total=1.0, left="")
            self._bar.start()

    def begin(self, name: str) -> None:
        """Go on to a step."""
        self._name = name
        self._began = time.monotonic()
        self._told = -PLAIN_SECONDS
        self.at(0.0)

    def at(self, part: float, note: str = "") -> None:
        """Tell how much of the step is done, from 0 to 1."""
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
        elif now - self._told >= PLAIN_SECONDS:
            self._told = now
            err.print(f"{text}, {left}")

    def _left(self, number: int, part: float) -> float:
        later = sum(self._usual[name] for name in self._names[number + 1 :])
        if part < TRUSTED:
            return later + self._usual[self._name] * (1 - part)
        return later + (time.monotonic() - self._began) * (1 - part) / part

    def close(self) -> None:
        """Remove the bar."""
        if self._bar:
            self._bar.stop()
