"""Counterparts of SCTP measurements: concurrent multipath transfer in ns-2 and usrsctp, and Linux's single path.

Settings follow the other implementation's source; the comments name the place.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import vazao as vz

Settings = dict[str, Any]

SIZE = "8 MiB"
MESSAGE = "1452 B"

NS2: Settings = {
    # sctp.cc follows RFC 2960 and its implementor's guide.
    "semantics": "rfc2960",
    # Windows and data in flight are both counted in DATA chunks including headers (uiMaxDataSize, GenOneDataChunk).
    # Counting 1452 bytes of data for both is equivalent, with the initial window of 4380 bytes and the threshold
    # scaled.
    "window_unit": "data",
    "initial_window": f"{4380 * 1452 // 1468} B",
    # ProcessGapAckBlocks checks two expected pseudo-cumulative TSNs per destination, as CUC's second version does.
    "cwnd_growth": "cuc-v2",
    # SctpCMTAgent::FastRtx cuts a destination's window once for what was outstanding at the last cut (uiRecover), and a
    # recovery does not keep AdjustCwnd from growing it.
    "fast_recovery": "per-window",
    # RtxMarkedChunks sets eIneligibleForFastRtx on all that it sends, including chunks marked by a timeout.
    "fast_after_timeout": False,
    # fastRtxTrigger_ in ns-default.tcl.
    "missing_reports": 3,
    # SendMuch begins at the destination after the one it sent to last.
    "path_choice": "round-robin",
    # SctpCMTAgent::ProcessChunk, unlike SctpAgent's, makes no exception for TSN 1. usrsctp (send_sack in
    # sctp_init_asoc) and Linux (sack_needed in sctp_association_init) do.
    "delayed_first_sack": True,
    "receive_buffer": "64 MB",
}
NS2_POLICIES = {
    "RTX-SAME": "same",
    "RTX-ASAP": "asap",
    "RTX-CWND": "cwnd",
    "RTX-SSTHRESH": "ssthresh",
    "RTX-LOSSRATE": "loss-rate",
}

USRSCTP: Settings = {
    "semantics": "rfc4960",
    "receive_buffer": "4 MiB",
    "send_buffer": "4 MiB",
}
USRSCTP_CMT: Settings = {
    # sctp_cwnd_update_after_fr: a threshold is at least two packets, as in RFC 2960; the rest is RFC 4960's.
    "semantics": "rfc2960",
    "missing_reports": 3,
    "initial_window": "4380 B",
    "cmt": True,
    "dac": False,
    # sctp_handle_sack tracks two pseudo-cumulative TSNs per destination.
    "cwnd_growth": "cuc-v2",
    # With CMT on, sctp_cwnd_update_after_fr cuts at each SACK that marks a chunk, and sctp_cwnd_update_after_sack grows
    # windows even during recovery.
    "fast_recovery": "none",
    # sctp_strike_gap_ack_chunks and sctp_find_alternate_net: the destination with the largest threshold.
    "retransmission": "ssthresh",
    # sctp_mark_all_for_resend sets no_fr_allowed.
    "fast_after_timeout": False,
}

LINUX: Settings = {
    "semantics": "linux",
    # sctp_transport_raise_cwnd: RFC 4960 with its errata; even in slow start the cumulative TSN need not advance.
    "cwnd_growth": "gap-acked",
    # sctp_association_init advertises half of the socket's buffer, which is 212 992 bytes by default.
    "receive_buffer": "106496 B",
    # sctp_set_owner_w charges 2560 bytes for a chunk that fills a packet: 84 of them fit the socket's buffer.
    "send_buffer": f"{84 * 1452} B",
}
"""Settings of Linux's SCTP over one path."""


def paths(rtt_ms: float, losses: tuple[float, float], queue: str) -> vz.Network:
    """Two disjoint paths of 45 Mbit/s that lose only data."""
    lines = [vz.link(loss=loss) if loss else None for loss in losses]
    return vz.multipath(*(vz.link("45 Mbps", f"{rtt_ms / 2} ms", queue=queue, forward=line) for line in lines))


def transfer(settings: Settings) -> vz.Flow:
    """Upload of eight mebibytes in one stream, one message per packet."""
    return vz.flow(vz.upload(SIZE, message=MESSAGE), vz.sctp(**settings))


def linux(size: str) -> vz.Flow:
    """Upload with Linux's settings."""
    return vz.flow(vz.upload(size, message=MESSAGE), vz.sctp(**LINUX))


def ns2(row: Mapping[str, str]) -> tuple[vz.Network, vz.Flow]:
    """Network and flow of a row from ns-2."""
    network = paths(float(row["rtt_ms"]), (float(row["loss1"]), float(row["loss2"])), "1000 packets")
    threshold = f"{int(row['ssthresh']) * 1452 // 1468} B" if row["ssthresh"].isdigit() else "auto"
    policy = NS2_POLICIES[row["policy"]]
    return network, transfer(NS2 | {"cmt": True, "initial_ssthresh": threshold, "retransmission": policy})


def usrsctp(row: Mapping[str, str]) -> tuple[vz.Network, vz.Flow]:
    """Network and flow of a row from usrsctp."""
    network = paths(float(row["rtt_ms"]), (float(row["loss_path1"]), float(row["loss_path2"])), "100 packets")
    return network, transfer(USRSCTP | (USRSCTP_CMT if row["variant"] == "cmt" else {}))
