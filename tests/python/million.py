"""Generates a results directory with a million invented flows, to try out `vazao explore`.

.venv/bin/python tests/python/million.py /tmp/million
.venv/bin/vazao explore /tmp/million
"""

import sys
from pathlib import Path

import numpy as np
import polars as pl

from vazao.store.writer import writing

CONTROLS = ("reno", "cubic", "bbr", "vegas", "htcp")
RATES = {"10 Mbps": 1e7, "50 Mbps": 5e7, "100 Mbps": 1e8, "1 Gbps": 1e9}
QUEUES = ("drop-tail", "codel", "red")

STUDY = f"""
[study]
name = "million"
title = "A million flows that nobody measured"
question = "Is a million rows fluid?"
[scenario]
network = {{ topology = "point-to-point", link = {{ rate = "10 Mbps", delay = "1 ms" }} }}
flow = [{{ app = {{ kind = "upload", size = "10 kB" }} }}]
[design]
kind = "factorial"
[[factor]]
name = "control"
title = "Congestion control"
sets = "flow.0.transport.cc"
levels = {list(CONTROLS)}
[[factor]]
name = "rate"
sets = "network.link.rate"
levels = {list(RATES)}
[[factor]]
name = "queue"
[factor.levels]
drop-tail = {{ "network.link.queue" = "drop-tail" }}
codel = {{ "network.link.queue" = "codel" }}
red = {{ "network.link.queue" = "red" }}
[[finding]]
id = "bbr-short"
claim = "BBR's queues are shorter than CUBIC's"
sql = '''
SELECT avg(rtt_p95_s) FILTER (cc = 'bbr') < avg(rtt_p95_s) FILTER (cc = 'cubic') AS holds FROM flows'''
"""


def tables(flows: int, each: int = 10) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """Invented tables: the plan, the runs and the flows."""
    random = np.random.default_rng(1)
    runs = flows // each
    cell = np.arange(runs)
    control, rate, queue = cell % 5, cell // 5 % 4, cell // 20 % 3
    rates = np.array(list(RATES.values()))
    ids = [f"{n:016x}" for n in random.permutation(runs)]
    planned = pl.DataFrame(
        {"run_id": ids, "part": "main", "control": np.array(CONTROLS)[control], "rate": np.array(list(RATES))[rate],
         "rate_bps": rates[rate], "queue": np.array(QUEUES)[queue], "replication": cell // 60}
    )  # fmt: skip
    use = np.clip(0.9 - 0.05 * control + 0.02 * queue + random.normal(0, 0.05, runs), 0.01, 1)
    rows = pl.DataFrame(
        {"run_id": ids, "seed": cell // 60 + 1, "jain": np.clip(random.normal(0.9, 0.05, runs), 0.1, 1),
         "utilisation": use, "sim_s": random.uniform(9, 11, runs), "failure": pl.Series([None] * runs, dtype=pl.String)}
    )  # fmt: skip
    of = np.repeat(cell, each)
    share = random.dirichlet(np.full(each, 4.0), runs).ravel()
    rtt = 0.02 + 0.03 * random.gamma(2.0, 0.5, flows) * (1 + (queue[of] == 0)) * np.where(control[of] == 2, 0.4, 1.0)
    goodput = use[of] * rates[rate[of]] * share
    flow = pl.DataFrame(
        {"run_id": np.array(ids)[of], "flow": np.tile(np.arange(each, dtype=np.int32), runs), "transport": "tcp",
         "cc": np.array(CONTROLS)[control[of]], "goodput_bps": goodput, "throughput_bps": goodput * 1.04,
         "completion_s": 1e7 * 8 / goodput, "start_s": 0.0, "last_byte_s": 1.0, "size_class": "up to 100 kB",
         "rtt_mean_s": rtt, "rtt_p95_s": rtt * random.uniform(1.1, 2.5, flows),
         "packets_lost": random.poisson(40 * rtt), "timeouts": random.poisson(0.1, flows), "completed": True}
    )  # fmt: skip
    return planned, rows, flow


def main() -> None:
    """Write the directory named on the command line, with the given number of flows."""
    directory, flows = Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1_000_000
    planned, runs, flow = tables(flows)
    manifest = {
        "kind": "study", "name": "million", "title": "A million flows that nobody measured", "size": "quick",
        "seed": 1, "overrides": [], "runs": runs.height, "parts": [], "versions": {}, "inputs": {}, "not_run": {},
    }  # fmt: skip
    with writing(directory, manifest, STUDY) as writer:
        writer.write_planned(planned)
        writer.commit({"runs": runs, "flows": flow})


if __name__ == "__main__":
    main()
