"""Planning many runs takes little time and memory, and assigns each the run_id of its scenario."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import vazao as vz
from vazao.results import load_study
from vazao.scenario import Recipe
from vazao.study import built_in_studies, plan, planned_run, planning

ORDINARY = """
[network]
topology = "point-to-point"
link = { rate = "10 Mbps", delay = "5 ms", loss = 0.01 }
[[flow]]
app = { kind = "upload", size = "100 kB" }
"""
ARRIVING = ORDINARY.replace(
    '{ kind = "upload", size = "100 kB" }',
    '{ kind = "arrivals", interval = "exponential 100 ms", sizes = "web-search", duration = "1 s" }',
).replace("[network]", 'until = "1 s"\n[network]', 1)
SPREAD = ORDINARY.replace("[[flow]]", '[[flow]]\nstart_spread = "1 s"')
NAMED = 'name = \'"seed":1,"trace"\'\n' + ORDINARY


@pytest.mark.parametrize("text", [ORDINARY, ARRIVING, SPREAD, NAMED], ids=["ordinary", "arriving", "spread", "named"])
@pytest.mark.parametrize("count", [1, 2, 3, 20])
def test_run_ids_are_those_of_the_scenarios(text: str, count: int) -> None:
    recipe, seeds = Recipe(text), range(1, 1 + count)
    assert list(recipe.run_ids(recipe.read(1), seeds)) == [recipe.read(seed).run_id for seed in seeds]


@pytest.mark.parametrize("name", built_in_studies())
def test_each_row_of_a_plan_gives_its_run_back(name: str) -> None:
    study = load_study(name)
    # One study in full, since quick has a part of its levels.
    planned = plan(study, "full" if name == "tcp-bakeoff" else "quick")
    runs = planned.runs[:: max(1, len(planned.runs) // 25)]
    for run, row in zip(runs, planned.rows(runs).iter_rows(named=True), strict=True):
        found = planned_run(study, row)
        assert found is not None
        assert (found.run_id, found.part, found.labels, found.seed) == (run.run_id, run.part, run.labels, run.seed)
        assert found.scenario.run_id == run.run_id


def test_a_run_of_a_hundred_thousand_is_built_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "one.toml").write_text(ORDINARY)
    study = vz.load(tmp_path / "one.toml").vary("network.link.loss", "0:0.05:100").study(1000)
    monkeypatch.setattr(planning, "combinations", lambda *_: pytest.fail("the whole plan is built"))
    (part,) = study.parts
    (factor,) = part.factors
    row = {"part": part.name, factor.name: factor.labels[57], "replication": 999}
    found = planned_run(study, row)
    assert found is not None
    assert found.scenario.run_id == found.run_id
    assert found.seed == study.seed + 999
    for wrong in ({"replication": 1000}, {"replication": None}, {factor.name: "x"}, {"part": "y"}):
        assert planned_run(study, row | wrong) is None


MANY = """
import resource, sys, time
import vazao as vz
from vazao.study import plan

study = vz.load(sys.argv[1]).vary("network.link.loss", "0:0.05:100").study(1000)
before, began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
planned = plan(study, "full")
rows = planned.rows(planned.runs)
print(rows.height, time.process_time() - began, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="memory is in kB where Linux says it")
def test_a_hundred_thousand_runs_take_seconds_and_100_mb(tmp_path: Path) -> None:
    (tmp_path / "one.toml").write_text(ORDINARY)
    command = [sys.executable, "-c", MANY, tmp_path / "one.toml"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    runs, seconds, memory = done.stdout.split()
    assert int(runs) == 100_000
    assert float(seconds) < 10
    assert int(memory) < 100_000
