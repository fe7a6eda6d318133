"""One machine's share of a campaign's runs (`--shard 3/40`); every run belongs to exactly one shard."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vazao.study import PlannedRun


@dataclass(frozen=True)
class Shard:
    """Shard `number` of `of` of a campaign's runs, counted from 1."""

    number: int
    of: int

    def share(self, runs: Sequence[PlannedRun]) -> list[PlannedRun]:
        """Runs of a plan that belong to this shard: every `of`-th replication of each combination.

        The shard of a combination's first replication follows from its content, not from its place in the plan: when a
        study grows, each run stays in its shard.
        """
        return [run for run in runs if (int(run.cell.run_id, 16) + run.replication) % self.of == self.number - 1]


WHOLE = Shard(1, 1)
"""Shard that contains all runs."""
