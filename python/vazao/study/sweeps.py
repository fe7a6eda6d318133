"""Sweeps: parses `--vary KEY=VALUES` and writes the study that runs every combination of the values."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import tomli_w

from vazao import units
from vazao.errors import StudyError
from vazao.study.model import RESERVED

MAX_LEVELS = 1000
"""Maximum number of values for one key."""

_RANGE = re.compile(r"([^:]+):([^:]+):(\d+)")
_QUANTITY = re.compile(r"\s*([-+]?[\d.]+(?:[eE][-+]?\d+)?)\s*(\D*)")
_SEPARATED = re.compile(r"""((?:[^,\[\]{}"']|\[[^\]]*\]|\{[^}]*\}|"[^"]*"|'[^']*')+)""")


@dataclass(frozen=True)
class Variation:
    """A key of a scenario and the values to give it."""

    key: str
    values: tuple[Any, ...]

    def __post_init__(self) -> None:
        if not 1 <= len(self.values) <= MAX_LEVELS:
            raise StudyError(f"--vary {self.key}: {len(self.values)} values; give 1 to {MAX_LEVELS}")


def variation(text: str) -> Variation:
    """Parse `KEY=VALUES`: comma-separated values (`cubic,bbr`) or FROM:TO:COUNT (`0:0.05:6`, `5 ms:50 ms:4`).

    A value is parsed as TOML, or else taken as a string. Raises `StudyError`.
    """
    key, equals, values = text.partition("=")
    if not (key.strip() and equals and values.strip()):
        raise StudyError(
            f"--vary {text!r}: write KEY=VALUE,VALUE,… or KEY=FROM:TO:COUNT, as in --vary flow.0.transport.cc=cubic,bbr"
        )
    if ranged := _RANGE.fullmatch(values.strip()):
        return Variation(key.strip(), tuple(_spread(text, *ranged.groups())))
    each = [value.strip() for value in _SEPARATED.findall(values)]
    return Variation(key.strip(), tuple(_value(value) for value in each if value))


def _value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def _spread(text: str, first: str, last: str, count: str) -> Iterable[float | int | str]:
    """Evenly spaced numbers or quantities; the ends are exact."""
    ends = [_QUANTITY.fullmatch(end) for end in (first, last)]
    if not all(ends) or int(count) < 2:
        raise StudyError(f"--vary {text!r}: write FROM:TO:COUNT with numbers and two or more steps, as in 0:0.05:6")
    (low, unit), (high, other) = ([end[1], end[2].strip()] for end in ends if end)
    if unit and unit != other:
        raise StudyError(f"--vary {text!r}: both ends need the same unit; write 5 ms:50 ms:4 or 5:50 ms:4")
    steps = int(count) - 1
    if steps >= MAX_LEVELS:
        raise StudyError(f"--vary {text!r}: {count} values; give 2 to {MAX_LEVELS}")
    whole = low.lstrip("+-").isdecimal() and high.lstrip("+-").isdecimal() and (int(high) - int(low)) % steps == 0
    for n in range(steps + 1):
        exact = float(low) + (float(high) - float(low)) * n / steps
        written = f"{exact:.12g}"
        yield f"{written} {other}" if other else int(written) if whole else float(written)


FLOW = "flow"
"""Column of a sweep's table with the `[[flow]]` table of each row, if there are several."""


def flow_label(number: int) -> str:
    """Name of a `[[flow]]` table in keys: flow.0."""
    return f"flow.{number}"


def varied_flows(variations: Iterable[Variation]) -> list[str]:
    """The `[[flow]]` tables that the varied keys name, which the sweep is about; none for keys of all flows."""
    found = (re.match(r"flow\.(\d+)\.", each.key) for each in variations)
    return list(dict.fromkeys(flow_label(int(one[1])) for one in found if one))


def name_of(key: str, taken: Iterable[str]) -> str:
    """Name of the column with a key's levels: its last word, or as many of its words as make it unique."""
    words = [re.sub(r"\W", "_", word).strip("_").lower() for word in key.split(".")]
    words = [word for word in words if word and not word.isdecimal() and word != "*"] or ["level"]
    known = {*RESERVED, FLOW, *taken}
    for count in range(1, len(words) + 1):
        if (name := "_".join(words[-count:])) not in known and name[0].isalpha():
            return name
    return next(name for n in range(1, len(known) + 2) if (name := f"{words[-1]}_{n}") not in known)


def sweep(
    scenario: dict[str, Any], title: str, variations: Sequence[Variation], replications: int, seed: int = 1
) -> str:
    """Text of a study that runs a scenario with every combination of the varied values, each `replications` times.

    Its table has the mean of each measure with the half-width of its 95 % interval; its figures plot goodput. Competing
    flows are never averaged: if the scenario has several `[[flow]]` tables, each has its own rows.
    """
    flows = len(scenario.get("flow", []))
    factors: list[dict[str, Any]] = []
    names: list[str] = []
    for varied in variations:
        name = name_of(varied.key, names)
        names.append(name)
        factors.append({"name": name, "title": varied.key} | _levels(varied))
    slug = re.sub(r"[^a-z0-9._-]+", "-", title.lower()).strip("-._") or "sweep"
    study: dict[str, Any] = {
        "study": {
            "name": slug,
            "title": title,
            "question": _description(variations, replications, seed, flows),
            "seed": seed,
        },
        "scenario": {key: value for key, value in scenario.items() if key != "seed"},
        "part": [{"name": "sweep", "replications": replications, "factor": factors}],
        "table": [{"id": "means", "title": "Means and half of their 95 % intervals", "sql": _means(names, flows)}],
    }
    if names:
        study["figure"] = _figures(variations, names, flows)
    return tomli_w.dumps(study)


MAX_TOLD = 6
"""Maximum number of a key's levels that are listed one by one."""


def _description(variations: Sequence[Variation], replications: int, seed: int, flows: int) -> str:
    """Description of a sweep in a sentence: the response, the varied keys, and the runs of each combination."""
    response = "Goodput of each flow" if flows > 1 else "Goodput"
    seeds = f"seed {seed}" if replications == 1 else f"seeds {seed} to {seed + replications - 1}"
    repetitions = f"{replications} {'run' if replications == 1 else 'runs'} ({seeds})"
    if not variations:
        return f"{response} of one scenario: {repetitions}."
    keys = " and ".join(f"`{each.key}` ({_values(each)})" for each in variations)
    return f"{response} by {keys}: {repetitions} of each combination."


def _values(varied: Variation) -> str:
    labels = [f"{level:g}" if isinstance(level, float) else str(level) for level in _levels(varied)["levels"]]
    if len(labels) > MAX_TOLD:
        return f"{len(labels)} levels from {labels[0]} to {labels[-1]}"
    return ", ".join(labels)


def _levels(varied: Variation) -> dict[str, Any]:
    """Levels of a factor: plain values are their own labels, others are named by a table's kind or by their order."""
    if all(isinstance(value, str | int | float) for value in varied.values):
        return {"sets": varied.key, "levels": list(varied.values)}
    levels: dict[str, Any] = {}
    for n, value in enumerate(varied.values, 1):
        kind = value.get("kind") if isinstance(value, dict) else None
        label = str(value) if isinstance(value, str | int | float) else str(kind or f"level {n}")
        levels[label if label not in levels else f"{label} ({n})"] = {varied.key: value}
    return {"levels": levels}


MEASURES = {
    "goodput_bps": ("flows", "avg(goodput_bps)"),
    "completion_s": ("flows", "max(completion_s)"),
    "retransmissions": ("flows", "sum(retransmissions)"),
    "utilisation": ("runs", "avg(utilisation)"),
    "jain": ("runs", "avg(jain)"),
}
"""Measures in a sweep's table: the source table of each, and the aggregate over a run's rows."""


def _means(names: Sequence[str], flows: int) -> str:
    """Query of the table: one row per combination, and per flow if there are several."""
    several = flows > 1
    columns = [f'"{name}"' for name in names]
    number, label = (['"group"'], [f"{_FLOW} AS {FLOW}"]) if several else ([], [])
    measures = [f'avg({name}) AS {name}, ci95({name}) AS "± {name}"' for name in MEASURES]
    by, order = ", ".join([*columns, *number]), ", ".join(["min(runs.rowid)", *number])
    return (
        f"WITH f AS ({_per_run(several)})\n"
        f"SELECT {', '.join([*columns, *label, 'count(*) AS runs', *measures])}\n"
        "FROM runs JOIN f USING (run_id)" + (f" GROUP BY {by} ORDER BY {order}" if by else "")
    )


_FLOW = """concat('flow.', "group")"""


def _per_run(several: bool) -> str:
    """Query of a run's measures: over all its flows, or per `[[flow]]` table."""
    measures = ", ".join(f"{how} AS {name}" for name, (table, how) in MEASURES.items() if table == "flows")
    by = 'run_id, "group"' if several else "run_id"
    return f"SELECT {by}, {measures} FROM flows GROUP BY {by}"


def _figures(variations: Sequence[Variation], names: Sequence[str], flows: int) -> list[dict[str, Any]]:
    """Figures of goodput over the quantity with most levels, or else the first key; the next two are colour and facet.

    Several flows take a colour or a facet too; if both are taken, each flow has its own figure.
    """
    columns = {name: _column(name, varied.values) for name, varied in zip(names, variations, strict=True)}
    counts = dict(zip(names, (len(varied.values) for varied in variations), strict=True))
    measured = [name for name in names if columns[name]]
    over = max(measured, key=lambda name: counts[name]) if measured else names[0]
    series = [name for name in names if name != over][:2]
    x = columns[over] or over
    selected = [f'"{column}"' for column in dict.fromkeys([x, *series])]
    several = flows > 1
    alone = several and len(series) == 2
    order = ' ORDER BY runs.rowid, "group"' if several else ""
    if several and not alone:
        series = [*series, FLOW]
        selected.append(f"{_FLOW} AS {FLOW}")

    def figure(number: int | None) -> dict[str, Any]:
        of = "" if number is None else f' WHERE "group" = {number}'
        return {
            "id": "goodput" if number is None else f"goodput-{number}",
            "title": "Goodput" if number is None else f"Goodput of {flow_label(number)}",
            "kind": "line" if measured else "point", "error": "ci95",
            "sql": f"WITH f AS ({_per_run(several)})\n"
                   f"SELECT {', '.join(selected)}, goodput_bps FROM runs JOIN f USING (run_id){of}{order}",
            "x": x, "y": "goodput_bps", "x_title": variations[names.index(over)].key, "y_title": "Goodput",
        } | dict(zip(("color", "facet"), series, strict=False))  # fmt: skip

    return [figure(number) for number in (range(flows) if alone else [None])]


def _column(name: str, values: Sequence[Any]) -> str | None:
    """Column with a factor's numbers: its own if the levels are numbers, the unit's if they are quantities, or None."""
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        return name
    parsed = [units.parse(value) if isinstance(value, str) else None for value in values]
    kinds = {each[0] for each in parsed if each}
    return f"{name}_{kinds.pop()}" if len(kinds) == 1 and all(parsed) else None
