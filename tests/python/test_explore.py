"""Results in the browser: how a description becomes SQL, who gets access, and how Chromium shows the page."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from command import MAIN, Vazao, caller

pytest.importorskip("starlette", reason="starlette is not installed (extra web)")
pytest.importorskip("uvicorn", reason="uvicorn is not installed (extra web)")
pytest.importorskip("httpx2", reason="httpx2 is not installed")

from starlette.testclient import TestClient

import vazao as vz
from vazao import explore, results, seeing
from vazao.errors import ResultsError, VazaoError
from vazao.explore import replies
from vazao.explore.answers import Answers
from vazao.explore.queries import Ask, read
from vazao.explore.sql import literal, quoted
from vazao.store.writer import writing

pytestmark = pytest.mark.process

TOKEN, PORT = "a-secret", 4711
HERE = {"host": f"127.0.0.1:{PORT}"}
KNOWN = {**HERE, "x-vazao-token": TOKEN}

MARKUP = "<script>document.title='taken'</script>"
ODD = "a\"b'; DROP TABLE runs; --<img src=x onerror=alert(1)>"

RIVALS = """
name = "rivals"
[network]
topology = "dumbbell"
pairs = 2
access = { rate = "1 Gbps", delay = "1 ms" }
bottleneck = { rate = "10 Mbps", delay = "5 ms", queue = "20 packets" }
[[flow]]
app = { kind = "upload", size = "200 kB" }
transport = { kind = "tcp", cc = "reno" }
[[flow]]
app = { kind = "upload", size = "200 kB" }
transport = { kind = "tcp", cc = "cubic" }
"""

STUDY = """
[study]
name = "odd"
title = "TITLE"
question = "QUESTION"
[scenario]
network = { topology = "point-to-point", link = { rate = "10 Mbps", delay = "1 ms" } }
flow = [{ app = { kind = "upload", size = "10 kB" } }]
[design]
kind = "factorial"
[[factor]]
name = "control"
title = "TITLE"
[factor.levels]
reno = { "flow.0.transport.cc" = "reno" }
"LEVEL" = { "flow.0.transport.cc" = "cubic" }
[[finding]]
id = "faster"
claim = "TITLE"
sql = "SELECT avg(goodput_bps) > 0 AS holds FROM flows"
[[figure]]
id = "goodput"
title = "TITLE"
finding = ["faster"]
sql = "SELECT control, goodput_bps FROM flows JOIN runs USING (run_id)"
kind = "box"
x = "control"
y = "goodput_bps"
"""


def text(title: str = "Small", level: str = "cubic") -> str:
    study = STUDY.replace("TITLE", title).replace("QUESTION", title)
    return study.replace("LEVEL", level)


def stored(
    folder: Path,
    *,
    runs: int = 40,
    finished: int | None = None,
    title: str = "Small",
    level: str = "cubic",
    extra: str = "odd",
) -> Path:
    """Results directory with invented numbers: two flows in each run."""
    ids = [f"{n:016x}" for n in range(runs)]
    levels = [("reno", level)[n % 2] for n in range(runs)]
    planned = pl.DataFrame(
        {"run_id": ids, "part": "main", "control": levels, "replication": [n // 2 for n in range(runs)]}
    )
    rows = pl.DataFrame(
        {"run_id": ids, "seed": list(range(runs)), "utilisation": [n / runs for n in range(runs)], extra: [1.0] * runs}
    )
    flows = pl.DataFrame(
        {"run_id": [one for one in ids for _ in range(2)], "flow": [0, 1] * runs, "start_s": 0.0, "last_byte_s": 1.0,
         "cc": [one for one in levels for _ in range(2)], "size_class": "up to 100 kB",
         "goodput_bps": [1e6 * (1 + n % 7) + n for n in range(2 * runs)],
         "rtt_p95_s": [None if n % 9 == 0 else 0.01 * (n % 13) for n in range(2 * runs)],
         "completed": [n % 3 > 0 for n in range(2 * runs)]},
    )  # fmt: skip
    links = pl.DataFrame({"run_id": ids, "link": "a", "direction": "forward", "drops_queue": list(range(runs))})
    manifest = {"kind": "study", "name": "odd", "title": title, "size": "quick", "seed": 1, "overrides": [],
                "runs": runs, "parts": [], "versions": {}, "inputs": {}, "not_run": {}}  # fmt: skip
    with writing(folder, manifest, text(title, level)) as writer:
        writer.write_planned(planned)
        tables = {"runs": rows, "flows": flows, "links": links}
        of = pl.col("run_id").is_in(ids[:finished])
        writer.commit({name: table.filter(of) for name, table in tables.items()})
        if finished:
            RUNNING.append(tables | {"left": ids[finished:]})
    return folder


RUNNING: list[dict[str, Any]] = []
"""Rows of runs that a campaign has not finished yet."""


@pytest.fixture(scope="module")
def directories(tmp_path_factory: pytest.TempPathFactory) -> list[explore.Directory]:
    folder = tmp_path_factory.mktemp("explore")
    return explore.opened([stored(folder / "first", extra=ODD), stored(folder / "second", runs=20)])


@pytest.fixture(scope="module")
def answers(directories: list[explore.Directory]) -> Answers:
    return Answers(directories)


@pytest.fixture
def client(directories: list[explore.Directory]) -> TestClient:
    app = explore.application(directories, token=TOKEN, port=PORT)
    return TestClient(app, base_url=f"http://127.0.0.1:{PORT}", follow_redirects=False)


def one(answers: Answers, label: str = "first") -> explore.Directory:
    return next(each for each in answers.directories if each.label == label)


# From a description to SQL.


def test_a_mean_is_over_replications_and_not_over_flows(answers: Answers) -> None:
    ask = Ask.model_validate(
        {"kind": "mean", "table": "flows", "x": {"column": "control"}, "y": {"column": "goodput_bps"}}
    )
    columns = answers.answer(ask)["columns"]
    wanted = one(answers).query(
        "SELECT control, avg(g) AS mean, ci95(g) AS ci, count(*) AS n FROM (SELECT run_id, avg(goodput_bps) AS g FROM "
        "flows GROUP BY run_id) JOIN runs USING (run_id) GROUP BY control ORDER BY control"
    )
    assert columns["results"] == ["first", "first", "second", "second"]
    assert columns["x"][:2] == wanted["control"].to_list()
    for name in "mean", "ci", "n":
        assert columns[name][:2] == pytest.approx(wanted[name].to_list())


def test_a_brushed_range_has_as_many_rows_as_its_bins(answers: Answers) -> None:
    """The sums of a cube's bins, shown while brushing, equal what the filter then counts."""
    active = {"column": "goodput_bps", "bins": 20}
    cube = answers.answer(Ask.model_validate(
        {"kind": "counts", "table": "flows", "dims": [{"column": "control"}], "active": active}
    ))  # fmt: skip
    bins = cube["bins"]["goodput_bps"]
    edges = [bins["low"] + n * (bins["high"] - bins["low"]) / bins["bins"] for n in range(bins["bins"] + 1)]
    dim = cube["dims"][0]
    for low, high in [(0, 5), (3, 11), (10, 20)]:
        kept = {"column": "goodput_bps", "low": edges[low]} | ({"high": edges[high]} if high < 20 else {})
        counted = answers.answer(Ask.model_validate(
            {"kind": "counts", "table": "flows", "dims": [{"column": "control"}], "filters": [kept]}
        ))  # fmt: skip
        assert counted["rows"] == sum(n for n, a in zip(dim["n"], dim["a"], strict=True) if low <= a < high)


def test_answers_are_what_pages_are_told_they_are(answers: Answers, client: TestClient) -> None:
    x, y = {"column": "control"}, {"column": "goodput_bps", "bins": 8}
    for view in list[dict[str, Any]]([{"x": x, "y": y}, {"dims": [x, y]}, {"dims": [x], "active": y}]):
        kind, model = ("counts", replies.Counts) if "dims" in view else ("heat", replies.Rows)
        model.model_validate(answers.answer(Ask.model_validate({"kind": kind, "table": "flows", **view})))
    asked = Ask.model_validate({"kind": "domain", "table": "flows", "dims": [y]})
    replies.Domain.model_validate(answers.answer(asked)["columns"]["goodput_bps"])
    replies.About.model_validate(answers.about())
    for each in client.post("/api/findings", json={}, headers=KNOWN).json()["findings"]:
        replies.Ledger.model_validate(each)


def test_a_list_counts_under_all_filters_but_its_own(answers: Answers) -> None:
    filters = [{"column": "control", "values": ["reno"]}, {"column": "goodput_bps", "low": 3e6}]
    counted = answers.answer(Ask.model_validate(
        {"kind": "counts", "table": "flows", "filters": filters, "dims": [{"column": "control"}, {"column": "results"}]}
    ))  # fmt: skip
    wanted = one(answers).query(
        "SELECT control, count(*) AS n FROM flows JOIN runs USING (run_id) WHERE goodput_bps >= 3e6 GROUP BY control"
    )
    dim = counted["dims"][0]
    mine = {v: n for v, n, label in zip(dim["v"], dim["n"], dim["results"], strict=True) if label == "first"}
    assert mine == dict(wanted.iter_rows())
    assert counted["rows"] == sum(counted["dims"][1]["n"])


def test_rivals_are_kept_apart_by_their_table_and_by_the_factor(tmp_path: Path) -> None:
    """With one flow's control varied beside another flow, the level belongs to the run, and `own.cc` to the flow."""
    path = tmp_path / "rivals.toml"
    path.write_text(RIVALS)
    experiment = vz.load(path)
    assert isinstance(experiment, vz.Experiment)
    done = experiment.vary("flow.0.transport.cc", "vegas,cubic").run(seeds=2, out=tmp_path / "r")
    answers = Answers(explore.opened([tmp_path / "r"]))
    columns = {one["name"]: one for one in answers.about()["tables"]["flows"]}
    assert (columns["cc"]["of"], columns["own.cc"]["of"], columns["group"]["kind"]) == ("runs", "flows", "number")
    ask = {"kind": "mean", "table": "flows", "part": "sweep", "x": {"column": "cc"}, "y": {"column": "goodput_bps"}}
    told = answers.answer(read(json.dumps(ask | {"color": "group"}).encode()))["columns"]
    found = {(x, color): mean for x, color, mean in zip(told["x"], told["color"], told["mean"], strict=True)}
    level = done.runs.select("run_id", level="cc")
    own = done.flows.join(level, on="run_id").group_by("level", "group").agg(pl.col("goodput_bps").mean())
    assert found == {(cc, group): pytest.approx(mean) for cc, group, mean in own.iter_rows()}
    rival = {"filters": [{"column": "group", "values": [1]}], "x": {"column": "own.cc"}}
    assert answers.answer(read(json.dumps(ask | rival).encode()))["columns"]["x"] == ["cubic"]


def test_another_tables_column_is_a_runs_mean(answers: Answers) -> None:
    ask = {"kind": "points", "table": "flows", "x": {"column": "links.drops_queue"}, "y": {"column": "goodput_bps"}}
    answer = answers.answer(Ask.model_validate(ask | {"filters": [{"column": "results", "values": ["first"]}]}))
    assert len(answer["columns"]["x"]) == 80
    assert sorted(set(answer["columns"]["x"])) == list(range(40))


def test_what_only_one_directory_has_is_null_in_the_other(answers: Answers) -> None:
    answer = answers.answer(
        Ask.model_validate({"kind": "mean", "table": "runs", "x": {"column": ODD}, "y": {"column": "utilisation"}})
    )
    assert dict(zip(answer["columns"]["results"], answer["columns"]["x"], strict=True)) == {
        "first": 1.0,
        "second": None,
    }


def test_a_running_campaign_grows(tmp_path: Path) -> None:
    answers = Answers(explore.opened([stored(tmp_path / "growing", finished=10)]))
    ask = Ask.model_validate({"kind": "counts", "table": "flows", "dims": [{"column": "goodput_bps", "bins": 10}]})
    before = answers.version, answers.answer(ask)["rows"], answers.about()["directories"][0]["runs"]
    *_, tables = RUNNING
    left = tables.pop("left")
    with writing(tmp_path / "growing", json.loads((tmp_path / "growing/manifest.json").read_text())) as writer:
        writer.commit({name: table.filter(pl.col("run_id").is_in(left)) for name, table in tables.items()})
    assert before[1:] == (20, 10)
    assert answers.version != before[0]
    assert (answers.answer(ask)["rows"], answers.about()["directories"][0]["runs"]) == (80, 40)


@pytest.mark.parametrize(
    ("ask", "problem"),
    [
        ({"kind": "mean", "table": "flows", "y": {"column": "godput_bps"}}, "did you mean 'goodput_bps'"),
        ({"kind": "mean", "table": "flows", "y": {"column": "cc"}}, "texts, of which there is no mean"),
        ({"kind": "mean", "table": "paths", "y": {"column": "bytes"}}, "no table 'paths'"),
        ({"kind": "mean", "table": "flows"}, "needs a measure"),
        ({"kind": "points", "table": "flows", "y": {"column": "flow"}}, "need a column for x"),
        ({"kind": "mean", "table": "flows", "y": {"column": 'x"; DROP TABLE runs; --'}}, "is not a column"),
        ({"kind": "mean", "table": "flows; DROP TABLE runs", "y": {"column": "flow"}}, "table: "),
        ({"kind": "mean", "table": "flows", "sql": "SELECT 1"}, "sql: Extra inputs"),
        ({"kind": "hist", "table": "flows", "y": {"column": "flow", "bins": 100_000}}, "y.bins: "),
    ],
)  # fmt: skip
def test_a_wrong_description_is_told(answers: Answers, ask: dict[str, Any], problem: str) -> None:
    with pytest.raises(ResultsError, match=re.escape(problem)):
        answers.answer(read(json.dumps(ask).encode()))


COLUMNS = st.sampled_from(
    ["control", "goodput_bps", "rtt_p95_s", "completed", "cc", "seed", "utilisation", "links.drops_queue", "run_id",
     "results", ODD, "flows.goodput_bps", "nothing"]
)  # fmt: skip
VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(-9, 9), st.floats(-1e6, 1e6), st.text(max_size=8), st.just(ODD)
)
DIMENSIONS = st.fixed_dictionaries({"column": COLUMNS}, optional={"bins": st.integers(1, 50), "log": st.booleans()})
FILTERS = st.fixed_dictionaries(
    {"column": COLUMNS},
    optional={"values": st.lists(VALUES, max_size=3), "low": st.floats(-1e7, 1e7), "high": st.floats(-1e7, 1e7)},
)
ASKS = st.fixed_dictionaries(
    {"kind": st.sampled_from(["mean", "points", "heat", "box", "ecdf", "hist", "counts", "runs", "domain"]),
     "table": st.sampled_from(["runs", "flows", "links"])},
    optional={"x": DIMENSIONS, "y": DIMENSIONS, "z": COLUMNS, "color": COLUMNS, "facet": COLUMNS,
              "part": st.just("main"),
              "filters": st.lists(FILTERS, max_size=2), "dims": st.lists(DIMENSIONS, max_size=3), "active": DIMENSIONS},
)  # fmt: skip


@given(ask=ASKS)
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_combination_gives_rows_or_a_clear_error(answers: Answers, ask: dict[str, Any]) -> None:
    try:
        answer = answers.answer(read(json.dumps(ask).encode()))
    except ResultsError as error:
        answer = {"sql": [], "error": str(error)}
    assert not re.search("Parser Error|Binder Error", answer.get("error", ""))
    json.dumps(answer, allow_nan=False)
    for statement in answer["sql"]:
        # The SQL that is shown gives rows, too: it has literals in place of the parameters.
        assert "$p" not in statement["sql"].replace(ODD, "")
        one(answers, statement["results"]).query(statement["sql"])
    assert len({len(column) for column in answer.get("columns", {}).values() if isinstance(column, list)}) <= 1


@given(value=VALUES)
def test_a_literal_is_one_value(answers: Answers, value: Any) -> None:
    directory = one(answers)
    try:
        shown = directory.query(f"SELECT {literal(value)} AS a")["a"][0]
    except ResultsError:
        assert isinstance(value, str)  # A zero byte, say, which the database's text cannot hold.
        return
    assert shown == pytest.approx(value) if isinstance(value, float) else shown == value


def test_a_name_is_quoted_whatever_it_holds() -> None:
    assert quoted('a"b') == '"a""b"'
    with pytest.raises(ResultsError, match="cannot be asked for"):
        quoted("$p0")


# Access.


def test_the_address_opens_the_page_and_a_cookie_keeps_the_token(client: TestClient) -> None:
    first = client.get(f"/?token={TOKEN}", headers=HERE)
    assert (first.status_code, first.headers["location"]) == (303, "/")
    cookie = first.headers["set-cookie"].lower()
    assert all(word in cookie for word in ("httponly", "samesite=strict", "path=/"))
    page = client.get("/", headers=HERE)
    assert page.status_code == 200
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self';" in policy
    assert "<script src=" in page.text
    assert not re.search(r"<script>|\son\w+=|javascript:", page.text)
    assert client.post("/api/about", json={}, headers=HERE).status_code == 200


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        ("/", HERE),
        ("/?token=wrong", HERE),
        ("/?token=", HERE),
        ("/?token=%ff%00", HERE),
        ("/static/explore.js", HERE),
        ("/view/0000000000000000?dir=first", HERE),
        (f"/view/0000000000000000?dir=first&token={TOKEN}", HERE),
        ("/", {**HERE, "x-vazao-token": "wrong"}),
        ("/", {**HERE, "cookie": f"vazao-explore-{PORT}=wrong"}),
        ("/", {**HERE, "cookie": f"vazao-explore-1={TOKEN}"}),
        ("/", {**KNOWN, "host": "evil.example"}),
        ("/", {**KNOWN, "host": f"evil.example:{PORT}"}),
        ("/", {**KNOWN, "host": "127.0.0.1"}),
        ("/", {**KNOWN, "host": f"127.0.0.1:{PORT}.evil.example"}),
        (f"/?token={TOKEN}", {"host": "rebound.example"}),
        ("/", {**KNOWN, "origin": "http://evil.example"}),
        ("/", {**KNOWN, "origin": "null"}),
        ("/", {**KNOWN, "origin": f"https://127.0.0.1:{PORT}"}),
        ("/", {**KNOWN, "origin": f"http://127.0.0.1:{PORT + 1}"}),
        ("/figure?dir=first&id=goodput", {**KNOWN, "sec-fetch-site": "same-site"}),
        ("/figure?dir=first&id=goodput", {**KNOWN, "sec-fetch-site": "cross-site"}),
    ],
)
def test_whoever_lacks_the_token_or_comes_from_elsewhere_gets_403(
    client: TestClient, path: str, headers: dict[str, str]
) -> None:
    answer = client.get(path, headers=headers)
    assert answer.status_code == 403
    assert "set-cookie" not in answer.headers
    assert answer.headers["content-security-policy"]
    assert TOKEN not in answer.text


def test_a_question_is_a_small_json_document_from_the_page_itself(client: TestClient) -> None:
    body = {"kind": "mean", "table": "flows", "y": {"column": "goodput_bps"}}
    assert client.post("/api/ask", json=body, headers=KNOWN).status_code == 200
    form = {**KNOWN, "content-type": "text/plain"}
    assert client.post("/api/ask", content=json.dumps(body), headers=form).status_code == 403
    assert client.post("/api/ask", json=body | {"part": "x" * 200_000}, headers=KNOWN).status_code == 403
    assert client.post("/api/ask", json=body, headers={**KNOWN, "origin": "http://evil.example"}).status_code == 403
    assert client.put("/api/ask", json=body, headers=KNOWN).status_code == 403
    assert client.get("/api/ask", headers=KNOWN).status_code == 405


@pytest.mark.parametrize(
    "path",
    ["/static/../application.py", "/static/..%2fapplication.py", "/static/%2e%2e/page.html", "/static//etc/passwd",
     "/static/explore.js%00", "/../../etc/passwd", "/view/..%2f..%2fetc%2fpasswd?dir=first", "/view/0?dir=../..",
     "/view/0000000000000000?dir=/etc", "/figure?dir=first&id=../../manifest", "/figure?dir=..&id=goodput"],
)  # fmt: skip
def test_no_path_leads_out(client: TestClient, path: str) -> None:
    answer = client.get(path, headers=KNOWN)
    assert answer.status_code == 404
    assert "root:" not in answer.text


@pytest.mark.parametrize("sql", ["COPY runs TO '/tmp/x'", "SELECT * FROM read_text('/etc/passwd')", "DROP TABLE runs"])
def test_a_value_that_is_sql_is_a_value(client: TestClient, sql: str) -> None:
    body = {"kind": "counts", "table": "flows", "dims": [{"column": "cc"}]}
    response = client.post(
        "/api/ask", json=body | {"filters": [{"column": "control", "values": [f"x'; {sql}; --"]}]}, headers=KNOWN
    )
    assert (response.status_code, response.json()["rows"]) == (200, 0)
    wrong = client.post("/api/ask", json=body | {"color": sql}, headers=KNOWN)
    assert (wrong.status_code, list(wrong.json())) == (400, ["error"])
    assert client.post("/api/ask", json=body, headers=KNOWN).json()["rows"] == 120


def test_a_placeholder_is_shown_until_a_run_is_finished(client: TestClient) -> None:
    response = client.get(
        "/running/0000000000000001?dir=first&beside=0000000000000002&beside_dir=second", headers=KNOWN
    )
    assert (response.status_code, "<script src=/static/explore.js defer>" in response.text) == (200, True), (
        response.text
    )
    odd = client.get('/running/%22%3E%3Cscript%3E?dir="><script>', headers=KNOWN).text
    assert odd == response.text
    assert client.get("/running/0000000000000001?dir=first").status_code == 403


def test_a_runs_page_is_created_by_a_hook(directories: list[explore.Directory], client: TestClient) -> None:
    # The rows are invented: no run of this study has that identity.
    answer = client.post("/api/run", json={"dir": "first", "run": "0000000000000001"}, headers=KNOWN)
    assert (answer.status_code, list(answer.json())) == (400, ["error"])
    asked: list[tuple[Path, str]] = []

    def page(runs: Sequence[tuple[Path, str]], _: object) -> str:
        asked.extend(runs)
        return f"<p>{len(asked)}"

    hooked = TestClient(explore.application(directories, token=TOKEN, port=PORT, open_runs=page))
    one = {"dir": "second", "run": "0000000000000001"}
    key = hooked.post("/api/run", json=one, headers=KNOWN).json()["page"]
    assert hooked.get(f"/view/{key}", headers=KNOWN).text == "<p>1"
    assert asked == [(directories[1].path, "0000000000000001")]
    asked.clear()
    beside = one | {"beside": "0000000000000002", "beside_dir": "first"}
    assert hooked.post("/api/run", json=beside, headers=KNOWN).status_code == 200
    assert asked == [(directories[1].path, "0000000000000001"), (directories[0].path, "0000000000000002")]
    for wrong in ({"beside": "none"}, {"leave": [3]}, {"beside_dir": ".."}, {"dir": ".."}, {"run": ""}):
        assert hooked.post("/api/run", json=beside | wrong, headers=KNOWN).status_code == 400
    # Viewing a page creates none, and only the latest pages are kept.
    assert len(asked) == 2
    for _ in range(4):
        hooked.post("/api/run", json=one, headers=KNOWN)
    assert hooked.get(f"/view/{key}", headers=KNOWN).status_code == 404


def looked_at(client: TestClient, asked: dict[str, Any]) -> Any:
    """Page of runs that the explorer links to."""
    answer = client.post("/api/run", json=asked, headers=KNOWN).json()
    return client.get(f"/view/{answer['page']}", headers=KNOWN)


@pytest.mark.skipif(not seeing.is_built(), reason="the viewer is not built; make web")
def test_a_run_is_run_again_and_drawn(tmp_path: Path) -> None:
    study = tmp_path / "seen.toml"
    study.write_text(
        """
        study = { name = "seen", title = "<b>Seen</b>" }
        [scenario]
        name = "</script><script>alert(1)</script>"
        network = { topology = "multipath", path = [{ rate = "8 Mbps", delay = "10 ms" }] }
        flow = [{ app = { kind = "upload", size = "100 kB" } }]
        [[part]]
        name = "all"
        """
    )
    results.load_study(study).run(out=tmp_path / "there")
    (opened,) = explore.opened([str(tmp_path / "there")])
    client = TestClient(explore.application([opened], token=TOKEN, port=PORT))
    run_id = opened.store.read("runs")["run_id"][0]
    one = {"dir": opened.label, "run": run_id}
    answer = looked_at(client, one)
    assert (answer.status_code, "data-recording" in answer.text) == (200, True)
    assert answer.headers["content-security-policy"] == "frame-ancestors 'none'"
    assert "script-src 'sha256-" in answer.text
    assert "alert(1)" not in answer.text.replace("&lt;script&gt;alert(1)", "")
    both = looked_at(client, one | {"beside": run_id, "beside_dir": opened.label})
    assert both.text.count('<script type="application/octet-stream" data-recording') == 2


def test_findings_have_their_verdicts_and_figures(client: TestClient) -> None:
    findings = client.post("/api/findings", json={}, headers=KNOWN).json()["findings"]
    assert [(each["label"], [one["verdict"] for one in each["ledger"]]) for each in findings] == [
        ("first", ["reproduced"]), ("second", ["reproduced"]),
    ]  # fmt: skip
    assert findings[0]["ledger"][0]["figures"] == [{"id": "goodput", "title": "Small"}]
    figure = client.get("/figure?dir=first&id=goodput", headers=KNOWN)
    assert figure.headers["content-type"] == "image/svg+xml"
    assert figure.text.startswith("<svg")


def test_a_strangers_markup_is_data(tmp_path: Path) -> None:
    """Titles, levels and columns may be anything: they are JSON strings, and no page contains them in its HTML."""
    opened = explore.opened([stored(tmp_path / "odd", title=MARKUP, level="<b>x</b>", extra=ODD)])
    client = TestClient(explore.application(opened, token=TOKEN, port=PORT))
    assert "taken" not in client.get("/", headers=KNOWN).text
    about = client.post("/api/about", json={}, headers=KNOWN)
    assert about.headers["content-type"] == "application/json"
    assert about.headers["x-content-type-options"] == "nosniff"
    assert about.json()["directories"][0]["title"] == MARKUP
    assert "<script" not in client.get("/view/%3Cscript%3E?dir=odd", headers=KNOWN).text
    assert "<script" not in client.get("/figure?dir=odd&id=goodput", headers=KNOWN).text.replace("&lt;script", "")


# The command.


def test_wrong_directories_are_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    vazao: Vazao = caller(monkeypatch, capsys)
    for words, told in [(["nowhere"], "nowhere: no such directory"), ([str(tmp_path)], "is no results directory")]:
        monkeypatch.setattr(explore, "is_built", lambda: True)
        answer = vazao("explore", *words)
        assert (answer.code, answer.out) == (2, "")
        assert told in answer.err
        assert answer.err.count("\n") == 1


def test_without_the_extra_the_error_names_it(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.setattr("vazao.cli.explore.LIBRARIES", ("starlette", "no_such_library"))
    answer = caller(monkeypatch, capsys)("explore", "results")
    assert answer.code == 2
    assert "pip install 'vazao[web]'" in answer.err


def test_a_port_that_is_taken_is_said() -> None:
    from vazao.explore.server import listening

    with listening(0) as one:
        one.listen()
        with pytest.raises(VazaoError, match="--port"):
            listening(one.getsockname()[1])


BUILT = explore.is_built()


@pytest.fixture
def served(tmp_path: Path) -> Iterator[str]:
    """Address of a server of two directories, the first of them untrusted."""
    folders = [stored(tmp_path / "first", title=MARKUP, level="<b>x</b>"), stored(tmp_path / "second", runs=20)]
    with running(*folders) as address:
        yield address


class running:  # noqa: N801
    """Runs the command in a subprocess until the block ends."""

    def __init__(self, *folders: Path, command: str = "explore") -> None:
        words = [sys.executable, "-c", MAIN, *command.split(), *map(str, folders), "--no-browser", "--json"]
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def __enter__(self) -> str:
        assert self.process.stdout is not None
        timer = threading.Timer(90, self.process.kill)
        timer.start()
        line = self.process.stdout.readline()
        timer.cancel()
        assert line, self.process.stderr and self.process.stderr.read()
        return str(json.loads(line)["address"])

    def __exit__(self, *_: object) -> None:
        import signal

        self.process.send_signal(signal.SIGINT)
        self.out, self.err = self.process.communicate(timeout=30)


built = pytest.mark.skipif(not BUILT, reason="the page is not built; make web")


@built
def test_ctrl_c_ends_it_cleanly(tmp_path: Path) -> None:
    server = running(stored(tmp_path / "one"))
    with server as address:
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/\?token=[\w-]{32}", address)
    assert (server.process.returncode, server.out, server.err) == (0, "", "")
