"""The laboratory page: it runs from a file, redraws in time, and its lessons can be completed."""

from __future__ import annotations

import re
import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from browsers import Open, needs_chromium, opener
from vazao.errors import ResultsError
from vazao.seeing import lessons, play_page

ROOT = Path(__file__).parents[2]
BUNDLE = ROOT / "python/vazao/seeing/static"

LARGEST = 6_000_000
"""Maximum size of the page in bytes: small enough for mail."""

SOON = 100
"""Maximum time in ms from a change to the new picture, for 10 s of two flows at 10 Mbit/s."""

pytestmark = [
    needs_chromium,
    pytest.mark.skipif(not (BUNDLE / "play.js").exists(), reason="the laboratory is not built; make web"),
    pytest.mark.skipif(not (BUNDLE / "engine.wasm").exists(), reason="the engine for pages is not built; make wasm"),
]


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("play") / "laboratory.html"
    path.write_text(play_page().text, encoding="utf-8")
    return path


@pytest.fixture
def opened(browser: Any, file: Path) -> Iterator[Open]:
    """Opens the page and waits until its first run is drawn."""
    with opener(browser) as open_file:

        def open_page(*size: int, state: str = "", **given: Any) -> Any:
            page = open_file(file, *size, state=state, **given)
            settled(page)
            return page

        yield open_page


def settled(page: Any) -> None:
    """Waits until no run is in progress and the latest results are drawn."""
    page.wait_for_timeout(60)
    page.wait_for_selector('body[data-settled="true"]')
    wait(page, "!vazaoPlay.lab.busy")
    page.wait_for_timeout(80)


def wait(page: Any, condition: str) -> None:
    """Polls a condition; the page's content security policy keeps the driver from evaluating it inside the page."""
    for _ in range(300):
        if page.evaluate(condition):
            return
        page.wait_for_timeout(30)
    raise AssertionError(f"never {condition}")


def picture(page: Any, panel: str) -> str:
    return str(page.evaluate(f"document.querySelector('#panel-live-{panel} canvas').toDataURL()"))


def toml(page: Any) -> str:
    return str(page.get_by_label("TOML of the scenario").input_value())


def write(page: Any, text: str) -> None:
    page.get_by_label("TOML of the scenario").fill(text)
    page.wait_for_timeout(200)
    settled(page)


def choose_bottleneck(page: Any) -> None:
    page.get_by_role("button", name="Link bottleneck").press("Enter")


def choose_lesson(page: Any, name: str) -> None:
    page.get_by_label("Lesson", exact=True).select_option(index=1 + list(lessons()).index(name))
    settled(page)


def test_the_page_is_small_and_runs_from_a_file(opened: Open, file: Path) -> None:
    assert file.stat().st_size <= LARGEST
    page = opened()
    rows = page.locator(".numbers-table tbody tr")
    assert rows.count() == 2
    assert "Mbit/s" in rows.first.inner_text()
    assert "Jain" in page.locator(".facts-line").inner_text()
    colours = """panel => {
        const canvas = document.querySelector(`#panel-live-${panel} canvas`);
        const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
        return new Set(new Uint32Array(data.buffer)).size;
    }"""
    drawn = {panel: page.evaluate(colours, panel) for panel in ("cwnd", "goodput", "rtt", "queue")}
    assert min(drawn.values()) > 8, drawn


def test_a_slider_redraws_in_time(opened: Open) -> None:
    page = opened()
    choose_bottleneck(page)
    before = picture(page, "cwnd")
    slider = page.locator('.inspector input[type="range"]').first
    slider.focus()
    page.evaluate("vazaoPlay.times.length = 0")
    for step in range(24):
        page.keyboard.press("ArrowRight" if step < 14 else "ArrowLeft")
        page.wait_for_timeout(150)
    times = page.evaluate("vazaoPlay.times")
    assert len(times) >= 20
    assert statistics.median(times) <= SOON, sorted(times)
    assert picture(page, "cwnd") != before
    assert 'rate = "10 Mbps"' not in toml(page)


def test_each_flow_has_a_strip_of_what_it_waits_for(opened: Open) -> None:
    page = opened()
    legend, canvas = page.locator("#panel-live-limits .legend"), page.locator("#panel-live-limits canvas")
    assert "1 tcp reno" in legend.inner_text()
    before, height = picture(page, "limits"), canvas.bounding_box()["height"]
    assert "receive window" not in legend.inner_text()
    text = toml(page)
    write(page, re.sub(r'kind = "tcp"', 'kind = "tcp", receive_buffer = "20 kB"', text))
    assert "receive window" in legend.inner_text()
    assert picture(page, "limits") != before
    write(page, text + '\n[[flow]]\napp = "upload"\ntransport = "tcp"\n')
    assert canvas.bounding_box()["height"] > height, "another flow has another strip"


def test_controls_and_text_follow_each_other(opened: Open) -> None:
    page = opened()
    choose_bottleneck(page)
    write(page, toml(page).replace("10 Mbps", "5 Mbps"))
    assert page.locator(".inspector .value").first.input_value() == "5 Mbps"
    page.locator(".inspector .value").first.fill("2 Mbps")
    page.keyboard.press("Enter")
    settled(page)
    assert 'rate = "2 Mbps"' in toml(page)
    page.get_by_role("button", name="Edit flow 1").first.click()
    page.get_by_label("cc", exact=True).select_option("bbr")
    settled(page)
    assert 'cc = "bbr"' in toml(page)
    assert "1 tcp bbr" in page.locator(".numbers-table").inner_text()
    page.get_by_role("button", name="Add a flow", exact=True).click()
    settled(page)
    assert page.locator(".numbers-table tbody tr").count() == 3
    page.get_by_role("button", name="Remove flow 2").click()
    settled(page)
    assert page.locator(".numbers-table tbody tr").count() == 2


def test_a_mistake_is_shown_at_its_line(opened: Open) -> None:
    page = opened()
    good = toml(page)
    write(page, good.replace('"10 Mbps"', '"10 Mbs"'))
    problem = page.locator(".problem")
    assert "did you mean" in problem.inner_text()
    line = 1 + good[: good.index('"10 Mbps"')].count("\n")
    assert page.locator(".numbers .wrong").inner_text() == str(line)
    write(page, good + "[[")
    assert problem.is_visible()
    write(page, good)
    assert problem.is_hidden()
    assert page.locator(".numbers .wrong").count() == 0


def test_a_long_run_gives_way_to_the_next(opened: Open) -> None:
    page = opened()
    good = toml(page)
    page.get_by_label("TOML of the scenario").fill(
        good.replace('"10 Mbps"', '"900 Mbps"').replace('until = "10 s"', 'until = "200 s"')
    )
    page.wait_for_timeout(500)
    write(page, good)
    assert page.evaluate("vazaoPlay.engine.cancelled") == 1
    assert page.locator(".status").inner_text().startswith("10 s")


def test_two_settings_side_by_side(opened: Open) -> None:
    page = opened()
    page.get_by_role("button", name="Pin this setting").click()
    alone = picture(page, "goodput")
    choose_bottleneck(page)
    page.locator(".inspector .value").first.fill("4 Mbps")
    page.keyboard.press("Enter")
    settled(page)
    cells = page.locator(".numbers-table tbody td").first
    assert cells.locator("small").count() == 1
    assert cells.inner_text().split("\n")[0] != cells.locator("small").inner_text()
    both = picture(page, "goodput")
    assert both != alone
    page.get_by_role("button", name="End the comparison").click()
    settled(page)
    assert page.locator(".numbers-table small").count() == 0
    assert picture(page, "goodput") != both


def test_a_link_is_an_experiment(opened: Open) -> None:
    page = opened()
    choose_lesson(page, "vegas")
    page.get_by_role("button", name="Next step").click()
    settled(page)
    write(page, toml(page).replace("10 Mbps", "7 Mbps"))
    page.wait_for_timeout(400)
    there = opened(state=page.evaluate("location.hash"))
    there.wait_for_selector(".numbers-table small")
    assert "7 Mbps" in toml(there)
    assert "2 of 3" in there.locator(".where").inner_text()
    assert there.locator(".numbers-table").inner_text() == page.locator(".numbers-table").inner_text()


def test_a_lesson_is_walked_with_the_keyboard(opened: Open) -> None:
    page = opened()
    page.get_by_label("Lesson", exact=True).focus()
    page.keyboard.type("1")
    settled(page)
    assert page.locator(".lesson h2").inner_text() == "A window that doubles"
    page.get_by_role("button", name="Next step").focus()
    page.keyboard.press("Enter")
    settled(page)
    assert page.evaluate("document.activeElement.tagName") == "H2"
    page.keyboard.press("Tab")
    while page.evaluate("document.activeElement.getAttribute('aria-label')") != "Answer":
        page.keyboard.press("Tab")
    page.keyboard.type("5")
    page.keyboard.press("Enter")
    assert "Not yet" in page.locator(".verdict").inner_text()
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.type("300")
    page.keyboard.press("Enter")
    assert "Right" in page.locator(".verdict").inner_text()
    page.get_by_role("button", name="Next step").press("Enter")
    settled(page)
    page.locator('.question input[type="radio"]').first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    assert "Right" in page.locator(".verdict").inner_text()
    page.get_by_role("button", name="Step before").press("Enter")
    settled(page)
    assert "2 of 4" in page.locator(".where").inner_text()


def test_a_goal_is_judged_by_the_run(opened: Open) -> None:
    page = opened()
    choose_lesson(page, "bufferbloat")
    assert page.locator(".verdict").inner_text() == ""
    page.get_by_label("queue", exact=True).select_option("codel")
    settled(page)
    assert "Right" in page.locator(".verdict").inner_text()


@pytest.mark.parametrize("name", lessons())
def test_every_step_runs_in_the_page(opened: Open, name: str) -> None:
    page = opened()
    for step in range(len(lessons()[name]["steps"])):
        page.evaluate("([name, step]) => vazaoPlay.teacher.open(name, step)", [name, step])
        settled(page)
        assert page.locator(".problem").is_hidden(), page.locator(".problem").inner_text()
        assert "…" not in page.locator(".lesson .prose").inner_text()
        assert "{" not in page.locator(".lesson .prose").inner_text()


def test_packets_are_a_button_away(opened: Open) -> None:
    page = opened()
    page.get_by_role("button", name="Every packet of this run").click()
    page.wait_for_selector("#panel-sequence canvas")
    page.keyboard.press("n")
    page.locator(".packet").wait_for(state="visible")
    page.get_by_role("button", name="Back to the laboratory").click()
    assert page.locator("#panel-sequence").count() == 0
    assert page.locator(".numbers-table").is_visible()
    choose_bottleneck(page)
    page.locator(".inspector .value").first.press("t")
    assert page.locator(".inspector .value").first.is_visible()


def test_the_experiment_leaves_the_page(opened: Open) -> None:
    page = opened()
    with page.expect_download() as saved:
        page.get_by_role("button", name="The plots as one picture").click()
    assert Path(saved.value.path()).read_bytes().startswith(b"\x89PNG")
    wanted = {"As TOML": "[[flow]]", "As Python": "import vazao as vz", "As a command": "vazao run"}
    for name, content in wanted.items():
        page.get_by_role("button", name=name, exact=True).click()
        assert content in page.get_by_role("dialog").locator("textarea").input_value()
        page.keyboard.press("Escape")
    page.get_by_role("button", name="A link to this experiment").click()
    wait(page, "document.querySelector('dialog[open] textarea')?.value.includes('#')")


@pytest.mark.parametrize("lesson", ["", "schedulers", "fairness"])
def test_a_phone_shows_it_without_scrolling_sideways(opened: Open, lesson: str) -> None:
    page = opened(390, 844, has_touch=True)
    if lesson:
        choose_lesson(page, lesson)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_every_control_has_a_name(opened: Open) -> None:
    page = opened()
    choose_lesson(page, "slow-start")
    page.get_by_role("button", name="Edit flow 0").first.click()
    nameless = page.locator("button, select, input, canvas, textarea").evaluate_all(
        "all => all.filter(one => !one.getAttribute('aria-label') && !one.labels?.length && !one.textContent.trim())"
        ".map(one => one.outerHTML)"
    )
    assert nameless == []


def test_dark_is_the_systems_choice_or_the_readers(opened: Open) -> None:
    page = opened(color_scheme="dark")
    theme = "document.documentElement.dataset.theme"
    assert page.evaluate(theme) == "dark"
    page.get_by_role("button", name="Dark or light").click()
    assert page.evaluate(theme) == "light"


def test_text_of_a_scenario_is_never_markup(opened: Open) -> None:
    text = 'name = "</script><b>bold</b>"\nuntil = "1 s"\n[network]\ntopology = "point-to-point"\n'
    page = opened()
    write(page, text + 'link = { rate = "1 Mbps" }\n[[flow]]\napp = "upload"\n')
    assert page.locator("b", has_text="bold").count() == 0
    assert "</script><b>" not in play_page(text).text


def test_a_page_without_its_engine_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("vazao.seeing.page.FOLDER", tmp_path)
    with pytest.raises(ResultsError, match="make wasm"):
        play_page()
