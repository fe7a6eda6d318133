"""Experimental designs (full factorial, one factor at a time, listed runs): which combinations of levels are run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice, product

from vazao.study.fields import Label
from vazao.study.model import Level, Part, Size

Combination = dict[str, Level]
"""One level per factor, by the factor's name, in the file's order."""


MAX_LOOKED_AT = 100_000
"""Limit on the combinations of a design that are examined to find the labels in use."""


def combinations(part: Part, size: Size) -> list[Combination]:
    """Distinct combinations that a part runs at a size. In any design, the quick ones are a subset of the full ones."""
    return list({labels_of(combination): combination for combination in combinations_of(part, size)}.values())


def labels_of(combination: Combination) -> tuple[Label, ...]:
    """Labels of a combination, which identify it."""
    return tuple(level.label for level in combination.values())


def combinations_of(part: Part, size: Size) -> Iterator[Combination]:
    """Iterator over the combinations that a part runs at a size; some may be repeated."""
    return (one for one in _DESIGNS[part.design](part, size) if not _excluded(part, one))


def labels_run(part: Part, size: Size) -> dict[str, list[Label]]:
    """Labels of each factor that a part runs at a size, in the file's order. Of a huge design, only the first ones."""
    seen: dict[str, set[Label]] = {factor.name: set() for factor in part.factors}
    for combination in islice(_DESIGNS[part.design](part, size), MAX_LOOKED_AT):
        if not _excluded(part, combination):
            for name, level in combination.items():
                seen[name].add(level.label)
        if all(len(seen[factor.name]) == len(factor.at(size)) for factor in part.factors):
            break
    return {factor.name: [label for label in factor.labels if label in seen[factor.name]] for factor in part.factors}


def _factorial(part: Part, size: Size) -> Iterator[Combination]:
    """Full factorial: every level of every factor with every level of every other."""
    for levels in product(*(factor.at(size) for factor in part.factors)):
        yield dict(zip(part.factor_names, levels, strict=True))


def _one_at_a_time(part: Part, size: Size) -> Iterator[Combination]:
    """The centre point, then each factor through its levels with the others at the centre."""
    centre = {factor.name: factor.centre for factor in part.factors}
    yield centre
    for factor in part.factors:
        for level in factor.at(size):
            yield centre | {factor.name: level}


def _listed(part: Part, size: Size) -> Iterator[Combination]:
    """Combinations listed in `runs`; a factor that a run omits is at its default."""
    for run in part.runs:
        combination = {f.name: f.level(run[f.name]) if f.name in run else f.centre for f in part.factors}
        if all(combination[factor.name] in factor.at(size) for factor in part.factors if factor.name in run):
            yield combination


_DESIGNS: dict[str, Callable[[Part, Size], Iterator[Combination]]] = {
    "factorial": _factorial,
    "one-at-a-time": _one_at_a_time,
    # Two levels of k factors: the full 2^k, from which effects and interactions are computed.
    "two-level": _factorial,
    "list": _listed,
}


def _excluded(part: Part, combination: Combination) -> bool:
    return any(all(combination[name].label in labels for name, labels in rule.items()) for rule in part.exclude)


def is_run(part: Part, combination: Combination) -> bool:
    """Whether a part runs a combination at full size, without going through all that it runs."""
    if _excluded(part, combination):
        return False
    match part.design:
        case "one-at-a-time":
            return sum(combination[factor.name] != factor.centre for factor in part.factors) <= 1
        case "list":
            return combination in _listed(part, "full")
        case _:
            return True
