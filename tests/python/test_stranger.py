"""Attacks by an untrusted study, scenario or results directory."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import time
from pathlib import Path
from typing import NoReturn

import polars as pl
import pytest

from command import Vazao, caller, program, vazao
from synthetic import SMALL
from vazao import ResultsError, Store, StudyError
from vazao.cli import rendering, terminal
from vazao.execution import missing as execution
from vazao.figures import Drawing, drawing, files
from vazao.files import MAX_BYTES
from vazao.results import campaign
from vazao.sql import database
from vazao.sql.enclosure import Enclosure, Limits
from vazao.store.parts import TABLES
from vazao.store.query_validation import Stage
from vazao.study import Study, findings, parse_study

pytestmark = pytest.mark.process

WRITES = [
    "EXPLAIN ANALYZE COPY (SELECT 1) TO '{out}'",
    "EXPLAIN ANALYZE SELECT true AS holds",
    "COPY (SELECT 1) TO '{out}'",
    "WITH x AS (COPY runs TO '{out}') SELECT true AS holds",
    "WITH y AS (WITH x AS (COPY runs TO '{out}') SELECT 1) SELECT true AS holds FROM y",
    "WITH x AS (DELETE FROM runs RETURNING 1) SELECT true AS holds",
    "WITH x AS (INSERT INTO runs SELECT * FROM runs RETURNING 1) SELECT true AS holds",
    "WITH x AS (UPDATE runs SET part = 'x' RETURNING 1) SELECT true AS holds",
    "SELECT true AS holds; COPY runs TO '{out}'",
    "/* SELECT */ EXPORT DATABASE '{out}'",
    "ATTACH '{out}' AS other",
    "INSTALL httpfs",
    "LOAD httpfs",
    "SET threads = 2",
    "PRAGMA version",
    "CALL pragma_version()",
    "CREATE TABLE x AS SELECT 1",
    "SELECT true AS holds FROM query('SELECT 1')",
    "SELECT true AS holds FROM enable_profiling(save_location = '{out}')",
    "SELECT true AS holds FROM enable_logging(storage = 'file', storage_path = '{out}')",
    "SELECT true AS holds FROM pandas_scan(0::POINTER)",
    "SELECT true AS holds FROM json_execute_serialized_sql('x')",
    "PREPARE x AS SELECT 1",
]
READS = [
    "SELECT content AS holds FROM read_text('{secret}')",
    "SELECT (SELECT content FROM read_blob('{secret}')) AS holds",
    "SELECT true AS holds FROM '{secret}'",
    "SELECT true AS holds FROM read_csv('{secret}')",
    "SELECT true AS holds FROM glob('/etc/*')",
    "SELECT true AS holds FROM system.main.read_text('{secret}')",
    "SUMMARIZE FROM read_parquet('{secret}')",
    "SELECT getenv('HOME') = '' AS holds",
    "SELECT true AS holds FROM 'https://example.org/x.parquet'",
]


@pytest.fixture
def small() -> Study:
    return parse_study(SMALL, "small.toml")


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results directory for tests to copy."""
    return campaign.run_study(
        parse_study(SMALL, "small.toml"), out=tmp_path_factory.mktemp("finished") / "results"
    ).directory


@pytest.fixture
def results(finished: Path, tmp_path: Path) -> Path:
    """Private copy of a results directory."""
    return Path(shutil.copytree(finished, tmp_path / "results"))


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Vazao:
    """The command in this process, which is faster."""
    return caller(monkeypatch, capsys)


def asked(sql: str) -> list[str]:
    text = json.dumps(sql)
    return [
        f'[[view]]\nname = "v"\nsql = {text}\n',
        f'[[table]]\nid = "t"\ntitle = "t"\nsql = {text}\n',
        f'[[figure]]\nid = "f"\ntitle = "f"\nsql = {text}\nx = "holds"\ny = "holds"\n',
        f'[[finding]]\nid = "f"\nclaim = "c"\nsql = {text}\n',
    ]


@pytest.mark.parametrize("sql", [*WRITES, *READS])
def test_checking_a_study_neither_reads_nor_writes(sql: str, tmp_path: Path) -> None:
    secret, out = tmp_path / "secret.parquet", tmp_path / "out"
    pl.DataFrame({"a": [1]}).write_parquet(secret)
    for table in asked(sql.format(out=out, secret=secret)):
        with pytest.raises(StudyError) as error:
            campaign.run_study(parse_study(SMALL + table, "small.toml"), out=tmp_path / "results")
        assert "small.toml" in str(error.value) or "figure f" in str(error.value)
    assert sorted(tmp_path.iterdir()) == [secret]


@pytest.mark.parametrize("sql", [*WRITES, *READS])
def test_asking_results_neither_reads_nor_writes(sql: str, results: Path, tmp_path: Path) -> None:
    secret, out = tmp_path / "secret.parquet", tmp_path / "out"
    pl.DataFrame({"a": [1]}).write_parquet(secret)
    with pytest.raises(ResultsError):
        Store(results).query(sql.format(out=out, secret=secret))
    assert not out.exists()


def test_a_link_in_results_opens_no_file_elsewhere(results: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("secret")
    (results / "inside.txt").symlink_to(tmp_path / "secret.txt")
    connection = database.connect([results / "flows" / "000001.parquet"])
    for name in ("inside.txt", "flows/../../secret.txt", "manifest.json"):
        with pytest.raises(Exception, match="file system operations are disabled"):
            connection.sql(f"FROM read_text('{results / name}')").fetchall()
    connection.close()


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1 AS a",
        "FROM runs",
        "WITH x AS (SELECT 1 AS a) SELECT * FROM x -- a remark",
        "SUMMARIZE runs",
        "SHOW TABLES",
        "DESCRIBE runs;",
        "VALUES (1), (2)",
        "SELECT * FROM range(3) UNION ALL SELECT * FROM generate_series(1, 2)",
        "PIVOT runs ON rate IN ('1 Mbps', '10 Mbps') USING avg(utilisation)",
        "UNPIVOT (SELECT utilisation, jain FROM runs) ON utilisation, jain",
        "SELECT 'COPY runs TO x; DELETE FROM y' AS a",
        "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t WHERE n < 5) SELECT * FROM t",
    ],
)
def test_honest_questions_are_answered(sql: str, results: Path) -> None:
    assert Store(results).query(sql).height > 0


BOMBS = [
    "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) SELECT max(n) > 0 AS holds FROM t",
    "SELECT count(*) > 0 AS holds FROM range(1000000000) a, range(1000000000) b",
    "SELECT sleep_ms(60000) IS NULL AS holds",
    "SELECT levenshtein(repeat('a', 300000), repeat('b', 300000)) > 0 AS holds",
    "SELECT length(repeat('x', 4000000000)) > 0 AS holds",
    "SELECT length(lpad('x', 2000000000, 'y')) > 0 AS holds",
    "SELECT list_sum(range(1000000000)) > 0 AS holds",
    "SELECT * FROM range(10000000000)",
    "SELECT format('{:>2000000000}', 'x') = '' AS holds",
]  # fmt: skip


@pytest.mark.parametrize("sql", BOMBS)
def test_a_question_ends_with_its_time_or_its_memory(sql: str, small: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VAZAO_QUERY_SECONDS", "2")
    stage = Stage(small)
    began = time.monotonic()
    with pytest.raises(ResultsError, match=r"longer than 2 s, the limit; VAZAO_QUERY_SECONDS|memory|Memory|1 GB"):
        stage.query(sql)
    assert time.monotonic() - began < 20


def test_checking_an_endless_study_is_one_message(tmp_path: Path) -> None:
    study = tmp_path / "small.toml"
    study.write_text(SMALL + asked(BOMBS[0])[3])
    answer = vazao("check", study, VAZAO_QUERY_SECONDS="2")
    assert answer.code == 2
    assert answer.err == (
        f"error: {study}: finding 'f': the query takes longer than 2 s, the limit; VAZAO_QUERY_SECONDS=… gives it more\n"  # noqa: E501
    )


def test_after_a_question_that_was_too_much_the_next_is_answered(
    results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VAZAO_QUERY_SECONDS", "2")
    store = Store(results)
    with pytest.raises(ResultsError, match="longer than 2 s"):
        store.query(BOMBS[0])
    assert store.query("SELECT count(*) AS n FROM runs")["n"].to_list() == [2]


def test_the_enclosed_database_writes_nothing_and_holds_no_file_of_its_parent(tmp_path: Path) -> None:
    out = tmp_path / "out"

    def prepare() -> NoReturn:
        held = {str(entry.readlink()) for entry in Path("/proc/self/fd").iterdir() if entry.is_symlink()}
        with pytest.raises(OSError, match="File too large"):
            out.write_bytes(b"x")
        raise ResultsError(" ".join(held))

    with (tmp_path / "held").open("wb"), pytest.raises(ResultsError) as error:
        Enclosure(prepare, Limits(5, 1))
    assert {entry.partition(":")[0] for entry in str(error.value).split() if "/fd" not in entry} == {
        "/dev/null",
        "socket",
    }
    assert out.read_bytes() == b""


@pytest.mark.parametrize("name", ["x\" AS SELECT 1; COPY runs TO '/tmp/x'; --", "runs", "a b", "", "Ä", 'a"', "a\nb"])
def test_a_view_is_called_by_a_name(name: str, results: Path) -> None:
    text = f'[[view]]\nname = {json.dumps(name)}\nsql = "SELECT 1 AS a"\n'
    with pytest.raises(StudyError, match="view"):
        parse_study(SMALL + text, "small.toml")
    (results / "study.toml").write_text(SMALL + text)
    with pytest.raises(ResultsError, match="view"):
        Store(results).query("SELECT 1")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("kind", "other"),
        ("kind", ["study"]),
        ("size", "huge"),
        ("seed", "1"),
        ("overrides", [["a"], 3]),
        ("overrides", {"a": 1}),
        ("parts", [3]),
        ("runs", "many"),
        ("versions", None),
        ("kernels", ["6.12"]),
        ("not_run", {"a": "b"}),
    ],
)
@pytest.mark.parametrize("asking", ["show", "report", "sql"])
def test_a_strangers_manifest_is_refused_in_words(
    key: str, value: object, asking: str, results: Path, tmp_path: Path, command: Vazao
) -> None:
    manifest = json.loads((results / "manifest.json").read_text())
    planted = json.loads(json.dumps(value).replace("{out}", str(tmp_path / "out")))
    (results / "manifest.json").write_text(json.dumps(manifest | {key: planted}))
    answer = command(asking, str(results), *(["SELECT * FROM runs"] if asking == "sql" else []))
    assert answer.code == 2, answer
    assert answer.err.startswith("error: ")
    assert "defect" not in answer.err
    assert "Traceback" not in answer.err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "name", [*TABLES, "figures", "manifest.json", "study.toml", "planned.parquet", "not_run.parquet", ".lock"]
)
def test_a_link_in_a_results_directory_leads_nowhere(name: str, small: Study, results: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    if (results / name).is_dir() or name == "figures":
        mine.mkdir()
        (mine / "000007.parquet").write_bytes(b"dear")
        (mine / ".x.tmp").write_bytes(b"dear")
        shutil.rmtree(results / name, ignore_errors=True)
    else:
        mine.write_bytes((results / name).read_bytes() if (results / name).exists() else b"")
        (results / name).unlink(missing_ok=True)
    (results / name).symlink_to(mine)
    before = _tree(mine)
    if name == "figures":
        assert vazao("report", _with_figure(results)).code == 2
    else:
        with pytest.raises(ResultsError, match="is a symbolic link"):
            campaign.run_study(small, out=results)
    assert _tree(mine) == before


def test_what_is_written_replaces_a_link(results: Path, tmp_path: Path) -> None:
    names = ["report.html", "findings.json", ".report.html.tmp", ".findings.json.tmp"]
    for name in names:
        (tmp_path / name).write_text("dear")
        (results / name).unlink(missing_ok=True)
        (results / name).symlink_to(tmp_path / name)
    assert vazao("report", results).code == 0
    assert [(tmp_path / name).read_text() for name in names] == ["dear"] * len(names)
    assert [name for name in names if (results / name).is_symlink()] == []


@pytest.mark.parametrize("kind", ["link", "fifo"])
@pytest.mark.parametrize(
    "name", ["flows/000001.parquet", "runs/000001.parquet", "manifest.json", "study.toml", "planned.parquet"]
)
def test_a_file_of_results_is_a_regular_file(name: str, kind: str, results: Path, tmp_path: Path) -> None:
    path = results / name
    shutil.move(path, tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere") if kind == "link" else os.mkfifo(path)
    with pytest.raises(ResultsError, match="where a results directory has a file of its own"):
        Store(results).query("SELECT * FROM runs")


@pytest.mark.parametrize("name", ["study.toml", "study.pt.toml"])
@pytest.mark.parametrize("asking", ["show", "report"])
def test_a_study_that_results_keep_is_read_from_nowhere_else(
    name: str, asking: str, results: Path, tmp_path: Path, command: Vazao
) -> None:
    (tmp_path / "secret.toml").write_text("hunter2-is-my-password\n")
    (results / name).unlink(missing_ok=True)
    (results / name).symlink_to(tmp_path / "secret.toml")
    answer = command(asking, str(results), "--lang", "pt")
    assert (answer.code, f"{name}: is a symbolic link where" in answer.err) == (2, True), answer
    assert "hunter2" not in answer.err + answer.out


def _tree(path: Path) -> dict[str, bytes]:
    return {str(each): each.read_bytes() for each in [path, *path.rglob("*")] if each.is_file()}


def _with_figure(results: Path) -> Path:
    sql = "SELECT rate_bps, completion_s FROM runs JOIN flows USING (run_id)"
    figure = f'[[figure]]\nid = "f"\ntitle = "f"\nsql = "{sql}"\nx = "rate_bps"\ny = "completion_s"\n'
    (results / "study.toml").write_text(SMALL + figure)
    return results


@pytest.mark.parametrize("asking", ["check", "run", "compare"])
def test_a_file_is_a_regular_file_of_some_size(asking: str, tmp_path: Path, command: Vazao) -> None:
    os.mkfifo(tmp_path / "fifo.toml")
    (tmp_path / "large.toml").write_bytes(b"#" * (MAX_BYTES + 1))
    for path, message in {
        tmp_path / "fifo.toml": "it is a device or a pipe; a regular file is needed",
        Path("/dev/zero"): "it is a device or a pipe; a regular file is needed",
        tmp_path / "large.toml": "it is larger than 4 MB, the most that is read",
        tmp_path: "is a directory",
    }.items():
        answer = command(asking, str(path))
        assert answer.code == 2
        assert message in answer.err


@pytest.mark.parametrize(
    "text",
    [
        "[study]\na = " + "[" * 100_000 + "]" * 100_000,
        "[study]\na = " + "{a=" * 50_000 + "1" + "}" * 50_000,
        "[study]\nname = " + "1" * 10_000,
        "[study]\n" + "\n".join(f"k{n} = 1" for n in range(200_000)),
    ],
)
def test_a_monstrous_file_is_one_message(text: str, tmp_path: Path, command: Vazao) -> None:
    path = tmp_path / "s.toml"
    path.write_text(text)
    began = time.monotonic()
    answer = command("check", str(path))
    assert answer.code == 2
    assert "defect" not in answer.err
    assert "Traceback" not in answer.err
    assert time.monotonic() - began < 30


def _spoil(path: Path, how: str) -> None:
    content = path.read_bytes()
    if how == "deleted":
        path.unlink()
    elif how == "truncated":
        path.write_bytes(content[: len(content) // 2])
    elif how == "empty":
        path.write_bytes(b"")
    else:
        path.write_bytes(os.urandom(len(content)))


@pytest.mark.parametrize("how", ["deleted", "truncated", "empty", "garbage"])
@pytest.mark.parametrize("table", ["scenarios", "links", "paths", "flows", "runs"])
@pytest.mark.parametrize("asking", ["show", "sql", "report"])
def test_a_spoilt_part_is_named(how: str, table: str, asking: str, results: Path, command: Vazao) -> None:
    part = results / table / "000001.parquet"
    if (table, how) == ("runs", "deleted"):
        for folder in TABLES:
            if (results / folder / "000001.parquet").exists():
                shutil.copy(results / folder / "000001.parquet", results / folder / "000002.parquet")
    _spoil(part, how)
    answer = command(asking, str(results), *(["SELECT * FROM runs"] if asking == "sql" else []))
    assert answer.code == 2, answer
    assert answer.err.startswith(f"error: {part}: is {'lost' if how == 'deleted' else 'damaged'}")
    assert "simulates its runs again" in answer.err


def test_what_a_message_about_a_spoilt_part_advises_mends_it(small: Study, results: Path) -> None:
    before = Store(results).read("flows")
    _spoil(results / "flows" / "000001.parquet", "garbage")
    (results / "runs" / "000001.parquet").unlink()
    assert campaign.run_study(small, out=results).started == 2
    assert Store(results).read("flows").equals(before)


def test_a_lost_batch_is_simulated_again(small: Study, results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(execution, "FLUSH_RUNS", 1)
    shutil.rmtree(results)
    before = campaign.run_study(small, jobs=1, out=results).store.read("flows")
    (results / "runs" / "000001.parquet").unlink()
    with pytest.raises(ResultsError, match=r"000001.parquet: is lost; `vazao run`"):
        Store(results).query("SELECT * FROM runs")
    assert campaign.run_study(small, out=results).started == 1
    assert Store(results).read("flows").equals(before)


def test_results_without_a_record_of_their_parts_are_read(results: Path) -> None:
    runs = results / "runs" / "000001.parquet"
    pl.read_parquet(runs).write_parquet(runs)
    assert Store(results).read("flows").height == 2


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "[" * 100_000, '{"kind": "study"}', "\xff"])
def test_a_lost_or_garbled_manifest_is_said(text: str, small: Study, results: Path) -> None:
    (results / "manifest.json").write_text(text, encoding="latin-1")
    with pytest.raises(ResultsError, match="is not a manifest that this version understands"):
        Store(results)
    (results / "manifest.json").unlink()
    with pytest.raises(ResultsError, match=r"have lost their manifest\.json"):
        Store(results)
    before = _tree(results)
    with pytest.raises(ResultsError, match=r"whose manifest\.json is lost; choose another --out"):
        campaign.run_study(small, out=results)
    assert _tree(results) == before


@pytest.mark.parametrize("arguments", [["show"], ["sql", "SELECT * FROM runs"], ["sql", "--csv", "SELECT * FROM runs"]])
def test_output_to_a_full_device_is_one_message(arguments: list[str], results: Path) -> None:
    command, *rest = arguments
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            program(command, results, *rest), stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert (done.returncode, done.stderr) == (1, "error: the output: the disk is full\n")


@pytest.mark.parametrize(
    ("x", "y"),
    [
        ("NULL", "1"), ("rate = '1 Mbps'", "1"), ("INTERVAL 3 DAY", "1"), ("DATE '2020-02-02'", "1"), ("[1, 2]", "1"),
        ("{'a': 1}", "1"), ("'ab'::BLOB", "1"), ("TIME '01:02:03'", "1"), ("1", "NULL"), ("1", "true"), ("1", "[1]"),
        ("1", "INTERVAL 3 DAY"), ("1", "DATE '2020-02-02'"), ("nullif(rate, '1 Mbps')", "1"), ("chr(27) || '[31m'", "1"),  # noqa: E501
        ("'inf'::DOUBLE", "1"), ("nullif(rate_bps, 1e6)", "1"), ("1::BIGNUM", "1"), ("chr(65535)", "1"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("kind", ["line", "bar", "box"])
def test_a_figure_is_drawn_or_refused_in_words(x: str, y: str, kind: str, results: Path) -> None:
    sql = json.dumps(f"SELECT {x} AS a, {y} AS b, {x} AS c FROM runs")
    figure = f'kind = "{kind}"\nsql = {sql}\nx = "a"\ny = "b"\ncolor = "c"\n'
    study = parse_study(SMALL + f'[[figure]]\nid = "f"\ntitle = "t"\n{figure}', "small.toml")
    try:
        one = drawing(study, Store(results), study.figures[0])
    except StudyError as error:
        if not re.match(r"(small\.toml:\d+: figure\.0: )?figure f: ", str(error)):
            raise
        return
    if not one.rows.frame.is_empty():
        assert files(one)["png"].startswith(b"\x89PNG")


@pytest.mark.parametrize(
    "text", ["a\\b", "<b>&amp;</b>", "{x}", "[/]", "a\nb", "\x1b[31mred", "' + alert(1) + '", "\x00"]
)
@pytest.mark.parametrize("key", ["title", "x_title", "y_title", "x_unit", "y_unit", "color_title"])
def test_a_title_is_drawn_whatever_it_says(text: str, key: str, results: Path) -> None:
    figure = {"id": "f", "title": "t", "sql": "SELECT rate_bps AS a, 1 AS b, rate AS c FROM runs"}
    figure |= {"x": "a", "y": "b", "color": "c", "kind": "point"} | {key: text}
    lines = "".join(f"{name} = {json.dumps(value)}\n" for name, value in figure.items())
    study = parse_study(f"{SMALL}[[figure]]\n{lines}", "small.toml")
    assert files(drawing(study, Store(results), study.figures[0]))["pdf"].startswith(b"%PDF")


@pytest.mark.parametrize("column", ["a.b", "a[0]", "a b", "'", '"', "n", "low"])
def test_a_figure_names_plain_columns(column: str, results: Path) -> None:
    lines = f'id = "f"\ntitle = "t"\nsql = "SELECT 1"\nx = {json.dumps(column)}\ny = "b"\n'
    with pytest.raises(StudyError, match=r"is no name|is not a column|the figure's statistics have"):
        _draw(parse_study(f"{SMALL}[[figure]]\n{lines}", "small.toml"), results)


def _draw(study: Study, results: Path) -> Drawing:
    return drawing(study, Store(results), study.figures[0])


def test_a_text_reaches_the_terminal_as_a_text(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hostile = "\x1b]0;owned\x07 \x9b31m [red]x[/] [/] :smile: \r\u202e"
    claim = findings.Ruling("f", hostile, hostile, None, None, "differs", hostile, hostile)
    rendering.show_findings([claim], explained=True)
    rendering.show_tables([(hostile, pl.DataFrame({hostile: [hostile]}))])
    terminal.err.print(hostile)
    printed = "".join(capsys.readouterr())
    assert not {"\x1b", "\x07", "\x9b", "\r", "\u202e"} & set(printed)
    assert "[red]x[/]" in printed
    study = results / "study.toml"
    study.write_text(SMALL + f"\n[[table]]\nid = 't'\ntitle = {json.dumps(hostile)}\nsql = 'SELECT \\u001b[2J'\n")
    (results / "manifest.json").write_text((results / "manifest.json").read_text().replace("quick", "\\u001b[2J"))
    for arguments in (["show", results], ["check", study], ["sql", results, "SELECT chr(27) || '[2J' AS a"]):
        answer = vazao(*arguments)
        assert "\x1b" not in answer.out + answer.err


@pytest.mark.parametrize(
    "text", ["{x:1000000000}", "{x:.999999999f}", "{x:{x}}", "{x.__class__}", "{0}", "{}", "{x!z}"]
)
def test_a_text_of_a_finding_is_no_program(text: str, small: Study) -> None:
    finding = (
        f'[[finding]]\nid = "f"\nclaim = "c"\nsql = "SELECT true AS holds, 1000000000 AS x"\nmeasured = "{text}"\n'
    )
    study = parse_study(SMALL + finding, "small.toml")
    with pytest.raises(StudyError, match="finding 'f'"):
        findings.evaluate(study, Stage(study))


@pytest.mark.parametrize("text", ["[1]", "{}", '[{"id": 1}]', "[" * 100_000, "nul"])
def test_a_strangers_ledger_is_refused_in_words(text: str, tmp_path: Path) -> None:
    (tmp_path / "findings.json").write_text(text)
    with pytest.raises(ResultsError, match="is not a ledger that this version understands"):
        findings.read(tmp_path)
