"""Fixtures for the system's Chromium: a page must log no error and request nothing from outside."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip

Open = Callable[..., Any]
"""Opens a local file as a page, given the window's width and height and options of Playwright's `new_page`."""

needs_chromium = pytest.mark.skipif(
    CHROMIUM is None, reason="chromium is not installed: no page is opened in a browser"
)


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """The system's Chromium, started once per worker; tests that use it are skipped where it is not installed."""
    if CHROMIUM is None:
        pytest.skip("chromium is not installed: no page is opened in a browser")
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with playwright.sync_playwright() as driver:
        running = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield running
        running.close()


@pytest.fixture
def browser(chromium: Any) -> Iterator[Any]:
    """Chromium without a page. Pages that a test opens are closed after it, or they would go on drawing."""
    yield chromium
    for context in chromium.contexts:
        context.close()


@contextmanager
def opener(browser: Any) -> Iterator[Open]:
    """Opens files as pages, and checks afterwards that none failed, warned or requested anything from outside."""
    wrong: list[str] = []

    def open_page(file: Path, width: int = 1400, height: int = 900, *, state: str = "", **given: Any) -> Any:
        page = browser.new_page(viewport={"width": width, "height": height}, **given)
        page.on("console", lambda message: wrong.append(message.text) if message.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("request", lambda request: None if local(request.url) else wrong.append(request.url))
        page.goto(file.as_uri() + state)
        return page

    yield open_page
    assert wrong == []


def local(url: str) -> bool:
    """Whether a URL is local: nothing is requested over the network."""
    return url.startswith(("file:", "data:", "blob:"))
