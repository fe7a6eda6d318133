"""Linux's Multipath TCP and ours take as long over links that are unlike.

As in `test_guests.py`, a kernel is built once by `vazao kernel build`; without one these tests are skipped.
"""

from __future__ import annotations

from typing import Any

import pytest

import vazao as vz
from guests import needs_kernel
from vazao import kernel

SECONDS = 2
SEGMENT = 1424
"""Duration of a transfer at the links' combined rate, and data of a packet, as in `bench/mptcp_agreement.py`."""


def transfer(links: list[vz.Link], rate: int, way: str, **settings: Any) -> float:
    """Time of a transfer over these links."""
    app = {"upload": vz.upload, "download": vz.download}[way](f"{rate * SECONDS * 125_000} B")
    row = vz.run(vz.multipath(*links), [vz.flow(app, vz.mptcp(cc="cubic", **settings))]).flows.row(0, named=True)
    assert (row["completed"], row["intact"]) == (True, True)
    return row["completion_s"]


@needs_kernel
@pytest.mark.parametrize("way", ["upload", "download"])
@pytest.mark.parametrize(("queue", "early"), [("0.5 bdp", False), ("1 bdp", True)], ids=["short queues", "early loss"])
def test_unlike_links_take_as_long_as_in_linux(way: str, queue: str, early: bool) -> None:
    """By lowest round-trip times and with buffers without bounds ours took 15 to 30 % less time: a short queue, or a
    loss before the window has grown, leaves 100 ms of data out of order, and Linux has neither the memory to send nor
    to receive all of the other link's."""
    side = "forward" if way == "upload" else "reverse"
    # A handshake and six packets precede the one that is lost.
    loss = {side: vz.link(loss={"kind": "list", "packets": [10]})} if early else {}
    links = [vz.link("10 Mbps", f"{rtt_ms / 2} ms", queue=queue, **loss) for rtt_ms in (20, 100)]
    found = kernel.find()
    assert found is not None
    ours = transfer(links, 20, way, like="linux", tick=f"{1000 / found.hz} ms")
    theirs = transfer(links, 20, way, stack="linux")
    assert ours == pytest.approx(theirs, rel=0.1)
