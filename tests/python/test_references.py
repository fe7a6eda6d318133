"""Our transports beside other people's measurements, as `make references` compares them: `reference/README.md`."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).parents[2] / "bench"
sys.path.insert(0, str(BENCH))

import references as agreement  # noqa: E402
from counterparts import read  # noqa: E402
from references import Comparison  # noqa: E402

REFERENCES = list(read())


@pytest.fixture(scope="module")
def rows() -> list[Comparison]:
    """Every row that has a counterpart: some seconds on two cores."""
    return agreement.measure([row for row in REFERENCES if row.needs is None])


def test_every_row_has_a_counterpart() -> None:
    assert {row.source for row in REFERENCES} == {"Linux 6.18", "Linux 6.1", "ns-3.37", "ns-2.35", "usrsctp"}
    assert [row.name for row in REFERENCES if row.needs] == []


def test_median_errors_without_loss(rows: list[Comparison]) -> None:
    """The bounds are those set for the whole, 5 % for Linux and 10 % for ns-3; every variant keeps them by itself."""
    for group in agreement.groups(rows):
        goal = next(goal for source, goal in agreement.GOALS.items() if group.source.startswith(source))
        assert not group.free or group.error <= goal, (group.source, group.variant)


def test_means_with_loss_are_within_confidence_intervals(rows: list[Comparison]) -> None:
    """Two intervals of 95 % miss each other in one comparison of two hundred (their widths add, not their squares), so
    of some hundred one may by chance; two are allowed. Rows that differ on purpose are told apart by another test."""
    lossy = [row for row in rows if row.reference.loss > 0 and row.difference is None]
    apart = [row.reference.name for row in lossy if not row.overlaps]
    assert len(lossy) > 100
    assert len(apart) <= 2, apart


def test_what_we_do_not_copy_costs_them_time(rows: list[Comparison]) -> None:
    """Of ns-2 and usrsctp: shorter windows and longer waits, so that none of these rows is slower here."""
    known = [row for row in rows if row.difference and row.reference.loss > 0]
    assert {row.reference.source for row in known} == {"ns-2.35", "usrsctp"}
    assert all(row.ours.low < row.theirs.high for row in known)
    assert all(abs(row.error) < 0.25 for row in known)


def test_variants_are_ranked_alike(rows: list[Comparison]) -> None:
    for source in {row.reference.source for row in rows}:
        pairs = agreement.pairs(row for row in rows if row.reference.source == source)
        alike = sum(map(agreement.ranked_alike, pairs))
        assert alike >= agreement.RANKED * len(pairs), (source, alike, len(pairs))


def test_what_theirs_resends_for_nothing_explains_the_largest_errors(rows: list[Comparison]) -> None:
    """NextSeg of ns-3 resends what is on its way at the end of the data. Half of the rows in which it did differ by
    more than twice as much as three quarters of those in which it did not."""
    free = [row for row in rows if row.reference.source == "ns-3.37" and row.reference.loss == 0]
    errors: dict[bool, list[float]] = {True: [], False: []}
    for row in free:
        errors[row.difference is not None].append(abs(row.error))
    with_it, without = (sorted(errors[key]) for key in (True, False))
    assert len(with_it) > 20
    assert with_it[len(with_it) // 2] > 2 * without[3 * len(without) // 4]


def test_every_difference_is_of_some_row(rows: list[Comparison]) -> None:
    assert {row.difference for row in rows} - {None} == set(agreement.DIFFERENCES)
