"""Figures: their statistics against SciPy, the files they are rendered to, the rules they keep."""

import json
import math
import re
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import polars as pl
import pytest
import vl_convert
from scipy import stats

import synthetic
from vazao import figures
from vazao.errors import ResultsError, StudyError
from vazao.figures.channels import Face, in_lines, log_ticks
from vazao.figures.rows import CAP, boxes, half_width, interval95, thin
from vazao.figures.theme import PAPER
from vazao.store import Store
from vazao.units import Unit, title_of, unit_of

pytestmark = pytest.mark.process


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return synthetic.store(tmp_path_factory.mktemp("results"))


@pytest.fixture(scope="module")
def written(store: Store, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return figures.render(synthetic.study(), store, tmp_path_factory.mktemp("figures"))


def draw(store: Store, **given: Any) -> figures.Drawing:
    return figures.drawing(synthetic.study(), store, synthetic.figure("test", **given))


def test_every_figure_becomes_four_files(written: dict[str, Path]) -> None:
    ids = [figure.id for figure in synthetic.study().figures]
    assert sorted(written) == sorted(f"{name}.{suffix}" for name in ids for suffix in ("svg", "pdf", "png", "json"))
    assert all(path.parent.name == "figures" for path in written.values())


def test_svg_is_xml_with_marks(written: dict[str, Path]) -> None:
    for name, path in written.items():
        if name.endswith(".svg"):
            root = ElementTree.parse(path).getroot()
            assert root.tag == "{http://www.w3.org/2000/svg}svg"
            assert len([e for e in root.iter() if e.tag.endswith("path") and e.get("aria-roledescription")]) > 3, name


def test_pdf_has_one_page_with_its_typeface(written: dict[str, Path]) -> None:
    for name, path in written.items():
        if name.endswith(".pdf"):
            content = path.read_bytes()
            assert content.startswith(b"%PDF-"), name
            assert content.rstrip().endswith(b"%%EOF"), name
            assert b"/Count 1" in content, name
            assert b"Inter" in content, f"{name} does not embed the typeface"


def test_png_has_ink(written: dict[str, Path]) -> None:
    for name, path in written.items():
        if name.endswith(".png"):
            width, height, data = read_png(path.read_bytes())
            assert width > 1000, name
            assert height > 500, name
            assert len(set(data[:: max(len(data) // 5000, 1)])) > 10, f"{name} is blank"


def read_png(content: bytes) -> tuple[int, int, bytes]:
    """Width, height and the decompressed scan lines; verifies every chunk's checksum."""
    assert content.startswith(b"\x89PNG\r\n\x1a\n")
    chunks = list(png_chunks(content))
    width, height = struct.unpack(">II", chunks[0][1][:8])
    return width, height, zlib.decompress(b"".join(body for kind, body in chunks if kind == b"IDAT"))


def png_chunks(content: bytes) -> Iterator[tuple[bytes, bytes]]:
    at = 8
    while at < len(content):
        length, kind = struct.unpack_from(">I4s", content, at)
        body = content[at + 8 : at + 8 + length]
        assert zlib.crc32(kind + body) == struct.unpack_from(">I", content, at + 8 + length)[0]
        yield kind, body
        at += 12 + length


def test_drawing_twice_gives_the_same_bytes(store: Store) -> None:
    one = draw(store, sql="SELECT * FROM runs", x="bandwidth_bps", y="utilisation", color="variant", error="ci95")
    assert one.svg() == one.svg()


def test_json_is_the_description_with_its_rows(written: dict[str, Path]) -> None:
    described = json.loads(written["utilisation.json"].read_text())
    assert described["$schema"].endswith("v6.json")
    assert len(described["datasets"]["rows"]) == len(synthetic.RATES) * len(synthetic.VARIANTS) * 2
    assert described["description"].startswith("Utilisation of the bottleneck. Line chart of Utilisation")


def middle(path: str) -> float:
    """Centre of a drawn point or bar on the x axis."""
    moved = re.search(r'transform="translate\(([\d.]+),', path)
    bar = re.search(r' d="M([\d.]+),[-\d.]+h([-\d.]+)', path)
    return float(moved[1] if moved else 0) + (float(bar[1]) + float(bar[2]) / 2 if bar else 0)


@pytest.mark.parametrize("kind", ["line", "point", "box"])
def test_intervals_stand_on_their_marks(kind: str, store: Store) -> None:
    """With text on x, series are dodged: each interval is centred on its own mark and on no other's."""
    sql = "SELECT *, CASE WHEN bandwidth_bps < 1e8 THEN 'slow' ELSE 'fast' END AS class FROM runs"
    svg = draw(store, sql=sql, x="class", y="utilisation", color="variant", kind=kind, error="ci95").svg()
    rules = re.findall(r'<line [^>]*aria-roledescription="rule mark" transform="translate\(([\d.]+),', svg)
    drawn = re.findall(
        rf'<path [^>]*aria-roledescription="{"point" if kind in ("line", "point") else "bar"}"[^>]*>', svg
    )
    marks = {round(middle(path), 2) for path in drawn}
    assert len(marks) == len(rules) == 2 * len(synthetic.VARIANTS)
    assert max(min(abs(float(rule) - mark) for mark in marks) for rule in rules) < 0.02


def test_a_mark_at_the_edge_is_whole(store: Store) -> None:
    """A mark at the axis's last value is not cut in half."""
    described = draw(store, sql="SELECT * FROM runs", x="variant", y="utilisation", kind="point").spec(Face.STILL)
    assert [layer["mark"]["clip"] for layer in described["layer"] if layer["mark"]["type"] == "point"] == [False]


@pytest.mark.parametrize("n", [2, 3, 5, 30])
def test_interval_is_that_of_scipy(n: int) -> None:
    values = np.random.default_rng(n).normal(10, 3, n)
    frame = pl.DataFrame({"k": ["a"] * n, "y": values})
    row = interval95(frame, ["k"], "y").row(0, named=True)
    low, high = stats.t.interval(0.95, n - 1, loc=values.mean(), scale=stats.sem(values))
    assert row["y"] == pytest.approx(values.mean(), rel=1e-12)
    assert (row["low"], row["high"]) == pytest.approx((low, high), rel=1e-12)
    assert row["n"] == n


def test_interval_of_two_values_in_closed_form() -> None:
    # Two values d apart: deviation d/sqrt 2, t(0.975, 1) = tan(0.475 pi), so the half-width is d tan(0.475 pi) / 2.
    assert half_width(1 / math.sqrt(2), 2) == pytest.approx(math.tan(0.475 * math.pi) / 2)


def test_an_interval_of_a_fraction_stays_within_its_bounds(store: Store) -> None:
    # 0.4 and 0.9 are 0.25 from their mean, and tan(0.475 pi) is 12.7: without bounds, -2.53 to 3.83.
    half = 0.25 * math.tan(0.475 * math.pi)
    for y, low, high in [("utilisation", 0.0, 1.0), ("gain", 0.65 - half, 0.65 + half)]:
        for sql, error in [
            (f"SELECT 'a' AS x, unnest([0.4, 0.9]) AS {y}", "ci95"),
            (f"SELECT 'a' AS x, 0.65 AS {y}, {0.65 - half} AS low, {0.65 + half} AS high", "none"),
        ]:
            row = draw(store, sql=sql, x="x", y=y, error=error).rows.frame.row(0, named=True)
            assert (row[y], row["low"], row["high"]) == pytest.approx((0.65, low, high))


def test_one_value_is_its_own_interval() -> None:
    row = interval95(pl.DataFrame({"k": ["a"], "y": [4.5]}), ["k"], "y").row(0, named=True)
    assert (row["y"], row["low"], row["high"], row["n"]) == (4.5, 4.5, 4.5, 1)


def test_drawn_interval_comes_from_the_stored_rows(store: Store) -> None:
    one = draw(
        store, sql="SELECT * FROM runs WHERE part = 'single' AND variant = 'sack' AND setting = 'modern'",
        x="bandwidth_bps", y="utilisation", error="ci95",
    )  # fmt: skip
    row = one.rows.frame.filter(pl.col("bandwidth_bps") == 1e8).row(0, named=True)
    where = "part = 'single' AND variant = 'sack' AND setting = 'modern' AND bandwidth_bps = 1e8"
    asked = store.query(f"SELECT low95(utilisation) AS low, high95(utilisation) AS high FROM runs WHERE {where}")
    assert (row["low"], row["high"]) == pytest.approx(asked.row(0), rel=1e-9)


def test_box_is_tukeys() -> None:
    values = [*range(1, 12), 40.0]
    rows = boxes(pl.DataFrame({"k": ["a"] * 12, "y": [float(v) for v in values]}), ["k"], "y")
    row = rows.frame.row(0, named=True)
    assert (row["q1"], row["median"], row["q3"]) == tuple(np.percentile(values, [25, 50, 75]))
    assert (row["low"], row["high"]) == (1, 11)
    assert rows.outliers["y"].to_list() == [40]


def test_a_long_series_is_thinned_but_keeps_its_extremes(store: Store) -> None:
    time = np.arange(100_000)
    value = np.sin(time / 500)
    value[77_777], value[33_333] = 9, -9
    frame = pl.DataFrame({"t": time, "y": value, "s": ["a", "b"] * 50_000})
    thinned = thin(frame, ["s"], "y")
    assert thinned.height <= CAP
    assert (thinned["y"].max(), thinned["y"].min()) == (9, -9)
    assert thinned["t"].is_sorted()
    assert set(thinned["s"]) == {"a", "b"}
    one = figures.drawing(synthetic.study(), store, next(f for f in synthetic.study().figures if f.id == "cwnd"))
    assert one.rows.frame.height <= CAP
    assert one.rows.note.startswith("Drawn from 6,000 of 32,000 rows")


def test_a_short_series_is_not_touched() -> None:
    frame = pl.DataFrame({"t": [1, 2, 3], "y": [1.0, 5.0, 2.0]})
    assert thin(frame, [], "y").equals(frame)


def test_a_variant_has_one_colour_in_every_figure(store: Store) -> None:
    study = synthetic.study()
    seen: dict[str, set[str]] = {}
    for figure in study.figures:
        if figure.color == "variant":
            one = figures.drawing(study, store, figure)
            for entry in one.legend() if figure.x != "variant" else []:
                seen.setdefault(entry["label"], set()).add(entry["color"])
    assert len(seen) == len(synthetic.VARIANTS)
    assert all(len(colors) == 1 for colors in seen.values())
    assert len({color for colors in seen.values() for color in colors}) == len(synthetic.VARIANTS)


def test_palette_stays_distinct_for_colour_blind_readers() -> None:
    # Colours of the first cycle must differ by more than a just noticeable step in linear light as protanopia and
    # deuteranopia are simulated by Viénot, Brettel and Mollon (1999). Shapes distinguish what is close.
    def linear(color: str) -> np.ndarray:
        channel = np.array([int(color[i : i + 2], 16) for i in (1, 3, 5)]) / 255
        return np.where(channel <= 0.04045, channel / 12.92, ((channel + 0.055) / 1.055) ** 2.4)

    protan = np.array([[0.1121, 0.8853, -0.0005], [0.1127, 0.8897, -0.0001], [0.0045, 0.0001, 1.0019]])
    deutan = np.array([[0.2920, 0.7054, -0.0003], [0.2934, 0.7089, 0.0000], [-0.0209, 0.0259, 0.9970]])
    for matrix in protan, deutan:
        seen = [matrix @ linear(color) for color in PAPER.palette[:8]]
        gaps = [np.abs(np.cbrt(a.clip(0)) - np.cbrt(b.clip(0))).max() for i, a in enumerate(seen) for b in seen[:i]]
        assert min(gaps) > 0.03


@pytest.mark.parametrize(
    ("unit", "value", "text"),
    [
        ("bit/s", 1e9, "1 Gbit/s"), ("bit/s", 1.5e6, "1.5 Mbit/s"), ("s", 0.025, "25 ms"), ("s", 90, "90 s"),
        ("s", 2800, "2,800 s"), ("B", 64e3, "64 kB"), ("%", 0.9823, "98.23 %"), ("packets", 200, "200 packets"),
        ("", 0.001, "0.001"), ("s", 0, "0 s"), ("s", 1.5e-6, "1.5 µs"), ("bit/s", 999.96e6, "1,000 Mbit/s"),
    ],
)  # fmt: skip
def test_values_carry_their_units(unit: str, value: float, text: str) -> None:
    assert Unit(unit).text(value) == text


def test_columns_say_their_units() -> None:
    assert unit_of("goodput_bps").symbol == "bit/s"
    assert unit_of("rtt_mean_s").symbol == "s"
    assert unit_of("cwnd_mean_bytes").symbol == "B"
    assert unit_of("jain").symbol == ""
    assert unit_of("value", "bytes").symbol == "B"
    assert title_of("queue_delay_mean_s") == "Queue delay mean"


def test_axes_name_their_unit_once() -> None:
    title, _ = Unit("s").axis("Delay", [0.003, 0.02], "linear")
    assert title == "Delay (ms)"
    title, label = Unit("bit/s").axis("Rate", [1e6, 1e9], "log")
    assert title == "Rate"
    assert "bit/s" in label


@pytest.mark.parametrize(("low", "high"), [(1.5e6, 1e9), (0.003, 40), (2, 9), (110, 130), (5, 5)])
def test_logarithmic_ticks_lie_inside(low: float, high: float) -> None:
    ticks = log_ticks(low, high)
    assert ticks
    assert all(low * 0.99 <= tick <= high * 1.01 for tick in ticks)
    assert len(ticks) <= 10


MARKS = {
    "line": "line",
    "step": "line",
    "bar": "rect",
    "point": "symbol",
    "box": "rect",
    "band": "area",
    "heat": "rect",
}


@pytest.mark.parametrize("kind", MARKS)
@pytest.mark.parametrize("facet", [None, "setting"])
@pytest.mark.parametrize("color", [None, "variant"])
def test_every_kind_draws(store: Store, kind: str, facet: str | None, color: str | None) -> None:
    if kind == "heat" and color is None:
        color = "variant"
    one = draw(
        store, kind=kind, sql="SELECT * FROM runs WHERE part = 'single'", x="bandwidth_bps", y="utilisation",
        facet=facet, color=color, error="ci95",
    )  # fmt: skip
    assert f'class="mark-{MARKS[kind]}' in one.svg()
    chart = one.chart().to_dict()
    assert chart["description"].startswith("Test. ")
    assert vl_convert.vegalite_to_svg(chart).startswith("<svg")


def test_a_heat_map_needs_rows() -> None:
    with pytest.raises(ValueError, match="kind = 'heat' needs color, the column whose labels are the rows of the map"):
        synthetic.figure("test", sql="SELECT 1", x="bandwidth_bps", y="utilisation", kind="heat")


REPORTED = {
    "sql": "SELECT bandwidth_bps, variant, setting, utilisation FROM runs WHERE part = 'single'",
    "x": "bandwidth_bps", "y": "utilisation", "color": "variant", "facet": "setting",
}  # fmt: skip


def drawn_marks(one: figures.Drawing) -> list[str]:
    """Kinds of marks that a static drawing has beside its own rows: only reported values are rings or broken lines."""
    drawn = list(ElementTree.fromstring(one.svg()).iter())
    rings = [e for e in drawn if e.get("aria-roledescription") == "point" and e.get("stroke-width") == "2"]
    return ["ring"] * len(rings) + ["line"] * sum(e.get("stroke-dasharray") == "6,4" for e in drawn)


def test_what_was_reported_stands_in_the_panel_that_it_names(store: Store) -> None:
    one = draw(store, **REPORTED, reported=[{"bandwidth_bps": "100 Mbps", "utilisation": "70 %", "setting": "modern"}])
    assert one.rows.reported.select("bandwidth_bps", "utilisation", "setting").rows() == [(1e8, 0.7, "modern")]
    assert drawn_marks(one) == ["ring"]
    # A hollow mark is in the legend; the report's page explains it in a sentence.
    assert one.svg().count(">as the original reports it</text>") == 1


@pytest.mark.parametrize(("largest", "rings"), [(8, 0), (80, 1)])
def test_rings_beyond_whiskers_are_in_the_legend(store: Store, largest: int, rings: int) -> None:
    sql = f"SELECT 'here' AS place, unnest([1, 2, 3, 4, 5, 6, 7, {largest}]) AS value"
    one = draw(store, kind="box", sql=sql, x="place", y="value")
    assert one.rows.outliers.height == rings
    assert one.svg().count(">outlier: over 1.5 box heights from the box</text>") == rings


def test_a_reported_value_without_panel_and_position_crosses_all_panels(store: Store) -> None:
    one = draw(store, **REPORTED, reported=[{"utilisation": 0.7}])
    panels = one.rows.frame["setting"].n_unique()
    assert panels > 1
    assert drawn_marks(one) == ["line"] * panels
    assert one.svg().count(">as the original reports it</text>") == panels


def test_what_was_reported_of_a_series_that_is_not_drawn_is_left_out(store: Store) -> None:
    one = draw(store, **REPORTED, reported=[{"bandwidth_bps": 1e8, "utilisation": 0.7, "variant": "none of these"}])
    assert one.rows.reported.is_empty()
    assert drawn_marks(one) == []


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"bandwidth_bps": 1e8}, "has no 'utilisation', the figure's y"),
        (
            {"utilisation": 0.7, "varient": "sack"},
            "'varient' is no column that the figure draws; did you mean 'variant'",
        ),
    ],
)
def test_a_reported_row_of_other_columns_is_refused(row: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        synthetic.figure("test", **REPORTED, reported=[row])


def test_a_reported_value_that_is_no_number_is_refused(store: Store) -> None:
    with pytest.raises(StudyError, match="reported: utilisation = 'much' is no number"):
        draw(store, **REPORTED, reported=[{"utilisation": "much"}])


def test_a_figure_without_rows_has_no_files(store: Store, tmp_path: Path) -> None:
    text = synthetic.TEXT.replace("WHERE measure = 'cwnd' AND part", "WHERE measure = 'nothing' AND part")
    names = {Path(name).stem for name in figures.render(synthetic.study(text), store, tmp_path)}
    assert "utilisation" in names
    assert "cwnd" not in names


def test_a_figure_without_rows_is_an_empty_frame(store: Store) -> None:
    one = draw(store, sql="SELECT * FROM runs WHERE part = 'none'", x="variant", y="utilisation", color="variant")
    assert one.svg().startswith("<svg")


def test_the_page_asks_the_style_sheet_for_its_colours(store: Store) -> None:
    from vazao.figures.theme import PAGE

    one = draw(
        store, sql="SELECT * FROM runs WHERE part = 'single'", x="bandwidth_bps", y="utilisation", color="variant"
    )
    assert "#" not in json.dumps(one.spec(Face.PAGE, PAGE)["config"])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"sql": "SELECT nothing FROM runs"}, "nothing"),
        ({"y": "utilization"}, "did you mean 'utilisation'"),
        ({"y": "variant"}, "not a number"),
    ],
)
def test_what_cannot_be_drawn_is_said(store: Store, given: dict[str, str], message: str) -> None:
    with pytest.raises(StudyError, match=message) as caught:
        draw(store, **({"sql": "SELECT * FROM runs", "x": "bandwidth_bps", "y": "utilisation"} | given))
    assert str(caught.value).startswith("figure test: ")


def test_an_unknown_figure_is_said(store: Store) -> None:
    with pytest.raises(StudyError, match="did you mean 'utilisation'"):
        figures.chart(synthetic.study(), store, "utilization")


def test_a_chart_is_made_by_id(store: Store) -> None:
    chart = figures.chart(synthetic.study(), store, "utilisation").to_dict()
    assert chart["title"] == "Utilisation of the bottleneck"


def lines_of(chart: dict[str, Any]) -> set[str]:
    """Lines of a chart by colour, or without colour by the column that separates them."""
    (rows,) = chart["datasets"].values()
    return {row.get("series") or row["replication"] for row in rows}


def test_a_trace_is_drawn_by_flow() -> None:
    samples = pl.DataFrame({
        "time_s": [0.0, 1.0, 0.0, 1.0, 0.5], "flow": [0, 0, 1, 1, None], "path": [0, 0, 0, 0, None],
        "link": [None] * 4 + ["bottleneck"], "direction": [None] * 4 + ["forward"],
        "measure": ["cwnd"] * 4 + ["queue"], "value": [1e4, 2e4, 3e4, 4e4, 5e3],
    })  # fmt: skip
    chart = figures.trace_chart(samples, "cwnd").to_dict()
    assert lines_of(chart) == {"flow 0", "flow 1"}
    assert chart["layer"][0]["encoding"]["y"]["title"] == "Congestion window (kB)"
    queue = figures.trace_chart(samples, "queue").to_dict()
    assert lines_of(queue) == {"bottleneck forward"}
    with pytest.raises(ResultsError, match="no samples of 'rtt'"):
        figures.trace_chart(samples, "rtt")


@pytest.mark.parametrize(("values", "shown"), [([0, 0, 5e3, 0], {"b forward"}), ([0] * 4, {"a forward", "b forward"})])
def test_links_that_stay_empty_are_no_part_of_a_chart_of_queues(values: list[float], shown: set[str]) -> None:
    samples = pl.DataFrame({
        "time_s": [0.0, 1.0] * 2, "link": ["a", "a", "b", "b"], "direction": ["forward"] * 4, "measure": ["queue"] * 4,
        "value": [float(value) for value in values],
    })  # fmt: skip
    chart = figures.trace_chart(samples, "queue").to_dict()
    assert lines_of(chart) == shown
    assert ("a forward" in json.dumps(chart)) == ("a forward" in shown)


def test_labels_of_categories_use_the_room_they_have() -> None:
    four = ["segments of 1448 bytes", "initial window of ten", "buffers that grow", "quick acknowledgements"]
    assert in_lines(four, 580)["segments of 1448 bytes"] == ["segments of", "1448\xa0bytes"]
    # A number is not separated from its unit, nor a name such as 1-RTT at its hyphen.
    assert in_lines(["1 %", "10 %"], 10) == {"1 %": ["1\xa0%"], "10 %": ["10\xa0%"]}
    assert in_lines(["quic-bbr", "TLS (1-RTT)"], 10) == {
        "quic-bbr": ["quic-", "bbr"],
        "TLS (1-RTT)": ["TLS", "(1-RTT)"],
    }
