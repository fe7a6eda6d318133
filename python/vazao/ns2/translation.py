"""Translation of a scenario into an experiment for ns-2, or into an error on what ns-2 does not support.

`keys` ensures that no key is ignored, `tcp` and `sctp` translate the two transports, and this module translates what
they share: the network, the flows, the run.
"""

from __future__ import annotations

import json
from collections.abc import Container, Iterator, Mapping
from hashlib import sha256
from typing import Any

from vazao import _core
from vazao.errors import ScenarioError
from vazao.ns2 import sctp, tcp
from vazao.ns2.experiment import LARGEST, Association, Connection, Experiment, Loss, Way
from vazao.ns2.keys import Table, fail, quantity_of, refuse

STACK = "ns2"
"""Name of the stack in scenarios."""

Nodes = Mapping[tuple[str, int | None], int]
"""Numbers of ns-2's nodes by name, and by the number of the link if a host has a node for each interface."""


def plays(scenario: _core.Scenario) -> bool:
    """Whether ns-2 runs a scenario."""
    return STACK in scenario.simulators


def check(scenario: _core.Scenario, file: str = "") -> None:
    """Check that ns-2 supports all of a scenario, read from a file. Raises `ScenarioError`."""
    try:
        translate(scenario)
    except ScenarioError as error:
        fail(error.key or "", error.value or "", error.problem or "", file)


def translate(scenario: _core.Scenario) -> Experiment:
    """Translate a scenario. Raises `ScenarioError` for the first key that has no counterpart."""
    whole = Table(json.loads(scenario.json), "")
    _, network, trace, seed = (whole.take(key) for key in ("schema", "network", "trace", "seed"))
    flows = [Table(flow, f"flow.{i}") for i, flow in enumerate(_flows(whole.take("flow")))]
    split = _association_hosts(flows, {node["name"] for node in network["nodes"]})
    nodes = _nodes(network, split)
    ways = tuple(
        way
        for number, link in enumerate(network["link"])
        for way in _ways(Table(link, f"network, {link['name']}"), _ends(link, number, nodes), seed if split else None)
    )
    association: Association | None = None
    connections: tuple[Connection, ...] = ()
    if split:
        association = _association(flows[0], nodes, ways)
    else:
        if len(network["link"]) != len(network["nodes"]) - 1:
            refuse(
                "network", "links in circles", "a tree, in which two hosts have one way: path, dumbbell, parking-lot"
            )
        connections = tuple(_connection(flow, nodes) for flow in flows)
    every, measures = trace.get("every"), tuple(trace["measures"])
    supported = sctp.MEASURES if split else tcp.MEASURES
    if others := [name for name in measures if name not in supported]:
        refuse("trace", others[0], ", ".join(supported))
    every_s = None if every is None else quantity_of("trace.every", every, "s")
    until = whole.quantity("until", "s")
    whole.take("draws_flows")
    whole.finish()
    return Experiment(len(nodes), ways, connections, association, until, seed, measures, every_s)


def _flows(tables: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Flows of the canonical form, each with what it shares with those of its table."""
    for table in tables:
        each = table.pop("each", [{}])
        yield from (table | own for own in each)


def _association_hosts(flows: list[Table], names: Container[str]) -> set[str]:
    """Hosts of a run's association, whose interfaces are nodes in ns-2. Empty if all flows are over TCP."""
    over_sctp = [flow for flow in flows if flow.given["transport"]["kind"] == "sctp"]
    if over_sctp and len(flows) > 1:
        # CMT's agents share the destination that SendMuch sent to last (spNodeLastSentTo is static).
        refuse("flow", "another flow beside one over sctp", "one flow")
    return {_host(flow.given[end], names) for flow in over_sctp for end in ("client", "server")}


def _host(end: str, names: Container[str]) -> str:
    """The host of a flow's end, which is a host or one of its interfaces by number: `left1.1`."""
    return end if end in names else end.rpartition(".")[0]


def _interfaces(end: str, nodes: Nodes) -> dict[str, int]:
    """Nodes of a host's interfaces by name, the one of a flow's end first."""
    host = _host(end, {name for name, _ in nodes})
    own = [number for (name, _), number in nodes.items() if name == host]
    named = {host: own[0]} if len(own) == 1 else {f"{host}.{i}": number for i, number in enumerate(own, 1)}
    first = end if end in named else next(iter(named))
    return {first: named[first]} | named


def _nodes(network: Mapping[str, Any], split: set[str]) -> Nodes:
    keys: list[tuple[str, int | None]] = []
    for name in (node["name"] for node in network["nodes"]):
        links = [i for i, link in enumerate(network["link"]) if name in (link["from"], link["to"])]
        keys += [(name, link) for link in links] if name in split else [(name, None)]
    return {key: number for number, key in enumerate(keys)}


def _ends(link: Mapping[str, Any], number: int, nodes: Nodes) -> tuple[int, int]:
    """Nodes that a link joins."""
    source, target = ((link[end], number) for end in ("from", "to"))
    return nodes.get(source, nodes.get((source[0], None), -1)), nodes.get(target, nodes.get((target[0], None), -1))


def _ways(link: Table, ends: tuple[int, int], seed: int | None) -> list[Way]:
    """Both directions of a link. Losses on the wire are supported only with a seed."""
    name = link.take("name")
    link.take("from"), link.take("to")
    ways = []
    for direction, (source, target) in (("forward", ends), ("reverse", ends[::-1])):
        table = Table(link.take(direction), f"{link.where}, {direction}")
        table.only("overhead", "0 B")
        loss = None
        if seed is None:
            table.only("loss", None)
        elif given := table.take("loss"):
            loss = _loss(Table(given, f"{table.where}.loss"), f"{seed}/{name}/{direction}")
        rate, delay = table.quantity("rate", "bps"), table.quantity("delay", "s")
        if (waiting := int(table.quantity("queue", "packets"))) < 1:
            refuse(f"{table.where}.queue", "a queue without room", '"1 packet" or more')
        ways.append(Way(name, direction, source, target, rate, delay, waiting, loss))
        table.finish()
    link.finish()
    return ways


def _loss(table: Table, stream: str) -> Loss:
    """Translate a loss model. The seed is hashed because ns-2's generator begins alike for seeds close together."""
    table.only("unit", "packet")
    kind = table.take("kind")
    seed = 1 + int.from_bytes(sha256(stream.encode()).digest()[:4]) % LARGEST
    if kind == "bernoulli":
        loss = Loss(table.take("p"), (), seed)
    elif kind == "list":
        packets = sorted({int(packet) for packet in table.take("packets")})
        if packets and packets[-1] > LARGEST:
            refuse(f"{table.where}.packets", packets[-1], f"numbers of up to {LARGEST}")
        loss = Loss(0.0, tuple(packets), seed)
    else:
        refuse(f"{table.where}.kind", kind, "bernoulli, list")
    table.finish()
    return loss


def _connection(flow: Table, nodes: Nodes) -> Connection:
    transport = _transport(flow)
    app = Table(flow.take("app"), f"{flow.where}.app")
    app.only("kind", "upload")
    app.finish()
    ends = _ends_of(flow)
    mss, agent = tcp.agent(transport)
    columns = {"transport": "tcp", "cc": transport.given["cc"]["kind"], "recovery": transport.given["recovery"]}
    columns |= {"app": "upload", "client": ends[0], "server": ends[1]}
    names = {name for name, _ in nodes}
    source, target = (nodes[(_host(end, names), None)] for end in ends)
    start = flow.quantity("start", "s")
    flow.finish()
    return Connection(source, target, start, mss, agent, columns)


def _association(flow: Table, nodes: Nodes, ways: tuple[Way, ...]) -> Association:
    transport = _transport(flow)
    size = sctp.size(Table(flow.take("app"), f"{flow.where}.app"))
    ends = _ends_of(flow)
    clients, servers = (_interfaces(end, nodes) for end in ends)
    if not transport.take("multihomed"):
        clients, servers = (dict([next(iter(each.items()))]) for each in (clients, servers))
    paths = sctp.paths(clients, servers, ways)
    agent, settings = sctp.agent(transport, size)
    columns = {"transport": "sctp", "cc": "sctp", "app": "upload", "client": ends[0], "server": ends[1]}
    start = flow.quantity("start", "s")
    flow.finish()
    return Association(paths, start, size, agent, settings, columns)


def _transport(flow: Table) -> Table:
    transport = Table(flow.take("transport"), f"{flow.where}.transport")
    transport.take("simulator")
    if transport.take("stack") != STACK:
        refuse(f"{flow.where}.transport.stack", "another", f'"{STACK}" for every flow of a run, or for none')
    return transport


def _ends_of(flow: Table) -> list[str]:
    flow.take("streams"), flow.take("group")
    return [flow.take("client"), flow.take("server")]
