"""The runs behind a report's marks are the right ones, and the page re-runs them with identical results."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from browsers import Open, needs_chromium, opener
from vazao import _core, report, results, seeing
from vazao.report import mark_runs, rerun_catalogue
from vazao.results import Campaign, Study
from vazao.seeing import page as pages
from vazao.study import parse_as

pytestmark = pytest.mark.process

HOSTILE = "<img src=x onerror=alert(1)></script><script>alert(2)</script>"

STUDY = f"""
[study]
name = "again"
title = "Runs again {HOSTILE}"
seed = 5

[scenario]
name = "again"
[scenario.network]
topology = "dumbbell"
access = {{ rate = "1 Gbps", delay = "1 ms" }}
bottleneck = {{ rate = "10 Mbps", delay = "5 ms", queue = "20 packets", loss = 0.005 }}
[[scenario.flow]]
app = {{ kind = "upload", size = "60 kB" }}
transport = {{ kind = "tcp", cc = "cubic" }}

[[part]]
name = "grid"
replications = 3
[[part.factor]]
name = "bandwidth"
sets = "network.bottleneck.rate"
levels = ["1 Mbps", "10 Mbps"]
[[part.factor]]
name = "variant"
[part.factor.levels]
reno = {{ "flow.0.transport.cc" = "reno" }}
"{HOSTILE}" = {{ "flow.0.transport" = {{ kind = "tcp", cc = {{ kind = "cubic", beta = 0.6 }}, initial_window = 4 }} }}

[[part]]
name = "links"
[[part.factor]]
name = "link"
[part.factor.levels]
wire = {{ "network.bottleneck.rate" = "2 Mbps" }}
recorded = {{ "network.bottleneck.rate" = {{ trace = "uplink.trace" }} }}

[[part]]
name = "long"
scenario = {{ "network.bottleneck.rate" = "1 Gbps", "network.bottleneck.loss" = 0.0, "flow.0.app.size" = "600 MB" }}

[[view]]
name = "transfers"
sql = "SELECT run_id, part, variant, bandwidth_bps, replication, goodput_bps FROM runs JOIN flows USING (run_id)"

[[view]]
name = "pairs"
sql = '''
SELECT r.bandwidth_bps, r.replication, r.goodput_bps / c.goodput_bps AS ratio
FROM transfers r JOIN transfers c USING (part, bandwidth_bps, replication)
WHERE r.variant = 'reno' AND c.variant <> 'reno'
'''

[[figure]]
id = "goodput"
title = "Goodput {HOSTILE}"
sql = "SELECT bandwidth_bps, variant, goodput_bps, replication FROM transfers WHERE part = 'grid' AND replication < 2"
kind = "point"
x = "bandwidth_bps"
y = "goodput_bps"
color = "variant"

[[figure]]
id = "links"
title = "By link"
sql = "SELECT link, goodput_bps FROM runs JOIN flows USING (run_id) WHERE part = 'links'"
kind = "bar"
x = "link"
y = "goodput_bps"

[[figure]]
id = "long"
title = "A long run"
sql = "SELECT part, goodput_bps FROM runs JOIN flows USING (run_id) WHERE part = 'long'"
kind = "bar"
x = "part"
y = "goodput_bps"

[[figure]]
id = "unknown"
title = "Of no run"
sql = "SELECT * FROM (VALUES (1, 2.0)) AS t(x, y)"
x = "x"
y = "y"
"""

SQL = {
    "plain": "SELECT bandwidth_bps AS x, variant AS c, utilisation AS y FROM runs WHERE part = 'grid'",
    "star": "SELECT *, bandwidth_bps AS x, variant AS c, utilisation AS y FROM runs WHERE part = 'grid'",
    "grouped": """SELECT bandwidth_bps AS x, variant AS c, avg(utilisation) AS y FROM runs WHERE part = 'grid'
                  GROUP BY ALL""",
    "distinct": "SELECT DISTINCT bandwidth_bps AS x, variant AS c, 1.0 AS y FROM runs WHERE part = 'grid'",
    "with": """WITH g AS (SELECT bandwidth_bps AS x, variant AS c, avg(goodput_bps) AS y FROM transfers
               WHERE part = 'grid' GROUP BY bandwidth_bps, variant) SELECT x, c, y FROM g -- a remark""",
    "union": """SELECT bandwidth_bps AS x, variant AS c, goodput_bps AS y FROM transfers WHERE variant = 'reno'
                UNION ALL SELECT bandwidth_bps, variant, goodput_bps FROM transfers WHERE variant <> 'reno'
                ORDER BY ALL""",
    "condition": """SELECT bandwidth_bps AS x, variant AS c, goodput_bps AS y FROM transfers
                    WHERE part IN (SELECT part FROM runs WHERE variant = 'reno')""",
    "semi": """SELECT bandwidth_bps AS x, variant AS c, goodput_bps AS y FROM transfers
               SEMI JOIN (SELECT part FROM runs WHERE variant = 'reno') USING (part)""",
}
"""Queries whose marks stand for the runs of the part `grid` with the mark's bandwidth and variant."""


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Campaign:
    folder = tmp_path_factory.mktemp("again")
    (folder / "uplink.trace").write_text("4\n8\n12\n")
    (folder / "again.toml").write_text(STUDY)
    return parse_as(Study, STUDY, str(folder / "again.toml")).run(out=folder / "results", jobs=1)


def marks(done: Campaign, sql: str, **given: Any) -> mark_runs.Marks | None:
    figure = done.study.figures[0].model_copy(update={"sql": sql, "x": "x", "y": "y", "color": "c", **given})
    return mark_runs.marks(figure, done.study, done.store)


def runs_of(done: Campaign, where: str) -> frozenset[str]:
    return frozenset(done.store.query(f"SELECT run_id FROM runs WHERE {where}")["run_id"])


@pytest.mark.parametrize("name", SQL)
def test_a_mark_has_the_runs_of_its_levels(done: Campaign, name: str) -> None:
    found = marks(done, SQL[name])
    assert found
    assert found.columns == ("x", "c")
    assert len(found.marks) == 4
    for mark in found.marks:
        x, variant = mark.values
        assert mark.runs == runs_of(done, f"part = 'grid' AND bandwidth_bps = {x} AND variant = '{variant}'")
        assert len(mark.runs) == 3


def test_a_condition_of_the_query_leaves_runs_out(done: Campaign) -> None:
    sql = "SELECT bandwidth_bps AS x, variant AS c, utilisation AS y FROM runs WHERE part = 'grid' AND replication = 1"
    found = marks(done, sql)
    assert found
    assert {run for mark in found.marks for run in mark.runs} == runs_of(done, "part = 'grid' AND replication = 1")


def test_a_mark_of_a_comparison_has_the_runs_of_both_sides(done: Campaign) -> None:
    found = marks(done, "SELECT bandwidth_bps AS x, ratio AS y FROM pairs", color=None)
    assert found
    assert len(found.marks) == 2
    for mark in found.marks:
        assert mark.runs == runs_of(done, f"part = 'grid' AND bandwidth_bps = {mark.values[0]}")


def test_an_aggregate_without_groups_has_all_that_it_read(done: Campaign) -> None:
    found = marks(done, "SELECT 1.0 AS x, 'all' AS c, avg(utilisation) AS y FROM runs WHERE part = 'grid'")
    assert found
    assert [mark.runs for mark in found.marks] == [runs_of(done, "part = 'grid'")]


def test_very_many_marks_are_merged_by_series(done: Campaign) -> None:
    many = f"CROSS JOIN range({mark_runs.MAX_MARKS}) AS r(n) WHERE part = 'grid'"
    found = marks(done, f"SELECT r.n AS x, variant AS c, utilisation AS y FROM runs {many}")
    assert found
    assert found.columns == ("c",)
    assert {mark.runs for mark in found.marks} == {
        runs_of(done, "variant = 'reno'"), runs_of(done, "part = 'grid' AND variant <> 'reno'"),
    }  # fmt: skip


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1.0 AS x, 'a' AS c, 2.0 AS y",
        "SELECT x, c, y FROM (VALUES (1.0, 'a', 2.0)) AS t(x, c, y)",
        "SELECT bandwidth_bps AS x, variant AS c, utilisation AS y FROM runs UNION ALL SELECT 1.0, 'a', 2.0",
        "SELECT * FROM (SELECT DISTINCT bandwidth_bps AS x, variant AS c, 1.0 AS y FROM runs WHERE part = 'grid' "
        "ORDER BY ALL LIMIT 3)",
        """WITH wide AS (SELECT bandwidth_bps AS x, utilisation AS a, jain AS b FROM runs WHERE part = 'grid')
           SELECT x, c, y FROM (UNPIVOT wide ON a, b INTO NAME c VALUE y)""",
    ],
)
def test_no_click_is_offered_where_nothing_says_the_runs(done: Campaign, sql: str) -> None:
    assert marks(done, sql) is None


needs_engine = pytest.mark.skipif(not seeing.can_rerun(), reason="the engine for pages is not built; make web wasm")


@needs_engine
def test_the_page_is_told_why_a_run_needs_more_than_it_has(done: Campaign) -> None:
    content = rerun_catalogue.content(done.study, done.store)
    assert content
    assert set(content["figures"]) == {"goodput", "links", "long"}
    assert {cell["levels"]: cell["needs"] for cell in content["cells"] if "link " in cell["levels"]} == {
        "link wire": "", "link recorded": "file",
    }  # fmt: skip
    assert len(content["texts"]) == 1
    assert len(content["cells"]) == 7


@needs_engine
def test_runs_of_another_engine_are_known_by_their_levels(done: Campaign, monkeypatch: pytest.MonkeyPatch) -> None:
    """An earlier engine's run has a different `run_id`, but the same combination and seed."""
    planned = done.store.planned
    assert planned is not None
    earlier = planned.with_columns(run_id=planned["run_id"].str.reverse())
    monkeypatch.setattr(type(done.store), "planned", property(lambda _: earlier))
    known = results.planned_runs(done.study, done.store)
    assert {run_id: run.run_id[::-1] for run_id, run in known.items()} == {run_id: run_id for run_id in known}
    assert len(known) == 15


def test_without_an_engine_the_page_says_nothing_of_clicks(done: Campaign, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "FOLDER", done.directory)
    monkeypatch.setattr("vazao.seeing.rerun.FOLDER", done.directory)
    written = report.html(done.study, done.store, done.findings)
    assert "data-again" not in written
    assert done.study.words.again["open"] not in written
    assert "wasm" not in written.partition("</head>")[0]


# Browser


@pytest.fixture(scope="module")
def page_file(done: Campaign) -> Path:
    return report.write(done.study, done.store, done.findings, done.directory)


@pytest.fixture
def opened(browser: Any, page_file: Path) -> Iterator[Open]:
    """Opens the report, collects the engine's answers in `told`, and waits until a figure is interactive."""
    with opener(browser) as open_file:

        def open_page(figure: str, *size: int, **given: Any) -> Any:
            page = open_file(page_file, *size, **given)
            page.add_init_script(KEEP)
            page.reload()
            page.locator("body[data-again]").wait_for()
            chart = page.locator(f"#figure-{figure}")
            chart.scroll_into_view_if_needed()
            page.locator(f"#figure-{figure}[data-live]").wait_for()
            return page

        yield open_page


KEEP = """
window.told = [];
window.Worker = class extends Worker {
  constructor(...given) {
    super(...given);
    this.addEventListener("message", ({ data }) => { if (data.answer) told.push(data.answer); });
  }
};
"""


def run_it(page: Any) -> dict[str, Any]:
    """Runs the selected run, and returns the engine's answer."""
    page.locator(".again-go").click()
    page.locator(".again-shown[data-drawn]").wait_for()
    answer: dict[str, Any] = json.loads(page.evaluate("told.at(-1)"))
    return answer


def equal(new: Any, stored: Any) -> bool:
    """Whether two values are bit-identical; JSON has no number for values that are not finite."""
    if isinstance(stored, float) and not math.isfinite(stored):
        return new is None
    return bool(new == stored)


def differing(done: Campaign, table: str, run_id: str, columns: dict[str, list[Any]]) -> list[str]:
    """Columns in which a re-run differs from the stored rows, except the identity, which depends on the engine."""
    stored = done.store.query(f"SELECT * FROM {table} WHERE run_id = '{run_id}'").unique(maintain_order=True)
    known = [name for name in columns if name in stored.columns and "wall" not in name and name != "run_id"]
    assert len(known) > 5
    return [
        name
        for name in known
        if not all(map(equal, columns[name], stored[name].to_list())) or len(columns[name]) != stored.height
    ]


@needs_chromium
@needs_engine
def test_a_click_on_a_mark_repeats_its_run_with_the_stored_rows(done: Campaign, opened: Open) -> None:
    page = opened("goodput")
    point = page.locator("#figure-goodput .canvas .mark-symbol path").first
    point.click(force=True)
    assert page.locator("dialog.again").is_visible()
    chosen = page.locator("#again-marks option:checked").inner_text()
    seeds = page.locator("#again-runs option").all_inner_texts()
    assert len(seeds) == 2, "replications below 2, as the figure's query says"
    answer = run_it(page)
    assert "Mbit/s" in chosen
    content = rerun_catalogue.content(done.study, done.store)
    assert content
    [mark] = [mark for mark in content["figures"]["goodput"]["marks"] if mark[1] == chosen]
    run_id = content["runs"][mark[2][0]][0]
    for table in "runs", "flows", "paths", "links":
        assert differing(done, table, run_id, answer["tables"][table]) == []
    if answer["engine"] == _core.ENGINE_VERSION:
        assert answer["run_id"] == run_id
    assert page.locator(".again-same").is_visible()
    rows = page.locator(".again-rows tbody tr").all_inner_texts()
    assert [len(set(row.split("\t")[1:])) for row in rows] == [1, 1]
    viewer = page.frame_locator(".again-frame iframe")
    assert viewer.locator("canvas").count() > 4
    assert viewer.locator("h1").inner_text() == page.locator(".again-rows p").first.inner_text()


@needs_chromium
@needs_engine
def test_the_keyboard_alone_runs_a_run_and_comes_back(opened: Open) -> None:
    page = opened("goodput")
    page.locator("#figure-goodput .beneath a").last.focus()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "again-open"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "again-runs"
    page.keyboard.press("ArrowDown")
    assert page.locator("#again-runs").evaluate("list => list.selectedIndex") == 1
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.locator(".again-shown[data-drawn]").wait_for()
    assert page.locator(".again-rows").inner_text().startswith("seed 6: bandwidth 1 Mbps")
    page.locator(".again-shown button").press("Enter")
    page.locator(".again-frame iframe").wait_for(state="detached")
    assert page.locator("dialog.again").is_visible()
    page.keyboard.press("Escape")
    assert page.locator("dialog[open]").count() == 0


@needs_chromium
@needs_engine
def test_a_run_that_no_page_can_run_has_its_command(done: Campaign, opened: Open) -> None:
    page = opened("links")
    page.locator("#figure-links .again-open").click()
    page.locator("#again-marks").select_option(label="recorded")
    assert page.locator(".again-go").is_disabled()
    assert "reads a file" in page.locator(".again-needs").inner_text()
    [run_id] = runs_of(done, "link = 'recorded'")
    assert page.locator(".again-needs code").inner_text() == f"vazao view results/again/{run_id}"
    page.locator("#again-marks").select_option(label="wire")
    assert page.locator(".again-go").is_enabled()
    assert page.locator(".again-needs code").count() == 0


@needs_chromium
@needs_engine
def test_a_long_run_can_be_stopped_and_begun_again(opened: Open) -> None:
    page = opened("long")
    page.locator("#figure-long .again-open").click()
    stop = page.get_by_role("button", name="Stop")
    assert not stop.is_visible()
    page.locator(".again-go").click()
    stop.click()
    page.get_by_text("Stopped.").wait_for()
    assert page.evaluate("told.length") == 0
    assert not stop.is_visible()
    run_it(page)
    assert page.locator(".again-same").is_visible()


@needs_chromium
@needs_engine
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_names_of_a_stranger_stay_text_and_a_phone_has_room(opened: Open, scheme: str) -> None:
    page = opened("goodput", 390, 844, color_scheme=scheme)
    page.on("dialog", lambda dialog: pytest.fail(f"a name ran: {dialog.message}"))
    page.locator("#figure-goodput .again-open").click()
    labels = page.locator("#again-marks option").all_inner_texts()
    assert sum(HOSTILE in label for label in labels) == 2
    page.locator("#again-marks").select_option(label=next(label for label in labels if HOSTILE in label))
    box = page.locator("dialog.again").bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 390
    run_it(page)
    assert HOSTILE in page.locator(".again-rows").inner_text()
    assert page.locator("img").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    frame = page.locator(".again-frame").bounding_box()
    assert frame["height"] > 400
    assert page.frame_locator(".again-frame iframe").locator("body").evaluate("body => body.scrollWidth") <= 390


@needs_engine
def test_the_policy_lets_in_the_pages_own_scripts_alone(page_file: Path) -> None:
    head = page_file.read_text(encoding="utf-8").partition("</head>")[0]
    policy = head.partition('http-equiv="Content-Security-Policy" content="')[2].partition('"')[0].replace("&#39;", "'")
    directives = dict(one.strip().split(" ", 1) for one in policy.split(";"))
    assert directives["default-src"] == "'none'"
    sources = directives["script-src"].split()
    assert [one for one in sources if not one.startswith("'sha256-")] == ["'wasm-unsafe-eval'"]
    assert directives["worker-src"] == "blob:"
    assert directives.keys() == {
        "default-src", "script-src", "worker-src", "style-src", "img-src", "font-src", "base-uri", "form-action",
    }  # fmt: skip
