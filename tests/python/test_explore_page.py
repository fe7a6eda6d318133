"""The page of `vazao explore` in Chromium: it draws, filters, brushes, restores a link, and shows a point's runs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import vazao as vz
from browsers import needs_chromium
from test_explore import BUILT, MARKUP, RIVALS, RUNNING, running, stored
from vazao import explore
from vazao.store.writer import writing

pytestmark = [
    needs_chromium,
    pytest.mark.skipif(not BUILT, reason="the page is not built; make web"),
]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("page")
    return [stored(folder / "first", title=MARKUP, level="<b>x</b>"), stored(folder / "second", runs=20)]


@pytest.fixture(scope="module")
def address(folders: list[Path]) -> Iterator[str]:
    with running(*folders) as told:
        yield told


@contextmanager
def opened(browser: Any, address: str, **more: Any) -> Iterator[Any]:
    """Opens the page and waits until it is drawn; it must log nothing and request nothing from outside."""
    context = browser.new_context(**{"viewport": {"width": 1400, "height": 900}} | more)
    page, problems = context.new_page(), []
    page.on("console", lambda message: problems.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: problems.append(str(error)))
    origin = address.partition("/?")[0]
    page.on("request", lambda request: request.url.startswith((origin, "data:")) or problems.append(request.url))
    page.goto(address)
    drawn(page)
    yield page
    assert problems == []
    context.close()


def drawn(page: Any) -> None:
    page.wait_for_selector(".chart svg circle, .chart svg rect, .chart svg path", state="attached")
    page.wait_for_function("() => document.querySelector('.counted').dataset.rows !== undefined")


def rows(page: Any, wanted: int) -> None:
    page.wait_for_function("n => document.querySelector('.counted').dataset.rows === String(n)", arg=wanted)


def test_it_draws_and_a_strangers_markup_is_text(browser: Any, address: str) -> None:
    with opened(browser, address) as page:
        rows(page, 120)
        assert page.title() != "taken"
        assert MARKUP in page.inner_text(".claim >> nth=0")
        assert page.locator("b", has_text="x").count() == 0
        assert "<b>x</b>" in page.inner_text("[data-facet=control]")
        assert page.url.endswith("/"), "the token stays in no address"


def test_a_filter_changes_the_numbers_to_what_sql_says(browser: Any, address: str, folders: list[Path]) -> None:
    directory = explore.opened(folders[:1])[0]
    wanted = directory.query(
        """SELECT avg(goodput_bps) AS g FROM flows JOIN runs USING (run_id) WHERE control = 'reno' GROUP BY flow"""
    )["g"]
    assert len(wanted) == 2  # Flows come from two tables, and rivals are kept apart.
    with opened(browser, address) as page:
        page.click("[data-facet=results] label:has-text('first')")
        page.click("[data-facet=control] label:has-text('reno')")
        rows(page, 40)
        page.click("role=tab[name=Numbers]")
        page.wait_for_function("() => document.querySelectorAll('.panel tbody tr').length === 2")
        shown = page.inner_text(".panel tbody")
        assert [goodput for goodput in wanted if f"{goodput / 1e6:.4g} Mbit/s" not in shown] == []


def test_a_brush_filters_every_other_view_and_a_link_restores_all(browser: Any, address: str) -> None:
    with opened(browser, address) as page:
        rows(page, 120)
        before = page.get_attribute("[data-column=rtt_p95_s] .bars", "d")
        box = page.locator("[data-column=goodput_bps] .strip-area").bounding_box()
        page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + 20)
        page.mouse.down()
        page.mouse.move(box["x"] + box["width"] * 0.8, box["y"] + 22, steps=12)
        page.wait_for_function(
            "d => document.querySelector('[data-column=rtt_p95_s] .bars').getAttribute('d') !== d", arg=before
        )
        page.mouse.up()
        page.wait_for_function("() => Number(document.querySelector('.counted').dataset.rows) < 120")
        after = page.get_attribute(".counted", "data-rows")
        page.click("text=Box")
        page.wait_for_function("() => location.hash.includes('box')")
        link = page.url
        page.goto("about:blank")
        page.goto(link)
        drawn(page)
        rows(page, int(after))
        assert page.get_attribute(".kinds [aria-checked=true]", "aria-checked") == "true"
        assert page.inner_text(".kinds [aria-checked=true]") == "Box"


def test_a_click_shows_the_runs_behind_a_point(browser: Any, address: str) -> None:
    with opened(browser, address) as page:
        page.wait_for_timeout(500)  # The first drawing is repeated once the page knows its width.
        dot = page.locator(".chart svg circle").first
        dot.hover(force=True)
        dot.click(force=True)
        page.wait_for_selector(".panel td a")
        assert page.get_attribute(".panel td a >> nth=0", "href").startswith("/running/00000000")
        assert "control" in page.inner_text(".panel thead")


def test_two_runs_are_chosen_to_be_compared(browser: Any, address: str) -> None:
    with opened(browser, address) as page:
        page.wait_for_timeout(500)
        dot = page.locator(".chart svg circle").first
        dot.hover(force=True)
        dot.click(force=True)
        page.wait_for_selector(".panel .compare")
        boxes, link = page.locator('.panel td input[type="checkbox"]'), page.locator(".panel .compare")
        assert link.get_attribute("href") is None
        runs = [boxes.nth(n).get_attribute("aria-label").removeprefix("compare ") for n in range(3)]
        for n in range(3):
            boxes.nth(n).focus()
            page.keyboard.press("Space")
        # The first of three is deselected.
        assert [boxes.nth(n).is_checked() for n in range(3)] == [False, True, True]
        assert link.get_attribute("href").startswith(f"/running/{runs[1]}?")
        assert f"beside={runs[2]}" in link.get_attribute("href")


def test_runs_behind_two_points_are_compared_by_keyboard_alone(browser: Any, address: str) -> None:
    with opened(browser, address) as page:
        for n in range(2):
            page.focus("role=tab[name=Numbers]")
            page.keyboard.press("Enter")
            page.focus(f".panel tbody tr:nth-child({2 * n + 1}) button")  # Each control has a row for each flow table.
            page.keyboard.press("Enter")
            page.wait_for_selector(".panel td a")
            page.focus(".panel td input >> nth=0")
            page.keyboard.press("Space")
        shown = page.inner_text(".pair")
        assert ("control reno" in shown, "control <b>x</b>" in shown) == (True, True)
        assert "beside=" in page.get_attribute(".pair .compare", "href")


def test_factors_that_a_mark_mixes_are_said(browser: Any, address: str) -> None:
    with opened(browser, address) as page:
        assert "mixes" not in page.inner_text(".note")
        page.select_option(".choice:has-text('x') select >> nth=-1", "flow")
        page.wait_for_function("() => document.querySelector('.note').textContent.includes('mixes')")
        page.click("[data-facet=control] label:has-text('reno')")
        page.wait_for_function("() => !document.querySelector('.note').textContent.includes('mixes')")


def test_all_views_draw_by_keyboard(browser: Any, address: str) -> None:
    with opened(browser, address) as page:
        for name in "Points", "Heat map", "Box", "ECDF", "Histogram":
            page.focus(f"text={name}")
            page.keyboard.press("Enter")
            page.wait_for_function(
                "name => document.querySelector('.kinds [aria-checked=true]').textContent === name", arg=name
            )
            page.wait_for_timeout(400)
            drawn(page)
            assert not page.is_visible(".problem")
        page.fill("[data-column=goodput_bps] .ends input >> nth=0", "3e6")
        page.keyboard.press("Enter")
        page.wait_for_function("() => Number(document.querySelector('.counted').dataset.rows) < 120")
        page.click("role=tab[name=SQL]")
        page.wait_for_function("() => document.querySelector('.panel').textContent.includes('3000000')")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_a_phone(browser: Any, address: str, scheme: str) -> None:
    with opened(browser, address, viewport={"width": 390, "height": 844}, color_scheme=scheme) as page:
        assert page.evaluate("document.documentElement.scrollWidth") <= 390


class Held:
    """Holds back requests that match until they are released; all others pass."""

    def __init__(self, page: Any, part: str) -> None:
        self.part: str | None = part
        self.waiting: list[Any] = []
        page.route("**/api/ask", self._came)

    def _came(self, route: Any) -> None:
        if self.part is not None and self.part in route.request.post_data:
            self.waiting.append(route)
        else:
            route.continue_()

    def came(self, page: Any, wanted: int = 1) -> None:
        """Waits for this number of requests."""
        for _ in range(100):
            if len(self.waiting) >= wanted:
                return
            page.wait_for_timeout(50)
        raise AssertionError(f"{len(self.waiting)} of {wanted} questions came")

    def release(self) -> None:
        self.part = None
        for route in self.waiting:
            route.continue_()
        self.waiting.clear()


def press(page: Any, column: str, at: float) -> None:
    box = page.locator(f"[data-column={column}] .strip-area").bounding_box()
    page.mouse.move(box["x"] + box["width"] * at, box["y"] + 20)
    page.mouse.down()


def drag(page: Any, column: str, to: float) -> None:
    box = page.locator(f"[data-column={column}] .strip-area").bounding_box()
    page.mouse.move(box["x"] + box["width"] * to, box["y"] + 22, steps=8)


def bars(page: Any, column: str) -> str:
    return str(page.get_attribute(f"[data-column={column}] .bars", "d"))


def changed(page: Any, column: str, before: str) -> None:
    page.wait_for_function(
        "([column, d]) => document.querySelector(`[data-column=${column}] .bars`).getAttribute('d') !== d",
        arg=[column, before],
        timeout=5000,
    )


def test_a_brush_that_rests_before_its_counts_arrive_shows_them(browser: Any, address: str) -> None:
    with opened(browser, address) as page:
        rows(page, 120)
        before, held = bars(page, "rtt_p95_s"), Held(page, '"active"')
        press(page, "goodput_bps", 0.5)
        drag(page, "goodput_bps", 0.8)
        held.came(page)
        assert bars(page, "rtt_p95_s") == before
        held.release()
        changed(page, "rtt_p95_s", before)
        page.mouse.up()


def test_a_late_count_leaves_the_brush_that_moves_meanwhile(browser: Any, address: str) -> None:
    with opened(browser, address) as page:
        rows(page, 120)
        held = Held(page, '"dims"')
        page.click("[data-facet=control] label:has-text('reno')")
        held.came(page)
        press(page, "goodput_bps", 0.3)
        held.release()
        rows(page, 60)
        drag(page, "goodput_bps", 0.7)
        wide = "() => Number(document.querySelector('[data-column=goodput_bps] .selection').getAttribute('width'))"
        assert page.evaluate(wide) == pytest.approx(88, abs=4)
        page.mouse.up()
        page.wait_for_function("() => Number(document.querySelector('.counted').dataset.rows) < 60")
        assert page.evaluate(wide) == pytest.approx(88, abs=4)


def test_counts_of_an_older_brush_do_not_take_the_place_of_newer_ones(browser: Any, address: str) -> None:
    with opened(browser, address) as page:
        rows(page, 120)
        held = Held(page, '"active":{"column":"goodput_bps"')
        press(page, "goodput_bps", 0.1)
        drag(page, "goodput_bps", 0.9)
        page.mouse.up()
        held.came(page)
        press(page, "rtt_p95_s", 0.2)
        drag(page, "rtt_p95_s", 0.8)
        page.wait_for_timeout(500)
        held.release()
        page.wait_for_timeout(500)
        before = bars(page, "goodput_bps")
        drag(page, "rtt_p95_s", 0.4)
        changed(page, "goodput_bps", before)
        page.mouse.up()


def test_an_end_that_is_being_typed_stays_while_counts_arrive(browser: Any, address: str) -> None:
    with opened(browser, address) as page:
        rows(page, 120)
        held = Held(page, '"dims"')
        page.click("[data-facet=control] label:has-text('reno')")
        held.came(page)
        page.locator("[data-column=goodput_bps] .ends input").first.press_sequentially("3e")
        held.release()
        rows(page, 60)
        assert page.input_value("[data-column=goodput_bps] .ends input >> nth=0") == "3e"


def test_the_later_of_two_quickly_chosen_measures_is_drawn(browser: Any, address: str) -> None:
    with opened(browser, address) as page:
        rows(page, 120)
        slow = "last_byte_s"
        held = Held(page, f'"dims":[{{"column":"{slow}"}}]')
        page.select_option(".choice:has-text('measure') select", slow)
        page.wait_for_timeout(200)
        page.select_option(".choice:has-text('measure') select", "rtt_p95_s")
        page.wait_for_timeout(200)
        held.release()
        wanted = '() => decodeURIComponent(location.hash).includes(\'"y":"rtt_p95_s"\')'
        page.wait_for_function(wanted)
        page.wait_for_timeout(300)
        assert page.evaluate(wanted)
        assert page.input_value(".choice:has-text('measure') select") == "rtt_p95_s"


def test_new_rows_leave_an_open_finding_and_the_keyboards_place(browser: Any, tmp_path: Path) -> None:
    folder = stored(tmp_path / "running", runs=20, finished=10)
    with running(folder) as address, opened(browser, address) as page:
        rows(page, 20)
        page.click(".finding summary")
        page.focus("[data-column=goodput_bps] .ends input >> nth=0")
        more = RUNNING.pop()
        of = pl.col("run_id").is_in(more.pop("left"))
        with writing(folder, json.loads((folder / "manifest.json").read_text())) as writer:
            writer.commit({name: table.filter(of) for name, table in more.items()})
        rows(page, 40)
        assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "goodput_bps from"
        assert page.locator(".finding[open]").count() == 1
        assert "20 of 20 runs" in page.inner_text("header.top")


def test_rivals_are_apart_at_first_and_can_be_filtered(browser: Any, tmp_path: Path) -> None:
    """The view starts with a colour for each flow; without it the page says what a mark mixes."""
    file = tmp_path / "rivals.toml"
    file.write_text(RIVALS)
    experiment = vz.load(file)
    assert isinstance(experiment, vz.Experiment)
    experiment.vary("flow.0.transport.cc", "vegas,cubic").run(seeds=2, out=tmp_path / "r")
    with running(tmp_path / "r") as address, opened(browser, address) as page:
        assert page.locator(".key span").count() == 2
        assert "mixes" not in page.inner_text(".note")
        assert page.locator("[data-facet=group] label.level").count() == 2
        page.click("[data-facet=group] label:has-text('1')")
        rows(page, 4)
        page.click("[data-facet=group] button")
        rows(page, 8)
        page.select_option(".choice:has-text('colour') select", "")
        page.wait_for_function(
            "() => document.querySelector('.note').textContent.includes('mixes all levels of flow table')"
        )
