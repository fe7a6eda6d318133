"""The page that draws recordings: a browser shows every panel, and it responds to pointer and keys."""

import base64
import gzip
import html
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from browsers import Open, needs_chromium, opener
from vazao import _core
from vazao.seeing import page as template

ROOT = Path(__file__).parents[2]
BUNDLE = ROOT / "python/vazao/seeing/static"


pytestmark = [
    needs_chromium,
    pytest.mark.skipif(not (BUNDLE / "viewer.js").exists(), reason="the viewer is not built; make web"),
]


def filled(recordings: dict[str, bytes]) -> str:
    """Fills the page's placeholders with recordings (web/README.md)."""
    embedded = [
        f'<script type="application/octet-stream" data-recording data-name="{html.escape(name)}">'
        f"{base64.b64encode(gzip.compress(recording, 6)).decode()}</script>"
        for name, recording in recordings.items()
    ]
    return template.page("view.html", "viewer", {"TITLE": "Two runs", "RECORDINGS": "\n".join(embedded)})


UPLOAD = """
name = "One loss"
until = "4 s"
[network]
topology = "custom"
hosts = ["client", "server"]
routers = ["router"]
link = [
    { from = "client", to = "router", rate = "100 Mbps", delay = "1 ms" },
    { from = "router", to = "server", rate = "10 Mbps", delay = "20 ms", queue = "60 ms" },
]
[[flow]]
app = "upload"
transport = { kind = "tcp", cc = "reno", slow_start = "standard" }
"""

PATHS = """
name = "Two paths"
until = "10 s"
[network]
topology = "multipath"
path = [{ rate = "10 Mbps", delay = "12 ms" }, { rate = "5 Mbps", delay = "18 ms" }]
[[flow]]
app = { kind = "video", duration = "8 s", ladder = ["1 Mbps"] }
transport = { kind = "sctp", cmt = true }
"""


def record(toml: str, packets: int = 100_000) -> bytes:
    recording = _core.run(_core.load(toml), recording=packets).recording
    assert recording is not None
    return recording


def with_markup(recording: bytes) -> bytes:
    """The recording with markup in place of the bytes that segments say they carry."""
    return re.sub(rb"bytes \d+ to \d+ \(1448 B\)", lambda it: b"<b>not markup</b>".ljust(len(it[0])), recording)


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Pages of one run, of a flow over two paths, of two runs that differ, and of two identical ones."""
    folder = tmp_path_factory.mktemp("view")
    one, paths = record(UPLOAD), record(PATHS)
    other = record(UPLOAD.replace('"reno"', '"scalable"'))
    (folder / "one.rec").write_bytes(one)
    contents = {
        "one": {"One loss": one},
        "paths": {"Two paths": paths},
        "differ": {"<b>Reno</b>": with_markup(one), "Scalable": other},
        "same": {"first": one, "second": one},
        "broken": {"cut": one[: len(one) // 2]},
        "empty": {},
    }
    made = {}
    for name, recordings in contents.items():
        made[name] = folder / f"{name}.html"
        made[name].write_text(filled(recordings), encoding="utf-8")
    return made


@pytest.fixture
def opened(browser: Any, pages: dict[str, Path], recorded: dict[str, Path]) -> Iterator[Open]:
    """Opens a page by name and waits until it is drawn."""
    with opener(browser) as open_file:

        def open_page(name: str, *size: int, **given: Any) -> Any:
            page = open_file((pages | recorded)[name], *size, **given)
            page.wait_for_selector("main :first-child")
            page.wait_for_timeout(150)
            return page

        yield open_page


APPLICATIONS = {
    "page": ('{ kind = "page", objects = 12, size = "20 kB" }', '{ kind = "tcp" }'),
    "streams": ('{ kind = "upload", size = "500 kB" }', '{ kind = "quic", streams = 3, cc = "bbr" }'),
    "video": ('{ kind = "video", duration = "20 s", ladder = ["1 Mbps"] }', '{ kind = "tcp" }'),
}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Pages of runs by the engine."""
    folder, made = tmp_path_factory.mktemp("recorded"), {}
    link = '{ rate = "4 Mbps", delay = "20 ms", loss = 0.02, queue = "50 packets" }'
    network = f'[network]\ntopology = "point-to-point"\nlink = {link}\n'
    for name, (app, transport) in APPLICATIONS.items():
        toml = f'name = "{name}"\nuntil = "60 s"\n{network}[[flow]]\napp = {app}\ntransport = {transport}\n'
        made[name] = folder / f"{name}.html"
        made[name].write_text(filled({name: record(toml)}), encoding="utf-8")
    # The last of them again, with only 500 packets kept.
    made["cut"] = folder / "cut.html"
    made["cut"].write_text(filled({"cut": record(toml, 500)}), encoding="utf-8")
    return made


def drawn(page: Any, panel: str) -> int:
    """Number of colours in a panel's canvas, once it is in view."""
    page.locator(f"#{panel}").scroll_into_view_if_needed()
    page.wait_for_timeout(120)
    script = """id => {
        const canvas = document.querySelector(`#${id} canvas`);
        const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
        const colours = new Set(new Uint32Array(data.buffer));
        return colours.size;
    }"""
    return int(page.evaluate(script, panel))


def ticks(page: Any) -> str:
    """Image of a time axis: it changes when the axis does."""
    return str(page.evaluate("document.querySelector('#panel-rtt canvas').toDataURL()"))


def test_every_panel_draws(opened: Open) -> None:
    page = opened("one")
    panels = page.locator(".panel").evaluate_all("panels => panels.map(panel => panel.id)")
    wanted = {"sequence", "network", "spacetime", "windows", "rtt", "rates", "queues"}
    assert {f"panel-{name}" for name in wanted} <= set(panels)
    assert {panel: drawn(page, panel) for panel in panels if drawn(page, panel) < 8} == {}


def shades(page: Any, panel: str) -> list[list[int]]:
    """Colours of a drawing's columns, low in a panel and away from its grid."""
    script = """id => {
        const canvas = document.querySelector(`#${id} canvas`);
        const { left, top, width, height } = document.querySelector(`#${id} .u-over`).getBoundingClientRect();
        const own = canvas.getBoundingClientRect();
        const { data } = canvas.getContext('2d')
            .getImageData(left - own.left, top - own.top + height - 3, Math.floor(width), 1);
        return Array.from({ length: Math.floor(width) }, (_, x) => [...data.slice(4 * x, 4 * x + 4)]);
    }"""
    return list(page.evaluate(script, f"panel-{panel}"))


def test_what_was_not_kept_of_a_run_is_shaded(opened: Open) -> None:
    page = opened("cut")
    note = page.locator(".note").inner_text()
    assert re.match(r"cut: the first 500 of [\d\s]+ packets were kept; .* ends where the shade begins", note), note
    narrow = shades(page, "sequence")
    # The shade is a translucent grey: about equal red, green and blue, and not zero.
    shade = narrow[-10]
    assert shade[3] > 0
    assert max(shade[:3]) - min(shade[:3]) < 30
    assert 20 < narrow.count(shade) < len(narrow) // 6
    page.get_by_text("All", exact=True).click()
    page.wait_for_timeout(200)
    wide = shades(page, "spacetime")
    assert wide.count(wide[-10]) > len(wide) // 3


FAINT = """() => {
    const channel = (c) => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
    const parse = (text) => text.match(/[\\d.]+/g).map(Number);
    const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
    const paper = (e) => {
        for (; e; e = e.parentElement) {
            const colour = parse(getComputedStyle(e).backgroundColor);
            if ((colour[3] ?? 1) === 1) return colour;
        }
        return [255, 255, 255];
    };
    return [...document.querySelectorAll('button:enabled, .key, .note, .clock')].flatMap((e) => {
        if (!e.offsetParent) return [];
        let alpha = 1;
        for (let up = e; up; up = up.parentElement) alpha *= Number(getComputedStyle(up).opacity);
        const [under, ink] = [paper(e), parse(getComputedStyle(e).color)];
        const seen = ink.slice(0, 3).map((c, i) => c * alpha + under[i] * (1 - alpha));
        const [a, b] = [light(seen), light(under)].sort((x, y) => y - x);
        const [contrast, size] = [(a + 0.05) / (b + 0.05), parseFloat(getComputedStyle(e).fontSize)];
        return contrast < 4.5 || size < 12 ? [`${e.textContent}: ${contrast.toFixed(1)}, ${size} px`] : [];
    });
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_what_is_written_can_be_read(opened: Open, scheme: str) -> None:
    """WCAG 2.2, 1.4.3: a contrast of at least 4.5, by its own formula for the luminance of sRGB."""
    assert opened("one", color_scheme=scheme).evaluate(FAINT) == []


def test_zoom_moves_all_panels(opened: Open) -> None:
    page = opened("one", height=2600)
    before = {panel: picture(page, panel) for panel in ("sequence", "windows", "rtt", "rates", "queues", "spacetime")}
    box = page.locator("#panel-sequence .u-over").bounding_box()
    page.mouse.move(box["x"] + box["width"] / 3, box["y"] + 100)
    page.mouse.wheel(0, -600)
    page.wait_for_timeout(200)
    assert [panel for panel, old in before.items() if picture(page, panel) == old] == []
    page.keyboard.press("Home")
    page.mouse.move(5, 5)
    page.wait_for_timeout(200)
    assert [panel for panel, old in before.items() if picture(page, panel) != old] == []


def picture(page: Any, panel: str) -> str:
    return str(page.evaluate(f"document.querySelector('#panel-{panel} canvas').toDataURL()"))


def test_a_drag_with_shift_shows_what_it_covers(opened: Open) -> None:
    page = opened("one")
    page.locator("#panel-rtt").scroll_into_view_if_needed()
    page.wait_for_timeout(100)
    before = ticks(page)
    box = page.locator("#panel-rtt .u-over").bounding_box()
    page.keyboard.down("Shift")
    page.mouse.move(box["x"] + 200, box["y"] + 100)
    page.mouse.down()
    page.mouse.move(box["x"] + 260, box["y"] + 120, steps=4)
    page.mouse.up()
    page.keyboard.up("Shift")
    page.wait_for_timeout(150)
    assert ticks(page) != before
    assert page.locator(".brush").first.is_hidden()


def test_a_click_opens_the_packet_and_keys_step(opened: Open) -> None:
    page = opened("one")
    box = page.locator("#panel-sequence .u-over").bounding_box()
    page.mouse.click(box["x"] + 3, box["y"] + box["height"] - 10)
    panel = page.locator(".packet")
    panel.wait_for(state="visible")
    assert "ACK, bytes" in panel.locator(".words").inner_text()
    assert "client → router" in panel.inner_text()
    first = panel.locator("h2").inner_text()
    page.keyboard.press("n")
    second = panel.locator("h2").inner_text()
    assert second != first
    page.keyboard.press("p")
    assert panel.locator("h2").inner_text() == first
    page.get_by_label("Next packet (n)").click()
    assert panel.locator("h2").inner_text() == second
    page.keyboard.press("Escape")
    assert panel.is_hidden()


def test_text_of_a_recording_is_never_markup(opened: Open) -> None:
    page = opened("differ")
    page.keyboard.press("d")
    for _ in range(8):
        page.keyboard.press("n")
        if "markup" in page.locator(".packet .words").inner_text():
            break
    assert "<b>not markup</b>" in page.locator(".packet .words").inner_text()
    assert "<b>Reno</b>" in page.locator(".legend.runs").inner_text()
    assert page.locator(".packet b, .legend.runs b, .note b").count() == 0


def test_the_first_difference_is_found_and_marked(opened: Open) -> None:
    page = opened("differ")
    note = page.locator(".note").inner_text()
    assert re.match(r"First difference: (client|server)’s packet", note), note
    before = ticks(page)
    page.get_by_role("button", name="Go to the first difference").click()
    page.wait_for_timeout(200)
    assert ticks(page) != before
    # The differing packet is opened, and it is the one reported.
    sent = page.locator(".packet dd").nth(2).inner_text()
    assert f"at {sent}" in note


def test_runs_that_are_the_same_say_so(opened: Open) -> None:
    page = opened("same")
    assert page.locator(".note").inner_text().startswith("No difference")
    assert page.get_by_role("button", name="Go to the first difference").is_disabled()


def test_paths_can_be_chosen(opened: Open) -> None:
    page = opened("paths")
    legend = page.locator("#panel-sequence .legend")
    assert "path 1" in legend.inner_text()
    before = picture(page, "sequence")
    page.get_by_label("Path", exact=True).select_option(label="Path 1")
    page.wait_for_timeout(150)
    assert picture(page, "sequence") != before
    assert page.locator("#panel-other-buffer").count() == 1


def pixels(page: Any, panel: str, colour: tuple[int, int, int]) -> int:
    """Number of pixels of a given colour in a panel."""
    page.locator(f"#panel-{panel}").scroll_into_view_if_needed()
    page.wait_for_timeout(120)
    script = """([id, wanted]) => {
        const canvas = document.querySelector(`#panel-${id} canvas`);
        const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
        let count = 0;
        for (let at = 0; at < data.length; at += 4) count += wanted.every((part, which) => data[at + which] === part);
        return count;
    }"""
    return int(page.evaluate(script, [panel, list(colour)]))


WAITING = (0xE6, 0x9F, 0x00)


@pytest.mark.parametrize(("name", "panel"), [("page", "objects"), ("streams", "streams")])
def test_data_that_waits_for_earlier_data_is_seen(opened: Open, name: str, panel: str) -> None:
    page = opened(name)
    assert pixels(page, panel, WAITING) > 20
    legend = page.locator(f"#panel-{panel} .legend")
    # At the end of the run everything has been read, and nothing waits.
    box = page.locator(f"#panel-{panel} .u-over").bounding_box()
    page.mouse.move(box["x"] + box["width"] - 1, box["y"] + 5)
    page.wait_for_timeout(150)
    assert ("12 of 12" if name == "page" else "500 kB") in legend.inner_text()
    assert "earlier data0 B" in legend.inner_text().replace("\n", "").replace("data 0", "data0")
    other = "streams" if panel == "objects" else "objects"
    assert page.locator(f"#panel-{other}").count() == 0


def test_phases_timeouts_and_paces_are_drawn(opened: Open) -> None:
    page = opened("streams")
    assert {"Startup", "Drain", "ProbeBW: cruise"} <= set(page.locator("#panel-windows .key").all_inner_texts())
    assert "pacing rate" in page.locator("#panel-rates .legend").inner_text()
    assert "retransmission timeout" in page.locator("#panel-rtt .legend").inner_text()


def test_what_a_sender_waits_for_has_a_strip_and_a_word(opened: Open) -> None:
    """Reno's window is the limit in the middle of the run, and after the last loss has been repaired."""
    page = opened("one", height=2600)
    panel = page.locator("#panel-limits")
    legend = panel.locator(".legend").inner_text()
    assert {"handshake", "slow start", "loss recovery", "congestion avoidance"} <= set(legend.splitlines())
    assert page.locator("#panel-other-limit").count() == 0
    assert pixels(page, "limits", (0x00, 0x72, 0xB2)) > 1000
    box = panel.locator(".u-over").bounding_box()
    seen = []
    for share in (0.001, 0.9):
        page.mouse.move(box["x"] + box["width"] * share, box["y"] + 5)
        page.wait_for_timeout(150)
        seen.append(panel.locator(".key b").inner_text())
    assert seen == ["handshake", "congestion avoidance"]


def test_runs_over_each_other_have_a_strip_each(opened: Open) -> None:
    page = opened("differ")
    legend = page.locator("#panel-limits .legend").inner_text()
    assert {"run 1: <b>Reno</b>", "run 2: Scalable"} <= set(re.split(r"\n", legend)), legend


def test_a_videos_buffer_is_read_between_its_points(opened: Open) -> None:
    page = opened("video")
    panel = page.locator("#panel-other-buffer")
    panel.scroll_into_view_if_needed()
    box = panel.locator(".u-over").bounding_box()
    seen = []
    for share in (0.5, 0.505, 0.51):
        page.mouse.move(box["x"] + box["width"] * share, box["y"] + 20)
        page.wait_for_timeout(120)
        seen.append(panel.locator(".key b").inner_text())
    assert len(set(seen)) == 3, "it falls while the video plays"


def test_a_packet_has_its_numbers_in_captures(opened: Open) -> None:
    page = opened("page")
    page.keyboard.press("n")
    facts = page.locator(".packet dl").inner_text()
    assert re.search(r"In captures\s+1 at a\.1, 1 at b\.1", facts), facts


def test_panels_zoom_vertically_by_pointer_and_keys(opened: Open) -> None:
    page = opened("page", height=2600)
    whole = {panel: picture(page, panel) for panel in ("windows", "rtt")}
    box = page.locator("#panel-windows .scale").bounding_box()
    fit = page.locator("#panel-windows").get_by_role("button", name="Show all of Windows vertically")
    assert fit.is_hidden()
    page.mouse.move(box["x"] + 10, box["y"] + box["height"] * 0.2)
    page.mouse.down()
    page.mouse.move(box["x"] + 10, box["y"] + box["height"] * 0.6, steps=4)
    page.mouse.up()
    page.wait_for_timeout(150)
    part = picture(page, "windows")
    assert part != whole["windows"]
    assert picture(page, "rtt") == whole["rtt"], "the other panels stay"
    assert fit.is_visible()
    page.mouse.dblclick(box["x"] + 10, box["y"] + 20)
    page.mouse.move(2, 2)
    page.keyboard.press("Home")
    page.wait_for_timeout(150)
    assert fit.is_hidden()
    inside = page.locator("#panel-windows .u-over").bounding_box()
    page.mouse.move(inside["x"] + 50, inside["y"] + 50)
    page.keyboard.down("Alt")
    page.mouse.wheel(0, -300)
    page.keyboard.up("Alt")
    page.wait_for_timeout(150)
    assert fit.is_visible()
    # Dragging pans a zoomed panel vertically, too.
    before = picture(page, "windows")
    page.mouse.down()
    page.mouse.move(inside["x"] + 50, inside["y"] + 90, steps=4)
    page.mouse.up()
    page.wait_for_timeout(150)
    assert picture(page, "windows") != before
    fit.click()
    page.locator("#panel-rtt").focus()
    for key in ("y", "k", "j"):
        old = picture(page, "rtt")
        page.keyboard.press(key)
        page.wait_for_timeout(150)
        assert picture(page, "rtt") != old, key
    assert fit.is_hidden(), "keys are the panel's that has the focus"
    page.keyboard.press("f")
    page.mouse.move(2, 2)
    page.wait_for_timeout(150)
    assert page.locator("#panel-rtt").get_by_role("button", name="vertically").is_hidden()


def test_keys_pan_play_and_help(opened: Open) -> None:
    page = opened("one")
    page.keyboard.press("+")
    page.keyboard.press("+")
    page.wait_for_timeout(100)
    before = picture(page, "sequence")
    page.keyboard.press("ArrowRight")
    page.wait_for_timeout(100)
    assert picture(page, "sequence") != before
    clock = page.locator(".clock").inner_text()
    page.keyboard.press(" ")
    page.wait_for_timeout(400)
    page.keyboard.press(" ")
    assert page.locator(".clock").inner_text() != clock
    page.keyboard.press("?")
    assert page.get_by_role("dialog").is_visible()
    assert "first difference" in page.get_by_role("dialog").inner_text()
    page.keyboard.press("Escape")
    assert not page.get_by_role("dialog").is_visible()


TEN = 10
"""Files that Chromium lets a page save; it holds back the next."""


@pytest.mark.parametrize("kind", ["SVG", "PNG"])
def test_panels_are_saved_as_pictures(opened: Open, kind: str) -> None:
    page = opened("one")
    for nth in range(page.locator(".panel").count()):
        page = opened("one") if nth and nth % TEN == 0 else page
        panel = page.locator(".panel").nth(nth)
        panel.scroll_into_view_if_needed()
        title = panel.locator("h2").inner_text()
        with page.expect_download() as saved:
            panel.get_by_role("button", name=f"Save {title} as {kind}").click()
        picture = Path(saved.value.path()).read_bytes()
        if kind == "PNG":
            assert picture.startswith(b"\x89PNG"), title
            continue
        assert picture.startswith(b"<svg"), title
        assert b"<path" in picture, title
        assert b"NaN" not in picture, title


@pytest.mark.parametrize("name", ["one", "paths", "differ", "page", "streams", "video"])
def test_a_phone_shows_it_without_scrolling_sideways(opened: Open, name: str) -> None:
    page = opened(name, width=390, height=844, has_touch=True)
    page.keyboard.press("n")
    page.wait_for_timeout(100)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_every_control_has_a_name(opened: Open) -> None:
    page = opened("differ")
    page.keyboard.press("n")
    nameless = page.locator("button, select, input, canvas").evaluate_all(
        "all => all.filter(one => !one.getAttribute('aria-label') && !one.textContent.trim()).map(one => one.outerHTML)"
    )
    assert nameless == []


def test_dark_is_the_systems_choice_or_the_readers(opened: Open) -> None:
    page = opened("one", color_scheme="dark")
    theme = "document.documentElement.dataset.theme"
    assert page.evaluate(theme) == "dark"
    page.keyboard.press("t")
    assert page.evaluate(theme) == "light"


def test_what_cannot_be_read_is_said(opened: Open) -> None:
    page = opened("broken")
    assert "cut short" in page.locator(".failure").inner_text()


def test_a_page_without_recordings_opens_files(opened: Open, pages: dict[str, Path]) -> None:
    page = opened("empty")
    page.get_by_label("Recordings to open").set_input_files([pages["one"].with_name("one.rec")])
    page.wait_for_selector("#panel-sequence")
