"""An invented study with invented numbers, for testing figures and the report."""

import json
import math
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import tomli_w

from vazao.scenario import load
from vazao.store import Store
from vazao.store.directory import PLANNED
from vazao.store.growth import in_order
from vazao.study import Figure, Ruling, Study, parse_study
from vazao.study.findings import AbandonedCriterion, Pair

DESIGN = ["part", "bandwidth", "bandwidth_bps", "variant", "setting", "replication"]
VARIANTS = ["tahoe-no-fast-retransmit", "tahoe", "reno", "newreno", "sack", "vegas", "westwood", "scalable",
            "highspeed", "bic", "cubic"]  # fmt: skip
SETTINGS = ["historic", "modern"]
RATES = {"1.5 Mbps": 1.5e6, "10 Mbps": 1e7, "100 Mbps": 1e8, "250 Mbps": 2.5e8, "550 Mbps": 5.5e8, "1 Gbps": 1e9}
REPLICATIONS = 5

SMALL = """
[study]
name = "small"
title = "Small"
[scenario]
network = { topology = "point-to-point", link = { rate = "10 Mbps", delay = "1 ms" } }
flow = [{ app = { kind = "upload", size = "10 kB" } }]
[design]
kind = "factorial"
[[factor]]
name = "rate"
sets = "network.link.rate"
levels = ["1 Mbps", "10 Mbps"]
"""
"""Study of two short runs; tests add questions to it."""

TEXT = """
[study]
name = "invented"
title = "An invented comparison of eleven TCPs over a wide path"
source = "Nobody, Nowhere, 2024"
question = "Which TCP would use a large bandwidth-delay product, if these invented numbers were true?"
about = '''
A study made up to **test the report**. Its claims, numbers and verdicts are *invented*.

One long flow crosses one bottleneck. The access links never limit.
'''
seed = 1

[scenario]
name = "invented"
until = "120 s"
[scenario.network]
topology = "dumbbell"
access = { rate = "10 Gbps", delay = "1 ms" }
bottleneck = { rate = "10 Mbps", delay = "10.5 ms", queue = "200 packets" }
[[scenario.flow]]
app = { kind = "upload" }
transport = { kind = "tcp", cc = "reno" }

[[part]]
name = "single"
title = "One flow alone"
question = "How much of the link does one flow use?"
replications = { quick = 5, full = 30 }
[[part.factor]]
name = "bandwidth"
sets = "network.bottleneck.rate"
levels = RATES
[[part.factor]]
name = "variant"
[part.factor.levels]
VARIANTS
[[part.factor]]
name = "setting"
[part.factor.levels]
historic = { "network.bottleneck.queue" = "200 packets", "flow.0.transport.initial_window" = 1 }
modern = { "network.bottleneck.queue" = "1 bdp", "flow.0.transport.initial_window" = 10 }

[[table]]
id = "best"
title = "The best variant"
caption = "By mean utilisation."
sql = '''
SELECT bandwidth AS rate, arg_max(variant, utilisation) AS best, max(utilisation) AS utilisation
FROM runs WHERE part = 'single' GROUP BY ALL ORDER BY any_value(bandwidth_bps)'''

[[part]]
name = "traces"
title = "Windows over time"
question = "What do the windows look like?"
scenario = { until = "120 s" }
[[part.factor]]
name = "variant"
[part.factor.levels]
reno = { "flow.0.transport.cc" = "reno" }
highspeed = { "flow.0.transport.cc" = "highspeed" }
[[part.factor]]
name = "setting"
[part.factor.levels]
historic = { "flow.0.transport.initial_window" = 1 }
modern = { "flow.0.transport.initial_window" = 10 }

[[figure]]
id = "utilisation"
title = "Utilisation of the bottleneck"
caption = "Mean over replications; vertical rules are 95 % confidence intervals."
sql = "SELECT bandwidth_bps, variant, setting, utilisation FROM runs WHERE part = 'single'"
x = "bandwidth_bps"
y = "utilisation"
color = "variant"
facet = "setting"
x_scale = "log"
x_title = "Bottleneck rate"
error = "ci95"
finding = ["utilisation-falls", "utilisation-order"]

[[figure]]
id = "recovery"
title = "Time to regain the window"
sql = "SELECT * FROM runs WHERE part = 'single' AND setting = 'historic'"
x = "bandwidth_bps"
y = "recovery_s"
color = "variant"
x_scale = "log"
y_scale = "log"
x_title = "Bottleneck rate"
y_title = "Recovery time"
error = "ci95"
finding = ["recovery"]

[[figure]]
id = "slow-start"
title = "Duration of the first slow start"
sql = "SELECT * FROM runs WHERE part = 'single' AND bandwidth = '1 Gbps'"
kind = "bar"
x = "setting"
y = "slow_start_s"
color = "variant"
y_title = "First slow start"
error = "ci95"
finding = ["slow-starts-alike"]

[[figure]]
id = "cwnd"
title = "Congestion window over time"
sql = '''
SELECT time_s, value, variant, setting
FROM samples JOIN runs USING (run_id)
WHERE measure = 'cwnd' AND part = 'traces'
ORDER BY variant, setting, time_s
'''
kind = "step"
x = "time_s"
y = "value"
color = "variant"
facet = "setting"
x_title = "Time"
y_title = "Congestion window"
y_unit = "B"

[[figure]]
id = "spread"
title = "Spread of the utilisation at 1 Gbit/s"
sql = "SELECT * FROM runs WHERE part = 'single' AND bandwidth = '1 Gbps'"
kind = "box"
x = "variant"
y = "utilisation"
color = "variant"

[[figure]]
id = "band"
title = "Slow start against rate"
sql = "SELECT * FROM runs WHERE part = 'single'"
kind = "band"
x = "bandwidth_bps"
y = "slow_start_s"
color = "setting"
x_scale = "log"
x_title = "Bottleneck rate"
y_title = "First slow start"
error = "ci95"

[[figure]]
id = "cloud"
title = "Recovery against utilisation"
sql = "SELECT * FROM runs WHERE part = 'single' AND variant IN ('sack', 'reno')"
kind = "point"
x = "utilisation"
y = "recovery_s"
color = "setting"
y_scale = "log"
y_title = "Recovery time"

[[finding]]
id = "utilisation-falls"
claim = "Utilisation falls as the bandwidth grows"
sql = "SELECT true AS holds"
[[finding]]
id = "utilisation-order"
claim = "From worst to best: Tahoe, Reno, NewReno, SACK, Westwood, Scalable, HSTCP, Vegas"
sql = "SELECT true AS holds"
[[finding]]
id = "recovery"
claim = "HSTCP regains its window in about 2 s where SACK TCP needs about 70 s"
sql = "SELECT true AS holds"
[[finding]]
id = "slow-starts-alike"
claim = "The first slow starts last alike"
sql = "SELECT true AS holds"
[[finding]]
id = "seed"
claim = "The order does not hang on the seed"
sql = "SELECT true AS holds"
"""


def study(text: str = TEXT) -> Study:
    """Parses the invented study."""
    variants = "\n".join(f'{variant} = {{ "flow.0.transport.cc" = "{variant}" }}' for variant in VARIANTS)
    return parse_study(text.replace("VARIANTS", variants).replace("RATES", json.dumps(list(RATES))), "invented.toml")


def figure(name: str, **given: Any) -> Figure:
    """Figure over the invented rows."""
    return Figure(id=name, title=name.capitalize(), **given)


def store(folder: Path) -> Store:
    """Results directory of the invented study, created in `folder`."""
    for name, table in tables().items():
        (folder / name).mkdir()
        if name == "runs":
            in_order(table.select("run_id", *DESIGN)).write_parquet(folder / PLANNED)
            table = table.drop(DESIGN)
        table.write_parquet(folder / name / "000001.parquet")
    manifest = {
        "kind": "study", "name": "invented", "title": "",
        "size": "quick", "seed": 1,
        "overrides": [], "runs": 668,
        "parts": [
            {"name": "single", "design": "factorial", "combinations": 132, "replications": 5, "runs": 660},
            {"name": "traces", "design": "factorial", "combinations": 8, "replications": 1, "runs": 8},
        ],
        "versions": {"vazao": "0.1.0", "engine": "0.1.0", "python": "3.11.7"},
    }  # fmt: skip
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return Store(folder)


def tables() -> dict[str, pl.DataFrame]:
    """Invented runs, and samples of four of them."""
    random = np.random.default_rng(1)
    runs: list[dict[str, Any]] = []
    samples: list[pl.DataFrame] = []
    for label, rate in RATES.items():
        for s, setting in enumerate(SETTINGS):
            for v, variant in enumerate(VARIANTS):
                for replication in range(REPLICATIONS):
                    fall = (0.05 + 0.03 * (len(VARIANTS) - v) * (1 - 0.6 * s)) * math.log10(rate / 1e6)
                    runs.append({
                        "run_id": f"{len(runs):016x}", "part": "single", "bandwidth": label, "bandwidth_bps": rate,
                        "variant": variant, "setting": setting, "replication": replication,
                        "utilisation": float(np.clip(0.99 - fall + random.normal(0, 0.015), 0.02, 1)),
                        "recovery_s": float(0.02 * (rate / 1e6) ** 1.1 * random.lognormal(-v / 6, 0.2)),
                        "slow_start_s": float(0.2 * math.log2(rate / 1e5) * random.lognormal(0, 0.05)),
                    })  # fmt: skip
    for v, variant in enumerate(["reno", "highspeed", "westwood", "cubic"]):
        for setting in SETTINGS:
            time = np.linspace(0, 120, 4000)
            run_id = f"trace{v}{setting}"
            runs.append({
                "run_id": run_id, "part": "traces", "bandwidth": "1 Gbps", "bandwidth_bps": 1e9, "variant": variant,
                "setting": setting, "replication": 0, "utilisation": 0.9, "recovery_s": None, "slow_start_s": 1.0,
            })  # fmt: skip
            period = 12 + 9 * v
            value = 1.6e6 + 1.5e6 * ((time + 3 * v) % period) / period
            samples.append(pl.DataFrame({
                "run_id": run_id, "time_s": time, "flow": 0, "path": 0, "link": None, "direction": None,
                "measure": "cwnd", "value": value,
            }))  # fmt: skip
    return {"runs": pl.DataFrame(runs, infer_schema_length=None), "samples": pl.concat(samples)}


ORDER = "From worst to best: Tahoe, Reno, NewReno, SACK, Westwood, Scalable, HSTCP, Vegas"
FALLS = "Utilisation falls as the bandwidth grows"
REGAINS = "HSTCP regains its window in about 2 s where SACK TCP needs about 70 s"
ALIKE = "The first slow starts last alike"
FINDINGS = [
    Ruling("utilisation-falls", FALLS, "every variant", "setting", "historic", "reproduced", "from 95 % to 52 %", ""),
    Ruling("utilisation-falls", FALLS, "every variant", "setting", "modern", "differs", "from 97 % to 88 % on average",
           "A queue of one bandwidth-delay product hides most of the fall."),
    Ruling("utilisation-order", ORDER, "the order of figure 4", "setting", "historic", "differs",
           "Tahoe, Reno, NewReno, SACK, Vegas, Westwood, Scalable, HSTCP",
           "Vegas stands fifth of eight: its own slow start leaves early, at 31 % of the path's capacity."),
    Ruling("utilisation-order", ORDER, "the order of figure 4", "setting", "modern", "differs",
           "all within 4 % of each other", ""),
    Ruling("recovery", REGAINS, "2 s against 70 s", "setting", "historic", "reproduced", "2.4 s against 61.8 s", ""),
    Ruling("recovery", REGAINS, "2 s against 70 s", "setting", "modern", "not testable", "",
           "No loss occurs in congestion avoidance in this setting."),
    Ruling("slow-starts-alike", ALIKE, "within 10 %", "setting", "historic", "reproduced", "within 7 %", ""),
    Ruling("slow-starts-alike", ALIKE, "within 10 %", "setting", "modern", "reproduced", "within 6 %", ""),
    Ruling("seed", "The order does not hang on the seed", "", None, None, "reproduced", "5 of 5 seeds", ""),
    Ruling("gain", "HSTCP saves a fifth of the time", "20.8 %", None, None, "undecided", "+12 ± 15 %", "Three runs.",
           "The interval lies above 10.4 %.", [AbandonedCriterion("It reaches 10.4 %.", "Few runs made it easier.")],
           [Pair("time saved", "%", 0.208, 0.12, 0.15, 0.577)]),
]  # fmt: skip


def drop_tail(limit: str) -> dict[str, Any]:
    return {"kind": "drop-tail", "parameters": {"limit": limit}}


def link(name: str, source: str, target: str, rate: float, delay: float, limit: str, loss: float | None = None):
    one = {"name": name, "source": source, "target": target, "rate_bps": rate, "delay_s": delay,
           "queue": drop_tail(limit),
           "loss": loss and {"kind": "bernoulli", "parameters": {"p": str(loss)}}}  # fmt: skip
    return one | {"reverse": one | {"source": target, "target": source}}


def hosts_and_routers(hosts: list[str], routers: list[str]) -> list[dict[str, str]]:
    return [{"name": n, "kind": "host"} for n in hosts] + [{"name": n, "kind": "router"} for n in routers]


def placed(make: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    """The network that `make` describes, with its nodes where the engine places them."""

    @wraps(make)
    def made(*given: int) -> dict[str, Any]:
        graph = make(*given)
        kinds = {kind: [node["name"] for node in graph["nodes"] if node["kind"] == kind] for kind in ("host", "router")}
        links = [{"name": x["name"], "from": x["source"], "to": x["target"], "rate": "1 Gbps", "delay": "1 ms"}
                 for x in graph["links"]]  # fmt: skip
        flows = [{"client": x["client"], "server": x["server"], "app": "upload"} for x in graph["flows"]]
        network = {"topology": "custom", "hosts": kinds["host"], "routers": kinds["router"], "link": links}
        nodes = load(tomli_w.dumps({"until": "1 s", "network": network, "flow": flows})).graph()["nodes"]
        return graph | {"nodes": nodes}

    return made


@placed
def dumbbell(pairs: int) -> dict[str, Any]:
    left, right = [f"left{i + 1}" for i in range(pairs)], [f"right{i + 1}" for i in range(pairs)]
    return {
        "nodes": hosts_and_routers(left + right, ["r1", "r2"]),
        "links": [link(f"access-{h}", h, "r1", 1e9, 0.001, "1000 packets") for h in left]
        + [link("bottleneck", "r1", "r2", 1e7, 0.05, "1 bdp", 0.001)]
        + [link(f"access-{h}", "r2", h, 1e9, 0.001, "1000 packets") for h in right],
        "flows": [
            {"flow": i, "client": a, "server": b, "label": "cubic upload"}
            for i, (a, b) in enumerate(zip(left, right, strict=True))
        ],
    }


@placed
def point_to_point() -> dict[str, Any]:
    return {
        "nodes": hosts_and_routers(["a", "b"], []),
        "links": [link("link", "a", "b", 1e8, 0.01, "100 packets")],
        "flows": [{"flow": 0, "client": "a", "server": "b", "label": "reno upload"}],
    }


@placed
def path(hops: int) -> dict[str, Any]:
    names = ["a", *(f"r{i + 1}" for i in range(hops - 1)), "b"]
    return {
        "nodes": hosts_and_routers(["a", "b"], names[1:-1]),
        "links": [
            link(f"hop{i + 1}", names[i], names[i + 1], 1e7 if i == 1 else 1e9, 0.005, "50 packets")
            for i in range(hops)
        ],
        "flows": [{"flow": 0, "client": "a", "server": "b", "label": "sack upload"}],
    }


@placed
def parking_lot(hops: int) -> dict[str, Any]:
    routers = [f"r{i + 1}" for i in range(hops + 1)]
    cross = [(f"c{i + 1}", routers[i], f"d{i + 1}", routers[i + 1]) for i in range(hops)]
    return {
        "nodes": hosts_and_routers(["a", "b", *(c[0] for c in cross), *(c[2] for c in cross)], routers),
        "links": [link("access-a", "a", routers[0], 1e9, 0.001, "1 bdp")]
        + [link("access-b", routers[-1], "b", 1e9, 0.001, "1 bdp")]
        + [link(f"hop{i + 1}", routers[i], routers[i + 1], 1e7, 0.01, "20 packets") for i in range(hops)]
        + [link(f"in-{c}", c, r, 1e9, 0.001, "1 bdp") for c, r, _, _ in cross]
        + [link(f"out-{d}", r, d, 1e9, 0.001, "1 bdp") for _, _, d, r in cross],
        "flows": [{"flow": 0, "client": "a", "server": "b", "label": "long"}]
        + [{"flow": i + 1, "client": c, "server": d, "label": "cross"} for i, (c, _, d, _) in enumerate(cross)],
    }  # fmt: skip


@placed
def multipath() -> dict[str, Any]:
    return {
        "nodes": hosts_and_routers(["a", "b"], []),
        "links": [
            link("path1", "a", "b", 1e7, 0.01, "100 packets"),
            link("path2", "a", "b", 2e7, 0.05, "100 packets", 0.01),
            link("path3", "a", "b", 5e6, 0.1, "20 ms"),
        ],
        "flows": [{"flow": 0, "client": "a.1", "server": "b.1", "label": "mptcp"}],
    }


@placed
def mesh() -> dict[str, Any]:
    return {
        "nodes": hosts_and_routers(["s1", "s2", "d1", "d2"], ["x", "y", "z", "w"]),
        "links": [
            link("s1x", "s1", "x", 1e9, 0.001, "1 bdp"), link("s2x", "s2", "x", 1e9, 0.001, "1 bdp"),
            link("xy", "x", "y", 1e7, 0.02, "1 bdp"), link("xz", "x", "z", 2e7, 0.03, "1 bdp"),
            link("yw", "y", "w", 1e7, 0.02, "1 bdp"), link("zw", "z", "w", 2e7, 0.03, "1 bdp"),
            link("wd1", "w", "d1", 1e9, 0.001, "1 bdp"), link("zd2", "z", "d2", 1e9, 0.001, "1 bdp"),
        ],
        "flows": [{"flow": 0, "client": "s1", "server": "d1", "label": "cubic"},
                  {"flow": 1, "client": "s2", "server": "d2", "label": "reno"}],
    }  # fmt: skip
