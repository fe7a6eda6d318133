"""A scenario as ns-2 can run it: typed numbers and words of its own, or a message on what it has no counterpart of.

The tables below say all that ns-2 can be told. Every key of a resolved scenario is looked at, whether the user wrote
it or not: what is left over is refused, so that ns-2 never runs anything else than the scenario says.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, NoReturn

from vazao import _core
from vazao.errors import ScenarioError
from vazao.units import parse

STACK = "ns2"
"""Name of the stack in scenarios."""

HEADER = 40
"""Bytes of IP and TCP headers of a packet."""

FINEST = 1e-6
"""Tick in seconds of a clock without ticks: ns-2 counts round-trip times in whole ones."""


class Word(Enum):
    """A word that a script may have beside numbers: a procedure, or a name of ns-2's own."""

    HOSTS = "hosts"
    WAY = "way"
    FLOW = "flow"
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


Settings = tuple[tuple[Word, float], ...]
"""Variables of ns-2 with their values."""


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
    """Packets that its queue holds beside the one that is sent."""


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
    """A flow: its hosts by number, and what plays it."""

    source: int
    target: int
    start_s: float
    mss: int
    agent: Agent
    says: Mapping[str, Any]
    """Columns of its rows that the scenario has: `transport`, `cc`, `recovery`, `app`, `client`, `server`."""


@dataclass(frozen=True)
class Experiment:
    """A whole scenario for ns-2."""

    nodes: int
    ways: tuple[Way, ...]
    connections: tuple[Connection, ...]
    until_s: float
    seed: int
    measures: tuple[str, ...]
    every_s: float | None


MEASURES = ("cwnd", "ssthresh", "sequence")
"""Measures over time that ns-2 is asked for."""

AGENTS = {
    "tahoe": Word.TAHOE, "reno": Word.RENO, "newreno": Word.NEWRENO, "pipe": Word.SACK, "sack": Word.SACK,
}  # fmt: skip
"""Agents by loss recovery. The one with SACK counts what is in the network as `pipe` does."""


@dataclass(frozen=True)
class Control:
    """A congestion control as ns-2 has it."""

    recoveries: tuple[str, ...]
    profile: str
    told: Mapping[str, tuple[Word, float | None]]
    """Parameters that it can be told: the variable, and the value where the scenario leaves it to the profile."""
    fixed: Mapping[str, Any]
    """Parameters that are as they are in ns-2."""
    extra: Settings = ()
    module: Word | None = None
    slow_starts: tuple[str, ...] = ("standard",)


def _module(word: Word, **fixed: Any) -> Control:
    """A module of Linux 2.6 in `Agent/TCP/Linux`, which repairs by SACK and needs timestamps to measure finely."""
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
    # Linux 2.6 counts on delayed acknowledgements: a fiftieth where Kelly has a hundredth, and Reno's growth up to 50.
    "scalable": _module(Word.MODULE_SCALABLE, increase=0.02, decrease=0.125, legacy_window=50.0),
    "westwood-plus": _module(Word.MODULE_WESTWOOD, alpha=0.875, tick="1 ms"),
}
"""Congestion controls by name. Linux's Westwood is what others call Westwood+."""

TOLD: Mapping[str, tuple[Word, str]] = {
    "initial_window": (Word.WINDOW_INIT, ""),
    "initial_rto": (Word.INITIAL_RTO, "s"),
    "min_rto": (Word.MIN_RTO, "s"),
    "max_rto": (Word.MAX_RTO, "s"),
    "limited_transmit": (Word.LIMITED_TRANSMIT, ""),
}
"""Keys of a transport that are variables of ns-2, with their unit."""

OTHERWISE: Mapping[str, str] = {"min_rto": "1 s"}
"""Values of keys that follow from others, where these are as ns-2 has them."""

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
"""Keys of a transport that have a counterpart at these values alone."""

IDLE = ("certificate", "cookie", "delayed_ack_timeout", "quick_acks", "retries", "tls_handshake")
"""Keys of a transport that say nothing where the others are as ns-2 has them."""


def plays(scenario: _core.Scenario) -> bool:
    """Whether ns-2 runs a scenario."""
    # The text of a resolved scenario may be long: it is parsed where it is one of ns-2's. In a text of the user's a
    # quotation mark would stand behind a backslash.
    return f'"simulator":{{"name":"{STACK}"' in scenario.json


def check(scenario: _core.Scenario, file: str = "") -> None:
    """See that ns-2 has a counterpart of all of a scenario, read from a file. Raises `ScenarioError`."""
    try:
        translate(scenario)
    except ScenarioError as error:
        _raise(error.key or "", error.value or "", error.problem or "", file)


def translate(scenario: _core.Scenario) -> Experiment:
    """The experiment of a scenario. Raises `ScenarioError` naming the first key that has no counterpart."""
    whole = _Table(json.loads(scenario.json), "")
    transports, network, trace = (whole.take(key) for key in ("transports", "network", "trace"))
    hosts = {node["name"]: number for number, node in enumerate(network["nodes"])}
    ways = tuple(way for link in network["links"] for way in _ways(_Table(link, f"network, {link['name']}"), hosts))
    if len(network["links"]) != len(hosts) - 1:
        _refuse("network", "links in circles", "a tree, in which two hosts have one way: path, dumbbell, parking-lot")
    flows = whole.take("flows")
    connections = tuple(_connection(_Table(flow, f"flow.{i}"), transports, hosts) for i, flow in enumerate(flows))
    every, measures = trace["every"], tuple(trace["measures"])
    if others := [name for name in measures if name not in MEASURES]:
        _refuse("trace", others[0], ", ".join(MEASURES))
    every_s = None if every is None else _quantity("trace.every", every, "s")
    until, seed = whole.quantity("until", "s"), whole.take("seed")
    whole.finish()
    return Experiment(len(hosts), ways, connections, until, seed, measures, every_s)


def _ways(link: _Table, hosts: Mapping[str, int]) -> list[Way]:
    name, source, target = link.take("name"), hosts[link.take("source")], hosts[link.take("target")]
    ways = []
    for direction, ends in (("forward", (source, target)), ("reverse", (target, source))):
        table = _Table(link.take(direction), f"{link.where}, {direction}")
        table.only("overhead", 0)
        table.only("loss", None)
        rate, delay = table.quantity("rate", "bps"), table.quantity("delay", "s")
        if (waiting := int(table.quantity("queue", "packets"))) < 1:
            _refuse(f"{table.where}.queue", "a queue without room", '"1 packet" or more')
        ways.append(Way(name, direction, *ends, rate, delay, waiting))
        table.finish()
    link.finish()
    return ways


def _connection(flow: _Table, transports: list[Any], hosts: Mapping[str, int]) -> Connection:
    transport = _Table(transports[flow.take("transport")], f"{flow.where}.transport")
    simulator = transport.take("simulator", {})
    if simulator.get("name") != STACK:
        _refuse(f"{flow.where}.transport.stack", "another", f'"{STACK}" for every flow of a run, or for none')
    app = _Table(flow.take("app"), f"{flow.where}.app")
    app.only("kind", "upload")
    app.finish()
    flow.take("streams")
    ends = [flow.take("client"), flow.take("server")]
    mss, agent = _agent(transport)
    said = {"transport": "tcp", "cc": transport.given["cc"]["kind"], "recovery": transport.given["recovery"]}
    said |= {"app": "upload", "client": ends[0], "server": ends[1]}
    # An end is a host, or an interface of one by its number: `left1.1`.
    source, target = (hosts[end if end in hosts else end.rpartition(".")[0]] for end in ends)
    start = flow.quantity("start", "s")
    flow.finish()
    return Connection(source, target, start, mss, agent, said)


def _agent(transport: _Table) -> tuple[int, Agent]:
    """Payload of a packet in bytes, and what plays a transport."""
    recovery = transport.take("recovery")
    cc = _Table(transport.take("cc"), f"{transport.where}.cc")
    kind = cc.take("kind")
    if kind not in CONTROLS:
        _refuse(cc.where, kind, ", ".join(CONTROLS))
    control = CONTROLS[kind]
    if recovery not in control.recoveries:
        _refuse(f"{transport.where}.recovery", recovery, f"{', '.join(control.recoveries)} with cc = {kind!r}")
    settings = [*control.extra, *_of_control(cc, control), *_slow_start(transport, control)]
    mss = int(transport.take("mss"))
    # Vegas' packets have no header in ns-2: all of their size is given.
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


def _of_control(cc: _Table, control: Control) -> Settings:
    cc.only("profile", control.profile)
    for key, value in control.fixed.items():
        cc.only(key, value)
    told = []
    for key, (variable, otherwise) in control.told.items():
        value = cc.take(key, otherwise)
        told.append((variable, value))
    cc.finish()
    return tuple(told)


def _slow_start(transport: _Table, control: Control) -> Settings:
    start = _Table(transport.take("slow_start"), f"{transport.where}.slow_start")
    start.only("kind", *control.slow_starts)
    segments = start.take("max_ssthresh", 0)
    start.finish()
    return ((Word.MAX_SSTHRESH, int(segments)),)


class _Table:
    """A table of a scenario of which every key must be taken."""

    def __init__(self, given: Mapping[str, Any], where: str) -> None:
        self.given = given
        self.where = where
        self._left = dict(given)

    def take(self, key: str, otherwise: Any = None) -> Any:
        """The value of a key."""
        return self._left.pop(key, otherwise)

    def only(self, key: str, *accepted: Any) -> None:
        """Take a key that must have one of these values, or not be there."""
        value = self.take(key, accepted[0])
        if value not in accepted:
            _refuse(self._path(key), value, " or ".join(map(_told, accepted)))

    def quantity(self, key: str, unit: str, otherwise: str | None = None) -> float:
        """The number of a key in a unit."""
        return _quantity(self._path(key), self.take(key, otherwise), unit)

    def finish(self) -> None:
        """Refuse what is left."""
        for key, value in self._left.items():
            _refuse(self._path(key), value, "nothing there")

    def _path(self, key: str) -> str:
        return f"{self.where}.{key}".lstrip(".")


_EXAMPLES = {"s": '"10 ms"', "bps": '"10 Mbps"', "bytes": '"64 MB"', "packets": '"200 packets"'}


def _quantity(key: str, value: object, unit: str) -> float:
    found = parse(value) if isinstance(value, str) else None
    if not found or found[0] != unit:
        _refuse(key, value, f"one such as {_EXAMPLES[unit]}")
    return found[1]


def _told(value: object) -> str:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return "nothing there" if value is None else json.dumps(value, ensure_ascii=False)


def _refuse(key: str, value: object, accepted: str) -> NoReturn:
    told = value if isinstance(value, str) else _told(value)
    _raise(key, told, f"{told[:60]} has no counterpart in ns-2; write {accepted}")


def _raise(key: str, value: str, problem: str, file: str = "") -> NoReturn:
    error = ScenarioError(": ".join(filter(None, [file, key, problem])))
    error.file, error.key, error.value, error.problem = file, key, value, problem
    raise error from None
