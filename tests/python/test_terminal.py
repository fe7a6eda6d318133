"""Tables in a terminal: nothing is lost, whatever the width."""

from __future__ import annotations

import re

import polars as pl
import pytest

from vazao.cli import terminal

MEANS = pl.DataFrame(
    {
        "cc": ["bbr3", "cubic", "vegas"],
        "flow": ["flow.0", "flow.1", "flow.0"],
        "runs": [10, 10, 10],
        "goodput_bps": [23.63e6, 1.863e6, 46.12e6],
        "± goodput_bps": [15.61e6, 91.2e3, 1.1e6],
        "completion_s": [17.85, 19.77, None],
        "± completion_s": [0.3658, 1.022, None],
        "retransmissions": [178.0, 203.2, 1142.5],
        "± retransmissions": [13.54, 38.38, 96.3],
        "utilisation": [0.9258, 0.8378, 0.9541],
        "± utilisation": [0.01879, 0.04181, None],
        "jain": [0.9732, 0.9331, 0.9834],
        "± jain": [0.004001, 0.04181, 0.01],
    }
)
CELLS = [
    *("bbr3", "cubic", "vegas", "flow.0", "flow.1", "23.63 ± 15.61 Mbit/s", "1.863 Mbit/s ± 91.2 kbit/s"),
    *("17.85 s ± 365.8 ms", "19.77 ± 1.022 s", "178 ± 13.54", "1142 ± 96.3", "0.9732 ± 0.004001"),
]
"""Values with their intervals, as units format them."""


def printed(monkeypatch: pytest.MonkeyPatch, width: int, rows: pl.DataFrame, raw: bool = False) -> str:
    monkeypatch.setattr(terminal.out, "width", width)
    with terminal.out.capture() as shown:
        terminal.out.print(terminal.table(rows, title="Means", raw=raw))
    return shown.get()


@pytest.mark.parametrize("width", [40, 60, 80, 100, 120, 200])
def test_no_table_is_cropped(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    text = printed(monkeypatch, width, MEANS)
    assert max(map(len, text.splitlines())) <= width
    # A value that is too long for its line continues in the next one.
    words = " ".join(text.split())
    assert [cell for cell in CELLS if cell not in words] == []
    assert "…" not in text
    assert text.lstrip().startswith("Means")


def test_rows_that_do_not_fit_are_told_one_value_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = printed(monkeypatch, 80, MEANS).splitlines()
    assert [line for line in lines if line.startswith("goodput ")] == [
        "goodput          23.63 ± 15.61 Mbit/s",
        "goodput          1.863 Mbit/s ± 91.2 kbit/s",
        "goodput          46.12 ± 1.1 Mbit/s",
    ]


def test_a_table_that_fits_is_printed_as_a_table(monkeypatch: pytest.MonkeyPatch) -> None:
    text = printed(monkeypatch, 80, MEANS.select("cc", "flow", "goodput_bps", "± goodput_bps"))
    assert re.search(r"bbr3 +flow\.0 +23\.63 ± 15\.61 Mbit/s", text)


def test_names_as_they_are_stored_are_not_cropped(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = pl.DataFrame({f"column_number_{n}_with_a_long_name": [n] for n in range(6)})
    text = printed(monkeypatch, 80, rows, raw=True)
    assert [name for name in rows.columns if name not in text] == []
