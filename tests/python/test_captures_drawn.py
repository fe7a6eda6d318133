"""`vazao view CAPTURE`: recordings of captures beside those of the runs that were captured; their page."""

from __future__ import annotations

import contextlib
import gzip
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vazao as vz
from browsers import Open, needs_chromium, opener
from command import vazao
from test_captures import WIRES, run, scenario
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
    file = at["a"].read_bytes()
    blocks_, place = [], 0
    while place < len(file):
        length = int.from_bytes(file[place + 4 : place + 8], "little")
        blocks_.append(file[place : place + length])
        place += length
    packets = [number for number, block in enumerate(blocks_) if block[:4] == b"\x06\0\0\0"]
    late = tmp_path / "late.pcapng"
    late.write_bytes(b"".join(block for number, block in enumerate(blocks_) if number not in packets[:3]))
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
        bad = bytearray(good[: draws.randrange(len(good))])
        for _ in range(draws.randrange(20)):
            if bad:
                bad[draws.randrange(len(bad))] = draws.randrange(256)
        hostile.write_bytes(bad)
        with contextlib.suppress(vz.ScenarioError):
            header, columns = read(captures.record(hostile, most=30).content)
            drawn += 1
            assert header["packets"]["kept"] == len(columns["packet.time"]) <= 30
            assert (np.diff(columns["packet.time"]) >= 0).all()
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
        ([at["b"], at["a"]], "is drawn alone"),
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
