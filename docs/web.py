"""Draws docs/images/web/NAME.svg: what losses do to pages, and what a changing rate does to a video.

.venv/bin/python docs/web.py
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import drawing
import polars as pl

import vazao as vz

IMAGES = Path(__file__).parent / "images" / "web"
VERSIONS: dict[str, tuple[vz.App, vz.Transport]] = {
    "HTTP/1.1": (vz.page(60, "lognormal 15 kB", root="20 kB", http="1.1"), vz.tcp(tls="1.3")),
    "HTTP/2": (vz.page(60, "lognormal 15 kB", root="20 kB", http="2"), vz.tcp(tls="1.3")),
}
SEEDS = range(1, 31)


def load(version: str, loss: float, seed: int, **more: Any) -> vz.Result:
    """One page over a path of 10 Mbit/s and 40 ms."""
    network = vz.point_to_point(vz.link("10 Mbps", "20 ms", queue="100 packets", loss=loss))
    return vz.run(network, [vz.flow(*VERSIONS[version])], seed=seed, **more)


def times() -> None:
    """Page load time and ObjectIndex by loss, means of the same losses for all."""
    losses = [0.0, 0.0025, 0.005, 0.01, 0.015, 0.02, 0.03, 0.04, 0.05]
    rows = [
        (version, 100 * loss, load(version, loss, seed).flows)
        for version in VERSIONS
        for loss in losses
        for seed in SEEDS
    ]

    def means(column: str) -> pl.DataFrame:
        values = [(version, loss, float(flows[column].item())) for version, loss, flows in rows]
        frame = pl.DataFrame(values, schema=["series", "loss", "value"], orient="row")
        return frame.group_by("series", "loss", maintain_order=True).agg(pl.col("value").mean())

    panels = {
        "all objects (page load time)": means("completion_s"),
        "an object (ObjectIndex)": means("message_latency_mean_s"),
    }
    drawing.draw(
        IMAGES / "times.svg", "When a page is there, by loss", panels, list(VERSIONS), "Time (s)",
        x="loss", x_title="Packets lost (%)",
    )  # fmt: skip


def objects() -> None:
    """How many objects are there at a time, of three pages under the same losses."""
    panels = {}
    for seed in (1, 2):
        frames = [
            load(version, 0.02, seed, trace=["objects"]).samples.select(
                "time_s", series=pl.lit(version), value=pl.col("value")
            )
            for version in VERSIONS
        ]
        panels[f"seed {seed}"] = pl.concat(frames)
    drawing.draw(
        IMAGES / "objects.svg", "Objects that have come, 2 % of packets lost", panels, list(VERSIONS), "Objects",
        **drawing.OVER_TIME,
    )  # fmt: skip


RATES = [{"at": "0 s", "rate": "6 Mbps"}, {"at": "120 s", "rate": "1 Mbps"}, {"at": "240 s", "rate": "6 Mbps"}]
ADAPTATIONS = ["bba-0", "rate-based"]


def video() -> None:
    """Rates and buffers of both adaptations while the path has a sixth of its rate."""
    network = vz.point_to_point(vz.link(RATES, "20 ms", queue="100 packets"))

    def over_time(measure: str, scale: float) -> pl.DataFrame:
        frames = [
            vz.run(network, [vz.flow(vz.video("8 min", adaptation=name))], trace=[measure]).samples.select(
                "time_s", series=pl.lit(name), value=pl.col("value") / scale
            )
            for name in ADAPTATIONS
        ]
        return pl.concat(frames)

    drawing.draw(
        IMAGES / "bitrate.svg", "Rate of each segment", {"": over_time("bitrate", 1e6)}, ADAPTATIONS,
        "Bit rate (Mbit/s)", **drawing.OVER_TIME,
    )  # fmt: skip
    drawing.draw(
        IMAGES / "buffer.svg", "Video in the buffer", {"": over_time("buffer", 1)}, ADAPTATIONS, "Video (s)",
        **drawing.OVER_TIME,
    )  # fmt: skip


if __name__ == "__main__":
    for picture in (times, objects, video):
        picture()
