"""The laboratory on a server whose engine runs the scenarios: identical answers, and no access for others."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from browsers import local, needs_chromium
from command import caller, program
from test_play import BUNDLE, settled, toml, wait, write
from test_play_runs import LONG, begin
from vazao import _core, explore, seeing

pytest.importorskip("starlette")
from starlette.testclient import TestClient

pytestmark = pytest.mark.skipif(not (BUNDLE / "play.js").exists(), reason="the laboratory is not built; make web")

PORT, TOKEN = 4321, "secret"
KNOWN = {"x-vazao-token": TOKEN, "host": f"127.0.0.1:{PORT}"}


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    command = program("play", "--serve", "--no-browser", "--json")
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout
        yield json.loads(server.stdout.readline())["address"]
        server.terminate()


@pytest.fixture
def page(browser: Any, address: str) -> Iterator[Any]:
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    shown = context.new_page()
    wrong: list[str] = []
    shown.on("pageerror", lambda error: wrong.append(str(error)))
    shown.on(
        "request",
        lambda request: None if local(request.url) or "127.0.0.1" in request.url else wrong.append(request.url),
    )
    shown.goto(address)
    settled(shown)
    yield shown
    context.close()
    assert not wrong


@pytest.fixture
def client() -> TestClient:
    return TestClient(explore.laboratory(seeing.play_page(served=True), token=TOKEN, port=PORT))


@needs_chromium
def test_a_served_page_runs_what_is_moved(page: Any) -> None:
    assert page.locator(".numbers-table tbody tr").count() == 2
    run_id = page.evaluate("vazaoPlay.lab.result.run.recording.header.run_id")
    assert run_id == _core.load(toml(page)).run_id
    write(page, toml(page).replace('rate = "10 Mbps"', 'rate = "3 Mbps"'))
    assert page.evaluate("vazaoPlay.lab.result.run.recording.header.run_id") == _core.load(toml(page)).run_id
    write(page, toml(page).replace("3 Mbps", "3 apples"))
    assert "3 apples" in page.locator("[role=alert]").first.inner_text()


@needs_chromium
def test_a_served_run_is_followed_and_ended(page: Any) -> None:
    begin(page, LONG)
    wait(page, "document.querySelector('.waiting progress').value > 0")
    page.keyboard.press("Escape")
    page.locator(".waiting").wait_for(state="hidden")
    settled(page)
    begin(page, LONG)
    write(page, LONG.replace("100000 s", "3 s"))
    assert page.locator(".status").inner_text().startswith("3 s")


def test_the_server_answers_as_the_engine_of_a_page_does(client: TestClient, tmp_path: Path) -> None:
    text = LONG.replace("100000 s", "1 s")
    answer = client.post("/api/run", json={"toml": text, "packets": 10, "capture": True}, headers=KNOWN)
    length = int.from_bytes(answer.content[:4], "little")
    header, files = json.loads(answer.content[4 : 4 + length]), answer.content[4 + length :]
    assert header["run_id"] == _core.load(text).run_id
    assert files.startswith(b"vazaorec")
    _core.run(_core.load(text), pcap=str(tmp_path))
    captures = files[header["recording"] :]
    for name, size in header["captures"].items():
        assert captures[:size] == (tmp_path / f"{name}.pcapng").read_bytes()
        captures = captures[size:]
    assert not captures
    assert client.post("/api/reached", json={}, headers=KNOWN).json()["seconds"] >= 0


def test_nobody_else_is_answered(client: TestClient) -> None:
    asked = {"toml": LONG}
    assert client.post("/api/run", json=asked, headers={"host": KNOWN["host"]}).status_code == 403
    assert client.post("/api/run", json=asked, headers=KNOWN | {"origin": "http://evil.example"}).status_code == 403
    assert client.post("/api/run", json=asked, headers=KNOWN | {"host": "evil.example:4321"}).status_code == 403
    assert client.post("/api/run", content="toml", headers=KNOWN).status_code == 403
    assert client.get("/api/run", headers=KNOWN).status_code == 405
    policy = client.get("/", headers=KNOWN).headers["content-security-policy"]
    assert "frame-ancestors 'none'" in policy


def test_files_and_guests_are_out_of_reach(client: TestClient, tmp_path: Path) -> None:
    secret = tmp_path / "rates.txt"
    secret.write_text("0 1\n")
    traced = LONG.replace('rate = "50 Mbps"', f'rate = {{ kind = "trace", file = "{secret}" }}')
    for text in (traced, LONG + 'transport = { kind = "tcp", stack = "linux" }\n'):
        answer = client.post("/api/run", json={"toml": text}, headers=KNOWN).content
        assert "error" in json.loads(answer[4 : 4 + int.from_bytes(answer[:4], "little")])


def test_without_an_engine_for_pages_the_page_is_served(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    served: list[str] = []
    monkeypatch.setattr("vazao.seeing.has_engine", lambda: False, raising=False)
    monkeypatch.setattr("vazao.explore.play", lambda page, **_: served.append(page.text), raising=False)
    vazao = caller(monkeypatch, capsys)
    assert vazao("play", "--no-browser").code == 0
    assert "connect-src 'self'" in served[0]
    assert "data-engine></script>" in served[0]
    for wrong, told in ((("--serve", "--html", "x.html"), "--html"), (("--html", "x.html", "--port", "80"), "--port")):
        answer = vazao("play", *wrong)
        assert (answer.code, told in answer.err) == (2, True), answer


@needs_chromium
@pytest.mark.parametrize(("button", "shell"), [("As a command", "bash"), ("As Python", "python3")])
def test_what_is_handed_out_to_be_pasted_obeys_no_scenario(page: Any, button: str, shell: str, tmp_path: Path) -> None:
    """A lecturer pastes it: `web/tests/script.test.mjs` has more attacks, this one is executed through the page."""
    (tmp_path / "vazao").write_text("#!/bin/sh\n")
    (tmp_path / "vazao").chmod(0o755)
    (tmp_path / "vazao.py").write_text("load = None\n")
    hostile = toml(page) + "# \nTOML\ntouch taken\n'; touch taken; '\n'''); open('taken', 'w'); ('''\n"
    page.get_by_label("TOML of the scenario").fill(hostile)
    page.wait_for_timeout(200)
    page.get_by_role("button", name=button, exact=True).click()
    handed = page.get_by_role("dialog").locator("textarea").input_value()
    found = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}", "PYTHONPATH": str(tmp_path)}
    (tmp_path / "here").mkdir()
    subprocess.run([shell], input=handed, text=True, cwd=tmp_path / "here", env=found, check=False, capture_output=True)
    (file,) = (tmp_path / "here").iterdir()
    assert (file.suffix, file.read_text()) == (".toml", hostile.strip() + "\n")
