"""Separation of unlike flows, since a mean over rivals describes none of them."""

from __future__ import annotations

import polars as pl

from vazao.errors import ResultsError

OWNER = "flow_table"
"""Column with the owner of a row: the `[[flow]]` table by its key, as in `flow.0`, or the link of a measure."""


def of_tables(flows: pl.DataFrame) -> pl.DataFrame:
    """Rows of flows with the `[[flow]]` table of each; flows of one table differ only in their hosts."""
    return flows.with_columns(pl.format("flow.{}", "group").alias(OWNER))


def apart(
    rows: pl.DataFrame, measure: str, x: str | None, color: str | None, facet: str | None, flow: int | None
) -> tuple[pl.DataFrame, str | None, str | None]:
    """Rows of one `flow`, or of all, with the colour and the panels that separate unlike flows.

    Raises `ResultsError` where there is no such flow, or where colour and panels are taken and several would be mixed.
    """
    owners = rows[OWNER].drop_nulls().unique(maintain_order=True).sort().to_list()
    if flow is not None:
        if (label := f"flow.{flow}") not in owners:
            raise ResultsError(f"flow: {flow} has no {measure!r}; these have: {', '.join(owners)}")
        return rows.filter(pl.col(OWNER) == label), color, facet
    chosen = [name for name in dict.fromkeys((x, color, facet)) if name in rows.columns]
    most = rows.group_by(chosen).agg(pl.col(OWNER).n_unique())[OWNER].max() if chosen else len(owners)
    if not isinstance(most, int) or most < 2:
        return rows, color, facet
    if color is None:
        return rows, OWNER, facet
    if facet is None:
        return rows, color, OWNER
    raise ResultsError(
        f"{measure!r} is of {', '.join(owners)}, which would be averaged: name one, as in flow=0, or leave color or "
        "facet out for them"
    )
