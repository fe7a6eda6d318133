"""Reads captures of any tool, pcap or pcapng, gzipped or not, in memory that grows with their connections alone."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from vazao import _core, display, files
from vazao.captures import texts
from vazao.errors import ScenarioError

if TYPE_CHECKING:
    import polars as pl

PIECE = 4 << 20
"""Bytes that are read at a time."""

GZIP = b"\x1f\x8b"

SHOWN = ("connection", "client", "server", "app_bytes", "goodput_bps", "rtt_min_s", "retransmissions")
"""Columns on a notebook's card."""


@dataclass(frozen=True)
class Capture:
    """Connections of a capture, and facts of the whole.

    `connections` has a row for each connection, in the order of their first packets; columns of TCP are of the
    direction with more data. `facts` are of the whole: packets, bytes, `begin_s` since 1970, `duration_s`, and packets
    that were not looked into. `problem` says why reading ended before the file's end, if it did.
    """

    path: Path
    connections: pl.DataFrame
    facts: Mapping[str, Any]
    problem: str | None = None

    @property
    def summary(self) -> str:
        """Packets, time and connections in a sentence."""
        return texts.summary(self.facts, self.connections)

    @property
    def remarks(self) -> list[str]:
        """Sentences on what it lacks, and what that means for its numbers."""
        return list(texts.remarks(self.facts, self.connections, self.problem))

    def _repr_html_(self) -> str:
        said = [("", remark) for remark in self.remarks]
        rows = self.connections.sort("app_bytes", descending=True, nulls_last=True).select(SHOWN)
        return display.card("capture", self.path.name, [("", self.summary), *said], [("connections", rows)])


def read(path: str | Path, *, progress: Callable[[int], None] | None = None) -> Capture:
    """Read a capture: a file of tcpdump, Wireshark or any other tool.

    It may be cut (`tcpdump -s 96`), hold VLANs, IPv4 and IPv6, and come from either end or from between. What is
    inferred, such as losses and limits, is as seen from there; docs/captures.md says how. `progress` is told the bytes
    read so far. Raises `ScenarioError` for a file that is no capture or cannot be read.
    """
    return analysed(Path(path), progress)[0]


def analysed(path: Path, progress: Callable[[int], None] | None = None) -> tuple[Capture, _core.Capture]:
    """A capture that has been read, and the engine's view of it. Raises `ScenarioError` as `read` does."""
    import polars as pl

    capture, count, problem = _core.Capture(), 0, None
    try:
        for piece in pieces(path):
            capture.feed(piece)
            count += len(piece)
            if progress:
                progress(count)
        problem = capture.finish()
    except OSError as error:
        raise ScenarioError(f"{path}: cannot read: {files.in_words(error)}") from None
    except (EOFError, zlib.error):
        problem = "the gzipped file is damaged, or ends too soon"
    except ScenarioError as error:
        problem = str(error)
    facts = capture.overview()
    if problem and not facts["packets"]:
        raise ScenarioError(f"{path}: {problem}")
    frame = pl.DataFrame(capture.connections()).with_columns(pl.selectors.categorical().cast(pl.String))
    return Capture(path, frame, facts, problem), capture


def pieces(path: Path) -> Generator[bytes, None, None]:
    """The bytes of a file, unpacked if it is gzipped, piece by piece. Raises `OSError`, `EOFError` and `zlib.error`."""
    with files.opened(path) as file:
        is_packed = file.read(2) == GZIP
        file.seek(0)
        yield from unpacked(file) if is_packed else iter(lambda: file.read(PIECE), b"")


def unpacked(file: IO[bytes]) -> Iterator[bytes]:
    """The bytes of a gzipped file, member after member; what unpacks to far more comes in pieces, too."""
    member = None
    while packed := file.read(PIECE):
        while packed:
            member = member or zlib.decompressobj(wbits=31)
            if piece := member.decompress(packed, PIECE):
                yield piece
            packed = member.unconsumed_tail
            if member.eof:
                packed, member = member.unused_data, None
    if member:
        raise EOFError
