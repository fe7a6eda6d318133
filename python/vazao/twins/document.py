"""Text of a twin: a scenario in TOML."""

from __future__ import annotations

import json
import textwrap

from vazao.twins.ends import Ends
from vazao.twins.path import Path

MOST_LISTED = 1000
"""Most losses that are repeated one by one; more become a rate of loss."""

LONG = 1000
"""Packets of a queue that is not known to overflow, at least."""

PLENTY = 2
"""Length of such a queue, as a multiple of the longest that was seen."""

WIDTH = 110
"""Characters of a line."""


def queue_packets(path: Path, ends: Ends) -> int:
    """Packets that the queue of the data's direction holds."""
    seen = max(round(path.queue_bytes / ends.packet), 1)
    return seen if path.overflows else max(seen * PLENTY, LONG)


def document(path: Path, ends: Ends, control: str, name: str = "twin") -> str:
    """TOML of a scenario over `path` between `ends`, under a congestion control."""
    link = [f'rate = "{round(path.rate_bps / 1e3)} kbps"', f'delay = "{round(path.delay_s * 1e6)} us"']
    there = [*link, f'queue = "{queue_packets(path, ends)} packets"']
    if path.jitter_s:
        there.append(f'jitter = "{round(path.jitter_s * 1e6)} us"')
    if path.lost:
        there.append(_loss(path))
    back = [*link, f'queue = "{LONG} packets"']
    data, answers = ("forward", "reverse") if ends.is_upload else ("reverse", "forward")
    window = [f'receive_buffer = "{ends.window} B"'] if ends.window is not None else []
    transport = ['kind = "tcp"', 'like = "linux"', f'cc = "{control}"', f"mss = {ends.mss}", *window]
    app = f'kind = "{"upload" if ends.is_upload else "download"}", size = "{ends.size} B"'
    sections = [
        [f"name = {json.dumps(name)}", 'until = "1 h"'],
        ["[network]", 'topology = "point-to-point"'],
        [f"[network.link.{data}]", *there],
        [f"[network.link.{answers}]", *back],
        ["[[flow]]", f"app = {{ {app} }}", f"transport = {{ {', '.join(transport)} }}"],
    ]
    return "\n\n".join("\n".join(lines) for lines in sections) + "\n"


def _loss(path: Path) -> str:
    """Losses as they fell, or as a model where they are too many to list."""
    if len(path.lost) > MOST_LISTED:
        return f"loss = {len(path.lost) / path.packets:.3g}"
    numbers = textwrap.fill(", ".join(map(str, path.lost)), WIDTH, initial_indent="    ", subsequent_indent="    ")
    return f'loss.kind = "list"\nloss.packets = [\n{numbers},\n]'
