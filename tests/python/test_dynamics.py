"""Measures over time, on handmade series whose results are simple arithmetic."""

import duckdb
import polars as pl
import pytest

import vazao as vz
from vazao.sql import database


def steady(flow: int, start: float, stop: float, bytes_per_second: float) -> list[tuple[str, int, float, str, float]]:
    """Samples of a flow that delivers at a constant rate, every tenth of a second."""
    steps = round((stop - start) * 10)
    return [("r", flow, start + n / 10, "delivered", bytes_per_second * n / 10) for n in range(steps + 1)]


@pytest.fixture
def asked() -> duckdb.DuckDBPyConnection:
    """Flow 0 at 8 Mbit/s for 10 s, then at 4; flow 1 at 2 Mbit/s from 10 s and at 4 from 15 s; until 20 s."""
    first, second = steady(0, 0, 10, 1e6), steady(1, 10, 15, 0.25e6)
    first += [(*row[:4], 10e6 + row[4]) for row in steady(0, 10, 20, 0.5e6)[1:]]
    second += [(*row[:4], 1.25e6 + row[4]) for row in steady(1, 15, 20, 0.5e6)[1:]]
    queue = [("r", None, time, "queue", value) for time, value in [(1.0, 0.0), (10.2, 9e4), (12.5, 3e4), (13.0, 1e4)]]
    names = ["run_id", "flow", "time_s", "measure", "value"]
    samples = pl.DataFrame([*first, *second, *queue], schema=names, orient="row", infer_schema_length=None)
    samples = samples.with_columns(link=pl.lit("bottleneck"), direction=pl.lit("forward"))
    flows = pl.DataFrame(
        {
            "run_id": ["r", "r"],
            "flow": [0, 1],
            "start_s": [0.0, 10.0],
            "cc": ["reno", "cubic"],
            "goodput_bps": [3e6, 9e6],
        }
    )
    connection = database.connect()
    for name, rows in {"samples": samples, "flows": flows}.items():
        connection.register(f"rows_{name}", rows.to_arrow())
        connection.sql(f"CREATE TABLE {name} AS SELECT * FROM rows_{name}")
    return connection


def answer(connection: duckdb.DuckDBPyConnection, sql: str) -> list[tuple[object, ...]]:
    return database.query(connection, sql).rows()


def test_rates_are_what_was_delivered_in_each_interval(asked: duckdb.DuckDBPyConnection) -> None:
    rows = answer(asked, "SELECT flow, time_s, rate_bps FROM rates(5) ORDER BY flow, time_s")
    expected = [(0, 0, 8e6), (0, 5, 8e6), (0, 10, 4e6), (0, 15, 4e6), (1, 10, 2e6), (1, 15, 4e6)]
    assert rows == [(flow, time, pytest.approx(rate)) for flow, time, rate in expected]


def test_fairness_over_time_is_jains_index_of_the_rates(asked: duckdb.DuckDBPyConnection) -> None:
    # (4 + 2)^2 / (2 (16 + 4)) = 0.9; later both are equal. Before 10 s there is only one flow.
    rows = answer(asked, "SELECT time_s, flows, jain FROM jain_over_time(5) ORDER BY time_s")
    assert rows == [(10, 2, pytest.approx(0.9)), (15, 2, pytest.approx(1.0))]


@pytest.mark.parametrize(("delta", "expected"), [(0.4, 1.0), (0.2, 6.0)])
def test_convergence_ends_with_the_first_fair_interval(
    asked: duckdb.DuckDBPyConnection, delta: float, expected: float
) -> None:
    # 2 out of 4 + 2 is two thirds of the fair share of 3: close enough within 0.4, not within 0.2, which takes until 15
    # s.
    assert answer(asked, f"SELECT convergence_s FROM convergence(1, {delta})") == [(expected,)]


def test_responsiveness_and_draining_count_from_the_change(asked: duckdb.DuckDBPyConnection) -> None:
    assert answer(asked, "SELECT responsiveness_s FROM responsiveness(10, 8e6, 0.9, 1)") == [(6.0,)]
    assert answer(asked, "SELECT responsiveness_s FROM responsiveness(10, 20e6, 0.9, 1)") == [(None,)]
    assert answer(asked, "SELECT draining_s FROM draining(10, 2e4)") == [(2.5,)]


def test_friendliness_is_the_references_share_of_the_mean(asked: duckdb.DuckDBPyConnection) -> None:
    assert answer(asked, "SELECT friendliness FROM friendliness('reno')") == [(0.5,)]
    assert answer(asked, "SELECT friendliness FROM friendliness('bbr')") == []


def test_a_run_answers_as_its_rows_do() -> None:
    network = vz.dumbbell(
        bottleneck=vz.link("10 Mbps", "10 ms", queue="1 bdp"), access=vz.link("1 Gbps", "1 ms"), pairs=2
    )
    flows = [vz.flow(vz.upload(), vz.tcp(cc="reno")) for _ in range(2)]
    result = vz.run(network, flows, until="20 s", trace=["delivered"])
    total = result.sql("SELECT sum(rate_bps) / count(DISTINCT time_s) AS rate FROM rates(1) WHERE time_s >= 2")["rate"][
        0
    ]
    # 1448 of 1500 bytes are data; full from 2 s on, except for a segment at each end of an interval.
    assert 0.97 * 10e6 * 1448 / 1500 < total <= 1.01 * 10e6 * 1448 / 1500
