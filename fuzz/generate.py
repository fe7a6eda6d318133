"""Generates random scenarios that are meant to be valid, from everything in the registry."""

from __future__ import annotations

from functools import cache
from random import Random
from typing import Any

from fuzz import registry, toml
from fuzz.registry import duration, entries, rate, size
from vazao import _core
from vazao.errors import ScenarioError
from vazao.scenario import Entry, Parameter, load

Table = dict[str, Any]

NAMED = "custom"
"""Topology whose hosts, routers and links are named individually."""
PLAIN = {"rate": "10 Mbps", "delay": "1 ms"}
"""Minimal link, where only its position matters."""
FINITE = ("size", "count", "duration")
"""Parameters that make an application finite."""
GUESTS = frozenset({"tcp", "udp", "sctp", "mptcp"})
"""Transports that Linux guests support."""


def scenario(rng: Random, *, guests: bool = False) -> Table:
    """Generate a scenario: most have finite applications and `until`, some only one of the two."""
    network, hosts, relays = _network(rng, fast=guests)
    flows = [_flow(rng, network, hosts, relays, guests) for _ in range(rng.choice((1, 1, 1, 2, 2, 3, 5)))]
    document: Table = {"seed": rng.randint(0, 10**6), "network": network, "flow": flows}
    if rng.random() < 0.7 or guests or not all(map(_ends, flows)):
        document["until"] = duration(rng, 0.05, 3.0 if guests else 30.0)
    return document


def _ends(flow: Table) -> bool:
    app = flow["app"]
    return isinstance(app, dict) and (app["kind"] == "page" or any(key in app for key in FINITE))


def _network(rng: Random, *, fast: bool) -> tuple[Table, list[str], list[str]]:
    """Return a random network, its hosts' names, and the names of routers that may relay."""
    entry = rng.choice(entries("topology"))
    few = rng.randint(1, 3)
    if entry.name == NAMED:
        links = _custom(rng, lambda: _link(rng, fast), few)
        return {"topology": NAMED, **links}, links["hosts"], links["routers"]
    network: Table = {"topology": entry.name} | {parameter.name: few for parameter in entry.parameters}
    links = {key: few if several and rng.random() < 0.7 else 0 for key, several in _places(entry).items()}
    plain = network | {key: [PLAIN] * count or PLAIN for key, count in links.items()}
    nodes = _loaded(plain).graph()["nodes"]
    hosts, routers = ([node["name"] for node in nodes if node["kind"] == kind] for kind in ("host", "router"))
    drawn = {key: [_link(rng, fast) for _ in range(count)] or _link(rng, fast) for key, count in links.items()}
    return network | drawn, hosts, routers


@cache
def _places(entry: Entry) -> dict[str, bool]:
    """Return the keys under which a topology takes its links, and whether each takes several.

    The loader reports which key is missing, and accepts or refuses a list: registering a topology is enough to fuzz it.
    """
    network: Table = {"topology": entry.name} | {parameter.name: 2 for parameter in entry.parameters}
    keys: list[str] = []
    while (refusal := _refusal(network)) is not None:
        key = (refusal.key or "").removeprefix("network.")
        if key in network:
            raise refusal
        network[key] = PLAIN
        keys.append(key)
    return {key: _refusal(network | {key: [PLAIN, PLAIN]}) is None for key in keys}


def _refusal(network: Table) -> ScenarioError | None:
    try:
        _loaded(network)
    except ScenarioError as error:
        return error
    return None


def _loaded(network: Table) -> _core.Scenario:
    return load(toml.dump({"network": network, "flow": [{"app": {"kind": "upload", "size": "1 B"}}]}))


def _custom(rng: Random, link: Any, routers: int) -> Table:
    """Four hosts around a few routers in a ring or chain, each host attached to one or two of them."""
    names = [f"r{i}" for i in range(routers)]
    pairs = [(names[i - 1], names[i]) for i in range(1 if routers < 3 else 0, routers)]
    for host in ("a", "b", "c", "d"):
        pairs += [(host, router) for router in rng.sample(names, rng.randint(1, min(2, routers)))]
    links = [{"from": one, "to": other, **link()} for one, other in pairs]
    return {"hosts": ["a", "b", "c", "d"], "routers": names, "link": links}


def _link(rng: Random, fast: bool) -> Table:
    way = _direction(rng, fast)
    for key in ("forward", "reverse"):
        if rng.random() < 0.12:
            way[key] = {name: given for name, given in _direction(rng, fast).items() if rng.random() < 0.5}
    return way


def _direction(rng: Random, fast: bool) -> Table:
    """Rate and delay, and each other key of a link with some probability."""
    way: Table = {"rate": rate(rng, 1e6, 1e11) if fast else _rate(rng), "delay": _delay(rng)}
    options: dict[str, tuple[float, Any]] = {
        "queue": (0.7, lambda: registry.limit(rng) if rng.random() < 0.4 else registry.pick(rng, "queue")),
        "loss": (0.3, lambda: _loss(rng)),
        "overhead": (0.1, lambda: size(rng, 1, 100)),
        "strip": (0.05, lambda: rng.choice(entries("strippable option")).name),
        "shaper": (0.08, lambda: {"rate": rate(rng, 2e5, 1e8), "burst": size(rng, 2000, 1e5)}),
    }
    for entry in entries("impairment"):
        options[entry.name] = (0.5 if fast and entry.name == "jitter" else 0.08, lambda e=entry: _impairment(rng, e))
    return way | {key: draw() for key, (share, draw) in options.items() if rng.random() < share}


def _rate(rng: Random) -> Any:
    kind = rng.random()
    if kind < 0.85:
        return rate(rng, 1e5, 1e9)
    if kind < 0.9:
        return {"trace": "cellular", "seed": rng.randint(0, 99)}
    times = [0.0, *sorted(round(rng.uniform(0.01, 5), 3) for _ in range(rng.randint(0, 4)))]
    steps = [{"at": f"{time} s", "rate": rate(rng, 1e5, 1e8)} for time in times]
    return steps if rng.random() < 0.5 else {"steps": steps, "repeat": "6 s"}


def _delay(rng: Random) -> Any:
    if rng.random() < 0.95:
        return duration(rng, 1e-5, 0.3)
    times = [0.0, *sorted(round(rng.uniform(0.01, 5), 3) for _ in range(rng.randint(0, 4)))]
    steps = [{"at": f"{time} s", "delay": duration(rng, 1e-5, 0.3)} for time in times]
    return {"steps": steps, "repeat": "6 s", "keeps_order": rng.random() < 0.5} if rng.random() < 0.5 else steps


def _probability(rng: Random) -> float:
    return 1.0 if rng.random() < 0.02 else round(registry.scaled(rng, 0.0005, 0.3), 6)


def _likely(rng: Random, known: tuple[Parameter, ...]) -> Table:
    """Parameters with probabilities that let most packets through."""
    given = registry.parameters(rng, known, 0.3)
    return {name: _probability(rng) if name in ("p", "probability", "rate") else each for name, each in given.items()}


def _loss(rng: Random) -> Any:
    if rng.random() < 0.4:
        return _probability(rng)
    entry = rng.choice(entries("loss model"))
    given = _likely(rng, entry.parameters)
    if entry.name == "bit-errors":
        given["rate"] = 10 ** rng.uniform(-9, -4)
    return {"kind": entry.name, **given}


def _impairment(rng: Random, entry: Entry) -> Any:
    if entry.name == "outages":
        times = sorted(rng.uniform(0, 5) for _ in range(rng.randint(1, 2)))
        kind = {"kind": rng.choice(("pause", "loss"))}
        if rng.random() < 0.3:
            return [{"every": "2 s", "for": duration(rng, 1e-3, 1.0), **kind}]
        return [
            {"at": f"{time + 2 * i:.3f} s", "for": duration(rng, 1e-3, 1.0), **kind} for i, time in enumerate(times)
        ]
    given = _likely(rng, entry.parameters)
    if "spread" in given:
        given["spread"] = duration(rng, 1e-5, 0.1)
    return given


def _flow(rng: Random, network: Table, hosts: list[str], relays: list[str], guests: bool) -> Table:
    entry = rng.choice([each for each in entries("transport") if not guests or each.name in GUESTS])
    transport = {"kind": entry.name, **_transport(rng, entry, relays, guests)}
    flow: Table = {"app": _application(rng), "transport": transport}
    if network["topology"] == NAMED or rng.random() < 0.2:
        flow["client"], flow["server"] = rng.sample(hosts, 2)
    if rng.random() < 0.3:
        flow["start"] = duration(rng, 1e-3, 3.0)
    if rng.random() < 0.1:
        flow |= {"count": rng.randint(1, 4), "start_spread": duration(rng, 1e-3, 1.0)}
    return flow


def _transport(rng: Random, entry: Entry, relays: list[str], guests: bool) -> Table:
    ours = tuple(each for each in entry.parameters if each.name not in ("stack", "kernel", "sysctl", "module", "netem"))
    if guests:
        named = rng.choice(("linux", {"client": "linux"}, {"server": "linux"}))
        taken = ("cc", "mss", "sack", "timestamps", "metrics", "moderation", "sample", "offloads")
        given = {"stack": named} | registry.parameters(rng, tuple(p for p in ours if p.name in taken), 0.2)
        lossy = rng.random() < 0.2 and (entry.name != "sctp" or named == "linux")
        return given | ({"netem": {"loss": rng.choice((0.001, 0.02, 0.2))}} if lossy else {})
    given = registry.parameters(rng, ours, 0.1)
    if entry.name == "udp":
        given.setdefault("rate", rate(rng, 1e4, 3e7))
    if entry.name == "quic":
        if rng.random() < 0.1:
            return {"stack": "quinn"}
        if rng.random() < 0.3:
            given["multipath"] = True
    if entry.name == "sctp" and rng.random() < 0.3:
        given["cmt"] = True
    if entry.name == "mptcp" and relays and rng.random() < 0.2:
        given |= {"path_manager": "binder", "relays": rng.sample(relays, 1)}
    # Coupled controls need several subflows: half of the coupled ones are drawn here.
    if (entry.name == "mptcp" or given.get("multipath")) and rng.random() < 0.4:
        given["cc"] = rng.choice(("lia", "olia", "balia", "wvegas"))
    return given


def _application(rng: Random) -> Any:
    known = [entry for entry in entries("application") if entry.name != "command"]
    weighted = known + [entry for entry in known if entry.name in ("upload", "download")] * 2
    entry = rng.choice(weighted)
    given = registry.parameters(rng, entry.parameters, 0.2)
    names = {parameter.name for parameter in entry.parameters}
    if not names.isdisjoint(FINITE) and rng.random() < 0.9 and given.keys().isdisjoint(FINITE):
        end = rng.choice(sorted(names & set(FINITE)))
        given[end] = {"size": size(rng, 1, 3e6), "count": rng.randint(1, 60), "duration": duration(rng, 0.01, 10)}[end]
    if entry.name == "arrivals":
        given = {
            "interval": duration(rng, 0.05, 1.0),
            "sizes": size(rng, 100, 1e5),
            **given,
            "count": rng.randint(1, 15),
        }
    if "count" in given:
        given["count"] = min(given["count"], 60)
    if entry.name == "page":
        given |= {"objects": rng.randint(1, 40), "size": size(rng, 1, 5e4)}
    if entry.name == "video":
        given |= {"segment": duration(rng, 0.2, 4), "duration": duration(rng, 1, 20)}
        given = {key: each for key, each in given.items() if key not in ("startup", "resume", "buffer")}
    if "idt" in names:
        given.setdefault("idt", duration(rng, 1e-4, 0.1))
    if "interval" in given and entry.name == "messages":
        given["interval"] = duration(rng, 1e-3, 0.5)
    return {"kind": entry.name, **given} if given or entry.name == "page" else entry.name
