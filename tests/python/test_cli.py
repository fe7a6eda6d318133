"""The command line: what goes to which stream, the exit codes, and one clear message for any mistake of a user."""

from __future__ import annotations

import errno
import itertools
import json
import re
import time
from pathlib import Path

import polars as pl
import pytest
from rich.console import Console

from command import Vazao, caller
from timing import assert_mostly_within
from vazao import study
from vazao.cli import json_tables, progress, rendering, terminal
from vazao.forecast import pace
from vazao.results import Result, campaign, run_scenario
from vazao.scenario import load
from vazao.store import Store

SCENARIO = """
name = "small"
[network]
topology = "dumbbell"
access = { rate = "1 Gbps", delay = "1 ms" }
bottleneck = { rate = "10 Mbps", delay = "5 ms", queue = "1 bdp" }
[[flow]]
app = { kind = "upload", size = "100 kB" }
transport = { kind = "tcp", cc = "reno" }
"""


@pytest.fixture
def vazao(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Vazao:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.toml").write_text(SCENARIO)
    return caller(monkeypatch, capsys)


def test_a_scenario_prints_tables_with_units(vazao: Vazao) -> None:
    answer = vazao("run", "small.toml")
    assert answer.code == 0, answer.err
    assert "left1 → right1" in answer.out
    assert "100 kB" in answer.out
    assert "bit/s" in answer.out


def test_only_json_is_printed_on_standard_output(vazao: Vazao) -> None:
    answer = vazao("run", "small.toml", "--json", "--seed", "9")
    found = json.loads(answer.out)
    assert list(found) == ["run", "flows", "paths", "links"]
    assert found["run"]["seed"] == 9
    assert found["flows"][0]["app_bytes"] == 100_000
    assert found["flows"][0]["intact"] is True
    assert "samples" in json.loads(vazao("run", "small.toml", "--json", "--trace", "cwnd,rtt").out)


def test_json_is_the_same_in_parts_of_any_size(vazao: Vazao, monkeypatch: pytest.MonkeyPatch) -> None:
    def printed(rows: int) -> str:
        monkeypatch.setattr(json_tables, "ROWS", rows)
        out = vazao("run", "small.toml", "--json", "--trace", "cwnd,queue").out
        return re.sub(r'"wall_s": [-+.e0-9]+', '"wall_s": 0', out)

    few, all_at_once = printed(3), printed(10**9)
    assert few == all_at_once
    result = run_scenario(load(SCENARIO), trace=["cwnd", "queue"])
    tables = {name: rows.to_dicts() for name, rows in result.tables().items()}
    assert len(tables["samples"]) > 30
    one = {"run": tables.pop("runs")[0] | {"wall_s": 0}, **tables}
    assert all_at_once == json.dumps(one) + "\n"


def test_json_of_a_query_has_no_number_for_none(vazao: Vazao, toy_file: Path) -> None:
    vazao("run", str(toy_file))
    asked = "SELECT 'nan'::DOUBLE AS \"^n.*$\", 1.5 AS a, 'é' AS text, DATE '2020-01-02' AS day, NULL::DOUBLE AS none"
    answer = '[{"^n.*$": null, "a": 1.5, "text": "\\u00e9", "day": "2020-01-02", "none": null}]\n'
    assert vazao("sql", "results/toy", asked, "--json").out == answer
    assert vazao("sql", "results/toy", "SELECT 1 AS a WHERE false", "--json").out == "[]\n"


def test_set_changes_a_key(vazao: Vazao) -> None:
    answer = vazao(
        "run", "small.toml", "--json", "--set", "flow.0.app.size=50 kB", "--set", "flow.0.transport.sack=false"
    )
    assert json.loads(answer.out)["flows"][0]["app_bytes"] == 50_000


def test_set_replaces_a_table(vazao: Vazao, toy_file: Path) -> None:
    def transport(value: str) -> dict[str, object]:
        answer = vazao("run", "small.toml", "--set", f"flow.0.transport={value}", "--json")
        assert answer.code == 0, answer.err
        flow: dict[str, object] = json.loads(answer.out)["flows"][0]
        return flow

    # Nothing is left of Reno, which the file sets.
    assert transport('{ tls = "1.3" }')["cc"] == "cubic"
    assert (row := transport('{ kind = "quic" }'))["transport"] == "quic"
    assert row["cc"] == "cubic"
    told = vazao("run", "small.toml", "--set", "flow.0.transport={ ms = 3 }")
    assert (told.code, "flow.0.transport.ms: unknown key" in told.err) == (2, True)
    owned = vazao("check", str(toy_file), "--set", "network.bottleneck={ rate = '1 Mbps' }")
    assert "toy.toml: network.bottleneck: factor 'bandwidth' sets it" in owned.err


def test_check_says_what_a_queue_of_0_is(vazao: Vazao) -> None:
    whole = vazao("check", "small.toml", "--set", "network.bottleneck.queue=0 packets")
    assert whole.code == 0
    assert whole.out.count("a queue of 0 drops whatever comes while another packet is sent") == 2
    assert "bottleneck, reverse: a queue of 0" in whole.out
    assert json.loads(vazao("check", "small.toml", "--json").out)["notes"] == []
    one = vazao(
        "check", "small.toml", "--set", "network.bottleneck.forward.queue={ kind = 'red', limit = '0 B' }", "--json"
    )
    assert len(json.loads(one.out)["notes"]) == 1


def test_a_study_runs_answers_and_resumes(vazao: Vazao, toy_file: Path) -> None:
    first = vazao("run", str(toy_file), "--quick", "--jobs", "2")
    assert first.code == 0, first.err
    assert "3 findings: 2 reproduced, 0 differ, 0 undecided, 1 not testable" in first.out
    assert Path("results/toy/report.html").is_file()
    assert {path.suffix for path in Path("results/toy/figures").iterdir()} >= {".svg", ".pdf", ".png"}
    assert "(0 simulated now)" in vazao("run", str(toy_file)).out
    shown = vazao("show", "results/toy")
    assert "10 of 10 runs (quick)" in shown.out
    assert "The link is never idle" in shown.out
    Path("results/toy/report.html").unlink()
    assert vazao("report", "results/toy").out.strip() == "results/toy/report.html"
    assert Path("results/toy/report.html").is_file()


def test_all_theses_end_in_a_page_of_answers(vazao: Vazao, toy_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert [name[-4:] for name in study.theses()] == ["2010", "2016", "2017", "2018", "2019"]
    monkeypatch.setattr(study, "theses", lambda: ["one", "two"])
    toy = campaign.load_study(toy_file)
    monkeypatch.setattr("vazao.results.load_study", lambda _, lang=None: toy)
    answer = vazao("run", "all-theses", "--quick")
    assert answer.code == 0, answer.err
    assert answer.out.count("2 reproduced") == 2
    assert answer.out.strip().endswith("answers: results/index.html")
    page = Path("results/index.html").read_text(encoding="utf-8")
    assert all(f'href="{name}/report.html"' in page for name in ("one", "two"))
    again = json.loads(vazao("run", "all-theses", "--json").out)
    assert [Path(each["directory"]).name for each in again["studies"]] == ["one", "two"]
    refused = vazao("run", "all-theses", "--set", "study.seed=2")
    assert refused.code == 2
    assert "leave --set" in refused.err


def test_sql_asks_the_stored_results(vazao: Vazao, toy_file: Path) -> None:
    vazao("run", str(toy_file), "--quick", "--out", "r")
    assert json.loads(vazao("sql", "r", "SELECT count(*) AS n FROM runs", "--json").out) == [{"n": 10}]
    assert vazao("sql", "r", "SELECT 1.5 AS x, NULL AS y", "--csv").out == "x,y\n1.5,\n"
    assert "bandwidth_bps" in vazao("sql", "r", "SELECT * FROM runs LIMIT 1").out
    assert "time_s" in vazao("sql", "r", "SELECT * FROM samples").out


def test_a_scenario_can_be_kept_and_asked(vazao: Vazao) -> None:
    assert vazao("run", "small.toml", "--out", "kept").code == 0
    assert vazao("run", "small.toml", "--out", "kept").code == 0
    assert json.loads(vazao("sql", "kept", "SELECT count(*) AS n FROM flows", "--json").out) == [{"n": 1}]
    assert "small" in vazao("show", "kept").out
    other = vazao("run", "small.toml", "--out", "kept", "--seed", "4")
    assert other.code == 2
    assert "choose another --out" in other.err


def test_check_says_what_would_run(vazao: Vazao, toy_file: Path) -> None:
    answer = vazao("check", str(toy_file))
    assert "quick: 10 runs" in answer.out
    assert "full: 22 runs" in answer.out
    assert "grid: 18 runs, factorial: bandwidth (3) × variant (2)" in answer.out
    assert "a valid scenario: 1 run" in vazao("check", "small.toml").out
    # A hundred times as many bytes are a hundred times as many packet-hops.
    sizes = ("10 MB", "1 GB")
    checked = [vazao("check", "small.toml", "--set", f"flow.0.app.size={size}").out for size in sizes]
    few, many = (text.partition("about ")[2].split()[0] for text in checked)
    assert float(many) / float(few) == pytest.approx(0.1, rel=0.01), "the second in millions, the first in thousands"
    assert vazao("check", "small.toml", "--set", "flow.0.app.size=10 XB").code == 2
    assert vazao("check", str(toy_file), "--set", "scenario.network.bottleneck.delay=1 ms").code == 2
    assert vazao("check", str(toy_file), "--set", "network.bottleneck.delay=1 ms").code == 0
    assert not Path("results").exists()


def test_the_catalogue(vazao: Vazao) -> None:
    everything = vazao("list").out
    assert "cubic" in everything
    assert "RFC 9438" in vazao("list", "congestion-controls").out
    assert "lowest-rtt" in vazao("list", "schedulers").out
    assert "full-mesh" in vazao("list", "path-managers").out
    assert "packet scheduler" in vazao("explain", "lowest-rtt").out
    explained = vazao("explain", "cubic").out
    assert "RFC 9438" in explained
    assert "default" in explained


def test_new_writes_a_scenario_that_runs(vazao: Vazao) -> None:
    assert vazao("new", "mine").code == 0
    assert 'name = "mine"' in Path("mine.toml").read_text()
    assert vazao("check", "mine.toml").code == 0
    again = vazao("new", "mine")
    assert (again.code, again.err) == (2, "error: mine.toml: exists already; choose another name\n")


# First bytes: libpcap's magic numbers (draft-ietf-opsawg-pcap section 4) in both byte orders, a section header block of
# pcapng (draft-ietf-opsawg-pcapng section 4.1), Parquet, gzip (RFC 1952), and sequences of JSON (RFC 7464).
@pytest.mark.parametrize(
    ("beginning", "message"),
    [
        (b"\xd4\xc3\xb2\xa1\x02\x00\x04\x00", "is a capture (pcap); vazao read tells what a capture holds"),
        (b"\xa1\xb2\xc3\xd4\x00\x02\x00\x04", "is a capture (pcap)"),
        (b"\x4d\x3c\xb2\xa1\x02\x00\x04\x00", "is a capture (pcap)"),
        (b"\n\r\r\n\x1c\0\0\0M<+\x1a\x01\0\0\0", "is a capture (pcapng); vazao read tells what a capture holds"),
        (b"\n\r\r\n" + b"\0" * 5_000_000, "is a capture (pcapng)"),
        (b"PAR1\x15\x04", "is a table (Parquet)"),
        (b"\x1f\x8b\x08\x00", "is compressed (gzip)"),
        (b'\x1e{"qlog_version":"0.3"}', "is a log of events (qlog)"),
    ],
)
def test_a_file_of_another_kind_gets_a_clear_message(vazao: Vazao, beginning: bytes, message: str) -> None:
    Path("given").write_bytes(beginning)
    # view draws captures.
    for command in ("run", "check", "compare", *["view"] * ("capture" not in message)):
        answer = vazao(command, "./given")
        assert (answer.code, answer.out) == (2, "")
        assert answer.err.startswith(f"error: given: {message}"), answer.err
        assert answer.err.count("\n") == 1


def test_version(vazao: Vazao) -> None:
    assert vazao("--version").out.startswith("vazao ")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["run", "none.toml"], "none.toml: no such file"),
        (["run", "folder"], "folder: is a directory"),
        (["run", "binary.toml"], "binary.toml: not a text in UTF-8 (byte 7)"),
        (["run", "broken.toml"], "broken.toml:2"),
        (["run", "broken-study.toml"], "broken-study.toml:2: "),
        (["run", "no-such-study"], "'no-such-study' is neither a file nor a built-in study or scenario"),
        (["run", "small.toml", "--set", "network"], "write KEY=VALUE"),
        (["run", "small.toml", "--set", "network.botleneck.rate=1 Mbps"], "did you mean"),
        (["run", "small.toml", "--set", "network.bottleneck.rate=10 Mbs"], "is not a rate; did you mean"),
        (["check", "small.toml", "--set", "network.bottleneck.rate=10 MB/s"], 'write "80 Mbps", or "10 Mbps" if bits'),
        (["check", "small.toml", "--set", "network.bottleneck.loss=1%"], "write 0.01"),
        (["check", "small.toml", "--set", "network.bottleneck.loss=1"], "1 is all packets; write 0.01 for 1 %"),
        (["check", "small.toml", "--set", "network.bottleneck.bandwith=5 Mbps"], 'did you mean "rate"?'),
        (["run", "small.toml", "--set", "flow.0.transport.cc=cubc"], "cubic"),
        (
            ["run", "small.toml", "--quick"],
            "is a scenario; leave --quick/--full, --shard, --on, --measurements, --lang, --fail-on and --junit out",
        ),
        (["run", "small.toml", "--trace", "cwmd"], "cwnd"),
        (["run", "small.toml", "--out", "small.toml"], "small.toml: is a file"),
        (["run", "small.toml", "--out", "folder"], "folder: holds other files"),
        (["run", "small.toml", "--jobs", "0"], "--jobs"),
        (["run", "small.toml", "--seed", "x"], "--seed"),
        (["run", "small.toml", "--sed", "1"], "--seed"),
        (["rnu", "small.toml"], "run"),
        (["check", "none.toml"], "none.toml: no such file"),
        (["show", "nowhere"], "nowhere: no such directory"),
        (["report", "folder"], "folder: is no results directory"),
        (["sql", "nowhere", "SELECT 1"], "nowhere: no such directory"),
        (["list", "ques"], "did you mean 'queues'?"),
        (["explain", "cubc"], "did you mean 'cubic'?"),
        (["new", "nowhere/x"], "nowhere/x.toml: cannot write"),
    ],
)
def test_a_mistake_is_one_clear_message(vazao: Vazao, arguments: list[str], expected: str) -> None:
    Path("folder").mkdir()
    Path("folder/letter.txt").touch()
    Path("binary.toml").write_bytes(b"name =\xff\xfe")
    Path("broken.toml").write_text('name = "x"\n[network\n')
    Path("broken-study.toml").write_text("[study]\nname = x\n")
    answer = vazao(*arguments)
    assert answer.code == 2, answer
    assert expected in answer.err.replace("\n", " "), answer.err
    assert "Traceback" not in answer.err
    assert answer.out == ""


def test_wrong_sql_is_the_users_mistake(vazao: Vazao) -> None:
    vazao("run", "small.toml", "--out", "kept")
    answer = vazao("sql", "kept", "SELECT nope FROM runs")
    assert answer.code == 2
    assert "nope" in answer.err


def test_a_directory_that_cannot_be_written(vazao: Vazao, toy_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(*arguments: object, **keywords: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    # Root may write anywhere, so the refusal is simulated here.
    monkeypatch.setattr(Path, "mkdir", forbidden)
    answer = vazao("run", str(toy_file), "--out", "closed/r")
    assert answer.code == 2
    assert answer.err == "error: closed/r: cannot create the directory: no permission to write there\n"


def test_set_and_seed_reach_a_study_but_trace_does_not(vazao: Vazao, toy_file: Path) -> None:
    answer = vazao("run", str(toy_file), "--quick", "--set", "network.bottleneck.rate=1 Mbps")
    assert answer.code == 2
    assert "factor 'bandwidth' sets it" in answer.err
    assert vazao("run", str(toy_file), "--trace", "cwnd").code == 2
    assert vazao("run", str(toy_file), "--quick", "--seed", "8", "--json", "--out", "r").code == 0
    assert vazao("sql", "r", "SELECT min(seed) AS s FROM runs", "--csv").out == "s\n8\n"


GUEST = SCENARIO.replace('cc = "reno"', 'cc = "reno", stack = "linux"')


@pytest.mark.usefixtures("no_kernel")
def test_without_a_kernel_a_study_says_once_what_was_not_run_and_succeeds(vazao: Vazao, stacks_file: Path) -> None:
    answer = vazao("run", str(stacks_file), "--out", "r")
    assert answer.code == 0
    assert answer.err.count("2 planned runs were not run: no Linux kernel 6.12 is built; `vazao kernel build`") == 1
    document = json.loads(vazao("run", str(stacks_file), "--out", "r", "--json").out)
    assert list(document["not_run"].values()) == [2]
    shown = vazao("show", "r").out
    assert "3 of 5 runs (quick)" in shown
    assert "2 planned runs were not run" in shown
    page = Path("r/report.html").read_text()
    assert "2 planned runs were not run: no Linux kernel 6.12 is built" in page
    assert "Of the runs that it is drawn from, 2 were not run." in page


@pytest.mark.usefixtures("no_kernel")
def test_without_a_kernel_a_scenario_with_guests_fails_and_check_says_why(vazao: Vazao, stacks_file: Path) -> None:
    Path("guest.toml").write_text(GUEST)
    answer = vazao("run", "guest.toml")
    assert answer.code == 1
    assert "vazao kernel build" in answer.err
    checked = vazao("check", "guest.toml").out
    assert "1 run with Linux guests cannot be run here and is left out: no Linux kernel" in checked
    assert "2 runs with Linux guests cannot be run here and are left out" in vazao("check", str(stacks_file)).out


def test_guests_cost_more_than_hops(vazao: Vazao) -> None:
    Path("guest.toml").write_text(GUEST.replace("100 kB", "100 MB"))
    Path("ours.toml").write_text(SCENARIO.replace("100 kB", "100 MB"))
    seconds = [pace.Pace().seconds(load(Path(name).read_text(), file=name)) for name in ("ours.toml", "guest.toml")]
    # 69 000 segments and half as many acknowledgements over three links; each passes two guests, which have to be
    # started.
    ordinary = pace.Pace()
    assert seconds[0] - ordinary.run == pytest.approx(69e3 * 1.5 * 3 / 20e6, rel=0.01)
    assert seconds[1] - seconds[0] - 2 * ordinary.guest == pytest.approx(69e3 * 1.5 * 2 / 20e3, rel=0.01)


def test_a_table_of_flows_names_the_stack_and_why_a_flow_failed(capsys: pytest.CaptureFixture[str]) -> None:
    tables = run_scenario(load(SCENARIO)).tables()
    guests = tables | {
        "flows": tables["flows"].with_columns(stack=pl.lit("linux"), failure=pl.lit("ECONNREFUSED connect")),
        "runs": tables["runs"].with_columns(kernel=pl.lit("6.12.117"), kernel_hz=pl.lit(100)),
    }
    rendering.show_run("x", "id", guests)
    printed = capsys.readouterr().out
    assert "tcp reno · linux" in printed
    assert "flow 0: ECONNREFUSED connect" in printed
    assert "Linux 6.12.117, 100 Hz" in printed
    rendering.show_run("x", "id", tables)
    assert "·" not in (printed := capsys.readouterr().out)
    assert "Linux" not in printed


def test_a_flow_that_failed_is_exit_code_1(vazao: Vazao, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*given: object, **how: object) -> Result:
        made = run_scenario(*given, **how)  # type: ignore[arg-type]
        made.flows = made.flows.with_columns(failure=pl.lit("ECONNREFUSED connect\nand more"))
        return made

    monkeypatch.setattr("vazao.results.run_scenario", refused)
    answer = vazao("run", "small.toml", "--out", "kept")
    assert answer.code == 1
    assert answer.err == "error: 1 of 1 flows failed; flow 0: ECONNREFUSED connect\n"
    assert " flow 0: ECONNREFUSED connect" in answer.out
    told = vazao("run", "small.toml", "--json")
    assert (told.code, json.loads(told.out)["flows"][0]["failure"][:12]) == (1, "ECONNREFUSED")
    assert Store(tmp_path / "kept").read("flows").height == 1


def test_an_incomplete_flow_is_named(vazao: Vazao) -> None:
    answer = vazao("run", "small.toml", "--set", "until=50 ms")
    assert answer.code == 0
    assert " flow 0: had not completed when the run ended" in answer.out
    assert "had not completed" not in vazao("run", "small.toml").out
    # A flow without an end of its own has nothing to complete.
    endless = 'flow.0.app={ kind = "upload" }'
    assert "had not completed" not in vazao("run", "small.toml", "--set", "until=1 s", "--set", endless).out


SECONDS = r"([\d.]+) s simulated of {} s{}, \d+ s left"


@pytest.mark.process
def test_a_long_run_shows_how_far_it_is(vazao: Vazao, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "PATIENCE_SECONDS", 0.0)
    monkeypatch.setattr(progress, "PLAIN_STEP_SECONDS", 1000.0)
    sizes = ["--set", "until=100 s", "--set", "flow.0.app.size=9 TB", "--set", "network.bottleneck.rate=1 Gbps"]
    assert vazao("run", "small.toml", *sizes).err == ""

    def told(pattern: str) -> list[float]:
        seconds = [float(second) for second in re.findall(pattern, vazao("run", "small.toml", *sizes).err)]
        assert seconds == sorted(seconds)
        return seconds

    # Without a terminal, a line is printed now and then; a known end replaces the latest possible one.
    monkeypatch.setattr(progress, "PLAIN_STEP_SECONDS", 0.0)
    monkeypatch.setattr(progress, "FORECAST_SECONDS", 1000.0)
    assert len(set(told(SECONDS.format("100", " at most")))) > 1
    monkeypatch.setattr(progress, "FORECAST_SECONDS", 0.0)
    assert len(set(told(SECONDS.format("about 100", "")))) > 1
    screen = Console(stderr=True, force_terminal=True, width=150)
    monkeypatch.setattr(terminal, "err", screen)
    monkeypatch.setattr(progress, "FORECAST_SECONDS", 1000.0)
    assert len(set(told(SECONDS.format("100", " at most")))) > 1
    monkeypatch.setattr(progress, "PATIENCE_SECONDS", 1000.0)
    assert "simulated" not in vazao("run", "small.toml").err


@pytest.mark.timed
def test_many_short_runs_take_about_as_long_as_check_says(toy_file: Path, tmp_path: Path) -> None:
    toy_file.write_text(toy_file.read_text().replace("full = 3 }", "full = 100 }").replace("200 kB", "10 kB"))
    toy = campaign.load_study(toy_file)
    planned = study.plan(toy, "full")
    attempts = itertools.count()

    def ratio() -> float:
        pace.forget()
        expected = pace.measured(planned.distinct).total(planned.distinct, 2)
        began = time.perf_counter()
        campaign.run_study(toy, size="full", jobs=2, out=tmp_path / f"{next(attempts)}")
        return expected / (time.perf_counter() - began)

    assert_mostly_within(3, ratio, times=5)
