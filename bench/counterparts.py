"""Rows of other people's measurements, each with our counterpart scenario.

`tests/python/reference/README.md` describes how they measured. This module derives links, queues, losses and hosts'
settings from that. Settings follow the other implementation's documentation or source; none is fitted to a row's
result.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import associations

import vazao as vz
from vazao.study import catalogue

DIRECTORY = Path(__file__).parents[1] / "tests" / "python" / "reference"

Row = Mapping[str, str]
Settings = dict[str, Any]


@dataclass(frozen=True)
class Reference:
    """One row: the published measurement, and how to measure the same here."""

    source: str
    variant: str
    condition: str
    """All other properties of the row: variants are compared under equal conditions."""
    loss: float
    mean_s: float
    sd_s: float
    n: int
    network: vz.Network
    flows: tuple[vz.Flow, ...]
    until_closed: bool = False
    """Whether the time runs until both sides have closed, not until the last byte was read."""
    lost: float = 0.0
    """Number of packets lost, if reported."""

    @property
    def name(self) -> str:
        """Label for tables and messages."""
        return f"{self.source}, {self.variant}, {self.condition}"

    @property
    def needs(self) -> str | None:
        """Program or kernel that the counterpart needs but is not installed, if any."""
        for flow in self.flows:
            cc = flow["transport"].get("cc")
            if cc is None:
                continue
            entry = CONTROLS.get(cc["kind"])
            if entry is None:
                return f"congestion control {cc['kind']}"
        return None


CONTROLS = {name: entry for entry in catalogue.of_kind("congestion control") for name in (entry.name, *entry.aliases)}


def control(name: str, profile: str) -> Settings:
    """Settings of a congestion control, with the given profile if it has that."""
    entry = CONTROLS.get(name)
    expected = next((p.expected for p in entry.parameters if p.name == "profile"), "") if entry else ""
    return {"kind": name, "profile": profile} if profile in re.findall(r"\w+", expected) else {"kind": name}


# ---- Linux ---------------------------------------------------------------------------------------------------------


def linux_tcp(cc: str) -> Settings:
    """Linux's TCP in a distribution's defaults: window growth by acknowledged bytes, HyStart only in CUBIC."""
    slow_start = "hystart" if cc == "cubic" else "standard"
    return {"cc": control(cc, "linux"), "slow_start": slow_start, "abc_limit": 1000, "recovery": "rack"}


LOSS_MADE = 0.95
"""Ratio of real to nominal loss: the emulator's ten loss sequences lose about 5 % less."""


def linux618(row: Row) -> Reference:
    """User-space link emulator: queue, serialisation, loss towards the server, half the RTT each way."""
    loss, rtt_ms = float(row["loss"]), float(row["rtt_ms"])
    forward = vz.link(loss=loss * LOSS_MADE) if loss else None
    link = vz.link(
        f"{row['rate_mbit']} Mbps", f"{rtt_ms / 2} ms", queue=f"{row['queue_pkts']} packets", forward=forward
    )
    flow = vz.flow(vz.upload(f"{row['bytes']} B"), vz.tcp(**linux_tcp(row["cc"])))
    condition = f"{row['rate_mbit']} Mbit/s, {rtt_ms:g} ms, loss {loss:g}, {int(row['bytes']):,} B"
    return Reference("Linux 6.18", row["cc"], condition, loss, *outcome(row), vz.point_to_point(link), (flow,))


# Beyond the first subflow a kernel's connection has at most eight (MPTCP_PM_ADDR_MAX, net/mptcp/pm_kernel.c).
LINUX_MESH: Settings = {"kind": "full-mesh", "limit": 9}

MPTCP_MODES: Mapping[str, tuple[str, Any]] = {
    "sub": ("a subflow an interface", "single-mesh"),
    "fullmesh": ("full mesh", LINUX_MESH),
    # The server announces its addresses, too: one more subflow on each link but the first. Links are alike.
    "sub+sig": ("subflows of both sides", LINUX_MESH),
}


def linux618_mptcp(row: Row) -> Reference:
    """Multipath TCP over that emulator, with a link for each pair of interfaces, in the given order."""
    rates, queues, loss = row["rates_mbit"].split("+"), row["queue_pkts"].split("+"), float(row["loss"])
    links = [
        vz.link(
            f"{rate} Mbps",
            f"{row['owd_ms']} ms",
            queue=f"{queue} packets",
            forward=vz.link(loss=loss * LOSS_MADE) if loss else None,
        )
        for rate, queue in zip(rates, queues, strict=True)
    ]
    words, manager = MPTCP_MODES[row["mode"]]
    transport = vz.mptcp(path_manager=manager, scheduler="least-linger", subflow_windows=True, **linux_tcp(row["cc"]))
    flow = vz.flow(vz.upload(f"{row['bytes']} B"), transport)
    condition = f"{row['rates_mbit']} Mbit/s, {words}, loss {loss:g}, {int(row['bytes']):,} B"
    variant = f"MPTCP {row['cc']}"
    return Reference("Linux 6.18", variant, condition, loss, *outcome(row), vz.multipath(*links), (flow,))


MPTCP_CONDITION = ("rates_mbit", "owd_ms", "loss", "queue_pkts", "mode", "cc", "bytes")


def merged(rows: Iterable[Row]) -> Iterator[Row]:
    """Merges runs under the same condition into one row, with their mean and standard deviation."""

    def key(row: Row) -> tuple[str, ...]:
        return tuple(row[name] for name in MPTCP_CONDITION)

    for _, same in groupby(sorted(rows, key=key), key):
        runs = list(same)
        times = [float(row["complete_s"]) for row in runs]
        sd = stdev(times) if len(times) > 1 else 0.0
        yield {**runs[0], "mean_s": str(fmean(times)), "sd_s": str(sd), "n": str(len(times))}


NETEM_LIMIT = 1000
NETEM_HEADER = 14
IP_PACKET = 1500
UDP_PAYLOAD = 1472


def netem(row: Row) -> vz.Network:
    """The sender's netem drops packets before they are sent at its rate; its limit includes those in flight."""
    rate, loss = float(row["rate_mbit"]), float(row["loss_pct"]) / 100
    forward_ms, reverse_ms = row["delay_fwd/rev_ms"].split("/")
    wire = int(rate * 1e3 * float(forward_ms) / (8 * (IP_PACKET + NETEM_HEADER)))
    loses = vz.link("100 Gbps", forward=vz.link(loss=loss) if loss else None)
    sends = vz.link(
        "100 Gbps",
        reverse=vz.link(delay=f"{reverse_ms} ms"),
        forward=vz.link(
            f"{rate} Mbps",
            f"{forward_ms} ms",
            queue=f"{NETEM_LIMIT - wire} packets",
            overhead=f"{NETEM_HEADER} B",
        ),
    )
    return vz.path(loses, sends)


def linux61(row: Row) -> Reference:
    """Two hosts in virtual time with netem between them."""
    size = f"{row['bytes']} B"
    if row["proto"] == "udp":
        # Their rate counts IP packets, ours the payload.
        payload = round(float(row["cc"]) * 1e6 * UDP_PAYLOAD / IP_PACKET)
        flow = vz.flow(vz.upload(size), vz.Transport(kind="udp", rate=f"{payload} bps", payload=UDP_PAYLOAD))
        variant = "udp"
    elif row["proto"] == "sctp":
        flow, variant = associations.linux(size), "sctp"
    else:
        flow = vz.flow(vz.upload(size), vz.tcp(**linux_tcp(row["cc"])))
        variant = row["cc"]
    loss = float(row["loss_pct"]) / 100
    condition = f"{row['rate_mbit']} Mbit/s, {row['delay_fwd/rev_ms']} ms, loss {loss:g}, {int(row['bytes']):,} B"
    return Reference("Linux 6.1", variant, condition, loss, *outcome(row), netem(row), (flow,))


def outcome(row: Row) -> tuple[float, float, int]:
    """Mean, standard deviation and number of runs of a row."""
    return float(row["mean_s"]), float(row["sd_s"]), int(row["n"])


# ---- ns-3 ----------------------------------------------------------------------------------------------------------

NS3_HEADER = 2
"""Bytes of the PPP header that ns-3's point-to-point devices add to each packet."""

NS3_TCP = {
    "initial_window": 10,
    "delayed_ack": 2,
    "delayed_ack_timeout": "200 ms",
    "quick_acks": 1,
    "min_rto": "1 s",
    "host": "rfc",
    "recovery": "sack",
    "prr": True,
    "sack_profile": "ns3",
    "cwv": "grow",
    "rtt": "timestamps",
}
"""Defaults of TcpSocketBase."""


# Window growth per acknowledgement; most acknowledgements cover two segments.
ALL_GROWTH_BY_ACKS = {"counting": "acks"}
"""Grow by one segment per acknowledgement in every phase: TcpNewReno, and variants that inherit its growth."""
SLOW_START_BY_ACKS = {"abc_limit": 1}
"""Grow by one segment in slow start, as inherited from TcpNewReno, and by acknowledged bytes later."""
BY_BYTES = {"abc_limit": 1000}
"""Grow by the bytes acknowledged, in every phase."""


@dataclass(frozen=True)
class Ns3Variant:
    """Our counterpart of a congestion control in ns-3."""

    cc: str
    growth: Settings
    profile: str = "ns3"
    """Profile of the control: ns-3's own, if it has several."""
    parameters: Settings = field(default_factory=dict)
    """Parameters of the control whose defaults differ in ns-3."""
    more: Settings = field(default_factory=dict)


NS3_VARIANTS = {
    "NewReno": Ns3Variant("reno", ALL_GROWTH_BY_ACKS),
    "LinuxReno": Ns3Variant("reno", BY_BYTES, "linux"),
    "HighSpeed": Ns3Variant("highspeed", SLOW_START_BY_ACKS),
    "Illinois": Ns3Variant("illinois", SLOW_START_BY_ACKS),
    "Vegas": Ns3Variant("vegas", SLOW_START_BY_ACKS),
    "Cubic": Ns3Variant("cubic", BY_BYTES, more={"slow_start": {"kind": "hystart", "profile": "ns3"}}),
    "Bbr": Ns3Variant("bbr", BY_BYTES),
    "Bic": Ns3Variant("bic", SLOW_START_BY_ACKS),
    "Htcp": Ns3Variant("htcp", ALL_GROWTH_BY_ACKS),
    "Hybla": Ns3Variant("hybla", ALL_GROWTH_BY_ACKS),
    "Ledbat": Ns3Variant("ledbat", SLOW_START_BY_ACKS),
    "Lp": Ns3Variant("tcp-lp", ALL_GROWTH_BY_ACKS),
    "Scalable": Ns3Variant("scalable", SLOW_START_BY_ACKS, parameters={"increase": 0.02}),
    "Veno": Ns3Variant("veno", ALL_GROWTH_BY_ACKS),
    "Westwood": Ns3Variant("westwood", ALL_GROWTH_BY_ACKS),
    "WestwoodPlus": Ns3Variant("westwood-plus", ALL_GROWTH_BY_ACKS),
    "Yeah": Ns3Variant("yeah", SLOW_START_BY_ACKS),
}


def ns3_tcp(variant: str, tuned: bool) -> Settings:
    """Settings of ns-3's TCP, in one of the two sets."""
    theirs = NS3_VARIANTS[variant]
    sizes = {"mss": 1448, "receive_buffer": "64 MiB"} if tuned else {"mss": 536, "receive_buffer": "128 KiB"}
    send = {"send_buffer": sizes["receive_buffer"]}
    cc = {"cc": control(theirs.cc, theirs.profile) | theirs.parameters}
    return NS3_TCP | sizes | send | cc | theirs.growth | theirs.more


def ns3_link(rate: str, delay: str, queue: Any, loss: float = 0.0) -> vz.Link:
    """Point-to-point channel; losses occur at the receiving device."""
    forward = vz.link(loss=loss) if loss else None
    return vz.link(rate, delay, queue=queue, overhead=f"{NS3_HEADER} B", forward=forward)


ACCESS_MS = 10


def ns3(row: Row) -> Reference:
    """One flow over one link, or two over a dumbbell, of which the later counts."""
    tuned, dumbbell = row["set"] == "tuned", row["topology"] == "dumbbell"
    loss, rate, delay_ms = float(row["loss"]), float(row["bandwidth_mbps"]), float(row["delay_ms"])
    queue = f"{row['droptail_pkts']} packets" if tuned else {"kind": "fq-codel", "device": "100 packets"}
    link = ns3_link(f"{rate} Mbps", f"{delay_ms} ms", queue, loss)
    if dumbbell:
        access = ns3_link("1 Gbps", f"{ACCESS_MS} ms", queue)
        network = vz.dumbbell(bottleneck=link, access=access, pairs=2)
    else:
        network = vz.point_to_point(link)
    flow = vz.flow(vz.upload(f"{row['bytes']} B"), vz.tcp(**ns3_tcp(row["variant"], tuned)))
    condition = (
        f"{row['set']}, {row['topology']}, {rate:g} Mbit/s, {delay_ms:g} ms, loss {loss:g}, {int(row['bytes']):,} B"
    )
    measured = float(row["completion_mean_s"]), float(row["completion_sd_s"]), int(row["n"])
    flows = (flow,) * (2 if dumbbell else 1)
    # FlowMonitor's last packet acknowledges the receiver's FIN: then both sides have closed.
    return Reference(
        "ns-3.37", row["variant"], condition, loss, *measured, network, flows, True, float(row["lost_mean"])
    )


# ---- CMT -----------------------------------------------------------------------------------------------------------


def ns2(row: Row) -> Reference:
    """Concurrent multipath transfer in ns-2."""
    network, flow = associations.ns2(row)
    losses = float(row["loss1"]), float(row["loss2"])
    condition = f"{row['rtt_ms']} ms, loss {losses[0]:g} and {losses[1]:g}, threshold {row['ssthresh']}"
    measured = float(row["transfer_mean_s"]), float(row["transfer_sd_s"]), int(row["n_complete"])
    return Reference("ns-2.35", row["policy"], condition, max(losses), *measured, network, (flow,))


def usrsctp(row: Row) -> Reference:
    """Transfer with usrsctp, over one path or both."""
    network, flow = associations.usrsctp(row)
    losses = float(row["loss_path1"]), float(row["loss_path2"])
    condition = f"{row['rtt_ms']} ms, loss {losses[0]:g} and {losses[1]:g}"
    variant = {"cmt": "CMT", "off": "one path"}[row["variant"]]
    return Reference("usrsctp", variant, condition, max(losses), *outcome(row), network, (flow,))


FILES: Mapping[str, Callable[[Row], Reference]] = {
    "linux618_tcp.csv": linux618,
    "linux618_mptcp.csv": linux618_mptcp,
    "linux61_netem_cc.csv": linux61,
    "linux61_netem_lossy.csv": linux61,
    "ns3_tcp.csv": ns3,
    "ns3_others.csv": ns3,
    "ns2_cmt.csv": ns2,
    "usrsctp_cmt.csv": usrsctp,
}


def read() -> Iterator[Reference]:
    """Yields every row with its counterpart."""
    for name, counterpart in FILES.items():
        with (DIRECTORY / name).open(newline="") as file:
            rows: Iterable[Row] = csv.DictReader(file)
            yield from map(counterpart, rows if counterpart is not linux618_mptcp else merged(rows))
