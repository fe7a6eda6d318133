"""Mapping of TCP settings to ns-2 agents and variables; settings outside the supported subset are rejected.

The tables below list everything that ns-2 supports. Every key of a resolved transport is checked, whether the user
wrote it or not: other keys are rejected, so that ns-2 never runs anything but the scenario.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from vazao.ns2.experiment import Agent, Settings, Word
from vazao.ns2.keys import Table, refuse

HEADER = 40
"""Bytes of IP and TCP headers of a packet."""

FINEST = 1e-6
"""Tick in seconds if the scenario's clock has no ticks: ns-2 counts round-trip times in whole ticks."""


MEASURES = ("cwnd", "ssthresh", "sequence")
"""Measures over time that can be traced with ns-2."""

AGENTS = {
    "tahoe": Word.TAHOE, "reno": Word.RENO, "newreno": Word.NEWRENO, "pipe": Word.SACK, "sack": Word.SACK,
}  # fmt: skip
"""Agents by loss recovery. The one with SACK estimates the data in flight as `pipe` does."""


@dataclass(frozen=True)
class Control:
    """A congestion control of ns-2."""

    recoveries: tuple[str, ...]
    profile: str
    adjustable: Mapping[str, tuple[Word, float | None]]
    """Adjustable parameters: the variable, and the value if the scenario leaves it to the profile."""
    fixed: Mapping[str, Any]
    """Parameters that are fixed in ns-2, and their values."""
    extra: Settings = ()
    module: Word | None = None
    slow_starts: tuple[str, ...] = ("standard",)


def _module(word: Word, **fixed: Any) -> Control:
    """A module of Linux 2.6 in `Agent/TCP/Linux`, which recovers by SACK and needs timestamps to measure finely."""
    extra = ((Word.TIMESTAMPS, 1), (Word.TIMESTAMP_SIZE, 0))
    return Control(("sack",), "linux", {}, fixed, extra, word)


_ANY = tuple(AGENTS)
_LIMITED = ("standard", "limited")

CONTROLS: Mapping[str, Control] = {
    "reno": Control(_ANY, "rfc", {}, {"abe": False}, ((Word.WINDOW_OPTION, 1),), slow_starts=_LIMITED),
    "highspeed": Control(
        _ANY,
        "rfc",
        {
            "low_window": (Word.LOW_WINDOW, None),
            "high_window": (Word.HIGH_WINDOW, None),
            "high_p": (Word.HIGH_P, None),
            "high_decrease": (Word.HIGH_DECREASE, None),
        },
        {},
        ((Word.WINDOW_OPTION, 8),),
        slow_starts=_LIMITED,
    ),
    "vegas": Control(
        ("reno",),
        "rfc",
        {"alpha": (Word.ALPHA, 1), "beta": (Word.BETA, 3), "gamma": (Word.GAMMA, None)},
        {},
    ),
    # Linux 2.6 assumes delayed acknowledgements: 1/50 where Kelly has 1/100, and Reno's growth up to a window of 50.
    "scalable": _module(Word.MODULE_SCALABLE, increase=0.02, decrease=0.125, legacy_window=50.0),
    "westwood-plus": _module(Word.MODULE_WESTWOOD, alpha=0.875, tick="1 ms"),
}
"""Congestion controls by name. Linux's Westwood is Westwood+."""

TOLD: Mapping[str, tuple[Word, str]] = {
    "initial_window": (Word.WINDOW_INIT, ""),
    "initial_rto": (Word.INITIAL_RTO, "s"),
    "min_rto": (Word.MIN_RTO, "s"),
    "max_rto": (Word.MAX_RTO, "s"),
    "limited_transmit": (Word.LIMITED_TRANSMIT, ""),
}
"""Keys of a transport that map to variables of ns-2, with their units."""

OTHERWISE: Mapping[str, str] = {"min_rto": "1 s"}
"""Values of keys that are derived from others, at the supported values of these."""

ONLY: Mapping[str, tuple[Any, ...]] = {
    "kind": ("tcp",),
    "abc_limit": (1,),
    "bursts": ("off",),
    "counting": ("bytes", "acks"),
    "cwv": ("auto",),
    "delayed_ack": (1,),
    "ecn": (False,),
    "fast_open": (False,),
    "frto": (False,),
    "host": ("auto", "rfc", "ns2"),
    "initial_ssthresh": ("auto",),
    "metrics": (False,),
    "nagle": (False,),
    "pacing": ("auto", "off"),
    "prr": (False,),
    "rtt": ("segments",),
    "sack": (True,),
    "sack_profile": ("rfc",),
    "send_buffer": ("auto",),
    "tcp_rmem": ("auto",),
    "tcp_wmem": ("auto",),
    "timestamps": (False,),
    "tls": ("none",),
    "undo": (False,),
}
"""Keys of a transport that are supported at these values only."""

IDLE = ("certificate", "cookie", "delayed_ack_timeout", "quick_acks", "retries", "tls_handshake")
"""Keys of a transport that have no effect at the supported values of the others."""


def agent(transport: Table) -> tuple[int, Agent]:
    """Payload of a packet in bytes, and the agent that plays a transport."""
    recovery = transport.take("recovery")
    cc = Table(transport.take("cc"), f"{transport.where}.cc")
    kind = cc.take("kind")
    if kind not in CONTROLS:
        refuse(cc.where, kind, ", ".join(CONTROLS))
    control = CONTROLS[kind]
    if recovery not in control.recoveries:
        refuse(f"{transport.where}.recovery", recovery, f"{', '.join(control.recoveries)} with cc = {kind!r}")
    settings = [*control.extra, *_of_control(cc, control), *_slow_start(transport, control)]
    mss = int(transport.take("mss"))
    # ns-2 adds no header to Vegas' packets: their whole size is set.
    settings.append((Word.PACKET_SIZE, mss + HEADER if kind == "vegas" else mss))
    settings.append((Word.WINDOW, int(transport.quantity("receive_buffer", "bytes")) // mss))
    settings.append((Word.TICK, transport.quantity("tick", "s") or FINEST))
    for key, (variable, unit) in TOLD.items():
        otherwise = OTHERWISE.get(key)
        settings.append((variable, transport.quantity(key, unit, otherwise) if unit else int(transport.take(key))))
    for key, accepted in ONLY.items():
        transport.only(key, *accepted)
    for key in IDLE:
        transport.take(key)
    transport.finish()
    word = Word.LINUX if control.module else Word.VEGAS if kind == "vegas" else AGENTS[recovery]
    sink = Word.SACK_SINK if recovery in ("pipe", "sack") else Word.SINK
    return mss, Agent(word, sink, control.module, tuple(settings))


def _of_control(cc: Table, control: Control) -> Settings:
    cc.only("profile", control.profile)
    for key, value in control.fixed.items():
        cc.only(key, value)
    settings = []
    for key, (variable, otherwise) in control.adjustable.items():
        value = cc.take(key, otherwise)
        settings.append((variable, value))
    cc.finish()
    return tuple(settings)


def _slow_start(transport: Table, control: Control) -> Settings:
    start = Table(transport.take("slow_start"), f"{transport.where}.slow_start")
    start.only("kind", *control.slow_starts)
    segments = start.take("max_ssthresh", 0)
    start.finish()
    return ((Word.MAX_SSTHRESH, int(segments)),)
