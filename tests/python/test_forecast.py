"""Forecasts of running times: within a factor of two of the real time for each kind of scenario."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from guests import needs_kernel
from timing import assert_mostly_within
from vazao import _core
from vazao.forecast import forecast_run, forecast_runs
from vazao.results import Study
from vazao.scenario import load
from vazao.study import parse_as, plan

pytestmark = pytest.mark.process

DUMBBELL = """
network.topology = "dumbbell"
network.access = { rate = "1 Gbps", delay = "1 ms" }
network.bottleneck = { rate = "RATE", delay = "10 ms", queue = "1 bdp", loss = LOSS }
"""
PATHS = ", ".join(f'{{ rate = "100 Mbps", delay = "{5 * n} ms" }}' for n in range(1, 6))
MESH = f'network = {{ topology = "multipath", path = [{PATHS}] }}\n'


def dumbbell(rate: str, app: str, transport: str, loss: str = "0.0", more: str = "", count: int = 1) -> str:
    network = DUMBBELL.replace("RATE", rate).replace("LOSS", loss)
    pairs = f"network.pairs = {count}\n"
    return f"{more}{pairs}{network}[[flow]]\ncount = {count}\napp = {app}\ntransport = {transport}\n"


def mesh(size: str, transport: str) -> str:
    return f'{MESH}[[flow]]\napp = {{ kind = "upload", size = "{size}" }}\ntransport = {transport}\n'


ENDLESS = '{ kind = "upload" }'
KINDS = {
    "tcp by size": dumbbell("1 Gbps", '{ kind = "upload", size = "2 GB" }', '"tcp"'),
    "tcp with losses": dumbbell("100 Mbps", ENDLESS, '"tcp"', loss="0.01", more='until = "2000 s"\n'),
    "twenty tcps": dumbbell("1 Gbps", ENDLESS, '"tcp"', more='until = "12 s"\n', count=20),
    "a mesh of 25 subflows": mesh("400 MB", '{ kind = "mptcp", cc = "lia", path_manager = "full-mesh" }'),
    "everything on every path": mesh(
        "50 MB", '{ kind = "mptcp", scheduler = "redundant", path_manager = "full-mesh" }'
    ),
    "quic": dumbbell("1 Gbps", '{ kind = "upload", size = "1 GB" }', '"quic"'),
    "a library": dumbbell("1 Gbps", '{ kind = "upload", size = "150 MB" }', '{ kind = "quic", stack = "quinn" }'),
    "sctp": dumbbell("1 Gbps", '{ kind = "upload", size = "1 GB" }', '"sctp"'),
    "udp": dumbbell("100 Mbps", ENDLESS, '{ kind = "udp", rate = "80 Mbps" }', more='until = "450 s"\n'),
    "think times": dumbbell(
        "100 Mbps",
        '{ kind = "requests", response = "lognormal 20 kB", think = "exponential 100 ms", duration = "9000 s" }',
        '"tcp"',
        more='until = "9000 s"\n',
    ),
    "video": dumbbell("100 Mbps", '{ kind = "video", duration = "25 min" }', '"tcp"'),
    "short flows": dumbbell(
        "100 Mbps",
        '{ kind = "arrivals", interval = "exponential 20 ms", sizes = "web-search", duration = "15 s" }',
        '"tcp"',
    ),
}
SHORT = dumbbell("10 Mbps", '{ kind = "upload", size = "10 MB" }', '"tcp"')
GUESTS = {
    "a kernel's tcp": dumbbell("100 Mbps", '{ kind = "upload", size = "30 MB" }', '{ kind = "tcp", stack = "linux" }'),
}


@pytest.fixture
def undisturbed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replaces the clock by this process's CPU time, which other load does not affect."""
    clock = SimpleNamespace(perf_counter=time.process_time)
    monkeypatch.setattr("vazao.forecast.extrapolation.time", clock)


def ratio(scenario: _core.Scenario, clock: Callable[[], float]) -> float:
    """Ratio of a run's expected time to its actual time."""
    expected = forecast_run(scenario).seconds
    began = clock()
    outcome = _core.run(scenario)
    took = clock() - began
    assert outcome.failure is None
    assert outcome.not_run is None
    return expected / took


@pytest.mark.usefixtures("undisturbed")
@pytest.mark.parametrize("text", KINDS.values(), ids=KINDS)
def test_a_run_takes_as_long_as_its_forecast_within_a_factor_of_two(text: str) -> None:
    scenario = load(text)
    assert_mostly_within(2, lambda: ratio(scenario, time.process_time))


@pytest.mark.timed
@needs_kernel
@pytest.mark.parametrize("text", GUESTS.values(), ids=GUESTS)
def test_a_run_with_guests_takes_as_long_as_its_forecast(text: str) -> None:
    # A guest is a separate process.
    scenario = load(text)
    assert_mostly_within(2, lambda: ratio(scenario, time.perf_counter))


MIXED = """
[study]
name = "mixed"
title = "Mixed"
[scenario.network]
topology = "multipath"
path = [PATHS]
[[scenario.flow]]
app = { kind = "upload", size = "20 MB" }
[design]
replications = 4
[[factor]]
name = "transport"
levels.tcp = { "flow.0.transport" = "tcp" }
levels.mesh = { "flow.0.transport" = { kind = "mptcp", path_manager = "full-mesh" } }
levels.copies = { "flow.0.transport" = { kind = "mptcp", path_manager = "full-mesh", scheduler = "redundant" } }
levels.quic = { "flow.0.transport" = "quic" }
levels.sctp = { "flow.0.transport" = { kind = "sctp", cmt = true } }
"""


@pytest.mark.usefixtures("undisturbed")
def test_runs_of_several_kinds_take_as_long_together_as_their_forecast() -> None:
    study = parse_as(Study, MIXED.replace("PATHS", PATHS), "mixed.toml")
    runs = plan(study, "full").runnable
    scenarios = [run.scenario for run in runs]
    assert len(scenarios) == 20

    def together() -> float:
        expected = forecast_runs(runs, 1).seconds
        began = time.process_time()
        _core.run_many(scenarios, jobs=1, on_outcome=lambda *_: None, on_tick=lambda: None)
        return expected / (time.process_time() - began)

    assert_mostly_within(2, together)


def test_an_end_is_forecast_where_none_is_written() -> None:
    scenario = load(KINDS["everything on every path"])
    assert scenario.until_s is None
    # On a fast machine the whole run takes less than 0.2 s, and a run that has ended needs no forecast.
    ends = forecast_run(scenario, 0.05).ends_s
    assert ends is not None
    simulated = _simulated(scenario)
    assert 1 / 2 < ends / simulated < 2


def _simulated(scenario: _core.Scenario) -> float:
    import polars as pl

    (end,) = pl.DataFrame(_core.run(scenario).table("runs"))["sim_s"]
    return float(end)


@pytest.mark.timed
def test_a_piece_is_no_longer_than_it_may_be() -> None:
    endless = load(dumbbell("1 Gbps", ENDLESS, '"tcp"', more='until = "3600 s"\n'))
    began = time.perf_counter()
    assert forecast_run(endless).seconds > 30
    assert time.perf_counter() - began < 30


def test_a_truncated_scenario_leaves_the_original_unchanged() -> None:
    text = SHORT
    whole, piece = load(text), load(text).with_until(1.0)
    assert piece.until_s == 1.0
    assert whole.until_s is None
    assert piece.run_id != whole.run_id
    # An earlier end is kept.
    assert piece.with_until(5.0).run_id == piece.run_id
    with pytest.raises(_core.ScenarioError, match="the end must be from"):
        whole.with_until(0.0)


def test_programs_are_not_run_for_a_forecast(tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    text = f"""
    network = {{ topology = "point-to-point", link = {{ rate = "10 Mbps", delay = "1 ms" }} }}
    [[flow]]
    app = {{ kind = "command", server = "touch {mark}", client = "touch {mark}" }}
    transport = {{ kind = "tcp", stack = "linux" }}
    """
    scenario = load(text)
    assert scenario.work().has_programs
    assert forecast_run(scenario).seconds > 0
    assert not mark.exists()


@pytest.mark.usefixtures("no_kernel")
def test_without_a_kernel_there_is_a_forecast_all_the_same() -> None:
    assert forecast_run(load(GUESTS["a kernel's tcp"])).seconds > 0
