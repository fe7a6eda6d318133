"""The report on a server: access control, running as from a file, and links to the explorer."""

from __future__ import annotations

import json
from collections.abc import Iterator
from html import unescape
from typing import Any

import pytest

from browsers import needs_chromium
from test_explore import BUILT, HERE, KNOWN, PORT, TOKEN, built, running
from test_report_runs import HOSTILE, done
from vazao import explore, report, seeing
from vazao.results import Campaign

from starlette.testclient import TestClient  # isort: skip - after what says that it is missing

pytestmark = pytest.mark.process

__all__ = ["done"]

needs_pages = pytest.mark.skipif(
    not BUILT or not seeing.can_rerun(), reason="engine or pages are not built; make web wasm"
)


@pytest.fixture(scope="module")
def client(done: Campaign) -> TestClient:
    page = report.html(done.study, done.store, done.findings, explorer=explore.EXPLORER)
    app = explore.application(explore.opened([done.directory]), token=TOKEN, port=PORT, front=page)
    return TestClient(app, base_url=f"http://127.0.0.1:{PORT}", follow_redirects=False)


@pytest.mark.parametrize("path", ["/", "/explore", "/static/explore.js"])
@pytest.mark.parametrize(
    "headers",
    [
        HERE,
        {**HERE, "x-vazao-token": "wrong"},
        {**HERE, "cookie": f"vazao-explore-1={TOKEN}"},
        {**KNOWN, "host": "evil.example"},
        {**KNOWN, "host": f"127.0.0.1:{PORT}.evil.example"},
        {**KNOWN, "origin": "http://evil.example"},
        {**KNOWN, "origin": "null"},
        {**KNOWN, "sec-fetch-site": "cross-site"},
        {**KNOWN, "sec-fetch-site": "same-site"},
    ],
)
def test_nobody_else_gets_the_report_or_the_explorer(client: TestClient, path: str, headers: dict[str, str]) -> None:
    answer = client.get(path, headers=headers)
    assert answer.status_code == 403
    assert TOKEN not in answer.text


def test_the_report_stands_first_and_has_a_policy(client: TestClient) -> None:
    page = client.get("/", headers=KNOWN)
    assert page.status_code == 200
    assert page.headers["content-security-policy"] == "frame-ancestors 'none'"
    assert page.headers["x-frame-options"] == "DENY"
    head = unescape(page.text.partition("<body")[0])
    assert "default-src 'none'; script-src 'sha256-" in head
    assert "'unsafe-eval'" not in head
    assert HOSTILE not in page.text
    assert "script-src 'self';" in client.get("/explore", headers=KNOWN).headers["content-security-policy"]


def test_a_file_of_the_report_leads_nowhere(done: Campaign) -> None:
    assert report.html(done.study, done.store, done.findings) != report.html(
        done.study, done.store, done.findings, explorer=explore.EXPLORER
    )


@pytest.fixture(scope="module")
def address(done: Campaign) -> Iterator[str]:
    before = sorted(done.directory.rglob("*"))
    with running(done.directory, command="report --serve") as told:
        yield told
    assert sorted(done.directory.rglob("*")) == before


@pytest.fixture
def page(browser: Any, address: str) -> Iterator[Any]:
    """The served report; neither it nor the explorer may log an error or request anything from outside."""
    context, wrong = browser.new_context(viewport={"width": 1280, "height": 900}), []
    origin = address.partition("/?")[0]

    def watched(page: Any) -> None:
        page.on("console", lambda message: wrong.append(message.text) if message.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        inside = (origin, "data:", "blob:", "about:")
        page.on("request", lambda request: None if request.url.startswith(inside) else wrong.append(request.url))

    context.on("page", watched)
    page = context.new_page()
    page.goto(address)
    page.locator("body[data-again]").wait_for()
    yield page
    context.close()
    assert wrong == []


@needs_chromium
@built
@needs_pages
def test_a_mark_leads_to_its_runs_in_the_explorer(page: Any) -> None:
    page.locator("#figure-goodput .again-open").click()
    page.locator("#again-marks").select_option(index=1)
    with page.context.expect_page() as opened:
        page.locator(".again-explore").click()
    shown = opened.value
    shown.wait_for_function("() => document.querySelector('.counted')?.dataset.rows !== undefined")
    assert shown.evaluate("document.querySelector('.counted').dataset.rows") == "2"
    state = json.loads(shown.evaluate("decodeURIComponent(location.hash.slice(1))"))
    assert state["part"] == "grid"
    [kept] = [one for one in state["filters"] if one["column"] == "run_id"]
    assert len(kept["values"]) == 2
    assert shown.locator(".problem").is_hidden()


@needs_chromium
@built
@needs_pages
def test_the_served_report_runs_its_runs(page: Any) -> None:
    page.locator("#figure-goodput .again-open").click()
    page.locator(".again-go").click()
    page.locator(".again-shown[data-drawn]").wait_for()
    assert page.locator(".again-same").is_visible()


def test_a_port_goes_with_serving(done: Campaign, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    from command import caller

    answer = caller(monkeypatch, capsys)("report", str(done.directory), "--port", "99")
    assert answer.code == 2
    assert "--port: goes with --serve" in answer.err
