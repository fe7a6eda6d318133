"""Draws docs/images/web/NAME.svg: the effect of losses on web pages, and of a changing rate on a video.

.venv/bin/python docs/web.py
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import drawing
import polars as pl

import vazao as vz

IMAGES = Path(__file__).parent / "images" / "web"
VERSIONS = {"HTTP/1.1": "1.1", "HTTP/2": "2", "HTTP/3": "3"}
LARGE = vz.link("10 Mbps", "20 ms", queue="100 packets"), {"objects": 60, "size": "lognormal 15 kB", "root": "20 kB"}
SMALL = vz.link("100 Mbps", "50 ms"), {"objects": 30, "size": "1 kB", "root": "5 kB"}
SEEDS = range(1, 41)


def load(page: tuple[vz.Link, dict[str, Any]], version: str, loss: float, seed: int, **more: Any) -> vz.Result:
    """Load one page, over TLS 1.3 or QUIC."""
    link, objects = page
    transport = vz.quic() if version == "HTTP/3" else vz.tcp(tls="1.3")
    flow = vz.flow(vz.page(http=VERSIONS[version], **objects), transport)
    return vz.run(vz.point_to_point(vz.link(**link, loss=loss)), [flow], seed=seed, **more)


def times() -> None:
    """Draw page load times over loss, as means over the seeds."""

    def mean(page: tuple[vz.Link, dict[str, Any]], version: str, loss: float) -> float:
        loads = [load(page, version, loss, seed).flows["completion_s"].item() for seed in SEEDS]
        return float(sum(loads)) / len(loads)

    def by_loss(page: tuple[vz.Link, dict[str, Any]]) -> pl.DataFrame:
        losses = [0.0, 0.005, 0.01, 0.02, 0.03, 0.04, 0.05]
        rows = [(version, 100 * loss, mean(page, version, loss)) for version in VERSIONS for loss in losses]
        return pl.DataFrame(rows, schema=["series", "loss", "value"], orient="row")

    panels = {"30 objects of 1 kB": by_loss(SMALL), "60 objects, 900 kB": by_loss(LARGE)}
    drawing.draw(
        IMAGES / "times.svg", "Page load time by loss", panels, list(VERSIONS), "Page load time (s)",
        x="loss", x_title="Packets lost (%)",
    )  # fmt: skip


def objects() -> None:
    """Draw the number of objects loaded over time, for three pages under the same losses."""
    panels = {}
    for seed in (4, 5):
        frames = [
            load(SMALL, version, 0.05, seed, trace=["objects"]).samples.select(
                "time_s", series=pl.lit(version), value=pl.col("value")
            )
            for version in VERSIONS
        ]
        panels[f"seed {seed}"] = pl.concat(frames)
    drawing.draw(
        IMAGES / "objects.svg", "Objects that have come, 5 % of packets lost", panels, list(VERSIONS), "Objects",
        **drawing.OVER_TIME,
    )  # fmt: skip


RATES = [{"at": "0 s", "rate": "6 Mbps"}, {"at": "120 s", "rate": "1 Mbps"}, {"at": "240 s", "rate": "6 Mbps"}]
ADAPTATIONS = ["bba-0", "rate-based"]


def video() -> None:
    """Draw rates and buffers of both adaptations while the path has a sixth of its rate."""
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
