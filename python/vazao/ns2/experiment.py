"""Experiments in the form that ns-2 can run: typed numbers and a fixed vocabulary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

LARGEST = 2**31 - 1
"""The largest whole number that ns-2's variables and its generators' seeds take."""


class Word(Enum):
    """A word that a script may contain besides numbers: a procedure, or a name that ns-2 defines."""

    HOSTS = "hosts"
    WAY = "way"
    LOSE = "lose"
    FLOW = "flow"
    ASSOCIATION = "association"
    WINDOWS = "windows"
    GO = "go"

    TAHOE = "Agent/TCP"
    RENO = "Agent/TCP/Reno"
    NEWRENO = "Agent/TCP/Newreno"
    SACK = "Agent/TCP/Sack1"
    VEGAS = "Agent/TCP/Vegas"
    LINUX = "Agent/TCP/Linux"
    SINK = "Agent/TCPSink"
    SACK_SINK = "Agent/TCPSink/Sack1"

    MODULE_SCALABLE = "scalable"
    MODULE_WESTWOOD = "westwood"

    PACKET_SIZE = "packetSize_"
    WINDOW = "window_"
    WINDOW_INIT = "windowInit_"
    INITIAL_RTO = "rtxcur_init_"
    MIN_RTO = "minrto_"
    MAX_RTO = "maxrto_"
    TICK = "tcpTick_"
    LIMITED_TRANSMIT = "singledup_"
    WINDOW_OPTION = "windowOption_"
    LOW_WINDOW = "low_window_"
    HIGH_WINDOW = "high_window_"
    HIGH_P = "high_p_"
    HIGH_DECREASE = "high_decrease_"
    MAX_SSTHRESH = "max_ssthresh_"
    ALPHA = "v_alpha_"
    BETA = "v_beta_"
    GAMMA = "v_gamma_"
    TIMESTAMPS = "timestamps_"
    TIMESTAMP_SIZE = "ts_option_size_"

    SCTP = "Agent/SCTP"
    CMT = "Agent/SCTP/CMT"

    INITIAL_CWND = "initialCwnd_"
    INITIAL_SSTHRESH = "initialSsthresh_"
    INITIAL_RWND = "initialRwnd_"
    INITIAL_SWND = "initialSwnd_"
    SCTP_INITIAL_RTO = "initialRto_"
    SCTP_MIN_RTO = "minRto_"
    SCTP_MAX_RTO = "maxRto_"
    FAST_RTX_TRIGGER = "fastRtxTrigger_"
    DELAYED_SACKS = "useDelayedSacks_"
    SACK_DELAY = "sackDelay_"
    MAX_BURST = "useMaxBurst_"
    NR_SACK = "useNonRenegSacks_"
    HEARTBEAT = "heartbeatInterval_"
    PATH_RETRIES = "pathMaxRetrans_"
    RETRIES = "associationMaxRetrans_"
    INIT_RETRIES = "maxInitRetransmits_"
    RTX_TO_ALT = "rtxToAlt_"
    CMT_REORDERING = "useCmtReordering_"
    CMT_CWND = "useCmtCwnd_"
    CMT_DEL_ACK = "useCmtDelAck_"
    CMT_RTX_POLICY = "eCmtRtxPolicy_"
    CMT_PF = "useCmtPF_"


Settings = tuple[tuple[Word, float], ...]
"""Variables of ns-2 with their values."""


@dataclass(frozen=True)
class Loss:
    """Losses of a direction of a link, on the wire."""

    rate: float
    packets: tuple[int, ...]
    """Lost packets, counted from 1; if empty, each packet is lost with probability `rate`."""
    seed: int


@dataclass(frozen=True)
class Way:
    """One direction of a link."""

    link: str
    direction: str
    source: int
    target: int
    rate_bps: float
    delay_s: float
    waiting: int
    """Packets that its queue holds besides the one being sent."""
    loss: Loss | None = None


@dataclass(frozen=True)
class Agent:
    """The sender and receiver that play a flow."""

    kind: Word
    sink: Word
    module: Word | None
    """Congestion control of `Agent/TCP/Linux`."""
    settings: Settings


@dataclass(frozen=True)
class Connection:
    """A flow over TCP: its hosts by number, and the agent that plays it."""

    source: int
    target: int
    start_s: float
    mss: int
    agent: Agent
    says: Mapping[str, Any]
    """Columns of its rows that come from the scenario: `transport`, `cc`, `recovery`, `app`, `client`, `server`."""


@dataclass(frozen=True)
class Path:
    """A path of an association: link directions by number, out and back, and the loss rate given to the sender."""

    client: str
    server: str
    out: tuple[int, ...]
    back: tuple[int, ...]
    loss: float


@dataclass(frozen=True)
class Association:
    """A flow over SCTP: its paths, its data, and the agent that plays it."""

    paths: tuple[Path, ...]
    start_s: float
    size: int
    """Total bytes of data."""
    agent: Word
    settings: Settings
    says: Mapping[str, Any]
    """Columns of its rows that come from the scenario."""


@dataclass(frozen=True)
class Experiment:
    """A whole scenario for ns-2."""

    nodes: int
    ways: tuple[Way, ...]
    connections: tuple[Connection, ...]
    association: Association | None
    """A flow over SCTP, which must be the only flow of its run: there are no connections then."""
    until_s: float
    seed: int
    measures: tuple[str, ...]
    every_s: float | None


def route(ways: Sequence[Way], source: int, target: int) -> tuple[int, ...]:
    """Link directions by number from one node to another, unique in a tree; empty if there is no route."""
    reached: dict[int, tuple[int, ...]] = {source: ()}
    fresh = [source]
    while fresh:
        node = fresh.pop(0)
        for number, way in enumerate(ways):
            if way.source == node and way.target not in reached:
                reached[way.target] = (*reached[node], number)
                fresh.append(way.target)
    return reached.get(target, ())
