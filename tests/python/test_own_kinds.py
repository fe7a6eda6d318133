"""User-defined loss models, queues, slow starts and applications: unchanged base classes, and overridden methods."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

import vazao as vz
from own import LINK, made, run


def without_run(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.drop("run_id")


def test_a_loss_model_draws_from_its_links_stream() -> None:
    class Mine(vz.LossModel):
        def __init__(self, link: Any, *, p: float = 0.01) -> None:
            super().__init__(link)
            self.p = p

        def lose(self, size_bytes: int, now_s: float) -> bool:
            assert size_bytes <= 1500
            assert now_s >= 0
            return self.random.uniform() < self.p

    own = [run(link=vz.Link(LINK | {"loss": loss})) for loss in (Mine, {"kind": Mine, "p": 0.03})]
    # One draw per packet, compared with the probability: the built-in model does the same with this stream.
    for mine, p in zip(own, (0.01, 0.03), strict=True):
        same = run(link=vz.Link(LINK | {"loss": p}))
        assert without_run(mine.links).equals(without_run(same.links))
        assert same.links["drops_loss"].sum() > 0


def test_a_loss_model_knows_the_time() -> None:
    outage = made("def lose(self, size_bytes, now_s):\n    return 0.2 <= now_s < 0.3", vz.LossModel)
    lossy = run(link=vz.link("10 Mbps", "20 ms", forward={"loss": outage}))
    dropped = dict(lossy.links.select("direction", "drops_loss").iter_rows())
    assert dropped["reverse"] == 0
    # 10 Mbit/s carry at most 83.3 packets of 1500 bytes in 0.1 s.
    assert 0 < dropped["forward"] <= 84


def test_a_queue_as_it_stands_is_drop_tail() -> None:
    def at(queue: object) -> vz.Result:
        return run(link=vz.Link(LINK | {"queue": queue, "loss": 0}))

    mine = at({"kind": made("pass", vz.Queue), "limit": "20 packets"})
    # Step marking is drop-tail if nothing can be marked. (Drop-tail itself admits a packet that arrives at the very
    # instant at which another leaves, because it need not be asked again.)
    step = {"kind": "threshold", "limit": "20 packets", "mark": "1 packets"}
    assert without_run(mine.links).equals(without_run(at(step).links))
    assert mine.links["drops_queue"].sum() > 0
    # Its limit is resolved by the link: `"1 bdp"` is 10 Mbit/s times 40 ms, 33.3 packets.
    limits: list[tuple[object, ...]] = []
    body = "def __init__(self, link):\n    vz.Queue.__init__(self, link)\n    seen.append(link)"
    spying = made(body, vz.Queue, seen=limits)
    at({"kind": spying, "limit": "1 bdp"})
    first: Any = limits[0]
    assert (first.name, first.rate_bps, first.limit_bytes) == ("link/forward", 10_000_000, 50_000)
    assert first.base_rtt_s == pytest.approx(0.04)


def test_a_queue_marks_as_the_built_in_threshold_does() -> None:
    class Step(vz.Queue):
        """DCTCP's step marking (RFC 8257): packets that arrive while K packets wait are marked."""

        def on_arrival(self, packet: Any) -> Any:
            assert packet.waited_s == 0
            return "mark" if packet.queue_packets >= 20 and packet.ecn_capable else None

    def at(queue: object) -> vz.Result:
        return run("dctcp", link=vz.Link(LINK | {"queue": queue, "loss": 0}))

    mine, built_in = at(Step), at({"kind": "threshold", "mark": "20 packets"})
    assert without_run(mine.links).equals(without_run(built_in.links))
    assert mine.links["marks"].sum() > 0


def test_a_queue_drops_what_has_waited_too_long() -> None:
    late = made('def on_departure(self, packet):\n    return "drop" if packet.waited_s > 0.02 else None', vz.Queue)
    result = run(link=vz.Link(LINK | {"queue": late, "loss": 0}))
    row = result.links.filter(direction="forward").row(0, named=True)
    assert row["drops_early"] > 0
    # Packets that are sent have waited 20 ms at most, and the percentile is off by at most a bin's width (a 32nd).
    assert row["queue_delay_p95_s"] <= 0.02 * (1 + 1 / 32)
    assert result.flows["intact"].item()


def test_a_slow_start_as_it_stands_is_the_standard_one() -> None:
    assert without_run(run(slow_start=made("pass", vz.SlowStart)).flows).equals(
        without_run(run(slow_start="standard").flows)
    )


def test_a_slow_start_ends_where_it_says() -> None:
    leaving = made("def leave(self, window, ack):\n    return window.cwnd_bytes >= 40 * self.mss", vz.SlowStart)
    clean = vz.point_to_point(vz.link("100 Mbps", "50 ms"))
    tcp = vz.tcp(cc="reno", slow_start=leaving, initial_window=10)
    samples = vz.run(clean, [vz.flow(vz.upload("1 MB"), tcp)], trace=["ssthresh"]).samples
    threshold = samples.filter(pl.col("measure") == "ssthresh")["value"].min()
    # It doubles from 10 to 40 segments, and an acknowledgement adds two at most.
    assert 40 * 1448 <= threshold <= 42 * 1448  # type: ignore[operator]


def test_an_application_writes_what_it_says() -> None:
    class Sensor(vz.Application):
        """A reading of 200 bytes a second, five times."""

        def __init__(self, random: Any, *, count: int = 5) -> None:
            super().__init__(random)
            self.left = count

        def next_message(self, now_s: float) -> tuple[int, float] | None:
            self.left -= 1
            return (200, 1.0) if self.left >= 0 else None

    net = vz.point_to_point(vz.link("10 Mbps", "10 ms"))

    def row(app: object) -> dict[str, Any]:
        result = vz.run(net, [vz.flow(app, vz.tcp())], until="60 s")  # type: ignore[arg-type]
        return result.flows.row(0, named=True)

    own = row(Sensor)
    assert (own["app"], own["app_bytes"], own["completed"]) == ("Sensor", 1000, True)
    # Messages at 0, 1, … 4 s: equal to five messages of a built-in application, but the end is known a second later.
    built_in = row(vz.messages("200 B", "1 s", count=5))
    assert own["last_byte_s"] == built_in["last_byte_s"]
    assert [own[name] for name in own if name.startswith("message_latency")] == [
        built_in[name] for name in built_in if name.startswith("message_latency")
    ]
    assert row({"kind": Sensor, "count": 3})["app_bytes"] == 600
    assert row({"kind": Sensor, "size": "450 B"})["app_bytes"] == 450
    assert row({"kind": Sensor, "duration": "1.5 s"})["app_bytes"] == 400


def test_an_application_needs_an_end() -> None:
    endless = made("def next_message(self, now_s):\n    return 100, 0.1", vz.Application)
    net = vz.point_to_point(vz.link("10 Mbps", "10 ms"))
    with pytest.raises(vz.ScenarioError, match="would never end; give it a size or a duration"):
        vz.run(net, [vz.flow(endless, vz.tcp())])
    apps: list[Any] = [{"kind": endless, "duration": "2 s"}, vz.messages("100 B", "100 ms", duration="2 s")]
    # A message at 0, 0.1, … 1.9 s, as in the built-in application.
    rows = vz.run(net, [vz.flow(app, vz.udp()) for app in apps]).flows
    assert rows["app_bytes"].to_list() == [2000, 2000]


ANSWERS: list[tuple[type, str, str, Callable[[type], vz.Result]]] = [
    (vz.LossModel, "def lose(self, size_bytes, now_s): return 'no'", "answered 'no'; return True or False",
     lambda own: run(link=vz.Link(LINK | {"loss": own}))),
    (vz.Queue, "def on_arrival(self, packet): return 'drpo'", "answered 'drpo'; return \"drop\", \"mark\", or None",
     lambda own: run(link=vz.Link(LINK | {"queue": own}))),
    (vz.SlowStart, "def grow(self, window, ack): return 0", "answered 0; return the new window",
     lambda own: run(slow_start=own)),
    (vz.SlowStart, "def leave(self, window, ack): return window.cwnd", "did you mean cwnd_bytes?",
     lambda own: run(slow_start=own)),
    (vz.Application, "def next_message(self, now_s): return 5", "answered 5; return (bytes, seconds until",
     lambda own: vz.run(vz.point_to_point(LINK), [vz.flow(own, vz.tcp())], until="1 s")),
    (vz.Application, "def next_message(self, now_s): return 5, -1", "answered (5, -1); return (bytes",
     lambda own: vz.run(vz.point_to_point(LINK), [vz.flow(own, vz.tcp())], until="1 s")),
]  # fmt: skip


@pytest.mark.parametrize(("base", "body", "problem", "call"), ANSWERS, ids=[each[1] for each in ANSWERS])
def test_a_wrong_answer_ends_the_run(base: type, body: str, problem: str, call: Callable[[type], vz.Result]) -> None:
    place = "flow 0" if base in (vz.SlowStart, vz.Application) else "link link/forward"
    with pytest.raises(vz.RunError) as error:
        call(made(body, base))
    assert f"failed: {place}, 0" in str(error.value)
    assert problem in str(error.value)
