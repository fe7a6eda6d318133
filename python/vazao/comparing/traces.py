"""Packets of flows as captured, and the first at which two traces diverge."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
from polars import selectors

from vazao import _core
from vazao.files import explained

FIRST_SERVER_PORT = 5001
"""Server port of flow 0 in captures; flow n has port 5001 + n."""

TOLERANCE_S = 1e-3
"""Maximum time in seconds between two packets that count as the same."""

COMPARED = ("flags", "sequence", "acknowledgment", "length")
"""Fields that must be equal besides the direction. PSH is excluded from the flags: it does not affect what is sent."""

FULL_BYTES = 1200
"""Bytes from which a QUIC datagram counts as full: the size that every path supports (RFC 9000, section 14).

The content is encrypted, and the length depends on how a stack encodes numbers, connection IDs and certificates. A full
datagram carries data or opens the connection.
"""

BEFORE, AFTER = 4, 4
"""Number of packets shown before the traces diverge, and of each trace from there on."""

_ENDS = ["source", "source_port", "destination", "destination_port"]


def packets(path: str | Path) -> pl.DataFrame:
    """The packets of a pcapng file, Vazão's or any other, one row each in the file's order.

    Columns: `time_s`, `direction` (sent, received), `protocol`, `source`, `destination`, `source_port`,
    `destination_port`; for TCP `sequence`, `acknowledgment`, `flags` ("SYN ACK"), `window` (not scaled), `sack`
    ("1000-2000 3000-4000"), as on the wire; for Multipath TCP its options, `mptcp` ("DSS ADD_ADDR"), and the low
    halves of the mapping's `data_sequence` and of `data_ack`; `length`, the bytes of the transport's payload;
    `packet_bytes`, the bytes of the whole packet; `problem`, why its headers could not be read completely. Raises
    `ResultsError`, `ScenarioError`.
    """
    with explained(Path(path), "read"):
        return pl.DataFrame(_core.packets(str(path))).with_columns(selectors.categorical().cast(pl.String))


def of_flow(captures: Path, row: Mapping[str, Any]) -> pl.DataFrame:
    """The packets of a flow at its sender's interfaces, from one capture per interface, in order of time.

    `row` is the flow's row in the flows table. Sequence and acknowledgment numbers are relative to the first one that
    their sender used in the connection; `base` is that of the acknowledged direction. The `protocol` of a QUIC flow is
    quic.
    """
    sender = str(row["server" if row["app"] == "download" else "client"])
    hosts = (sender, sender.rpartition(".")[0])
    files = [file for file in sorted(captures.glob("*.pcapng")) if file.stem.rpartition(".")[0] in hosts]
    port = FIRST_SERVER_PORT + int(row["flow"])
    own = (pl.col("source_port") == port) | (pl.col("destination_port") == port)
    frames = [packets(file).filter(own) for file in files]
    if not frames:
        return _none()
    trace = _relative(pl.concat(frames, how="vertical_relaxed").sort("time_s", maintain_order=True))
    return trace.with_columns(protocol=pl.lit("quic")) if row.get("transport") == "quic" else trace


def _none() -> pl.DataFrame:
    columns = ["direction", "protocol", "flags", "sack"]
    numbers = ["sequence", "acknowledgment", "length", "base"]
    return pl.DataFrame(
        schema={"time_s": pl.Float64, **dict.fromkeys(columns, pl.String), **dict.fromkeys(numbers, pl.Int64)}
    )


def _relative(frame: pl.DataFrame) -> pl.DataFrame:
    """The packets with sequence numbers relative to each direction's first one."""
    first = frame.group_by(_ENDS).agg(pl.col("sequence").drop_nulls().first().alias("first"))
    other = first.select(
        *(pl.col(end).alias(name) for end, name in zip(_ENDS, _other(_ENDS), strict=True)), base="first"
    )
    joined = frame.join(first, on=_ENDS, how="left", maintain_order="left", nulls_equal=True)
    joined = joined.join(other, on=_ENDS, how="left", maintain_order="left", nulls_equal=True)
    return joined.with_columns(
        sequence=(pl.col("sequence") - pl.col("first") + 2**32) % 2**32,
        acknowledgment=(pl.col("acknowledgment") - pl.col("base") + 2**32) % 2**32,
    )


def _other(ends: list[str]) -> list[str]:
    """The columns of endpoints, with source and destination swapped."""
    return [*ends[2:], *ends[:2]]


@dataclass(frozen=True)
class Divergence:
    """The point at which two traces of one flow diverge."""

    packets: tuple[int, int]
    """Number of packets in each trace."""
    same: int
    """Number of packets before that point, which are the same."""
    differs: tuple[str, ...]
    """Fields in which the two packets differ; "missing" where a trace has no such packet. Empty if there are none."""
    first: tuple[dict[str, Any] | None, dict[str, Any] | None] = (None, None)
    """The packet at that point in each trace."""
    place: int = 0
    """Number of the packet in its direction, from 1."""
    before: tuple[tuple[dict[str, Any], dict[str, Any]], ...] = ()
    """The last packets before that point, in both traces."""
    after: tuple[tuple[dict[str, Any], ...], tuple[dict[str, Any], ...]] = ((), ())
    """The first packets of each trace from that point on, the diverging packet among them."""

    @property
    def identical(self) -> bool:
        """Whether the traces do not diverge."""
        return not self.differs


def first_divergence(ours: pl.DataFrame, theirs: pl.DataFrame, tolerance_s: float = TOLERANCE_S) -> Divergence:
    """The first packet at which two traces from `of_flow` diverge.

    The n-th packet sent is compared with the n-th sent, the n-th received with the n-th received, so the order in which
    a stack handles nearly simultaneous events does not matter. Of the pairs that differ, the first in time counts. For
    QUIC, lengths are compared only by whether a datagram is full.
    """
    pairs = _numbered(ours).join(_numbered(theirs), on=["direction", "place"], how="full", coalesce=True, suffix="_b")
    fields = {"missing": pl.col("row").is_null() | pl.col("row_b").is_null()}
    fields["time"] = (pl.col("time_s") - pl.col("time_s_b")).abs() > tolerance_s
    fields |= {name: pl.col(name).ne_missing(pl.col(f"{name}_b")) for name in COMPARED}
    pairs = pairs.with_columns(test.fill_null(False).alias(f"{name}?") for name, test in fields.items())
    pairs = pairs.with_columns(moment=pl.min_horizontal("time_s", "time_s_b"))
    pairs = pairs.sort("moment", "row", "row_b", nulls_last=True)
    counts = ours.height, theirs.height
    differ = pairs.select(pl.any_horizontal(f"{name}?" for name in fields).arg_true()).to_series()
    if differ.is_empty():
        return Divergence(counts, pairs.height, differs=())
    same = pairs.head(differ[0])
    found = pairs.row(same.height, named=True)
    names = ["missing"] if found["missing?"] else [name for name in fields if found[f"{name}?"]]
    return Divergence(
        counts,
        same.height,
        tuple(names),
        first=(_row(ours, found["row"]), _row(theirs, found["row_b"])),
        place=found["place"] + 1,
        before=tuple(
            (ours.row(a, named=True), theirs.row(b, named=True))
            for a, b in same.select("row", "row_b").tail(BEFORE).iter_rows()
        ),
        after=(_rest(ours, same["row"], found["row"]), _rest(theirs, same["row_b"], found["row_b"])),
    )


def with_data(trace: pl.DataFrame) -> pl.DataFrame:
    """The packets of a trace that carry data; for QUIC, the full ones."""
    return trace.filter(pl.col("length") >= pl.when(pl.col("protocol") == "quic").then(FULL_BYTES).otherwise(1))


def _numbered(trace: pl.DataFrame) -> pl.DataFrame:
    """The compared fields of each packet, with its number in its direction and its row."""
    full = (pl.col("length") >= FULL_BYTES).cast(pl.Int64)
    return trace.select(
        "direction",
        "time_s",
        pl.col("flags").str.replace(r"PSH ?", "").str.strip_chars(),
        "sequence",
        "acknowledgment",
        length=pl.when(pl.col("protocol") == "quic").then(full).otherwise(pl.col("length")),
        place=pl.int_range(pl.len()).over("direction"),
    ).with_row_index("row")


def _row(trace: pl.DataFrame, row: int | None) -> dict[str, Any] | None:
    return None if row is None else trace.row(row, named=True)


def _rest(trace: pl.DataFrame, same: pl.Series, first: int | None) -> tuple[dict[str, Any], ...]:
    """The first packets that are not among the same ones, and the one at which the traces diverge."""
    rows = pl.int_range(trace.height, eager=True)
    rest = rows.filter(~rows.is_in(same.to_list())).head(AFTER).to_list()
    chosen = sorted({*rest, *([] if first is None else [first])})
    return tuple(trace.row(row, named=True) for row in chosen)
