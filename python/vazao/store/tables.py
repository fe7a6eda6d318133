"""Tables of finished runs, of this engine or of ns-2, as polars data frames with plain text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import polars as pl
from polars import selectors

from vazao import _core, ns2

if TYPE_CHECKING:
    from typing import TypeAlias

    Outcome: TypeAlias = _core.Outcome | ns2.Outcome
    """Outcome of a run: its tables, or why there are none."""

SMALLEST = """
[network]
topology = "point-to-point"
link = { rate = "1 Gbps" }
[[flow]]
app = { kind = "upload", size = "1 B" }
"""
"""A minimal scenario, which times a run's fixed costs and has the columns of its tables; takes under a millisecond."""


def table(outcome: Outcome, name: str) -> pl.DataFrame:
    """Table of an outcome, with dictionary-encoded columns converted to plain text."""
    return joined_table([outcome], name)


def joined_table(outcomes: Sequence[Outcome], name: str) -> pl.DataFrame:
    """Rows of several outcomes as one table.

    The engine joins its own: making a data frame of a single outcome's table takes longer than a short run.
    """
    tables = _core.merged([outcome.table(name) for outcome in outcomes])
    return plain(pl.concat(map(pl.DataFrame, tables), how="vertical_relaxed"))


def plain(rows: Any) -> pl.DataFrame:
    """Rows in any form that polars imports, with dictionary-encoded columns converted to plain text."""
    return pl.DataFrame(rows).with_columns(selectors.categorical().cast(pl.String))
