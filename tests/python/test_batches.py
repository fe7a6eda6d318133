"""Rows of many runs are made at once, and runs that differ in their seeds share what they were read from."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from vazao import _core
from vazao.errors import ScenarioError
from vazao.scenario import load
from vazao.store import joined_table
from vazao.study import Study, parse_as, plan, scenarios_of

SCENARIO = """
trace = { measures = ["cwnd"] }
network = { topology = "point-to-point", link = { rate = "10 Mbps", delay = "5 ms", loss = LOSS } }
[[flow]]
app = { kind = "upload", size = "200 kB" }
"""
LOSSY = SCENARIO.replace("LOSS", "0.02")
TABLES = ("runs", "flows", "paths", "links", "samples")


def outcomes(scenarios: list[_core.Scenario], ticks: list[int]) -> list[_core.Outcome]:
    """Outcomes of runs in their order; `ticks` gets the number of outcomes at each tick."""
    found: dict[int, _core.Outcome] = {}

    def on_outcome(number: int, outcome: _core.Outcome) -> None:
        found[number] = outcome

    _core.run_many(scenarios, jobs=2, on_outcome=on_outcome, on_tick=lambda: ticks.append(len(found)))
    return [found[n] for n in range(len(scenarios))]


def plain(table: object) -> pl.DataFrame:
    """Table as polars reads it, without the time that the run took."""
    rows = pl.DataFrame(table)
    labels = [name for name, kind in rows.schema.items() if kind == pl.Categorical()]
    return rows.with_columns(pl.col(labels).cast(pl.String)).drop("wall_s", strict=False)


def test_runs_under_seeds_are_those_that_are_read_under_them() -> None:
    seeds = [3, 9, 1, 2**53]
    read = [load(LOSSY, seed=seed) for seed in seeds]
    made = load(LOSSY, seed=4).with_seeds(seeds)
    assert made is not None
    assert [(one.seed, one.json, one.run_id) for one in made] == [(one.seed, one.json, one.run_id) for one in read]
    ticks: list[int] = []
    both = outcomes([*read, *made], ticks)
    assert ticks[-1] == 8, "the last outcome is followed by a tick"
    for name in TABLES:
        one, other = (pl.concat([plain(each.table(name)) for each in half]) for half in (both[:4], both[4:]))
        assert_frame_equal(one, other)
    lost = [plain(each.table("flows"))["packets_lost"].item() for each in both[:4]]
    assert len(set(lost)) > 1, "seeds decide what is lost"


def test_a_run_under_a_seed_that_decides_its_flows_is_read_again() -> None:
    assert load(LOSSY).with_seeds([2, 2**53 + 1]) is None
    drawn = LOSSY.replace("[[flow]]", '[[flow]]\ncount = 2\nstart_spread = "1 s"')
    assert load(drawn).with_seeds([2]) is None


def test_rows_are_joined_as_polars_concatenates_them() -> None:
    scenarios = load(LOSSY).with_seeds(list(range(1, 9))) or []
    for name in TABLES:
        alone = [plain(outcome.table(name)) for outcome in outcomes(scenarios, [])]
        together = outcomes(scenarios, [])
        assert len(_core.merged([outcome.table(name) for outcome in together])) == 1
        assert_frame_equal(plain(joined_table(together, name)), pl.concat(alone))


def test_rows_that_cannot_be_joined_stay_apart_and_in_order() -> None:
    several = outcomes(load(LOSSY).with_seeds([1, 2, 3, 4, 5, 6]) or [], [])
    flows = [outcome.table("flows") for outcome in several]
    read, foreign = pl.DataFrame(flows[2]), pl.DataFrame({"foreign": [1, 2]})
    found = _core.merged([flows[0], flows[1], flows[2], flows[3], foreign, flows[4], several[5].table("links")])
    assert [len(table) for table in found] == [2, 1, 1, 2, 1, 2]
    assert (found[1] is flows[2], found[3] is foreign) == (True, True)
    assert pl.DataFrame(found[1]).equals(read)
    assert [len(table) for table in _core.merged([flows[5]] * 65_537)] == [65_536, 1]
    assert _core.merged([]) == []


STUDY = """
[study]
name = "changing"
title = "Changing"
[scenario.network]
topology = "point-to-point"
link = { rate = "10 Mbps", delay = { trace = "delays.txt" } }
[[scenario.flow]]
app = { kind = "upload", size = "1 kB" }
[design]
replications = 3
"""


def test_a_file_that_changes_after_planning_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "delays.txt").write_text("0 5\n")
    study = parse_as(Study, STUDY, str(tmp_path / "changing.toml"))
    runs = plan(study, "quick").runs
    assert [one.run_id for one in scenarios_of(runs)] == [run.run_id for run in runs]
    (tmp_path / "delays.txt").write_text("0 6\n")
    with pytest.raises(ScenarioError, match=f"run {runs[0].run_id}: .* changed since it was planned"):
        scenarios_of(runs)


SHARED = """
import sys
from vazao import _core
def taken():
    return int(open("/proc/self/status").read().split("VmRSS:")[1].split()[0]) * 1024
idle = taken()
first = _core.load(sys.stdin.read())
read = taken()
others = first.with_seeds(list(range(2, 10_002)))
print(read - idle, (taken() - read) / len(others))
"""


@pytest.mark.process
def test_scenarios_that_differ_in_their_seeds_share_their_description() -> None:
    text = LOSSY.replace("[[flow]]", "[[flow]]\ncount = 10000")
    done = subprocess.run([sys.executable, "-c", SHARED], input=text, capture_output=True, text=True, check=True)
    description, each = map(float, done.stdout.split())
    # An object of Python with an identity takes some hundred bytes, of which ten thousand flows have no room.
    assert each < 1000 < description / 1000
