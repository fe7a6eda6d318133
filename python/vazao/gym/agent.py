"""Congestion control of an agent, which an environment steers."""

from __future__ import annotations

from functools import cache

from vazao.scenario import CongestionControl, fingerprint


class Agent(CongestionControl):
    """A control whose window and rate an environment sets: `vz.tcp(cc=vz.gym.Agent)`. A plain run changes neither."""

    steered = True


@cache
def own() -> tuple[str, str, type, str]:
    """`Agent` in the form that the engine accepts: its key and name in a scenario, the class, a digest of its code."""
    return "cc", Agent.__name__, Agent, fingerprint(Agent)
