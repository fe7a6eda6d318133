"""Growth of a campaign: which stored runs a changed study still has, and why others are left out.

A run is found by what it is: its `run_id` is a digest of the resolved scenario with its seed, of every file that it
names and of the engine. So a study may gain or lose levels, factors and replications; what is stored of another
scenario is kept beside and never pooled with what is planned.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import polars as pl

from vazao.results.store import Store
from vazao.study import Plan
from vazao.words import ENGLISH

KEY = "replication"
"""Column of every design beside its factors and `part`."""


def planned_rows(planned: Plan, store: Store | None) -> pl.DataFrame:
    """The rows of a plan in order, each under the run_id by which its run is found.

    A run has another run_id where its kernel or simulator is gone; what is stored of it stays, if nothing else differs.
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
    """Rows of a design by part, factors (by their numbers where they have some), replication."""
    factors = [name for name in rows.columns if name not in ("run_id", "part", KEY, "reason")]
    numbers = [name for name in factors if rows.schema[name] != pl.String()]
    texts = [name for name in factors if name not in numbers]
    return rows.sort(["part", *numbers, *texts, KEY], nulls_last=True, maintain_order=True)


def left_out(planned: Plan, rows: pl.DataFrame, store: Store) -> list[str]:
    """Reasons why stored runs are none of a plan, whose rows are `rows`, each with how many they are."""
    stored = store.stored
    others = set(stored.join(rows, on="run_id", how="anti")["run_id"])
    if not others:
        return []
    reasons: dict[str, str] = {}
    before = store.planned
    if before is not None:
        known = _scenarios(store)
        now = {run.run_id: run for run in planned.runs}
        for was, is_now in _pairs(before.filter(pl.col("run_id").is_in(list(others))), rows):
            if was in known and is_now in now:
                both = json.loads(known[was]), json.loads(now[is_now].scenario.json)
                key, old, new = next(differences(*both), ("", None, None))
                changed = ENGLISH.say("reason.changed", key=key, now=_short(new), there=_short(old))
                reasons[was] = changed if key else ENGLISH.say("reason.engine")
    gone = ENGLISH.say("reason.levels")
    counted = Counter(reasons.get(run, gone) for run in others)
    return [f"{count} {reason}" for reason, count in counted.most_common()]


def differences(old: Any, new: Any, at: str = "") -> Iterator[tuple[str, Any, Any]]:
    """The keys in which two documents differ, dotted, with both values."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted({*old, *new}):
            yield from differences(old.get(key), new.get(key), f"{at}.{key}" if at else str(key))
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for index, pair in enumerate(zip(old, new, strict=True)):
            yield from differences(*pair, f"{at}.{index}")
    elif old != new:
        yield at, old, new


def _pairs(before: pl.DataFrame, now: pl.DataFrame) -> Iterator[tuple[str, str]]:
    """The run_ids of rows of two designs with the same part, levels and replication, as far as both have columns."""
    shared = [name for name, kind in now.schema.items() if name != "run_id" and before.schema.get(name) == kind]
    if {"part", KEY} <= set(shared):
        both = before.join(now, on=shared, how="inner", nulls_equal=True, suffix="_now")
        yield from both.select("run_id", "run_id_now").iter_rows()


def _scenarios(store: Store) -> dict[str, str]:
    return dict(store.query("SELECT run_id, scenario FROM scenarios").iter_rows())


def _without_programs(scenario: str) -> Any:
    """A scenario without the digests of the kernels that play it, and with its simulator's name alone."""

    def without(table: dict[str, Any]) -> dict[str, Any]:
        kept = {key: value for key, value in table.items() if key != "kernel_sha256"}
        return kept | {"simulator": kept["simulator"].get("name")} if "simulator" in kept else kept

    return json.loads(scenario, object_hook=without)


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= 40 else f"{text[:40]}…"
