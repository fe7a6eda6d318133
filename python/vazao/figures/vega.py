"""The script that draws charts in pages: Vega, Vega-Lite and Vega-Embed, exposed as `window.vegaEmbed`.

Bundling takes two seconds of CPU time, so `make setup` does it once (`python -m vazao.figures.vega`).
"""

from __future__ import annotations

from functools import cache
from importlib.metadata import version
from pathlib import Path

import vl_convert

from vazao.figures.theme import VEGA_LITE

BUNDLE = Path(__file__).parent / "static" / "embed.js"


@cache
def embed_script() -> str:
    """The bundle stored by setup, or a fresh one where that is missing or of other versions."""
    stored = BUNDLE.read_text(encoding="utf-8") if BUNDLE.is_file() else ""
    head = _head()
    return stored.removeprefix(head) if stored.startswith(head) else _bundled()


def _head() -> str:
    """First line of a bundle, with the versions that it was built from."""
    return f"// vl-convert {version('vl-convert-python')}, Vega-Lite {VEGA_LITE}\n"


def _bundled() -> str:
    bundle: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", VEGA_LITE)
    return bundle


if __name__ == "__main__":
    BUNDLE.parent.mkdir(exist_ok=True)
    BUNDLE.write_text(_head() + _bundled(), encoding="utf-8")
