"""Campaigns that grow, shrink, run in shards and are cleaned: a run is identified by its content."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from conftest import TOY
from test_store import Death, dying_after
from vazao import results, store
from vazao.errors import ResultsError
from vazao.execution import WHOLE, Shard, missing as execution
from vazao.results import Campaign, campaign
from vazao.store import Store, growth, parts
from vazao.store.parts import TABLES
from vazao.study import Study, parse_as

pytestmark = pytest.mark.process

Edit = Callable[[str, str], str]


def ran(text: str, out: Path, **how: Any) -> Campaign:
    return campaign.run_study(parse_as(results.Study, text, "toy.toml"), out=out, **how)


def tables(directory: Path) -> dict[str, pl.DataFrame]:
    store = Store(directory)
    return {name: store.read(name).drop("wall_s", strict=False) for name in TABLES if name != "scenarios"}


def assert_same(a: Path, b: Path) -> None:
    first, second = tables(a), tables(b)
    for name in first:
        assert first[name].equals(second[name]), name


FEWER = ('quick = ["1 Mbps", "100 Mbps"]', 'quick = ["100 Mbps"]')
"""Edit of the toy study that drops half of its runs."""


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results of the toy study; tests that continue from them take a copy."""
    return ran(TOY, tmp_path_factory.mktemp("begun") / "r", jobs=1).directory


@pytest.fixture(scope="module")
def fewer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results in batches of three runs, half of which are no longer in the study."""
    out = tmp_path_factory.mktemp("fewer") / "r"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(execution, "FLUSH_RUNS", 3)
        ran(TOY, out, jobs=1)
        ran(TOY.replace(*FEWER, 1), out)
    return out


@pytest.fixture(scope="module")
def halves(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The toy study in two shards."""
    folder = tmp_path_factory.mktemp("halves")
    for number in (1, 2):
        ran(TOY, folder / str(number), shard=Shard(number, 2))
    return folder


@pytest.fixture(scope="module")
def quarters(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The full toy study in four shards."""
    folder = tmp_path_factory.mktemp("quarters")
    started = [ran(TOY, folder / str(number), size="full", shard=Shard(number, 4)).started for number in (1, 2, 3, 4)]
    assert sum(started) == 18
    return folder


@pytest.mark.parametrize(
    ("old", "new", "started", "left"),
    [
        ('quick = ["1 Mbps", "100 Mbps"]', 'quick = ["1 Mbps", "10 Mbps", "100 Mbps"]', 4, []),
        ("replications = { quick = 2, full = 3 }", "replications = 5", 12, []),
        (
            'levels.cubic = { "flow.0.transport.cc" = "cubic" }',
            'levels.cubic = { "flow.0.transport.cc" = "cubic" }\nlevels.vegas = { "flow.0.transport.cc" = "vegas" }',
            4,
            [],
        ),
        (
            "[[figure]]",
            '[[part.factor]]\nname = "late"\nsets = "network.bottleneck.delay"\nlevels = ["5 ms", "9 ms"]\n[[figure]]',
            2,
            [],
        ),
        (
            'quick = ["1 Mbps", "100 Mbps"]',
            'quick = ["100 Mbps"]',
            0,
            ["4 of levels or replications that the study no longer has"],
        ),
        ('size = "200 kB"', 'size = "300 kB"', 8, ["8 flow.0.app.size is 300 kB now (200 kB there)"]),
        ("seed = 5", "seed = 6", 4, ["4 seed is 6 now (5 there)"]),
    ],
)
def test_a_changed_study_runs_what_is_missing_and_pools_nothing(
    edited: Edit, toy_text: str, begun: Path, tmp_path: Path, old: str, new: str, started: int, left: list[str]
) -> None:
    """Rows equal those of a directory that never held anything else."""
    shutil.copytree(begun, tmp_path / "r")
    grown = ran(edited(old, new), tmp_path / "r")
    alone = ran(edited(old, new), tmp_path / "alone")
    assert (grown.started, grown.left_out) == (started, left)
    assert_same(tmp_path / "r", tmp_path / "alone")
    assert grown.findings == alone.findings
    again = ran(edited(old, new), tmp_path / "r")
    assert again.started == 0
    back = ran(toy_text, tmp_path / "r")
    assert back.started == 0, "what was left out was kept"


def test_what_is_left_out_can_be_removed(edited: Edit, toy_text: str, begun: Path, tmp_path: Path) -> None:
    changed = edited(*FEWER)
    shutil.copytree(begun, tmp_path / "r")
    ran(changed, tmp_path / "r")
    before = tables(tmp_path / "r")
    freed = store.clean(tmp_path / "r")
    assert (freed.runs, freed.bytes > 0) == (4, True)
    assert Store(tmp_path / "r").stored.height == 4
    after = tables(tmp_path / "r")
    assert all(before[name].equals(after[name]) for name in before)
    assert store.clean(tmp_path / "r").runs == 0
    assert ran(changed, tmp_path / "r").started == 0
    assert ran(toy_text, tmp_path / "r").started == 4


@pytest.mark.parametrize("operations", range(0, 60, 6))
def test_cleaning_that_is_killed_loses_nothing(
    edited: Edit, fewer: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, operations: int
) -> None:
    monkeypatch.setattr(execution, "FLUSH_RUNS", 3)
    shutil.copytree(fewer, tmp_path / "r")
    before = tables(tmp_path / "r")
    with dying_after(operations, monkeypatch), suppress(Death):
        store.clean(tmp_path / "r")
    after = tables(tmp_path / "r")
    assert all(before[name].equals(after[name]) for name in before)
    store.clean(tmp_path / "r")
    assert Store(tmp_path / "r").stored.height == 4
    assert ran(edited(*FEWER), tmp_path / "r").started == 0


def test_shards_make_the_same_rows_as_one_machine(toy: Study, toy_text: str, tmp_path: Path) -> None:
    whole = ran(toy_text, tmp_path / "whole", size="full")
    for number in (1, 2, 3):
        part = ran(toy_text, tmp_path / str(number), size="full", shard=Shard(number, 3))
        assert part.started == 6
    merged = results.merge([tmp_path / "1", tmp_path / "2"], tmp_path / "m")
    # A run's identity decides its shard; four of the runs have a row in both parts of the study.
    assert (merged.added, merged.runs + merged.missing) == (12, 22)
    assert 6 <= merged.missing <= 10
    merged = results.merge([tmp_path / "1", tmp_path / "3"], tmp_path / "m")
    assert (merged.added, merged.runs, merged.missing) == (6, 22, 0)
    assert_same(tmp_path / "m", tmp_path / "whole")
    assert results.open_campaign(tmp_path / "m").findings == whole.findings
    assert ran(toy_text, tmp_path / "m", size="full", shard=WHOLE).started == 0


@pytest.mark.parametrize(
    ("old", "new", "more"),
    [
        ("full = 3 }", "full = 5 }", 12),
        ('levels = ["1 Mbps", "10 Mbps", "100 Mbps"]', 'levels = ["500 kbps", "1 Mbps", "10 Mbps", "100 Mbps"]', 6),
    ],
)
def test_shards_of_a_study_that_grew_run_what_is_new(
    edited: Edit, quarters: Path, tmp_path: Path, old: str, new: str, more: int
) -> None:
    """Each run stays in the shard that has it, even if its combination moves within the plan."""
    shards = [Shard(number, 4) for number in (1, 2, 3, 4)]
    shutil.copytree(quarters, tmp_path, dirs_exist_ok=True)
    grown = [ran(edited(old, new), tmp_path / str(shard.number), size="full", shard=shard).started for shard in shards]
    assert sum(grown) == more
    whole = ran(edited(old, new), tmp_path / "whole", size="full")
    results.merge([tmp_path / str(shard.number) for shard in shards], tmp_path / "m")
    assert_same(tmp_path / "m", tmp_path / "whole")
    assert whole.runs.height == results.open_campaign(tmp_path / "m").runs.height


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("seed = 5", "seed = 6", "holds another seed than .*1 .6, not 5."),
        ('name = "toy"\ntitle', 'name = "boy"\ntitle', "holds another study than"),
        ("200 kB", "201 kB", "its study.toml is not that of"),
    ],
)
def test_shards_of_something_else_are_refused(
    edited: Edit, halves: Path, tmp_path: Path, old: str, new: str, message: str
) -> None:
    shutil.copytree(halves / "1", tmp_path / "1")
    ran(edited(old, new), tmp_path / "2", shard=Shard(2, 2))
    with pytest.raises(ResultsError, match=message):
        results.merge([tmp_path / "1", tmp_path / "2"], tmp_path / "m")
    assert not (tmp_path / "m").exists()


def test_a_damaged_shard_is_refused(toy_text: str, halves: Path, tmp_path: Path) -> None:
    shutil.copytree(halves, tmp_path, dirs_exist_ok=True)
    flows = parts.part(tmp_path / "2", "flows", "000001")
    flows.write_bytes(flows.read_bytes()[:-1] + b"x")
    with pytest.raises(ResultsError, match=r"flows/000001.parquet: is damaged"):
        results.merge([tmp_path / "1", tmp_path / "2"], tmp_path / "m")
    shutil.rmtree(tmp_path / "2")
    ran(toy_text, tmp_path / "2", shard=Shard(2, 2))
    assert results.merge([tmp_path / "1", tmp_path / "2"], tmp_path / "m").missing == 0


def test_all_cells_are_run_once_before_any_is_run_twice(toy: Study, tmp_path: Path) -> None:
    class Impatient(campaign.Silent):
        ended = 0

        def advance(self, runs: int, work: float) -> None:
            self.ended += runs
            if self.ended == 6:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        campaign.run_study(toy, size="full", jobs=1, out=tmp_path / "r", progress=Impatient())
    runs = Store(tmp_path / "r").read("runs").filter(part="grid")
    assert runs["replication"].to_list() == [0] * 6
    assert runs.select("bandwidth", "variant").n_unique() == 6


@pytest.mark.parametrize(
    ("old", "new", "differs"),
    [
        ({"kernel": {"name": "6.12", "sha256": "ab"}}, {"kernel": {"name": "6.12"}}, False),
        ({"kernel": {"name": "6.12"}}, {"kernel": {"name": "6.1"}}, True),
        ({"stack": "ns2", "simulator": {"sha256": "ab"}}, {"stack": "ns2"}, False),
        ({"receiver": {"kernel": {"name": "6.12", "sha256": "ab"}}}, {"receiver": {"kernel": {"name": "6.12"}}}, False),
        ({"stack": "ns2"}, {}, True),
        ({"http": {"version": "1.1"}}, {"http": {"version": "2"}}, True),
    ],
)
def test_only_the_programs_digests_may_differ_where_one_is_gone(old: Any, new: Any, differs: bool) -> None:
    pair = (growth._without_programs(json.dumps({"flow": [{"transport": each}]})) for each in (old, new))
    assert bool(list(growth.differences(*pair))) == differs
