"""Rewards: functions of a step's numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from vazao.errors import ScenarioError, did_you_mean
from vazao.gym.step import Step

Reward = Callable[[Step], float]
"""A function from a step to a number."""


def throughput(step: Step) -> float:
    """Throughput in Mbit/s."""
    return step.throughput_bps / 1e6


def power(step: Step) -> float:
    """Throughput in Mbit/s over the round-trip time relative to its minimum (Kleinrock's power)."""
    return step.throughput_bps / 1e6 / step.latency_ratio


def aurora(step: Step) -> float:
    """Utility of Aurora in thousands: 10 · packets/s - 1000 · latency in s - 2000 · loss (Jay et al., ICML 2019)."""
    packets = step.throughput_bps / (8 * step.mss_bytes)
    return 0.01 * packets - step.rtt_s - 2.0 * step.loss_rate


def vivace(step: Step) -> float:
    """Utility of PCC Vivace: x^0.9 - 900 · x · dRTT/dt - 11.35 · x · loss, x Mbit/s sent (Dong et al., NSDI 2018)."""
    sent = step.sent_bps / 1e6
    return math.pow(sent, 0.9) - 900.0 * sent * step.rtt_gradient - 11.35 * sent * step.loss_rate


def allegro(step: Step) -> float:
    """Utility of PCC Allegro, a cliff at 5 % of loss: T · sigmoid(loss - 0.05) - x · loss (Dong et al., NSDI 2015)."""
    sent = step.sent_bps / 1e6
    cliff = 1.0 / (1.0 + math.exp(min(100.0 * (step.loss_rate - 0.05), 100.0)))
    return sent * (1.0 - step.loss_rate) * cliff - sent * step.loss_rate


REWARDS: Mapping[str, Reward] = {reward.__name__: reward for reward in (throughput, power, aurora, vivace, allegro)}
"""Rewards by name."""


def reward_of(given: str | Reward) -> Reward:
    """Look up a reward by name; a function is returned as it is. Raises `ScenarioError`."""
    if callable(given):
        return given
    if given not in REWARDS:
        raise ScenarioError(f"reward: there is no {given!r}{did_you_mean(str(given), REWARDS)}")
    return REWARDS[given]
