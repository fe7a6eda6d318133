"""Stored runs that a changed study can reuse, and why the others are excluded.

Runs are identified by content: a `run_id` is a digest of the resolved scenario with its seed, of every file that it
names and of the engine. A study may therefore gain or lose levels, factors and replications. Stored runs of other
scenarios are kept, but never pooled with planned runs.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import polars as pl

from vazao.store.directory import Store
from vazao.study import Plan
from vazao.words import ENGLISH

KEY = "replication"
"""Column of every design besides `part` and its factors."""


def planned_rows(planned: Plan, store: Store | None) -> pl.DataFrame:
    """Rows of a plan in canonical order, each with the run_id under which its run is stored.

    A run's run_id changes if its kernel or simulator is missing here; a run stored before still counts if nothing else
    differs.
    """
    rows = in_order(planned.rows(planned.runs))
    unable = {run.run_id: run for run in planned.runs if run.lacking}
    if not unable or store is None or (before := store.planned) is None:
        return rows
    known = _scenarios(store)
    stays = {}
    for was, now in _pairs(before, rows.filter(pl.col("run_id").is_in(list(unable)))):
        if (
            was in known
            and next(differences(_without_programs(known[was]), _without_programs(unable[now].scenario.json)), None)
            is None
        ):
            stays[now] = was
    return rows.with_columns(pl.col("run_id").replace(stays))


def in_order(rows: pl.DataFrame) -> pl.DataFrame:
    """Sort the rows of a design by part, factors (by their numbers where they have any) and replication."""
    factors = [name for name in rows.columns if name not in ("run_id", "part", KEY, "reason")]
    numbers = [name for name in factors if rows.schema[name] != pl.String()]
    texts = [name for name in factors if name not in numbers]
    return rows.sort(["part", *numbers, *texts, KEY], nulls_last=True, maintain_order=True)


def left_out(planned: Plan, rows: pl.DataFrame, store: Store) -> list[str]:
    """Reasons for excluding stored runs from a plan with these `rows`, each with the number of runs."""
    stored = store.stored
    excluded = set(stored.join(rows, on="run_id", how="anti")["run_id"])
    if not excluded:
        return []
    reasons: dict[str, str] = {}
    before = store.planned
    if before is not None:
        known = _scenarios(store)
        now = {run.run_id: run for run in planned.runs}
        for was, is_now in _pairs(before.filter(pl.col("run_id").is_in(list(excluded))), rows):
            if was in known and is_now in now:
                both = json.loads(known[was]), json.loads(now[is_now].scenario.json)
                key, old, new = next(differences(*both), ("", None, None))
                changed = ENGLISH.say("reason.changed", key=key, now=_short(new), there=_short(old))
                reasons[was] = changed if key else ENGLISH.say("reason.engine")
    gone = ENGLISH.say("reason.levels")
    counted = Counter(reasons.get(run, gone) for run in excluded)
    return [f"{count} {reason}" for reason, count in counted.most_common()]


def differences(old: Any, new: Any, at: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Dotted keys at which two documents differ, with both values."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted({*old, *new}):
            yield from differences(old.get(key), new.get(key), f"{at}.{key}" if at else str(key))
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for index, pair in enumerate(zip(old, new, strict=True)):
            yield from differences(*pair, f"{at}.{index}")
    elif old != new:
        yield at, old, new


def _pairs(before: pl.DataFrame, now: pl.DataFrame) -> Iterator[tuple[str, str]]:
    """Pairs of run_ids from two designs that agree in part, levels and replication, as far as both have columns."""
    shared = [name for name, kind in now.schema.items() if name != "run_id" and before.schema.get(name) == kind]
    if {"part", KEY} <= set(shared):
        both = before.join(now, on=shared, how="inner", nulls_equal=True, suffix="_now")
        yield from both.select("run_id", "run_id_now").iter_rows()


def _scenarios(store: Store) -> dict[str, str]:
    return dict(store.query("SELECT run_id, scenario FROM scenarios").iter_rows())


def _without_programs(scenario: str) -> Any:
    """A scenario without the digests of its kernels and simulators."""
    tables = json.loads(scenario)
    for transport in (flow["transport"] for flow in tables["flow"]):
        for side in filter(None, (transport, transport.get("receiver"))):
            side.pop("simulator", None)
            side.get("kernel", {}).pop("sha256", None)
    return tables


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= 40 else f"{text[:40]}…"
