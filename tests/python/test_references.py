"""Our transports compared with other people's measurements, as `make references` does: `reference/README.md`."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from statistics import median

import pytest

import vazao as vz

BENCH = Path(__file__).parents[2] / "bench"
sys.path.insert(0, str(BENCH))

import references as agreement  # noqa: E402
from counterparts import Reference, read  # noqa: E402
from references import Comparison  # noqa: E402

pytestmark = pytest.mark.study

REFERENCES = list(read())


@pytest.fixture(scope="module")
def rows() -> list[Comparison]:
    """Comparison of every row with its counterpart: takes some seconds on two cores."""
    return agreement.measure([row for row in REFERENCES if row.needs is None])


def test_every_row_has_a_counterpart() -> None:
    assert {row.source for row in REFERENCES} == {"Linux 6.18", "Linux 6.1", "ns-3.37", "ns-2.35", "usrsctp"}
    assert [row.name for row in REFERENCES if row.needs] == []


def test_median_errors_without_loss(rows: list[Comparison]) -> None:
    """Bounds are 5 % for Linux and 10 % for ns-3, as for the whole; every variant keeps them individually."""
    for group in agreement.groups(rows):
        assert not group.free or group.error <= agreement.goal(group.source), (group.source, group.variant)


def test_a_row_outside_its_goal_is_open_unless_something_explains_it() -> None:
    free = [row for row in REFERENCES if row.source == "ns-3.37" and row.loss == 0]
    known = [next(row for row in free if row.variant == variant) for variant in ("Cubic", "Lp")]
    rows = [Comparison(row, (factor * row.mean_s,)) for row in known for factor in (1.05, 1.2)]
    assert [row.outside for row in rows] == [False, True, False, True]
    assert [row.open for row in rows] == [False, True, False, False]


def test_means_with_loss_are_within_confidence_intervals(rows: list[Comparison]) -> None:
    """Two 95 % intervals are disjoint in one comparison of two hundred (their widths add, not their squares), so by
    chance one of some hundred may be; two are allowed. Another test covers rows with intended differences."""
    lossy = [row for row in rows if row.reference.loss > 0 and row.difference is None]
    apart = [row.reference.name for row in lossy if not row.overlaps]
    assert len(lossy) > 100
    assert len(apart) <= 2, apart


def test_mechanisms_that_we_do_not_copy_make_the_reference_slower(rows: list[Comparison]) -> None:
    """A mechanism in usrsctp shrinks windows or waits longer, so none of these rows is slower here."""
    known = [row for row in rows if row.difference and row.reference.source == "usrsctp"]
    assert len({row.difference for row in known}) == 1
    assert all(row.ours.low < row.theirs.high for row in known)
    assert all(abs(row.error) < 0.25 for row in known)


def test_ns2_sends_more_where_much_is_lost(rows: list[Comparison]) -> None:
    """In ns-2's rows with heavy loss ours is no faster, and not much slower: ns-2 sends some packets beyond windows."""
    known = [row for row in rows if row.difference and row.reference.source == "ns-2.35"]
    assert len({row.difference for row in known}) == 1
    assert all(row.ours.high > row.theirs.low and row.error < 0.15 for row in known)


def test_variants_are_ranked_alike(rows: list[Comparison]) -> None:
    for source in {row.reference.source for row in rows}:
        pairs = agreement.pairs(row for row in rows if row.reference.source == source)
        alike = sum(map(agreement.ranked_alike, pairs))
        assert alike >= agreement.RANKED * len(pairs), (source, alike, len(pairs))


def test_what_ns3_does_in_a_recovery_explains_what_the_rfcs_do_not(rows: list[Comparison]) -> None:
    """Counterparts of ns-3 have the rules of its recovery (`sack_profile`). Without them, single-flow rows with losses
    but no random loss, where chance plays no part, differ more than five times as much.
    """

    def plain(reference: Reference) -> Reference:
        flows = [flow | {"transport": flow["transport"] | {"sack_profile": "rfc"}} for flow in reference.flows]
        return replace(reference, flows=tuple(map(vz.Flow, flows)))

    lone = [
        row
        for row in rows
        if row.reference.source == "ns-3.37"
        and len(row.reference.flows) == 1
        and row.reference.loss == 0
        and row.reference.lost > 0
        and row.difference is None
    ]
    without = agreement.measure([plain(row.reference) for row in lone])
    errors = [median(abs(row.error) for row in found) for found in (lone, without)]
    assert len(lone) > 20
    assert 5 * errors[0] < errors[1], errors


def test_every_difference_explains_some_row(rows: list[Comparison]) -> None:
    assert {row.difference for row in rows} - {None} == set(agreement.DIFFERENCES)
