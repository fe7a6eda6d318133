"""Scenarios in Python: the same tables as in TOML, made by functions.

Quantities are strings with a unit, as in TOML: `"10 Mbps"`, `"50 ms"`, `"1 MB"`, `"1 bdp"`. A keyword that a function
does not list is a key of the TOML table of that name (`vazao explain tcp` lists them). Everything is checked when the
scenario is run, with the same messages that a TOML file gets.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from vazao.congestion import CongestionControl


class Table(dict[str, Any]):
    """A scenario's table. It is a dictionary, so that anything a scenario can say can be said."""

    def __repr__(self) -> str:
        return f"{type(self).__name__.lower()}({', '.join(f'{key}={value!r}' for key, value in self.items())})"


class Network(Table):
    """A topology with its links."""


class Link(Table):
    """A link, or one direction of it."""


class App(Table):
    """What a flow transfers."""


class Transport(Table):
    """The protocol a flow uses, and its settings."""


class Flow(Table):
    """A client, a server, an application and a transport."""


def _given(**values: Any) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}


def link(
    rate: str | Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
    delay: str | None = None,
    *,
    queue: str | Mapping[str, Any] | None = None,
    loss: float | str | Mapping[str, Any] | None = None,
    jitter: str | Mapping[str, Any] | None = None,
    reorder: float | Mapping[str, Any] | None = None,
    duplicate: float | None = None,
    corrupt: float | None = None,
    outages: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
    shaper: Mapping[str, Any] | None = None,
    overhead: str | None = None,
    forward: Mapping[str, Any] | None = None,
    reverse: Mapping[str, Any] | None = None,
    **more: Any,
) -> Link:
    """A link of `rate` (of IP packets) and one-way `delay`, with its queue and what its wire does in each direction.

    `rate` may vary: a list of `{"at": "20 s", "rate": "2 Mbps"}`, or `{"trace": "cellular"}`. `queue` is a limit or a
    queue's name or table (`vazao list queues`), `loss` a probability or a loss model, `jitter` a time or a table,
    `reorder`, `duplicate` and `corrupt` are probabilities, `outages` have `at` or `every`, and `for`.
    `forward` and `reverse` are links of their own for what differs by direction: `reverse=vz.link(loss=0.01)`.
    """
    wire = _given(loss=loss, jitter=jitter, reorder=reorder, duplicate=duplicate, corrupt=corrupt, outages=outages)
    sender = _given(rate=rate, delay=delay, queue=queue, shaper=shaper, overhead=overhead)
    return Link(sender | wire | _given(forward=forward, reverse=reverse) | more)


UNLIMITED = link("100 Gbps", "0 s")
"""An access link beside which any bottleneck is one."""


def point_to_point(link: Link, **more: Any) -> Network:
    """Hosts `a` and `b`, joined by one link; forward is from a to b."""
    return Network(topology="point-to-point", link=link, **more)


def path(*links: Link, **more: Any) -> Network:
    """Hosts `a` and `b` joined by one link after the other, with routers R1, R2, … between them."""
    return Network(topology="path", link=list(links), **more)


def dumbbell(*, bottleneck: Link, access: Link | Sequence[Link] = UNLIMITED, pairs: int = 1, **more: Any) -> Network:
    """Hosts left1, left2, … and right1, right2, … on either side of one bottleneck; forward is left to right.

    `access` is the link of every host, or a list of one for each pair; by default it limits nothing.
    """
    return Network(topology="dumbbell", pairs=pairs, access=_plain(access), bottleneck=bottleneck, **more)


def parking_lot(*, bottleneck: Link, access: Link = UNLIMITED, hops: int = 3, **more: Any) -> Network:
    """Hosts `a` and `b` over a chain of `hops` equal bottlenecks, and a pair of hosts across each of them."""
    return Network(topology="parking-lot", hops=hops, access=access, bottleneck=bottleneck, **more)


def multipath(*paths: Link, **more: Any) -> Network:
    """Multihomed hosts `a` and `b`, joined by one disjoint path for each link; forward is from a to b."""
    return Network(topology="multipath", path=list(paths), **more)


def custom(hosts: Sequence[str], links: Mapping[tuple[str, str], Link], *, routers: Sequence[str] = ()) -> Network:
    """Any graph: `links` maps a pair of names, from and to, to the link between them. Routes are the shortest."""
    ends = [Link({"from": start, "to": end} | line) for (start, end), line in links.items()]
    return Network(topology="custom", hosts=list(hosts), routers=list(routers), link=ends)


def _plain(links: Link | Sequence[Link]) -> Link | list[Link]:
    return links if isinstance(links, Link) else list(links)


def upload(size: str | None = None, **more: Any) -> App:
    """The client sends `size` bytes to the server; without a size, until the run ends."""
    return App(_given(kind="upload", size=size) | more)


def download(size: str | None = None, **more: Any) -> App:
    """The server sends `size` bytes to the client; without a size, until the run ends."""
    return App(_given(kind="download", size=size) | more)


def tcp(cc: str | Mapping[str, Any] | type[CongestionControl] | None = None, **more: Any) -> Transport:
    """TCP with a congestion control (`"cubic"` by default) and any of its settings: `recovery`, `mss`, …

    `cc` is a name, a table with `kind` and parameters, or a class of your own (see `CongestionControl`).
    """
    return Transport(_given(kind="tcp", cc=cc) | more)


def flow(
    app: App,
    transport: Transport | None = None,
    *,
    client: str | None = None,
    server: str | None = None,
    start: str | None = None,
    **more: Any,
) -> Flow:
    """What `client`, which opens the connection, and `server` exchange from `start` on.

    Hosts default to the i-th pair for the i-th flow, the start to 0 s, the transport to TCP.
    """
    return Flow(_given(client=client, server=server, start=start, app=app, transport=transport) | more)


def scenario(
    network: Network,
    flows: Sequence[Flow],
    *,
    seed: int = 1,
    until: str | None = None,
    name: str = "python",
    **more: Any,
) -> dict[str, Any]:
    """The whole scenario as the dictionary that its TOML file would be."""
    tables = {"name": name, "seed": seed, "network": network, "flow": list(flows)}
    return tables | _given(until=until) | more
