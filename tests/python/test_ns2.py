"""Our TCPs compared with ns-2.35's on the path of the study hstcp-2010.

`reference/ns2_highspeed.csv` holds measurements of ns-2.35: S-R1-R2-D, base round trip 25 ms, a drop-tail queue of 200
packets at R1, one FTP flow of 1000-byte packets (1040 on the wire, Vegas 1000), no delayed ACKs, minimum timeout 0.2 s,
100 s.

Slow start is arithmetic, so it must agree almost to the packet. The rest depends on details in which ns-2 differs from
the RFCs that we follow (its SACK cuts the window twice for one burst, its Vegas counts in whole segments), so
utilisation is compared to within 10 %.
"""

from pathlib import Path

import polars as pl
import pytest

from vazao import _core

pytestmark = pytest.mark.study

REFERENCE = pl.read_csv(Path(__file__).parent / "reference" / "ns2_highspeed.csv")
ROWS = list(REFERENCE.iter_rows(named=True))

VARIANTS = {
    "tahoe": ("reno", "tahoe"),
    "reno": ("reno", "reno"),
    "newreno": ("reno", "newreno"),
    "sack": ("reno", "sack"),
    "hstcp": ("highspeed", "sack"),
    "vegas": ("vegas", "reno"),
}

SCENARIO = """
until = "100 s"

[network]
topology = "path"
link = [
    { rate = "10 Gbps", delay = "100 us", queue = "100000 packets" },
    { rate = "RATE Mbps", delay = "12.3 ms", queue = "200 packets" },
    { rate = "10 Gbps", delay = "100 us" },
]

[[flow]]
app = { kind = "upload" }

[flow.transport]
kind = "tcp"
cc = "CC"
recovery = "RECOVERY"
mss = 1000
initial_window = 2
abc_limit = 1
delayed_ack = 1
quick_acks = 0
timestamps = false
min_rto = "200 ms"
initial_rto = "3 s"
receive_buffer = "64 MB"
"""


def simulate(row: dict[str, object]) -> tuple[dict[str, float], dict[str, float]]:
    """Rows of the flow, and of the bottleneck in the direction of the data."""
    cc, recovery = VARIANTS[str(row["variant"])]
    rate = f"{row['bandwidth_mbps']:g}"
    text = SCENARIO.replace("RATE", rate).replace("CC", cc).replace("RECOVERY", recovery)
    outcome = _core.run(_core.load(text))
    links = pl.DataFrame(outcome.table("links")).with_columns(pl.col("link", "direction").cast(pl.String))
    link = links.row(by_predicate=(pl.col("link") == "link2") & (pl.col("direction") == "forward"), named=True)
    return pl.DataFrame(outcome.table("flows")).row(0, named=True), link


@pytest.mark.parametrize("row", ROWS, ids=[f"{r['variant']}-{r['bandwidth_mbps']:g}" for r in ROWS])
def test_slow_start_and_utilisation_agree(row: dict[str, float]) -> None:
    flow, link = simulate(row)
    assert flow["intact"]
    assert link["utilisation"] == pytest.approx(row["utilisation"], rel=0.10)
    if row["drops"] == 0:
        assert link["drops_queue"] == 0
        return
    # The burst that ends slow start: packets sent until the first loss is noticed, and packets lost of them.
    assert flow["slow_start_sent"] == pytest.approx(row["ss_sent"], rel=0.01)
    assert flow["slow_start_lost"] == pytest.approx(row["ss_drops"], rel=0.01)
    # ns-2 samples its window every 10 ms.
    assert flow["slow_start_s"] == pytest.approx(row["ss_end_s"], abs=0.011)


def test_recovery_after_the_burst_takes_as_long() -> None:
    """Time from the end of slow start until the window holds the path, at 1 Gbit/s."""
    rows = [row for row in ROWS if row["bandwidth_mbps"] == 1000 and row["ca1_regain_bdp_s"] is not None]
    assert len(rows) == 5
    for row in rows:
        theirs = row["ca1_regain_bdp_s"] - row["ss_end_s"]
        ours = simulate(row)[0]["refill_s"]
        # HighSpeed starts from SACK's reduced window: halved twice in ns-2, once here, so it has less to climb.
        bound = 0.20 if row["variant"] == "hstcp" else 0.06
        assert ours == pytest.approx(theirs, rel=bound), row["variant"]
