"""Tables in LaTeX: the unit in the column head, the same number of decimals in all of its cells, and only booktabs."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl
import pytest

import vazao as vz


@pytest.fixture
def written(tmp_path: Path) -> Path:
    return tmp_path / "x.tex"


def cells(text: str) -> list[list[str]]:
    """Cells of the head and of each row; a cell that spans columns counts once."""
    rows = re.findall(r"^(.*) \\\\$", text, re.MULTILINE)
    whole = [re.sub(r"\\multicolumn\{2\}\{c\}\{(.*?)\}(?= &|$)", r"\1", row) for row in rows]
    return [row.split(" & ") for row in whole]


def table(values: dict[str, list[object]], path: Path) -> list[list[str]]:
    return cells(vz.write_table(pl.DataFrame(values, strict=False), path).read_text())


def test_latex_is_a_tabular_with_the_unit_in_the_head(written: Path) -> None:
    rows = pl.DataFrame(
        {
            "cc": ["cubic_1 50 % & <b>", "a|b\\c"],
            "runs": [3, 4],
            "goodput_bps": [9.57e6, None],
            "± goodput_bps": [1.31e6, None],
        }
    )
    assert vz.write_table(rows, written).read_text() == (
        "% \\usepackage{booktabs}\n"
        "\\begin{tabular}{lrr@{${}\\pm{}$}r}\n"
        "\\toprule\n"
        "cc & runs & \\multicolumn{2}{c}{goodput (Mbit/s)} \\\\\n"
        "\\midrule\n"
        "cubic\\_1 50 \\% \\& \\textless{}b\\textgreater{} & 3 & 9.6 & 1.3 \\\\\n"
        "a|b\\textbackslash{}c & 4 & \\multicolumn{2}{c}{--} \\\\\n"
        "\\bottomrule\n"
        "\\end{tabular}\n"
    )


def test_a_column_has_one_unit_and_as_many_decimals_everywhere(written: Path) -> None:
    head, *rows = table(
        {
            "completion_s": [0.0123, 1.5, 12.25],
            "queue_delay_mean_s": [25e-6, 0.0031, 0.012],
            "goodput_bps": [950e3, 9.57e6, 95.7e6],
            "utilisation": [0.5, 0.9876, 1.0],
            "jain": [0.5, 1.0, 0.98765],
            "app_bytes": [100_000, 2_500_000, 10_000_000],
        },
        written,
    )
    assert head == [
        "completion (s)",
        "queue delay mean (ms)",
        "goodput (Mbit/s)",
        r"utilisation (\%)",
        "jain",
        "app (MB)",
    ]
    assert [row[0] for row in rows] == ["0.01", "1.50", "12.25"]
    assert [row[1] for row in rows] == ["0.03", "3.10", "12.00"]
    assert [row[2] for row in rows] == ["0.95", "9.57", "95.70"]
    assert [row[3] for row in rows] == ["50.0", "98.8", "100.0"]
    assert [row[4] for row in rows] == ["0.500", "1.000", "0.988"]
    assert [row[5] for row in rows] == ["0.10", "2.50", "10.00"]


def test_intervals_say_how_many_decimals_there_are(written: Path) -> None:
    """Two digits of the widest interval (GUM, JCGM 100:2008, 7.2.6), and at least one of the narrowest."""
    head, *rows = table({"cc": ["a", "b"], "rtt_s": [0.05196, 0.0401], "± rtt_s": [0.007776, 0.00031]}, written)
    assert head == ["cc", "rtt (ms)"]
    assert rows == [["a", "52.0", "7.8"], ["b", "40.1", "0.3"]]


def test_what_is_no_number_is_told(written: Path) -> None:
    head, *rows = table(
        {
            "packets_sent": [1234567, 12, None],
            "x": [float("nan"), float("inf"), -1.5],
            "loss_rate": [1e-9, 0.5, 0.0],
            "intact": [True, False, None],
        },
        written,
    )
    assert head == ["packets sent", "x", r"loss rate (\%)", "intact"]
    assert [row[0] for row in rows] == [r"1\,234\,567", "12", "--"]
    assert [row[1] for row in rows] == ["--", r"$\infty$", "$-$1.500"]
    assert [row[2] for row in rows] == [r"$<$\,0.01", "50.00", "0.00"]
    assert [row[3] for row in rows] == ["yes", "no", "--"]


@pytest.mark.parametrize("values", [[], [None], [0.0], [float("nan")]])
def test_a_column_without_a_number_is_a_column(values: list[object], written: Path) -> None:
    rows = pl.DataFrame({"goodput_bps": pl.Series(values, dtype=pl.Float64)})
    assert vz.write_table(rows, written).read_text().count(r"\\") == 1 + len(values)
