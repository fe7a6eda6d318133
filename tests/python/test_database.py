"""Views of stored rows: materialised where rows are few, computed on demand otherwise, with the same results."""

from __future__ import annotations

from pathlib import Path

import pytest
from duckdb import DuckDBPyConnection

from vazao.errors import ResultsError
from vazao.sql import database

VIEWS = {
    "drawn": "SELECT x, random() AS lot FROM given",
    "halves": "SELECT x, lot / 2 AS half FROM Drawn",
    "odd": "SELECT x, CASE WHEN x = 3 THEN error('three') ELSE 'fine' END AS told FROM given",
}


def threads() -> int:
    return len(list(Path("/proc/self/task").iterdir()))


def test_a_blank_database_has_no_threads_that_a_forked_child_would_lack(monkeypatch: pytest.MonkeyPatch) -> None:
    # One that an earlier test left at hand would have its threads among those before.
    monkeypatch.setattr(database, "_SPARE", [])
    before = threads()
    connection = database.connect()
    connection.sql("CREATE TABLE numbers AS FROM range(100000)")
    # Not as a data frame, whose library has threads of its own.
    assert connection.sql("SELECT count(*) FROM numbers").fetchall() == [(100_000,)]
    assert threads() == before


def connection(*, keep: bool) -> DuckDBPyConnection:
    connection = database.connect()
    connection.sql("CREATE TABLE given AS SELECT unnest([1, 2, 3, 4]) AS x")
    for name, sql in VIEWS.items():
        database.add_view(connection, name, sql, keep=keep)
    return connection


@pytest.mark.parametrize("keep", [True, False])
def test_rows_of_a_view_are_kept_from_the_first_query_that_names_it(keep: bool) -> None:
    asked = connection(keep=keep)
    first, again = (database.query(asked, "SELECT lot FROM drawn ORDER BY x").rows() for _ in range(2))
    assert (first == again) is keep
    through_another = database.query(asked, "SELECT 2 * half AS lot FROM halves ORDER BY x").rows()
    assert (first == through_another) is keep


def test_a_view_is_kept_after_those_that_it_names() -> None:
    asked = connection(keep=True)
    halves = database.query(asked, "SELECT 2 * half AS lot FROM HALVES ORDER BY x").rows()
    assert halves == database.query(asked, "SELECT lot FROM drawn ORDER BY x").rows()


@pytest.mark.parametrize("keep", [True, False])
def test_a_row_that_cannot_be_computed_fails_only_a_query_that_asks_for_it(keep: bool) -> None:
    asked = connection(keep=keep)
    assert database.query(asked, "SELECT told FROM odd WHERE x = 2").rows() == [("fine",)]
    with pytest.raises(ResultsError, match="three"):
        database.query(asked, "SELECT told FROM odd")
    assert database.query(asked, "SELECT told FROM odd WHERE x = 4").rows() == [("fine",)]


def test_a_name_of_its_own_in_a_query_hides_a_kept_view() -> None:
    asked = connection(keep=True)
    assert database.query(asked, "WITH drawn AS (SELECT 7 AS lot) SELECT lot FROM drawn").rows() == [(7,)]
