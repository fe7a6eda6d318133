"""An invented study, its campaign, and files of measurements to be joined with it."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import polars as pl
import pytest

from vazao.measurements import Measured, measurement_files
from vazao.results import Campaign, Study, run_study
from vazao.study import Ruling, parse_as

HEAD = """
[study]
name = "bench"
title = "A bench"
seed = 5
claimed_at = { setting = "historic" }

[scenario]
[scenario.network]
topology = "dumbbell"
access = { rate = "1 Gbps", delay = "1 ms" }
bottleneck = { rate = "10 Mbps", delay = "5 ms", queue = "20 packets", loss = 0.01 }

[[scenario.flow]]
start_spread = "10 ms"
app = { kind = "upload", size = "100 kB" }
transport = { kind = "tcp", cc = "cubic" }

[[part]]
name = "grid"
replications = 3

[[part.factor]]
name = "bandwidth"
sets = "network.bottleneck.rate"
levels = ["1 Mbps", "100 Mbps"]

[[part.factor]]
name = "variant"
levels.reno = { "flow.0.transport.cc" = "reno" }
levels.cubic = { "flow.0.transport.cc" = "cubic" }

[[part.factor]]
name = "setting"
levels.historic = { "flow.0.transport.initial_window" = 1 }
levels.modern = { "flow.0.transport.initial_window" = 10 }

[[part]]
name = "pair"
[part.scenario]
network = { pairs = 2 }
[[part.scenario.flow]]
app = { kind = "upload", size = "100 kB" }
transport = { kind = "tcp", cc = "cubic" }
[[part.scenario.flow]]
app = { kind = "download", size = "100 kB" }
transport = { kind = "tcp", cc = "reno" }
[[part.factor]]
name = "error"
sets = "network.bottleneck.loss"
levels = [0, 0.01]

[[view]]
name = "times"
sql = '''
SELECT *, completion_s AS t, CASE app WHEN 'upload' THEN completion_s ELSE 2 * completion_s END AS told_s
FROM runs JOIN flows USING (run_id)'''

[[figure]]
id = "time"
title = "Time"
sql = "SELECT bandwidth_bps, variant, setting, t FROM times WHERE part = 'grid'"
x = "bandwidth_bps"
y = "t"
color = "variant"
facet = "setting"
x_scale = "log"
error = "ci95"
finding = "faster"
reported = [{ bandwidth_bps = "1 Mbps", t = "1 s" }]

[[figure]]
id = "links"
title = "Links"
sql = '''
SELECT variant, avg(links.utilisation) AS used FROM runs JOIN links USING (run_id) WHERE part = 'grid' GROUP BY ALL'''
x = "variant"
y = "used"
kind = "bar"

[[finding]]
id = "faster"
claim = "The faster link is faster"
reported = "ten times"
per = "variant"
needs = { setting = "historic" }
numbers = [{ of = "saved", reported = "1 s", measured = "d", ci = "ci" }]
sql = '''
WITH g AS (SELECT list(t) FILTER (bandwidth = '1 Mbps') AS a, list(t) FILTER (bandwidth = '100 Mbps') AS b,
                  avg(packets_sent) AS sent
           FROM times WHERE part = 'grid' AND variant = $variant AND setting = 'historic')
SELECT list_avg(a) - list_avg(b) AS d, welch_ci95(a, b) AS ci, sent, greater(d, ci, 0.1) AS holds FROM g'''
measured = "{d:.3f} s ± {ci:.3f} s, {sent:.0f} packets"
explanation = "Our links are simulated."
if_reproduced = "Here, because of our queue."

[[finding]]
id = "used"
claim = "The links are used"
sql = "SELECT min(utilisation) AS least, min(utilisation) > 0.9 AS holds FROM runs WHERE part = 'grid'"
measured = "{least:.2f}"

[[finding]]
id = "told"
claim = "An upload takes as long as it takes"
sql = "SELECT avg(told_s - t) AS more, avg(told_s - t) = 0 AS holds FROM times WHERE part = 'grid'"

[[finding]]
id = "alone"
claim = "The first flow takes less than a minute"
sql = "SELECT max(t) AS most, max(t) < 60 AS holds FROM times WHERE part = 'pair' AND flow = 0"

[[finding]]
id = "both"
claim = "Both flows have as much"
sql = "SELECT jain(list(goodput_bps)) AS fair, jain(list(goodput_bps)) > 0.5 AS holds FROM times WHERE part = 'pair'"

[[finding]]
id = "everywhere"
claim = "All of it ends"
sql = "SELECT everywhere(completed) AS holds FROM times"

[[finding]]
id = "never"
claim = "Something was not lost"
sql = '''
SELECT count(*) FILTER (refill_s IS NULL) AS n, count(*) FILTER (refill_s IS NULL) > 0 AS holds
FROM times WHERE part = 'grid''''

[[finding]]
id = "busy"
claim = "A link is busy"
sql = "SELECT max(links.utilisation) > 0 AS holds FROM links JOIN runs USING (run_id) WHERE part = 'grid'"

[[finding]]
id = "moon"
claim = "It works on the moon"
not_testable = "there is no moon here"
"""

MEASURES = ("completion_s", "goodput_bps", "packets_sent", "refill_s", "utilisation", "completed")


def study(text: str = HEAD, file: str = "bench.toml") -> Study:
    return parse_as(Study, text, file)


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Campaign:
    """The study's campaign; tests copy it before they add to it."""
    return run_study(study(), out=tmp_path_factory.mktemp("bench") / "r", jobs=1)


@pytest.fixture(scope="module")
def own(stored: Campaign, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Rows of the campaign itself, exported as a file of measurements."""
    chosen = ", ".join(MEASURES)
    rows = stored.sql(
        "SELECT part, bandwidth, variant, setting, error, replication, flow, "
        f"{chosen} FROM runs JOIN flows USING (run_id)"
    )
    texts = rows.with_columns(pl.col(MEASURES).cast(pl.String).fill_null("none"))
    path = tmp_path_factory.mktemp("own") / "own.csv"
    path.write_text(texts.write_csv())
    return path


@pytest.fixture
def joined(stored: Campaign, tmp_path: Path) -> Callable[..., Measured]:
    """Writes lines to a file of measurements and joins it with the study."""

    def join(*lines: str, of: Study | None = None) -> Measured:
        path = tmp_path / "mine.csv"
        path.write_text("\n".join(lines) + "\n")
        (made,) = measurement_files.joined(of or stored.study, tmp_path / "nowhere", [path])
        return made

    return join


def rulings(one: Measured) -> dict[tuple[str, str | None], Ruling]:
    return {(ruling.id, ruling.level): ruling for ruling in one.findings}


def copied(done: Campaign, folder: Path) -> Path:
    return Path(shutil.copytree(done.directory, folder / "copy"))


def grid(*measures: str, without: Sequence[tuple[str, str]] = (), cells: str = "") -> list[str]:
    """Rows of the larger part at its historic level, except some combinations; faster links take less time."""
    pairs = [(rate, variant) for rate in ("1 Mbps", "100 Mbps") for variant in ("reno", "cubic")]
    times = {"1 Mbps": ("2.0", "2.1", "1.9"), "100 Mbps": ("0.1", "0.12", "0.11")}
    rows = [
        f"grid,{rate},{variant},{time}{cells}" for rate, variant in pairs if (rate, variant) not in without
        for time in times[rate]
    ]  # fmt: skip
    return [",".join(("part", "bandwidth", "variant", "completion_s", *measures)), *rows]


NAMED = '[[measurements]]\nname = "testbed"\nfile = "testbed.csv"\nsource = "Nobody, in 2026"\ntitle = "A testbed"\n'


@pytest.fixture
def named(tmp_path: Path) -> Study:
    """The study in a file that names measurements beside it."""
    (tmp_path / "bench.toml").write_text(HEAD + NAMED)
    (tmp_path / "testbed.csv").write_text("\n".join(grid()) + "\n")
    return study(HEAD + NAMED, str(tmp_path / "bench.toml"))
