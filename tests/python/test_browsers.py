"""The suite starts one browser per worker, and no page of a test outlives it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest


def test_only_the_fixture_of_the_session_starts_a_browser() -> None:
    started = re.compile(r"sync_playwright\(|\bchromium\(|\bdef browser\(")
    files = [file for file in Path(__file__).parent.glob("*.py") if file.name != Path(__file__).name]
    found = {file.name: started.findall(file.read_text(encoding="utf-8")) for file in files}
    assert {name: starts for name, starts in found.items() if starts} == {
        "browsers.py": ["chromium(", "sync_playwright(", "def browser("],
    }


@pytest.mark.parametrize("time", ["first", "again"])
def test_a_test_finds_no_page_of_another(browser: Any, time: str) -> None:
    assert browser.contexts == []
    browser.new_page().goto(f"data:text/html,{time}")
