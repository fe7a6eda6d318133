"""Packet schedulers written in Python: they match the built-in ones, and mistakes are reported as the user's."""

import random

import pytest

import vazao as vz
from vazao.scenario import Decision, fingerprint

NETWORK = vz.multipath(
    vz.link("10 Mbps", "10 ms", queue="50 packets", loss=0.002), vz.link("6 Mbps", "40 ms", queue="50 packets")
)


def one(scheduler: object, size: str = "3 MB", network: vz.Network = NETWORK, **more: object) -> vz.Result:
    return vz.run(network, [vz.flow(vz.upload(size), vz.mptcp(scheduler=scheduler, **more))], seed=3, until="60 s")  # type: ignore[arg-type]


def same(mine: vz.Result, builtin: vz.Result) -> bool:
    flows = [result.flows.drop("run_id", "scheduler") for result in (mine, builtin)]
    return flows[0].equals(flows[1]) and mine.paths.drop("run_id").equals(builtin.paths.drop("run_id"))


class Mine(vz.Scheduler):
    """Lowest round-trip time, unchanged from the base class."""


class Turns(vz.Scheduler):
    """`round-robin`: of the subflows with room, those that have not sent in this round."""

    def __init__(self) -> None:
        self.had: set[int] = set()

    def decide(self, situation: vz.Situation) -> Decision:
        fresh = [path for path in situation.available if path.index not in self.had]
        if not fresh:
            self.had.clear()
        return next(iter(fresh or situation.available), None)

    def on_sent(self, path: int, data_bytes: int) -> None:
        self.had.add(path)


class Everywhere(vz.Scheduler):
    """`redundant`: each subflow sends the whole stream."""

    def decide(self, situation: vz.Situation) -> Decision:
        is_fresh = situation.waiting_bytes > 0 and situation.window_bytes > 0
        behind = situation.sent_bytes if situation.outstanding_bytes else 0
        wanting = [path for path in situation.available if is_fresh or path.copied_bytes < behind]
        return vz.Copy(min(wanting, key=lambda path: path.srtt_s or 0.0)) if wanting else None


def test_the_base_class_is_lowest_rtt_to_the_packet() -> None:
    mine = one(Mine)
    assert mine.flows["scheduler"].item() == "Mine"
    assert same(mine, one("lowest-rtt"))
    assert mine.flows["intact"].item()


def test_a_path_that_is_always_chosen_carries_everything() -> None:
    class Second(vz.Scheduler):
        def decide(self, situation: vz.Situation) -> Decision:
            return min(1, len(situation.paths) - 1)

    clean = vz.multipath(vz.link("10 Mbps", "10 ms"), vz.link("6 Mbps", "10 ms"))
    result = one(Second, "2 MB", clean)
    first, second = result.paths["bytes"].to_list()
    # The first subflow is alone until the second has joined, which takes two round trips: an initial window of ten
    # segments and its first doubling.
    assert first <= 30 * 1448
    assert first + second == 2_000_000
    assert result.flows["completed"].item()


@pytest.mark.parametrize(("mine", "builtin"), [(Turns, "round-robin"), (Everywhere, "redundant")])
def test_what_is_built_in_can_be_written(mine: type[vz.Scheduler], builtin: str) -> None:
    assert same(one(mine), one(builtin))


@pytest.mark.parametrize("queues", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_whatever_is_decided_every_byte_arrives_once(seed: int, queues: bool) -> None:
    class Anything(vz.Scheduler):
        """Sends, skips, copies, repeats and waits at random."""

        def __init__(self) -> None:
            self.random = random.Random(seed)

        def decide(self, situation: vz.Situation) -> Decision:
            draws, paths = self.random, situation.paths
            self.wake_s = situation.now_s + draws.choice([0.001, 0.01, 0.1])
            path = draws.choice(paths)
            some: list[Decision] = [
                None,
                path,
                vz.Send(path, skip_bytes=draws.choice([0, 1, 1448, 5000, 10**6])),
                vz.Copy(path),
                vz.Repeat(path, penalised=draws.choice([None, *paths])),
            ]
            return draws.choice([*some, path, *situation.available[:2]])

    Anything.queues = queues
    network = vz.multipath(
        vz.link("10 Mbps", "10 ms", queue="30 packets", loss=0.01),
        vz.link("4 Mbps", "40 ms", queue="30 packets", outages=[{"at": "1 s", "for": "2 s", "kind": "loss"}]),
    )
    transport = vz.mptcp(cc="lia", scheduler=Anything, path_manager="full-mesh", receive_buffer="50 kB")
    row = vz.run(network, [vz.flow(vz.upload("1 MB"), transport)], seed=seed + 1, until="200 s").flows.row(
        0, named=True
    )
    assert (row["completed"], row["intact"], row["app_bytes"]) == (True, True, 1_000_000)


def test_a_wait_ends_when_it_says() -> None:
    class Later(vz.Scheduler):
        """Sends nothing before 2 s."""

        wake_s = 2.0

        def decide(self, situation: vz.Situation) -> Decision:
            return None if situation.now_s < 2.0 else super().decide(situation)

    clean = vz.point_to_point(vz.link("10 Mbps", "10 ms"))
    row = one(Later, "10 kB", clean).flows.row(0, named=True)
    # 10 kB fit the initial window: at most eight segments of 1,500 bytes, including the DSS option, leave at 2 s and
    # arrive after 10 ms plus their transmission time.
    assert 2.010 < row["completion_s"] <= 2.0 + 0.010 + 8 * 1500 * 8 / 10e6


def test_a_situation_has_units_and_on_sent_reports_all_data() -> None:
    seen: list[vz.Situation] = []
    sent: list[tuple[int, int]] = []

    class Listening(vz.Scheduler):
        def decide(self, situation: vz.Situation) -> Decision:
            seen.append(situation)
            return super().decide(situation)

        def on_sent(self, path: int, data_bytes: int) -> None:
            sent.append((path, data_bytes))

    result = one(Listening, "1 MB", vz.multipath(vz.link("10 Mbps", "10 ms"), vz.link("6 Mbps", "40 ms")))
    assert sum(data for _, data in sent) == 1_000_000
    assert {path for path, _ in sent} == {0, 1}
    last = seen[-1]
    assert last.sent_bytes <= 1_000_000
    assert 0 < last.now_s <= result.runs["sim_s"].item()
    for path, delay in zip(last.paths, (0.010, 0.040), strict=True):
        assert path.min_rtt_s is not None
        # At least the propagation both ways, plus a segment's transmission; the handshake's packets are shorter.
        assert 2 * delay < path.min_rtt_s < 2 * delay + 1500 * 8 / 6e6
        assert path.space_bytes == path.cwnd_bytes - path.flight_bytes - path.queued_bytes
        assert path.available == (path in last.available)
        assert last.paths[path] is path


def test_another_code_is_another_run() -> None:
    assert fingerprint(Mine) != fingerprint(Turns)
    assert one(Mine, "10 kB").scenario.run_id == one(Mine, "10 kB").scenario.run_id
    assert one(Mine, "10 kB").scenario.run_id != one(Turns, "10 kB").scenario.run_id
    assert '"code":"' in one(Mine, "10 kB").scenario.json


def test_what_a_scheduler_does_wrong_is_a_run_error_that_names_it() -> None:
    def answering(answer: object) -> type[vz.Scheduler]:
        return type("Wrong", (vz.Scheduler,), {"decide": lambda self, situation: answer})

    class Broken(vz.Scheduler):
        def decide(self, situation: vz.Situation) -> Decision:
            raise ZeroDivisionError("no path today")

    class Deaf(vz.Scheduler):
        def on_sent(self, path: int, data_bytes: int) -> None:
            raise KeyError(path)

    class Unmade(vz.Scheduler):
        def __init__(self, gain: float) -> None:
            self.gain = gain

    class Sleepless(vz.Scheduler):
        wake_s = float("nan")

    wrong = {
        r"Broken\.decide: ZeroDivisionError: no path today": Broken,
        r"Deaf\.on_sent: KeyError: 0": Deaf,
        r"Sleepless\.decide: .*wake_s = NaN": Sleepless,
        r"Wrong\.decide: .*7 is no path; there (is|are) [12]": answering(7),
        r"Wrong\.decide: .*-1 is no path": answering(vz.Send(-1)),
        r"Wrong\.decide: .*9 is no path": answering(vz.Repeat(0, penalised=9)),
        r"Wrong\.decide: .*'fast' is no decision": answering("fast"),
    }
    for message, scheduler in wrong.items():
        with pytest.raises(vz.RunError, match=message):
            one(scheduler)
    with pytest.raises(vz.ScenarioError, match=r"Unmade is made by .*'gain'"):
        one(Unmade)


def test_what_is_no_scheduler_is_refused() -> None:
    with pytest.raises(vz.ScenarioError, match=r"int is not a subclass of vazao\.Scheduler"):
        one(int)
    with pytest.raises(vz.ScenarioError, match=r"Cc is not a subclass of vazao\.Scheduler"):
        one(type("Cc", (vz.CongestionControl,), {}))
    with pytest.raises(vz.ScenarioError, match="scheduler"):
        vz.run(NETWORK, [vz.flow(vz.upload("1 MB"), vz.sctp(scheduler=Mine))])
    with pytest.raises(vz.ScenarioError, match=r"unknown packet scheduler \"lowest-rrt\"; did you mean \"lowest-rtt\""):
        one("lowest-rrt")


def test_a_control_and_a_scheduler_of_ones_own_go_together() -> None:
    class Own(vz.CongestionControl):
        coupled = True

    row = one(Mine, "1 MB", cc=Own).flows.row(0, named=True)
    assert (row["cc"], row["scheduler"], row["path_manager"]) == ("Own", "Mine", "single-mesh")
    assert row["intact"]


def test_helpers_name_settings_as_scenarios_do() -> None:
    mptcp = vz.mptcp("lia", "blest", "full-mesh", receive_buffer="6 MB", backups=(2,), reestablish="1 s", min_rto="1 s")
    assert mptcp == {
        "kind": "mptcp", "cc": "lia", "scheduler": "blest", "path_manager": "full-mesh", "receive_buffer": "6 MB",
        "backups": [2], "reestablish": "1 s", "min_rto": "1 s",
    }  # fmt: skip
    assert vz.mptcp() == {"kind": "mptcp"}
    assert vz.sctp("olia", cmt=True, send_buffer="1 MB") == {
        "kind": "sctp", "cc": "olia", "cmt": True, "send_buffer": "1 MB",
    }  # fmt: skip
    row = vz.run(NETWORK, [vz.flow(vz.upload("10 kB"), mptcp)]).flows.row(0, named=True)
    assert (row["cc"], row["scheduler"], row["path_manager"]) == ("lia", "blest", "full-mesh")


def test_paths_say_where_they_lie_and_flows_what_became_of_subflows() -> None:
    result = one("lowest-rtt", path_manager="single-mesh")
    places = ["client_interface", "server_interface", "route"]
    # Single mesh: each of the client's addresses, and the first of the server's.
    assert result.paths.select(places).rows() == [("a.1", "b.1", "path1"), ("a.2", "b.1", "path2")]
    flow = result.flows.row(0, named=True)
    assert (flow["subflows_joined"], flow["subflows_died"], flow["penalties"]) == (1, 0, 0)
    tcp = vz.run(NETWORK, [vz.flow(vz.upload("10 kB"))])
    assert tcp.flows.row(0, named=True)["subflows_joined"] is None
    assert tcp.paths.select(places).rows() == [("a.1", "b.1", "path1")]
    sctp = vz.run(NETWORK, [vz.flow(vz.upload("100 kB"), vz.sctp(cmt=True))])
    assert sctp.paths.select(places).rows() == [("a.1", "b.1", "path1"), ("a.2", "b.2", "path2")]
    chain = vz.path(vz.link("10 Mbps", "1 ms"), vz.link("10 Mbps", "1 ms"))
    assert vz.run(chain, [vz.flow(vz.download("10 kB"))]).paths["route"].item() == "link1 link2"


def test_a_subflow_whose_link_fails_is_counted_and_its_data_goes_by_the_other() -> None:
    failing = vz.multipath(
        vz.link("10 Mbps", "10 ms", queue="50 packets", outages=[{"at": "1 s", "for": "50 s", "kind": "loss"}]),
        vz.link("10 Mbps", "10 ms", queue="50 packets"),
    )
    flow = one("lowest-rtt", "10 MB", failing).flows.row(0, named=True)
    assert flow["completed"]
    assert flow["reinjected_bytes"] > 0
