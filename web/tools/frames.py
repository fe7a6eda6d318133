"""Measures how fast the viewer opens a large recording and moves through it, in headless Chromium.

Make a recording of a large run with `python web/tools/recorded.py < large.toml > large.rec`, and run
`python web/tools/frames.py large.rec`.
"""

import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

WEB = Path(__file__).parents[1]
STATIC = WEB.parent / "python/vazao/seeing/static"

MOVE = """async () => {
    // Each step is one frame's work: the sequence of wheel events that a reader's hand makes, in and out and along.
    const over = document.querySelector('#panel-sequence .u-over');
    const box = over.getBoundingClientRect();
    const frame = () => new Promise(requestAnimationFrame);
    const spent = [];
    const gaps = [];
    let last = await frame();
    for (let step = 0; step < 180; step++) {
        const wheel = step % 3 === 2 ? { deltaX: 40 } : { deltaY: step < 90 ? -60 : 60 };
        const at = { clientX: box.left + box.width / 2, clientY: box.top + 100 };
        over.dispatchEvent(new WheelEvent('wheel', { ...wheel, ...at, cancelable: true }));
        const start = performance.now();
        const now = await frame();  // after the viewer's own callback, which was asked for earlier
        spent.push(performance.now() - now);
        gaps.push(now - last);
        last = now;
    }
    const at = (list, share) => list.sort((a, b) => a - b)[Math.floor((list.length - 1) * share)].toFixed(1);
    return `script of a frame: median ${at(spent, 0.5)} ms, 95 % ${at(spent, 0.95)} ms; ` +
        `between frames: median ${at(gaps, 0.5)} ms, 95 % ${at(gaps, 0.95)} ms`;
}"""

OPEN = """async input => {
    const { view } = window.vazao;
    const buffer = await input.files[0].arrayBuffer();
    const start = performance.now();
    const { packets, hops, series } = view(document.getElementById('view'), [buffer]).model.runs[0].recording;
    const script = performance.now() - start;
    await new Promise(requestAnimationFrame);
    await new Promise(done => setTimeout(done));
    const points = packets.count + hops.time.length + series.reduce((sum, { time }) => sum + time.length, 0);
    const all = (performance.now() - start).toFixed(0);
    return `${(points / 1e6).toFixed(1)} million points: script ${script.toFixed(0)} ms, drawn after ${all} ms`;
}"""


def main(recording: str) -> None:
    """Prints how long opening and moving took."""
    page_file = Path(recording).with_suffix(".frames.html")
    style, script = (STATIC / "viewer.css").read_text(), (STATIC / "viewer.js").read_text()
    page_file.write_text(
        f'<!doctype html><meta charset="utf-8"><style>{style}</style><main id="view"></main>'
        f'<input id="given" type="file"><script>{script}</script>',
        encoding="utf-8",
    )
    with sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox", "--disable-gpu"])
        page = chromium.new_page(viewport={"width": 1400, "height": 900})
        page.goto(page_file.resolve().as_uri())
        given = page.locator("#given")
        given.set_input_files(recording)
        print(given.evaluate(OPEN))
        print(page.evaluate(MOVE))
        chromium.close()
    page_file.unlink()


if __name__ == "__main__":
    main(sys.argv[1])
