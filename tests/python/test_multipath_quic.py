"""Multipath QUIC (RFC 10069): throughput, fairness, and interfaces that fail and return."""

import re
import statistics
import tomllib

import pytest

import vazao as vz

TWO = vz.multipath(vz.link("20 Mbps", "10 ms", queue="2 bdp"), vz.link("10 Mbps", "30 ms", queue="2 bdp"))


def one(transport: vz.Transport, size: str = "40 MB", network: vz.Network = TWO, **more: object) -> vz.Result:
    result = vz.run(network, [vz.flow(vz.upload(size), transport)], until="60 s", **more)  # type: ignore[arg-type]
    assert result.flows["intact"].item()
    assert result.flows["completed"].item()
    return result


def completion(transport: vz.Transport) -> float:
    return float(one(transport).flows["completion_s"].item())


@pytest.mark.parametrize("cc", ["reno", "cubic", "lia", "olia", "balia"])
def test_two_paths_carry_what_both_can_and_as_much_as_multipath_tcp(cc: str) -> None:
    """The paths' rates allow 40 MB in 10.7 s, without headers and slow start; the faster one alone takes 16 s.

    Multipath TCP on the same paths shares only its schedulers and congestion controls with this implementation.
    """
    several = completion(vz.quic(cc, multipath=True))
    assert 40e6 * 8 / 30e6 < several < 1.1 * 40e6 * 8 / 30e6
    assert several == pytest.approx(completion(vz.mptcp(cc)), rel=0.03)
    assert completion(vz.quic(cc)) > 40e6 * 8 / 20e6


def shared(cc: str, seed: int) -> float:
    """Throughput of a connection over two interfaces relative to one over one, behind the same bottleneck."""
    access = {"rate": "100 Mbps", "to": "r"}
    links = [
        {"name": "first", "from": "a", "delay": "2 ms"} | access,
        {"name": "second", "from": "a", "delay": "3 ms"} | access,
        {"from": "c", "delay": "2 ms"} | access,
        {"from": "r", "to": "s", "rate": "20 Mbps", "delay": "10 ms", "queue": {"kind": "red", "limit": "100 packets"}},
        {"from": "s", "to": "b", "rate": "100 Mbps", "delay": "1 ms"},
        {"from": "s", "to": "d", "rate": "100 Mbps", "delay": "1 ms"},
    ]
    network = vz.Network({"topology": "custom", "hosts": ["a", "b", "c", "d"], "routers": ["r", "s"], "link": links})
    flows = [
        vz.flow(vz.upload(), vz.quic(cc, multipath=True), client="a", server="b"),
        vz.flow(vz.upload(), vz.quic("reno"), client="c", server="d"),
    ]
    ours, theirs = vz.run(network, flows, seed=seed, until="40 s").flows["goodput_bps"]
    return float(ours / theirs)


def test_coupled_controls_take_no_more_than_one_connection() -> None:
    """RFC 6356's second goal. Two uncoupled windows get about as much as two connections."""
    mean = {cc: statistics.mean(shared(cc, seed) for seed in range(4)) for cc in ("reno", "lia", "olia", "balia")}
    assert 1.6 < mean.pop("reno") < 2.4
    assert all(0.7 < share < 1.15 for share in mean.values()), mean


def test_an_interface_that_comes_back_has_another_path() -> None:
    """Path identifiers are never reused (RFC 10069 section 3.4): there are three paths over two interfaces."""
    changes = [{"at": "2 s", "remove": 2}, {"at": "4 s", "add": 2}]
    result = one(vz.quic(multipath=True, changes=changes))
    assert result.paths["client_interface"].to_list() == ["a.1", "a.2", "a.2"]
    first, gone, back = result.paths["bytes"]
    assert min(gone, back) > 0
    assert first + gone + back == 40e6


def test_a_backup_carries_nothing_while_the_other_path_does() -> None:
    used = one(vz.quic(multipath=True, backups=[2]), "5 MB").paths
    assert used["bytes"].to_list() == [5e6, 0]
    handover = one(vz.quic(multipath=True, backups=[2], changes=[{"at": "1 s", "remove": 1}]), "5 MB").paths
    assert all(carried > 0 for carried in handover["bytes"])


@pytest.mark.parametrize("scheduler", ["redundant", "lowest-rtt", "blest", "daps"])
def test_many_small_streams_stall_under_no_scheduler(scheduler: str) -> None:
    """A page of 30 objects of 14 kB takes less than a second at 20 Mbit/s, whatever is duplicated on which path."""
    network = vz.multipath(
        vz.link("20 Mbps", "1 ms", queue="1 bdp", loss=0.001), vz.link("5 Mbps", "1 ms", queue="1 bdp")
    )
    for seed in range(8):
        flow = vz.flow(vz.page(objects=30), vz.quic("lia", multipath=True, path_scheduler=scheduler))
        result = vz.run(network, [flow], seed=seed, until="60 s")
        assert result.flows["completion_s"].item() < 1


class Mine(vz.Scheduler):
    """Lowest round-trip time, unchanged from the base class."""


def test_a_scheduler_of_ones_own() -> None:
    mine, builtin = (one(vz.quic(multipath=True, path_scheduler=each), "5 MB") for each in (Mine, "lowest-rtt"))
    assert mine.flows["scheduler"].item() == "Mine"
    assert mine.paths.drop("run_id").equals(builtin.paths.drop("run_id"))


def test_one_interface_is_enough() -> None:
    """A client with one interface has one path, whatever its settings."""
    network = vz.point_to_point(vz.link("20 Mbps", "10 ms"))
    paths = one(vz.quic(multipath=True), "5 MB", network).paths
    assert paths["client_interface"].to_list() == ["a.1"]


MISTAKES = {
    'path_scheduler = "blest"': "path_scheduler: spreads data over paths; write multipath = true",
    "backups = [2]": "has backups, but one path",
    'changes = [{ at = "1 s", remove = 2 }]': 'has "remove" in changes, but one path',
    'multipath = true, changes = [{ at = "1 s", migrate = 2 }]': 'has "migrate" in changes, but multipath uses all',
    'multipath = true, handshake = "gquic-1-rtt"': "Google's QUIC has one path",
    "multipath = true, fec = 10": "Google's QUIC has one path",
    "multipath = true, backups = [3]": "backups: a.1 has no interface 3; 2 of its lead to the server",
    'multipath = true, stack = "quinn"': "multipath: is quinn's own decision",
}


@pytest.mark.parametrize("given", MISTAKES)
def test_mistakes_are_named(given: str) -> None:
    transport = vz.Transport(tomllib.loads(f'transport = {{ kind = "quic", {given} }}')["transport"])
    with pytest.raises(vz.ScenarioError, match=re.escape(MISTAKES[given])):
        vz.run(TWO, [vz.flow(vz.upload("1 kB"), transport)])
