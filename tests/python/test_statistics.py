"""Statistics against SciPy's own tests, closed forms and worked examples."""

import math

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given, strategies as st
from scipy import stats

from vazao import statistics
from vazao.errors import ResultsError, VazaoError
from vazao.sql import database

SAMPLES = st.lists(st.floats(-1e3, 1e3).map(lambda x: round(x, 3)), min_size=2, max_size=30)


@given(SAMPLES)
def test_t_interval_is_scipys(values: list[float]) -> None:
    assume(np.std(values) > 1e-6)
    found = statistics.t_interval(values)
    low, high = stats.t.interval(0.95, len(values) - 1, loc=np.mean(values), scale=stats.sem(values))
    assert (found.low, found.high) == pytest.approx((low, high), rel=1e-9, abs=1e-9)


def test_t_interval_of_a_textbook() -> None:
    # n = 5, mean 3, s = sqrt(2.5), t(4, 0.975) = 2.776: half-width 2.776 * 0.70711 = 1.963.
    found = statistics.t_interval([1, 2, 3, 4, 5])
    assert found.mean == 3
    assert found.half == pytest.approx(1.963, abs=5e-4)


def test_one_value_is_its_own_interval() -> None:
    found = statistics.t_interval([7.0])
    assert (found.low, found.mean, found.high, found.n) == (7.0, 7.0, 7.0, 1)


# SciPy warns of lost precision with nearly constant samples.
@pytest.mark.filterwarnings("ignore:Precision loss")
@given(SAMPLES, SAMPLES)
def test_welch_is_scipys(a: list[float], b: list[float]) -> None:
    assume(np.std(a) > 1e-3 and np.std(b) > 1e-3)
    found = statistics.welch(a, b)
    theirs = stats.ttest_ind(a, b, equal_var=False)
    interval = theirs.confidence_interval(0.95)
    assert found is not None
    assert found.p == pytest.approx(theirs.pvalue, rel=1e-6, abs=1e-12)
    assert found.df == pytest.approx(theirs.df, rel=1e-9)
    assert (found.low, found.high) == pytest.approx((interval.low, interval.high), rel=1e-6, abs=1e-6)


def test_welch_without_spread_or_without_replications() -> None:
    same, other = statistics.welch([1, 1], [1, 1]), statistics.welch([1, 1], [2, 2])
    assert same is not None
    assert other is not None
    assert (same.p, other.p) == (1, 0)
    assert statistics.welch([1], [1, 2]) is None


@given(st.lists(st.floats(0.001, 1e6), min_size=1, max_size=50))
def test_jain_lies_between_one_nth_and_one(shares: list[float]) -> None:
    assert 1 / len(shares) - 1e-12 <= statistics.jain(shares) <= 1 + 1e-12


def test_jain_of_its_paper() -> None:
    # Jain, Chiu and Hawe: if k of n users share equally and the rest get nothing, the index is k/n.
    assert statistics.jain([1, 1, 0, 0, 0]) == pytest.approx(2 / 5)
    assert math.isnan(statistics.jain([0, 0]))


def grid(response: list[float]) -> pl.DataFrame:
    """Two replications of a 2^2 design: (a, b) = (-, -), (+, -), (-, +), (+, +)."""
    return pl.DataFrame({"a": ["-", "+", "-", "+"] * 2, "b": ["-", "-", "+", "+"] * 2, "y": response})


FACTORS = {"a": ("-", "+"), "b": ("-", "+")}


def test_effects_of_jains_memory_and_cache_example() -> None:
    # Jain, The Art of Computer Systems Performance Analysis, example 17.1: 15, 45, 25, 75 give q_A = 20, q_B = 10,
    # q_AB = 5, half the effects as defined here; variation 76 %, 19 %, 5 %.
    found = statistics.two_level_effects(grid([15, 45, 25, 75] * 2), FACTORS, "y")
    assert found["effect"].to_list() == ["a", "b", "a × b"]
    assert found["estimate"].to_list() == pytest.approx([40, 20, 10])
    assert found["share"].to_list() == pytest.approx([0.762, 0.190, 0.048], abs=5e-4)
    assert found["low"].to_list() == found["estimate"].to_list()


def test_intervals_of_effects_are_those_of_least_squares() -> None:
    response = [15.0, 45, 25, 75, 18, 48, 24, 73]
    rows = grid(response)
    found = statistics.two_level_effects(rows, FACTORS, "y")
    a = np.where(rows["a"].to_numpy() == "+", 1.0, -1.0)
    b = np.where(rows["b"].to_numpy() == "+", 1.0, -1.0)
    design = np.column_stack([np.ones(8), a, b, a * b])
    coefficients, residual, *_ = np.linalg.lstsq(design, np.array(response), rcond=None)
    error = math.sqrt(residual[0] / 4 * np.linalg.inv(design.T @ design)[1, 1])
    half = stats.t.ppf(0.975, 4) * 2 * error
    assert found["estimate"].to_list() == pytest.approx(2 * coefficients[1:])
    assert (found["high"] - found["estimate"]).to_list() == pytest.approx([half] * 3)


def test_effects_need_a_whole_design() -> None:
    with pytest.raises(VazaoError, match="all 4 combinations"):
        statistics.two_level_effects(grid([1.0] * 8).head(3), FACTORS, "y")


def test_sql_functions_agree_with_python() -> None:
    connection = database.connect()
    a, b = [1.0, 2.0, 4.0, 8.0], [2.0, 3.0, 3.5]
    rows = pl.DataFrame({"g": ["a"] * 4 + ["b"] * 3, "x": a + b})
    connection.register("given", rows.to_arrow())
    found = database.query(
        connection,
        "SELECT g, ci95(x) AS half, low95(x) AS low, high95(x) AS high, jain(list(x)) AS jain "
        "FROM given GROUP BY g ORDER BY g",
    )
    interval = statistics.t_interval(a)
    assert found.row(0)[1:] == pytest.approx((interval.half, interval.low, interval.high, statistics.jain(a)))
    lists = "list(x) FILTER (g = 'a'), list(x) FILTER (g = 'b')"
    test = statistics.welch(a, b)
    assert test is not None
    tested = database.query(
        connection,
        f"SELECT welch_p({lists}) AS p, welch_low95({lists}) AS low, welch_high95({lists}) AS high FROM given",
    )
    assert tested.row(0) == pytest.approx((test.p, test.low, test.high))
    one = database.query(connection, "SELECT ci95(x) AS half, low95(x) AS low FROM given WHERE x = 8")
    assert one.row(0) == (None, 8.0)
    with pytest.raises(ResultsError, match="nope"):
        database.query(connection, "SELECT nope FROM given")
    connection.close()
