"""The environments: gymnasium's own checker, reproducible episodes, closed forms, and rejected input."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import vazao as vz
from vazao.errors import RunError, ScenarioError

gymnasium = pytest.importorskip("gymnasium", reason="gymnasium is not installed: pip install 'vazao[gym]'")

import numpy as np  # noqa: E402
from gymnasium.error import ResetNeeded  # noqa: E402
from gymnasium.utils.env_checker import check_env  # noqa: E402
from gymnasium.wrappers import RescaleAction  # noqa: E402

from vazao import _core, gym  # noqa: E402

pytestmark = pytest.mark.process

NETWORK = vz.point_to_point(vz.link("12 Mbps", "20 ms", queue="4 bdp"))

TOML = """
until = "4 s"
[network]
topology = "dumbbell"
pairs = 2
access = { rate = "100 Mbps", delay = "1 ms" }
bottleneck = { rate = "10 Mbps", delay = "19 ms", queue = "1 bdp", loss = 0.001 }
[[flow]]
app = { kind = "upload" }
transport = { kind = "tcp", cc = "cubic" }
[[flow]]
app = { kind = "upload", size = "500 kB" }
transport = { kind = "quic", cc = "cubic" }
"""


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    file = tmp_path / "two.toml"
    file.write_text(TOML)
    return file


def played(env: gym.Env, seed: int | None, actions: int = 40) -> list[Any]:
    """Observations, rewards and flags of an episode of random actions."""
    seen: list[Any] = [env.reset(seed=seed)]
    random = np.random.default_rng(7)
    for _ in range(actions):
        seen.append(env.step(np.array([random.uniform(-1, 1)], np.float32)))
        if seen[-1][2] or seen[-1][3]:
            break
    return seen


def same(first: list[Any], second: list[Any]) -> bool:
    return repr(first) == repr(second)


ACTIONS: list[str | gym.Action] = [
    "multiplier",
    "window",
    "pace",
    "pace-multiplier",
    gym.Multiplier(choices=(0.5, 1, 2)),
    gym.Window(choices=(5, 50)),
    gym.Pace(choices=("1 Mbps", "8 Mbps")),
]


@pytest.mark.parametrize("action", ACTIONS, ids=str)
@pytest.mark.filterwarnings("ignore:.*symmetric and normalized")
def test_gymnasiums_checker_accepts_every_kind_of_action(action: str | gym.Action) -> None:
    made = gymnasium.make(
        "vazao/Flow-v0", action=action, step="10 ms", until="1 s", vary={"network.link.loss": [0, 0.01]}
    )
    check_env(made.unwrapped)


def test_observations_can_be_any_numbers_over_scales_with_a_history() -> None:
    env = gym.Env(NETWORK, [vz.flow(vz.upload())], until="1 s", observe={"throughput_bps": 1e7, "srtt_s": 1}, history=3)
    first, _ = env.reset(seed=1)
    assert first.shape == (6,)
    assert first.dtype == np.float32
    for _ in range(10):
        last = env.step(np.zeros(1, np.float32))
    steps = last[0].reshape(3, 2)
    step = last[4]["step"]
    assert steps[2] == pytest.approx([step.throughput_bps / 1e7, step.srtt_s], rel=1e-6)
    assert env.observation_space.contains(last[0])


def test_the_numbers_of_a_step_are_the_engines() -> None:
    assert list(gym.Step._fields) == _core.Session.FIELDS


def test_the_same_seed_and_actions_are_the_same_episode(scenario: Path) -> None:
    vary = {"network.bottleneck.rate": "5 Mbps:20 Mbps", "network.bottleneck.queue": ["0.5 bdp", "2 bdp"]}
    env, other = (gym.Env(scenario, step="10 ms", vary=vary) for _ in range(2))
    first = played(env, 3)
    assert same(played(env, 3), first)
    assert same(played(other, 3), first)
    assert not same(played(env, None), first)
    assert not same(played(env, 4), first)


def test_what_varies_is_told_and_is_within_its_limits(scenario: Path) -> None:
    vary = {
        "network.bottleneck.rate": gym.log_uniform("1 Mbps", "100 Mbps"),
        "network.bottleneck.loss": "0:0.02",
        "flow.1.transport.cc": ["reno", "bbr"],
        "network.bottleneck.delay": lambda random: f"{random.integers(5, 9)} ms",
    }
    env = gym.Env(scenario, vary=vary)
    drawn = [env.reset(seed=seed)[1]["vary"] for seed in range(60)]
    rates = [float(each["network.bottleneck.rate"].removesuffix(" bps")) for each in drawn]
    assert 1e6 <= min(rates) < 1e7 < max(rates) <= 1e8
    # Half of the orders of magnitude lie below 10 Mbit/s: 60 draws are within three deviations of 30.
    assert 18 <= sum(rate < 1e7 for rate in rates) <= 42
    assert all(0 <= each["network.bottleneck.loss"] <= 0.02 for each in drawn)
    assert {each["flow.1.transport.cc"] for each in drawn} == {"reno", "bbr"}
    assert {each["network.bottleneck.delay"] for each in drawn} == {"5 ms", "6 ms", "7 ms", "8 ms"}


def test_options_fix_the_seed_and_keys(scenario: Path) -> None:
    env = gym.Env(scenario, vary={"network.bottleneck.loss": "0:0.02"})
    _, info = env.reset(options={"seed": 5, "set": {"network.bottleneck.loss": 0.01}})
    assert info["seed"] == 5
    assert info["vary"] == {"network.bottleneck.loss": 0.01}
    assert env.result().scenario.seed == 5
    with pytest.raises(ScenarioError, match='there are "seed" and "set"'):
        env.reset(options={"sede": 5})


def test_an_episode_without_actions_is_a_run(scenario: Path) -> None:
    """A multiplier of 2 ** 0 leaves the window alone: the tables equal those of a plain run, except the wall clock."""
    env = gym.Env(scenario, step="7 ms", action=gym.Multiplier())
    env.reset(options={"seed": 3})
    done = False
    while not done:
        _, _, terminated, truncated, _ = env.step(np.zeros(1, np.float32))
        done = terminated or truncated
    result = env.result()
    text = TOML.replace('cc = "cubic"', 'cc = "Agent"', 1)
    whole = _core.run(
        _core.load(text, seed=3, plugins=[("cc", "Agent", gym.Agent, vz.scenario.fingerprint(gym.Agent))])
    )
    from polars import DataFrame

    for name in ("flows", "paths", "links"):
        expected = DataFrame(whole.table(name))
        assert getattr(result, name).to_dicts() == expected.to_dicts(), name
    drop = ("wall_s",)
    assert result.runs.drop(drop).to_dicts() == DataFrame(whole.table("runs")).drop(drop).to_dicts()
    assert "actions" not in json.loads(result.scenario.json)


def test_actions_are_part_of_a_runs_identity() -> None:
    env = gym.Env(NETWORK, [vz.flow(vz.upload())], until="2 s", step="100 ms", action="window")
    ids = []
    for window in (10.0, 10.0, 20.0):
        env.reset(seed=1)
        for _ in range(5):
            env.step([window])
        result = env.result()
        ids.append(result.runs["run_id"][0])
        assert result.scenario.run_id == ids[-1]
        assert pickle.loads(pickle.dumps(result)).scenario.run_id == ids[-1]
    # Ten packets are the initial window anyway.
    assert ids[0] == ids[1] != ids[2]
    assert "actions" in json.loads(result.scenario.json)


def test_asking_for_a_result_changes_nothing() -> None:
    env = gym.Env(NETWORK, [vz.flow(vz.upload())], until="2 s", step="20 ms")
    plain = played(env, 1)
    env.reset(seed=1)
    random = np.random.default_rng(7)
    for expected in plain[1:]:
        env.result()
        assert same([env.step(np.array([random.uniform(-1, 1)], np.float32))], [expected])


def test_a_window_below_the_pipe_gives_its_rate() -> None:
    """Half a bandwidth-delay product in flight gives half the rate and no queue: Little's law."""
    env = gym.Env(NETWORK, [vz.flow(vz.upload())], until="6 s", step="100 ms", action="window", reward="throughput")
    env.reset(seed=1)
    for _ in range(20):
        _, reward, *_, info = env.step([20])
    step = info["step"]
    assert step.latency_ratio == pytest.approx(1, abs=0.05)
    # Delayed acknowledgements leave one of the 20 packets unused now and then.
    assert reward == pytest.approx(20 * 1448 * 8 / step.rtt_s / 1e6, rel=0.06)
    assert step.loss_rate == 0


def test_a_pacing_rate_is_the_rate_that_arrives() -> None:
    env = gym.Env(NETWORK, [vz.flow(vz.upload())], until="6 s", step="100 ms", action="pace")
    env.reset(seed=1)
    means = []
    for _ in range(40):
        *_, info = env.step([5.0])
        means.append(info["step"].throughput_bps)
    assert np.mean(means[20:]) == pytest.approx(5e6, rel=0.05)


def test_rewards_are_their_formulas() -> None:
    quiet = dict.fromkeys(gym.Step._fields, 0.0) | {"mss_bytes": 1250.0, "latency_ratio": 2.0, "rtt_s": 0.1}
    step = gym.Step(**quiet | {"throughput_bps": 8e6, "sent_bps": 10e6, "loss_rate": 0.2, "rtt_gradient": 0.01})
    assert gym.throughput(step) == 8
    assert gym.power(step) == 4
    # 800 packets a second, 100 ms, 20 %: 8000 - 100 - 400, in thousands.
    assert gym.aurora(step) == pytest.approx(7.5)
    assert gym.vivace(step) == pytest.approx(10**0.9 - 900 * 10 * 0.01 - 11.35 * 10 * 0.2)
    # Far beyond the threshold only the loss term is left.
    assert gym.allegro(step) == pytest.approx(-2, abs=1e-4)
    clean = step._replace(loss_rate=0.0)
    assert gym.allegro(clean) == pytest.approx(10 / (1 + np.exp(-5)))


def test_a_reward_of_ones_own() -> None:
    env = gym.Env(until="1 s", reward=lambda step: -step.srtt_s)
    env.reset(seed=1)
    for _ in range(5):
        _, reward, *_, info = env.step([0.0])
    assert reward == -info["step"].srtt_s < 0


def test_an_episode_terminates_with_its_flow_and_is_truncated_by_time(scenario: Path) -> None:
    env = gym.Env(NETWORK, [vz.flow(vz.upload("100 kB"))], step="1 rtt", action="window")
    env.reset(seed=1)
    ends = (False, False)
    while ends == (False, False):
        *_, terminated, truncated, _ = env.step([50])
        ends = (terminated, truncated)
    assert ends == (True, False)
    assert env.result().flows["completed"].to_list() == [True]
    with pytest.raises(ResetNeeded):
        env.step([50])
    env = gym.Env(scenario, agent=0, step="1 s")
    env.reset(seed=1)
    ends = [env.step([0.0])[2:4] for _ in range(4)]
    assert ends == [(False, False)] * 3 + [(False, True)]


def test_several_agents_act_each_on_a_flow(scenario: Path) -> None:
    env = gym.MultiEnv(scenario, agents=[0, 1], step="20 ms", action="window")
    assert env.possible_agents == ["flow_0", "flow_1"]
    seen, infos = env.reset(seed=1)
    assert set(seen) == set(infos) == set(env.agents) == {"flow_0", "flow_1"}
    alone = None
    while env.agents:
        actions = {name: np.array([10.0 if name == "flow_0" else 30.0]) for name in env.agents}
        _, rewards, terminated, truncated, infos = env.step(actions)
        assert set(rewards) == set(actions)
        if terminated.get("flow_1"):
            alone = infos["flow_0"]["step"].time_s
            assert env.agents == ["flow_0"]
    assert truncated == {"flow_0": True}
    flows = env.result().flows
    assert alone is not None
    assert flows["completed"].to_list()[1]
    with pytest.raises(ResetNeeded):
        env.step({})
    env.reset(seed=1)
    with pytest.raises(ScenarioError, match="there is none of 'flow_1'"):
        env.step({"flow_0": [1.0]})


def test_agents_of_one_table_are_its_flows() -> None:
    env = gym.MultiEnv(NETWORK, [vz.flow(vz.upload(), count=3)], until="1 s", agents=[0])
    assert env.possible_agents == ["flow_0", "flow_1", "flow_2"]
    with pytest.raises(ScenarioError, match="its table makes 3 flows"):
        gym.Env(NETWORK, [vz.flow(vz.upload(), count=3)], until="1 s").reset(seed=1)


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"step": "10"}, "step: '10'; write a time"),
    ({"step": "0 rtt"}, "step: '0 rtt'"),
    ({"observe": ["srt_s"]}, "observe: there is no 'srt_s'; did you mean 'srtt_s'"),
    ({"observe": []}, "observe: nothing is named"),
    ({"observe": {"srtt_s": 0}}, "observe: srtt_s over 0"),
    ({"history": 0}, "history: 0 steps"),
    ({"reward": "powr"}, "reward: there is no 'powr'; did you mean 'power'"),
    ({"action": "windw"}, "action: there is no 'windw'; did you mean 'window'"),
    ({"agent": 4}, "flow.4"),
    ({"vary": {"network.link.rat": "1 Mbps:2 Mbps"}}, "network.link.rat"),
    ({"vary": {"network.link.rate": "1 Mbps"}}, "write FROM:TO"),
    ({"vary": {"network.link.rate": "1 Mbps:2 ms"}}, "of one unit"),
    ({"vary": {"network.link.rate": "1 Mbs:2 Mbps"}}, "'1 Mbs' is no number and no quantity"),
    ({"vary": {"network.link.rate": 3}}, "vary: network.link.rate: 3"),
    ({"vary": {"network.link.loss": [0, 2]}}, "vary: network.link.loss = 2"),
    ({"until": "soon"}, "until"),
]


@pytest.mark.parametrize(("options", "problem"), WRONG)
def test_what_makes_no_sense_is_refused_at_once(options: dict[str, Any], problem: str) -> None:
    with pytest.raises(vz.VazaoError) as error:
        gym.Env(**options).reset(seed=1)
    assert problem in str(error.value)


@pytest.mark.parametrize("action", [[float("nan")], [], "up", None])
def test_a_wrong_action_is_refused_and_changes_nothing(action: Any) -> None:
    env = gym.Env(until="1 s", step="10 ms")
    env.reset(seed=1)
    before = env.result().runs["sim_s"][0]
    with pytest.raises(ScenarioError, match="action"):
        env.step(action)
    assert env.result().runs["sim_s"][0] == before
    discrete = gym.Env(until="1 s", action=gym.Window(choices=(5, 50)))
    discrete.reset(seed=1)
    with pytest.raises(ScenarioError, match="a whole number from 0 to 1"):
        discrete.step(-1)


@pytest.mark.parametrize(
    ("flow", "problem"),
    [
        (vz.flow(vz.upload(), vz.udp(rate="1 Mbps")), "cc"),
        (vz.flow(vz.upload(), vz.sctp()), "agents are for tcp, dccp, quic"),
        (vz.flow(vz.page(4)), "a page's connections"),
    ],
)
def test_a_flow_that_cannot_be_steered_is_refused(flow: vz.Flow, problem: str) -> None:
    with pytest.raises(vz.VazaoError, match=problem):
        gym.Env(NETWORK, [flow], until="1 s").reset(seed=1)


def test_several_paths_are_refused() -> None:
    network = vz.multipath(vz.link("1 Mbps", "5 ms", queue="1 bdp"), vz.link("1 Mbps", "5 ms", queue="1 bdp"))
    with pytest.raises(ScenarioError, match="several paths"):
        gym.Env(network, [vz.flow(vz.upload(), vz.quic(multipath=True))], until="1 s").reset(seed=1)


def test_another_threads_episode_is_refused() -> None:
    env = gym.Env(until="1 s")
    env.reset(seed=1)
    caught: list[BaseException] = []

    def step() -> None:
        try:
            env.step([0.0])
        except RunError as error:
            caught.append(error)

    thread = threading.Thread(target=step)
    thread.start()
    thread.join()
    assert "call reset() in this one" in str(caught[0])


def test_a_strangers_algorithm_is_not_run_unasked(scenario: Path) -> None:
    (scenario.parent / "mine.py").write_text(
        "import vazao as vz\nclass Mine(vz.CongestionControl): pass\nraise SystemExit\n"
    )
    scenario.write_text(TOML.replace('{ kind = "quic", cc = "cubic" }', '{ kind = "tcp", cc = "mine.py:Mine" }'))
    with pytest.raises(ScenarioError, match="Python code, which can do all that you can"):
        gym.Env(scenario)


def test_an_error_in_a_users_own_algorithm_ends_the_episode() -> None:
    class Broken(vz.CongestionControl):
        def on_ack(self, ack: Any) -> None:
            raise ZeroDivisionError("on purpose")

    flows = [vz.flow(vz.upload()), vz.flow(vz.upload(), vz.tcp(cc=Broken), start="500 ms")]
    env = gym.Env(NETWORK, flows, until="2 s", step="100 ms")
    env.reset(seed=1)
    for _ in range(5):
        env.step([0.0])
    with pytest.raises(RunError, match=r"flow 1, 0\.\d+ s: .*on purpose"):
        env.step([0.0])
    with pytest.raises(RunError, match="on purpose"):
        env.step([0.0])


def test_a_long_step_can_be_interrupted(tmp_path: Path) -> None:
    """Ctrl-C interrupts a step of a million simulated seconds within a second."""
    program = (
        "import _thread, threading, vazao as vz\n"
        "env = vz.gym.Env(step='1000000 s', until='900000 s')\n"
        "env.reset(seed=1)\n"
        "threading.Timer(1, _thread.interrupt_main).start()\n"
        "try:\n    env.step([1.0])\nexcept KeyboardInterrupt:\n    print('interrupted')\n"
    )
    started = time.monotonic()
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "interrupted", done.stderr
    assert time.monotonic() - started < 30


def test_resets_take_less_than_five_milliseconds(scenario: Path) -> None:
    env = gym.Env(scenario, vary={"network.bottleneck.rate": "5 Mbps:20 Mbps"})
    spans = []
    for seed in range(50):
        started = time.perf_counter()
        env.reset(seed=seed)
        spans.append(time.perf_counter() - started)
    # The minimum: other processes share the machine.
    assert min(spans) < 0.005


def test_wrappers_and_vectors_of_gymnasium_take_it() -> None:
    scaled = RescaleAction(gym.Env(until="1 s", action="window"), np.float32(-1), np.float32(1))
    scaled.reset(seed=1)
    *_, info = scaled.step(np.zeros(1, np.float32))
    assert info["step"].cwnd_bytes == pytest.approx(501 * 1448)
    vector = gymnasium.make_vec("vazao/Flow-v0", num_envs=3, vectorization_mode="sync", until="1 s")
    seen, _ = vector.reset(seed=1)
    assert seen.shape == (3, 30)
    vector.step(vector.action_space.sample())


def test_without_gymnasium_it_says_how_to_get_it() -> None:
    program = "import sys; sys.modules['gymnasium'] = None\nimport importlib.util as u\nf = u.find_spec\n"
    program += "u.find_spec = lambda n, *r: None if n == 'gymnasium' else f(n, *r)\nimport vazao.gym"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert "pip install 'vazao[gym]'" in done.stderr
