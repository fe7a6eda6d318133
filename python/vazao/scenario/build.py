"""Scenarios in Python: functions that build the same tables as in TOML.

Quantities are strings with a unit, as in TOML: `"10 Mbps"`, `"50 ms"`, `"1 MB"`, `"1 bdp"`. Other keyword
arguments become keys of the table that the function builds (`vazao explain tcp` lists them). Everything is checked
when the scenario is run, with the same messages as for a TOML file. Applications and transports have their builders
from the registry (`registered.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from vazao import display
from vazao.scenario.application import Application
from vazao.scenario.loss_model import LossModel
from vazao.scenario.queueing import Queue

__all__ = [
    "App", "Flow", "Link", "Network", "Transport", "custom", "dumbbell", "flow", "link", "multipath", "parking_lot",
    "path", "point_to_point",
]  # fmt: skip
"""Building blocks of scenarios, which `vazao` re-exports."""


class Table(dict[str, Any]):
    """A table of a scenario. It is a dictionary, so that every key of a scenario can be set."""

    def __repr__(self) -> str:
        return f"{type(self).__name__.lower()}({', '.join(f'{key}={value!r}' for key, value in self.items())})"

    def _repr_html_(self) -> str:
        name = next((str(self[key]) for key in ("topology", "kind") if key in self), "")
        return display.card(type(self).__name__, name, display.facts(self))


class Network(Table):
    """A topology with its links."""


class Link(Table):
    """A link, or one direction of it."""


class App(Table):
    """An application: the traffic of a flow."""


class Transport(Table):
    """The protocol a flow uses, and its settings."""


class Flow(Table):
    """A client, a server, an application and a transport."""


def _given(**values: Any) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}


def link(
    rate: str | Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
    delay: str | Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
    *,
    queue: str | Mapping[str, Any] | type[Queue] | None = None,
    loss: float | str | Mapping[str, Any] | type[LossModel] | None = None,
    jitter: str | Mapping[str, Any] | None = None,
    reorder: float | Mapping[str, Any] | None = None,
    duplicate: float | None = None,
    corrupt: float | None = None,
    alter: float | None = None,
    outages: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
    strip: str | Sequence[str] | None = None,
    shaper: Mapping[str, Any] | None = None,
    policer: Mapping[str, Any] | None = None,
    overhead: str | None = None,
    forward: Mapping[str, Any] | None = None,
    reverse: Mapping[str, Any] | None = None,
    **more: Any,
) -> Link:
    """A link of `rate` (of IP packets) and one-way `delay`, with the queue and impairments of each direction.

    `rate` may vary: a list of `{"at": "20 s", "rate": "2 Mbps"}`, or `{"trace": "cellular"}`; so may `delay`. `queue`
    is a limit or a queue's name or table (`vazao list queues`), `loss` a probability or a loss model; both may be
    classes of your own (`Queue`, `LossModel`). `jitter` is a time or a table, `reorder`, `duplicate`, `corrupt` and
    `alter` are probabilities, `outages` have `at` or `every`, and `for`. `strip` names the options that a middlebox
    removes (`vazao list strippable-options`), and `alter` is the probability that it alters a payload. `shaper` and
    `policer` have `rate` and `burst`: packets in excess of them wait, or are dropped. `forward` and `reverse` are links
    with the settings of one direction: `reverse=vz.link(loss=0.01)`.
    """
    wire = _given(loss=loss, jitter=jitter, reorder=reorder, duplicate=duplicate, corrupt=corrupt, outages=outages)
    taken = _given(alter=alter, strip=strip if strip is None or isinstance(strip, str) else list(strip))
    sender = _given(rate=rate, delay=delay, queue=queue, shaper=shaper, policer=policer, overhead=overhead)
    return Link(sender | wire | taken | _given(forward=forward, reverse=reverse) | more)


UNLIMITED = link("100 Gbps", "0 s")
"""An access link that is fast enough never to be the bottleneck."""


def point_to_point(link: Link, **more: Any) -> Network:
    """Hosts `a` and `b`, joined by one link; forward is from a to b."""
    return Network(topology="point-to-point", link=link, **more)


def path(*links: Link, **more: Any) -> Network:
    """Hosts `a` and `b` joined by links in series, with routers R1, R2, … between them."""
    return Network(topology="path", link=list(links), **more)


def dumbbell(
    *, bottleneck: Link, access: Link | Sequence[Link] = UNLIMITED, pairs: int | None = None, **more: Any
) -> Network:
    """Hosts left1, left2, … and right1, right2, … on either side of one bottleneck; forward is left to right.

    `access` is the link of every host, or a list with a link for each pair; by default it limits nothing.
    """
    hosts = _given(topology="dumbbell", pairs=pairs)
    return Network(hosts | {"access": _plain(access), "bottleneck": bottleneck} | more)


def parking_lot(*, bottleneck: Link, access: Link = UNLIMITED, hops: int | None = None, **more: Any) -> Network:
    """Hosts `a` and `b` over a chain of `hops` equal bottlenecks, and a pair of hosts across each of them."""
    hosts = _given(topology="parking-lot", hops=hops)
    return Network(hosts | {"access": access, "bottleneck": bottleneck} | more)


def multipath(*paths: Link, **more: Any) -> Network:
    """Multihomed hosts `a` and `b`, joined by one disjoint path for each link; forward is from a to b."""
    return Network(topology="multipath", path=list(paths), **more)


def custom(hosts: Sequence[str], links: Mapping[tuple[str, str], Link], *, routers: Sequence[str] = ()) -> Network:
    """Any graph: `links` maps pairs of names, (from, to), to the link between them. Routes are shortest paths."""
    ends = [Link({"from": start, "to": end} | line) for (start, end), line in links.items()]
    return Network(topology="custom", hosts=list(hosts), routers=list(routers), link=ends)


def _plain(links: Link | Sequence[Link]) -> Link | list[Link]:
    return links if isinstance(links, Link) else list(links)


def flow(
    app: App | str | Mapping[str, Any] | type[Application],
    transport: Transport | None = None,
    *,
    client: str | None = None,
    server: str | None = None,
    start: str | None = None,
    **more: Any,
) -> Flow:
    """Traffic between `client`, which opens the connection, and `server` from `start` on.

    `app` may be a class of your own (see `Application`), or a table with one as its `kind`. Hosts default to the i-th
    pair for the i-th flow, the start to 0 s, the transport to TCP.
    """
    return Flow(_given(client=client, server=server, start=start, app=app, transport=transport) | more)


def document(
    network: Network,
    flows: Sequence[Flow],
    *,
    seed: int = 1,
    until: str | None = None,
    name: str = "python",
    **more: Any,
) -> dict[str, Any]:
    """The whole scenario as the dictionary that its TOML file would contain."""
    tables = {"name": name, "seed": seed, "network": network, "flow": list(flows)}
    return tables | _given(until=until) | more
