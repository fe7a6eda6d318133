"""Mapping of an SCTP association to ns-2: agent, variables, upload size, and disjoint paths.

As in `tcp`, the tables list everything that ns-2 supports, and other keys of a transport are rejected. Comments name
functions of ns-2.35's `sctp/`: in `sctp.cc`, or with `cmt` in `sctp-cmt.cc`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from vazao.ns2.experiment import Path, Settings, Way, Word, route
from vazao.ns2.keys import Table, refuse

DATA = 1452
"""Bytes of data in a packet of 1500."""

CHUNK = 1468
"""Bytes of a full DATA chunk, with its header: the unit in which ns-2 counts windows, data in flight and buffers."""

MEASURES = ("cwnd", "ssthresh")
"""Measures over time that can be traced with ns-2."""

MOST = (2**31 - 1) // CHUNK * DATA
"""Largest size or buffer in bytes: ns-2 counts chunks in 31 bits."""

INITIAL_WINDOW = 4380 * DATA // CHUNK
"""Initial window in bytes of data: `Reset` sets 4380 bytes of chunks, regardless of `initialCwnd_`."""


@dataclass(frozen=True)
class Kind:
    """One of ns-2's agents, and which settings of a scenario it supports."""

    word: Word
    floors: Mapping[str, int]
    """Minimum threshold in full chunks by `semantics` (`initialCwnd_`, where the agent uses it)."""
    only: Mapping[str, tuple[Any, ...]]
    policies: Mapping[str, int]
    """Retransmission policies, and the value of the variable `policy` for each."""
    policy: Word


PLAIN = Kind(
    Word.SCTP,
    # FastRtx, Timeout: max(cwnd/2, 4 MTU).
    {"rfc4960": 4},
    {
        # ProcessSackChunk: the cumulative TSN has to advance, and to pass the highest one at the start of a recovery.
        "cwnd_growth": ("rfc4960",),
        "fast_recovery": ("per-association",),
        # RtxMarkedChunks leaves eIneligibleForFastRtx alone.
        "fast_after_timeout": (True,),
        # ProcessGapAckBlocks: the highest TSN newly acknowledged, and in a recovery the highest of all.
        "missing_in_recovery": (True,),
        "sfr": (False,),
        "dac": (False,),
        # ProcessChunk: TSN 1 is acknowledged at once.
        "delayed_first_sack": (False,),
    },
    {"same": 0, "alternate": 2},
    Word.RTX_TO_ALT,
)

CMT = Kind(
    Word.CMT,
    # FastRtx, Timeout: max(cwnd/2, initialCwnd_ MTU).
    {"rfc2960": 2, "rfc4960": 4},
    {
        # FastRtx cuts a window once for what was outstanding at the last cut (uiRecover), and nothing stops AdjustCwnd.
        "fast_recovery": ("per-window",),
        # RtxMarkedChunks sets eIneligibleForFastRtx of all that it sends.
        "fast_after_timeout": (False,),
        "missing_in_recovery": (False,),
        # SendMuch begins at the destination after the one it sent to last.
        "path_choice": ("round-robin",),
        # ProcessChunk makes no exception for TSN 1.
        "delayed_first_sack": (True,),
    },
    {"asap": 0, "same": 1, "ssthresh": 2, "loss-rate": 3, "cwnd": 4},
    Word.CMT_RTX_POLICY,
)

ONLY: Mapping[str, tuple[Any, ...]] = {
    "kind": ("sctp",),
    "auth": ("none",),
    "buffer_split": ("none",),
    "cacc": (False,),
    "dtls": ("none",),
    "interleaving": (False,),
    # With useMaxBurst_ SendMuch limits a path's burst, but only if a SACK acknowledges retransmitted data.
    "max_burst": (0,),
    "mtu": (1500,),
    "nr_sack": (False,),
    "one_after_timeout": (True,),
    "partial_reliability": ("none",),
    "scheduler": ("fcfs",),
    "streams": (1,),
    "unordered": (False,),
    # One unit for windows and for data in flight (uiMaxDataSize, GenOneDataChunk), as "data" is.
    "window_unit": ("data",),
}
"""Keys of a transport that either agent supports at these values only."""

COUNTS: Mapping[str, Word] = {
    "path_retries": Word.PATH_RETRIES,
    "retries": Word.RETRIES,
    "init_retries": Word.INIT_RETRIES,
}
"""Keys that map to integer variables of ns-2."""

TIMES: Mapping[str, tuple[Word, str]] = {
    "initial_rto": (Word.SCTP_INITIAL_RTO, "3 s"),
    "min_rto": (Word.SCTP_MIN_RTO, "1 s"),
    "max_rto": (Word.SCTP_MAX_RTO, "60 s"),
    "delayed_sack_timeout": (Word.SACK_DELAY, "200 ms"),
}
"""Keys that map to time variables of ns-2, and their defaults if the scenario does not set them."""

IDLE = (
    "certificate", "cookie_life", "dtls_handshake", "lifetime", "max_inbound_streams", "max_retransmissions",
    "partial_delivery_point",
)  # fmt: skip
"""Keys of a transport that have no effect at the supported values of the others."""


def size(app: Table) -> int:
    """Bytes that an application sends."""
    app.only("kind", "upload")
    if (message := app.take("message")) is not None and app.quantity_of("message", message, "bytes") != DATA:
        refuse(app.path("message"), message, f'"{DATA} B", which fills a packet, or nothing there')
    given = app.take("size")
    if given is None:
        refuse(app.path("size"), "an upload without a size", 'one such as "8 MiB"')
    if not 1 <= (found := int(app.quantity_of("size", given, "bytes"))) <= MOST:
        refuse(app.path("size"), given, f"{MOST} B at most")
    app.finish()
    return found


def paths(clients: Mapping[str, int], servers: Mapping[str, int], ways: Sequence[Way]) -> tuple[Path, ...]:
    """Paths of an association from each of a client's interfaces, given as nodes by name, the flow's own first.

    Hosts in ns-2 choose an interface by the destination alone (`SetSource`), so that no two paths may meet.
    """
    found = []
    for client, source in clients.items():
        arrive = {server: out for server, node in servers.items() if (out := route(ways, source, node))}
        if len(arrive) != 1:
            refuse("network", "paths that meet or lead nowhere", "paths that share no link and no router: multipath")
        ((server, out),) = arrive.items()
        delivered = 1.0
        for loss in (ways[number].loss for number in out):
            delivered *= 1 - loss.rate if loss else 1
        found.append(Path(client, server, out, route(ways, servers[server], source), 1 - delivered))
    if len({path.server for path in found}) < len(found):
        refuse("network", "paths that meet", "paths that share no link and no router: multipath")
    return tuple(found)


def agent(transport: Table, size: int) -> tuple[Word, Settings]:
    """The agent that plays a transport which carries `size` bytes, and its variables."""
    kind = CMT if (is_cmt := transport.take("cmt")) else PLAIN
    semantics = transport.take("semantics")
    if semantics not in kind.floors:
        refuse(transport.path("semantics"), semantics, ", ".join(kind.floors))
    policy = transport.take("retransmission", "same" if is_cmt else "alternate")
    if policy not in kind.policies:
        refuse(transport.path("retransmission"), policy, ", ".join(kind.policies))
    settings: list[tuple[Word, float]] = [
        (Word.INITIAL_CWND, kind.floors[semantics]),
        (kind.policy, kind.policies[policy]),
    ]
    settings += [*_of_cmt(transport)] if is_cmt else []
    settings += [*_buffers(transport, size), *_acknowledgements(transport, semantics)]
    settings += [(word, transport.quantity(key, "s", otherwise)) for key, (word, otherwise) in TIMES.items()]
    settings += [(word, int(transport.take(key))) for key, word in COUNTS.items()]
    if (heartbeat := transport.quantity("heartbeat", "s")) != int(heartbeat):
        refuse(transport.path("heartbeat"), f"{heartbeat:g} s", "a whole number of seconds")
    settings.append((Word.HEARTBEAT, int(heartbeat)))
    settings.append((Word.MAX_BURST, 0))
    for key, accepted in {**ONLY, **kind.only}.items():
        transport.only(key, *accepted)
    # The canonical form has a control only where it is not SCTP's own.
    Table(transport.take("cc", {"kind": "sctp"}), transport.path("cc")).only("kind", "sctp")
    for key in IDLE if is_cmt else (*IDLE, "path_choice"):
        transport.take(key)
    transport.finish()
    return kind.word, tuple(settings)


def _of_cmt(transport: Table) -> Settings:
    growths = {"rfc4960": 0, "cuc-v2": 1}
    if (growth := transport.take("cwnd_growth", "cuc-v2")) not in growths:
        refuse(transport.path("cwnd_growth"), growth, ", ".join(growths))
    split, delayed = (int(transport.take(key, True)) for key in ("sfr", "dac"))
    if not split and "missing_in_recovery" not in transport.given:
        refuse(transport.path("missing_in_recovery"), True, "false")
    # CMT-PF, which is not RFC 7829, is on by default.
    return (Word.CMT_REORDERING, split), (Word.CMT_CWND, growths[growth]), (Word.CMT_DEL_ACK, delayed), (Word.CMT_PF, 0)


def _buffers(transport: Table, size: int) -> Settings:
    """Windows and buffers, converted from a scenario's bytes of data to the chunks that carry them."""
    window = transport.take("initial_window", "")
    if transport.quantity_of("initial_window", window or "0 B", "bytes") != INITIAL_WINDOW:
        refuse(transport.path("initial_window"), window or "nothing there", f'"{INITIAL_WINDOW} B"')
    buffer = transport.quantity("receive_buffer", "bytes")
    if not size <= buffer <= MOST:
        # ProcessDataChunk drops data that does not fit, but only after the results count it as arrived.
        accepted = f"one that holds all of the data, {MOST} B at most"
        refuse(transport.path("receive_buffer"), transport.given["receive_buffer"], accepted)
    settings: list[tuple[Word, float]] = [(Word.INITIAL_RWND, _chunks(buffer))]
    for key, word, auto in (
        ("initial_ssthresh", Word.INITIAL_SSTHRESH, buffer),
        ("send_buffer", Word.INITIAL_SWND, 0.0),
    ):
        given = transport.take(key, "auto")
        data = auto if given == "auto" else transport.quantity_of(key, given, "bytes")
        if data > MOST:
            refuse(transport.path(key), given, f"{MOST} B at most")
        settings.append((word, _chunks(data)))
    return tuple(settings)


def _chunks(data: float) -> int:
    return round(data * CHUNK / DATA)


def _acknowledgements(transport: Table, semantics: str) -> Settings:
    reports = int(transport.take("missing_reports", 4 if semantics == "rfc2960" else 3))
    if (packets := int(transport.take("delayed_sack"))) not in (1, 2):
        refuse(transport.path("delayed_sack"), packets, "1 or 2")
    return (Word.FAST_RTX_TRIGGER, reports), (Word.DELAYED_SACKS, packets - 1)
