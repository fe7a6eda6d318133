"""One run and what it measured."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
from polars import selectors

from vazao import _core, figures
from vazao.errors import RunError
from vazao.results import simulating
from vazao.scenario import Flow, Network, Plugins, document, load

if TYPE_CHECKING:
    from altair import Chart, FacetChart, LayerChart

    from vazao.results.simulating import Outcome


def table(outcome: Outcome, name: str) -> pl.DataFrame:
    """A table of an outcome, its dictionary-encoded columns as ordinary text."""
    return _plain(outcome.table(name))


def _plain(rows: Any) -> pl.DataFrame:
    return pl.DataFrame(rows).with_columns(selectors.categorical().cast(pl.String))


class Result:
    """The tables of one run, as polars data frames whose columns name their units."""

    def __init__(self, scenario: _core.Scenario, outcome: Outcome) -> None:
        if outcome.not_run is not None:
            raise RunError(f"not run: {outcome.not_run}")
        if outcome.failure is not None:
            raise RunError(f"run {outcome.run_id} failed: {outcome.failure}")
        self.scenario = scenario
        """The resolved scenario: its `json` is the evidence, its `run_id` names it."""
        self._outcome = outcome

    def __repr__(self) -> str:
        return f"Result({self.scenario.name!r}, run_id={self.scenario.run_id!r}, flows={self.flows.height})"

    def _table(self, name: str) -> pl.DataFrame:
        return table(self._outcome, name)

    @cached_property
    def runs(self) -> pl.DataFrame:
        """One row: Jain's index, utilisation, simulated seconds, events, packet-hops, wall-clock seconds."""
        return self._table("runs")

    @cached_property
    def flows(self) -> pl.DataFrame:
        """One row per flow: times in seconds, rates in bits per second, sizes in bytes."""
        return self._table("flows")

    @cached_property
    def paths(self) -> pl.DataFrame:
        """One row per path of each flow."""
        return self._table("paths")

    @cached_property
    def links(self) -> pl.DataFrame:
        """One row per link and direction."""
        return self._table("links")

    @cached_property
    def samples(self) -> pl.DataFrame:
        """Time series of what was traced: bytes and seconds."""
        return self._table("samples")

    def samples_stream(self) -> _core.Table:
        """The samples batch by batch, for more than memory holds: `pyarrow.RecordBatchReader.from_stream` takes it."""
        return self._outcome.table("samples")

    def samples_batches(self) -> Iterator[pl.DataFrame]:
        """The samples as data frames of some ten thousand rows each, one after the other."""
        from pyarrow import RecordBatchReader

        return (_plain(batch) for batch in RecordBatchReader.from_stream(self.samples_stream()))

    def rows(self) -> dict[str, pl.DataFrame]:
        """The tables by name, but for the samples, which may be more than memory holds."""
        return {name: getattr(self, name) for name in ("runs", "flows", "paths", "links")}

    def tables(self) -> dict[str, pl.DataFrame]:
        """All tables by name."""
        return self.rows() | {"samples": self.samples}

    def sql(self, query: str) -> pl.DataFrame:
        """Ask the tables runs, flows, paths, links and samples anything (DuckDB, with the functions of `vazao sql`)."""
        from vazao.results import database

        connection = database.connect()
        try:
            for name, rows in self.tables().items():
                database.add_rows(connection, name, rows.to_arrow())
            database.add_dynamics(connection)
            return database.query(connection, query)
        finally:
            connection.close()

    def plot(self, measure: str) -> Chart | LayerChart | FacetChart:
        """An Altair chart of a traced measure ("cwnd", "rtt", "queue", …) over time."""
        return figures.trace_chart(self.samples, measure)


def run(
    network: Network,
    flows: Sequence[Flow],
    *,
    seed: int = 1,
    until: str | None = None,
    name: str = "python",
    trace: Sequence[str] = (),
    trace_every_s: float | None = None,
    pcap: str | Path | None = None,
    qlog: str | Path | None = None,
    allow_programs: bool = False,
    **more: Any,
) -> Result:
    """Run flows over a network and measure them.

    `seed` gives every random stream; `until` ends the run (default: when every flow has). `trace` names measures to
    record over time, at every change or every `trace_every_s` seconds; `pcap` is a directory for one capture per host
    interface, `qlog` one for a log of each side of each QUIC connection. An algorithm of a file (`cc="mine.py:Mine"`)
    is run if `allow_programs` says so; classes always are. Further keywords are top-level keys of the
    scenario. Raises `ScenarioError`, `RunError`.
    """
    tables = document(network, flows, seed=seed, until=until, name=name, **more)
    plugins = Plugins()
    overrides = list(plugins.named(tables).items())
    scenario = load("", overrides=overrides, plugins=plugins.all(), allow_programs=allow_programs)
    return run_scenario(scenario, trace=trace, trace_every_s=trace_every_s, pcap=pcap, qlog=qlog)


def run_scenario(
    scenario: _core.Scenario,
    *,
    trace: Sequence[str] = (),
    trace_every_s: float | None = None,
    pcap: str | Path | None = None,
    qlog: str | Path | None = None,
    on_tick: Callable[[float], None] | None = None,
) -> Result:
    """Run a loaded scenario; `on_tick` is told now and then how many seconds are simulated. Raises `RunError`."""
    if trace:
        scenario = scenario.with_trace(list(trace), trace_every_s)
    directories = {name: None if path is None else str(path) for name, path in [("pcap", pcap), ("qlog", qlog)]}
    return Result(scenario, simulating.run(scenario, on_tick=on_tick, **directories))
