"""`vazao view CAPTURE`: recordings of captures beside those of the runs that were captured; their page."""

from __future__ import annotations

import contextlib
import gzip
import json
import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vazao as vz
from browsers import Open, needs_chromium, opener
from command import vazao
from test_captures import WIRES, damaged, run, scenario
from test_recording import read
from vazao import _core, captures, seeing

RETRANSMISSION = 64
PASSED = 5
COLUMNS = ("from", "to", "ack", "edge", "size", "side", "kind")

Read = tuple[dict[str, Any], dict[str, np.ndarray]]


def captured(folder: Path, text: str, end: str = "a") -> tuple[Read, Read, Path]:
    """The run's own recording, that of its capture at one end, and the capture."""
    _, at = run(folder, text)
    recording = _core.run(_core.load(text), recording=1_000_000).recording
    assert recording is not None
    return read(recording), read(captures.record(at[end]).content), at[end]


def crossings(header: dict[str, Any], columns: dict[str, np.ndarray], interface: str) -> dict[int, tuple[int, float]]:
    """A run's packets at an interface, and when they crossed it, by their numbers in its capture."""
    place = header["interfaces"].index(interface)
    found = {}
    for which, time in (("sent", "time"), ("arrived", "gone")):
        numbers, at = columns[f"packet.{which}"], columns[f"packet.{which}_at"]
        for packet in np.flatnonzero((numbers > 0) & (at == place)):
            found[int(numbers[packet])] = (int(packet), float(columns[f"packet.{time}"][packet]))
    return found


def blocks(columns: dict[str, np.ndarray], packet: int) -> list[tuple[float, float]]:
    part = slice(columns["packet.sacks"][packet], columns["packet.sacks"][packet + 1])
    return list(zip(columns["sack.from"][part], columns["sack.to"][part], strict=True))


def words(columns: dict[str, np.ndarray], packet: int) -> str:
    return bytes(columns["text"][columns["packet.text"][packet] : columns["packet.text"][packet + 1]]).decode()


def series(recording: Read, measure: str) -> tuple[np.ndarray, np.ndarray]:
    header, columns = recording
    (found,) = (one for one in header["series"] if one["measure"] == measure and one["flow"] == 0)
    part = slice(found["start"], found["start"] + found["count"])
    return columns["series.time"][part], columns["series.value"][part]


@pytest.mark.parametrize("end", ["a", "b"])
@pytest.mark.parametrize("wire", ["a plain path", "much loss", "late packets"])
def test_packets_are_those_of_the_run_at_that_place(tmp_path: Path, wire: str, end: str) -> None:
    (header, own), (_, seen), path = captured(tmp_path, scenario(1, WIRES[wire]), end)
    crossed = crossings(header, own, path.stem)
    assert sorted(crossed) == list(seen["packet.sent"]), "each has its number in the capture"
    numbers = [crossed[int(number)][0] for number in seen["packet.sent"]]
    times = np.array([crossed[int(number)][1] for number in seen["packet.sent"]])
    assert np.array_equal(seen["packet.time"], times - times[0]), "times count from the first packet of the capture"
    for column in COLUMNS:
        mine, theirs = own[f"packet.{column}"][numbers], seen[f"packet.{column}"]
        if column == "kind" and end == "b":
            # There a segment that fills a hole was sent again, or only late, as far as anybody can tell.
            mine, theirs = mine | RETRANSMISSION, theirs | RETRANSMISSION
        assert np.array_equal(mine, theirs, equal_nan=column in {"from", "to", "ack", "edge"}), column
    for number, packet in enumerate(numbers):
        assert blocks(seen, number) == blocks(own, packet)
        assert words(seen, number) == words(own, packet)
    assert set(seen["packet.fate"]) == {PASSED}
    assert np.isnan(seen["packet.gone"]).all(), "nothing is known of their arrival"
    assert len(seen["hop.packet"]) == 0


def test_where_the_receiver_is_what_is_sent_again_is_what_was_lost(tmp_path: Path) -> None:
    (_, own), (_, seen), path = captured(tmp_path, scenario(1, WIRES["much loss"]), "b")
    again = int((seen["packet.kind"] & RETRANSMISSION > 0).sum())
    (row,) = vz.read(path).connections.iter_rows(named=True)
    lost = int(((own["packet.fate"] == 3) & (own["packet.side"] == 0)).sum())
    assert again == row["retransmissions"]
    assert 0.9 * lost <= again <= int((own["packet.kind"] & RETRANSMISSION > 0).sum())


def test_series_follow_from_the_runs_packets(tmp_path: Path) -> None:
    mine, theirs, _ = captured(tmp_path, scenario(1, WIRES["random loss"]))
    (_, own), (header, _) = mine, theirs
    begin = own["packet.time"][0]
    data = (own["packet.side"] == 0) & ~np.isnan(own["packet.to"])
    answers = (own["packet.side"] == 1) & (own["packet.fate"] == 1)
    sent = {(time, to) for time, to in zip(own["packet.time"][data], own["packet.to"][data], strict=True)}
    acked: dict[float, list[float]] = {}
    for time, ack in zip(own["packet.gone"][answers], own["packet.ack"][answers], strict=True):
        acked.setdefault(time, []).append(ack)
    times, values = series(theirs, "rtt")
    assert len(times) > 300
    for time, value in zip(times + begin, values, strict=True):
        # The segment up to what is acknowledged then left so much earlier; the FIN takes a place behind the last.
        assert any((time - round(value * 1e9), min(ack, 2_000_000)) in sent for ack in acked[time])
    # The run measures from the first segment that an acknowledgement is for, so that it has the receiver's delay, too.
    own_times, own_values = series(mine, "rtt")
    same = np.isin(own_times - begin, times)
    at = np.searchsorted(times, own_times[same] - begin)
    assert np.all(values[at] <= own_values[same] + 1e-9)
    assert np.median(own_values[same] - values[at]) < 0.0013, "the second segment of two comes 0.6 ms after the first"
    assert values.min() >= 0.044, "the path's delay"
    times, values = series(theirs, "flight")
    last = np.flatnonzero(np.diff(times))[5:-5]
    for time, value in zip(times[last] + begin, values[last], strict=True):
        out = own["packet.to"][data & (own["packet.time"] <= time)].max()
        back = max(own["packet.ack"][answers & (own["packet.gone"] <= time)])
        assert abs(value - (out - back)) <= 1, "the FIN takes a place"
    times, values = series(theirs, "window")
    edges = own["packet.edge"] - own["packet.ack"]
    assert set(values) == set(edges[answers])
    assert header["flows"][0]["seen_from"] == "sender"


TWO = (
    scenario(1, WIRES["random loss"], size="200 kB")
    + """
[[flow]]
app = { kind = "download", size = "600 kB" }
transport = { kind = "tcp" }
"""
)


def blocks_of(file: Path) -> tuple[bytes, list[bytearray]]:
    """Bytes before the first packet of a capture of ours, and the blocks of its packets."""
    content, place, packets = file.read_bytes(), 0, []
    while place < len(content):
        block = bytearray(content[place : place + int.from_bytes(content[place + 4 : place + 8], "little")])
        place += len(block)
        if block[:4] == b"\x06\0\0\0":
            packets.append(block)
    return content[: len(content) - sum(map(len, packets))], packets


def time_of(block: bytearray) -> int:
    """Time of a packet's block in nanoseconds."""
    high, low = (int.from_bytes(block[at : at + 4], "little") for at in (12, 16))
    return high << 32 | low


def changed(file: Path, into: Path, change: Callable[[bytearray], None]) -> Path:
    """A capture of ours with another content of each packet's block."""
    head, packets = blocks_of(file)
    for block in packets:
        change(block)
    into.write_bytes(head + b"".join(sorted(packets, key=time_of)))
    return into


def later(by: int) -> Callable[[bytearray], None]:
    """Shift a packet's time by so many ticks, which are nanoseconds."""

    def shift(block: bytearray) -> None:
        time = time_of(block) + by
        block[12:20] = (time >> 32).to_bytes(4, "little") + (time & 0xFFFFFFFF).to_bytes(4, "little")

    return shift


@pytest.mark.parametrize("wire", ["a plain path", "much loss", "late packets"])
@pytest.mark.parametrize("ahead", [0, 1_234_567, 86_400_000_000_000])
def test_two_captures_tell_the_runs_losses_and_delays(tmp_path: Path, wire: str, ahead: int) -> None:
    text = scenario(1, WIRES[wire], size="1 MB")
    _, at = run(tmp_path, text)
    recording = _core.run(_core.load(text), recording=1_000_000).recording
    assert recording is not None
    _, own = read(recording)
    far = changed(at["b"], tmp_path / "far.pcapng", later(ahead))
    header, seen = read(captures.record_both(at["a"], far).content)
    for column in (*COLUMNS, "time", "fate", "gone"):
        # A queue's drop is lost between the two, too; when, no capture shows.
        mine = own[f"packet.{column}"]
        if column == "fate":
            mine = np.where(mine == 2, 3, mine)
        if column == "gone":
            mine = np.where(own["packet.fate"] == 1, mine, np.nan)
        assert np.array_equal(mine, seen[f"packet.{column}"], equal_nan=mine.dtype == float), column
    between = header["observed"]["between"]
    arrived = own["packet.fate"] == 1
    took = own["packet.gone"] - own["packet.time"]
    least = [took[arrived & (own["packet.side"] == side)].min() for side in (0, 1)]
    assert between["ahead_ns"] - ahead == (least[0] - least[1]) / 2 == 0, "the path is the same both ways"
    assert between["least_ns"] == sum(least) / 2
    assert (between["lost"], between["unknown"], between["strangers"]) == ((own["packet.fate"] >= 2).sum(), 0, 0)
    delays = {one["measure"] for one in header["series"]}
    assert {"delay", "delay_back", "rtt", "flight", "window"} == delays
    assert header["packets"]["kept"] == header["packets"]["all"] == len(own["packet.time"])


def test_ways_that_are_not_alike_shift_the_clocks_by_half_of_that(tmp_path: Path) -> None:
    """A delay on one way alone and a clock that is off look alike, whoever tells them (RFC 5905 section 8)."""
    _, at = run(tmp_path, scenario(1, size="100 kB"))

    def slower(block: bytearray) -> None:
        source, target = block[40:44], block[44:48]
        # What comes back passes the far end 6 ms earlier: its way takes so much longer.
        later(-6_000_000 if source > target else 0)(block)

    far = changed(at["b"], tmp_path / "far.pcapng", slower)
    header, _ = read(captures.record_both(at["a"], far).content)
    usual, _ = read(captures.record_both(at["a"], at["b"]).content)
    own, other = (one["observed"]["between"] for one in (header, usual))
    assert own["ahead_ns"] == other["ahead_ns"] - 3_000_000
    assert own["least_ns"] == other["least_ns"] + 3_000_000


def test_the_order_of_two_captures_does_not_matter_and_addresses_may_be_translated(tmp_path: Path) -> None:
    _, at = run(tmp_path, scenario(1, WIRES["much loss"], size="500 kB"))
    one, other = (read(captures.record_both(*paths).content) for paths in ((at["a"], at["b"]), (at["b"], at["a"])))
    for column in ("time", "gone", "fate", "from", "ack", "side"):
        assert np.array_equal(one[1][f"packet.{column}"], other[1][f"packet.{column}"], equal_nan=column != "fate")
    assert [node["name"] for node in one[0]["nodes"]] == ["client", "server"]
    assert [node["name"] for node in other[0]["nodes"]] == ["server", "client"]

    def translate(block: bytearray) -> None:
        for place in (40, 44):
            if block[place : place + 4] == b"\x0a\0\0\x01":
                block[place : place + 4] = b"\xc0\0\x02\x01"

    far = changed(at["b"], tmp_path / "far.pcapng", translate)
    assert vz.read(far).connections["client"][0].startswith("192.0.2.1:")
    _, translated = read(captures.record_both(at["a"], far).content)
    assert np.array_equal(translated["packet.fate"], one[1]["packet.fate"])


def test_what_the_other_capture_cannot_have_is_not_lost(tmp_path: Path) -> None:
    _, at = run(tmp_path, scenario(1, size="1 MB"))
    header, columns = read(captures.record_both(at["a"], at["b"]).content)
    half = float(columns["packet.time"][len(columns["packet.time"]) // 2])
    head, packets = blocks_of(at["b"])
    short = tmp_path / "short.pcapng"
    short.write_bytes(head + b"".join(block for block in packets if time_of(block) < half))
    header, seen = read(captures.record_both(at["a"], short).content)
    lost = seen["packet.time"][seen["packet.fate"] == 3]
    assert len(lost) == 0 or lost.max() < half
    late = seen["packet.time"] > half
    assert set(seen["packet.fate"][late]) == {0}
    assert header["observed"]["between"]["unknown"] > late.sum() / 2
    _, seen = read(captures.record_both(at["a"], at["b"], most=100).content)
    assert len(seen["packet.time"]) <= 100
    assert np.array_equal(seen["packet.from"], columns["packet.from"][: len(seen["packet.from"])], equal_nan=True)


def test_captures_that_share_no_connection_are_refused(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    _, at = run(tmp_path, scenario(1, size="20 kB"))
    _, others = run(tmp_path / "other", scenario(2, size="20 kB"))
    with pytest.raises(vz.ScenarioError, match="has none of the connections of"):
        captures.record_both(at["a"], others["b"])


def test_connections_are_chosen_and_cut(tmp_path: Path) -> None:
    _, at = run(tmp_path, TWO)
    rows = vz.read(at["a"]).connections
    header, columns = read(captures.record(at["a"]).content)
    by_size = [row["connection"] for row in rows.sort("app_bytes", descending=True).iter_rows(named=True)]
    assert [flow["connection"] for flow in header["flows"]] == by_size
    assert header["flows"][0]["sender"] == 1
    for number, connection in enumerate(by_size):
        assert (columns["packet.flow"] == number).sum() == rows["packets"][connection]
    header, columns = read(captures.record(at["a"], flow=1, most=50).content)
    assert [flow["connection"] for flow in header["flows"]] == [1]
    assert header["packets"] == {"kept": 50, "all": rows["packets"][1]}
    assert len(columns["packet.time"]) == 50
    whole, _ = read(captures.record(at["a"], most=600).content)
    assert len(whole["flows"]) == 1, "as many as are whole"


def test_windows_without_their_scale_are_not_drawn(tmp_path: Path) -> None:
    """The scale stands in SYNs (RFC 7323 section 2.2); a capture without them has the windows' digits alone."""
    _, at = run(tmp_path, scenario(1, size="100 kB"))
    head, packets = blocks_of(at["a"])
    late = tmp_path / "late.pcapng"
    late.write_bytes(head + b"".join(packets[3:]))
    header, columns = read(captures.record(late).content)
    assert "window" not in {one["measure"] for one in header["series"]}
    assert np.isnan(columns["packet.edge"]).all()
    assert np.nanmax(columns["packet.ack"]) == 100_001, "offsets count from the first octet that passed; FIN"


def test_hostile_captures_are_drawn_or_refused(tmp_path: Path) -> None:
    _, at = run(tmp_path, scenario(1, WIRES["all of it"], size="50 kB"))
    good = at["b"].read_bytes()
    draws = random.Random(11)
    hostile = tmp_path / "hostile.pcapng"
    drawn = 0
    for _ in range(200):
        hostile.write_bytes(damaged(good, draws))
        with contextlib.suppress(vz.ScenarioError):
            header, columns = read(captures.record(hostile, most=30).content)
            drawn += 1
            assert header["packets"]["kept"] == len(columns["packet.time"]) <= 30
            assert (np.diff(columns["packet.time"]) >= 0).all()
            _, columns = read(captures.record_both(at["a"], hostile, most=30).content)
            assert (np.diff(columns["packet.time"]) >= 0).all()
            assert not (columns["packet.gone"] < columns["packet.time"]).any()
    assert drawn > 50


def test_the_command_draws_a_capture_and_says_what_does_not_go_with_it(tmp_path: Path) -> None:
    _, at = run(tmp_path, scenario(1, size="50 kB"))
    packed = tmp_path / "packed.pcap.gz"
    packed.write_bytes(gzip.compress(at["a"].read_bytes()))
    page = tmp_path / "page.html"
    told = json.loads(vazao("view", packed, "--html", page, "--json").out)
    assert told == {"page": str(page), "captures": [str(packed)]}
    assert 'data-name="packed.pcap.gz"' in page.read_text()
    for words_, says in [
        (["--flow", "7"], "no connection 7; the last is 0"),
        (["--seed", "3"], "leave --set, --beside and --seed out"),
        ([at["b"], at["a"]], "drawn alone or with one of the same packets"),
    ]:
        done = vazao("view", at["a"], *words_, "--html", page)
        assert (done.code, says in done.err) == (2, True), done.err
    file = tmp_path / "scenario.toml"
    done = vazao("view", file, "--flow", "0", "--html", page)
    assert (done.code, "names a connection of a capture" in done.err) == (2, True)


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("drawn")
    _, at = run(folder, TWO)
    made = {"whole": captures.record(at["a"]), "cut": captures.record(at["a"], flow=0, most=200)}
    made["both"] = captures.record_both(at["a"], at["b"])
    return {name: seeing.view([one]).save(folder / f"{name}.html") for name, one in made.items()}


@pytest.fixture
def opened(browser: Any, pages: dict[str, Path]) -> Iterator[Open]:
    with opener(browser) as open_file:

        def open_page(name: str, *size: int) -> Any:
            page = open_file(pages[name], *size)
            page.wait_for_selector("main :first-child")
            page.wait_for_timeout(150)
            return page

        yield open_page


def colours(page: Any, panel: str) -> int:
    """Number of colours in a panel's canvas."""
    page.locator(f"#panel-{panel}").scroll_into_view_if_needed()
    page.wait_for_timeout(120)
    script = """id => {
        const canvas = document.querySelector(`#panel-${id} canvas`);
        const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
        return new Set(new Uint32Array(data.buffer)).size;
    }"""
    return int(page.evaluate(script, panel))


@needs_chromium
@pytest.mark.parametrize("size", [(1280, 900), (390, 844)])
def test_the_page_draws_what_a_capture_shows_and_nothing_else(opened: Open, size: tuple[int, int]) -> None:
    page = opened("whole", *size)
    panels = page.locator(".panel h2").all_inner_texts()
    assert panels == ["Time-sequence graph", "Windows", "Round-trip time", "Rates"]
    for panel in ("sequence", "windows", "rtt", "rates"):
        assert colours(page, panel) > 3, panel
    assert "taken near 10.0.0.1" in page.locator(".note").first.inner_text()
    assert page.locator(".player").count() == 0
    chosen = page.locator(".choosers select").first.locator("option").all_inner_texts()
    assert [text.split(":")[0] for text in chosen] == ["Connection 0", "Connection 1"]
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.keyboard.press("n")
    facts = dict(
        zip(page.locator(".packet dt").all_inner_texts(), page.locator(".packet dd").all_inner_texts(), strict=True)
    )
    assert "what became of it is not known" in facts["Fate"]
    assert facts["In the capture"].endswith("at a.1.pcapng")
    assert page.locator(".packet .way").count() == 0


@needs_chromium
def test_a_capture_that_was_cut_says_so(opened: Open) -> None:
    page = opened("cut", 1280, 900)
    assert any("the first 200 of" in note for note in page.locator(".note").all_inner_texts())


@needs_chromium
@pytest.mark.parametrize("size", [(1280, 900), (390, 844)])
def test_the_page_of_two_captures_says_how_their_clocks_were_set(opened: Open, size: tuple[int, int]) -> None:
    page = opened("both", *size)
    panels = page.locator(".panel h2").all_inner_texts()
    assert panels == [
        *(
            "Time-sequence graph",
            "Network",
            "Space-time diagram",
            "Windows",
            "Round-trip time",
            "One-way delay",
            "Rates",
        )
    ]
    for panel in ("sequence", "spacetime", "delay"):
        assert colours(page, panel) > 3, panel
    note = page.locator(".note").first.inner_text()
    assert "the least delays both ways are the same" in note
    assert "captures cannot tell more" in note
    assert re.search(r"\d+ packets were lost between the two", note)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.keyboard.press("n")
    facts = dict(
        zip(page.locator(".packet dt").all_inner_texts(), page.locator(".packet dd").all_inner_texts(), strict=True)
    )
    assert facts["Fate"] in {"passed the other capture", "lost before the other capture"}
    assert page.locator(".packet .way td").all_inner_texts()[2] == "–", "nobody knows how long it waited"
