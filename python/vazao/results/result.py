"""Results of a single run."""

from __future__ import annotations

import contextlib
import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import polars as pl

from vazao import _core, display, figures, seeing, widgets
from vazao.errors import RunError, ScenarioError
from vazao.execution import simulation
from vazao.scenario import Flow, Network, Plugins, document, load
from vazao.store import plain, table
from vazao.units import cell

if TYPE_CHECKING:
    from altair import Chart, FacetChart, LayerChart

    from vazao.store import Outcome
    from vazao.widgets import View


@dataclass(frozen=True)
class _Kept:
    """Scenario of a pickled result, read again only on demand, as its files may have moved by then."""

    name: str
    run_id: str
    seed: int
    pickled: bytes | None
    """None if it has algorithms that no other process can find, such as a class defined in a function."""

    def again(self) -> _core.Scenario:
        """Unpickle the scenario. Raises `ScenarioError` if it would be a different one."""
        if self.pickled is None:
            raise ScenarioError(
                f"{self.name}: has an algorithm of your own that cannot be pickled; define it in a module"
            )
        scenario: _core.Scenario = pickle.loads(self.pickled)
        return scenario


def _kept(scenario: _core.Scenario | _Kept) -> _Kept:
    if isinstance(scenario, _Kept):
        return scenario
    pickled = None
    with contextlib.suppress(pickle.PicklingError, AttributeError, TypeError):
        pickled = pickle.dumps(scenario)
    return _Kept(scenario.name, scenario.run_id, scenario.seed, pickled)


@dataclass(frozen=True)
class _Tables:
    """Tables of a pickled outcome."""

    frames: Mapping[str, pl.DataFrame]

    def table(self, name: str) -> Any:
        """Rows of a table, in a form that Arrow can import."""
        return self.frames[name]


def _failed(problem: str, scenario: _core.Scenario) -> RunError:
    """Error that carries the scenario of the run."""
    error = RunError(problem)
    error.scenario = scenario
    return error


SHOWN = (
    *("flow", "transport", "cc", "client", "server", "app_bytes", "completion_s", "goodput_bps", "packets_lost"),
    *("rtt_mean_s", "failure"),
)
"""Columns of flows that a notebook displays."""

SHOWN_LINKS = ("link", "direction", "utilisation", "packets", "drops_queue", "drops_loss", "queue_delay_mean_s")


def shown(result: Shown) -> list[tuple[str, pl.DataFrame]]:
    """Tables of a run that a notebook displays, with their titles."""
    chosen = (("flows", result.flows, SHOWN), ("links", result.links, SHOWN_LINKS))
    return [(title, rows.select(name for name in columns if name in rows.columns)) for title, rows, columns in chosen]


class Shown(Protocol):
    """Tables of a run."""

    @property
    def flows(self) -> pl.DataFrame:
        """One row per flow."""

    @property
    def links(self) -> pl.DataFrame:
        """One row per link and direction."""

    @property
    def runs(self) -> pl.DataFrame:
        """One row."""


def facts(result: Shown) -> list[tuple[str, str]]:
    """Facts of a run that a notebook displays."""
    row = next(result.runs.iter_rows(named=True), {})
    columns = {
        "run": "run_id",
        "seed": "seed",
        "simulated": "sim_s",
        "utilisation": "utilisation",
        "Jain's index": "jain",
    }
    return [(title, cell(column, row[column])) for title, column in columns.items() if row.get(column) is not None]


class Result:
    """Tables of one run, as polars data frames whose column names include their units."""

    def __init__(self, scenario: _core.Scenario, outcome: Outcome) -> None:
        if outcome.not_run is not None:
            raise _failed(f"not run: {outcome.not_run}", scenario)
        if outcome.failure is not None:
            raise _failed(f"run {outcome.run_id} failed: {outcome.failure}", scenario)
        self._scenario: _core.Scenario | _Kept = scenario
        self._outcome: Any = outcome

    @property
    def scenario(self) -> _core.Scenario:
        """The resolved scenario: `json` documents it completely, `run_id` identifies it."""
        if isinstance(self._scenario, _Kept):
            self._scenario = self._scenario.again()
        return self._scenario

    def __repr__(self) -> str:
        return f"Result({self._scenario.name!r}, run_id={self._scenario.run_id!r}, flows={self.flows.height})"

    def _repr_html_(self) -> str:
        return display.card("Result", self._scenario.name, facts(self), shown(self))

    def __getstate__(self) -> dict[str, Any]:
        return {"_scenario": _kept(self._scenario), "_outcome": _Tables(self.tables())}

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
        """Time series of the traced measures: bytes and seconds."""
        return self._table("samples")

    def samples_stream(self) -> _core.Table:
        """Stream of the samples, for more than fits in memory: `pyarrow.RecordBatchReader.from_stream` reads it."""
        stream: _core.Table = self._outcome.table("samples")
        return stream

    def samples_batches(self) -> Iterator[pl.DataFrame]:
        """The samples as data frames of some ten thousand rows each, one after the other."""
        from pyarrow import RecordBatchReader

        return (plain(batch) for batch in RecordBatchReader.from_stream(self.samples_stream()))

    def rows(self) -> dict[str, pl.DataFrame]:
        """Tables by name, except for the samples, which may be more than fits in memory."""
        return {name: getattr(self, name) for name in ("runs", "flows", "paths", "links")}

    def tables(self) -> dict[str, pl.DataFrame]:
        """All tables by name."""
        return self.rows() | {"samples": self.samples}

    def sql(self, query: str) -> pl.DataFrame:
        """Query the tables runs, flows, paths, links and samples (DuckDB, with the functions of `vazao sql`)."""
        from vazao.sql import database

        connection = database.connect()
        try:
            for name, rows in self.tables().items():
                database.add_rows(connection, name, rows.to_arrow())
            return database.query(connection, query)
        finally:
            connection.close()

    def view(self, *, most: int = seeing.MOST) -> seeing.Page | View:
        """The run packet by packet, as a page that `.save("run.html")` writes; in a notebook, as a widget.

        The scenario is run again to record its first `most` packets. Raises `ResultsError` if the viewer is not built.
        """
        page = seeing.view([seeing.record(self.scenario, most=most)])
        if not widgets.in_notebook():
            return page
        shown: View = widgets.frames().View(page)
        return shown

    def plot(self, measure: str, *, kind: figures.Kind = "step") -> Chart | LayerChart | FacetChart:
        """Altair chart of a traced measure ("cwnd", "rtt", "queue", …) over time.

        `kind` is "step" (a line per flow, path or link), "band" (mean and 95 % interval over these), or the
        distribution of the samples of each: "ecdf" or "box". Raises `ResultsError`.
        """
        return figures.trace_chart(self.samples, measure, kind)


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
    snap: int | None = None,
    qlog: str | Path | None = None,
    allow_programs: bool = False,
    **more: Any,
) -> Result:
    """Run flows over a network and measure them.

    `seed` initializes every random stream; `until` ends the run (default: when every flow has ended). `trace` names
    measures to record over time, at every change or every `trace_every_s` seconds; `pcap` is a directory for one
    capture per host interface, with the first `snap` bytes of each packet if that is given (96 hold the headers of
    TCP); `qlog` is a directory for one log per side of each QUIC connection. An algorithm from a file
    (`cc="mine.py:Mine"`) runs only with `allow_programs`; classes always run. Further keywords are top-level keys of
    the scenario. Raises `ScenarioError`, `RunError`.
    """
    # Changes that the caller makes to the network later must not affect this run.
    tables = deepcopy(document(network, flows, seed=seed, until=until, name=name, **more))
    plugins = Plugins()
    overrides = list(plugins.named(tables).items())
    scenario = load("", overrides=overrides, plugins=plugins.all(), allow_programs=allow_programs)
    return run_scenario(scenario, trace=trace, trace_every_s=trace_every_s, pcap=pcap, snap=snap, qlog=qlog)


def run_scenario(
    scenario: _core.Scenario,
    *,
    trace: Sequence[str] = (),
    trace_every_s: float | None = None,
    pcap: str | Path | None = None,
    snap: int | None = None,
    qlog: str | Path | None = None,
    on_tick: Callable[[float], None] | None = None,
) -> Result:
    """Run a loaded scenario; `on_tick` is called now and then with the simulated seconds. Raises `RunError`."""
    if trace:
        scenario = scenario.with_trace(list(trace), trace_every_s)
    directories = {name: None if path is None else str(path) for name, path in [("pcap", pcap), ("qlog", qlog)]}
    return Result(scenario, simulation.run(scenario, snap=snap, on_tick=on_tick, **directories))
