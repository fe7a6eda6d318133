"""Shares of a campaign's runs, for machines that know nothing of each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Shard:
    """A share of a campaign's runs: number `number` of `of`, counted from 1."""

    number: int
    of: int

    def share(self, scenarios: Sequence[T]) -> Sequence[T]:
        """Scenarios of a plan that belong to it: every `of`-th in the plan's order."""
        return scenarios[self.number - 1 :: self.of]


WHOLE = Shard(1, 1)
"""All runs."""
