"""Tables of an ns-2 run, with the same columns as the engine's; values that ns-2 does not report are NULL."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import groupby
from typing import Any

import pyarrow as pa

from vazao import _core
from vazao.ns2.experiment import Association, Connection, Experiment, route
from vazao.ns2.outputs import AssociationReading, FlowReading, Look, Reading
from vazao.ns2.sctp import CHUNK, DATA
from vazao.ns2.translation import STACK

Row = Mapping[str, Any]

NAMES = ("runs", "flows", "paths", "links", "samples")

_SMALLEST = """
[network]
topology = "point-to-point"
link = { rate = "1 Gbps" }
[[flow]]
app = { kind = "upload", size = "1 B" }
"""
"""Minimal scenario, run by our engine only to read the columns of its tables."""


@cache
def schemas() -> dict[str, pa.Schema]:
    """Columns and types of each table, as in a run of our engine."""
    outcome = _core.run(_core.load(_SMALLEST))
    read = {name: pa.RecordBatchReader.from_stream(outcome.table(name)).schema for name in NAMES}
    return {
        name: pa.schema([(each.name, getattr(each.type, "value_type", each.type)) for each in schema])
        for name, schema in read.items()
    }


def empty() -> dict[str, pa.Table]:
    """Every table without rows."""
    return {name: schema.empty_table() for name, schema in schemas().items()}


def tables(run_id: str, experiment: Experiment, reading: Reading, wall_s: float) -> dict[str, pa.Table]:
    """Every table of a run."""
    end_s = reading.association.end_s if reading.association else experiment.until_s
    links = list(_links(experiment, reading, end_s))
    if experiment.association and reading.association:
        paths = list(_paths(experiment, reading))
        flows = [_association(experiment.association, reading.association, paths)]
        samples = _windows(experiment, reading.association)
    else:
        flows = [_flow(i, each, reading.flows[i], experiment) for i, each in enumerate(experiment.connections)]
        paths = [_path(flow) for flow in flows]
        samples = _samples(experiment, reading)
    rates = [flow["goodput_bps"] for flow in flows]
    run = {
        "seed": experiment.seed,
        "jain": sum(rates) ** 2 / (len(rates) * sum(rate**2 for rate in rates)) if any(rates) else None,
        "utilisation": max(link["utilisation"] for link in links),
        "sim_s": end_s,
        "packet_hops": sum(link["packets"] for link in links),
        "wall_s": wall_s,
    }
    rows: dict[str, Iterable[Row]] = {
        "runs": [run],
        "flows": flows,
        "paths": paths,
        "links": links,
        "samples": samples,
    }
    return {name: _table(name, run_id, rows[name]) for name in NAMES}


def _table(name: str, run_id: str, rows: Iterable[Row]) -> pa.Table:
    schema = schemas()[name]
    columns: dict[str, list[Any]] = {column: [] for column in schema.names}
    for row in rows:
        whole = {"run_id": run_id, **row}
        for column, values in columns.items():
            values.append(whole.get(column))
    return pa.table(columns, schema=schema)


def _links(experiment: Experiment, reading: Reading, end_s: float) -> Iterator[dict[str, Any]]:
    for way, totals in zip(experiment.ways, reading.ways, strict=True):
        yield {
            "link": way.link,
            "direction": way.direction,
            "utilisation": 8 * totals.bytes / (way.rate_bps * end_s),
            "packets": totals.packets,
            "bytes": totals.bytes,
            "waiting": totals.waiting,
            "drops_queue": totals.drops,
            "drops_early": 0,
            "drops_policer": 0,
            "drops_loss": totals.lost,
            "drops_corrupt": 0,
            "marks": 0,
        }


def _flow(number: int, connection: Connection, flow: FlowReading, experiment: Experiment) -> dict[str, Any]:
    """Row of a flow. Acknowledged data counts as arrived, because ns-2's receivers have no counters."""
    mss, totals, start = connection.mss, flow.totals, flow.slow_start
    path_bytes = _bandwidth_delay(connection, experiment)
    refill, recovery = flow.window_phases(path_bytes / mss)
    arrived = mss * max(0, totals.acknowledged)
    row = {
        **connection.says,
        "flow": number,
        "group": number,
        "stack": STACK,
        "app_bytes": arrived,
        "start_s": connection.start_s,
        "goodput_bps": 8 * arrived / max(1e-9, experiment.until_s - connection.start_s),
        "packets_sent": totals.sent,
        "packets_lost": flow.lost,
        "retransmissions": totals.again,
        "timeouts": totals.timeouts,
        "bdp_bytes": round(path_bytes),
        "refill_s": refill,
        "recovery_s": recovery,
    }
    if start is not None:
        least = [look.cwnd for look in flow.looks if look.time_s >= start.end_s]
        row |= {
            "slow_start_s": start.end_s,
            "slow_start_sent": start.sent,
            "slow_start_lost": start.lost,
            "slow_start_loss": start.lost / max(1, start.sent),
            "first_ssthresh_bytes": mss * start.ssthresh,
            "cwnd_min_bytes": mss * min(least) if least else None,
        }
    return row


def _path(flow: Row) -> Row:
    """The row of a flow's only path."""
    copied = ("flow", "packets_sent", "packets_lost", "retransmissions", "timeouts")
    return {name: flow[name] for name in copied} | {"path": 0, "bytes": flow["app_bytes"]}


def _bandwidth_delay(connection: Connection, experiment: Experiment) -> float:
    """Bandwidth-delay product of a flow's route in bytes, without queueing."""
    out = route(experiment.ways, connection.source, connection.target)
    back = route(experiment.ways, connection.target, connection.source)
    delay = sum(experiment.ways[i].delay_s for i in (*out, *back))
    return min(experiment.ways[i].rate_bps for i in out) * delay / 8


def _association(association: Association, read: AssociationReading, paths: Sequence[Row]) -> dict[str, Any]:
    """The row of an association. Its run ends when its last data arrives."""
    arrived = min(association.size, DATA * read.chunks)
    is_whole = arrived == association.size
    return {
        **association.says,
        "flow": 0,
        "group": 0,
        "stack": STACK,
        "app_bytes": arrived,
        "start_s": association.start_s,
        "first_byte_s": read.first_s,
        "last_byte_s": read.end_s if is_whole else None,
        "completion_s": read.end_s - association.start_s if is_whole else None,
        "completed": is_whole,
        "goodput_bps": 8 * arrived / max(1e-9, read.end_s - association.start_s),
        "packets_sent": sum(path["packets_sent"] for path in paths),
        "packets_lost": sum(path["packets_lost"] for path in paths),
        "retransmissions": sum(path["retransmissions"] for path in paths),
        "duplicates": read.needless,
        "timeouts": read.timeouts,
        "handshake_s": None if read.ready_s is None else read.ready_s - association.start_s,
    }


def _paths(experiment: Experiment, reading: Reading) -> Iterator[Row]:
    assert experiment.association
    assert reading.association
    paths = zip(experiment.association.paths, reading.association.paths, strict=True)
    for number, (path, totals) in enumerate(paths):
        yield {
            "flow": 0,
            "path": number,
            "client_interface": path.client,
            "server_interface": path.server,
            "route": " ".join(experiment.ways[way].link for way in path.out),
            "packets_sent": totals.packets,
            "packets_lost": sum(reading.ways[way].drops + reading.ways[way].lost for way in path.out),
            "retransmissions": totals.again,
        }


def _windows(experiment: Experiment, read: AssociationReading) -> Iterator[Row]:
    """Windows and thresholds of each path in bytes of data, at the times at which ns-2 was sampled."""
    for number, looks in enumerate(read.looks):
        for measure in experiment.measures:
            chunks = ((time, cwnd if measure == "cwnd" else ssthresh) for time, cwnd, ssthresh in looks)
            values = [(time, value * DATA / CHUNK) for time, value in chunks]
            for time, value in _thinned(values, experiment.every_s):
                yield {"time_s": time, "flow": 0, "path": number, "measure": measure, "value": value}


def _samples(experiment: Experiment, reading: Reading) -> Iterator[Row]:
    """Minimum and maximum of each measure per interval, at the times at which ns-2 was sampled."""
    for number, (connection, flow) in enumerate(zip(experiment.connections, reading.flows, strict=True)):
        for measure in experiment.measures:
            values = [
                (connection.start_s + look.time_s, connection.mss * value)
                for look in flow.looks
                if (value := _value(measure, look, flow)) is not None
            ]
            for time, value in _thinned(values, experiment.every_s):
                yield {"time_s": time, "flow": number, "path": 0, "measure": measure, "value": value}


def _value(measure: str, look: Look, flow: FlowReading) -> float | None:
    """A measure in packets; None for a threshold that was not set yet."""
    if measure == "ssthresh":
        return look.ssthresh if flow.slow_start and look.time_s >= flow.slow_start.end_s else None
    return look.cwnd if measure == "cwnd" else max(0.0, look.highest_sent)


def _thinned(values: Sequence[tuple[float, float]], every_s: float | None) -> Iterator[tuple[float, float]]:
    if every_s is None:
        yield from values
        return
    for _, group in groupby(values, key=lambda value: int(value[0] / every_s)):
        interval = list(group)
        ends = {min(interval, key=lambda value: value[1]), max(interval, key=lambda value: value[1])}
        yield from sorted(ends)
