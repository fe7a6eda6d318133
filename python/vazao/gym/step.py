"""Measurements of a step of an episode, and the observations built from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from gymnasium.spaces import Box
from numpy.typing import NDArray

from vazao.errors import ScenarioError, did_you_mean


class Step(NamedTuple):
    """A step as seen by its sender. Values not measured yet are 0 (`latency_ratio` and `send_ratio`: 1)."""

    time_s: float
    """Simulated time at the end of the step."""
    duration_s: float
    """Length of the step."""
    cwnd_bytes: float
    """Congestion window."""
    pacing_bps: float
    """Pacing rate; 0 if only the window limits sending."""
    mss_bytes: float
    """Payload of a full packet."""
    inflight_bytes: float
    """Bytes sent and not cumulatively acknowledged."""
    latest_rtt_s: float
    """Latest round-trip time."""
    srtt_s: float
    """Smoothed round-trip time (RFC 6298)."""
    min_rtt_s: float
    """Minimum round-trip time so far."""
    rtt_s: float
    """Mean of the round-trip times measured in the step, or else in the latest step that has any."""
    rtt_gradient: float
    """Change of `rtt_s` from the step before, over the length of the step."""
    latency_ratio: float
    """`rtt_s` over `min_rtt_s`."""
    delivery_bps: float
    """Latest sample of the delivery rate (draft-cheng-iccrg-delivery-rate-estimation)."""
    throughput_bps: float
    """Rate of payload that became known to have arrived, in or out of order."""
    goodput_bps: float
    """Rate of payload that was acknowledged in order."""
    sent_bps: float
    """Sending rate, with retransmissions, and with each packet counted as a full one."""
    send_ratio: float
    """Bytes sent over bytes that became known to have arrived; 1 if none did."""
    loss_rate: float
    """Fraction that was lost of the bytes whose fate became known in the step."""
    mark_rate: float
    """Fraction of the bytes that arrived with a congestion mark (ECN)."""
    timeouts: float
    """Expiries of the retransmission timer."""


AURORA = ("send_ratio", "latency_ratio", "rtt_gradient")
"""Numbers that Aurora's agent observes (Jay et al., ICML 2019)."""

_MOST = float(np.finfo(np.float32).max)


class Observer:
    """Builder of observations: selected numbers of the last steps, oldest first, each divided by its scale."""

    def __init__(self, names: Sequence[str] | Mapping[str, float], history: int) -> None:
        scales = (
            dict(names)
            if isinstance(names, Mapping)
            else dict.fromkeys([names] if isinstance(names, str) else names, 1)
        )
        for name, scale in scales.items():
            if name not in Step._fields:
                raise ScenarioError(f"observe: there is no {name!r}{did_you_mean(name, Step._fields)}")
            if not scale > 0:
                raise ScenarioError(f"observe: {name} over {scale}; a scale is a number above zero")
        if not scales:
            raise ScenarioError(f"observe: nothing is named; there are {', '.join(Step._fields)}")
        if not 1 <= history <= MAX_STEPS:
            raise ScenarioError(f"history: {history} steps; give 1 to {MAX_STEPS}")
        self._shown = [(Step._fields.index(name), 1.0 / scale) for name, scale in scales.items()]
        self._values: list[float] = []
        self._count = len(scales) * history
        signed = [name == "rtt_gradient" for name in scales] * history
        low = np.where(signed, -_MOST, 0.0).astype(np.float32)
        self.space = Box(low, np.full(self._count, _MOST, np.float32), dtype=np.float32)

    def first(self, step: Step) -> NDArray[np.float32]:
        """The observation at the start of an episode, with a history of copies of the first step."""
        self._values = [step[index] * scale for index, scale in self._shown] * (self._count // len(self._shown))
        return np.array(self._values, np.float32)

    def next(self, step: Step) -> NDArray[np.float32]:
        """The observation after a step."""
        now = [step[index] * scale for index, scale in self._shown]
        self._values = self._values[len(now) :] + now
        return np.array(self._values, np.float32)


MAX_STEPS = 1000
"""Maximum number of steps in an observation."""
