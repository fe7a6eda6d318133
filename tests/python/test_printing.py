"""Drawings for print are exactly as wide as their column, and a PNG has print resolution."""

from __future__ import annotations

import re
from collections.abc import Callable
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from PIL import Image

import vazao as vz
from vazao.figures import measure_chart

SAMPLES = pl.DataFrame(
    [(n / 10, 1e4 * (n % 40) + 1e5 * flow, f"flow {flow}") for flow in range(3) for n in range(200)],
    schema=["time_s", "value", "series"],
    orient="row",
)


def drawn(**keys: Any) -> Any:
    return measure_chart(SAMPLES, "cwnd", "step", color="series", **keys)


def width_of(chart: Any) -> float:
    file = StringIO()
    chart.save(file, format="svg")
    found = re.search(r'<svg[^>]* width="([\d.]+)"', file.getvalue())
    assert found
    return float(found[1])


LAYOUTS: dict[str, Callable[[], Any]] = {
    "one": lambda: drawn(),
    "side by side": lambda: drawn() | drawn(),
    "three side by side": lambda: drawn() | drawn() | drawn(),
    "one below the other": lambda: drawn() & drawn(),
    "two above one": lambda: (drawn() | drawn()) & drawn(),
    "panels": lambda: drawn(facet="series"),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(("width", "points"), [("column", 252), ("page", 516)])
def test_a_drawing_is_as_wide_as_its_column_whatever_is_in_it(layout: str, width: str, points: float) -> None:
    with vz.style("paper", width=width):
        chart = LAYOUTS[layout]()
    # IEEE's and ACM's columns are 3.5 and 7.16 in wide; a point is 1/72 in.
    assert width_of(chart) == pytest.approx(points, abs=1)


def test_a_png_for_paper_has_300_dots_an_inch(tmp_path: Path) -> None:
    with vz.style("paper", width="column"):
        chart = drawn()
    chart.save(tmp_path / "x.png")
    image = Image.open(BytesIO((tmp_path / "x.png").read_bytes()))
    assert image.width == 252 / 72 * 300
    assert image.info["dpi"][0] == pytest.approx(300, abs=1)
    # An explicit scale factor takes precedence, and the screen's resolution is unchanged.
    chart.save(tmp_path / "y.png", scale_factor=1)
    assert Image.open(BytesIO((tmp_path / "y.png").read_bytes())).width == 252
