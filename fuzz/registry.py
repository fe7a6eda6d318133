"""Draws random values that a parameter accepts, from the registry: registering an algorithm is enough to fuzz it."""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random
from typing import Any

from vazao import units
from vazao.scenario import Entry, Parameter
from vazao.study import catalogue


def quantity(text: str) -> float:
    """A quantity in the base unit of its kind."""
    number, unit = text.split()
    return float(number) * _amount(unit)


def _amount(unit: str) -> float:
    parsed = units.parse(f"1 {unit}")
    assert parsed is not None
    return parsed[1]


NUMBER = r"(-?[\d.]+(?:e-?\d+)?)"
SECONDS = {unit: _amount(unit) for unit in ("ns", "us", "ms", "s", "min", "h")}
EDGES = 0.08
"""Share of numbers that are drawn at an end of the accepted range."""
TWEAKED = 0.12
"""Share of an algorithm's optional parameters that are set."""


def entries(kind: str) -> list[Entry]:
    """All registered entries of a kind."""
    return [entry for entry in catalogue.entries() if entry.kind == kind]


def pick(rng: Random, kind: str) -> Any:
    """Random entry of a kind: its name, or a table with some of its parameters."""
    return table(rng, rng.choice(entries(kind)))


def table(rng: Random, entry: Entry, share: float = TWEAKED) -> Any:
    """An algorithm as a name, or as a table with its required parameters and a share of the others."""
    given = parameters(rng, entry.parameters, share)
    name = rng.choice((entry.name, *entry.aliases)) if rng.random() < 0.1 else entry.name
    return {"kind": name, **given} if given else name


def parameters(rng: Random, known: tuple[Parameter, ...], share: float = TWEAKED) -> dict[str, Any]:
    """Values for the required parameters, and for a share of the others."""
    chosen = [parameter for parameter in known if parameter.required or rng.random() < share]
    drawn = {parameter.name: value(rng, parameter) for parameter in chosen}
    return {name: given for name, given in drawn.items() if given is not None}


def value(rng: Random, parameter: Parameter) -> Any:
    """Value in the form that a parameter expects, or None if its description is not understood."""
    matches = ((re.match(form, parameter.expected), draw) for form, draw in FORMS)
    return next((draw(rng, *found.groups()) for found, draw in matches if found), None)


def scaled(rng: Random, low: float, high: float) -> float:
    """Number within a range, distributed logarithmically."""
    if rng.random() < EDGES:
        return rng.choice((low, high))
    least = low if low > 0 else min(high, 1.0) / 1000
    return float(least * (high / least) ** rng.random()) if high > least else low


def whole(rng: Random, low: str, high: str = "") -> int:
    """Integer, mostly within a thousand of the minimum."""
    least = int(float(low))
    most = int(float(high)) if high else least + 1000
    return round(scaled(rng, least, most if rng.random() < EDGES else min(most, least + 1000)))


def duration(rng: Random, low: float = 1e-5, high: float = 10.0) -> str:
    """Duration within a range in seconds, in a random unit."""
    seconds = scaled(rng, low, high)
    unit = rng.choice([unit for unit, factor in SECONDS.items() if factor <= max(seconds, 1e-9) or unit == "ns"])
    return f"{max(0, round(seconds / SECONDS[unit], 3)):.12g} {unit}" if unit != "ns" else f"{round(seconds * 1e9)} ns"


def size(rng: Random, low: float = 1.0, high: float = 2e6) -> str:
    """Size within a range in bytes."""
    count = max(1, round(scaled(rng, low, high)))
    return f"{count} B" if count < 10_000 or rng.random() < 0.5 else f"{round(count / 1e3)} kB"


def rate(rng: Random, low: float = 5e4, high: float = 1e9) -> str:
    """Rate within a range in bits per second."""
    bps = scaled(rng, low, high)
    return f"{bps / 1e6:.6g} Mbps" if rng.random() < 0.5 else f"{round(bps)} bit/s"


def limit(rng: Random) -> str:
    """Limit of a queue, in any of its notations."""
    match rng.randrange(4):
        case 0:
            return f"{whole(rng, '1', '1000')} packets"
        case 1:
            return size(rng, 1600, 1e6)
        case 2:
            return duration(rng, 1e-3, 1.0)
    return f"{scaled(rng, 0.05, 4):.3g} bdp"


def random_quantity(rng: Random, draw: Callable[[], str], sizes: bool) -> Any:
    """Quantity, or a distribution of it."""
    if rng.random() < 0.5:
        return draw()
    entry = rng.choice(entries("distribution"))
    match entry.name:
        case "empirical":
            return {"kind": entry.name, "points": [["1 B", 0.25], [draw(), 1]]} if sizes else draw()
        case "web-search" | "data-mining":
            return entry.name if sizes else draw()
        case "uniform":
            return {"kind": "uniform", "min": "1 B" if sizes else "0 s", "max": draw()}
    given = parameters(rng, tuple(p for p in entry.parameters if " such as " not in p.expected))
    means = {p.name: draw() for p in entry.parameters if p.required}
    return {"kind": entry.name, **means, **given}


def _changes(rng: Random, actions: str) -> list[dict[str, Any]]:
    names = [name.strip() for name in actions.split(",")]
    times = sorted(rng.uniform(0.01, 5) for _ in range(rng.randint(1, 4)))
    return [{"at": f"{time:.3f} s", rng.choice(names): rng.randint(1, 2)} for time in times]


def _named(rng: Random, kind: str) -> Any:
    return pick(rng, kind)


def _rates(rng: Random) -> list[str]:
    return [f"{bps} bps" for bps in sorted({round(scaled(rng, 1e5, 2e7)) for _ in range(rng.randint(1, 5))})]


SPAN = r"(\S+ (?:ns|us|ms|s|min|h))"
FORMS: list[tuple[str, Callable[..., Any]]] = [
    (r"true or false", lambda rng: rng.random() < 0.5),
    (r"one of (.*)", lambda rng, names: rng.choice(names.split(", "))),
    (rf"a whole number from {NUMBER} to {NUMBER}", whole),
    (rf"a whole number of at least {NUMBER}", whole),
    (rf"a number from {NUMBER} to {NUMBER}", lambda rng, low, high: round(scaled(rng, float(low), float(high)), 12)),
    (r"a duration such as .*distribution", lambda rng: random_quantity(rng, lambda: duration(rng, 1e-4, 1.0), False)),
    (r"a size such as .*distribution", lambda rng: random_quantity(rng, lambda: size(rng, 1, 1e5), True)),
    (r"a duration such as", lambda rng: duration(rng, 1e-4, 1.0)),
    (
        rf"a duration from {SPAN} to {SPAN}",
        lambda rng, low, high: duration(rng, max(quantity(low), min(1e-5, quantity(high))), quantity(high)),
    ),
    (rf"a duration of at least {SPAN}", lambda rng, low: duration(rng, max(quantity(low), 1e-5), 5.0)),
    (r"\"auto\" or a size of at least (\S+ \w+)", lambda rng, low: size(rng, quantity(low), 1e6)),
    (r"a size from (\S+ \w+) to \S+ \w+", lambda rng, low: size(rng, quantity(low), 2e5)),
    (r"a size of at least (\S+ \w+)", lambda rng, low: size(rng, quantity(low), 2e5)),
    (r"a rate such as", rate),
    (r"a queue limit", limit),
    (r"the name of an? ([a-z ]+), or a table", _named),
    (r"a list of whole numbers", lambda rng: [rng.randint(1, 4) for _ in range(rng.randint(1, 3))]),
    (r"a list of rates", _rates),
    (r"a list such as .* one of ([a-z_, ]+) with", _changes),
]
