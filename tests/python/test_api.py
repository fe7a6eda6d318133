"""The Python API: builders make the tables of TOML, results are data frames."""

from pathlib import Path

import polars as pl
import pytest

import vazao as vz
from vazao.scenario import build


def network(**more: object) -> vz.Network:
    return vz.dumbbell(bottleneck=vz.link("10 Mbps", "5 ms", queue="1 bdp", **more), pairs=2)


def test_builders_make_the_tables_of_toml() -> None:
    flow = vz.flow(vz.upload("10 MB"), vz.tcp(cc="cubic", sack=False), start="1 s")
    assert build.document(network(loss=0.01), [flow], seed=3) == {
        "name": "python",
        "seed": 3,
        "network": {
            "topology": "dumbbell",
            "pairs": 2,
            "access": {"rate": "100 Gbps", "delay": "0 s"},
            "bottleneck": {"rate": "10 Mbps", "delay": "5 ms", "queue": "1 bdp", "loss": 0.01},
        },
        "flow": [
            {
                "start": "1 s",
                "app": {"kind": "upload", "size": "10 MB"},
                "transport": {"kind": "tcp", "cc": "cubic", "sack": False},
            }
        ],
    }
    assert repr(vz.link("1 Mbps")) == "link(rate='1 Mbps')"


def test_a_run_gives_data_frames() -> None:
    flows = [vz.flow(vz.upload("100 kB"), vz.tcp(cc="reno")), vz.flow(vz.download("50 kB"))]
    result = vz.run(network(), flows, seed=1, trace=["cwnd"])
    assert result.flows["app_bytes"].to_list() == [100_000, 50_000]
    assert result.flows["completed"].all()
    assert result.runs.height == 1
    assert result.links.filter(pl.col("link") == "bottleneck").height == 2
    assert set(result.samples["measure"]) == {"cwnd"}
    assert result.plot("cwnd").to_dict()["$schema"].startswith("https://vega.github.io/schema/vega-lite")


def test_the_same_seed_gives_the_same_rows() -> None:
    first, again, other = (vz.run(network(loss=0.02), [vz.flow(vz.upload("200 kB"))], seed=seed) for seed in (1, 1, 2))
    assert first.flows.equals(again.flows)
    assert not first.flows.drop("run_id").equals(other.flows.drop("run_id"))


@pytest.mark.parametrize(
    "net",
    [
        vz.point_to_point(vz.link("10 Mbps", "5 ms")),
        vz.path(vz.link("10 Mbps", "5 ms"), vz.link("5 Mbps", "1 ms")),
        vz.dumbbell(bottleneck=vz.link("10 Mbps", "5 ms"), access=vz.link("1 Gbps", "1 ms")),
        vz.parking_lot(bottleneck=vz.link("10 Mbps", "5 ms"), hops=2),
        vz.multipath(vz.link("10 Mbps", "5 ms"), vz.link("5 Mbps", "1 ms")),
        vz.custom(
            ["a", "b"], {("a", "r"): vz.link("1 Gbps", "1 ms"), ("r", "b"): vz.link("1 Mbps", "1 ms")}, routers=["r"]
        ),
    ],
    ids=lambda net: net["topology"],
)
def test_every_topology_carries_a_flow(net: vz.Network) -> None:
    result = vz.run(net, [vz.flow(vz.upload("20 kB"))])
    assert result.flows["intact"].to_list() == [True]


def test_a_mistake_gets_the_message_that_a_file_gets() -> None:
    with pytest.raises(vz.ScenarioError, match=r"10 Mbs.* is not a rate"):
        vz.run(vz.dumbbell(bottleneck=vz.link("10 Mbs", "5 ms")), [vz.flow(vz.upload("1 kB"))])
    assert issubclass(vz.ScenarioError, vz.VazaoError)


def test_each_application_has_a_function() -> None:
    net = vz.point_to_point(vz.link("20 Mbps", "5 ms"))
    points = [["1 kB", 0.5], ["20 kB", 1]]
    flows = [
        vz.flow(vz.upload(duration="1 s"), vz.udp("2 Mbps", 1000)),
        vz.flow(vz.cbr("1 Mbps", duration="1 s"), vz.udp()),
        vz.flow(vz.on_off("1 Mbps", on="exponential 100 ms", off="pareto 100 ms", duration="1 s"), vz.udp()),
        vz.flow(vz.packet_generator("exponential 5 ms", {"kind": "uniform", "min": "50 B", "max": "1 kB"}, count=50)),
        vz.flow(vz.messages("2 kB", "20 ms", count=20), vz.quic("reno", handshake="0-rtt")),
        vz.flow(vz.requests(10, response="5 kB", think="exponential 10 ms", pipeline=2)),
        vz.flow(vz.page(20, "lognormal 5 kB", root="2 kB", http="1.1", connections=4, pipeline=2)),
        vz.flow(vz.page(20, "5 kB", priority="order"), vz.quic()),
        vz.flow(vz.video("8 s", ladder=["500 kbps", "1 Mbps"], segment="1 s", startup="2 s", adaptation="rate-based")),
        vz.flow(vz.arrivals("50 ms", points, count=4, direction="download")),
    ]
    rows = vz.run(net, flows, seed=3).flows
    apps = ["upload", "cbr", "on-off", "packets", "messages", "requests", "page", "page", "video"]
    assert rows["app"].to_list() == apps + 4 * ["download"]
    assert rows["group"].to_list() == [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 9, 9, 9]
    assert rows["completed"].all()
    assert rows["intact"].all()
    delivered = rows["messages_delivered"].to_list()
    assert (delivered[0], delivered[3:9], delivered[9:]) == (None, [50, 20, 10, 21, 20, 8], [None] * 4)
    assert rows["connections"].to_list()[6:9] == [4, 1, 1]
    assert rows["startup_s"].is_not_null().to_list() == [app == "video" for app in rows["app"]]


@pytest.mark.parametrize(
    ("app", "message"),
    [
        (
            vz.packet_generator("expo 1 ms"),
            r'flow\.0\.app\.idt: unknown distribution "expo"; did you mean "exponential"',
        ),
        (
            vz.packet_generator({"kind": "pareto", "mean": "1 ms", "shpe": 2}),
            r"app\.idt: shpe: .*did you mean \"shape\"",
        ),
        (vz.on_off(on="1 kB"), r"flow\.0\.app\.on: .*1 kB.* is not a duration"),
        (
            vz.requests(response=[["1 kB", 0.5]]),
            r"flow\.0\.app\.response: points: the last point's probability must be 1",
        ),
        (vz.on_off(), r"flow\.0\.app: would never end; give it a size or a duration, or the scenario an end: until"),
        (vz.requests(), r"flow\.0\.app: would never end; give it a count or a duration"),
        (vz.arrivals(), r"flow\.0\.app: would never end; give it a count or a duration"),
    ],
)
def test_mistakes_in_applications_name_their_key(app: vz.App, message: str) -> None:
    with pytest.raises(vz.ScenarioError, match=message):
        vz.run(vz.point_to_point(vz.link("1 Mbps")), [vz.flow(app)])


def test_parity_is_counted_and_google_s_quic_is_not_captured(tmp_path: Path) -> None:
    """One packet in ten is lost; one parity packet after three restores most of them. Captures contain no parity."""
    net = vz.point_to_point(vz.link("10 Mbps", "20 ms", queue="100 packets", loss={"kind": "periodic", "every": 10}))
    flow = vz.flow(vz.download("1 MB"), vz.quic(handshake="gquic-1-rtt", fec=3))
    row = vz.run(net, [flow], seed=1).flows
    packets, parity = row["packets_sent"].item(), row["parity_packets"].item()
    assert packets / 5 < parity < packets / 3
    assert row["recovered_packets"].item() > 0
    assert row["intact"].item()
    with pytest.raises(vz.RunError, match="leave --pcap out"):
        vz.run(net, [flow], seed=1, pcap=tmp_path)
