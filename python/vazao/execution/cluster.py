"""Clusters that execute a campaign's runs: a Dask scheduler, any Dask cluster or client, or workers on this machine.

Dask is imported only when a cluster is requested.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from vazao.errors import ClusterError
from vazao.execution.dispatch import Dispatch
from vazao.execution.local_cluster import serving

if TYPE_CHECKING:
    from typing import TypeAlias

    import distributed
    from distributed.deploy import Cluster as DaskCluster

    from vazao.execution.dispatch import Sink
    from vazao.study import PlannedRun

    On: TypeAlias = str | distributed.Client | DaskCluster
    """Specification of a cluster: `local:8`, `dask://HOST:PORT`, or a Dask client or cluster."""

MAX_WORKERS = 1024
"""Largest number of workers to start on this machine."""

CONNECT_SECONDS = 10
"""Timeout for connecting to a scheduler."""

WORKERS_SECONDS = 60.0
"""Time to wait for workers of a scheduler given by its address, as nobody may be about to start any."""


@dataclass(frozen=True)
class Cluster:
    """A cluster that executes runs outside this process; created by `cluster_of`."""

    on: On
    name: str
    """Name in messages."""
    local: int = 0
    """Number of workers to start on this machine."""
    address: str = ""
    """Address of a running scheduler."""

    def simulate(
        self,
        runs: Sequence[PlannedRun],
        work: Sequence[float],
        sink: Sink,
        note: Callable[[Sequence[int]], None],
    ) -> None:
        """Simulate a campaign's runs and pass their rows to `sink`; `work` has the estimated seconds of each run.

        `note` is called with the indices of runs that have ended, and periodically with none. Raises `ClusterError`,
        `RunError`.
        """
        patience = WORKERS_SECONDS if isinstance(self.on, str) else float("inf")
        with self._client() as client:
            Dispatch(client, self.name, runs, work, sink, note, patience).run()

    @contextmanager
    def _client(self) -> Iterator[Any]:
        """A client of the cluster, closed at the end of the block unless the user supplied it."""
        from distributed import Client

        if isinstance(self.on, Client):
            yield self.on
            return
        with self._cluster() as cluster:
            try:
                client = Client(cluster, timeout=CONNECT_SECONDS, set_as_default=False)
            except (OSError, TimeoutError) as error:
                problem = f"no Dask scheduler answers there ({str(error)[:200]})"
                raise ClusterError(f"{self.name}: {problem}; start one with `dask scheduler`") from None
            try:
                yield client
            finally:
                with suppress(Exception):
                    client.close(timeout=1)

    @contextmanager
    def _cluster(self) -> Iterator[Any]:
        """The address of a scheduler, the user's cluster, or a local cluster started for the block."""
        if isinstance(self.on, str):
            # Workers come and go by design: Dask's log messages about that are for cluster operators.
            logging.getLogger("distributed").setLevel(logging.CRITICAL)
        if not self.local:
            yield self.address or self.on
            return
        with serving(self.name, self.local) as scheduler:
            yield scheduler


def cluster_of(on: On, asked: str = "on") -> Cluster:
    """The cluster for a specification string or a Dask object. Raises `ClusterError` for anything else.

    `asked` is the name of the option that the user gave.
    """
    name = f"{asked} {on}" if isinstance(on, str) else repr(on)
    if isinstance(on, str):
        if found := re.fullmatch(r"local(?::(\d{1,4}))?", on):
            workers = int(found[1]) if found[1] else os.cpu_count() or 1
            if 1 <= workers <= MAX_WORKERS:
                _need_dask(name)
                return Cluster(on, name, local=workers)
        if found := re.fullmatch(r"dask://(\[[0-9A-Fa-f:]+\]|[^\s:/\[\]@]+):(\d{1,5})", on):
            _need_dask(name)
            return Cluster(on, name, address=f"tcp://{found[1]}:{found[2]}")
        raise ClusterError(
            f"{asked} {on!r}: write local:8 for 8 workers (1 to {MAX_WORKERS}) on this machine, or dask://HOST:PORT "
            "for a Dask scheduler"
        )
    _need_dask(name)
    from distributed import Client
    from distributed.deploy import Cluster as DaskCluster

    if not isinstance(on, Client | DaskCluster):
        raise ClusterError(f"{asked}={on!r}: give a text as 'local:8', a distributed.Client, or a cluster of Dask's")
    if on.asynchronous:
        raise ClusterError(f"{asked}={on!r}: is asynchronous; give one that was made with asynchronous=False")
    return Cluster(on, name)


def _need_dask(name: str) -> None:
    if find_spec("distributed") is None:
        raise ClusterError(f"{name}: needs Dask, which is not installed: pip install 'vazao[dask]'")
