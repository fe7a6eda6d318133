"""An author's own measurements join a study: read with their units, judged by the same queries, drawn beside ours."""

from __future__ import annotations

import os
import pickle
import re
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from command import caller
from measured import (
    HEAD,
    NAMED,
    copied,
    grid,
    joined as joined,
    named as named,
    own as own,
    rulings,
    stored as stored,
    study,
)
from vazao import figures
from vazao.errors import ResultsError, StudyError
from vazao.execution import Shard
from vazao.measurements import Measured, joined as joined_sets, measurement_files
from vazao.measurements.readings import LONGEST, MAX_COLUMNS, MAX_ROWS, MAX_SAID, name_of
from vazao.results import Campaign, Study, load_study, merge, run_study

# Rows of a campaign that are exported as CSV get the same verdicts as the campaign


def test_our_own_rows_give_what_the_runs_give(stored: Campaign, own: Path, tmp_path: Path) -> None:
    (one,) = measurement_files.joined(stored.study, tmp_path, [own])
    assert (one.name, one.runs.height, one.flows.height) == ("own", stored.runs.height, stored.flows.height)
    ours = {(ruling.id, ruling.level): ruling for ruling in stored.findings if ruling.id not in ("moon", "busy")}
    theirs = rulings(one)
    assert theirs.pop(("busy", None)).verdict == "not testable"
    assert theirs.keys() == ours.keys()
    for key, ruling in theirs.items():
        assert (ruling.verdict, ruling.measured) == (ours[key].verdict, ours[key].measured), key
        for his, mine in zip(ruling.numbers, ours[key].numbers, strict=True):
            assert (his.measured, his.ci) == pytest.approx((mine.measured, mine.ci), rel=1e-12)
    assert {ruling.verdict for ruling in theirs.values()} == {"reproduced", "differs"}
    rows = figures.drawing(stored.study, stored.store, stored.study.figures[0], [one]).rows
    keys = ["bandwidth_bps", "variant", "setting"]
    assert_frame_equal(rows.measured["own"].sort(keys), rows.frame.sort(keys), check_exact=False, rel_tol=1e-12)


def test_explanations_of_our_runs_are_not_given_for_measurements(stored: Campaign, own: Path, tmp_path: Path) -> None:
    (one,) = measurement_files.joined(stored.study, tmp_path, [own])
    assert {ruling.explanation for ruling in stored.findings if ruling.id == "faster"} != {""}
    assert {ruling.explanation for ruling in one.findings if ruling.id == "faster"} == {""}
    assert pickle.loads(pickle.dumps(one)).findings == one.findings


def test_rows_are_never_pooled(stored: Campaign, own: Path, tmp_path: Path) -> None:
    directory = copied(stored, tmp_path)
    done = run_study(stored.study, out=directory, measurements=[own])
    assert done.findings == stored.findings
    assert done.runs.equals(stored.runs)
    assert done.started == 0


# Files


@pytest.mark.parametrize(
    ("heading", "cell", "table", "column", "value"),
    [
        ("completion [ms]", "1680.25", "flows", "completion_s", 1.68025),
        ("completion_s", ".5", "flows", "completion_s", 0.5),
        ("completion [ms]", "+.5e3", "flows", "completion_s", 0.5),
        ("utilisation [%]", ".5", "runs", "utilisation", 0.005),
        ("completion_s [min]", "2", "flows", "completion_s", 120.0),
        ("completion_s", "1e-3", "flows", "completion_s", 0.001),
        ("goodput [Mbit/s]", "9.96", "flows", "goodput_bps", 9_960_000.0),
        ("goodput [kb/s]", "12", "flows", "goodput_bps", 12_000.0),
        ("app [MiB]", "2", "flows", "app_bytes", 2_097_152),
        ("app [kB]", "100", "flows", "app_bytes", 100_000),
        ("utilisation [%]", "98.2", "runs", "utilisation", 0.982),
        ("jain", "0.5", "runs", "jain", 0.5),
        ("packets_lost [packets]", "7", "flows", "packets_lost", 7),
        ("packets_lost", "7", "flows", "packets_lost", 7),
        ("completed", "yes", "flows", "completed", True),
        ("rtt_mean [us]", "150", "flows", "rtt_mean_s", 0.00015),
    ],
)
def test_units_are_converted(
    joined: Callable[..., Measured], heading: str, cell: str, table: str, column: str, value: object
) -> None:
    one = joined(f"part,bandwidth,variant,{heading}", f"grid,1 Mbps,reno,{cell}")
    rows: pl.DataFrame = getattr(one, table)
    assert rows[column].to_list() == [value]
    assert one.runs["bandwidth_bps"].to_list() == [1e6]


TIMES = "part,bandwidth,variant,completion_s"
TOLD = "part,bandwidth,variant"


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([""], "is empty; its first line names the columns"),
        ([TIMES], "has no rows below its header"),
        ([TIMES, "grid,1 Mbps,reno,"], "has no rows below its header in which anything is measured"),
        ([f"#{'x' * (MAX_SAID + 1)}", *grid()], f"lines that start with # have {MAX_SAID + 1} letters; at most"),
        ([*["# a line"] * MAX_SAID, *grid()], "lines that start with # have"),
        ([f"{TOLD},replication,completion_s", "grid,1 Mbps,reno,0,1", "grid,1 Mbps,reno,,1"], ":3: repl.* is empty"),
        ([TIMES, "grid,1 Mbps,reno,."], "'.' is no number"),
        (["part,bandwidth"], "names no measure, such as completion_s"),
        (["part;bandwidth;completion_s"], "columns have commas between them"),
        (["part,bandwith,completion_s"], ":1: bandwith: is no factor of the study, .* did you mean 'bandwidth'"),
        (["part,completion_s,completion [ms]"], "completion_s: two columns are of this name"),
        (["part,completion [furlongs]"], "'furlongs' is no unit; write ms, s, kbit/s"),
        (["part,goodput [ms]"], "no column in ms of runs or flows"),
        (["part,run_id,completion_s"], "run_id: is no factor"),
        (["part,cc,completion_s"], "cc: is no factor"),
        (["part,replication [packets],completion_s"], r"replication \[packets\]: has no unit; write replication"),
        (["part,bandwidth,bandwidth_bps,completion_s"], "bandwidth_bps: is of the factor 'bandwidth'; write bandw"),
        (["part,bandwidth_bps [MB],completion_s"], "is of the factor 'bandwidth'"),
        (["part,bandwidth,bandwidth [Mbit/s],completion_s"], "bandwidth: two columns are of this name"),
        (["part,bandwidth [ms],completion_s"], "its levels are not in ms: 1 Mbps, 100 Mbps"),
        (["part,variant [%],completion_s"], "its levels are not in %: reno, cubic"),
        (["part,bandwidth [Mbit/s],completion_s", "grid,2,1"], "bandwidth: '2 Mbit/s' is not a level"),
        ([TIMES.replace("_s", " [ms]"), "grid,1 Mbps,reno,1e-99999999999999999999999"], "too large|is no number"),
        ([f"{TOLD},utilisation [%]", "grid,1 Mbps,reno,1e-99999999999999999999999"], "too large|is no number"),
        (["part,bandwidth [Mbit/s],completion_s", "grid,1e999999,1"], "bandwidth: '1e999999 Mbit/s' is not a level"),
        (["part,a b!,completion_s"], "a b!: is no name of a column, such as goodput_bps"),
        (["part,completion_s", "grid"], ":2: has 1 cells where the header has 2"),
        ([TIMES, "gird,1 Mbps,reno,1"], "part: 'gird' is no part; did you mean 'grid'"),
        (["bandwidth,variant,completion_s", "1 Mbps,reno,1"], "part: is missing; the study has the parts grid, pair"),
        ([TIMES, "grid,2 Mbps,reno,1"], "'2 Mbps' is not a level; did you mean '1 Mbps'"),
        (["part,bandwidth,completion_s", "grid,1 Mbps,1"], "variant: is missing, .* it has reno, cubic"),
        (["part,error,bandwidth,flow,completion_s", "pair,0,1 Mbps,0,1"], "is no factor of the part 'pair'"),
        (["part,error,completion_s", "pair,0,1"], "flow: is missing; .*, error = 0 has 2 flows, 0 to 1"),
        (["part,error,flow,completion_s", "pair,0,,1"], ":2: flow: is missing; .* has 2 flows, 0 to 1"),
        (["part,error,flow,completion_s", "pair,0,1,1", "pair,0,2,1"], ":3: flow: 2 is too large; .* 2 flows, 0 to 1"),
        (["part,error,flow,utilisation", "pair,0,7,1"], ":2: flow: 7 is too large; .* 2 flows, 0 to 1"),
        ([f"{TOLD},flow,completion_s", "grid,1 Mbps,reno,999999,1"], ":2: flow: 999999 is too large; .* one flow, 0$"),
        (["part,error,flow,completion_s", "pair,0,x,1"], "flow: 'x' is no number from 0 to 999999"),
        (["part,error,flow,replication,completion_s", "pair,0,0,1,1"], "once, .* the mean of all"),
        ([f"{TOLD},replication,completion_s", *["grid,1 Mbps,reno,0,1"] * 2], ":3: is of the same run"),
        ([TIMES, "grid,1 Mbps,reno,fast"], "completion_s: 'fast' is no number, as 4.17"),
        ([TIMES, 'grid,1 Mbps,reno,"4,17"'], "decimals follow a point"),
        ([TIMES, "grid,1 Mbps,reno,nan"], "'nan' is no number"),
        ([TIMES, "grid,1 Mbps,reno,1e999"], "'1e999' is no number"),
        ([TIMES, "grid,1 Mbps,reno,-1"], "'-1' is below zero"),
        ([f"{TOLD},utilisation", "grid,1 Mbps,reno,98.2"], r"'98.2' is more than 1, .* utilisation \[%\]"),
        ([f"{TOLD},packets_lost", "grid,1 Mbps,reno,1.5"], "'1.5' is no whole number"),
        ([f"{TOLD},completed", "grid,1 Mbps,reno,perhaps"], "'perhaps' is neither true nor false"),
        (["part,error,flow,utilisation", "pair,0,0,0.5", "pair,0,1,0.6"], "'0.6' here, and 0.5 in another row"),
    ],
)  # fmt: skip
def test_a_mistake_is_told_with_its_place(joined: Callable[..., Measured], lines: Sequence[str], message: str) -> None:
    with pytest.raises(StudyError, match=message):
        joined(*lines)


def test_a_factor_has_a_unit_as_a_measure_has(joined: Callable[..., Measured]) -> None:
    one = joined("part,bandwidth [Mbit/s],variant,completion_s", "grid,1,reno,1", "grid,100.0,cubic,2")
    assert one.runs.select("bandwidth", "bandwidth_bps").rows() == [("1 Mbps", 1e6), ("100 Mbps", 1e8)]
    one = joined("part,error [%],flow,completion_s", "pair,1,0,2", "pair,0,0,1")
    assert one.runs["error"].to_list() == [0.0, 0.01]
    assert one.readings.measures == ("completion_s",)


def test_arrivals_may_have_any_number_of_flows(joined: Callable[..., Measured]) -> None:
    arrivals = '{ kind = "arrivals", interval = "exponential 10 ms", sizes = "web-search", duration = "0.1 s" }'
    text = HEAD.replace('start_spread = "10 ms"\napp = { kind = "upload", size = "100 kB" }', f"app = {arrivals}")
    head = "part,bandwidth,variant,flow,completion_s"
    assert joined(head, "grid,1 Mbps,reno,99,1", of=study(text)).flows["flow"].to_list() == [99]


def test_an_omitted_level_is_assumed_if_only_one_is_possible(joined: Callable[..., Measured]) -> None:
    one = joined("part,bandwidth,variant,completion_s", "grid,1 Mbit/s,reno,1", "grid,100000 kbps,cubic,2")
    assert one.runs["setting"].to_list() == ["historic"] * 2
    assert set(one.runs["bandwidth"]) == {"1 Mbps", "100 Mbps"}
    assert one.readings.assumed == {"setting": "historic"}
    assert joined("part,error,flow,completion_s", "pair,0.010,0,1").runs["error"].to_list() == [0.01]


@pytest.mark.parametrize(
    ("factor", "level"),
    [('levels = ["1 Mbps"]', "1 Mbps"), ('levels = ["1 Mbps", "2 Mbps"]\ndefault = "2 Mbps"', "2 Mbps")],
)
def test_the_only_level_and_the_default_may_be_omitted(
    joined: Callable[..., Measured], factor: str, level: str
) -> None:
    text = HEAD.replace('levels = ["1 Mbps", "100 Mbps"]', factor)
    one = joined("part,variant,completion_s", "grid,reno,1", of=study(text))
    assert one.runs["bandwidth"].to_list() == [level]


def test_a_combination_that_is_never_run_is_refused(joined: Callable[..., Measured]) -> None:
    text = HEAD.replace('name = "grid"\n', 'name = "grid"\nexclude = [{ bandwidth = "1 Mbps", variant = "reno" }]\n')
    with pytest.raises(StudyError, match="has no run with bandwidth = 1 Mbps, variant = reno, setting = historic"):
        joined("part,bandwidth,variant,completion_s", "grid,1 Mbps,reno,1", of=study(text))
    one = HEAD.replace('name = "grid"\n', 'name = "grid"\ndesign = "one-at-a-time"\n')
    with pytest.raises(StudyError, match="has no run with"):
        joined("part,bandwidth,variant,completion_s", "grid,100 Mbps,cubic,1", of=study(one))
    assert joined("part,bandwidth,completion_s", "grid,100 Mbps,1", of=study(one)).runs["variant"].to_list() == ["reno"]


def test_runs_of_one_combination_are_counted(joined: Callable[..., Measured]) -> None:
    one = joined("part,bandwidth,variant,completion_s", *["grid,1 Mbps,reno,1"] * 3, "grid,1 Mbps,cubic,1")
    assert one.runs.select("variant", "replication").rows() == [("cubic", 0), ("reno", 0), ("reno", 1), ("reno", 2)]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"part,completion_s\n" + b"grid,1\n" * 1_000_000, "larger than 4 MB"),
        (bytes(range(256)), "not a text in UTF-8"),
        (b"\xff\xfep\x00a\x00", "not a text in UTF-8"),
        (b"PAR1\x15\x04", "names no measure|is no name of a column"),
        (b"part,completion_s\n\0grid,1\n", "has a NUL among its letters"),
        (b",".join([b"a"] * 1_000_000), f"has 1000000 columns; at most {MAX_COLUMNS} are read"),
        (TIMES.encode() + b"\ngrid,1 Mbps,reno,1" * (MAX_ROWS + 1), f"has more than {MAX_ROWS:,} rows"),
        (b"part,completion_s\n" + b"x" * (LONGEST + 1) + b",1\n", f"a cell of {LONGEST + 1} letters"),
        (b'part,completion_s\n"grid,1\n', "is no row of a CSV"),
        (b'part,completion_s\n"' + b"x" * 200_000 + b'",1\n', "is no row of a CSV|a cell of"),
        (b"part,bandwidth,variant,completion_s\ngrid,1 Mbps,reno,=1+1\n", "'=1\\+1' is no number"),
        (b"part,bandwidth,variant,completion_s\ngrid,1 Mbps,reno,\"=cmd|' /C calc'!A0\"\n", "is no number"),
        (b"part,bandwidth,variant,completion_s\ngrid,../../etc/passwd,reno,1\n", "'../../etc/passwd' is not a level"),
        (b"part,bandwidth,variant,completion_s\ngrid,1 Mbps' OR 1=1 --,reno,1\n", "is not a level"),
        (b"part,completion_s\n\x1b[31mgrid\x1b[0m,1\n", r"is no part"),
    ],
)  # fmt: skip
def test_a_hostile_file_is_one_message(
    content: bytes, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("bench.toml").write_text(HEAD)
    Path("mine.csv").write_bytes(content)
    answer = caller(monkeypatch, capsys)("run", "bench.toml", "--out", "r", "--measurements", "mine.csv")
    assert answer.code == 2
    assert re.search(message, answer.err)
    assert answer.err.startswith("error: mine.csv")
    assert len(answer.err) < 400
    assert "\x1b" not in answer.err
    assert not Path("r").exists()


@pytest.mark.parametrize("kind", ["pipe", "directory", "nothing"])
def test_only_a_regular_file_is_accepted(kind: str, stored: Campaign, tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "directory":
        path.mkdir()
    with pytest.raises(StudyError, match=r"a regular file is needed|is a directory|no such file"):
        measurement_files.joined(stored.study, tmp_path / "nowhere", [path])


SECRET = "part,bandwidth,variant,completion_s\ngrid,1 Mbps,hunter2,1\n"


@pytest.mark.parametrize("well_made", [False, True])
def test_a_link_of_a_strangers_results_is_not_followed(
    well_made: bool,
    stored: Campaign,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    directory = copied(stored, tmp_path)
    monkeypatch.chdir(tmp_path)
    Path("secret.csv").write_text(SECRET.replace("hunter2", "reno") if well_made else SECRET)
    (directory / "leak.csv").symlink_to(tmp_path / "secret.csv")
    (directory / "study.toml").write_text(HEAD + NAMED.replace("testbed.csv", "leak.csv"))
    vazao = caller(monkeypatch, capsys)
    for command in (("show", "copy"), ("report", "copy"), ("run", "copy"), ("run", "copy", "--out", "anew")):
        answer = vazao(*command)
        assert answer.code == 2, command
        assert re.search(r"measurements/testbed\.csv: no such file", answer.err)
        assert "hunter2" not in answer.out + answer.err
    assert not list(tmp_path.rglob("testbed.csv"))
    (directory / "measurements").mkdir()
    (directory / "measurements/testbed.csv").write_text("\n".join(grid()) + "\n")
    assert vazao("show", "copy").code == 0, "what is kept joins"


def test_a_link_is_followed_where_the_command_names_it(named: Study, tmp_path: Path) -> None:
    (tmp_path / "testbed.csv").rename(tmp_path / "elsewhere.csv")
    (tmp_path / "testbed.csv").symlink_to(tmp_path / "elsewhere.csv")
    with pytest.raises(StudyError, match=r"testbed\.csv: is a symbolic link; put the file itself there"):
        measurement_files.joined(named)
    (tmp_path / "lab.csv").symlink_to(tmp_path / "elsewhere.csv")
    (one,) = measurement_files.joined(study(), given=[tmp_path / "lab.csv"])
    assert (one.name, one.runs.height) == ("lab", 12)
    (tmp_path / "elsewhere.csv").unlink()
    with pytest.raises(StudyError, match=r"testbed\.csv: is a symbolic link"):
        measurement_files.joined(named)


def test_a_set_has_the_name_of_its_file() -> None:
    assert [name_of(Path(name)) for name in ("a/testbed.csv", "Testbed 2.csv")] == ["testbed", "testbed-2"]
    with pytest.raises(StudyError, match="needs letters or digits"):
        name_of(Path("---.csv"))


def test_the_first_lines_say_whose_it_is(joined: Callable[..., Measured]) -> None:
    head = ("# Nobody,", "# in 2026.", "part,bandwidth,variant,completion_s")
    one = joined(*head, "grid,1 Mbps,reno,1")
    assert one.source == "Nobody, in 2026."
    with pytest.raises(StudyError, match=":4: completion_s"):
        joined(*head, "grid,1 Mbps,reno,x")


# Missing data


def test_what_was_measured_is_judged(joined: Callable[..., Measured]) -> None:
    found = rulings(joined(*grid()))
    faster = found["faster", "reno"]
    assert (faster.verdict, faster.measured[:7]) == ("reproduced", "1.890 s")
    assert faster.numbers[0].measured == pytest.approx(1.89)
    assert "– packets" in faster.measured, "nobody counted packets"
    assert {name for name, _ in found} == {"faster", "used", "told", "everywhere", "never", "busy"}


@pytest.mark.parametrize(
    ("finding", "message"),
    [
        ("used", "It needs measurements of utilisation."),
        ("everywhere", "It needs measurements of completed."),
        ("never", "It needs measurements of refill_s."),
        ("busy", "It needs rows of links, of which a file of measurements has none."),
    ],
)
def test_a_column_that_is_missing_is_named_and_decides_nothing(
    joined: Callable[..., Measured], finding: str, message: str
) -> None:
    ruling = rulings(joined(*grid()))[finding, None]
    assert (ruling.verdict, ruling.measured, ruling.explanation) == ("not testable", "", message)


def test_an_empty_cell_means_not_measured_and_none_is_a_value(joined: Callable[..., Measured]) -> None:
    both = "part,bandwidth,variant,setting,completion_s,refill_s"
    levels = [(r, v, s) for r in ("1 Mbps", "100 Mbps") for v in ("reno", "cubic") for s in ("historic", "modern")]
    empty = rulings(joined(both, *(f"grid,{r},{v},{s},1," for r, v, s in levels)))["never", None]
    none = rulings(joined(both, *(f"grid,{r},{v},{s},1,none" for r, v, s in levels)))["never", None]
    assert (empty.verdict, none.verdict) == ("not testable", "reproduced")


def test_a_row_in_which_nothing_is_measured_does_not_join(joined: Callable[..., Measured]) -> None:
    head, rows = "part,bandwidth,variant,completion_s,refill_s", ["grid,1 Mbps,reno,,", "grid,1 Mbps,cubic,,"]
    one = joined(head, *rows, "grid,1 Mbps,reno,1,", "grid,1 Mbps,reno,,none", "grid,9 Mbps,,,")
    assert one.runs.select("variant", "replication").rows() == [("reno", 0), ("reno", 1)]
    assert one.flows["completion_s"].to_list() == [1, None]


def test_a_missing_level_combination_or_part_leaves_a_finding_undecided(joined: Callable[..., Measured]) -> None:
    missing = [("100 Mbps", "reno"), ("100 Mbps", "cubic")]
    found = rulings(joined(*grid(without=missing)))
    assert found["faster", "reno"].verdict == "undecided"
    assert "bandwidth 100 Mbps" in found["faster", "reno"].explanation
    found = rulings(joined(*grid(without=missing[:1])))
    assert (found["faster", "reno"].verdict, found["faster", "cubic"].verdict) == ("undecided", "reproduced")
    assert "bandwidth 100 Mbps, variant reno, setting historic" in found["faster", "reno"].explanation
    found = rulings(joined(*grid("completed", cells=",true")))
    assert found["everywhere", None].verdict == "undecided"
    assert "part pair" in found["everywhere", None].explanation


def test_what_is_not_measured_but_set_is_known(joined: Callable[..., Measured]) -> None:
    lines = "part,bandwidth,variant,setting,completion_s"
    levels = [(r, v, s) for r in ("1 Mbps", "100 Mbps") for v in ("reno", "cubic") for s in ("historic", "modern")]
    one = joined(lines, *(f"grid,{r},{v},{s},1" for r, v, s in levels))
    assert set(one.flows["app"]) == {"upload"}
    assert sorted(set(one.flows["cc"])) == ["cubic", "reno"]
    assert rulings(one)["told", None].verdict == "reproduced", "an upload's time is not taken twice"


def test_flows_that_are_missing_count_where_they_matter(joined: Callable[..., Measured]) -> None:
    head = "part,error,flow,completion_s,goodput_bps"
    found = rulings(joined(head, "pair,0,0,1,8e5", "pair,0.01,0,2,4e5"))
    assert found["alone", None].verdict == "reproduced"
    assert found["both", None].verdict == "undecided"
    assert "flow 1" in found["both", None].explanation
    whole = rulings(joined(head, *(f"pair,{e},{n},1,8e5" for e in ("0", "0.01") for n in range(2))))
    assert whole["both", None].verdict == "reproduced"


def test_a_query_that_breaks_on_their_rows_is_told(joined: Callable[..., Measured]) -> None:
    sql = "SELECT completion_s > 0 AS holds FROM times WHERE part = 'grid'"
    text = f'{HEAD}[[finding]]\nid = "rows"\nclaim = "c"\nsql = "{sql}"\n'
    ruling = rulings(joined(*grid(), of=study(text)))["rows", None]
    assert ruling.verdict == "not testable"
    assert "finding 'rows': the query gives 12 rows" in ruling.explanation
    assert "bench.toml" not in ruling.explanation


@pytest.mark.parametrize("out", [(), ("--out", "anew")])
def test_a_file_of_the_same_name_replaces_a_set(
    out: tuple[str, ...],
    stored: Campaign,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    vazao = caller(monkeypatch, capsys)
    copied(stored, tmp_path)
    for name in ("q.csv", "other.csv"):
        Path(name).write_text("\n".join(grid()) + "\n")
    given = [word for name in ("q.csv", "other.csv") for word in ("--measurements", name)]
    assert vazao("run", "copy", *given).code == 0
    Path("q.csv").write_text("\n".join(grid(without=[("1 Mbps", "reno")])) + "\n")
    answer = vazao("run", "copy", *out, "--measurements", "q.csv")
    assert answer.code == 0, answer.err
    kept = Path("anew" if out else "copy") / "measurements"
    assert {path.name for path in kept.iterdir()} == {"q.csv", "other.csv"}
    assert (kept / "q.csv").read_bytes() == Path("q.csv").read_bytes()


def test_merging_compares_sets_before_it_writes(stored: Campaign, own: Path, tmp_path: Path) -> None:
    directory = run_study(stored.study, out=copied(stored, tmp_path), measurements=[own]).directory
    other = Path(shutil.copytree(directory, tmp_path / "other"))
    (other / "measurements/own.csv").write_text("\n".join(grid()) + "\n")
    for sources in ([directory, other], [stored.directory, directory, other]):
        with pytest.raises(ResultsError, match="is another set than that of this name"):
            merge(sources, tmp_path / "both")
        assert not (tmp_path / "both").exists()
    (tmp_path / "there").mkdir()
    shutil.copytree(other / "measurements", tmp_path / "there/measurements")
    with pytest.raises(ResultsError, match=r"copy/measurements/own\.csv: is another set .* that .*/there has"):
        merge([directory], tmp_path / "there")
    assert [path.name for path in (tmp_path / "there").iterdir()] == ["measurements"]


def test_merged_results_tell_all_that_is_there(stored: Campaign, own: Path, tmp_path: Path) -> None:
    directory = run_study(stored.study, out=copied(stored, tmp_path), measurements=[own]).directory
    whole = merge([stored.directory, directory], tmp_path / "whole").directory
    for name in ("README.md", "findings.json", "measurements.json"):
        assert (whole / name).read_text() == (directory / name).read_text(), name
    assert "own measurements" in (whole / "README.md").read_text()


def test_a_merged_part_has_no_ledger(tmp_path: Path) -> None:
    part = run_study(study(), out=tmp_path / "part", jobs=1, shard=Shard(1, 30)).directory
    assert merge([part], tmp_path / "merged").missing
    assert not (tmp_path / "merged/findings.json").exists()


def children() -> set[str]:
    """Child processes of this process."""
    return {child for task in Path("/proc/self/task").iterdir() for child in (task / "children").read_text().split()}


def test_few_databases_are_held(joined: Callable[..., Measured]) -> None:
    columns = [
        *("completion_s", "goodput_bps", "packets_sent", "refill_s", "packets_lost", "retransmissions", "timeouts"),
        *("rtt_mean_s", "duplicate_acks"),
    ]
    text = HEAD + "".join(
        f'[[finding]]\nid = "{name.replace("_", "-")}"\nclaim = "c"\n'
        f"sql = \"SELECT min({name}) > 0 AS holds FROM times WHERE part = 'grid'\"\n"
        for name in columns
    )
    rows = [
        f"grid,{rate},{cc},{setting}," + ",".join("" if name == lacking else "3" for name in columns)
        for rate in ("1 Mbps", "100 Mbps") for cc in ("reno", "cubic") for setting in ("historic", "modern")
        for lacking in columns
    ]  # fmt: skip
    of, before = study(text), children()
    one = joined("part,bandwidth,variant,setting," + ",".join(columns), *rows, of=of)
    found = rulings(one)
    assert {found[name.replace("_", "-"), None].verdict for name in columns} == {"reproduced"}
    assert len(children() - before) <= 3, "two have rows, and one tells what a query reads"
    del one
    assert children() <= before


ORIGINAL = """# A. P. D. Santos, UFRJ/NCE, 2010, on figure 5-9: times to fill 1 Gbit/s again, as the text has them
part,access,bandwidth,variant,refill [s]
single,10 Gbps,1 Gbps,tahoe,70
single,10 Gbps,1 Gbps,reno,70
single,10 Gbps,1 Gbps,newreno,70
single,10 Gbps,1 Gbps,sack,70
single,10 Gbps,1 Gbps,scalable,70
single,10 Gbps,1 Gbps,westwood,80
single,10 Gbps,1 Gbps,vegas,80
single,10 Gbps,1 Gbps,highspeed,2
"""


def test_published_numbers_of_an_original_join_like_measurements(tmp_path: Path) -> None:
    (tmp_path / "original.csv").write_text(ORIGINAL)
    (one,) = joined_sets(load_study("hstcp-2010"), given=[tmp_path / "original.csv"])
    assert one.readings.assumed == {"setting": "historic"}
    found = rulings(one)
    assert found["recovery-highspeed", "historic"].measured == "2.0 s"
    assert found["highspeed-beats-sack", "historic"].numbers[0].effect == pytest.approx(1)
    # Its text gives only one of the rates that the claims are about.
    assert {found[name, "historic"].verdict for name in ("recovery-highspeed", "recovery-scalable")} == {"undecided"}
    assert "bandwidth 10 Mbps" in found["recovery-highspeed", "historic"].explanation
