"""Shares of a campaign's runs, for machines that know nothing of each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vazao.study import PlannedRun


@dataclass(frozen=True)
class Shard:
    """A share of a campaign's runs: number `number` of `of`, counted from 1."""

    number: int
    of: int

    def share(self, runs: Sequence[PlannedRun]) -> list[PlannedRun]:
        """Runs of a plan that belong to it: of each combination every `of`-th replication.

        Where a combination begins follows from what it is, not from its place in the plan: a study that grows leaves
        each run in the shard that has it.
        """
        return [run for run in runs if (int(run.cell.run_id, 16) + run.replication) % self.of == self.number - 1]


WHOLE = Shard(1, 1)
"""All runs."""
