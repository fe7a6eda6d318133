"""The page of `vazao explore` in Chromium: it draws, filters, brushes, restores a link, shows a point's runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from browsers import FLAGS, chromium, needs_chromium
from test_explore import BUILT, MARKUP, running, stored
from vazao import explore

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


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium([one for one in FLAGS if one != "--headless"]) as started:
        yield started


@contextmanager
def opened(browser: Any, address: str, **more: Any) -> Iterator[Any]:
    """The page once it is drawn; it must say nothing on the console and ask nobody else."""
    context = browser.new_context(**{"viewport": {"width": 1400, "height": 900}} | more)
    page, said = context.new_page(), []
    page.on("console", lambda message: said.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: said.append(str(error)))
    origin = address.partition("/?")[0]
    page.on("request", lambda request: request.url.startswith((origin, "data:")) or said.append(request.url))
    page.goto(address)
    drawn(page)
    yield page
    assert said == []
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
        "SELECT avg(g) AS g FROM (SELECT run_id, avg(goodput_bps) AS g FROM flows GROUP BY run_id) "
        "JOIN runs USING (run_id) WHERE control = 'reno'"
    )["g"][0]
    with opened(browser, address) as page:
        page.click("[data-facet=results] label:has-text('first')")
        page.click("[data-facet=control] label:has-text('reno')")
        rows(page, 40)
        page.click("role=tab[name=Numbers]")
        page.wait_for_function("() => document.querySelectorAll('.panel tbody tr').length === 1")
        assert f"{wanted / 1e6:.4g} Mbit/s" in page.inner_text(".panel tbody tr")


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
        page.wait_for_timeout(500)  # The first drawing is made again once the page knows its width.
        dot = page.locator(".chart svg circle").first
        dot.hover(force=True)
        dot.click(force=True)
        page.wait_for_selector(".panel td a")
        assert page.get_attribute(".panel td a >> nth=0", "href").startswith("/view/00000000")
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
        # The first of three gives way.
        assert [boxes.nth(n).is_checked() for n in range(3)] == [False, True, True]
        assert link.get_attribute("href").startswith(f"/view/{runs[1]}?")
        assert f"beside={runs[2]}" in link.get_attribute("href")


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
