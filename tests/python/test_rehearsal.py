"""Studies with queries that cannot work are refused before any simulation."""

import re
from pathlib import Path

import pytest

from synthetic import SMALL
from vazao import StudyError, load_study
from vazao.results import campaign
from vazao.store import validate_queries
from vazao.store.query_validation import Stage
from vazao.study import built_in_studies, parse_study
from vazao.study.needs import Present

pytestmark = pytest.mark.process

STUDY = (
    SMALL
    + """
[[view]]
name = "times"
sql = "SELECT rate, rate_bps, completion_s FROM runs JOIN flows USING (run_id)"

[[table]]
id = "times"
title = "Times"
sql = "SELECT rate, completion_s FROM times ORDER BY rate_bps"

[[figure]]
id = "time"
title = "Time"
sql = "SELECT rate_bps, completion_s FROM times"
x = "rate_bps"
y = "completion_s"

[[finding]]
id = "faster"
claim = "A faster link is faster"
reported = "of course"
sql = "SELECT max(completion_s) AS slow, min(completion_s) AS quick, quick < slow AS holds FROM flows"
measured = "{quick:.3f} s against {slow:.3f} s"
"""
)


def test_a_sound_study_passes(tmp_path: Path) -> None:
    study = parse_study(STUDY, "small.toml")
    validate_queries(study)
    done = campaign.run_study(study, out=tmp_path / "out")
    assert [result.verdict for result in done.findings] == ["reproduced"]
    slow, fast = done.table("times").rows()
    assert (slow[0], fast[0]) == ("1 Mbps", "10 Mbps")
    # At ten times the rate the 10 kB take 80 ms and 8 ms, the round trips 2 ms each.
    assert slow[1] > 5 * fast[1]
    assert done.sql("SELECT count(*) AS n FROM times")["n"].to_list() == [2]


def test_asking_for_levels_reserves_no_memory_for_each_factor() -> None:
    study = load_study("nsquic-2018")
    assert sum(len(part.factors) for part in study.parts) > 20
    stage = Stage(study)
    before = reserved(stage)
    assert Present.of(study, stage).stored == {}
    assert reserved(stage) - before < 100e6


def reserved(stage: Stage) -> int:
    """Bytes counted towards the memory limit of a stage's database (`RLIMIT_DATA`)."""
    status = Path(f"/proc/{stage._database._child}/status").read_text()
    (kilobytes,) = re.findall(r"VmData:\s+(\d+)", status)
    return 1024 * int(kilobytes)


@pytest.mark.parametrize("name", built_in_studies())
def test_the_built_in_studies_pass(name: str) -> None:
    validate_queries(load_study(name))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("min(completion_s) AS quick", "min(completion) AS quick", "finding 'faster'.*completion"),
        ("SELECT max(", "SELEC max(", "finding 'faster'.*SELEC"),
        (" AS holds", " AS hold", "finding 'faster': the query gives no column `holds`"),
        ("{quick:.3f}", "{quickest:.3f}", "finding 'faster': 'quickest'.*no column"),
        ('y = "completion_s"', 'y = "completion"', "figure time: y: 'completion' is not a column"),
        ("FROM runs JOIN", "FROM run JOIN", "view 'times'.*run"),
        ('"SELECT rate, rate_bps', '"DROP TABLE flows; SELECT rate_bps', "view 'times'.*a query is one SELECT"),
        ("SELECT rate, completion_s FROM times", "SELECT rate FROM time", "table 'times'.*time"),
        ("SELECT rate_bps, completion_s FROM times", "SELECT rate_bps FROM time", "figure time: the query failed"),
        ("SELECT max(completion_s)", "COPY flows TO 'x.csv'; SELECT max(completion_s)", "a query is one SELECT"),
    ],
)
def test_what_cannot_be_answered_is_refused_before_a_run(tmp_path: Path, old: str, new: str, message: str) -> None:
    study = parse_study(STUDY.replace(old, new), "small.toml")
    with pytest.raises(StudyError, match=message):
        campaign.run_study(study, out=tmp_path / "out")
    assert not (tmp_path / "out").exists()
    assert not Path("x.csv").exists()
