"""Bundling of chunks by Linux's SCTP and ours: the same chunks in the same packets, and the same advertised windows.

As in `test_guests.py`, a kernel is built once by `vazao kernel build`; without one these tests are skipped.
"""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest

import vazao as vz
from tools import needs
from vazao import kernel

pytestmark = pytest.mark.skipif(kernel.find() is None, reason="no Linux guest kernel: `vazao kernel build` makes one")

OURS: dict[str, Any] = {
    "semantics": "linux",
    "receive_buffer": "106496 B",
    "send_buffer": f"{84 * 1452} B",
}
"""Settings of the kernel: its behaviour and its buffers (bench/associations.py)."""

PROGRAM = """
import select, socket, sys

role, request, response, count, pipeline = sys.argv[1], *map(int, sys.argv[2:])
SCTP, FULL = 132, 1452
stream = socket.socket(socket.AF_INET, socket.SOCK_STREAM, SCTP)
if role == "server":
    stream.bind(("0.0.0.0", 5001))
    stream.listen(1)
    stream, _ = stream.accept()
else:
    stream.connect(("10.0.0.2", 5001))
stream.setblocking(False)
own, others = (request, response) if role == "client" else (response, request)
received, written, offered = 0, 0, own * pipeline if role == "client" else 0
while role == "server" or received < others * count:
    ready, _, _ = select.select([stream], [stream] if written < offered else [], [])
    try:
        while ready:
            piece = stream.recv(65536)
            if not piece:
                sys.exit()
            received += len(piece)
    except BlockingIOError:
        pass
    asked = received // others + (pipeline if role == "client" else 0)
    offered = own * min(asked, count)
    try:
        while written < offered:
            written += stream.send(bytes(min(own - written % own, FULL)))
    except BlockingIOError:
        pass
"""
"""Dialogue in the order of our own application: it reads all that has arrived, then writes its answer."""


def program(role: str, *numbers: int) -> str:
    return shlex.join(["python3", "-c", PROGRAM, role, *map(str, numbers)])


def packets(capture: Path) -> list[tuple[str, ...]]:
    """Packets of an association: the sender, the chunks' types, the TSNs, what is acknowledged and advertised."""
    fields = ["ip.src", "sctp.chunk_type", "sctp.data_tsn", "sctp.sack_cumulative_tsn_ack", "sctp.sack_a_rwnd"]
    fields += ["sctp.sack_gap_block_start_tsn", "sctp.sack_gap_block_end_tsn"]
    command = ["tshark", "-r", str(capture), "-Y", "sctp", "-T", "fields", *(f"-e{field}" for field in fields)]
    text = subprocess.run(command, capture_output=True, check=True, text=True)
    return [tuple(line.split("\t")) for line in text.stdout.splitlines()]


@needs("tshark")
@pytest.mark.parametrize(
    ("request_", "response", "count", "pipeline", "lost", "bundled"),
    [
        # SACKs are bundled with all responses but the first and all requests but two: each side sends its first SACK at
        # once.
        (200, 300, 8, 1, ([], []), 13),
        # A full packet has no room for a SACK, which leaves before it. The short one at a response's end waits (Nagle).
        (200, 10_000, 5, 1, ([], []), 4),
        (1452, 1452, 6, 1, ([], []), 0),
        # Both directions at once, without losses and with some on either side.
        (1452, 1452, 300, 300, ([], []), 0),
        (1452, 1452, 300, 300, ([40, 80, 81], [70, 90]), 0),
    ],
)
def test_packets_have_the_chunks_of_linux_s(
    request_: int,
    response: int,
    count: int,
    pipeline: int,
    lost: tuple[list[int], list[int]],
    bundled: int,
    tmp_path: Path,
) -> None:
    forward, reverse = (vz.link(loss={"kind": "list", "packets": numbers}) if numbers else None for numbers in lost)
    link = vz.link("10 Mbps", "10 ms", queue="100 packets", forward=forward, reverse=reverse)
    numbers = (request_, response, count, pipeline)
    programs = vz.command(server=program("server", *numbers), client=program("client", *numbers))
    dialogue = vz.requests(request=f"{request_} B", response=f"{response} B", count=count, pipeline=pipeline)
    theirs = vz.flow(programs, vz.sctp(stack="linux"), start="1 s")
    ours = vz.flow(dialogue, vz.sctp(**OURS))
    sent = []
    for name, flow in (("linux", theirs), ("ours", ours)):
        result = vz.run(vz.point_to_point(link), [flow], pcap=tmp_path / name)
        assert result.flows.row(0, named=True)["failure"] is None
        sent.append(packets(tmp_path / name / "a.1.pcapng"))
    linux, own = sent
    # The run with programs ends when the client's program does, before its SHUTDOWN is answered.
    assert len(linux) in {len(own), len(own) - 2}
    assert own[: len(linux)] == linux
    assert sum(packet[1] == "3,0" for packet in own) == bundled
