"""Drawing a network in the laboratory: by pointer, by keyboard, on a phone, and in the TOML beside it."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from browsers import needs_chromium, opener
from test_play import file, pytestmark as built, settled, toml, write

__all__ = ["file"]

pytestmark = [needs_chromium, *built]

DRAW = "Make this network a drawing, which is changed by hand"
UNDO = "Take back the last change (Ctrl-Z)"


@pytest.fixture(params=[(1280, 900), (390, 844)], ids=["desktop", "phone"])
def page(request: pytest.FixtureRequest, browser: Any, file: Path) -> Iterator[Any]:
    with opener(browser) as open_file:
        shown = open_file(file, *request.param)
        settled(shown)
        yield shown
        assert shown.evaluate("document.documentElement.scrollWidth <= innerWidth")


def press(page: Any, name: str) -> None:
    """Press a button by keyboard."""
    page.get_by_role("button", name=name, exact=True).press("Enter")
    page.wait_for_timeout(100)
    settled(page)


def pick(page: Any, label: str, name: str) -> None:
    page.get_by_label(label, exact=True).select_option(name)
    page.wait_for_timeout(100)
    settled(page)


def network(page: Any) -> dict[str, Any]:
    return tomllib.loads(toml(page))["network"]  # type: ignore[no-any-return]


def events(page: Any) -> int:
    return int(page.evaluate("vazaoPlay.lab.result.tables.runs.events[0]"))


def middle(page: Any, name: str) -> tuple[float, float]:
    box = page.get_by_role("button", name=name, exact=True).locator(".node").bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def drag(page: Any, name: str, to: tuple[float, float]) -> None:
    page.mouse.move(*middle(page, name))
    page.mouse.down()
    page.mouse.move(*to, steps=6)
    page.mouse.up()
    page.wait_for_timeout(100)
    settled(page)


def test_a_drawing_is_the_same_network(page: Any) -> None:
    rows, before = page.locator(".numbers-table tbody").inner_text(), events(page)
    press(page, DRAW)
    assert network(page)["topology"] == "custom"
    assert (page.locator(".numbers-table tbody").inner_text(), events(page)) == (rows, before)


def test_keys_alone_draw_a_detour(page: Any) -> None:
    press(page, DRAW)
    press(page, "Add a router")
    pick(page, "Link R3 to", "R1")
    pick(page, "Link R3 to", "R2")
    assert network(page)["routers"] == ["R1", "R2", "R3"]
    before = events(page)
    page.get_by_role("button", name="Link bottleneck", exact=False).press("Delete")
    settled(page)
    names = [link.get("name", f"{link['from']}-{link['to']}") for link in network(page)["link"]]
    assert "bottleneck" not in names
    assert {"R3-R1", "R3-R2"} <= set(names)
    assert events(page) != before
    assert page.locator(".fault").count() == 0 or page.locator(".fault").is_hidden()


def test_a_link_is_dragged_and_a_node_is_put_elsewhere(page: Any) -> None:
    press(page, DRAW)
    page.locator(".map").scroll_into_view_if_needed()
    count = len(network(page)["link"])
    drag(page, "Host left1", middle(page, "Host left2"))
    links = network(page)["link"]
    assert len(links) == count + 1
    assert (links[-1]["from"], links[-1]["to"]) == ("left1", "left2")
    text, (x, y) = toml(page), middle(page, "Router R1")
    drag(page, "Router R1", (x + 4, y + 40))
    assert toml(page) == text
    assert abs(middle(page, "Router R1")[1] - y - 40) < 3
    page.wait_for_timeout(500)
    page.reload()
    settled(page)
    assert abs(middle(page, "Router R1")[1] - y - 40) < 3


def test_changes_are_taken_back(page: Any) -> None:
    before = toml(page)
    press(page, DRAW)
    drawn = toml(page)
    page.get_by_role("button", name="Host left2", exact=True).press("Delete")
    settled(page)
    assert "left2" not in toml(page)
    assert len(tomllib.loads(toml(page))["flow"]) == 1
    press(page, UNDO)
    assert toml(page) == drawn
    page.get_by_role("button", name="Host left2", exact=True).focus()
    page.keyboard.press("Control+z")
    settled(page)
    assert toml(page) == before
    assert page.get_by_role("button", name=UNDO).is_disabled()


def test_a_node_is_renamed_and_sends_to_another(page: Any) -> None:
    press(page, DRAW)
    press(page, "Add a host")
    name = page.get_by_label("Name of h1", exact=True)
    name.fill("left1")
    name.press("Tab")
    assert page.locator(".inspector .failure").inner_text() == "There is a node left1 already."
    name.fill("no name")
    name.press("Tab")
    assert "letters" in page.locator(".inspector .failure").inner_text()
    name.fill("probe")
    name.press("Tab")
    settled(page)
    pick(page, "Link probe to", "R1")
    pick(page, "Flow from probe to", "right2")
    flow = tomllib.loads(toml(page))["flow"][-1]
    assert (flow["client"], flow["server"]) == ("probe", "right2")
    assert page.locator(".numbers-table tbody tr").count() == 3


def test_the_text_changes_the_drawing_and_its_faults_are_told(page: Any) -> None:
    press(page, DRAW)
    write(page, toml(page).replace('routers = ["R1", "R2"]', 'routers = ["R1", "R2", "aside"]'))
    assert page.get_by_role("button", name="Router aside", exact=True).count() == 1
    write(page, toml(page).replace('from = "R1", to = "R2"', 'from = "R1", to = "aside"'))
    assert "right1" in page.locator("[role=alert]").first.inner_text()
    assert page.locator(".status").inner_text() == "The last setting that ran is shown."


def test_a_finger_links_two_nodes(browser: Any, file: Path) -> None:
    context = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    page = context.new_page()
    page.goto(file.as_uri())
    settled(page)
    press(page, DRAW)
    (x, y), (to_x, to_y) = middle(page, "Host left1"), middle(page, "Host left2")
    finger = context.new_cdp_session(page)

    def touch(kind: str, *points: tuple[float, float]) -> None:
        touches = [{"x": x, "y": y} for x, y in points]
        finger.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": touches})

    touch("touchStart", (x, y))
    for part in (0.2, 0.4, 0.6, 0.8, 1.0):
        touch("touchMove", (x + (to_x - x) * part, y + (to_y - y) * part))
        page.wait_for_timeout(20)
    touch("touchEnd")
    settled(page)
    link = network(page)["link"][-1]
    assert (link["from"], link["to"]) == ("left1", "left2")
    context.close()
