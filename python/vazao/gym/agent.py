"""Congestion control of an agent, which the environment steers."""

from __future__ import annotations

from functools import cache

from vazao.scenario import CongestionControl, fingerprint


class Agent(CongestionControl):
    """A control whose window and rate an environment sets: `vz.tcp(cc=vz.gym.Agent)`. A plain run changes neither."""

    steered = True


@cache
def own() -> tuple[str, str, type, str]:
    """The control as the engine takes it: its key and name in a scenario, itself, and the digest of its code."""
    return "cc", Agent.__name__, Agent, fingerprint(Agent)
