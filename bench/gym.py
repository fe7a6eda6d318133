"""Speed of the environments: steps and simulated packets a second of one process, and the time of a reset.

.venv/bin/python bench/gym.py [--seconds S]

A step costs a few microseconds for Python and then what its packets cost, so that the length of a step and the rate
decide. Each line is the best of three trials: what other processes take is no property of the environment.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from statistics import median

import numpy as np

import vazao as vz
from vazao import gym

CASES = (
    ("10 Mbps", "1 ms"),
    ("10 Mbps", "10 ms"),
    ("10 Mbps", "1 rtt"),
    ("100 Mbps", "1 ms"),
    ("100 Mbps", "10 ms"),
)
"""Rate of the bottleneck and length of a step. The round trip is 40 ms."""

TRIALS = 3


def environment(rate: str, step: str) -> gym.Env:
    """Environment of one upload whose window is set, with Aurora's observation of ten steps and its reward."""
    network = vz.point_to_point(vz.link(rate, "20 ms", queue="1 bdp"))
    return gym.Env(network, [vz.flow(vz.upload(), vz.tcp())], until="60 s", step=step, action="window")


def steps_a_second(rate: str, step: str, seconds: float) -> tuple[float, float]:
    """Steps and packets per second, including resets, with a window that fills the path and half of the queue."""
    env = environment(rate, step)
    action = np.array([50 if rate == "10 Mbps" else 500], np.float32)
    steps, packets, started = 0, 0, time.perf_counter()
    while (spent := time.perf_counter() - started) < seconds:
        env.reset()
        done = False
        while not done and spent < seconds:
            for _ in range(200):
                *_, terminated, truncated, _ = env.step(action)
                steps += 1
                if done := terminated or truncated:
                    break
            spent = time.perf_counter() - started
        packets += int(env.result().links["packets"].sum())
    return steps / spent, packets / spent


def resets() -> list[float]:
    """Durations of resets in seconds, with two keys that vary."""
    vary = {"network.link.rate": "1 Mbps:100 Mbps", "network.link.loss": [0, 0.01]}
    env = gym.Env(vary=vary)
    spans = []
    for seed in range(300):
        started = time.perf_counter()
        env.reset(seed=seed)
        spans.append(time.perf_counter() - started)
    return spans


def main(arguments: Sequence[str]) -> None:
    """Measure and print the results."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=2.0, help="of each trial")
    seconds = parser.parse_args(arguments).seconds
    print(f"{'bottleneck':>10}  {'step':>6}  {'steps/s':>9}  {'packets/s':>9}")
    for rate, step in CASES:
        steps, packets = max(steps_a_second(rate, step, seconds) for _ in range(TRIALS))
        print(f"{rate:>10}  {step:>6}  {steps:>9,.0f}  {packets:>9,.0f}")
    spans = sorted(1e3 * span for span in resets())
    late = spans[len(spans) * 99 // 100]
    print(f"reset: {median(spans):.2f} ms (median of {len(spans)}), 99 % below {late:.2f} ms")


if __name__ == "__main__":
    main(sys.argv[1:])
