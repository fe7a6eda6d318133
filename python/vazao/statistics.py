"""Statistics of replicated runs: intervals, tests, fairness, and the effects of a two-level design."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import polars as pl
from scipy import special

from vazao.errors import VazaoError

Values = Sequence[float]


@dataclass(frozen=True)
class Interval:
    """A mean and its confidence interval over `n` independent values. With one value the interval is that value."""

    mean: float
    low: float
    high: float
    n: int

    @property
    def half(self) -> float:
        """Half the interval's width."""
        return (self.high - self.low) / 2


@dataclass(frozen=True)
class Welch:
    """Difference of two means, its confidence interval, and a test (Welch's or paired) of whether it is zero."""

    difference: float
    low: float
    high: float
    p: float
    df: float

    @property
    def half(self) -> float:
        """Half the interval's width."""
        return (self.high - self.low) / 2


def t_quantile(df: float, confidence: float = 0.95) -> float:
    """Two-sided quantile of Student's t: the half-width of a mean's interval, in standard errors."""
    return float(special.stdtrit(df, (1 + confidence) / 2))


def t_interval(values: Values, confidence: float = 0.95) -> Interval:
    """Confidence interval of the mean by Student's t, for independent and roughly normal values."""
    if not values:
        raise VazaoError("an interval needs at least one value")
    n, mean = len(values), float(np.mean(values))
    half = t_quantile(n - 1, confidence) * float(np.std(values, ddof=1)) / math.sqrt(n) if n > 1 else 0.0
    return Interval(mean, mean - half, mean + half, n)


def welch(a: Values, b: Values, confidence: float = 0.95) -> Welch | None:
    """Welch's t-test of mean(a) - mean(b), variances not assumed equal. None with fewer than two values on a side.

    Two constant samples have no spread to test against: equal ones give p = 1, different ones p = 0.
    """
    if len(a) < 2 or len(b) < 2:
        return None
    difference = float(np.mean(a) - np.mean(b))
    variances = [float(np.var(side, ddof=1)) / len(side) for side in (a, b)]
    error = math.sqrt(sum(variances))
    if error == 0:
        return Welch(difference, difference, difference, float(difference == 0), math.inf)
    # Welch–Satterthwaite.
    df = sum(variances) ** 2 / sum(v**2 / (len(side) - 1) for v, side in zip(variances, (a, b), strict=True))
    half = t_quantile(df, confidence) * error
    p = 2 * float(special.stdtr(df, -abs(difference) / error))
    return Welch(difference, difference - half, difference + half, p, df)


def paired(a: Values, b: Values, confidence: float = 0.95) -> Welch | None:
    """Paired t-test of a - b, for runs under the same seeds. None with fewer than two pairs.

    Differences that are all the same have no spread to test against: zero gives p = 1, anything else p = 0.
    """
    if len(a) != len(b):
        raise VazaoError(f"pairs need as many values on either side; there are {len(a)} and {len(b)}")
    if len(a) < 2:
        return None
    differences = np.subtract(a, b)
    difference, df = float(np.mean(differences)), len(a) - 1
    error = float(np.std(differences, ddof=1)) / math.sqrt(len(a))
    if error == 0:
        return Welch(difference, difference, difference, float(difference == 0), df)
    half = t_quantile(df, confidence) * error
    return Welch(
        difference, difference - half, difference + half, 2 * float(special.stdtr(df, -abs(difference) / error)), df
    )


def jain(shares: Values) -> float:
    """Jain's fairness index: 1 when all shares are equal, 1/n when one takes everything (Jain, Chiu, Hawe 1984)."""
    total, squares = sum(shares), sum(share * share for share in shares)
    return total * total / (len(shares) * squares) if squares else math.nan


def two_level_effects(
    rows: pl.DataFrame,
    factors: Mapping[str, tuple[str | float, str | float]],
    response: str,
    *,
    confidence: float = 0.95,
) -> pl.DataFrame:
    """Main effects and all interactions of a replicated 2^k design (Box, Hunter and Hunter, chapters 5 and 6).

    `factors` maps each column to its (low, high) labels. An effect is the mean response where the product of the
    factors' signs is + minus the mean where it is -. Columns: `effect` ("a", "a × b", …), `order` (how many factors),
    `estimate`, `low`, `high` (interval from the replications' pooled variance; null with one replication), and
    `share`, the part of the response's total variation it explains. Raises `VazaoError` unless every one of the 2^k
    combinations has the same number of rows.
    """
    wanted = {name: list(levels) for name, levels in factors.items()}
    kept = rows.drop_nulls(response).filter(*(pl.col(name).is_in(levels) for name, levels in wanted.items()))
    cells = kept.group_by(list(factors)).agg(pl.len().alias("n"), pl.col(response).var().alias("variance"))
    if cells.height != 2 ** len(factors) or cells["n"].n_unique() != 1:
        raise VazaoError(
            f"{response}: the effects of {len(factors)} factors need all {2 ** len(factors)} combinations, "
            f"equally often; found {cells.height}"
        )
    replications = int(cells["n"][0])
    y = kept[response].cast(pl.Float64).to_numpy()
    signs = {name: np.where(kept[name].to_numpy() == high, 1.0, -1.0) for name, (_, high) in factors.items()}
    half = None
    if replications > 1:
        pooled = float(cells["variance"].mean() or 0.0)  # type: ignore[arg-type]
        error = 2 * math.sqrt(pooled / len(y))
        half = t_quantile(2 ** len(factors) * (replications - 1), confidence) * error
    total = float(np.sum((y - y.mean()) ** 2))
    effects = []
    for order in range(1, len(factors) + 1):
        for names in combinations(factors, order):
            estimate = 2 * float(np.mean(y * np.prod([signs[name] for name in names], axis=0)))
            effects.append(
                {
                    "effect": " × ".join(names),
                    "order": order,
                    "estimate": estimate,
                    "low": None if half is None else estimate - half,
                    "high": None if half is None else estimate + half,
                    "share": len(y) * (estimate / 2) ** 2 / total if total else None,
                }
            )
    numbers = dict.fromkeys(("estimate", "low", "high", "share"), pl.Float64())
    return pl.DataFrame(effects, schema={"effect": pl.String(), "order": pl.Int64(), **numbers})
