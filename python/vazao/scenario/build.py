"""Scenarios in Python: functions that build the same tables as in TOML.

Quantities are strings with a unit, as in TOML: `"10 Mbps"`, `"50 ms"`, `"1 MB"`, `"1 bdp"`. Other keyword
arguments become keys of the table that the function builds (`vazao explain tcp` lists them). Everything is checked
when the scenario is run, with the same messages as for a TOML file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from vazao import display
from vazao.scenario.application import Application
from vazao.scenario.congestion import CongestionControl
from vazao.scenario.loss_model import LossModel
from vazao.scenario.packet_scheduler import Scheduler
from vazao.scenario.queueing import Queue

__all__ = [
    "App", "Flow", "Link", "Network", "Transport", "arrivals", "cbr", "command", "custom", "dccp", "download",
    "dumbbell", "flow", "link", "messages", "mptcp", "multipath", "on_off", "packet_generator", "page",
    "parking_lot", "path", "point_to_point", "quic", "requests", "sctp", "tcp", "udp", "upload", "video",
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


def dumbbell(*, bottleneck: Link, access: Link | Sequence[Link] = UNLIMITED, pairs: int = 1, **more: Any) -> Network:
    """Hosts left1, left2, … and right1, right2, … on either side of one bottleneck; forward is left to right.

    `access` is the link of every host, or a list with a link for each pair; by default it limits nothing.
    """
    return Network(topology="dumbbell", pairs=pairs, access=_plain(access), bottleneck=bottleneck, **more)


def parking_lot(*, bottleneck: Link, access: Link = UNLIMITED, hops: int = 3, **more: Any) -> Network:
    """Hosts `a` and `b` over a chain of `hops` equal bottlenecks, and a pair of hosts across each of them."""
    return Network(topology="parking-lot", hops=hops, access=access, bottleneck=bottleneck, **more)


def multipath(*paths: Link, **more: Any) -> Network:
    """Multihomed hosts `a` and `b`, joined by one disjoint path for each link; forward is from a to b."""
    return Network(topology="multipath", path=list(paths), **more)


def custom(hosts: Sequence[str], links: Mapping[tuple[str, str], Link], *, routers: Sequence[str] = ()) -> Network:
    """Any graph: `links` maps pairs of names, (from, to), to the link between them. Routes are shortest paths."""
    ends = [Link({"from": start, "to": end} | line) for (start, end), line in links.items()]
    return Network(topology="custom", hosts=list(hosts), routers=list(routers), link=ends)


def _plain(links: Link | Sequence[Link]) -> Link | list[Link]:
    return links if isinstance(links, Link) else list(links)


Spread = str | Mapping[str, Any] | Sequence[Sequence[Any]]
"""A time or a size that may be random: `"10 ms"`, `"exponential 10 ms"`, `"web-search"`, a table such as
`{"kind": "uniform", "min": "100 B", "max": "1 kB"}`, or, of sizes, points `[["1 kB", 0.5], ["1 MB", 1]]`."""


def upload(size: str | None = None, *, duration: str | None = None, read_rate: str | None = None, **more: Any) -> App:
    """The client sends `size` bytes, or for `duration`, to the server; with neither, until the run ends.

    `read_rate` limits how fast the server's application reads (`"4 Mbps"`); by default it reads at once.
    """
    return App(_given(kind="upload", size=size, duration=duration, read_rate=read_rate) | more)


def download(
    size: str | None = None,
    *,
    duration: str | None = None,
    read_rate: str | None = None,
    request: str | None = None,
    **more: Any,
) -> App:
    """The server sends `size` bytes, or for `duration`, to the client; with neither, until the run ends.

    With a `request` (`"200 B"`) the client asks for the data first; without one, the server sends once the connection
    is established.
    """
    return App(_given(kind="download", size=size, duration=duration, read_rate=read_rate, request=request) | more)


def cbr(
    rate: str | None = None,
    *,
    message: str | None = None,
    size: str | None = None,
    duration: str | None = None,
    **more: Any,
) -> App:
    """The client writes messages of `message` bytes (`"1000 B"`) at a constant `rate` (`"1 Mbps"`).

    It ends after `size` bytes or `duration`; with neither, at the end of the run.
    """
    return App(_given(kind="cbr", rate=rate, message=message, size=size, duration=duration) | more)


def on_off(
    rate: str | None = None,
    *,
    on: Spread | None = None,
    off: Spread | None = None,
    message: str | None = None,
    size: str | None = None,
    duration: str | None = None,
    **more: Any,
) -> App:
    """The client writes at `rate` during on times and nothing during off times, `"exponential 1 s"` both by default.

    Heavy tails are `on="pareto 1 s"`, or `{"kind": "pareto", "mean": "1 s", "shape": 1.2}`.
    """
    return App(_given(kind="on-off", rate=rate, on=on, off=off, message=message, size=size, duration=duration) | more)


def packet_generator(
    idt: Spread | None = None,
    ps: Spread | None = None,
    *,
    count: int | None = None,
    size: str | None = None,
    duration: str | None = None,
    **more: Any,
) -> App:
    """A packet generator like D-ITG: inter-departure times (`"1 ms"`) and packet sizes (`"512 B"`), both random.

    Over UDP each packet is a datagram. It ends after `count` packets, `size` bytes or `duration`.
    """
    return App(_given(kind="packets", idt=idt, ps=ps, count=count, size=size, duration=duration) | more)


def messages(
    message: str | None = None,
    interval: str | None = None,
    *,
    count: int | None = None,
    duration: str | None = None,
    **more: Any,
) -> App:
    """The client writes a message of `message` bytes (`"1000 B"`) every `interval` (`"100 ms"`), `count` of them.

    The columns `message_latency_…_s` of the flows measure the time until all of a message was read.
    """
    return App(_given(kind="messages", message=message, interval=interval, count=count, duration=duration) | more)


def requests(
    count: int | None = None,
    *,
    request: Spread | None = None,
    response: Spread | None = None,
    think: Spread | None = None,
    pipeline: int | None = None,
    duration: str | None = None,
    **more: Any,
) -> App:
    """The client sends `count` requests (`"200 B"`), or for `duration`; the server answers each with a `response`.

    A response is `"10 kB"` by default; the client waits for the time `think` (`"0 s"`) before the next request. Up to
    `pipeline` requests (1) may be outstanding. The columns `message_latency_…_s` measure the time from a request to the
    end of its response.
    """
    return App(
        _given(
            kind="requests",
            count=count,
            request=request,
            response=response,
            think=think,
            pipeline=pipeline,
            duration=duration,
        )
        | more
    )


def page(
    objects: int | None = None,
    size: Spread | None = None,
    *,
    root: str | None = None,
    http: Literal["1.1", "2", "3"] | None = None,
    connections: int | None = None,
    pipeline: int | None = None,
    priority: Literal["fair", "order"] | None = None,
    turn: str | None = None,
    **more: Any,
) -> App:
    """The client loads a page of `objects` (100) of `size` bytes each (`"20 kB"`), known at once or from a `root`.

    A `root` document (`"30 kB"`) is loaded before the objects that it references. `http` follows the transport by
    default; HTTP/1.1 opens up to `connections` (6) with `pipeline` (1) requests on each, HTTP/2 and 3 serve all objects
    fairly in turns of `turn` (`"16384 B"`), or in `order`. `completion_s` is the page load time, and
    `message_latency_…_s` measure the time from the start to the last byte of each object.
    """
    carried = _given(http=http, connections=connections, pipeline=pipeline, priority=priority, turn=turn)
    return App(_given(kind="page", objects=objects, size=size, root=root) | carried | more)


def video(
    duration: str | None = None,
    *,
    ladder: Sequence[str] | None = None,
    segment: str | None = None,
    adaptation: str | Mapping[str, Any] | None = None,
    startup: str | None = None,
    buffer: str | None = None,
    **more: Any,
) -> App:
    """The client plays a video of `duration` (`"5 min"`), fetched in segments (`"4 s"`) at a rate of the `ladder` each.

    `adaptation` chooses the rate (`"bba-0"` by the buffer, `"rate-based"`; `vazao list adaptations`). Playback starts
    once `startup` (`"8 s"`) is buffered; `buffer` (`"240 s"`) is its capacity. See `startup_s`, `stalls`, `stalled_s`,
    `bitrate_mean_bps` and `bitrate_switches` of the flows.
    """
    rates = None if ladder is None else list(ladder)
    chosen = _given(ladder=rates, segment=segment, adaptation=adaptation, startup=startup, buffer=buffer)
    return App(_given(kind="video", duration=duration) | chosen | more)


def arrivals(
    interval: Spread | None = None,
    sizes: Spread | None = None,
    *,
    count: int | None = None,
    duration: str | None = None,
    direction: Literal["upload", "download"] | None = None,
    **more: Any,
) -> App:
    """Short flows that begin `interval` apart (`"exponential 100 ms"`: a Poisson process), each of a random size.

    `sizes` is `"web-search"` by default. Each flow has its own connection and its own row. Arrivals end after `count`
    flows or `duration`, or with the run.
    """
    return App(
        _given(kind="arrivals", interval=interval, sizes=sizes, count=count, duration=duration, direction=direction)
        | more
    )


def command(client: str, server: str, *, measured: Literal["upload", "download"] | None = None, **more: Any) -> App:
    """Programs of the host, run in Linux guests by a shell; `{server}` and `{client}` stand for addresses.

    `measured` is the direction of the data that is measured. Both sides need `stack="linux"`.
    """
    return App(_given(kind="command", client=client, server=server, measured=measured) | more)


Control = str | Mapping[str, Any] | type[CongestionControl]
"""A congestion control: a name, a table with `kind` and parameters, or a class of your own."""


def tcp(cc: Control | None = None, **more: Any) -> Transport:
    """TCP with a congestion control (`"cubic"` by default) and any of its settings: `recovery`, `mss`, …

    `cc` is a name, a table with `kind` and parameters, or a class of your own (see `CongestionControl`).
    """
    return Transport(_given(kind="tcp", cc=cc) | more)


def mptcp(
    cc: Control | None = None,
    scheduler: str | Mapping[str, Any] | type[Scheduler] | None = None,
    path_manager: str | Mapping[str, Any] | None = None,
    *,
    receive_buffer: str | None = None,
    send_buffer: str | None = None,
    backups: Sequence[int] | None = None,
    reestablish: str | None = None,
    **more: Any,
) -> Transport:
    """Multipath TCP: one byte stream over several TCP subflows, each with `cc` (`"cubic"`; coupled ones: `"lia"`, …).

    `scheduler` (`"lowest-rtt"`) chooses the subflow of each segment: a name (`vazao list schedulers`), a table with
    `kind` and parameters, or a class of your own (see `Scheduler`). `path_manager` (`"single-mesh"`) decides which
    subflows there are. Buffers are the connection's (`"6 MB"`, or `"auto"`); `backups` are the client's interfaces,
    from 1, that are used only while no other is usable; with `reestablish` (`"1 s"`) a failed subflow is reopened.
    TCP's settings apply to each subflow.
    """
    chosen = _given(cc=cc, scheduler=scheduler, path_manager=path_manager)
    buffers = _given(receive_buffer=receive_buffer, send_buffer=send_buffer)
    subflows = _given(backups=None if backups is None else list(backups), reestablish=reestablish)
    return Transport({"kind": "mptcp"} | chosen | buffers | subflows | more)


def udp(rate: str | None = None, payload: int | None = None, **more: Any) -> Transport:
    """UDP: an upload in datagrams of `payload` bytes (1472) at a constant `rate` of payload (`"1 Mbps"`).

    Omit the rate with applications that pace themselves (`cbr`, `on_off`, `packet_generator`, `messages`): each message
    is a datagram, or as many as it needs.
    """
    return Transport(_given(kind="udp", rate=rate, payload=payload) | more)


def dccp(
    cc: Control | None = None,
    *,
    payload: int | None = None,
    ack_ratio: int | None = None,
    ecn: bool | None = None,
    **more: Any,
) -> Transport:
    """DCCP: datagrams of `payload` bytes (1448), never retransmitted, sent as a congestion control allows.

    `cc` is `"reno"` unless another is given, CCID 2's TCP-like congestion control (RFC 4341). The receiver acknowledges
    every `ack_ratio` (2) packets; with `ecn` queues may mark them.
    """
    return Transport(_given(kind="dccp", cc=cc, payload=payload, ack_ratio=ack_ratio, ecn=ecn) | more)


def sctp(
    cc: Control | None = None,
    *,
    cmt: bool | None = None,
    streams: int | None = None,
    multihomed: bool | None = None,
    receive_buffer: str | None = None,
    send_buffer: str | None = None,
    **more: Any,
) -> Transport:
    """SCTP with any of its settings: `cwnd_growth`, `fast_recovery`, `retransmission`, `scheduler` (of streams), …

    `cc` is the congestion control of each path, by default SCTP's own (RFC 9260). `multihomed` (True) uses every
    interface of both hosts: another path when one fails, or with `cmt` all of them at once; messages take turns among
    `streams` (1).
    """
    chosen = _given(cc=cc, cmt=cmt, streams=streams, multihomed=multihomed)
    return Transport({"kind": "sctp"} | chosen | _given(receive_buffer=receive_buffer, send_buffer=send_buffer) | more)


def quic(
    cc: Control | None = None,
    *,
    handshake: Literal["1-rtt", "0-rtt", "0-rtt-rejected", "retry", "gquic-1-rtt", "gquic-2-rtt", "gquic-0-rtt"]
    | None = None,
    **more: Any,
) -> Transport:
    """QUIC with a congestion control (`"cubic"` by default) and any of its settings: `datagram`, `pacing`, `ecn`, …

    `handshake` determines how many round trips precede the client's data: one, none (`"0-rtt"`: resumption), or two
    (`"retry"`: the server validates the client's address first). With `"0-rtt-rejected"` the server no longer knows the
    client; `"gquic-1-rtt"`, `"gquic-2-rtt"` (which negotiates the version first) and `"gquic-0-rtt"` are the handshakes
    of Google's QUIC before TLS.
    """
    return Transport(_given(kind="quic", cc=cc, handshake=handshake) | more)


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
