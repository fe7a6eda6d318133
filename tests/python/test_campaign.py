"""Campaigns: each run once, the same rows however they are run, quick a part of full."""

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from vazao import campaign
from vazao.store import TABLES, Store
from vazao.study import Study, parse_study


def rows(directory: Path, table: str) -> pl.DataFrame:
    return Store(directory).read(table).drop("wall_s", strict=False)


def test_a_finished_study_starts_no_run(toy: Study, tmp_path: Path) -> None:
    first = campaign.run(toy, size="quick", out=tmp_path / "r")
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "r").rglob("*.parquet")}
    again = campaign.run(toy, size="quick", out=tmp_path / "r")
    assert (first.started, again.started) == (8, 0)
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "r").rglob("*.parquet")} == before


def test_full_goes_on_from_quick_and_equals_full_alone(toy: Study, tmp_path: Path) -> None:
    campaign.run(toy, size="quick", out=tmp_path / "steps")
    grown = campaign.run(toy, size="full", out=tmp_path / "steps")
    alone = campaign.run(toy, size="full", out=tmp_path / "alone")
    assert (grown.started, alone.started) == (10, 18)
    for table in TABLES:
        assert rows(tmp_path / "steps", table).equals(rows(tmp_path / "alone", table)), table
    assert grown.store.manifest == alone.store.manifest


def test_quick_asked_of_a_full_directory_runs_nothing(toy: Study, tmp_path: Path) -> None:
    campaign.run(toy, size="full", out=tmp_path / "r")
    again = campaign.run(toy, size="quick", out=tmp_path / "r")
    assert again.started == 0
    assert again.store.manifest["size"] == "full"
    assert again.runs.height == 22


def test_one_thread_and_two_give_the_same_bytes(toy: Study, tmp_path: Path) -> None:
    for jobs in (1, 2):
        campaign.run(toy, size="full", jobs=jobs, out=tmp_path / str(jobs))
    for table in TABLES:
        assert rows(tmp_path / "1", table).equals(rows(tmp_path / "2", table)), table
    for name in ("findings.json", "manifest.json"):
        assert (tmp_path / "1" / name).read_bytes() == (tmp_path / "2" / name).read_bytes()


def test_parts_share_runs_but_have_their_own_rows(toy: Study, tmp_path: Path) -> None:
    done = campaign.run(toy, size="quick", out=tmp_path / "r")
    runs = done.runs
    shared = runs.filter(part="again").join(runs.filter(part="grid"), on="run_id")
    assert shared.height == 2
    assert shared["utilisation"].equals(shared["utilisation_right"].rename("utilisation"))
    assert done.flows.height == 8
    assert done.sql("SELECT count(*) AS n FROM runs JOIN flows USING (run_id)")["n"].item() == 10


def test_rows_come_in_the_order_of_the_design(toy: Study, tmp_path: Path) -> None:
    runs = campaign.run(toy, size="full", out=tmp_path / "r").runs.filter(part="grid")
    assert runs["bandwidth"].unique(maintain_order=True).to_list() == ["1 Mbps", "10 Mbps", "100 Mbps"]
    assert runs["replication"].to_list() == [0, 1, 2] * 6
    assert runs["seed"].to_list() == [5, 6, 7] * 6


def test_ctrl_c_keeps_finished_runs(toy: Study, tmp_path: Path) -> None:
    class Impatient(campaign.Silent):
        ended = 0

        def advance(self, runs: int, work: float) -> None:
            self.ended += runs
            if self.ended == 4:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        campaign.run(toy, size="full", jobs=1, out=tmp_path / "r", progress=Impatient())
    assert Store(tmp_path / "r").read("runs")["run_id"].n_unique() == 4
    assert campaign.run(toy, size="full", out=tmp_path / "r").started == 14


def test_the_evidence_of_every_run_is_stored(toy: Study, tmp_path: Path) -> None:
    done = campaign.run(toy, size="quick", out=tmp_path / "r")
    scenarios = done.store.read("scenarios")
    assert set(scenarios["run_id"]) == set(done.runs["run_id"])
    assert all('"seed"' in text for text in scenarios["scenario"])


def test_changes_are_part_of_what_a_directory_is(toy: Study, tmp_path: Path) -> None:
    campaign.run(toy.changed([("network.bottleneck.delay", "6 ms")]), size="quick", out=tmp_path / "r")
    with pytest.raises(campaign.ResultsError, match="another set of --set changes"):
        campaign.run(toy, size="quick", out=tmp_path / "r")
    assert campaign.open_campaign(tmp_path / "r").study.overrides == [("network.bottleneck.delay", "6 ms")]


def test_a_study_in_python_is_the_commands(toy: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = toy.run(size="quick", jobs=2)
    assert done.directory == Path("results/toy")
    assert [finding.id for finding in done.findings] == ["busy", "busy", "moon"]
    assert done.links.filter(pl.col("utilisation") > 0).height > 0
    assert done.failures() == []


def test_effects_of_a_two_level_part_are_those_of_its_rows(edited: Callable[[str, str], str], tmp_path: Path) -> None:
    text = edited('"1 Mbps", "10 Mbps", "100 Mbps"]\nquick = ["1 Mbps", "100 Mbps"]', '"1 Mbps", "100 Mbps"]')
    study = parse_study(text.replace('name = "grid"', 'name = "grid"\ndesign = "two-level"'), "toy.toml")
    done = campaign.run(study, size="quick", out=tmp_path / "r")
    effects = done.effects("grid", "utilisation")
    assert effects["effect"].to_list() == ["bandwidth", "variant", "bandwidth × variant"]
    runs = done.runs.filter(part="grid")
    means = [runs.filter(bandwidth=label)["utilisation"].mean() for label in ("1 Mbps", "100 Mbps")]
    assert effects["estimate"][0] == pytest.approx(means[1] - means[0])  # type: ignore[operator]
    assert (effects["low"] < effects["high"]).all()
