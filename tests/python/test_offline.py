"""Charts without a network: an exported notebook and a saved chart load no scripts from elsewhere."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import altair
import pytest

import vazao as vz
from browsers import Open, needs_chromium, opener

CELLS = [
    "import vazao as vz\n"
    'net = vz.point_to_point(vz.link("8 Mbps", "10 ms", loss=0.002))\n'
    'result = vz.run(net, [vz.flow(vz.upload("300 kB"))], trace=["cwnd"])',
    'result.plot("cwnd")',
    'result.plot("cwnd") | result.plot("cwnd")',
]


@pytest.fixture(scope="module")
def outputs() -> list[dict[str, str]]:
    """Outputs of a notebook's cells, by MIME type."""
    notebooks = pytest.importorskip("nbformat", reason="nbformat is not installed: no notebook is run")
    clients = pytest.importorskip("nbclient", reason="nbclient is not installed: no notebook is run")
    pytest.importorskip("ipykernel", reason="ipykernel is not installed: no notebook is run")
    book = notebooks.v4.new_notebook(cells=[notebooks.v4.new_code_cell(cell) for cell in CELLS])
    clients.NotebookClient(book, kernel_name="python3", timeout=120).execute()
    return [cell.outputs[0].data for cell in book.cells[1:]]


@pytest.fixture
def opened(browser: Any) -> Iterator[Open]:
    """Opens pages, which may request nothing from outside."""
    with opener(browser) as open_file:
        yield open_file


def test_no_script_of_a_chart_is_elsewhere(outputs: list[dict[str, str]]) -> None:
    for shown in outputs:
        assert not re.search(r"<(script|link|iframe)[^>]+(src|href)=", shown["text/html"])
        assert "cdn" not in re.sub(r'atob\("[^"]*"\)|base64,[^"]*"', "", shown["text/html"]).lower()
        # If scripts do not run, as on a code host, an image is shown.
        assert re.search(r'<img [^>]*src="data:image/(svg\+xml|png);base64,', shown["text/html"])


@needs_chromium
def test_charts_of_an_exported_notebook_answer_to_the_pointer(
    outputs: list[dict[str, str]], opened: Open, tmp_path: Path
) -> None:
    page = tmp_path / "notebook.html"
    body = "\n".join(shown["text/html"] for shown in outputs)
    page.write_text(f'<!doctype html><meta charset="utf-8"><title>Notebook</title>{body}', encoding="utf-8")
    shown = opened(page)
    shown.wait_for_function("document.querySelectorAll('.vazao-chart svg.marks').length === 2")
    assert shown.locator(".vazao-chart > img").count() == 0
    chart = shown.locator(".vazao-chart svg.marks").first
    box = chart.bounding_box()
    tooltip = shown.locator("#vg-tooltip-element.visible")
    for share in range(1, 20):
        shown.mouse.move(box["x"] + box["width"] * share / 20, box["y"] + box["height"] / 2)
        if tooltip.count():
            break
    tooltip.wait_for(timeout=2000)


@needs_chromium
def test_the_file_of_a_chart_asks_nobody(opened: Open, tmp_path: Path) -> None:
    result = vz.run(vz.point_to_point(vz.link("8 Mbps", "10 ms")), [vz.flow(vz.upload("50 kB"))], trace=["cwnd"])
    result.plot("cwnd").save(tmp_path / "chart.html")
    opened(tmp_path / "chart.html").wait_for_selector("svg.marks")


def test_another_renderer_that_was_asked_for_draws() -> None:
    result = vz.run(vz.point_to_point(vz.link("8 Mbps", "10 ms")), [vz.flow(vz.upload("50 kB"))], trace=["cwnd"])
    with altair.renderers.enable("svg"):
        assert list(result.plot("cwnd")._repr_mimebundle_()) == ["image/svg+xml"]
    assert "text/html" in result.plot("cwnd")._repr_mimebundle_()
