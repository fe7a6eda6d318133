"""Self-contained HTML pages: a template with its script, style and data; `view` fills one with recordings."""

from __future__ import annotations

import base64
import gzip
import hashlib
import html
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from vazao.errors import ResultsError
from vazao.files import write_atomically
from vazao.seeing.recordings import Recording, header

FOLDER = Path(__file__).parent

FRAME = "allow-scripts allow-downloads allow-forms"
"""Sandbox permissions of a page in a notebook's frame, with an opaque origin. Forms go nowhere, yet close dialogs."""

LARGEST = 30_000_000
"""Maximum size of a page in bytes."""


def is_built() -> bool:
    """Whether the viewer's script and style are built."""
    return all((FOLDER / "static" / f"viewer.{kind}").is_file() for kind in ("js", "css"))


@dataclass(frozen=True)
class Page:
    """A page in one file, which a notebook can show."""

    title: str
    text: str
    """The content of the file, in HTML."""

    def __repr__(self) -> str:
        return f"Page({self.title!r}, {len(self.text) / 1e6:.3g} MB)"

    def _repr_html_(self) -> str:
        """The page in a sandboxed frame, isolated from the notebook."""
        inside = html.escape(self.text, quote=True)
        return f'<iframe sandbox="{FRAME}" srcdoc="{inside}" width="100%" height="720"></iframe>'

    def save(self, path: str | Path) -> Path:
        """Write the page to a file for a browser, and return its path."""
        target = Path(path)
        write_atomically(target, self.text.encode())
        return target


def view(recordings: Sequence[Recording], title: str | None = None) -> Page:
    """A page that draws recordings over each other; a recording that is too long is cut to its first packets.

    Raises `ResultsError` when the viewer was not built.
    """
    elements = "\n".join(_element(each, LARGEST // len(recordings)) for each in recordings)
    named = title or ", ".join(dict.fromkeys(each.name for each in recordings))
    return Page(named, page("view.html", "viewer", {"TITLE": html.escape(named), "RECORDINGS": elements}))


def _element(recording: Recording, most: int) -> str:
    """A recording as text in the page, with as many of its packets as `most` bytes hold."""
    text, kept = packed(recording.content), _packets(recording.content)
    # Bytes per packet: first as if there were only packets, then estimated from the last two attempts.
    each = len(text) / max(1, kept)
    while len(text) > most and kept > 1:
        before, more = len(text), kept
        kept = max(1, min(int(kept - 1.1 * (len(text) - most) / each), int(0.9 * kept)))
        text = packed(recording.shorter(kept))
        each = max(1.0, (before - len(text)) / (more - kept))
    name = html.escape(recording.name, quote=True)
    return f'<script type="application/octet-stream" data-recording data-name="{name}">{text}</script>'


@lru_cache(maxsize=4)
def packed_file(content: bytes) -> str:
    """The content of a file that many pages include, as compressed text; cached, so a process packs it once."""
    return packed(content, 6)


def packed(content: bytes, level: int = 4) -> str:
    """Bytes as compressed text (gzip in base64) for a page."""
    # No time in gzip's header, so that the same content gives the same file.
    return base64.b64encode(gzip.compress(content, compresslevel=level, mtime=0)).decode()


def _packets(content: bytes) -> int:
    """The number of packets in a recording."""
    return int(header(content)["packets"]["kept"])


def page(template: str, bundle: str, filled: Mapping[str, str]) -> str:
    """A template with a bundle's script and style, whose digests its content policy names."""
    script, style = (built(f"{bundle}.{kind}", "make web").decode() for kind in ("js", "css"))
    values = {"SCRIPT": script, "STYLE": style, "SCRIPT_HASH": digest(script), "STYLE_HASH": digest(style), **filled}
    text = (FOLDER / template).read_text(encoding="utf-8")
    # In one pass, as the inserted texts may contain such placeholders themselves.
    return re.sub(r"@([A-Z_]+)@", lambda found: values[found[1]], text)


def built(name: str, how: str) -> bytes:
    """The content of a file that the command `how` builds. Raises `ResultsError` naming it if the file is missing."""
    path = FOLDER / "static" / name
    if not path.is_file():
        raise ResultsError(f"{name}, which this page needs, is not built here; `{how}` builds it")
    return path.read_bytes()


def digest(text: str) -> str:
    """SHA-256 of a script or style sheet in base64, as a content policy names it."""
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
