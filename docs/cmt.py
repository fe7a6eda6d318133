"""Draws docs/images/cmt/NAME.svg: congestion windows of an association that sends over two paths at once.

.venv/bin/python docs/cmt.py
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import drawing
import polars as pl

import vazao as vz

IMAGES = Path(__file__).parent / "images" / "cmt"
RATE, QUEUE = "10 Mbps", "100 packets"
PATHS = ["path 1", "path 2"]

Settings = Mapping[str, Any]


def paths(losses: tuple[Any, Any], delays: tuple[str, str] = ("24 ms", "24 ms"), **first: Any) -> vz.Network:
    """Two disjoint paths with these losses of data, none of acknowledgements; `first` sets keys of the first path."""
    meet = [vz.link(loss=losses[0], **first), vz.link(loss=losses[1])]
    both = zip(meet, delays, strict=True)
    return vz.multipath(*(vz.link(RATE, delay, queue=QUEUE, forward=data) for data, delay in both))


def windows(network: vz.Network, settings: Settings, until: str) -> pl.DataFrame:
    """Congestion window of each path over time."""
    transport = vz.Transport(kind="sctp", cmt=True, initial_ssthresh="64 KiB")
    transport.update(settings)
    result = vz.run(network, [vz.flow(vz.upload(message="1452 B"), transport)], until=until, trace=["cwnd"])
    return result.samples.select("time_s", "value", series=pl.format("path {}", pl.col("path") + 1))


def draw(name: str, title: str, panels: Mapping[str, pl.DataFrame], series: Sequence[str] = PATHS) -> None:
    """Draw panels side by side, with a line for each path or other series."""
    file = IMAGES / f"{name}.svg"
    drawing.draw(file, title, panels, series, "Congestion window", y_unit="B", **drawing.OVER_TIME)


REFERENCE: Settings = {"cwnd_growth": "cuc-v2", "fast_recovery": "per-association"}
PROPOSAL: Settings = {"cwnd_growth": "gap-acked", "fast_recovery": "per-path"}


def starvation() -> None:
    """Draw RFC 4960's growth and CUC's, while path 1 is silent and its timer runs."""
    network = paths((0.0, 0.0), outages=[{"at": "700 ms", "for": "400 ms", "kind": "loss"}])
    growths = {"rfc4960": "the cumulative TSN must advance", "cuc-v2": "the path's own must (CUC)"}
    panels = {title: windows(network, {"cwnd_growth": name}, "4 s") for name, title in growths.items()}
    draw("starvation", "Growth while path 1 waits for its timer", panels)


def split() -> None:
    """Draw missing reports counted over all paths, and per path, over unequal paths without losses."""
    network = paths((0.0, 0.0), ("10 ms", "60 ms"))
    panels = {
        title: windows(network, {"sfr": sfr, "dac": False, "initial_ssthresh": "auto"}, "6 s")
        for title, sfr in {"reports count for all": False, "for each path (SFR)": True}.items()
    }
    draw("split", "Reordering by unequal paths, without loss", panels)


def recovery() -> None:
    """Draw one loss on each path, the second during the repair of the first."""
    losses = ({"kind": "list", "packets": [150]}, {"kind": "list", "packets": [160]})
    panels = {
        title: windows(paths(losses), settings, "4 s")
        for title, settings in {"reference: the association's": REFERENCE, "proposal: each path's": PROPOSAL}.items()
    }
    draw("recovery", "Two losses, one on each path", panels)


def losses() -> None:
    """Draw random losses of 1 % on each path."""
    panels = {
        title: windows(paths((0.01, 0.01)), settings, "15 s")
        for title, settings in {"reference": REFERENCE, "proposal": PROPOSAL}.items()
    }
    draw("losses", "Losses of 1 % on both paths", panels)


CONTROLS = {
    "Reno on each path": "reno",
    "LIA": "lia",
    "OLIA": "olia",
    "BALIA": "balia",
    "CMT/RPv2": "rpv2",
    "Weighted Vegas": "wvegas",
}


def coupled() -> None:
    """Draw uncoupled and coupled windows over two paths, of which the second loses more."""
    panels = {
        title: windows(paths((0.001, 0.004)), {"cc": cc, "initial_ssthresh": "auto", **PROPOSAL}, "30 s")
        for title, cc in CONTROLS.items()
    }
    draw("coupled", "Losses of 0.1 and 0.4 %", panels)


def shared() -> None:
    """Draw the sum of both windows over a shared bottleneck, and the window of a TCP flow that joins later."""
    ways = [("a", "A1"), ("A1", "R1"), ("a", "A2"), ("A2", "R1"), ("R2", "B1"), ("B1", "b"), ("R2", "B2"), ("B2", "b")]
    beside = [("c", "C"), ("C", "R1"), ("R2", "D"), ("D", "d")]
    links = dict.fromkeys(ways + beside, vz.link("1 Gbps", "1 ms"))
    bottleneck = {("R1", "R2"): vz.link("20 Mbps", "18 ms", queue="1 bdp")}
    routers = ["A1", "A2", "B1", "B2", "C", "D", "R1", "R2"]
    network = vz.custom(["a", "b", "c", "d"], links | bottleneck, routers=routers)
    transport = vz.sctp(cmt=True, send_buffer="4 MB", receive_buffer="4 MB", **PROPOSAL)
    names = {0: "both paths", 1: "TCP Reno"}

    def played(cc: str) -> pl.DataFrame:
        flows = [
            vz.flow(vz.upload(message="1452 B"), {**transport, "cc": cc}, client="a", server="b"),
            vz.flow(vz.upload(), vz.tcp(cc="reno"), client="c", server="d", start="10 s", start_spread="1 s"),
        ]
        samples = vz.run(network, flows, until="120 s", trace=["cwnd"], trace_every_s=0.1).samples
        # Paths are sampled when something happens to them: means over each second can be added.
        means = samples.group_by("flow", "path", time_s=pl.col("time_s").floor()).agg(pl.col("value").mean())
        summed = means.group_by("flow", "time_s").agg(pl.col("value").sum())
        return summed.select("time_s", "value", series=pl.col("flow").replace_strict(names))

    panels = {title: played(cc) for title, cc in CONTROLS.items()}
    draw("shared", "Two paths over one bottleneck, beside TCP from 10 s on", panels, list(names.values()))


if __name__ == "__main__":
    for picture in (starvation, split, recovery, losses, coupled, shared):
        picture()
