"""Campaigns: each run simulated once, identical rows however they are run, quick a subset of full."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from vazao import _core, kernel
from vazao.results import campaign
from vazao.scenario import loader
from vazao.sql import enclosure
from vazao.store import Store
from vazao.store.parts import TABLES
from vazao.study import Study, parse_study

pytestmark = pytest.mark.process


def rows(directory: Path, table: str) -> pl.DataFrame:
    return Store(directory).read(table).drop("wall_s", strict=False)


def test_a_finished_study_starts_no_run(toy: Study, tmp_path: Path) -> None:
    first = campaign.run_study(toy, size="quick", out=tmp_path / "r")
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "r").rglob("*.parquet")}
    again = campaign.run_study(toy, size="quick", out=tmp_path / "r")
    assert (first.started, again.started) == (8, 0)
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "r").rglob("*.parquet")} == before


def test_a_campaign_starts_a_database_for_its_rehearsal_and_one_for_its_findings(
    toy: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = []
    begin = enclosure.Enclosure.__init__

    def counted(self: enclosure.Enclosure, *given: Any) -> None:
        started.append(self)
        begin(self, *given)

    monkeypatch.setattr(enclosure.Enclosure, "__init__", counted)
    done = campaign.run_study(toy, size="quick", out=tmp_path / "r")
    assert len(started) == 2
    # `not_run` opens no database, and must agree with a query to one.
    assert done.not_run.equals(done.sql("SELECT * FROM not_run"))
    assert done.not_run.schema == done.sql("SELECT * FROM not_run").schema


def test_full_goes_on_from_quick_and_equals_full_alone(toy: Study, tmp_path: Path) -> None:
    campaign.run_study(toy, size="quick", out=tmp_path / "steps")
    grown = campaign.run_study(toy, size="full", out=tmp_path / "steps")
    alone = campaign.run_study(toy, size="full", out=tmp_path / "alone")
    assert (grown.started, alone.started) == (10, 18)
    for table in TABLES:
        assert rows(tmp_path / "steps", table).equals(rows(tmp_path / "alone", table)), table
    assert grown.store.manifest == alone.store.manifest


def test_quick_asked_of_a_full_directory_runs_nothing(toy: Study, tmp_path: Path) -> None:
    campaign.run_study(toy, size="full", out=tmp_path / "r")
    again = campaign.run_study(toy, size="quick", out=tmp_path / "r")
    assert again.started == 0
    assert again.store.manifest["size"] == "full"
    assert again.runs.height == 22


def test_one_thread_and_two_give_the_same_bytes(toy: Study, tmp_path: Path) -> None:
    for jobs in (1, 2):
        campaign.run_study(toy, size="full", jobs=jobs, out=tmp_path / str(jobs))
    for table in TABLES:
        assert rows(tmp_path / "1", table).equals(rows(tmp_path / "2", table)), table
    for name in ("findings.json", "manifest.json"):
        assert (tmp_path / "1" / name).read_bytes() == (tmp_path / "2" / name).read_bytes()


def test_parts_share_runs_but_have_their_own_rows(toy: Study, tmp_path: Path) -> None:
    done = campaign.run_study(toy, size="quick", out=tmp_path / "r")
    runs = done.runs
    shared = runs.filter(part="again").join(runs.filter(part="grid"), on="run_id")
    assert shared.height == 2
    assert shared["utilisation"].equals(shared["utilisation_right"].rename("utilisation"))
    assert done.flows.height == 8
    assert done.sql("SELECT count(*) AS n FROM runs JOIN flows USING (run_id)")["n"].item() == 10


def test_rows_come_in_the_order_of_the_design(toy: Study, tmp_path: Path) -> None:
    runs = campaign.run_study(toy, size="full", out=tmp_path / "r").runs.filter(part="grid")
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
        campaign.run_study(toy, size="full", jobs=1, out=tmp_path / "r", progress=Impatient())
    assert Store(tmp_path / "r").read("runs")["run_id"].n_unique() == 4
    assert campaign.run_study(toy, size="full", out=tmp_path / "r").started == 14


def test_the_evidence_of_every_run_is_stored(toy: Study, tmp_path: Path) -> None:
    done = campaign.run_study(toy, size="quick", out=tmp_path / "r")
    scenarios = done.store.read("scenarios")
    assert set(scenarios["run_id"]) == set(done.runs["run_id"])
    assert all('"seed"' in text for text in scenarios["scenario"])


def test_changes_are_part_of_a_directorys_identity(toy: Study, tmp_path: Path) -> None:
    campaign.run_study(toy.changed([("network.bottleneck.delay", "6 ms")]), size="quick", out=tmp_path / "r")
    assert campaign.open_campaign(tmp_path / "r").study.overrides == [("network.bottleneck.delay", "6 ms")]


def test_a_study_run_from_python_equals_the_command(
    toy: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = toy.run(size="quick", jobs=2)
    assert done.directory == Path("results/toy")
    assert [finding.id for finding in done.findings] == ["busy", "busy", "moon"]
    assert done.links.filter(pl.col("utilisation") > 0).height > 0
    assert done.failures() == []


def test_effects_of_a_two_level_part_are_those_of_its_rows(edited: Callable[[str, str], str], tmp_path: Path) -> None:
    text = edited('"1 Mbps", "10 Mbps", "100 Mbps"]\nquick = ["1 Mbps", "100 Mbps"]', '"1 Mbps", "100 Mbps"]')
    study = parse_study(text.replace('name = "grid"', 'name = "grid"\ndesign = "two-level"'), "toy.toml")
    done = campaign.run_study(study, size="quick", out=tmp_path / "r")
    effects = done.effects("grid", "utilisation")
    assert effects["effect"].to_list() == ["bandwidth", "variant", "bandwidth × variant"]
    runs = done.runs.filter(part="grid")
    means = [runs.filter(bandwidth=label)["utilisation"].mean() for label in ("1 Mbps", "100 Mbps")]
    assert effects["estimate"][0] == pytest.approx(means[1] - means[0])  # type: ignore[operator]
    # If the replications coincide, the interval has zero width.
    assert ((effects["low"] <= effects["estimate"]) & (effects["estimate"] <= effects["high"])).all()


@pytest.mark.usefixtures("no_kernel")
def test_runs_that_lack_a_kernel_are_noted_and_not_stored(stacks: Study, tmp_path: Path) -> None:
    done = campaign.run_study(stacks, out=tmp_path / "r")
    assert (done.started, done.runs.height, done.not_run.height) == (2, 3, 2)
    assert done.runs["stack"].to_list() == ["vazao", "vazao", None]
    assert done.not_run.select("part", "stack", "bandwidth").rows() == [
        ("both", "linux", "1 Mbps"),
        ("both", "linux", "10 Mbps"),
    ]
    (reason,) = done.not_run["reason"].unique()
    assert "vazao kernel build" in reason
    assert done.store.manifest["not_run"] == {reason: 2}
    assert done.sql("SELECT count(*) AS n FROM not_run WHERE stack = 'linux'")["n"].item() == 2
    assert done.failures() == []
    again = campaign.run_study(stacks, out=tmp_path / "r")
    assert (again.started, again.not_run.rows()) == (0, done.not_run.rows())


@pytest.mark.usefixtures("no_kernel")
def test_what_needs_a_missing_run_is_never_reproduced(stacks: Study, tmp_path: Path) -> None:
    done = campaign.run_study(stacks, out=tmp_path / "r")
    verdicts = [(one.id, one.level, one.verdict) for one in done.findings]
    assert verdicts == [
        ("same", None, "not testable"),
        ("each", "vazao", "reproduced"),
        ("each", "linux", "not testable"),
        ("needed", None, "reproduced"),
        ("apart", None, "reproduced"),
    ]
    assert "2 planned runs were not run: no Linux kernel" in done.findings[0].explanation
    assert "1 planned run" not in done.findings[2].explanation
    reopened = campaign.open_campaign(tmp_path / "r")
    assert reopened.findings == done.findings
    assert done.figure("goodput").to_dict()


@pytest.mark.skipif(kernel.find() is None, reason=kernel.missing())
def test_an_installed_kernel_completes_the_results_and_a_removed_one_loses_none(
    stacks: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run_without() -> campaign.Campaign:
        with monkeypatch.context() as patch:
            patch.setenv("VAZAO_CACHE", str(tmp_path / "none"))
            patch.delenv("VAZAO_KERNEL", raising=False)
            loader._kernels.cache_clear()
            return campaign.run_study(stacks, out=tmp_path / "r")

    assert run_without().not_run.height == 2
    loader._kernels.cache_clear()
    whole = campaign.run_study(stacks, out=tmp_path / "r")
    assert (whole.started, whole.runs.height, whole.not_run.height) == (2, 5, 0)
    assert whole.store.manifest["not_run"] == {}
    assert {one.verdict for one in whole.findings} == {"reproduced"}
    assert whole.runs.filter(stack="linux")["kernel_hz"].is_not_null().all()
    gone = run_without()
    loader._kernels.cache_clear()
    assert (gone.started, gone.runs.height, gone.not_run.height) == (0, 5, 0)
    assert gone.store.manifest["kernels"] == whole.store.manifest["kernels"]


@dataclass
class Failed:
    """A run that failed, as the simulator reports it: without tables."""

    failure: str = "the guest is gone"
    not_run: None = None


def test_a_failed_run_has_a_row_that_says_why(toy: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_many = _core.run_many

    def fail_first(scenarios: list[_core.Scenario], *, on_outcome: Callable[..., None], **how: object) -> None:
        on_outcome(0, Failed())
        run_many(scenarios[1:], on_outcome=lambda i, outcome: on_outcome(i + 1, outcome), **how)  # type: ignore[arg-type]

    monkeypatch.setattr(_core, "run_many", fail_first)
    done = campaign.run_study(toy, size="quick", out=tmp_path / "r")
    ((run_id, failure),) = done.failures()
    assert failure == "the guest is gone"
    (row,) = done.runs.filter(run_id=run_id, part="grid").to_dicts()
    assert (row["utilisation"], row["seed"] in (5, 6)) == (None, True)
    assert done.flows.filter(run_id=run_id).height == 0
