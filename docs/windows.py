"""Draws docs/images/windows/NAME.svg: the window of each congestion control on one path.

.venv/bin/python docs/windows.py
"""

from __future__ import annotations

from pathlib import Path

import polars as pl

import vazao as vz
from vazao.figures import PAPER, Drawing, Face, Plot, Rows, thin
from vazao.study import Figure, catalogue

IMAGES = Path(__file__).parent / "images" / "windows"
RATE, DELAY, QUEUE, JOINS, UNTIL = "20 Mbps", "20 ms", "1 bdp", "30 s", "60 s"
"""Parameters of the path, the time at which a CUBIC flow joins, and the end."""


def window(name: str) -> str:
    """Picture of one control, as SVG."""
    link = vz.link(RATE, DELAY, queue=QUEUE)
    network = vz.dumbbell(bottleneck=link, access=vz.link("1 Gbps", "0 ms"), pairs=2)
    flows = [vz.flow(vz.upload(), vz.tcp(cc=name)), vz.flow(vz.upload(), vz.tcp(cc="cubic"), start=JOINS)]
    result = vz.run(network, flows, until=UNTIL, trace=["cwnd"], trace_every_s=0.2)
    called = pl.when(pl.col("flow") == 0).then(pl.lit(name)).otherwise(pl.lit("CUBIC, joining"))
    frame = result.samples.select("time_s", "value", series=called).sort("series", "time_s", maintain_order=True)
    figure = Figure(
        id=name, title=name, sql="samples", kind="step", x="time_s", y="value", y_unit="B", color="series",
        x_title="Time", y_title="Congestion window",
    )  # fmt: skip
    order = [name, "CUBIC, joining"]
    rows = Rows(thin(frame, ["series"], "value"))
    return Drawing(Plot(figure, rows, PAPER, Face.STILL, order, {"series": order})).svg()


if __name__ == "__main__":
    IMAGES.mkdir(parents=True, exist_ok=True)
    for entry in catalogue.of_kind("congestion control"):
        (IMAGES / f"{entry.name}.svg").write_text(window(entry.name) + "\n", encoding="utf-8")
