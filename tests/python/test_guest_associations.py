"""Linux's SCTP compared with ours, packet by packet, and both in one association.

As in `test_guests.py`, a kernel is built once by `vazao kernel build`; without one these tests are skipped.
"""

from __future__ import annotations

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
    "pf_retries": 0,
}
"""Settings of the kernel: its behaviour and its buffers (bench/associations.py)."""


def chunks(capture: Path) -> list[tuple[float, list[str]]]:
    """Times at which packets with DATA left, relative to the first, and their TSNs."""
    fields = ["frame.time_epoch", "sctp.data_tsn"]
    command = ["tshark", "-r", str(capture), "-Y", "ip.src == 10.0.0.1 and sctp.chunk_type == 0", "-T", "fields"]
    text = subprocess.run([*command, *(f"-e{field}" for field in fields)], capture_output=True, check=True, text=True)
    lines = [line.split("\t") for line in text.stdout.splitlines()]
    return [(float(time) - float(lines[0][0]), tsns.split(",")) for time, tsns in lines]


def packets(capture: Path) -> list[tuple[float, str, list[int]]]:
    """Times at which packets passed, relative to the first, with the sender of each and the types of its chunks."""
    fields = ["frame.time_epoch", "ip.src", "sctp.chunk_type"]
    command = ["tshark", "-r", str(capture), "-Y", "sctp", "-T", "fields", *(f"-e{field}" for field in fields)]
    text = subprocess.run(command, capture_output=True, check=True, text=True).stdout
    lines = [line.split("\t") for line in text.splitlines()]
    start = float(lines[0][0])
    return [(float(time) - start, sender, list(map(int, types.split(",")))) for time, sender, types in lines]


MANY = [100, 103, 104, 110, 112, 120, 124, 260, 300, 400, 401, 402, 403, 404, 500]


@needs("tshark")
@pytest.mark.parametrize(
    ("rate", "queue", "size", "lost"),
    [
        ("1 Mbps", "2 bdp", 100_000, []),
        ("10 Mbps", "0.5 bdp", 1_000_000, []),
        ("10 Mbps", "1 bdp", 1_000_000, [345]),
        ("10 Mbps", "2 bdp", 1_000_000, MANY),
    ],
)
def test_each_packet_leaves_when_linux_sends_it(
    rate: str, queue: str, size: int, lost: list[int], tmp_path: Path
) -> None:
    """Times agree to a tenth of a millisecond, until a timer of 10 ms ticks matters: growth, fast retransmissions,
    bursts and acknowledgements, which are delayed as Linux delays them and announce the same receive window."""
    loss = {"kind": "list", "packets": lost}
    link = vz.link(rate, "25 ms", queue=queue, forward=vz.link(loss=loss) if lost else None)
    sent = []
    for name, settings in (("ours", OURS), ("linux", {"stack": "linux"})):
        message = {} if "stack" in settings else {"message": "1452 B"}
        flow = vz.flow(vz.upload(f"{size} B", **message), vz.sctp(**settings))
        result = vz.run(vz.point_to_point(link), [flow], pcap=tmp_path / name)
        assert result.flows["intact"].all()
        sent.append(chunks(tmp_path / name / "a.1.pcapng"))
    ours, linux = sent
    # TSNs start anywhere; tshark counts them from the first.
    assert [tsns for _, tsns in ours] == [tsns for _, tsns in linux]
    assert max(abs(a - b) for (a, _), (b, _) in zip(ours, linux, strict=True)) < 1e-4


def test_a_failing_path_is_left_and_taken_again_as_linux_does() -> None:
    """During half a second without the primary path, one packet leaves by the other path when the timer expires. A
    heartbeat brings new data back, and what it then overtakes is retransmitted spuriously. One of the kernel's timers
    is 60 ms late."""
    paths = [vz.link("10 Mbps", "20 ms", queue="100 packets") for _ in range(2)]
    paths[0]["outages"] = [{"at": "6 s", "for": "0.5 s", "kind": "loss"}]
    rows = []
    for settings in (OURS, {"stack": "linux"}):
        message = {} if "stack" in settings else {"message": "1452 B"}
        flow = vz.flow(vz.upload("10 MB", **message), vz.sctp(**settings))
        rows.append(vz.run(vz.multipath(*paths), [flow]).flows.row(0, named=True))
    ours, linux = rows
    assert ours["retransmissions"] == linux["retransmissions"] > 60
    assert ours["completion_s"] == pytest.approx(linux["completion_s"], rel=0.01)


def kinds(capture: Path) -> set[str]:
    """Types of all chunks in a capture."""
    command = ["tshark", "-r", str(capture), "-T", "fields", "-e", "sctp.chunk_type"]
    text = subprocess.run(command, capture_output=True, check=True, text=True).stdout
    return set(text.replace(",", " ").split())


@needs("tshark")
@pytest.mark.parametrize("stack", ["linux", {"client": "linux"}, {"server": "linux"}])
@pytest.mark.parametrize("app", [vz.upload, vz.download])
def test_data_in_interleaved_chunks_arrives(stack: Any, app: Any, tmp_path: Path) -> None:
    """I-DATA (type 64) replaces DATA (type 0) where both ends offer it (RFC 8260)."""
    link = vz.link("10 Mbps", "15 ms", queue="84 packets", forward=vz.link(loss=0.02), reverse=vz.link(loss=0.02))
    flow = vz.flow(app("500 kB"), vz.sctp(stack=stack, interleaving=True))
    row = vz.run(vz.point_to_point(link), [flow], pcap=tmp_path).flows.row(0, named=True)
    assert (row["app_bytes"], row["completed"], row["intact"]) == (500_000, True, True)
    assert row["retransmissions"] > 0
    found = kinds(tmp_path / "a.1.pcapng")
    assert "64" in found
    assert "0" not in found


@pytest.mark.parametrize(("semantics", "arrives"), [("linux", True), ("rfc9260", False)])
def test_linux_numbers_fragments_of_its_own(semantics: str, arrives: bool) -> None:
    """Unlike RFC 8260 section 2.1, sctp_chunk_assign_mid does not count a message's first fragment."""
    flow = vz.flow(
        vz.upload("100 kB", message="10 kB"),
        vz.sctp(stack={"server": "linux"}, interleaving=True, semantics=semantics),
    )
    row = vz.run(vz.point_to_point(vz.link("10 Mbps", "15 ms")), [flow], until="5 s").flows.row(0, named=True)
    assert row["completed"] is arrives


@needs("tshark")
@pytest.mark.parametrize("settings", [OURS, {"stack": "linux"}])
def test_a_shutdown_that_is_not_answered_is_given_up(settings: dict[str, Any], tmp_path: Path) -> None:
    """T5-shutdown-guard, five times RTO.Max, expires before the last of ten SHUTDOWNs: an ABORT (type 6) follows. The
    kernel's timer of five minutes is up to four seconds late."""
    # Once everything is acknowledged.
    link = vz.link("1 Mbps", "25 ms", queue="2 bdp", outages=[{"at": "0.25 s", "for": "3000 s", "kind": "loss"}])
    message = {} if "stack" in settings else {"message": "1452 B"}
    flow = vz.flow(vz.upload("10000 B", **message), vz.sctp(**settings))
    result = vz.run(vz.point_to_point(link), [flow], until="1000 s", pcap=tmp_path)
    assert result.flows.row(0, named=True)["failure"] is not None
    sent = [packet for packet in packets(tmp_path / "a.1.pcapng") if packet[1] == "10.0.0.1"]
    shutdowns = [time for time, _, types in sent if types == [7]]
    assert 5 < len(shutdowns) < 11
    time, _, types = sent[-1]
    assert types == [6]
    assert 300 <= time - shutdowns[0] < 305
