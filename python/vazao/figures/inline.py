"""Charts for notebooks without a network: a still image, and the scripts that make it interactive.

Altair's own renderer loads its scripts from a CDN. Here each chart embeds them, compressed, so that a saved, moved or
exported output is complete; the first chart of a page unpacks them for all.
"""

from __future__ import annotations

import base64
import gzip
import json
from functools import cache
from uuid import uuid4

import vl_convert

from vazao.figures.channels import Spec
from vazao.figures.theme import VEGA_LITE
from vazao.figures.vega import embed_script

_PAGE = """\
<div id="{name}" class="vazao-chart"><img alt="" style="max-width:100%" src="data:{still}"></div>
<script>
(async () => {{
  const place = document.getElementById("{name}");
  if (!place) return;
  window.vazaoCharts ??= (async () => {{
    const packed = Uint8Array.from(atob("{scripts}"), (letter) => letter.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Function(await new Response(stream).text())();
  }})();
  const embed = await window.vazaoCharts;
  const actions = {{ export: true, source: true, compiled: false, editor: false }};
  await embed(place, {spec}, {{ mode: "vega-lite", actions }});
}})();
</script>
"""


def shown(spec: Spec) -> str:
    """A chart as self-contained HTML, which shows its still image until the scripts run, or where they cannot."""
    # No text of a chart may close the script element.
    spec_json = json.dumps(spec, ensure_ascii=True).replace("<", "\\u003c")
    return _PAGE.format(name=f"vazao-{uuid4().hex}", still=_still(spec), scripts=_scripts(), spec=spec_json)


LARGEST = 60_000
"""Maximum size of a vector image in bytes; a larger one is stored as PNG."""


def _still(spec: Spec) -> str:
    """The image of a chart as the part of a data URL after `data:`."""
    kind, image = "svg+xml", vl_convert.vegalite_to_svg(spec, VEGA_LITE).encode()
    if len(image) > LARGEST:
        kind, image = "png", bytes(vl_convert.vegalite_to_png(spec, VEGA_LITE, scale=2))
    return f"image/{kind};base64,{base64.b64encode(image).decode()}"


@cache
def _scripts() -> str:
    """The script that draws charts, compressed, as the body of a function that returns `vegaEmbed`.

    A notebook's own `vegaEmbed`, perhaps of another version, stays in place.
    """
    own = "const own = window.vegaEmbed;\nwindow.vegaEmbed = theirs;\nreturn own;"
    body = f"const theirs = window.vegaEmbed;\n{embed_script()}\n{own}"
    return base64.b64encode(gzip.compress(body.encode(), mtime=0)).decode()
