"""Creates docs/images/pages: screenshots of the viewer, the explorer and the laboratory, and an animated laboratory.

.venv/bin/python docs/pages.py (needs chromium, `make web` and `make wasm`)
"""

from __future__ import annotations

import io
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import sync_playwright

IMAGES = Path(__file__).parent / "images" / "pages"
VAZAO = str(Path(sys.executable).parent / "vazao")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]

COMPARED = """\
name = "CUBIC and BBR"
until = "8 s"

[network]
topology = "dumbbell"
access = { rate = "100 Mbps", delay = "5 ms" }
bottleneck = { rate = "10 Mbps", delay = "20 ms", queue = "2 bdp", loss = 0.0005 }

[[flow]]
app = { kind = "upload" }
transport = { kind = "tcp", cc = "cubic" }
"""
"""Scenario that the viewer shows, compared with itself under another congestion control."""

STEPS = 26
"""Number of frames of the animated laboratory, a quarter of a second each: a slider goes down, and up again."""

FRAME_MS = 250
COLOURS = 96


def vazao(*arguments: str) -> None:
    """Run a command that must succeed."""
    subprocess.run([VAZAO, *arguments], check=True, stdout=subprocess.DEVNULL)


def keep(picture: bytes, name: str) -> None:
    """Save a picture with few colours: it consists of lines and letters."""
    with Image.open(io.BytesIO(picture)) as image:
        image.convert("RGB").quantize(192).save(IMAGES / name, optimize=True)


def viewer(browser: Any, folder: Path) -> None:
    """Save the viewer with two congestion controls overlaid."""
    (folder / "compared.toml").write_text(COMPARED)
    html = folder / "view.html"
    beside = "flow.0.transport.cc=bbr"
    vazao("view", str(folder / "compared.toml"), "--beside", beside, "--html", str(html), "--no-browser")
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto(html.as_uri())
    page.wait_for_timeout(1500)
    keep(page.screenshot(), "view.png")
    page.close()


@contextmanager
def served(results: Path) -> Iterator[str]:
    """Address of a server that explores results."""
    command = [VAZAO, "explore", str(results), "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout
        line = next(line for line in server.stdout if "http://" in line)
        yield line[line.index("http://") :].split()[0]
        server.terminate()


def explorer(browser: Any, folder: Path) -> None:
    """Save the explorer with results of a small study."""
    results = folder / "bakeoff"
    vazao("run", "tcp-bakeoff", "--quick", "--out", str(results))
    with served(results) as address:
        page = browser.new_page(viewport={"width": 1280, "height": 860})
        page.goto(address)
        page.wait_for_timeout(3500)
        keep(page.screenshot(), "explore.png")
        page.close()


def laboratory(browser: Any, folder: Path) -> None:
    """Save the laboratory at rest, and while the queue of the bottleneck is made shorter and longer."""
    html = folder / "play.html"
    vazao("play", "--html", str(html), "--no-browser")
    page = browser.new_page(viewport={"width": 1180, "height": 760})
    page.goto(html.as_uri())
    page.wait_for_selector('body[data-settled="true"]')
    page.get_by_role("button", name="Link bottleneck").press("Enter")
    page.wait_for_timeout(700)
    keep(page.screenshot(), "play.png")
    page.locator('.inspector input[type="range"]').first.focus()
    frames = []
    for step in range(STEPS):
        page.keyboard.press("ArrowLeft" if step < STEPS // 2 else "ArrowRight")
        page.wait_for_timeout(350)
        with Image.open(io.BytesIO(page.screenshot())) as image:
            frames.append(image.convert("RGB").resize((944, 608)).quantize(COLOURS, dither=Image.Dither.NONE))
    page.close()
    frames[0].save(
        IMAGES / "play.gif", save_all=True, append_images=frames[1:], duration=FRAME_MS, loop=0, optimize=True
    )


def main() -> None:
    """Create all pictures."""
    IMAGES.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as driver, tempfile.TemporaryDirectory() as folder:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        for take in (viewer, explorer, laboratory):
            take(browser, Path(folder))
        browser.close()


if __name__ == "__main__":
    main()
