"""Sweeps of a scenario: varied keys, replications and precision; and starter files."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, strategies as st

import vazao as vz
from command import caller
from vazao import results
from vazao.errors import StudyError
from vazao.study import Variation, sweep, variation
from vazao.study.sweeps import name_of

pytestmark = pytest.mark.process

SCENARIO = """
name = "wan"
[network]
topology = "dumbbell"
access = { rate = "1 Gbps", delay = "1 ms" }
bottleneck = { rate = "10 Mbps", delay = "5 ms", queue = "20 packets", loss = 0.02 }
[[flow]]
app = { kind = "upload", size = "100 kB" }
transport = { kind = "tcp", cc = "cubic" }
"""

Vazao = Any


@pytest.fixture
def vazao(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Vazao:
    monkeypatch.chdir(tmp_path)
    Path("wan.toml").write_text(SCENARIO)
    return caller(monkeypatch, capsys)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("cc=cubic,bbr", ("cubic", "bbr")),
        ("loss=0:0.05:6", (0.0, 0.01, 0.02, 0.03, 0.04, 0.05)),
        ("n=1:5:5", (1, 2, 3, 4, 5)),
        ("delay=5 ms:20 ms:4", ("5 ms", "10 ms", "15 ms", "20 ms")),
        ("delay=5:20 ms:2", ("5 ms", "20 ms")),
        ("mss=536,1460", (536, 1460)),
        ("sack=true,false", (True, False)),
        ('queue={ kind = "red", min = "5 packets" },20 packets', ({"kind": "red", "min": "5 packets"}, "20 packets")),
        ('cc="a,b",c', ("a,b", "c")),
        ("x=[1, 2],[3]", ([1, 2], [3])),
    ],
)
def test_values_are_read_as_they_are_meant(text: str, values: tuple[Any, ...]) -> None:
    assert variation(text).values == values


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("cc", "write KEY=VALUE"), ("=1", "write KEY=VALUE"), ("a=", "write KEY=VALUE"),
        ("a=1:2:1", "two or more steps"), ("a=x:y:3", "with numbers"), ("a=1 ms:2 s:3", "the same unit"),
        ("a=0:1:1000000", "give 2 to 1000"), ("a=1 ms:2:3", "the same unit"),
    ],
)  # fmt: skip
def test_what_cannot_be_varied_is_refused(text: str, message: str) -> None:
    with pytest.raises(StudyError, match=message):
        variation(text)


@given(
    st.lists(
        st.sampled_from(
            [
                "flow.0.transport.cc",
                "flow.1.transport.cc",
                "network.bottleneck.loss",
                "loss",
                "run_id",
                "seed",
                "a.-.*",
                "0",
            ]
        )
    )
)
def test_every_key_has_a_column_of_its_own(keys: list[str]) -> None:
    names: list[str] = []
    for key in keys:
        names.append(name_of(key, names))
    assert len(set(names)) == len(names)
    text = sweep({}, "x", [Variation(key, (1, 2)) for key in keys], 1)
    assert [factor["name"] for factor in tomllib.loads(text)["part"][0].get("factor", [])] == names


def test_a_sweep_is_run_shown_and_grows(vazao: Vazao, tmp_path: Path) -> None:
    asked = ("run", "wan.toml", "--vary", "flow.0.transport.cc=cubic,bbr", "--vary", "network.bottleneck.loss=0:0.04:2")
    done = vazao(*asked, "--seeds", "3")
    assert done.code == 0, done.err
    assert "12 runs in results/wan (12 simulated now)" in done.out
    assert done.out.count("±") >= 4
    summary = (
        "Goodput by `flow.0.transport.cc` (cubic, bbr) and `network.bottleneck.loss` (0, 0.04): 3 runs (seeds 1 to 3)"
    )
    assert done.out.startswith(f"wan\n{summary} of each combination.\n")
    page = Path("results/wan/report.html").read_text()
    assert "states no claims" not in page
    assert page.index("3 runs (seeds 1 to 3)") < page.index('id="table-means"') < page.index('id="figure-goodput"')
    assert page.index('id="figure-goodput"') < page.index('id="setting"')
    assert Path("results/wan/figures/goodput.svg").exists()
    more = vazao(*asked[:-1], "network.bottleneck.loss=0:0.04:3", "--seeds", "4")
    assert "24 runs in results/wan (12 simulated now)" in more.out
    campaign = results.open_campaign("results/wan")
    (means,) = (campaign.table(table.id) for table in campaign.study.tables)
    assert means["runs"].to_list() == [4] * 6
    assert means.select("cc", "loss").rows() == [(cc, loss) for loss in (0, 0.02, 0.04) for cc in ("bbr", "cubic")]
    assert "24 of 24 runs" in vazao("show", "results/wan").out
    assert vazao("report", "results/wan").code == 0
    assert json.loads(vazao("run", "wan.toml", "--seeds", "2", "--out", "one", "--json").out)["runs"] == 2


def test_its_mean_and_interval_are_those_of_its_runs(vazao: Vazao) -> None:
    assert vazao("run", "wan.toml", "--seeds", "5").code == 0
    campaign = results.open_campaign("results/wan")
    (row,) = campaign.table("means").to_dicts()
    goodput = campaign.flows["goodput_bps"]
    assert row["goodput_bps"] == pytest.approx(goodput.mean())
    # Student's t for four degrees of freedom.
    assert row["± goodput_bps"] == pytest.approx(2.776445105 * float(goodput.std() or 0) / 5**0.5)  # type: ignore[arg-type]


def test_seeds_are_added_until_it_is_known(vazao: Vazao) -> None:
    done = vazao("run", "wan.toml", "--until-precision", "5%")
    assert done.code == 0, done.err
    (row,) = results.open_campaign("results/wan").table("means").to_dicts()
    assert row["± goodput_bps"] <= 0.05 * row["goodput_bps"]
    assert row["runs"] > 3
    assert "3 seeds: goodput is known to" in done.err


RIVALS = (
    SCENARIO.replace("bottleneck =", "pairs = 3\nbottleneck =")
    + """
[[flow]]
count = 2
app = { kind = "upload", size = "200 kB" }
transport = { kind = "tcp", cc = "reno" }
"""
)


@pytest.fixture(scope="module")
def rivals(tmp_path_factory: pytest.TempPathFactory) -> vz.Campaign:
    """Campaign with one flow whose control is varied, and two flows that compete with it."""
    file = tmp_path_factory.mktemp("rivals") / "rivals.toml"
    file.write_text(RIVALS)
    experiment = vz.load(file)
    assert isinstance(experiment, vz.Experiment)
    return experiment.vary("flow.0.transport.cc", "vegas,cubic").run(seeds=4, out=file.parent / "results")


def test_rivals_are_never_averaged(rivals: vz.Campaign) -> None:
    """Each `[[flow]]` table has its own rows; flows of one table are alike, and count as one in each run."""
    means = rivals.table("means")
    assert means.columns[:3] == ["cc", "flow", "runs"]
    assert means.select("cc", "flow", "runs").rows() == [
        (cc, flow, 4) for cc in ("cubic", "vegas") for flow in ("flow.0", "flow.1")
    ]
    of_run = rivals.flows.group_by("run_id", "group").agg(pl.col("goodput_bps").mean())
    runs = rivals.runs.select("run_id", level="cc")
    for row in means.iter_rows(named=True):
        own = of_run.join(runs, on="run_id").filter(level=row["cc"], group=int(row["flow"][-1]))["goodput_bps"]
        assert row["goodput_bps"] == pytest.approx(own.mean())
        # Student's t for three degrees of freedom.
        assert row["± goodput_bps"] == pytest.approx(3.182446305 * float(own.std() or 0) / 2)  # type: ignore[arg-type]
    question = (
        "Goodput of each flow by `flow.0.transport.cc` (vegas, cubic): 4 runs (seeds 1 to 4) of each combination."
    )
    assert rivals.study.question == question


def drawn(chart: Any) -> pl.DataFrame:
    (rows,) = chart.to_dict()["datasets"].values()
    return pl.DataFrame(rows)


def test_charts_keep_rivals_apart(rivals: vz.Campaign) -> None:
    means = rivals.table("means").sort("cc", "flow").select("cc", "flow", "goodput_bps", "± goodput_bps").rows()
    figure = drawn(rivals.figure("goodput")).sort("cc", "flow")
    assert figure.select("cc", "flow").rows() == [row[:2] for row in means]
    plotted = drawn(rivals.plot("goodput_bps", x="cc")).sort("cc", "flow_table")
    halved = plotted.with_columns(half=(pl.col("high") - pl.col("low")) / 2)
    for found, wanted in zip(halved.select("cc", "flow_table", "goodput_bps", "half").rows(), means, strict=True):
        assert found[:2] == wanted[:2]
        assert found[2:] == pytest.approx(wanted[2:])
    panels = drawn(rivals.plot("goodput_bps", kind="ecdf", color="cc"))
    assert sorted(panels["flow_table"].unique()) == ["flow.0", "flow.1"]
    one = drawn(rivals.plot("goodput_bps", x="cc", flow=0)).sort("cc")
    assert one["goodput_bps"].to_list() == pytest.approx([row[2] for row in means if row[1] == "flow.0"])
    assert "flow_table" not in drawn(rivals.plot("goodput_bps", kind="box", x="group", color="cc")).columns
    with pytest.raises(
        vz.ResultsError, match=r"is of flow\.0, flow\.1, which would be averaged: name one, as in flow=0"
    ):
        rivals.plot("goodput_bps", x="replication", color="cc", facet="seed")
    with pytest.raises(vz.ResultsError, match=r"flow: 2 has no 'goodput_bps'; these have: flow\.0, flow\.1"):
        rivals.plot("goodput_bps", x="cc", flow=2)


def test_a_band_of_a_measure_keeps_rivals_apart(tmp_path: Path) -> None:
    file = tmp_path / "rivals.toml"
    file.write_text('trace = ["cwnd"]\n' + RIVALS)
    experiment = vz.load(file)
    assert isinstance(experiment, vz.Experiment)
    campaign = experiment.run(seeds=2, out=tmp_path / "results")
    assert sorted(drawn(campaign.plot("cwnd"))["flow_table"].unique()) == ["flow.0", "flow.1"]


def test_precision_is_that_of_the_varied_flow(vazao: Vazao) -> None:
    """A rival's spread does not count, nor does its steadiness."""
    Path("rivals.toml").write_text(RIVALS)
    done = vazao("run", "rivals.toml", "--vary", "flow.0.transport.cc=vegas,cubic", "--until-precision", "25%")
    assert done.code == 0, done.err
    campaign = results.open_campaign("results/wan")
    means = campaign.table("means").with_columns(share=pl.col("± goodput_bps") / pl.col("goodput_bps"))
    assert means.filter(flow="flow.0")["share"].max() <= 0.25  # type: ignore[operator]
    assert "seeds: goodput of flow.0 is known to" in done.err
    # All runs that the command has simulated, not only those of its last step.
    assert f"{campaign.runs.height} runs in results/wan ({campaign.runs.height} simulated now)" in done.out


def test_more_keys_than_colours_give_each_flow_a_figure() -> None:
    varied = [Variation("network.bottleneck.loss", (0, 0.1)), Variation("flow.0.transport.cc", ("a", "b"))]
    flows = {"flow": [{}, {}]}
    ids = [one["id"] for one in tomllib.loads(sweep(flows, "x", varied, 1))["figure"]]
    assert ids == ["goodput"]
    more = [*varied, Variation("flow.1.transport.cc", ("a", "b"))]
    assert [one["id"] for one in tomllib.loads(sweep(flows, "x", more, 1))["figure"]] == ["goodput-0", "goodput-1"]
    assert "figure" not in tomllib.loads(sweep(flows, "x", [], 1))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--vary", "network.bottleneck.los=1"), 'unknown key "los"; did you mean "loss"'),
        (("--vary", "flow.0.transport.cc=cubic,bbrr"), "--vary flow.0.transport.cc=bbrr: wan.toml"),
        (("--seeds", "0"), "--seeds '0': write how many"),
        (("--seeds", "5-3"), "--seeds '5-3': write how many"),
        (("--seeds", "1-3", "--seed", "4"), "leave --seed 4 out"),
        (("--until-precision", "0"), "--until-precision '0': write a share between 0 and 100 %"),
        (("--until-precision", "x"), "--until-precision 'x': write a share"),
        (("--vary", "flow.0.transport.cc=cubic", "--trace", "cwnd"), "is swept; leave --trace,"),
    ],
)
def test_what_cannot_be_swept_is_said(vazao: Vazao, options: tuple[str, ...], message: str) -> None:
    done = vazao("run", "wan.toml", *options)
    assert (done.code, message in done.err) == (2, True), done.err
    assert not Path("results").exists()


def test_starters_run(vazao: Vazao) -> None:
    assert vazao("new", "mine", "--study").code == 0
    assert "reproduced" in vazao("run", "mine.toml", "--quick").out
    assert vazao("new", "my-bakeoff", "--from", "tcp-bakeoff").code == 0
    assert "my-bakeoff" in vazao("check", "my-bakeoff.toml").out
    assert vazao("new", "my-loss", "--from", "interop-loss").code == 0
    assert vazao("check", "my-loss.toml").code == 0
    wrong = vazao("new", "x", "--from", "tcp-bakeof")
    assert (wrong.code, "did you mean 'tcp-bakeoff'" in wrong.err) == (2, True)
    assert "is not a study's name" in vazao("new", "Mine", "--study").err


def test_python_does_as_the_command(vazao: Vazao) -> None:
    experiment = vz.load("wan.toml")
    assert isinstance(experiment, vz.Experiment)
    once = experiment.set({"network.bottleneck.loss": 0.01}).run(trace=["cwnd"])
    assert once.flows.height == 1
    campaign = (
        experiment.vary("flow.0.transport.cc", ["cubic", "bbr"])
        .vary("network.bottleneck.loss", "0:0.04:2")
        .run(seeds=3)
    )
    assert (campaign.started, campaign.directory) == (12, Path("results/wan"))
    asked = ("--vary", "flow.0.transport.cc=cubic,bbr", "--vary", "network.bottleneck.loss=0:0.04:2")
    assert "12 runs in results/wan (0 simulated now)" in vazao("run", "wan.toml", *asked, "--seeds", "1-3").out
    opened = vz.open("results/wan")
    assert isinstance(opened, vz.Campaign)
    assert opened.runs.equals(campaign.runs)
    assert vazao("run", "wan.toml", "--out", "one", "--trace", "cwnd").code == 0
    stored = vz.open("one")
    assert isinstance(stored, vz.StoredResult)
    assert (stored.flows.height, stored.sql("SELECT count(*) AS n FROM samples")["n"][0] > 10) == (1, True)
    assert "value" in str(stored.plot("cwnd").to_dict())
    with pytest.raises(vz.ScenarioError, match="say how often"):
        experiment.vary("flow.0.transport.cc", ["cubic", "bbr"]).run()
    assert isinstance(vz.load("hstcp-2010"), vz.Study)
