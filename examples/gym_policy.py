"""A congestion control that is learned: a small network, trained by CMA-ES in minutes on one core.

pip install 'vazao[gym]' cma
python examples/gym_policy.py [--generations N] [--figure FILE.svg]

Worlds are drawn anew for each generation: rate, delay, queue and loss. The policy, of 57 weights, sees three numbers of
the last two steps and multiplies the window. It is then compared with built-in controls in worlds that it has not seen,
all with the same losses. CMA-ES needs numpy alone and no gradients; libraries of reinforcement learning, which need
gigabytes for theirs, take the same environment.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Sequence

import cma
import numpy as np
import polars as pl
from numpy.typing import NDArray

import vazao as vz
from vazao import gym
from vazao.statistics import t_interval

Weights = NDArray[np.float64]

SEEN = {"latency_ratio": 1.0, "loss_rate": 0.1, "send_ratio": 1.0}
HISTORY = 2
HIDDEN = 7
INPUTS = len(SEEN) * HISTORY
SIZE = (INPUTS + 1) * HIDDEN + HIDDEN + 1

VARY = {
    "network.link.rate": gym.log_uniform("2 Mbps", "50 Mbps"),
    "network.link.delay": gym.uniform("5 ms", "50 ms"),
    "network.link.queue": ["0.5 bdp", "1 bdp", "4 bdp"],
    "network.link.loss": [0, 0, 0.01],
}
LENGTH = "10 s"
EPISODES, POPULATION = 6, 14
RIVALS = ("cubic", "reno", "vegas", "bbr", "copa")
APART, UNSEEN = range(9_001, 9_017), range(10_001, 10_041)
"""Seeds of the worlds for the curve of learning, and for the comparison."""


def log_power(step: gym.Step) -> float:
    """Logarithm of throughput over delay: twice the throughput is worth twice the delay, in any world."""
    return math.log(max(step.throughput_bps / 1e6, 0.01)) - math.log(step.latency_ratio)


def act(weights: Weights, seen: NDArray[np.float32]) -> list[float]:
    """What the network answers: one hidden layer, and a number from -1 to 1."""
    first = weights[: (INPUTS + 1) * HIDDEN].reshape(HIDDEN, INPUTS + 1)
    last = weights[(INPUTS + 1) * HIDDEN :]
    hidden = np.tanh(first[:, :-1] @ (seen - 1.0) + first[:, -1])
    return [math.tanh(float(last[:-1] @ hidden + last[-1]))]


def environment() -> gym.Env:
    """One flow in a world that is another one each time; the window changes by at most 1.5 a round trip."""
    return gym.Env(
        vz.point_to_point(vz.link("10 Mbps", "20 ms", queue="1 bdp")),
        [vz.flow(vz.upload(), vz.tcp())],
        until=LENGTH,
        step="1 rtt",
        observe=SEEN,
        history=HISTORY,
        reward=log_power,
        action=gym.Multiplier(most=1.5),
        vary=VARY,
    )


def play(env: gym.Env, weights: Weights, seed: int) -> tuple[float, dict[str, object]]:
    """Play an episode; gives the mean reward, weighted by time, and what was drawn."""
    seen, info = env.reset(seed=seed)
    total = spent = 0.0
    done = False
    while not done:
        seen, reward, terminated, truncated, now = env.step(act(weights, seen))
        total += float(reward) * now["step"].duration_s
        spent += now["step"].duration_s
        done = terminated or truncated
    return total / spent, info


def train(generations: int) -> tuple[Weights, list[tuple[int, float]]]:
    """Train; gives the weights, and the reward in worlds apart, before and after each generation."""
    env = environment()
    search = cma.CMAEvolutionStrategy(np.zeros(SIZE), 0.3, {"popsize": POPULATION, "seed": 1, "verbose": -9})

    def apart() -> float:
        return float(np.mean([play(env, search.mean, seed)[0] for seed in APART]))

    curve = [(0, apart())]
    for generation in range(1, generations + 1):
        seeds = [100 * generation + n for n in range(EPISODES)]
        candidates = search.ask()
        search.tell(candidates, [-float(np.mean([play(env, each, seed)[0] for seed in seeds])) for each in candidates])
        curve.append((generation, apart()))
    return search.mean, curve


def scores(result: vz.Result, rate_bps: float, base_rtt_s: float) -> tuple[float, float, float]:
    """Share of the rate, delay over the least possible one, and the logarithm of one over the other."""
    flow = result.flows.row(0, named=True)
    share, delay = flow["goodput_bps"] / rate_bps, flow["rtt_mean_s"] / base_rtt_s
    return share, delay, math.log(max(share, 1e-3)) - math.log(delay)


def compare(weights: Weights) -> pl.DataFrame:
    """The policy and its rivals in worlds that none was trained in."""
    env = environment()
    rows = []
    for seed in UNSEEN:
        _, info = play(env, weights, seed)
        drawn = info["vary"]
        assert isinstance(drawn, dict)
        link = {key.rpartition(".")[2]: value for key, value in drawn.items()}
        rate, delay = float(link["rate"].removesuffix(" bps")), float(link["delay"].removesuffix(" ns")) / 1e9
        results = {"learned": env.result()}
        for cc in RIVALS:
            flow = vz.flow(vz.upload(), vz.tcp(cc=cc))
            results[cc] = vz.run(vz.point_to_point(vz.link(**link)), [flow], seed=int(str(info["seed"])), until=LENGTH)
        rows += [(name, seed, *scores(result, rate, 2 * delay)) for name, result in results.items()]
    return pl.DataFrame(rows, ["control", "world", "share", "delay", "log power"], orient="row")


def table(rows: pl.DataFrame) -> str:
    """Means over worlds, with half of the 95 % interval of each."""
    lines = [f"{'control':>8}  {'share of the rate':>18}  {'delay / least':>15}  {'log power':>16}"]
    for name in ("learned", *RIVALS):
        own = rows.filter(pl.col("control") == name)
        cells = []
        for measure in ("share", "delay", "log power"):
            interval = t_interval(own[measure].to_list())
            cells.append(f"{interval.mean:.3f} ± {interval.half:.3f}")
        lines.append(f"{name:>8}  {cells[0]:>18}  {cells[1]:>15}  {cells[2]:>16}")
    return "\n".join(lines)


def draw(curve: Sequence[tuple[int, float]], file: str) -> None:
    """Draw what was learned, generation by generation."""
    import altair as alt

    frame = pl.DataFrame(curve, ["generation", "reward"], orient="row")
    alt.Chart(frame, title=f"Reward in {len(APART)} worlds that it was not trained in").mark_line().encode(
        alt.X("generation:Q", title="Generation"),
        alt.Y("reward:Q", title="Mean log power", scale=alt.Scale(zero=False)),
    ).properties(width=480, height=240).save(file)


def main(arguments: Sequence[str]) -> None:
    """Train, compare and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--generations", type=int, default=40)
    parser.add_argument("--figure", help="an SVG or PNG of the learning curve")
    given = parser.parse_args(arguments)
    started = time.perf_counter()
    weights, curve = train(given.generations)
    episodes = given.generations * POPULATION * EPISODES
    print(f"{given.generations} generations, {episodes} episodes of {LENGTH}: {time.perf_counter() - started:.0f} s")
    if given.figure:
        draw(curve, given.figure)
    print(table(compare(weights)))


if __name__ == "__main__":
    main(sys.argv[1:])
