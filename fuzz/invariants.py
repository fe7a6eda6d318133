"""Invariants of the tables of every run (docs/results.md), and messages about violations."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from fuzz.registry import quantity

Row = Mapping[str, Any]
Tables = Mapping[str, Sequence[Row]]

HISTOGRAM = 0.008
"""Relative error of percentiles."""
ROUNDING = 1e-9
WAYS = ("forward", "reverse")


def violations(tables: Tables, scenario_json: str) -> list[str]:
    """Violations in the tables of a run of a resolved scenario; empty if all is well."""
    scenario = json.loads(scenario_json)
    return [
        *_numbers(tables),
        *_run(tables["runs"][0]),
        *(f"flow {row['flow']}: {wrong}" for row in tables["flows"] for wrong in _flow(row, tables, scenario)),
        *_paths(tables, scenario),
        *(f"{row['link']} {row['direction']}: {wrong}" for row in tables["links"] for wrong in _link(row)),
        *_conserved(tables, scenario),
        *_delays(tables, scenario),
        *_samples(tables),
    ]


def _numbers(tables: Tables) -> Iterator[str]:
    """Checks that no number is infinite, NaN or negative."""
    for name, rows in tables.items():
        for row in rows:
            for column, value in row.items():
                if isinstance(value, int | float) and not (math.isfinite(value) and value >= 0):
                    yield f"{name}.{column} is {value}"


def _run(row: Row) -> Iterator[str]:
    if row["jain"] is not None and not 0 < row["jain"] <= 1 + ROUNDING:
        yield f"jain is {row['jain']}"
    if row["packet_hops"] > 0 and row["events"] == 0:
        yield "packets without events"


ORDERED = [
    ("parity_packets", "packets_sent"),
    ("goodput_bps", "throughput_bps"),
    ("start_s", "first_byte_s", "last_byte_s"),
    ("rtt_p50_s", "rtt_p95_s", "rtt_p99_s"),
    ("message_latency_p50_s", "message_latency_p95_s", "message_latency_p99_s"),
    ("message_latency_mean_s", "message_latency_max_s"),
    ("measured_bytes", "app_bytes"),
    ("slow_start_sent", "packets_sent"),
    ("slow_start_lost", "packets_lost"),
]
"""Columns of flows that are never less than the preceding ones, unless NULL."""


def _flow(row: Row, tables: Tables, scenario: Any) -> Iterator[str]:
    hidden = _hidden(row, scenario)
    for columns in ORDERED:
        for less, more in pairwise(columns):
            if hidden and more == "packets_sent":
                continue
            low, high = row[less], row[more]
            # The time over which rates and latencies are computed is rounded to nanoseconds.
            if low is not None and high is not None and low > high * (1 + ROUNDING):
                yield f"{less} {low} is above {more} {high}"
    for lost, sent in (("packets_lost", "packets_sent"), ("slow_start_lost", "slow_start_sent")):
        if None not in (row[lost], row[sent]) and row[lost] > row[sent] * copies(scenario):
            yield f"{lost} {row[lost]} is above {sent} {row[sent]}, copies counted"
    yield from _resent(row, hidden)
    yield from _times(row, tables["runs"][0]["sim_s"], scenario)
    yield from _ends(row, scenario)


def copies(scenario: Any) -> int:
    """Maximum number of copies of a packet in the network: each duplicating direction of a link doubles it."""
    return int(2 ** sum(bool(link[way].get("duplicate")) for link in scenario["network"]["link"] for way in WAYS))


def _hidden(row: Row, scenario: Any) -> bool:
    """Whether a guest's own emulator (netem) drops packets that its kernel counts but the wire does not see."""
    return any(side["loss"] > 0 for side in _spec(row, scenario)[1].get("netem", {}).values())


def _resent(row: Row, hidden: bool) -> Iterator[str]:
    """Checks that retransmissions do not exceed what was sent; SCTP counts chunks, several of which share a packet."""
    again, parts = row["retransmissions"], [row["fast_retransmissions"], row["timeout_retransmissions"]]
    if again is None:
        return
    if row["transport"] != "sctp" and not hidden and again > row["packets_sent"]:
        yield f"retransmissions {again} is above packets_sent {row['packets_sent']}"
    if None not in parts and sum(parts) > again:
        yield f"fast and timeout retransmissions {parts} are above retransmissions {again}"


def _times(row: Row, end: float, scenario: Any) -> Iterator[str]:
    for column in ("first_byte_s", "last_byte_s"):
        if row[column] is not None and row[column] > end + ROUNDING:
            yield f"{column} {row[column]} is after the end at {end}"
    if row["start_s"] > end + ROUNDING and scenario.get("until") is None:
        yield f"start_s {row['start_s']} is after the end at {end}"
    if (row["first_byte_s"] is None) != (row["last_byte_s"] is None):
        yield "only one of first_byte_s and last_byte_s"
    for column in ("handshake_s", "completion_s", "slow_start_s", "refill_s", "recovery_s", "startup_s", "stalled_s"):
        # A flow that starts after the end has done nothing.
        if row[column] and row["start_s"] + row[column] > end + 1e-6:
            yield f"{column} {row[column]} goes beyond the end at {end}"
    if row["completion_s"] is not None and row["completed"] is not True:
        yield "completion_s of a flow that is not completed"
    if row["slow_start_loss"] is not None and row["slow_start_loss"] > copies(scenario):
        yield f"slow_start_loss is {row['slow_start_loss']}"


def _ends(row: Row, scenario: Any) -> Iterator[str]:
    """Checks the end of a flow."""
    spec = _spec(row, scenario)
    app, transport = spec
    # TCP cannot detect a middlebox that alters data and fixes the checksum; only MPTCP's checksum does.
    altered = any(link[way].get("alter") for link in scenario["network"]["link"] for way in WAYS)
    if row["intact"] is False and not (altered and row["transport"] in ("tcp", "mptcp")):
        yield "intact is false"
    if row["completed"] and row["failure"] is not None:
        yield f"completed, with the failure {row['failure']!r}"
    if row["completed"] and row["app_bytes"] > 0 and row["last_byte_s"] is None:
        yield "bytes that came at no time"
    given = app.get("size") if app.get("kind") in ("upload", "download") and app.get("duration") is None else None
    size = None if given is None else round(quantity(given))
    if size is not None and row["completed"] and _is_reliable(transport) and row["app_bytes"] != size:
        yield f"completed with app_bytes {row['app_bytes']} of {given}"
    # The last datagram of a guest has at least the eight bytes that state its offset.
    spare = 7 if row["transport"] == "udp" and "linux" in row["stack"] else 0
    if size is not None and row["app_bytes"] > size + spare:
        yield f"app_bytes {row['app_bytes']} of {given}"
    ended = scenario.get("until") is None and row["completed"] is False and _is_reliable(transport)
    if ended and row["failure"] is None and row["connections"] is None:
        yield "not completed at the end of a run without until, and no failure says why"


def _spec(row: Row, scenario: Any) -> tuple[Any, Any]:
    """Application and transport of a flow, or empty ones if rows and flows of the scenario do not correspond."""
    flows = [(table, own) for table in scenario["flow"] for own in table.get("each", [{}])]
    if row["flow"] >= len(flows) or any(table["app"].get("kind") == "page" for table, _ in flows):
        return {}, {}
    table, own = flows[row["flow"]]
    return table["app"] | {key: own[key] for key in ("size",) if key in own}, table["transport"]


def _is_reliable(transport: Any) -> bool:
    kind = transport.get("kind")
    is_partial = transport.get("partial_reliability", "none") != "none" or transport.get("restart") is not None
    return kind in ("tcp", "mptcp", "quic", "sctp") and not is_partial and not transport.get("unreliable")


SUMS = (
    "packets_sent",
    "packets_lost",
    "retransmissions",
    "fast_retransmissions",
    "timeout_retransmissions",
    "timeouts",
)


def _paths(tables: Tables, scenario: Any) -> Iterator[str]:
    """Checks that paths are numbered from 0, and add up to their flow."""
    rows = defaultdict(list)
    for row in tables["paths"]:
        rows[row["flow"]].append(row)
    for flow in tables["flows"]:
        mine = rows[flow["flow"]]
        if [row["path"] for row in mine] != list(range(len(mine))):
            yield f"flow {flow['flow']}: its paths are {[row['path'] for row in mine]}"
        for column in SUMS:
            values = [row[column] for row in mine]
            if not mine or None in values or flow[column] is None:
                continue
            # Packets lost before a subflow exists belong to none.
            unborn = column == "packets_lost" and flow["transport"] == "mptcp" and sum(values) <= flow[column]
            if sum(values) != flow[column] and not unborn:
                yield f"flow {flow['flow']}: {column} {flow[column]} is not that of its paths {values}"
        for row in mine:
            lost, sent = row["packets_lost"], row["packets_sent"]
            if None not in (lost, sent) and lost > sent * copies(scenario):
                yield f"flow {flow['flow']}: path {row['path']}: packets_lost {lost} is above packets_sent {sent}"
        # Several paths may have carried the same data, and a visit's connections carry headers, too.
        is_told = flow["transport"] in ("tcp", "udp") and flow["connections"] is None and len(mine) == 1
        if is_told and mine[0]["bytes"] not in (None, flow["app_bytes"]):
            yield f"flow {flow['flow']}: bytes {mine[0]['bytes']} of its path are not app_bytes {flow['app_bytes']}"
        carried = [row["bytes"] for row in mine]
        # Acknowledged bytes: fewer than have arrived if the run is cut off.
        ended = scenario.get("until") is None
        is_visit = ended and flow["connections"] is not None and flow["transport"] == "tcp" and None not in carried
        if is_visit and flow["completed"] and sum(carried) < flow["app_bytes"]:
            yield f"flow {flow['flow']}: bytes {carried} of its paths are below app_bytes {flow['app_bytes']}"


RUNS = (("drop_runs", "drop_run_max", "drops_queue"), ("loss_runs", "loss_run_max", "drops_loss"))
"""Columns of links: the number of runs of drops, the packets in the longest, and the total."""


def _link(row: Row) -> Iterator[str]:
    if row["utilisation"] > 1 + ROUNDING:
        yield f"utilisation is {row['utilisation']}"
    if row["drops_early"] > row["drops_queue"]:
        yield f"drops_early {row['drops_early']} is above drops_queue {row['drops_queue']}"
    for runs, longest, drops in RUNS:
        if row[runs] is not None and not row[runs] <= row[drops] <= row[runs] * row[longest]:
            yield f"{drops} {row[drops]} are not {row[runs]} runs of {row[longest]} at most"
    if row["drops_loss"] > row["packets"]:
        yield f"drops_loss {row['drops_loss']} is above packets {row['packets']}"
    if row["marks"] > row["packets"] + row["drops_queue"]:
        yield f"marks {row['marks']} is above packets {row['packets']}"
    if row["bytes"] < 20 * row["packets"]:
        yield f"{row['bytes']} bytes are too few for {row['packets']} packets"
    if (row["packets"] == 0) != (row["bytes"] == 0):
        yield f"{row['bytes']} bytes in {row['packets']} packets"


CLIENTS = frozenset({"upload", "cbr", "on-off", "packets", "messages"})
"""Applications in which the client sends the data."""


def _conserved(tables: Tables, scenario: Any) -> Iterator[str]:
    """Checks that every packet is accounted for in a run that ended by itself, over one link, if only clients send."""
    links, flows = tables["links"], tables["flows"]
    spec = scenario["network"]["link"]
    if len(spec) != 1 or scenario.get("until") is not None or not all(row["app"] in CLIENTS for row in flows):
        return
    if any(row["stack"] != "vazao" or row["client"].split(".")[0] != spec[0]["from"] for row in flows):
        return
    ahead = next(row for row in links if row["direction"] == "forward")
    sent = sum(row["packets_sent"] for row in flows)
    came = ahead["packets"] + ahead["waiting"] + ahead["drops_queue"] + ahead["drops_policer"]
    if sent != came:
        yield f"packets_sent {sent} in all, but {came} came to the link"
    # A datagram's receiver counts what never arrived: a copy that arrives makes up for one that is lost.
    if any(row["transport"] == "udp" for row in flows) or spec[0]["forward"].get("duplicate"):
        return
    lost, dropped = sum(row["packets_lost"] for row in flows), ahead["drops_queue"] + ahead["drops_loss"]
    if not dropped <= lost <= dropped + ahead["drops_corrupt"]:
        yield f"packets_lost {lost} in all, but the link dropped {dropped}, and {ahead['drops_corrupt']} were corrupt"


def _delays(tables: Tables, scenario: Any) -> Iterator[str]:
    """Checks that nothing is faster than propagation, where there is only one route between any two hosts."""
    links = {link["name"]: link for link in scenario["network"]["link"]}
    if len(links) >= len(scenario["network"]["nodes"]):
        return
    least: dict[int, list[float]] = {}
    hosts = {row["flow"]: row["client"] for row in tables["flows"]}
    names = [node["name"] for node in scenario["network"]["nodes"]]
    for row in tables["paths"]:
        client = hosts[row["flow"]]
        node, ways = client if client in names else client.rpartition(".")[0], [0.0, 0.0]
        for link in (links[name] for name in (row["route"] or "").split(" ") if name in links):
            is_ahead = link["from"] == node
            node = link["to"] if is_ahead else link["from"]
            for index, way in enumerate(WAYS if is_ahead else WAYS[::-1]):
                ways[index] += _least_delay(link[way])
        least[row["flow"]] = list(map(min, ways, least.get(row["flow"], ways)))
    for row in tables["flows"]:
        ways = least.get(row["flow"], [0.0, 0.0])
        for column, time in (("owd_p50_s", min(ways)), ("rtt_p50_s", sum(ways)), ("rtt_mean_s", sum(ways))):
            if row[column] is not None and row[column] < time * (1 - HISTOGRAM) - ROUNDING:
                yield f"flow {row['flow']}: {column} {row[column]} is below the propagation {time}"
        if row["first_byte_s"] is not None and row["first_byte_s"] - row["start_s"] < min(ways) - ROUNDING:
            yield f"flow {row['flow']}: first_byte_s is less than the propagation {min(ways)} after start_s"


def _least_delay(way: Any) -> float:
    """Minimum time in seconds that a packet takes over a direction of a link."""
    if "deviation" in (way.get("jitter") or {}):
        return 0.0
    delay = way["delay"]
    return min(quantity(step["delay"]) for step in delay["steps"]) if isinstance(delay, dict) else quantity(delay)


def _samples(tables: Tables) -> Iterator[str]:
    """Checks that samples are in chronological order, and within the run."""
    end = tables["runs"][0]["sim_s"]
    last: dict[tuple[Any, ...], float] = defaultdict(float)
    for row in tables["samples"]:
        source = tuple(row[key] for key in ("flow", "path", "link", "direction", "measure", "side"))
        if row["time_s"] < last[source] or row["time_s"] > end + ROUNDING:
            yield f"a sample of {row['measure']} at {row['time_s']}, after {last[source]} in a run to {end}"
            return
        last[source] = row["time_s"]
