"""Recordings: phases, timeouts and rates of senders, streams at their receivers, and packet numbers in captures."""

from __future__ import annotations

import re
import subprocess
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from test_recording import NETWORK, TRANSPORTS, record, scenario, table
from tools import needs
from vazao import _core

LOSSY = """
[network]
topology = "point-to-point"
link = { rate = "5 Mbps", delay = "20 ms", loss = 0.02, queue = "50 packets" }
"""

PAGES = {
    "http/1.1": (', http = "1.1"', "tcp"),
    "http/2": ("", "tcp"),
    "http/2, tls": ("", 'tcp", tls = "1.3'),
    "http/2, mptcp": ("", "mptcp"),
    "http/3": ("", "quic"),
}


def load(app: str, transport: str, network: str = LOSSY) -> _core.Scenario:
    return _core.load(f'name = "inside"\nuntil = "200 s"\n{network}\n[[flow]]\napp = {app}\ntransport = {transport}\n')


def page(name: str) -> _core.Scenario:
    http, transport = PAGES[name]
    app = f'{{ kind = "page", objects = 30, size = "20 kB", root = "30 kB"{http} }}'
    return load(app, f'{{ kind = "{transport}" }}')


def series(header: dict, columns: dict[str, np.ndarray], measure: str) -> tuple[np.ndarray, np.ndarray]:
    found = next(one for one in header["series"] if one["measure"] == measure and one.get("flow") == 0)
    place = slice(found["start"], found["start"] + found["count"])
    return columns["series.time"][place], columns["series.value"][place]


def points(columns: dict[str, np.ndarray], stream: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    place = slice(*columns["stream.points"][stream : stream + 2])
    return columns["point.time"][place], columns["point.read"][place], columns["point.waiting"][place]


def test_bbr_goes_through_its_phases_at_its_paces() -> None:
    _, header, columns = record(scenario('{ kind = "tcp", cc = "bbr" }'))
    times, values = series(header, columns, "state")
    names = [header["states"][int(value)] for value in values]
    assert names[:2] == ["Startup", "Drain"]
    assert {"ProbeBW: up", "ProbeBW: down", "ProbeBW: cruise"} <= set(names[2:])
    moments, rates = series(header, columns, "pacing_rate")

    def rate_in(phase: str) -> float:
        spans = [span for span, name in zip(pairwise(times), names, strict=False) if name == phase]
        within = [rate for start, end in spans for rate in rates[(moments >= start) & (moments < end)]]
        return float(np.median(within))

    cruise = rate_in("ProbeBW: cruise")
    # The bottleneck's 10 Mbit/s without headers of 52 in 1500 bytes; the gains of the BBR draft, section 4.3.4.
    assert cruise == pytest.approx(10e6 * 1448 / 1500, rel=0.03)
    assert rate_in("ProbeBW: up") / cruise == pytest.approx(1.25, rel=0.03)
    assert rate_in("ProbeBW: down") / cruise == pytest.approx(0.75, rel=0.03)


def test_hystart_plus_plus_names_its_conservative_slow_start() -> None:
    control = '{ kind = "tcp", cc = "reno", slow_start = "hystart++" }'
    network = NETWORK.replace('queue = "20 packets"', 'queue = "200 packets"')
    _, header, columns = record(scenario(control, network))
    names = [header["states"][int(value)] for value in series(header, columns, "state")[1]]
    assert names[:2] == ["slow start", "conservative slow start"]


@pytest.mark.parametrize(("name", "timeout"), {"tcp": 3.0, "quic": 3.0}.items())
def test_the_timeout_after_the_first_round_trip(name: str, timeout: float) -> None:
    network = NETWORK.replace('delay = "10 ms"', 'delay = "200 ms"')
    _, header, columns = record(scenario(TRANSPORTS[name], network))
    (_, rtts), (_, timeouts) = series(header, columns, "rtt"), series(header, columns, "rto")
    # RFC 6298 section 2.2 and RFC 9002 section 5.3: srtt = R, rttvar = R / 2, and four times rttvar is added; QUIC also
    # adds the peer's max_ack_delay of 25 ms. Before the first sample TCP's timeout is a second (section 2.1).
    added = 0.025 if name == "quic" else 0.0
    assert timeouts[0 if name == "quic" else 1] == pytest.approx(timeout * rtts[0] + added, rel=1e-6)
    assert name == "quic" or timeouts[0] == 1


def reassembled(columns: dict[str, np.ndarray], sender: int) -> dict[float, tuple[int, int]]:
    """State of a TCP receiver after each arrival: bytes received in order, and bytes beyond gaps."""
    is_data = (columns["packet.kind"] & 1 > 0) & (columns["packet.fate"] == 1) & (columns["packet.side"] == sender)
    arrivals = np.flatnonzero(is_data)[np.argsort(columns["packet.gone"][is_data], kind="stable")]
    beyond: list[tuple[int, int]] = []
    edge, states = 0, {}
    for packet in arrivals:
        beyond.append((int(columns["packet.from"][packet]), int(columns["packet.to"][packet])))
        beyond.sort()
        merged: list[tuple[int, int]] = []
        for start, end in beyond:
            if start <= edge:
                edge = max(edge, end)
            elif merged and start <= merged[-1][1]:
                merged[-1] = (merged[-1][0], max(merged[-1][1], end))
            else:
                merged.append((start, end))
        beyond = merged
        states[float(columns["packet.gone"][packet])] = (edge, sum(end - start for start, end in beyond))
    return states


@pytest.mark.parametrize("name", ["tcp", "mptcp"])
def test_what_waits_in_a_stream_is_what_has_come_too_early(name: str) -> None:
    _, header, columns = record(load('{ kind = "upload", size = "289600 B" }', TRANSPORTS[name]))
    assert (list(columns["stream.flow"]), list(columns["stream.kind"]), list(columns["stream.side"])) == ([0], [0], [1])
    times, read, waiting = points(columns, 0)
    assert (read[-1], waiting[-1], waiting.max() > 10_000) == (289_600, 0, True)
    assert np.all(np.diff(read) >= 0)
    if name == "tcp":
        states = reassembled(columns, 0)
        for time, *state in zip(times, read, waiting, strict=True):
            assert tuple(state) == states[float(time)], time
    assert header["interfaces"] == ["a.1", "b.1"]


@pytest.mark.parametrize("name", PAGES)
def test_objects_of_a_page_are_a_waterfall(name: str) -> None:
    outcome, _, columns = record(page(name))
    objects = np.flatnonzero(columns["stream.kind"] == 2)
    assert list(columns["stream.number"][objects]) == list(range(31))
    assert set(columns["stream.visit"]) == {0}
    ends = []
    for one in objects:
        times, read, waiting = points(columns, one)
        size = columns["stream.size"][one]
        assert 20_000 + 10_000 * (one == 0) < size < 30_700
        assert columns["stream.asked"][one] < times[0]
        assert (read[-1], waiting[-1]) == (size, 0)
        assert np.all(np.diff(times) >= 0)
        assert np.all(read + waiting <= size)
        ends.append(times[-1])
    # The document references the others: none is requested before it has arrived. The last byte is the page's.
    assert columns["stream.asked"][objects[1:]].min() >= ends[0]
    flow = table(outcome, "flows").row(0, named=True)
    assert flow["completion_s"] == pytest.approx(max(ends) / 1e9, abs=1e-6)
    flows = columns["stream.flow"][objects]
    assert len(set(flows)) == (6 if name == "http/1.1" else 1)
    if name == "http/1.1":
        for connection in set(flows):
            own = objects[flows == connection]
            asked = columns["stream.asked"][own]
            assert np.all(asked[1:] >= np.array(ends)[own][:-1]), "one at a time"


def test_an_object_over_http_3_waits_for_its_own_losses_alone() -> None:
    _, _, columns = record(page("http/3"))
    text, starts = bytes(columns["text"]).decode(), columns["packet.text"]
    lost: set[int] = set()
    for packet in np.flatnonzero((columns["packet.fate"] > 1) & (columns["packet.side"] == 1)):
        words = text[starts[packet] : starts[packet + 1]]
        lost |= {int(number) // 4 for number in re.findall(r"STREAM (\d+)", words)}
    waits = {one for one in range(31) if points(columns, one)[2].max() > 0}
    assert waits <= lost
    assert 0 < len(waits) < 20


def test_objects_over_http_2_wait_for_the_losses_of_others() -> None:
    _, _, columns = record(page("http/2"))
    before_first_byte = [one for one in range(31) if points(columns, one)[1][0] == 0]
    assert before_first_byte, "what came of an object waited for another's"
    # Each byte that arrived early belongs to one object, and there is one stream.
    lanes = [dict(zip(*points(columns, one)[::2], strict=True)) for one in range(31)]
    state = [0.0] * 31
    for moment, (_, beyond) in reassembled(columns, 1).items():
        state = [lane.get(moment, held) for lane, held in zip(lanes, state, strict=True)]
        assert sum(state) == beyond, moment


def test_messages_on_a_stream_of_sctp_do_not_wait_for_other_streams() -> None:
    app = '{ kind = "messages", message = "1000 B", interval = "2 ms", count = 1000 }'
    _, _, columns = record(load(app, '{ kind = "sctp", streams = 4 }'))
    assert list(columns["stream.kind"]) == [1] * 4
    assert sum(points(columns, one)[1][-1] for one in range(4)) == 1000
    waiting = [dict(zip(*points(columns, one)[::2], strict=True)) for one in range(4)]
    moments = sorted(set().union(*waiting))
    together = 0
    state = [0.0] * 4
    for moment in moments:
        state = [lane.get(moment, old) for lane, old in zip(waiting, state, strict=True)]
        together = max(together, sum(held > 0 for held in state))
    assert max(max(lane.values()) for lane in waiting) > 0
    assert together < 4, "a loss holds up its own stream"


def test_a_videos_buffer_falls_by_a_second_a_second() -> None:
    network = LOSSY.replace("5 Mbps", "1 Mbps")
    app = '{ kind = "video", duration = "60 s", ladder = ["1200 kbps"] }'
    outcome, header, columns = record(load(app, '{ kind = "tcp" }', network))
    assert next(one for one in header["measures"] if one["name"] == "buffer")["line"]
    times, levels = series(header, columns, "buffer")
    slopes = np.diff(levels)[np.diff(times) > 0] / (np.diff(times)[np.diff(times) > 0] / 1e9)
    assert all(min(abs(slope), abs(slope + 1)) < 1e-6 for slope in slopes)
    jumps = np.diff(levels)[np.diff(times) == 0]
    assert np.allclose(jumps, 4.0), "segments of four seconds"
    assert len(jumps) == 15
    flow = table(outcome, "flows").row(0, named=True)
    begun = times[np.argmax(levels >= 8)]
    dry = (levels == 0) & (times > begun) & (times < times[-1])
    assert len(set(np.flatnonzero(np.diff(dry.astype(int)) == 1))) == flow["stalls"] > 0


CAPTURED = {name: transport for name, transport in TRANSPORTS.items() if name != "linux"}


@needs("tshark")
@pytest.mark.parametrize("name", CAPTURED)
def test_numbers_of_packets_are_those_of_the_captures(tmp_path: Path, name: str) -> None:
    network = NETWORK.replace('queue = "20 packets"', 'queue = "20 packets", duplicate = 0.05, loss = 0.01')
    loaded = scenario(CAPTURED[name], network)
    assert _core.run(loaded, pcap=str(tmp_path)).failure is None
    _, header, columns = record(loaded, most=500)
    for interface, label in enumerate(header["interfaces"]):
        capture = tmp_path / f"{label}.pcapng"
        command = ["tshark", "-r", str(capture), "-T", "fields", "-eframe.number", "-eframe.time_epoch", "-eip.len"]
        lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
        frames = {int(number): (float(time), int(size)) for number, time, size in (line.split("\t") for line in lines)}
        numbered = 0
        for column, moment in (("packet.sent", "packet.time"), ("packet.arrived", "packet.gone")):
            here = np.flatnonzero((columns[f"{column}_at"] == interface) & (columns[column] > 0))
            for packet in here:
                time, size = frames[int(columns[column][packet])]
                assert size == columns["packet.size"][packet]
                assert time == pytest.approx(columns[moment][packet] / 1e9, abs=1e-6)
            assert len(set(columns[column][here])) == len(here)
            numbered += len(here)
        assert numbered > 200
    copies = columns["packet.reason"] == header["reasons"].index("copy made by a link")
    assert copies.any()
    assert not columns["packet.sent"][copies].any()
