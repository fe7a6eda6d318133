"""Notebook widgets: the messages of a kernel, and how a browser shows them side by side."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import vazao as vz
from browsers import Open, needs_chromium, opener
from test_play import wait
from vazao import widgets
from vazao.errors import ScenarioError
from vazao.widgets import extra

BUNDLE = Path(__file__).parents[2] / "python/vazao/seeing/static"

pytest.importorskip("anywidget", reason="anywidget is not installed: no widget is made")

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(not (BUNDLE / "widget.js").exists(), reason="the widget is not built; make web"),
    pytest.mark.skipif(not (BUNDLE / "engine.wasm").exists(), reason="the engine for pages is not built; make wasm"),
    # From the library below the widgets, during its import.
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]

HOSTILE = "</script><img src=x onerror=document.title='caught'>"

HOST = """<!doctype html><meta charset="utf-8"><title>notebook</title>
<style>body { font: 19px serif } button { color: rgb(1, 2, 3) }</style>
<button>The notebook's</button>
<script type="application/json" id="states">STATES</script>
<script type="module">
const { esm, states } = JSON.parse(document.getElementById("states").textContent);
const widget = (await import(URL.createObjectURL(new Blob([esm], { type: "text/javascript" })))).default;
window.keys = [];
addEventListener("keydown", ({ key }) => keys.push(key));
window.models = states.map((state) => {
  const listeners = {};
  const model = {
    saved: 0,
    get: (name) => state[name],
    set(name, value) {
      if (state[name] === value) return;
      state[name] = value;
      for (const listener of listeners[`change:${name}`] ?? []) listener();
    },
    on: (event, listener) => (listeners[event] ??= []).push(listener),
    off: (event, listener) => (listeners[event] = (listeners[event] ?? []).filter((one) => one !== listener)),
    save_changes: () => { model.saved += 1; },
    heard: () => Object.values(listeners).flat().length,
  };
  const el = document.createElement("div");
  document.body.append(el);
  model.close = widget.render({ model, el });
  return model;
});
document.body.dataset.shown = "";
</script>
"""
"""Page that hosts widgets as a notebook does: each with a model shared with Python, in its own element."""


def network() -> Any:
    return vz.dumbbell(bottleneck=vz.link("10 Mbps", "20 ms", queue="1 bdp"), pairs=2)


def laboratory(name: str = "python") -> widgets.Laboratory:
    flows = [vz.flow(vz.upload(), vz.tcp(cc=cc)) for cc in ("cubic", "reno")]
    return vz.play(network(), flows, until="5 s", name=name)


def viewer() -> widgets.View:
    result = vz.run(network(), [vz.flow(vz.upload("100 kB"))])
    return widgets.frames().View(result.view())


def host(path: Path, *shown: widgets.Frame) -> Path:
    states = [{key: value for key, value in each.get_state().items() if key != "_esm"} for each in shown]
    content = json.dumps({"esm": shown[0]._esm, "states": states}, ensure_ascii=False).replace("<", "\\u003c")
    path.write_text(HOST.replace("STATES", content), encoding="utf-8")
    return path


@pytest.fixture
def opened(browser: Any, tmp_path: Path) -> Iterator[Any]:
    """Opens widgets in one page, and returns it with the widgets' frames once they are drawn."""
    with opener(browser) as open_file:
        yield lambda *shown, **given: _frames(open_file, host(tmp_path / "notebook.html", *shown), **given)


def _frames(open_file: Open, file: Path, **given: Any) -> tuple[Any, list[Any]]:
    page = open_file(file, **given)
    page.wait_for_selector("body[data-shown]")
    frames = [each.content_frame() for each in page.query_selector_all("iframe")]
    for frame in frames:
        # Widgets out of view are not drawn.
        frame.frame_element().scroll_into_view_if_needed()
        frame.wait_for_selector("canvas")
        if frame.query_selector("#play"):
            frame.wait_for_selector('body[data-settled="true"]')
    return page, frames


def faster(frame: Any) -> None:
    """Moves the slider of the bottleneck's rate far to the right."""
    frame.get_by_role("button", name="Link bottleneck").press("Enter")
    frame.locator('.inspector input[type="range"]').first.press("End")


@needs_chromium
def test_a_slider_moves_the_scenario_that_python_has(opened: Any) -> None:
    before = laboratory()
    page, (frame,) = opened(before)
    assert page.evaluate("models[0].saved") == 0
    faster(frame)
    wait(page, "models[0].saved > 0")
    after = widgets.frames().Laboratory(before.page, toml=page.evaluate("models[0].get('toml')"))
    assert after.scenario.name == "python"
    assert after.scenario.run_id != before.scenario.run_id
    rates = [tomllib.loads(each.toml)["network"]["bottleneck"]["rate"] for each in (before, after)]
    assert rates[1] != rates[0]


@needs_chromium
def test_python_moves_the_page_and_is_not_told_its_own_words(opened: Any) -> None:
    shown = laboratory()
    page, (frame,) = opened(shown)
    other = shown.toml.replace("10 Mbps", "3 Mbps")
    page.evaluate("(toml) => models[0].set('toml', toml)", other)
    text = frame.get_by_label("TOML of the scenario")
    for _ in range(100):
        if text.input_value() == other:
            break
        page.wait_for_timeout(30)
    assert text.input_value() == other
    page.wait_for_timeout(600)
    assert page.evaluate("models[0].saved") == 0


@needs_chromium
def test_a_text_that_does_not_run_is_not_told(opened: Any) -> None:
    page, (frame,) = opened(laboratory())
    frame.get_by_label("TOML of the scenario").fill("[network]\ntopology = 'none'\n")
    page.wait_for_timeout(900)
    assert page.evaluate("models[0].saved") == 0


@needs_chromium
def test_widgets_disturb_neither_each_other_nor_the_notebook(opened: Any) -> None:
    page, frames = opened(laboratory(), laboratory(), viewer())
    assert len(frames) == 3
    faster(frames[0])
    wait(page, "models[0].saved > 0")
    assert page.evaluate("models[1].saved + models[2].saved") == 0
    # Keys of one widget affect no other.
    frames[2].get_by_role("button", name="Dark or light").press("t")
    assert [frame.evaluate("document.documentElement.dataset.theme") for frame in frames] == ["light", "light", "dark"]
    assert page.evaluate("keys") == []
    assert page.evaluate("'theme' in document.documentElement.dataset") is False
    assert page.evaluate("getComputedStyle(document.body).font").startswith("19px")
    assert page.evaluate("getComputedStyle(document.querySelector('button')).color") == "rgb(1, 2, 3)"


@needs_chromium
def test_a_closed_widget_leaves_nothing(opened: Any) -> None:
    page, _ = opened(laboratory())
    assert page.evaluate("models[0].heard()") > 0
    page.evaluate("models[0].close()")
    assert page.evaluate("[models[0].heard(), document.querySelectorAll('iframe').length]") == [0, 0]


@needs_chromium
def test_only_its_own_page_speaks_to_a_widget(opened: Any) -> None:
    page, (frame,) = opened(laboratory())
    page.evaluate("postMessage({ vazao: { toml: 'name = \"mine\"' } }, '*')")
    page.wait_for_timeout(200)
    assert "mine" not in page.evaluate("models[0].get('toml')")
    # Its origin is opaque: it reaches neither the notebook nor the browser's storage.
    assert frame.evaluate("origin") == "null"
    assert frame.evaluate("(() => { try { return parent.document.title } catch { return 'refused' } })()") == "refused"


@needs_chromium
def test_a_name_is_no_markup(opened: Any) -> None:
    page, (frame,) = opened(laboratory(HOSTILE))
    assert frame.query_selector("img") is None
    assert page.title() == "notebook"
    assert HOSTILE in frame.title()


@needs_chromium
def test_dialogs_close_in_a_frame(opened: Any) -> None:
    _, (frame,) = opened(laboratory())
    assert frame.get_by_role("button", name="A link to this experiment").count() == 0
    frame.get_by_role("button", name="As TOML").click()
    frame.get_by_role("button", name="Close").click()
    assert frame.query_selector("dialog[open]") is None


def test_a_notebook_shows_widgets_and_an_export_pages() -> None:
    notebooks = pytest.importorskip("nbformat", reason="nbformat is not installed: no notebook is run")
    clients = pytest.importorskip("nbclient", reason="nbclient is not installed: no notebook is run")
    pytest.importorskip("ipykernel", reason="ipykernel is not installed: no notebook is run")
    cells = [
        'import vazao as vz\nnet = vz.dumbbell(bottleneck=vz.link("10 Mbps", "20 ms"))\nflows = [vz.flow("1 MB")]',
        "vz.run(net, flows).view()",
        "laboratory = vz.play(net, flows, seed=7)\nlaboratory",
        "laboratory.scenario.seed",
    ]
    cells[0] = cells[0].replace('"1 MB"', 'vz.upload("1 MB")')
    book = notebooks.v4.new_notebook(cells=[notebooks.v4.new_code_cell(cell) for cell in cells])
    clients.NotebookClient(book, kernel_name="python3", timeout=120).execute()
    shown = [cell.outputs[0].data for cell in book.cells[1:]]
    assert shown[2]["text/plain"] == "7"
    for data, name in zip(shown, ["View('python')", "Laboratory('python – Vazão')"], strict=False):
        assert "application/vnd.jupyter.widget-view+json" in data
        assert data["text/plain"] == name
        assert data["text/html"].startswith('<iframe sandbox="allow-scripts')


def test_outside_a_notebook_a_view_is_a_page(tmp_path: Path) -> None:
    page = vz.run(network(), [vz.flow(vz.upload("10 kB"))]).view()
    assert type(page).__name__ == "Page"
    assert laboratory().save(tmp_path / "play.html").read_text(encoding="utf-8").startswith("<!doctype html>")


def test_a_missing_library_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extra, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match=re.escape("pip install 'vazao[notebook]'")):
        vz.play("interop-loss")
    assert type(vz.run(network(), [vz.flow(vz.upload("10 kB"))]).view()).__name__ == "Page"


def test_an_experiment_is_played_as_it_was_changed(tmp_path: Path) -> None:
    file = tmp_path / "wan.toml"
    file.write_text(laboratory().toml, encoding="utf-8")
    experiment = vz.load(file)
    assert vz.play(experiment).toml == file.read_text(encoding="utf-8")
    changed = experiment.set({"network.bottleneck.queue": "20 packets", "flow.1.transport.cc": "bbr"})
    for each in (changed, vz.load(file)):
        assert vz.play(each).scenario.run_id == each.scenario.run_id


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        (lambda: vz.play(network()), r"flows: are missing"),
        (lambda: vz.play("interop-loss", seed=2), r"seed: goes with a network"),
        (lambda: vz.play("hstcp-2010"), r"is a study"),
        (lambda: vz.play(3), r"int: cannot be played"),
        (lambda: vz.play(vz.load("interop-loss").vary("seed", [1, 2])), r"seed: is varied"),
        (lambda: vz.play(network(), [vz.flow(vz.upload(), vz.tcp(cc=Mine))]), r"Mine: is a class of yours"),
    ],
)
def test_what_no_page_plays_is_said(call: Any, problem: str) -> None:
    with pytest.raises(ScenarioError, match=problem):
        call()


class Mine(vz.CongestionControl):
    def on_ack(self, *told: Any) -> None:
        """Leaves the window as it is."""
