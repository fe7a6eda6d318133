"""Attacks through stored runs: every way to run one again asks about its programs and code first."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from browsers import needs_chromium
from command import Vazao, caller
from test_explore import built, running
from vazao import _core, explore, results, seeing
from vazao.explore.answers import Answers
from vazao.scenario import loader
from vazao.store import Store, writing
from vazao.study import plan

pytest.importorskip("starlette")
from starlette.routing import Route
from starlette.testclient import TestClient

pytestmark = pytest.mark.usefixtures("no_kernel")

PORT, TOKEN = 4321, "secret"
KNOWN = {"x-vazao-token": TOKEN, "host": f"127.0.0.1:{PORT}"}

MINE = """import vazao as vz
class Plain(vz.CongestionControl):
    pass
"""
STUDY = """
[study]
name = "asking"
title = "Asking"
[scenario]
[scenario.network]
topology = "point-to-point"
link = { rate = "10 Mbps", delay = "1 ms" }
[[scenario.flow]]
transport = { kind = "tcp" }
[[part]]
name = "main"
[[part.factor]]
name = "what"
levels.plain = { "flow.0.app" = { kind = "upload", size = "10 kB" } }
levels.code = { "flow.0.app" = { kind = "upload", size = "10 kB" }, "flow.0.transport.cc" = "mine.py:Plain" }
[part.factor.levels.programs]
"flow.0.app" = { kind = "command", client = "touch hidden", server = "true" }
"flow.0.transport.stack" = "linux"
"""
NAMED = {"programs": "touch hidden", "code": "mine.py:Plain (", "plain": ""}


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Untrusted results: runs with programs, which lacked a kernel and whose rows are forged, and without."""
    folder = tmp_path_factory.mktemp("stranger")
    (folder / "mine.py").write_text(MINE)
    (folder / "asking.toml").write_text(STUDY)
    with pytest.MonkeyPatch.context() as patch:
        # Without a kernel, no program runs while the results are made.
        patch.setenv("VAZAO_CACHE", str(folder / "cache"))
        patch.delenv("VAZAO_KERNEL", raising=False)
        loader._kernels.cache_clear()
        study = results.load_study(folder / "asking.toml", allow_programs=True)
        done = study.run(out=folder / "there")
        (lacking,) = (run for run in plan(study, "quick").runs if run.lacking)
        known = pl.read_parquet(folder / "there/runs/000001.parquet").head(1)
        with writing(done.directory, done.store.manifest) as writer:
            evidence = pl.DataFrame({"run_id": [lacking.run_id], "scenario": [lacking.scenario.json]})
            writer.commit({"runs": known.with_columns(run_id=pl.lit(lacking.run_id)), "scenarios": evidence})
    loader._kernels.cache_clear()
    return folder / "there"


@pytest.fixture
def run_ids(directory: Path) -> dict[str, str]:
    rows = Store(directory).query("SELECT what, run_id FROM planned")
    return dict(rows.iter_rows())


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[_core.Scenario]:
    """Collects the scenarios that would be run, without running them."""
    scenarios: list[_core.Scenario] = []

    def record(scenario: _core.Scenario, *_: object, **__: object) -> seeing.Recording:
        scenarios.append(scenario)
        return seeing.Recording("none", scenario, b"")

    monkeypatch.setattr("vazao.seeing.record", record, raising=False)
    monkeypatch.setattr("vazao.seeing.view", lambda _: seeing.Page("none", "a page"), raising=False)
    return scenarios


@pytest.fixture
def client(directory: Path, monkeypatch: pytest.MonkeyPatch) -> TestClient:
    # The attacker has a row for any run that is to be clicked on.
    monkeypatch.setattr(Answers, "has_run", lambda *_: True)
    return TestClient(explore.application(explore.opened([directory]), token=TOKEN, port=PORT))


@pytest.mark.parametrize("what", NAMED)
def test_view_asks_before_a_stored_run_runs_what_it_names(
    what: str, directory: Path, run_ids: dict[str, str], ran: list[Any], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    vazao: Vazao = caller(monkeypatch, capsys)
    command = ("view", f"{directory}/{run_ids[what]}", "--html", str(tmp_path / "page.html"))
    if what != "plain":
        answer = vazao(*command)
        assert (answer.code, NAMED[what] in answer.err, "--allow-programs" in answer.err, ran) == (2, True, True, [])
    answer = vazao(*command, *(["--allow-programs"] if what != "plain" else []))
    assert (answer.code, len(ran)) == (0, 1), answer.err
    assert [allowed for _, allowed in ran[0].code] == ([True] if what == "code" else [])


@pytest.mark.parametrize("what", NAMED)
def test_a_click_in_explore_asks_before_it_runs_what_a_run_names(
    what: str, client: TestClient, run_ids: dict[str, str], ran: list[Any]
) -> None:
    asked: dict[str, Any] = {"dir": "there", "run": run_ids[what]}
    if what != "plain":
        for leave in ([], ["0" * 64], [NAMED[what]]):
            answer = client.post("/api/run", json=asked | {"leave": leave}, headers=KNOWN).json()
            assert (NAMED[what] in answer["asked"], ran) == (True, [])
        asked["leave"] = [answer["leave"]]
    answer = client.post("/api/run", json=asked, headers=KNOWN).json()
    assert (client.get(f"/view/{answer['page']}", headers=KNOWN).text, len(ran)) == ("a page", 1)
    assert [allowed for _, allowed in ran[0].code] == ([True] if what == "code" else [])


def test_permission_for_one_run_does_not_cover_another(
    client: TestClient, run_ids: dict[str, str], ran: list[Any]
) -> None:
    one = {"dir": "there", "run": run_ids["code"]}
    leave = [client.post("/api/run", json=one, headers=KNOWN).json()["leave"]]
    both = one | {"beside": run_ids["programs"], "beside_dir": "there", "leave": leave}
    answer = client.post("/api/run", json=both, headers=KNOWN).json()
    assert ("touch hidden" in answer["asked"], ran) == (True, [])
    both["leave"] = [*leave, answer["leave"]]
    assert "page" in client.post("/api/run", json=both, headers=KNOWN).json()


def test_permission_covers_only_the_code_that_was_shown(
    client: TestClient, directory: Path, run_ids: dict[str, str], ran: list[Any]
) -> None:
    """Whoever can write to the directory replaces the file after the question was asked."""
    one = {"dir": "there", "run": run_ids["code"]}
    leave = [client.post("/api/run", json=one, headers=KNOWN).json()["leave"]]
    (directory / "mine.py").write_text(MINE + "# another\n")
    try:
        answer = client.post("/api/run", json=one | {"leave": leave}, headers=KNOWN).json()
    finally:
        (directory / "mine.py").unlink()
    assert ("page" in answer, ran) == (False, [])


def tree(directory: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in directory.rglob("*") if path.is_file()}


def gets(client: TestClient) -> Iterator[str]:
    routes: list[Route] = client.app._app.routes  # type: ignore[attr-defined]
    return (route.path for route in routes if "GET" in (route.methods or ()))


def test_a_get_changes_nothing(
    client: TestClient, directory: Path, run_ids: dict[str, str], ran: list[Any], tmp_path: Path
) -> None:
    before, paths = tree(directory), list(gets(client))
    assert len(paths) >= 5
    for path in paths:
        for what, run_id in run_ids.items():
            address = path.format(run_id=run_id, key=run_id, name="explore.js")
            answer = client.get(f"{address}?dir=there&id={what}&run={run_id}", headers=KNOWN)
            assert answer.status_code in (200, 404), (path, answer.text)
    assert (ran, tree(directory)) == ([], before)
    allowed = {"run": run_ids["programs"], "dir": "there"}
    leave = client.post("/api/run", json=allowed, headers=KNOWN).json()["leave"]
    # A form on another page or an image's address cannot give permission.
    for attempt in (f"/api/run?leave={leave}", f"/view/{run_ids['programs']}?leave={leave}&dir=there"):
        assert client.get(attempt, headers=KNOWN).status_code in (404, 405)
    form = client.post("/api/run", data={**allowed, "leave": leave}, headers=KNOWN)
    assert (form.status_code, ran) == (403, [])
    text = client.post("/api/run", content=json.dumps(allowed), headers={**KNOWN, "content-type": "text/plain"})
    assert (text.status_code, ran) == (403, [])


@needs_chromium
@built
def test_the_page_of_a_run_asks_and_runs_once_it_is_told_to(
    browser: Any, directory: Path, run_ids: dict[str, str]
) -> None:
    with running(directory) as address:
        page = browser.new_context().new_page()
        page.goto(address)
        page.goto(f"{address.partition('?')[0]}running/{run_ids['code']}?dir=there")
        page.wait_for_selector("pre")
        assert NAMED["code"] in page.inner_text("pre")
        page.get_by_role("button", name="Run it all the same").click()
        page.wait_for_url("**/view/*")
        assert page.locator("[data-recording]").count() == 1
        page.context.close()
