"""Long runs in the laboratory show their progress and can be cancelled; captures equal those of other runs."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from browsers import Open, needs_chromium, opener
from test_play import file, pytestmark as built, settled, toml, wait, write
from vazao import _core

__all__ = ["file"]

pytestmark = [needs_chromium, *built]

LONG = """\
until = "100000 s"
[network]
topology = "dumbbell"
pairs = 2
access = { rate = "1 Gbps", delay = "1 ms" }
bottleneck = { rate = "50 Mbps", delay = "10 ms" }
[[flow]]
count = 2
app = "upload"
"""


@pytest.fixture
def page(browser: Any, file: Path) -> Iterator[Any]:
    with opener(browser) as open_file:
        opened: Open = open_file
        shown = opened(file, 1280, 900)
        settled(shown)
        yield shown


def begin(page: Any, text: str) -> None:
    """Enters a scenario whose run takes a while, and waits until the page shows its progress."""
    page.get_by_label("TOML of the scenario").fill(text)
    page.locator(".waiting").wait_for(state="visible")


def test_a_long_run_tells_how_far_it_is_and_is_ended_by_escape(page: Any) -> None:
    before = page.locator(".numbers-table").inner_text()
    begin(page, LONG)
    bar = page.get_by_role("progressbar", name="Simulated so far")
    wait(page, "document.querySelector('.waiting progress').value > 0")
    first = float(bar.evaluate("bar => bar.value"))
    wait(page, f"document.querySelector('.waiting progress').value > {first}")
    assert "of 100000 s" in page.locator(".waiting").inner_text()
    page.keyboard.press("Escape")
    page.locator(".waiting").wait_for(state="hidden")
    settled(page)
    assert page.locator(".status").inner_text() == "The last setting that ran is shown."
    assert page.locator(".numbers-table").inner_text() == before
    assert toml(page) == LONG
    write(page, LONG.replace("100000 s", "2 s"))
    assert page.locator(".status").inner_text().startswith("2 s")


def test_another_setting_takes_the_place_of_a_long_run(page: Any) -> None:
    begin(page, LONG)
    write(page, LONG.replace("100000 s", "3 s"))
    assert page.locator(".waiting").is_hidden()
    assert page.locator(".status").inner_text().startswith("3 s")


def test_a_long_run_is_ended_by_its_button(page: Any) -> None:
    begin(page, LONG)
    page.get_by_role("button", name="End this run (Escape)").click()
    page.locator(".waiting").wait_for(state="hidden")
    settled(page)


def test_captures_are_those_of_the_command(page: Any, tmp_path: Path) -> None:
    _core.run(_core.load(toml(page)), pcap=str(tmp_path))
    page.get_by_role("button", name="The packets as captures, for Wireshark").click()
    saves = page.locator(".captures button")
    saves.first.wait_for()
    names = sorted(path.name for path in tmp_path.iterdir())
    assert sorted(saves.all_inner_texts()) == names
    for name in names:
        with page.expect_download() as made:
            page.get_by_role("button", name=f"Save the capture of {name.removesuffix('.pcapng')}", exact=True).click()
        saved = tmp_path / f"saved-{name}"
        made.value.save_as(saved)
        assert saved.read_bytes() == (tmp_path / name).read_bytes()
    if tshark := shutil.which("tshark"):
        done = subprocess.run(
            [tshark, "-r", str(tmp_path / names[0]), "-c", "3"], capture_output=True, text=True, check=True
        )
        assert "TCP" in done.stdout


def test_no_captures_are_made_of_what_does_not_run(page: Any) -> None:
    page.get_by_label("TOML of the scenario").fill("until = 3 apples")
    page.wait_for_timeout(300)
    page.get_by_role("button", name="The packets as captures, for Wireshark").click()
    page.locator("dialog.share .failure").wait_for()
    assert "TOML" in page.locator("dialog.share .failure").inner_text()
