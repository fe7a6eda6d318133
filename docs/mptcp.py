"""Draws docs/images/mptcp/NAME.svg: how Multipath TCP uses its subflows.

.venv/bin/python docs/mptcp.py
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import drawing
import polars as pl

import vazao as vz

IMAGES = Path(__file__).parent / "images" / "mptcp"
FAST = vz.link("10 Mbps", "10 ms", queue="30 packets")
SLOW = vz.link("5 Mbps", "60 ms", queue="50 packets")
SUBFLOWS = [f"subflow {number}" for number in range(1, 5)]


def captured(network: vz.Network, flow: vz.Flow, until: str, host: str = "b") -> pl.DataFrame:
    """Packets with data at a host's interfaces; subflows are told apart by their ports, which increase."""
    with TemporaryDirectory() as directory:
        vz.run(network, [flow], until=until, pcap=directory)
        files = sorted(Path(directory).glob(f"{host}.*.pcapng"))
        packets = pl.concat([vz.packets(file) for file in files], how="vertical_relaxed").sort("time_s")
    ports = sorted(packets.filter(pl.col("flags") == "SYN")["source_port"].unique())
    names = dict(zip(ports, SUBFLOWS[: len(ports)], strict=True))
    data = packets.filter(pl.col("length") > 0, pl.col("source_port").is_in(ports))
    return data.with_columns(series=pl.col("source_port").replace_strict(names))


def mapping() -> None:
    """Draw each packet's place in the stream, as it leaves and as it arrives."""
    flow = vz.flow(vz.upload(), vz.mptcp(cc="lia"))
    begin, end = 8.0, 8.2

    def places(host: str) -> pl.DataFrame:
        packets = captured(vz.multipath(FAST, SLOW), flow, f"{end} s", host)
        shown = packets.filter(pl.col("data_sequence").is_not_null(), pl.col("time_s") >= begin)
        start = shown["data_sequence"].min()
        return shown.select("time_s", "series", value=(pl.col("data_sequence") - start) / 1000)

    panels = {"as they leave": places("a"), "as they arrive": places("b")}
    drawing.draw(
        IMAGES / "mapping.svg", "One stream over two subflows", panels, SUBFLOWS[:2], "Place in the stream (kB)",
        kind="point", x="time_s", x_title="Time",
    )  # fmt: skip


def rates(network: vz.Network, settings: Mapping[str, Any], until: str, every: float = 0.5) -> pl.DataFrame:
    """Mbit/s of payload that arrive on each subflow."""
    packets = captured(network, vz.flow(vz.upload(), vz.Transport(settings)), until)
    end = float(until.removesuffix(" s"))
    steps = pl.DataFrame({"time_s": [every * step for step in range(int(end / every))]})
    grid = packets.select("series").unique(maintain_order=True).join(steps, how="cross")
    counted = packets.group_by("series", time_s=(pl.col("time_s") / every).floor() * every).agg(
        value=pl.col("length").sum() * 8 / every / 1e6
    )
    return grid.join(counted, on=["series", "time_s"], how="left").with_columns(pl.col("value").fill_null(0.0))


def managers() -> None:
    """Draw the rates of the subflows that each path manager opens over two paths."""
    network = vz.multipath(FAST, SLOW)
    panels = {name: rates(network, vz.mptcp(cc="lia", path_manager=name), "30 s", 1.0) for name in MANAGERS}
    drawing.draw(
        IMAGES / "managers.svg", "Rates of subflows, by path manager", panels, SUBFLOWS, "Payload (Mbit/s)",
        **drawing.OVER_TIME,
    )  # fmt: skip


MANAGERS = ["default", "ndiffports", "single-mesh", "full-mesh"]


def failure() -> None:
    """Draw the rates while the first path is silent from 5 s to 10 s."""
    gone = vz.link(**FAST, outages=[{"at": "5 s", "for": "5 s", "kind": "loss"}])
    network = vz.multipath(gone, SLOW)
    panels = {
        "both are used": rates(network, vz.mptcp(cc="lia"), "20 s"),
        "the second is a backup": rates(network, vz.mptcp(cc="lia", backups=[2]), "20 s"),
    }
    drawing.draw(
        IMAGES / "failure.svg", "A path is silent from 5 to 10 s", panels, SUBFLOWS[:2], "Payload (Mbit/s)",
        **drawing.OVER_TIME,
    )  # fmt: skip


BULK = ["lowest-rtt", "round-robin", "redundant", "retransmit-penalize", "blest", "forward-delay"]


def by_size(
    name: str, title: str, schedulers: list[str], sizes: list[int], measure: Callable[[str, int], float], y: str, x: str
) -> None:
    """Draw a measure for each scheduler over a number of kilobytes."""
    rows = [(scheduler, size, measure(scheduler, size)) for scheduler in schedulers for size in sizes]
    frame = pl.DataFrame(rows, schema=["series", "size", "value"], orient="row")
    path = IMAGES / f"{name}.svg"
    drawing.draw(path, title, {"": frame}, schedulers, y, x="size", x_title=x, x_scale="log")


def buffers() -> None:
    """Draw the goodput of a long transfer over the receiver's buffer."""

    def goodput(scheduler: str, kilobytes: int) -> float:
        transport = vz.mptcp(cc="lia", scheduler=scheduler, receive_buffer=f"{kilobytes} kB")
        result = vz.run(vz.multipath(FAST, SLOW), [vz.flow(vz.upload(), transport)], until="30 s")
        return float(result.flows["goodput_bps"].item()) / 1e6

    by_size(
        "buffers", "Goodput by receive buffer and scheduler", BULK, [64, 96, 128, 192, 256, 384, 512, 768], goodput,
        "Goodput (Mbit/s)", "Receive buffer (kB)",
    )  # fmt: skip


SHORT = ["lowest-rtt", "round-robin", "redundant", "forward-delay", "min-delivery-delay", "lws"]


def messages() -> None:
    """Draw the latency of messages over their size, one message every two seconds."""

    def latency(scheduler: str, kilobytes: int) -> float:
        flow = vz.flow(vz.messages(f"{kilobytes} kB", "2 s", count=30), vz.mptcp(cc="lia", scheduler=scheduler))
        return 1000 * float(vz.run(vz.multipath(FAST, SLOW), [flow]).flows["message_latency_p50_s"].item())

    by_size(
        "messages", "Median latency by message size and scheduler", SHORT, [2, 5, 10, 20, 40, 80, 160], latency,
        "Latency (ms)", "Message (kB)",
    )  # fmt: skip


if __name__ == "__main__":
    for picture in (mapping, managers, failure, buffers, messages):
        picture()
