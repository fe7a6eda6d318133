"""Congestion controls written in Python: Reno matches the built-in one, and errors are reported as the user's."""

import gc
import importlib
import linecache
import sys
import weakref
from pathlib import Path
from typing import Any

import pytest

import vazao as vz
from vazao._core import Ack
from vazao.scenario import fingerprint

NETWORK = vz.dumbbell(bottleneck=vz.link("10 Mbps", "20 ms", queue="50 packets", loss=0.001))


def one(cc: object, **more: object) -> vz.Result:
    return vz.run(NETWORK, [vz.flow(vz.upload("5 MB"), vz.tcp(cc=cc, **more))], seed=3, trace=["cwnd"])


class Mine(vz.CongestionControl):
    """Reno, unchanged from the base class."""


class Timid(vz.CongestionControl):
    def on_ack(self, ack: object) -> None:
        pass


def test_the_base_class_is_reno_to_the_packet() -> None:
    mine, reno = one(Mine), one("reno")
    assert mine.flows["cc"].item() == "Mine"
    assert mine.flows.drop("run_id", "cc").equals(reno.flows.drop("run_id", "cc"))


def test_a_window_that_never_grows_sends_ten_segments_a_round_trip() -> None:
    flow = one(Timid, recovery="sack").flows.row(0, named=True)
    # 3454 segments in flights of at most ten, 40 ms of propagation each: at least 345 round trips.
    assert flow["completion_s"] > 345 * 0.040
    assert flow["intact"]
    assert flow["completed"]


def test_another_code_is_another_run() -> None:
    assert fingerprint(Mine) != fingerprint(Timid)
    assert one(Mine).scenario.run_id != one(Timid).scenario.run_id
    assert one(Mine).scenario.run_id == one(Mine).scenario.run_id


def test_a_constant_or_a_helper_of_its_module_is_part_of_a_control() -> None:
    def made(text: str) -> type[vz.CongestionControl]:
        names: dict[str, object] = {"vz": vz}
        exec(text, names)  # As typed at a prompt: there is no source to read.
        return names["Own"]  # type: ignore[return-value]

    base = "class Own(vz.CongestionControl):\n    def on_ack(self, ack):\n        self.cwnd += gain(ack) * 0.1\n"
    gain = "GAIN = 2\ndef gain(ack):\n    return GAIN * ack.acked_bytes\n"
    texts = [gain + base, gain + base.replace("0.1", "3.0"), gain.replace("= 2", "= 4") + base]
    assert len({fingerprint(made(text)) for text in texts}) == 3
    assert fingerprint(made(texts[0])) == fingerprint(made(texts[0]))


def test_what_a_control_imports_from_beside_it_is_part_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = "import vazao as vz\nimport beside\n\nclass Own(vz.CongestionControl):\n    def on_ack(self, ack):\n"
    own += "        self.cwnd += beside.Filter().gain(ack) + beside.table()\n"
    helper = (
        "GAINS = [1, 2]\nclass Filter:\n    def gain(self, ack):\n        return 2\ndef table():\n    return GAINS[0]\n"
    )
    monkeypatch.syspath_prepend(tmp_path)

    def made(text: str) -> str:
        (tmp_path / "own.py").write_text(own)
        (tmp_path / "beside.py").write_text(text)
        for name in ("own", "beside"):
            sys.modules.pop(name, None)
        importlib.invalidate_caches()
        linecache.checkcache()
        return fingerprint(importlib.import_module("own").Own)

    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    changed = [helper, helper.replace("return 2", "return 3"), helper.replace("[1, 2]", "[5, 2]")]
    assert len({made(text) for text in changed}) == 3
    assert made(helper) == made(helper)


def test_what_a_control_does_wrong_is_a_run_error_that_names_it() -> None:
    class Broken(vz.CongestionControl):
        def on_ack(self, ack: object) -> None:
            raise ZeroDivisionError("no window today")

    class Endless(vz.CongestionControl):
        def on_ack(self, ack: object) -> None:
            self.cwnd = float("inf")

    with pytest.raises(vz.RunError, match=r"Broken\.on_ack: ZeroDivisionError: no window today"):
        one(Broken)
    with pytest.raises(vz.RunError, match=r"Endless\.on_ack: .*cwnd = inf"):
        one(Endless)


@pytest.mark.parametrize("trace", [[], ["cwnd"]])
def test_a_class_goes_with_the_results_that_were_made_with_it(trace: list[str]) -> None:
    """A script has such variables: the class's method references all of them, and the result's scenario the class."""
    names: dict[str, Any] = {"vz": vz}
    exec("class Own(vz.CongestionControl):\n    def on_ack(self, ack):\n        self.cwnd += 1\n", names)
    flow = vz.flow(vz.upload("100 kB"), vz.tcp(cc=names["Own"]))
    names["result"] = vz.run(vz.point_to_point(vz.link("10 Mbps")), [flow], trace=trace)
    own = weakref.ref(names["Own"])
    del flow, names
    gc.collect()
    assert own() is None


def test_what_is_no_control_is_refused() -> None:
    with pytest.raises(vz.ScenarioError, match="int is not a subclass"):
        one(int)
    other = type("Mine", (vz.CongestionControl,), {"on_ack": lambda self, ack: None})
    flows = [vz.flow(vz.upload("1 MB"), vz.tcp(cc=cc)) for cc in (Mine, other)]
    with pytest.raises(vz.ScenarioError, match="two different classes are called Mine"):
        vz.run(vz.dumbbell(bottleneck=vz.link("10 Mbps"), pairs=2), flows)


def test_a_control_can_set_its_own_pacing_rate() -> None:
    class Steady(vz.CongestionControl):
        """Sends 4 Mbit/s of payload, whatever happens."""

        pacing_rate = 4e6

        def on_ack(self, ack: object) -> None:
            self.cwnd = 1e6

        def on_congestion(self, congestion: object) -> None:
            pass

        def on_recovered(self, flight_bytes: int) -> None:
            pass

    clean = vz.point_to_point(vz.link("10 Mbps", "20 ms"))
    steady = vz.tcp(cc=Steady, initial_window=100, host="rfc")
    row = vz.run(clean, [vz.flow(vz.upload("5 MB"), steady)]).flows.row(0, named=True)
    # 5 MB at 4 Mbit/s take 10 s from the end of the handshake, less the last segment's share (at most 2.9 ms), plus its
    # transit: 20 ms and 1.2 ms of transmission.
    assert row["completion_s"] == pytest.approx(0.04 + 10.0 + 0.0212, abs=0.003)
    assert row["retransmissions"] == 0


def test_delivery_rates_are_told_where_they_are_wanted() -> None:
    seen: list[float] = []

    class Listening(vz.CongestionControl):
        wants_rate = True

        def on_ack(self, ack: object) -> None:
            super().on_ack(ack)  # type: ignore[arg-type]
            if (rate := ack.rate) is not None:  # type: ignore[attr-defined]
                assert rate.delivered_bytes * 8 / rate.interval_s == pytest.approx(rate.rate_bps)
                seen.append(rate.rate_bps)

    clean = vz.point_to_point(vz.link("10 Mbps", "20 ms", queue="50 packets"))
    vz.run(clean, [vz.flow(vz.upload("5 MB"), vz.tcp(cc=Listening, slow_start="hystart"))])
    # Never faster than the link carries payload, except for one segment that a receiver acknowledged late, out of the
    # 33 that 40 ms hold; and as fast once the pipe is full.
    assert max(seen) <= 10e6 * 1448 / 1500 * (1 + 1 / 33)
    assert sorted(seen)[len(seen) // 2] == pytest.approx(10e6 * 1448 / 1500, rel=0.01)

    class Deaf(Listening):
        wants_rate = False

    seen.clear()
    vz.run(clean, [vz.flow(vz.upload("100 kB"), vz.tcp(cc=Deaf))])
    assert not seen


def test_a_coupled_control_sees_its_siblings() -> None:
    said: set[float] = {0.0}

    class Linked(vz.CongestionControl):
        """LIA (RFC 6356 section 3) in congestion avoidance; it publishes its round-trip time to its siblings."""

        coupled = True

        def on_ack(self, ack: Ack) -> None:
            assert all(path.told in said for path in self.siblings)
            self.told = ack.srtt_s or 0.0
            said.add(self.told)
            before = self.cwnd
            super().on_ack(ack)
            if self.cwnd > before >= self.ssthresh and self.siblings:
                paths = [(before, self.told)] + [(path.cwnd_bytes, path.srtt_s or 1.0) for path in self.siblings]
                linked = max(w / rtt**2 for w, rtt in paths) / sum(w / rtt for w, rtt in paths) ** 2
                self.cwnd = before + (self.cwnd - before) * min(linked * before, 1)

    paths = (vz.link("10 Mbps", "20 ms", loss=loss) for loss in (0.002, 0.008))
    network = vz.multipath(*paths)

    def carried(control: str | type[vz.CongestionControl]) -> list[float]:
        """Bytes per path over runs of a minute; the second path loses more."""
        transport = vz.sctp(cmt=True, cc=control, cwnd_growth="gap-acked", fast_recovery="per-path")
        flow = vz.flow(vz.upload(message="1452 B"), transport)
        runs = [vz.run(network, [flow], until="60 s", seed=seed).paths["bytes"] for seed in range(1, 9)]
        return [sum(run[path] for run in runs) for path in (0, 1)]

    built_in = carried("lia")
    # A fraction of a byte shifts all later losses, and changes a run by some 7 %, the sum of eight by 2.5 %.
    assert carried(Linked) == pytest.approx(built_in, rel=0.05)
    assert len(said) > 100
    assert carried("reno")[1] > 1.3 * built_in[1]


def test_an_invalid_rate_is_refused() -> None:
    class Backwards(vz.CongestionControl):
        def on_ack(self, ack: object) -> None:
            self.pacing_rate = -1.0

    with pytest.raises(vz.RunError, match=r"Backwards\.on_ack: .*pacing_rate = -1"):
        one(Backwards)
