"""The Python API: objects in a notebook and across processes, charts that compose, tables as files."""

from __future__ import annotations

import json
import multiprocessing
import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import altair as alt
import polars as pl
import pytest
import vl_convert
from hypothesis import given, strategies as st
from markdown_it import MarkdownIt

import vazao as vz
from command import Vazao, caller
from vazao import display, figures, results
from vazao.figures import rows as drawn_rows
from vazao.figures.charts import merged
from vazao.study import Figure, parse_as

pytestmark = pytest.mark.process

SCENARIO = """
name = "wan <b>&</b>"
trace = ["cwnd"]
[network]
topology = "dumbbell"
access = { rate = "1 Gbps", delay = "1 ms" }
bottleneck = { rate = "10 Mbps", delay = "5 ms", queue = "20 packets", loss = 0.01 }
[[flow]]
app = { kind = "upload", size = "100 kB" }
transport = { kind = "tcp", cc = "cubic" }
"""


class Careful(vz.CongestionControl):
    """Control that another process can import from this module."""

    def on_ack(self, ack: Any) -> None:
        self.cwnd += ack.acked_bytes / 10


def pair() -> vz.Network:
    return vz.dumbbell(bottleneck=vz.link("10 Mbps", "5 ms", queue="30 packets"), pairs=2)


@pytest.fixture(scope="module")
def result() -> vz.Result:
    flows = [vz.flow(vz.upload("300 kB"), vz.tcp("cubic")), vz.flow(vz.upload("200 kB"), vz.tcp("reno"))]
    return vz.run(pair(), flows, trace=["cwnd", "queue"])


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> vz.Campaign:
    file = tmp_path_factory.mktemp("face") / "wan.toml"
    file.write_text(SCENARIO)
    experiment = vz.load(file)
    assert isinstance(experiment, vz.Experiment)
    varied = experiment.vary("flow.0.transport.cc", ["cubic", "bbr"]).vary("network.bottleneck.delay", "5 ms:20 ms:2")
    return varied.run(seeds=4, out=file.parent / "results")


def objects(result: vz.Result, campaign: vz.Campaign) -> list[Any]:
    file = Path(campaign.study.file)
    stored = file.parent / "one"
    experiment = vz.load(file)
    assert isinstance(experiment, vz.Experiment)
    if not stored.exists():
        results.keep(experiment.run(), stored)
    return [
        pair(), pair()["bottleneck"], vz.flow(vz.upload("1 kB"), vz.tcp()), vz.tcp(), vz.upload(),
        result, result.scenario, experiment.vary("flow.0.transport.cc", "cubic,bbr"), campaign, campaign.study,
        campaign.store, vz.load("hstcp-2010"), vz.open(stored),
    ]  # fmt: skip


# Notebooks and other processes


def test_every_object_is_short_in_words_and_shown_in_a_notebook(result: vz.Result, campaign: vz.Campaign) -> None:
    for each in objects(result, campaign):
        assert len(repr(each)) < 200, repr(each)
        html = each._repr_html_()
        # Every opened element is closed, and text from a file is never an element.
        assert len(re.findall(r"<(?:div|table|tr|td|th|thead|tbody|span|strong)\b", html)) == html.count("</")
        assert "<b>" not in html
        # No opaque colour: it must be readable on dark pages as on light ones.
        assert not re.search(
            r"#[0-9a-fA-F]{3,6}\b|white|black", re.sub(r">[^<]*<", "><", html).replace("white-space", "")
        )
    assert "wan &lt;b&gt;&amp;&lt;/b&gt;" in campaign._repr_html_()
    assert "±" in campaign._repr_html_()


@given(st.text(), st.text(), st.lists(st.text(min_size=1), min_size=1, max_size=3))
def test_whatever_a_card_says_is_text(name: str, fact: str, cells: list[str]) -> None:
    html = display.card("Kind", name, [("fact", fact)], [("", [cells, cells])])
    tags = set(re.findall(r"<(/?\w+)", html))
    known = ["div", "span", "strong", "table", "thead", "tbody", "tr", "th", "td"]
    assert tags <= {f"{slash}{tag}" for slash in ("", "/") for tag in known}


def told(each: Any) -> str:
    return repr(each)


def test_every_object_goes_to_another_process_and_back(result: vz.Result, campaign: vz.Campaign) -> None:
    things = objects(result, campaign)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.map(told, things) == [repr(each) for each in things]
        back = pool.map(identity, [result, campaign, result.plot("cwnd")])
    assert back[0].flows.equals(result.flows)
    assert back[0].samples.equals(result.samples)
    assert back[0].scenario.json == result.scenario.json
    assert back[0].sql("SELECT count(*) AS n FROM samples")["n"].item() == result.samples.height
    assert back[1].runs.equals(campaign.runs)
    assert back[2].to_dict() == back[2].copy().to_dict()


def identity(each: Any) -> Any:
    return each


def test_a_scenario_runs_the_same_where_it_was_sent(campaign: vz.Campaign) -> None:
    experiment = vz.load(campaign.study.file)
    assert isinstance(experiment, vz.Experiment)
    traced = experiment.scenario.with_trace(["cwnd"], 0.01)
    again = pickle.loads(pickle.dumps(traced))
    assert (again.run_id, again.json) == (traced.run_id, traced.json)
    own = vz.run(pair(), [vz.flow(vz.upload("50 kB"), vz.tcp(cc=Careful))])
    copy = pickle.loads(pickle.dumps(own.scenario))
    assert results.run_scenario(copy).flows.equals(own.flows)


def test_a_scenario_that_would_be_another_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "traced.toml"
    file.write_text(SCENARIO.replace('rate = "10 Mbps"', 'rate = { trace = "up.trace" }'))
    (tmp_path / "up.trace").write_text("1\n2\n")
    experiment = vz.load(file)
    assert isinstance(experiment, vz.Experiment)
    scenario, made = pickle.dumps(experiment.scenario), pickle.dumps(experiment.run())
    (tmp_path / "up.trace").write_text("1\n3\n")
    with pytest.raises(vz.ScenarioError, match=r"forward\.rate\.digest: the trace has the digest"):
        pickle.loads(scenario)
    # The tables of a result are there regardless; its scenario is loaded on access.
    kept = pickle.loads(made)
    assert kept.flows.height == 1
    with pytest.raises(vz.ScenarioError, match="the trace has the digest"):
        kept.scenario.run_id  # noqa: B018


def test_a_network_that_is_changed_after_a_run_changes_nothing_in_it() -> None:
    net = pair()
    made = vz.run(net, [vz.flow(vz.upload("50 kB"))])
    net["bottleneck"]["rate"] = "1 Mbps"
    assert pickle.loads(pickle.dumps(made)).scenario.run_id == made.scenario.run_id


def test_a_control_that_no_other_process_finds_leaves_the_tables() -> None:
    class Local(vz.CongestionControl):
        def on_ack(self, ack: Any) -> None:
            self.cwnd += ack.acked_bytes

    made = vz.run(pair(), [vz.flow(vz.upload("50 kB"), vz.tcp(cc=Local))])
    copy = pickle.loads(pickle.dumps(made))
    assert copy.flows.equals(made.flows)
    with pytest.raises(vz.ScenarioError, match="cannot be pickled; define it in a module"):
        copy.scenario.json  # noqa: B018


def test_a_failed_run_is_an_error_with_its_scenario() -> None:
    class Wrong(vz.CongestionControl):
        def on_ack(self, ack: Any) -> None:
            raise ValueError("not today")

    with pytest.raises(vz.RunError, match="not today") as failed:
        vz.run(pair(), [vz.flow(vz.upload("50 kB"), vz.tcp(cc=Wrong))], seed=7)
    assert failed.value.scenario
    assert failed.value.scenario.seed == 7
    assert json.loads(failed.value.scenario.json)["flow"][0]["app"]["size"] == "50 kB"
    assert vz.RunError("of nothing").scenario is None


@pytest.mark.parametrize("kind", [vz.RunError, vz.ScenarioError, vz.StudyError, vz.ResultsError, vz.VazaoError])
def test_errors_go_to_another_process(kind: type[Exception]) -> None:
    again = pickle.loads(pickle.dumps(kind("told")))
    assert (type(again), str(again)) == (kind, "told")


# Charts


def png(chart: Any) -> bytes:
    """Renders a chart with Vega itself, to PNG."""
    drawn: bytes = vl_convert.vegalite_to_png(chart.to_dict(), "6.4")
    assert drawn.startswith(b"\x89PNG")
    return drawn


def svg(chart: Any) -> str:
    drawn: str = vl_convert.vegalite_to_svg(chart.to_dict(), "6.4")
    return drawn


RULE = alt.Chart(alt.InlineData(values=[{"level": 40_000}])).mark_rule(color="red").encode(y="level:Q")

COMPOSED: dict[str, tuple[Callable[[Any, Any], Any], int]] = {
    "below": (lambda a, b: a & b, 2),
    "beside": (lambda a, b: a | b, 2),
    "over": (lambda a, b: a + b, 1),
    "nested": (lambda a, b: (a & b) | a, 3),
    "itself": (lambda a, b: a & a, 2),
    "three": (lambda a, b: a & b & a, 3),
    "interactive": (lambda a, b: a.interactive(), 1),
    "interactive beside": (lambda a, b: a.interactive() | b, 2),
    "properties": (lambda a, b: a.properties(title="Mine", width=300), 1),
    "properties of both": (lambda a, b: (a | b).properties(title="Mine"), 2),
    "configured": (lambda a, b: (a & b).configure_axis(labelFontSize=20), 2),
    "with Altair's over it": (lambda a, b: a + RULE, 1),
    "with Altair's below": (lambda a, b: a & RULE, 2),
    "below Altair's": (lambda a, b: RULE & a, 2),
    "by Altair": (lambda a, b: alt.vconcat(a, b), 2),
    "by Altair, beside": (lambda a, b: alt.hconcat(a, b, a), 3),
}


@pytest.mark.parametrize("how", COMPOSED)
def test_charts_compose(how: str, result: vz.Result) -> None:
    compose, panels = COMPOSED[how]
    made = compose(result.plot("cwnd"), result.plot("queue"))
    drawn = svg(made)
    assert len(re.findall(r'class="[^"]*mark-group role-scope[^"]*"|role-frame root', drawn)) >= min(panels, 1)
    assert drawn.count("Congestion window (kB)") + drawn.count("Queue (kB)") + drawn.count(">level<") >= panels
    assert len(png(made)) > 5000


def test_composed_charts_keep_their_look_and_what_moves(result: vz.Result) -> None:
    both = (result.plot("cwnd") & result.plot("queue")).to_dict()
    assert both["config"]["font"].startswith("Inter")
    assert {param["name"].partition("_")[0] for param in both["params"]} == {"picked", "near"}
    views = [view for param in both["params"] for view in param["views"]]
    names = re.findall(r'"name": "(part_\d+)"', json.dumps(both))
    assert sorted(set(views)) == sorted(names)
    # A chart composed by Altair alone must not depend on a missing selection.
    assert "param" not in json.dumps(alt.vconcat(result.plot("cwnd")).to_dict()["vconcat"])
    assert (result.plot("cwnd") & RULE).configure_view(stroke="red").to_dict()["config"]["view"]["stroke"] == "red"
    assert merged({"a": {"b": 1, "c": 2}}, {"a": {"b": 3}}) == {"a": {"b": 3, "c": 2}}


def test_a_chart_of_several_panels_composes(campaign: vz.Campaign) -> None:
    panels = campaign.plot("cwnd", color="cc", facet="delay")
    for made in (panels, panels & campaign.plot("goodput_bps", kind="ecdf", color="cc"), panels.properties(title="x")):
        assert {"5 ms", "20 ms"} <= set(re.findall(r">([^<]+)</text>", svg(made)))
    assert len(png(panels.interactive())) > 5000


def test_colours_of_other_labels_are_not_mixed(result: vz.Result, campaign: vz.Campaign) -> None:
    by_flow, by_control = result.plot("cwnd"), campaign.plot("goodput_bps", x="delay", color="cc")
    apart = by_flow & by_control
    assert apart.to_dict()["resolve"]["scale"]["color"] == "independent"
    assert {"flow 0", "flow 1", "cubic", "bbr"} <= set(re.findall(r">([^<]+)</text>", svg(apart)))
    assert "resolve" not in (by_control & campaign.plot("utilisation", x="delay", color="cc")).to_dict()


# Kinds of charts


def values(chart: Any) -> pl.DataFrame:
    (rows,) = chart.to_dict()["datasets"].values()
    return pl.DataFrame(rows)


def test_an_ecdf_is_the_share_of_values_that_are_no_greater(campaign: vz.Campaign) -> None:
    drawn = values(campaign.plot("goodput_bps", kind="ecdf", color="cc"))
    for name, rows in drawn.group_by("cc"):
        goodput = campaign.flows.filter(cc=name[0])["goodput_bps"]
        for x, share in rows.filter(pl.col("share") > 0).select("goodput_bps", "share").iter_rows():
            assert share == pytest.approx((goodput <= x).mean())
        assert rows["share"].min() == 0
        assert rows["share"].max() == 1


def test_a_band_is_the_mean_over_runs_at_each_time() -> None:
    """In three runs a window stays at 10, 20 and 60, and the last run doubles it at 1 s."""
    samples = [("a", 0.0, 10.0), ("b", 0.0, 20.0), ("c", 0.0, 60.0), ("c", 1.0, 120.0)]
    ends = [("a", 2.0, 10.0), ("b", 2.0, 20.0), ("c", 2.0, 120.0)]
    frame = pl.DataFrame([*samples, *ends], schema=["run_id", "time_s", "value"], orient="row")
    frame = frame.with_columns(series=pl.lit("flow 0"))
    drawn = values(figures.measure_chart(frame, "cwnd", "band"))
    early, late = drawn.filter(pl.col("time_s") < 1), drawn.filter(pl.col("time_s") > 1)
    assert set(early["value"]) == {30.0}
    assert set(late["value"]) == {50.0}
    # Student's t for two degrees of freedom; no window is below zero.
    assert early["high"].to_list() == pytest.approx([30 + 4.30265 * 26.45751 / 3**0.5] * early.height, rel=1e-5)
    assert set(early["low"]) == {0.0}


def test_a_band_ends_where_half_of_the_runs_have_ended() -> None:
    rows = [(run, time, 1.0) for run, end in (("a", 1.0), ("b", 1.0), ("c", 4.0)) for time in (0.0, end)]
    frame = pl.DataFrame(rows, schema=["run_id", "time_s", "value"], orient="row").with_columns(series=pl.lit("flow 0"))
    assert max(values(figures.measure_chart(frame, "cwnd", "band"))["time_s"].to_list()) <= 1.0


@pytest.mark.parametrize("kind", ["step", "line", "point", "band", "ecdf", "box"])
def test_a_measure_is_drawn_in_every_kind(kind: Any, result: vz.Result, campaign: vz.Campaign) -> None:
    assert len(png(result.plot("cwnd", kind=kind))) > 5000
    assert len(png(campaign.plot("cwnd", kind=kind, color="cc"))) > 5000


@pytest.mark.parametrize("kind", ["line", "point", "bar", "band", "box", "ecdf"])
def test_a_column_is_drawn_in_every_kind(kind: Any, campaign: vz.Campaign) -> None:
    drawn = svg(
        campaign.plot("goodput_bps", kind=kind, x="delay_s" if kind in ("line", "band") else "delay", color="cc")
    )
    assert "Goodput (Mbit/s)" in drawn


def test_whiskers_stand_on_the_middle_of_their_boxes(campaign: vz.Campaign) -> None:
    drawn = svg(campaign.plot("goodput_bps", kind="box", x="delay", color="cc"))
    bars = re.findall(r'<path [^>]*aria-roledescription="bar"[^>]* d="M([\d.]+),[\d.]+h([\d.]+)v', drawn)
    boxes = [float(left) + float(width) / 2 for left, width in bars]
    found = re.findall(r'<line [^>]*aria-roledescription="rule mark" transform="translate\(([\d.]+),', drawn)
    rules = [float(x) for x in found]
    assert len(rules) == 4
    assert {min(abs(rule - box) for box in boxes) < 0.01 for rule in rules} == {True}


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"measure": "goodput_bp"}, "'goodput_bp' is not a column here; did you mean 'goodput_bps'"),
        ({"measure": "goodput_bps", "color": "cd"}, "color: 'cd' is not a column here"),
        ({"measure": "goodput_bps", "kind": "ecdff"}, "'ecdff' is no kind of chart for this; did you mean 'ecdf'"),
        ({"measure": "goodput_bps", "kind": "bar"}, "kind = 'bar': needs x"),
        ({"measure": "cwnd", "kind": "bar"}, "'bar' is no kind of chart for this"),
    ],
)
def test_what_cannot_be_drawn_is_said(campaign: vz.Campaign, asked: dict[str, Any], message: str) -> None:
    with pytest.raises(vz.ResultsError, match=re.escape(message)):
        campaign.plot(**asked)


STUDY = """
[study]
name = "kinds"
title = "Kinds of figures"
[scenario]
network = { topology = "point-to-point", link = { rate = "10 Mbps", delay = "5 ms", loss = 0.01 } }
flow = [{ app = { kind = "upload", size = "50 kB" } }]
[design]
replications = 6
[[factor]]
name = "cc"
sets = "flow.0.transport.cc"
levels = ["cubic", "reno"]
[[figure]]
id = "distribution"
title = "Completion"
kind = "ecdf"
sql = "SELECT runs.cc, completion_s FROM runs JOIN flows USING (run_id)"
x = "completion_s"
color = "cc"
[[figure]]
id = "boxes"
title = "Completion"
kind = "box"
sql = "SELECT runs.cc, completion_s FROM runs JOIN flows USING (run_id)"
x = "cc"
y = "completion_s"
[[figure]]
id = "band"
title = "Completion"
kind = "band"
sql = "SELECT seed, completion_s FROM runs JOIN flows USING (run_id)"
x = "seed"
y = "completion_s"
"""


def test_a_study_has_these_kinds(tmp_path: Path) -> None:
    done = results.run_study(parse_as(vz.Study, STUDY, "kinds.toml"), out=tmp_path)
    written = figures.render(done.study, done.store, tmp_path)
    assert {
        f"{name}.{suffix}" for name in ("distribution", "boxes", "band") for suffix in ("svg", "pdf", "png", "json")
    } == set(written)
    assert ">ECDF</text>" in written["distribution.svg"].read_text()
    rows = drawn_rows.prepare(done.study.figures[2], done.store)
    assert rows.interval
    assert rows.frame["n"].to_list() == [2] * 6
    with pytest.raises(vz.StudyError, match="x: 'cc' is not a number, whose distribution"):
        drawn_rows.prepare(
            Figure(id="x", title="x", kind="ecdf", sql="SELECT cc FROM flows", x="cc", y="share"), done.store
        )


# Print


def width_of(chart: Any) -> float:
    """Width of a drawing as PDF, in points."""
    pdf: bytes = vl_convert.vegalite_to_pdf(chart.to_dict(), "6.4")
    box = re.search(rb"MediaBox *\[([^\]]+)\]", pdf)
    assert box
    return float(box[1].split()[2])


@pytest.mark.parametrize(("width", "points"), [("column", 252), ("page", 516), ("88 mm", 88 / 25.4 * 72), (300, 300)])
def test_a_drawing_for_paper_is_as_wide_as_its_column(width: str | float, points: float, campaign: vz.Campaign) -> None:
    with vz.style("paper", width=width):
        for kind in ("ecdf", "box"):
            assert width_of(campaign.plot("goodput_bps", kind=kind, color="cc")) == pytest.approx(points, abs=1)
        assert width_of(campaign.plot("cwnd", color="cc", facet="delay")) == pytest.approx(points, rel=0.05)


def test_greys_print_and_series_differ_by_more_than_grey(campaign: vz.Campaign) -> None:
    with vz.style("paper", grey=True, font_size=9):
        drawn = svg(campaign.plot("goodput_bps", kind="ecdf", color="cc"))
    colours = {int(colour, 16) for colour in re.findall(r"#([0-9a-fA-F]{6})\b", drawn)}
    assert {(c >> 16 == c >> 8 & 255 == c & 255) for c in colours} == {True}
    assert len(set(re.findall(r'stroke-dasharray="([^"]+)"', drawn))) >= 2
    assert set(re.findall(r'font-size="([\d.]+)px"', drawn)) == {"9px".removesuffix("px"), "8.62"}


def test_a_style_holds_until_it_is_changed_or_its_block_ends(result: vz.Result) -> None:
    def titled() -> bool:
        return "title" in result.plot("cwnd").to_dict()

    assert titled()
    with vz.style("paper"):
        assert not titled()
    assert titled()
    try:
        vz.style("paper")
        assert not titled()
        assert repr(vz.style("paper")) == "Style(paper, 252 pt wide)"
    finally:
        vz.style("screen")
    assert titled()


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"name": "poster"}, "'poster' is no style; choose 'screen' or 'paper'"),
        ({"width": "wide"}, "width = 'wide': write 'column', 'page', a length as '88 mm'"),
        ({"width": "1 mm"}, "width = '1 mm': write"),
        ({"font_size": 0}, "font_size = 0: give 4 to 24 points"),
    ],
)
def test_an_invalid_style_is_refused(asked: dict[str, Any], message: str) -> None:
    with pytest.raises(vz.VazaoError, match=re.escape(message)):
        vz.style(**asked)


# Tables


ROWS = pl.DataFrame(
    {
        "cc": ["cubic_1 50 % & <b>", "a|b\\c"],
        "runs": [3, 4],
        "goodput_bps": [9.57e6, None],
        "± goodput_bps": [1.31e6, None],
    }
)


def test_csv_and_parquet_have_the_rows(tmp_path: Path) -> None:
    assert pl.read_csv(vz.write_table(ROWS, tmp_path / "x.csv")).equals(ROWS)
    assert pl.read_parquet(vz.write_table(ROWS, tmp_path / "x.parquet")).equals(ROWS)


def test_markdown_is_a_table_of_what_is_said(tmp_path: Path) -> None:
    text = vz.write_table(ROWS, tmp_path / "x.md").read_text()
    html = MarkdownIt("commonmark").enable("table").render(text)
    cells = [re.sub("<[^>]+>", "", cell) for cell in re.findall(r"<td[^>]*>(.*?)</td>", html)]
    assert cells == ["cubic_1 50 % &amp; &lt;b&gt;", "3", "9.57 ± 1.31 Mbit/s", "a|b\\c", "4", "–"]
    assert html.count("<th") - html.count("<thead") == 3


def test_a_table_of_no_form_leaves_no_file(tmp_path: Path) -> None:
    with pytest.raises(
        vz.ResultsError, match=r"\.xlsx is no form of a table; choose a name that ends in \.csv, \.parq"
    ):
        vz.write_table(ROWS, tmp_path / "x.xlsx")
    with pytest.raises(vz.ResultsError, match="cannot hold these rows"):
        vz.write_table(pl.DataFrame({"x": [[1, 2]]}), tmp_path / "x.csv")
    with pytest.raises(vz.ResultsError, match="none"):
        vz.write_table(ROWS, tmp_path / "none" / "x.csv")
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def vazao(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Vazao:
    monkeypatch.chdir(tmp_path)
    Path("wan.toml").write_text(SCENARIO.replace('trace = ["cwnd"]\n', "").replace(" <b>&</b>", ""))
    return caller(monkeypatch, capsys)


def test_the_command_writes_tables(campaign: vz.Campaign, vazao: Vazao) -> None:
    query = "SELECT cc, avg(goodput_bps) AS goodput_bps FROM flows GROUP BY cc ORDER BY cc"
    for suffix in ("csv", "parquet", "md", "tex"):
        done = vazao("sql", str(campaign.directory), query, "--out", f"x.{suffix}")
        assert (done.code, done.out) == (0, f"2 rows: x.{suffix}\n"), done.err
    assert pl.read_csv("x.csv").equals(campaign.sql(query))
    wrong = vazao("sql", str(campaign.directory), query, "--out", "x.doc")
    assert (wrong.code, "x.doc: .doc is no form of a table" in wrong.err) == (2, True)


# Growing a single run


def test_files_written_by_a_run_are_listed(vazao: Vazao) -> None:
    done = vazao("run", "wan.toml", "--pcap", "caps", "--trace", "cwnd")
    assert "captures: caps\n" in done.out
    assert re.search(r"\d+ samples were recorded and not kept: --out DIR keeps them, --json prints them", done.out)
    kept = vazao("run", "wan.toml", "--out", "one", "--trace", "cwnd")
    assert "results: one\n" in kept.out
    assert "not kept" not in kept.out
    assert json.loads(vazao("run", "wan.toml", "--pcap", "caps", "--json").out)["run"]


def test_one_run_grows_to_a_sweep(vazao: Vazao) -> None:
    assert vazao("run", "wan.toml", "--out", "one").code == 0
    first = vz.open("one")
    assert isinstance(first, vz.StoredResult)
    run_id = first.runs["run_id"].item()
    more = vazao("run", "wan.toml", "--seeds", "3", "--out", "one")
    assert "3 runs in one (2 simulated now)" in more.out, more.err
    again = vazao("run", "wan.toml", "--seeds", "4", "--out", "one")
    assert "4 runs in one (1 simulated now)" in again.out, again.err
    grown = vz.open("one")
    assert isinstance(grown, vz.Campaign)
    assert run_id in grown.runs["run_id"].to_list()
    assert grown.runs["seed"].to_list() == [1, 2, 3, 4]
    assert vazao("report", "one").code == 0
    # A run outside the sweep is kept separately.
    assert vazao("run", "wan.toml", "--set", "network.bottleneck.loss=0.5", "--out", "two", "--seed", "9").code == 0
    other = vazao("run", "wan.toml", "--seeds", "2", "--out", "two")
    assert (other.code, "holds results of another kind" in other.err) == (2, True)
