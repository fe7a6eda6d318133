"""Planning many runs takes little time and memory, and assigns each the run_id of its scenario."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from vazao.scenario import Recipe

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
