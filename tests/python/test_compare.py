"""`vazao compare`: packets read from captures, traces that diverge, and one scenario on every stack."""

from __future__ import annotations

import dataclasses
import json
import re
import subprocess
from pathlib import Path

import polars as pl
import pytest

import vazao as vz
from command import Vazao, caller
from tools import needs
from vazao import kernel, limits, statistics
from vazao.cli import comparison
from vazao.comparing import MEASURES, Comparison, Replications, Trial, first_divergence
from vazao.comparing.traces import of_flow
from vazao.comparing.variants import variants

BUILT = kernel.find() is not None
needs_kernel = pytest.mark.skipif(not BUILT, reason="no Linux guest kernel: `vazao kernel build` makes one")

LOST = [40, 41, 55]
"""Packets of the forward direction that the link loses, counted from 1."""

SCENARIO = f"""
name = "listed losses"
[network]
topology = "point-to-point"
[network.link]
rate = "10 Mbps"
delay = "20 ms"
queue = "200 packets"
forward = {{ loss = {{ kind = "list", packets = {LOST} }} }}
[[flow]]
app = {{ kind = "upload", size = "200 kB" }}
transport = {{ kind = "tcp", cc = "reno" }}
"""


def trial(name: str, folder: Path, *, app: vz.App | None = None, delay: str = "20 ms", **transport: object) -> Trial:
    """Runs our own stack over a link that loses the packets of `LOST`."""
    link = vz.link("10 Mbps", delay, queue="200 packets", forward=vz.link(loss={"kind": "list", "packets": LOST}))
    flow = vz.flow(app or vz.upload("200 kB"), vz.tcp(cc="reno", **transport))
    captures = folder / name
    result = vz.run(vz.point_to_point(link), [flow], trace=["cwnd"], pcap=captures)
    return Trial(name, result, captures)


def trace(*packets: tuple[float, str, str, int, int, int]) -> pl.DataFrame:
    """Handwritten trace: time, direction, flags, sequence and acknowledgement number, length."""
    names = ["time_s", "direction", "flags", "sequence", "acknowledgment", "length"]
    return pl.DataFrame(packets, schema=names, orient="row").with_columns(protocol=pl.lit("tcp"))


HANDSHAKE = [(0.0, "sent", "SYN", 0, 0, 0), (0.1, "received", "SYN ACK", 0, 1, 0), (0.1, "sent", "ACK", 1, 1, 0)]
DATA = [(0.1, "sent", "ACK", 1, 1, 1448), (0.1, "sent", "PSH ACK", 1449, 1, 1448), (0.2, "received", "ACK", 1, 2897, 0)]


@needs("tshark")
def test_packets_are_those_that_tshark_reads(tmp_path: Path) -> None:
    """Covers a file written by Wireshark's own tools, too."""
    ours = trial("ours", tmp_path).captures / "a.1.pcapng"
    theirs = tmp_path / "theirs.pcapng"
    subprocess.run(["tshark", "-r", str(ours), "-w", str(theirs), "-F", "pcapng"], check=True, capture_output=True)
    names = ["frame.time_epoch", "frame.packet_flags_direction", "ip.src", "ip.dst", "tcp.srcport", "tcp.dstport"]
    names += ["tcp.seq_raw", "tcp.ack_raw", "tcp.len", "tcp.window_size_value", "tcp.flags", "tcp.options.sack_le"]
    fields = [argument for name in names for argument in ("-e", name)]
    absolute = ["-o", "tcp.relative_sequence_numbers:FALSE"]
    command = ["tshark", "-r", str(ours), *absolute, "-T", "fields", "-E", "separator=;", "-E", "occurrence=a", *fields]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    bits = {"FIN": 1, "SYN": 2, "RST": 4, "PSH": 8, "ACK": 16, "URG": 32, "ECE": 64, "CWR": 128}
    for file in (ours, theirs):
        packets = vz.packets(file)
        assert packets.height == len(lines) > 200
        assert packets["problem"].null_count() == packets.height
        assert packets["sack"].drop_nulls().len() > 10
        for row, line in zip(packets.iter_rows(named=True), lines, strict=True):
            time, way, source, destination, *numbers, flags, sacked = line.split(";")
            assert row["time_s"] == pytest.approx(float(time), abs=1e-9)
            assert row["direction"] == {1: "received", 2: "sent"}[int(way, 16)]
            assert (row["source"], row["destination"], row["protocol"]) == (source, destination, "tcp")
            ports = [row["source_port"], row["destination_port"]]
            # tshark gives the field as it is, meaningful or not.
            fields_of = [row["sequence"], row["acknowledgment"] or 0, row["length"], row["window"]]
            assert ports + fields_of == [int(number) for number in numbers]
            assert sum(bits[flag] for flag in row["flags"].split()) == int(flags, 16)
            assert [block.split("-")[0] for block in (row["sack"] or "").split()] == [x for x in sacked.split(",") if x]


def test_what_is_no_capture_is_refused_with_a_reason(tmp_path: Path) -> None:
    with pytest.raises(vz.ResultsError, match=r"nothing\.pcapng: cannot read: No such file"):
        vz.packets(tmp_path / "nothing.pcapng")
    (tmp_path / "text").write_text(SCENARIO)
    with pytest.raises(vz.ScenarioError, match="text: this is not a pcapng file"):
        vz.packets(tmp_path / "text")
    whole = (trial("run", tmp_path).captures / "a.1.pcapng").read_bytes()
    (tmp_path / "cut").write_bytes(whole[:-3])
    with pytest.raises(vz.ScenarioError, match="cut: the file ends inside the block"):
        vz.packets(tmp_path / "cut")


def test_traces_written_by_hand_part_where_they_do() -> None:
    whole = trace(*HANDSHAKE, *DATA)
    assert first_divergence(whole, whole).identical
    assert first_divergence(whole, whole).same == 6

    # PSH, a different order at the same time, and half a millisecond do not count as differences.
    pushed = [(time, way, flags.replace("PSH ", ""), *numbers) for time, way, flags, *numbers in DATA]
    late = [(time + 0.0005, *rest) for time, *rest in [HANDSHAKE[0], HANDSHAKE[2], HANDSHAKE[1], *pushed]]
    assert first_divergence(whole, trace(*late)).identical
    assert first_divergence(whole, trace(*late), 0.0004).differs == ("time",)

    shorter = first_divergence(whole, trace(*HANDSHAKE, *DATA[:1]))
    assert (shorter.differs, shorter.same, shorter.place) == (("missing",), 4, 4)
    assert shorter.first == (whole.row(4, named=True), None)

    # Data on the handshake's last packet: the second packet sent differs, and the reply is unaffected.
    eager = trace(*HANDSHAKE[:2], DATA[0], DATA[1], DATA[2])
    found = first_divergence(whole, eager)
    assert (found.differs, found.same, found.place) == (("length",), 2, 2)
    assert [packet["length"] for packet in found.first if packet] == [0, 1448]
    assert [a["flags"] for a, _ in found.before] == ["SYN", "SYN ACK"]
    assert [[packet["length"] for packet in rest] for rest in found.after] == [[0, 1448, 1448, 0], [1448, 1448, 0]]


def quic(*packets: tuple[float, str, int]) -> pl.DataFrame:
    """Handwritten trace of QUIC: time, direction, length."""
    return trace(*((time, way, "", None, None, length) for time, way, length in packets)).with_columns(
        protocol=pl.lit("quic")
    )


def test_datagrams_of_quic_part_by_size_only_where_one_alone_is_full() -> None:
    """Lengths depend on encodings, so only full against smaller counts: a probe instead of data is a difference."""
    ours = quic((0.0, "sent", 1200), (0.1, "received", 1449), (0.1, "received", 323), (0.1, "sent", 1452))
    theirs = quic((0.0, "sent", 1252), (0.1, "received", 1452), (0.1, "received", 309), (0.1, "sent", 1452))
    assert first_divergence(ours, theirs).identical
    probe = quic((0.0, "sent", 1252), (0.1, "received", 1452), (0.1, "received", 309), (0.1, "sent", 31))
    found = first_divergence(ours, probe)
    assert (found.differs, found.place) == (("length",), 2)
    assert [packet["length"] for packet in found.first if packet] == [1452, 31]
    # Datagrams of plain UDP are compared as they are.
    plain = [each.with_columns(protocol=pl.lit("udp")) for each in (ours, theirs)]
    assert first_divergence(*plain).differs == ("length",)


def test_ours_and_a_library_part_where_one_spreads_its_packets(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Both send what three round trips allow; then ours paces, which the handshake's datagrams do not predict."""
    text = SCENARIO.replace('kind = "tcp"', 'kind = "quic"').replace(f"{LOST}", "[]")
    path = tmp_path / "quic.toml"
    path.write_text(text, encoding="utf-8")
    made = vz.compare(path, out=tmp_path / "compared")
    (found,) = made.divergences
    assert found.runs == ("vazao", "quinn")
    assert found.packets.differs == ("time",)
    assert found.packets.same > 20
    packet = found.packets.first[0]
    assert packet
    assert (packet["direction"], packet["length"] >= 1200) == ("sent", True)
    # Among full datagrams alone the first difference is the same, and none is an acknowledgement.
    assert found.data.first == found.packets.first
    assert {each["length"] >= 1200 for pair in found.data.before for each in pair} == {True}
    comparison.show(made, "quic")
    shown = capsys.readouterr().out
    # Of several equal packets one is marked on each side.
    assert shown.count("▸") == 2
    assert "reach 1200 bytes" in " ".join(shown.split())


def test_equal_runs_are_identical_and_differ_in_nothing(tmp_path: Path) -> None:
    made = Comparison([trial("one", tmp_path), trial("two", tmp_path)])
    (found,) = made.divergences
    assert found.packets.identical
    assert found.data.identical
    assert found.packets.packets[0] == found.packets.packets[1] == found.packets.same > 200
    assert set(made.differences["difference"]) == {0.0}


def test_recoveries_part_when_the_first_loss_is_repaired(tmp_path: Path) -> None:
    """SACK blocks, or NewReno's lack of them, change what is sent only once a loss has been noticed."""
    made = Comparison([trial("sack", tmp_path, recovery="sack"), trial("newreno", tmp_path, recovery="newreno")])
    (found,) = made.divergences
    capture = of_flow(made.trials[0].captures, {"client": "a", "server": "b", "app": "upload", "flow": 0})
    sent = capture.filter(direction="sent")
    lost = sent.row(LOST[0] - 1, named=True)
    again = sent.filter(pl.col("sequence") == lost["sequence"])["time_s"][1]
    assert not found.data.identical
    packet = found.data.first[0]
    assert packet
    assert packet["time_s"] >= again - 1e-9
    assert packet["direction"] == "sent"
    # Up to that point they are identical, including the loss and its first repair.
    assert found.data.same >= LOST[-1] - 1
    row = made.differences.row(
        by_predicate=(pl.col("measure") == "completion_s") & (pl.col("run") == "sack"), named=True
    )
    one, other = (result.flows["completion_s"][0] for result in made.results.values())
    assert row["difference"] == pytest.approx(one - other)
    assert row["relative"] == pytest.approx((one - other) / other)


def test_the_limit_that_differs_most_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A window of four segments, far below what the path takes, is what the slower run waits for."""
    made = Comparison([trial("narrow", tmp_path, receive_buffer="6 kB"), trial("wide", tmp_path)])
    (row,) = made.limits.to_dicts()
    narrow, wide = (result.flows["limited_receive_window_s"][0] for result in made.results.values())
    assert wide == 0
    assert row == {"flow": 0, "run": "narrow", "limit": "receive_window", "difference_s": pytest.approx(narrow)}
    comparison.show(made, "windows")
    assert re.search(r"limits differ most in: .* more receive window \(narrow against wide\)", capsys.readouterr().out)
    # What one of two does not account for is not compared, and equal runs differ nowhere.
    first = made.results["narrow"].flows.row(0, named=True)
    kernel = dict.fromkeys(first) | {"completion_s": 1.0, "limited_receive_window_s": 0.25}
    assert limits.apart(kernel, first) == ("receive_window", pytest.approx(0.25 - narrow))
    assert limits.apart(first, first) is limits.apart(kernel, dict.fromkeys(first)) is None


def test_traces_are_the_senders_and_numbers_count_from_the_connections_first(tmp_path: Path) -> None:
    made = trial("down", tmp_path, app=vz.download("100 kB"))
    assert made.result
    trace = of_flow(made.captures, made.result.flows.row(0, named=True))
    data = trace.filter(pl.col("length") > 0)
    assert set(data["direction"]) == {"sent"}
    assert data["sequence"][0] == 1
    assert (data["sequence"] + data["length"]).max() == 100_001
    # The last acknowledgement covers the sender's FIN.
    assert trace.filter(direction="received")["acknowledgment"].max() == 100_002


def test_a_delay_parts_traces_in_time(tmp_path: Path) -> None:
    (found,) = Comparison([trial("near", tmp_path), trial("far", tmp_path, delay="21 ms")]).divergences
    assert found.packets.differs == ("time",)
    near, far = found.packets.first
    assert near
    assert far
    assert near["flags"] == "SYN ACK"
    assert far["time_s"] - near["time_s"] == pytest.approx(2e-3)


def test_windows_are_drawn_together(tmp_path: Path) -> None:
    made = Comparison([trial("sack", tmp_path, recovery="sack"), trial("tahoe", tmp_path, recovery="tahoe")])
    files = made.draw(tmp_path / "figures")
    assert [file.name for file in files] == ["cwnd.svg", "cwnd.pdf", "cwnd.png", "cwnd.html"]
    svg = files[0].read_text()
    assert all(f">{text}</text>" in svg for text in ("sack", "tahoe", "Time (ms)", "Congestion window (kB)"))
    page = files[3].read_text()
    assert "vegaEmbed" in page
    # Opening the page fetches nothing.
    assert "<script src" not in page


def test_what_a_stack_refuses_is_left_out() -> None:
    control = '{ kind = "cubic", profile = "linux" }'
    text = SCENARIO.replace('cc = "reno"', f'cc = {control}, recovery = "newreno"')
    second = """
[[flow]]
app = { kind = "upload", size = "10 kB" }
transport = { kind = "mptcp", path_manager = "ndiffports" }
"""
    changes = [("flow.0.app.size", "50 kB"), ("network.link.delay", "5 ms")]
    ours, linux = variants(text + second, overrides=changes)
    assert ours.scenario
    assert linux.scenario
    assert ours.notes == ()
    assert [note.split(" (")[0] for note in linux.notes] == [
        "flow 0: recovery is left out",
        "flow 0: cc.profile is left out",
        "flow 1: path_manager is left out",
    ]
    first = json.loads(linux.scenario.json)["flow"][0]["transport"]
    assert first["stack"] == "linux"
    assert first["cc"] == {"kind": "cubic"}
    assert [json.loads(v.scenario.json)["flow"][0]["app"]["size"] for v in (ours, linux) if v.scenario] == ["50 kB"] * 2


def test_a_setting_that_means_something_else_on_linux_is_named() -> None:
    text = SCENARIO.replace('cc = "reno"', 'cc = "reno", receive_buffer = "100 kB"')
    ours, linux = variants(text)
    assert ours.notes == ()
    assert [note.split(";")[0] for note in linux.notes] == ["flow 0: receive_buffer is bytes of data on our stack"]
    assert "doubles" in linux.notes[0]
    assert "SO_RCVBUF" in linux.notes[0]
    _, both = variants(text.replace('"100 kB"', '"100 kB", send_buffer = "1 MB"'))
    assert "flow 0: receive_buffer and send_buffer are" in both.notes[0]
    assert variants(text.replace('"100 kB"', '"auto"'))[1].notes == variants(SCENARIO)[1].notes == ()


def test_a_table_that_is_set_takes_the_place_of_the_flows() -> None:
    ours, linux = variants(SCENARIO, overrides=[("=flow.*.transport", {"kind": "tcp", "cc": "bbr"})])
    for variant in ours, linux:
        assert variant.scenario
        kinds = {flow["transport"]["cc"]["kind"] for flow in json.loads(variant.scenario.json)["flow"]}
        assert kinds == {"bbr"}


def test_what_is_wrong_is_said_where_it_stands() -> None:
    with pytest.raises(vz.ScenarioError, match=r"here\.toml:\d+: network.link.rate"):
        variants(SCENARIO.replace("10 Mbps", "10 Mbs"), file="here.toml")


@pytest.fixture
def compare(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Vazao:
    return caller(monkeypatch, capsys, "compare")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "listed.toml").write_text(SCENARIO)
    return tmp_path


def test_without_a_kernel_ours_is_shown_with_instructions_to_build_one(
    here: Path, monkeypatch: pytest.MonkeyPatch, compare: Vazao
) -> None:
    monkeypatch.setattr("vazao.scenario.loader._kernels", list)
    answer = compare("listed.toml")
    assert answer.code == 1
    assert "not built" in answer.out
    assert "vazao kernel build" in answer.err
    assert "200 kB" not in answer.err
    assert "completion" in answer.out
    assert "traces" not in answer.out
    assert (here / "results" / "compare-listed" / "cwnd.svg").is_file()


@needs_kernel
def test_ours_beside_linux(here: Path, compare: Vazao) -> None:
    answer = compare("listed.toml", "--set", "flow.0.transport.recovery=sack", "--out", "there")
    assert answer.code == 0, answer.err
    for words in (
        "vazao against linux",
        "recovery is left out",
        "congestion window",
        "▸",
        "figures and captures: there",
    ):
        assert words in answer.out
    assert all((here / "there" / stack / "a.1.pcapng").is_file() for stack in ("vazao", "linux"))

    answer = compare("listed.toml", "--json", "--tolerance", "2", "--seed", "3")
    assert answer.code == 0, answer.err
    found = json.loads(answer.out)
    assert [run["run"] for run in found["runs"]] == ["vazao", "linux"]
    assert (found["yardstick"], found["tolerance_s"]) == ("linux", 2e-3)
    rows = {(row["measure"], row["run"]): row for row in found["differences"]}
    assert set(rows) == {(measure, run) for measure in MEASURES for run in ("vazao", "linux")}
    # Both lose the same number of packets, since the list fixes it; each is retransmitted.
    assert rows["packets_lost", "vazao"]["value"] == rows["packets_lost", "linux"]["value"] == len(LOST)
    assert rows["retransmissions", "linux"]["value"] >= len(LOST)
    (traces,) = found["traces"]
    # The handshake and the initial window of ten segments are the same on both.
    assert traces["data"]["same"] >= 10


BESIDE = """
[network]
topology = "dumbbell"
pairs = 2
access = { rate = "1 Gbps", delay = "1 ms" }
bottleneck = { rate = { trace = "uplink.trace" }, delay = "5 ms" }
[[flow]]
client = "left1"
server = "right1"
app = { kind = "upload", size = "50 kB" }
[[flow]]
client = "left2"
server = "right2"
app = { kind = "page", objects = 3, size = "10 kB" }
"""


@needs_kernel
def test_a_stack_has_no_column_for_a_flow_that_it_does_not_play(here: Path, compare: Vazao) -> None:
    (here / "sub").mkdir()
    (here / "sub" / "beside.toml").write_text(BESIDE)
    (here / "sub" / "uplink.trace").write_text("1\n2\n")
    answer = compare("sub/beside.toml", "--out", "there")
    assert answer.code == 0, answer.err
    upload, page = answer.out.split("flow 1: left2")
    assert "vazao against linux" in upload
    assert "against" not in page.partition("Traces are compared")[0]
    assert "linux does not play it" in page
    found = json.loads(compare("sub/beside.toml", "--json", "--out", "there").out)
    assert {(row["flow"], row["run"]) for row in found["differences"]} == {(0, "vazao"), (0, "linux"), (1, "vazao")}
    assert {trace["flow"] for trace in found["traces"]} <= {0}


LOSSY = SCENARIO.replace(f'{{ kind = "list", packets = {LOST} }}', "0.02").replace("200 kB", "100 kB")


def made_of(rows: list[tuple[int, str, float]]) -> Replications:
    frame = pl.DataFrame(rows, schema=["seed", "run", "value"], orient="row")
    long = frame.with_columns(flow=pl.lit(0, pl.Int64), measure=pl.lit("completion_s"))
    return Replications(tuple(sorted({row[0] for row in rows})), long.select("seed", "run", "flow", "measure", "value"))


def test_differences_are_of_pairs() -> None:
    """Gosset's own data (Student, Biometrika 6, 1908, p. 20): hours of sleep gained with two drugs, ten patients."""
    first = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0]
    second = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]
    made = made_of([(n, run, v) for run, each in (("vazao", second), ("linux", first)) for n, v in enumerate(each)])
    (row,) = made.differences.to_dicts()
    assert (row["run"], row["n"]) == ("linux", 10)
    assert row["mean"] == pytest.approx(1.58)
    # From R's t.test(extra ~ group, data = sleep, paired = TRUE).
    assert row["p"] == pytest.approx(0.002833, abs=1e-6)
    assert (row["mean"] - row["half"], row["mean"] + row["half"]) == pytest.approx((0.7001142, 2.4598858))
    means = {each["run"]: each for each in made.intervals.iter_rows(named=True)}
    assert means["linux"]["mean"] == pytest.approx(0.75)
    assert means["linux"]["half"] == pytest.approx(2.262157 * 1.789010 / 10**0.5, rel=1e-5)


def test_seeds_that_only_one_stack_has_are_no_pairs() -> None:
    made = made_of([(1, "vazao", 2.0), (2, "vazao", 3.0), (3, "vazao", 9.0), (1, "linux", 1.0), (2, "linux", 2.0)])
    (row,) = made.differences.to_dicts()
    assert (row["n"], row["mean"], row["half"], row["p"]) == (2, 1.0, 0.0, 0.0)
    (alone,) = made_of([(1, "vazao", 2.0), (1, "linux", 4.0)]).differences.to_dicts()
    assert (alone["n"], alone["mean"], alone["half"], alone["relative"]) == (1, -2.0, None, -0.5)
    assert statistics.paired([1.0], [2.0]) is None
    with pytest.raises(vz.VazaoError, match="as many values on either side; there are 1 and 2"):
        statistics.paired([1.0], [2.0, 3.0])


@needs_kernel
def test_seeds_give_intervals_pairs_and_a_page(here: Path, compare: Vazao) -> None:
    Path("lossy.toml").write_text(LOSSY)
    answer = compare("lossy.toml", "--seeds", "2-5", "--out", "there")
    assert answer.code == 0, answer.err
    assert "4 runs of each stack, seeds 2-5: means with 95 % intervals" in answer.out
    assert answer.out.count("±") > 8
    assert "congestion window, seed 2" in answer.out
    assert "page: there/compare.html" in answer.out
    page = Path("there/compare.html").read_text()
    assert page.count("<svg") == 2
    assert "vazao against linux" in page
    assert "<script" not in page
    found = json.loads(compare("lossy.toml", "--seeds", "2-5", "--out", "there", "--json").out)
    assert found["seeds"] == [2, 3, 4, 5]
    values = {(row["seed"], row["run"]): row["value"] for row in found["values"] if row["measure"] == "completion_s"}
    apart = [values[seed, "vazao"] - values[seed, "linux"] for seed in found["seeds"]]
    (row,) = [row for row in found["paired"] if row["measure"] == "completion_s"]
    assert (row["mean"], row["n"]) == (pytest.approx(sum(apart) / 4), 4)
    # For the first seed it equals a single run, and Python gives the same.
    alone = json.loads(compare("lossy.toml", "--seed", "2", "--json").out)
    completion = {row["run"]: row["value"] for row in alone["differences"] if row["measure"] == "completion_s"}
    assert completion == {run: values[2, run] for run in ("vazao", "linux")}
    experiment = vz.load("lossy.toml")
    assert isinstance(experiment, vz.Experiment)
    made = vz.compare(dataclasses.replace(experiment, seed=2), seeds=4, out="there")
    assert made.replications
    assert made.replications.differences.to_dicts() == found["paired"]
    assert repr(made) == "Comparison('listed losses', vazao, linux, seeds=4)"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--seeds", "0"), "--seeds '0': write how many"),
        (("--seeds", "1-3", "--seed", "4"), "leave --seed 4 out"),
        (("--set", "network.link.rate=fast"), "is not a rate"),
    ],
)
def test_what_cannot_be_compared_is_said(here: Path, compare: Vazao, options: tuple[str, ...], message: str) -> None:
    answer = compare("listed.toml", *options)
    assert (answer.code, message in answer.err) == (2, True), answer.err
    assert not Path("results").exists()


def test_python_gets_the_same_errors(here: Path) -> None:
    experiment = vz.load("listed.toml")
    assert isinstance(experiment, vz.Experiment)
    with pytest.raises(vz.ScenarioError, match=r"is varied \(flow.0.transport.cc\)"):
        vz.compare(experiment.vary("flow.0.transport.cc", ["reno", "cubic"]))
    with pytest.raises(vz.ScenarioError, match="seeds = 0: give how many"):
        vz.compare(experiment, seeds=0)
    with pytest.raises(vz.ScenarioError, match="is a study"):
        vz.compare("hstcp-2010")
