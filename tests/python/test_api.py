"""The Python face: builders make the tables of TOML, results are data frames."""

import polars as pl
import pytest

import vazao as vz
from vazao import build


def network(**more: object) -> vz.Network:
    return vz.dumbbell(bottleneck=vz.link("10 Mbps", "5 ms", queue="1 bdp", **more), pairs=2)


def test_builders_make_the_tables_of_toml() -> None:
    flow = vz.flow(vz.upload("10 MB"), vz.tcp(cc="cubic", sack=False), start="1 s")
    assert build.scenario(network(loss=0.01), [flow], seed=3) == {
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
