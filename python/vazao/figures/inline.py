"""Charts as a notebook shows them without a network: a still image, and the scripts that make it answer to the pointer.

Altair's own renderer names scripts of a content network. Here they come with each chart, compressed, so that an output
that is kept, moved or exported is whole; the first chart of a page unpacks them for all.
"""

from __future__ import annotations

import base64
import gzip
import json
from functools import cache
from uuid import uuid4

import vl_convert

from vazao.figures.channels import Spec
from vazao.figures.embedding import embed_script
from vazao.figures.theme import VEGA_LITE

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
    """A chart in HTML that asks nobody for anything; without scripts, and until they run, its image stands there."""
    # No text of a chart may end the script.
    told = json.dumps(spec, ensure_ascii=True).replace("<", "\\u003c")
    return _PAGE.format(name=f"vazao-{uuid4().hex}", still=_still(spec), scripts=_scripts(), spec=told)


LARGEST = 60_000
"""Bytes of a vector image; one of more lines than that is kept as dots."""


def _still(spec: Spec) -> str:
    """The image of a chart, as what follows `data:` in its address."""
    kind, image = "svg+xml", vl_convert.vegalite_to_svg(spec, VEGA_LITE).encode()
    if len(image) > LARGEST:
        kind, image = "png", bytes(vl_convert.vegalite_to_png(spec, VEGA_LITE, scale=2))
    return f"image/{kind};base64,{base64.b64encode(image).decode()}"


@cache
def _scripts() -> str:
    """The script that draws charts as the body of a function that returns it, compressed.

    A notebook may have a `vegaEmbed` of another version, which stays.
    """
    own = "const own = window.vegaEmbed;\nwindow.vegaEmbed = theirs;\nreturn own;"
    body = f"const theirs = window.vegaEmbed;\n{embed_script()}\n{own}"
    return base64.b64encode(gzip.compress(body.encode(), mtime=0)).decode()
