"""Dispatch of a campaign's runs to a Dask cluster in chunks; runs of lost workers are resubmitted.

A run is either pending or in exactly one chunk in flight, and it ends once. Chunks of lost workers are run again.
"""

from __future__ import annotations

import asyncio
import pickle
import queue
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Protocol

from vazao import _core
from vazao.errors import ClusterError, RunError, ScenarioError
from vazao.execution import worker
from vazao.execution.rows import Rows
from vazao.execution.worker import Answer, Order

if TYPE_CHECKING:
    from vazao.scenario import Allowed
    from vazao.study import Cell, PlannedRun

CHUNK_SECONDS = 0.4
"""Target duration of a chunk."""
CHUNK_RUNS = 256
"""Largest number of runs in a chunk."""
ROWS_SECONDS = 0.1e-3
"""Time that a run takes besides its simulation, to produce its rows."""
AHEAD = 2
"""Chunks in flight per thread of the cluster: while one runs, the next is ready."""
TICK_SECONDS = 0.05
LOOK_SECONDS = 1.0
"""Interval at which the cluster's workers are counted."""
GONE_SECONDS = 10.0
"""Time after which an unreachable scheduler is considered gone."""
MAX_DEATHS = 3
"""Times that Dask may report a run's worker dead, each after trying several workers, before the run is given up."""


class Sink(Protocol):
    """Receiver of rows."""

    not_run: dict[str, str]

    def add_rows(self, rows: Rows) -> None:
        """Receive the rows of runs that have ended."""


@dataclass(eq=False)
class _Chunk:
    """Runs in flight, by their indices in the campaign."""

    places: list[int]
    workers: list[str] | None
    """Addresses of the workers that may run it; None for any."""
    has_files: bool
    future: Any = None
    answer: Future[Answer] = field(default_factory=Future)


class Dispatch:
    """Dispatcher of a campaign's runs to a cluster."""

    def __init__(
        self,
        client: Any,
        name: str,
        runs: Sequence[PlannedRun],
        work: Sequence[float],
        sink: Sink,
        note: Callable[[Sequence[int]], None],
        patience: float,
    ) -> None:
        """Prepare to run: `work` is each run's estimated seconds, `patience` the seconds to wait without a worker."""
        self._client, self._name, self._runs, self._work = client, name, runs, work
        self._sink, self._note, self._patience = sink, note, patience
        self._pending = deque(range(len(runs)))
        self._alone: set[int] = set()
        self._deaths: dict[int, int] = {}
        self._want_files: set[int] = set()
        self._unable: dict[object, dict[str, str]] = {}
        """Workers that cannot meet the needs of some runs, keyed by these needs, each with the reason."""
        self._chunks: set[_Chunk] = set()
        self._done: queue.SimpleQueue[_Chunk] = queue.SimpleQueue()
        self._pace = 1.0
        """Ratio of actual to estimated run times."""
        self._key = f"vazao-{uuid.uuid4().hex[:12]}"
        self._number = 0
        self._threads: Mapping[str, int] = {}
        self._last_worker = self._last_connection = time.monotonic()
        """Last moments at which there was a worker, and a connection."""

    def run(self) -> None:
        """Simulate all runs. Raises `ClusterError`, `RunError`; the rows of runs that ended before are in the sink."""
        over = threading.Event()
        watch = threading.Thread(target=self._watch, args=(over,), daemon=True)
        watch.start()
        try:
            while self._pending or self._chunks:
                self._check()
                self._fill()
                with suppress(queue.Empty):
                    self._process(self._done.get(timeout=TICK_SECONDS))
                self._note([])
        finally:
            over.set()
            if self._chunks and self._client.status == "running":
                with suppress(Exception):
                    self._on_loop(self._cancel([chunk.future for chunk in self._chunks])).result(timeout=0.3)

    def _watch(self, over: threading.Event) -> None:
        """Count the cluster's threads periodically, in a thread of its own: a scheduler may be slow to answer."""
        while not over.is_set():
            with suppress(Exception):
                if self._client.status == "running":
                    self._threads = dict(self._client.nthreads())
            over.wait(LOOK_SECONDS if self._threads else TICK_SECONDS)

    def _check(self) -> None:
        """Check for a scheduler and a worker, and requeue chunks whose workers are gone.

        Raises `RunError`, `ClusterError`.
        """
        now = time.monotonic()
        if self._client.status == "running":
            self._last_connection = now
        elif self._client.status == "closed" or now - self._last_connection > GONE_SECONDS:
            raise RunError(
                f"{self._name}: the scheduler is gone; finished runs are kept, and the same command goes on from there"
            )
        if self._threads:
            self._last_worker = now
        elif now - self._last_worker > self._patience:
            hint = "start some with `dask worker HOST:PORT`"
            raise ClusterError(f"{self._name}: has had no worker for {self._patience:.0f} s; {hint}")
        for chunk in list(self._chunks):
            if chunk.workers and self._threads and not set(chunk.workers) & set(self._threads):
                # Dask would wait for workers that may never come back.
                self._chunks.remove(chunk)
                self._requeue(chunk.places)
                self._on_loop(self._cancel([chunk.future]))

    def _fill(self) -> None:
        """Submit enough chunks to keep the workers busy."""
        threads = sum(self._threads.values())
        while self._pending and len(self._chunks) < AHEAD * threads:
            places = self._next(threads)
            needs = self._needs(places[0])
            unable = self._unable.get(needs, {})
            able = [address for address in self._threads if address not in unable]
            if unable and not able:
                reason = f"no worker can: {next(iter(unable.values()))}"
                self._sink.not_run.update((self._runs[place].run_id, reason) for place in places)
                self._note(places)
                continue
            self._send(_Chunk(places, able if unable else None, bool(self._want_files & set(places))))

    def _next(self, threads: int) -> list[int]:
        """Take the next pending runs that have equal needs, up to about a chunk's target duration."""
        most = min(CHUNK_RUNS, max(1, len(self._pending) // (AHEAD * threads)))
        places, seconds = [self._pending.popleft()], 0.0
        seconds += self._seconds(places[0])
        while self._pending and len(places) < most and not self._alone & {places[0], self._pending[0]}:
            seconds += self._seconds(self._pending[0])
            if seconds > CHUNK_SECONDS or self._needs(self._pending[0]) != self._needs(places[0]):
                break
            places.append(self._pending.popleft())
        return places

    def _seconds(self, place: int) -> float:
        return (self._work[place] + ROWS_SECONDS) * self._pace

    def _needs(self, place: int) -> object:
        """Kernels and simulators that a run needs; None for most runs, which can run anywhere."""
        needs = self._runs[place].cell.needs
        return tuple(sorted({**needs.kernels, **needs.simulators}.items())) or None

    def _send(self, chunk: _Chunk) -> None:
        self._number += 1
        key = f"{self._key}-{self._number}"
        names = {"engine": _core.ENGINE_VERSION, "order": pickle.dumps(self._order(chunk), protocol=5)}
        chunk.future = self._client.submit(eval, worker.ASKED, names, key=key, workers=chunk.workers, pure=False)
        self._chunks.add(chunk)
        chunk.answer = self._on_loop(self._answer(chunk.future))
        chunk.answer.add_done_callback(lambda _: self._done.put(chunk))

    async def _answer(self, future: Any) -> Answer:
        answer: Answer = pickle.loads(await self._client.gather(future, asynchronous=True))
        return answer

    async def _cancel(self, futures: list[Any]) -> None:
        await self._client.cancel(futures, asynchronous=True)

    def _on_loop(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._client.loop.asyncio_loop)

    def _order(self, chunk: _Chunk) -> Order:
        runs = [self._runs[place] for place in chunk.places]
        cells = list({id(run.cell): run.cell for run in runs}.values())
        numbers = {id(cell): number for number, cell in enumerate(cells)}
        inputs = {name: (path, digest) for cell in cells for name, path, digest in cell.needs.inputs}
        contents = {}
        for path, digest in inputs.values() if chunk.has_files else ():
            contents[digest] = path.read_bytes()
            if sha256(contents[digest]).hexdigest() != digest:
                raise ScenarioError(f"{path}: changed since it was read; run again when it is whole")
        return Order(
            [replace(cell.recipe, plugins=(), inputs={}, allow_programs=_permission(cell)) for cell in cells],
            [{**cell.needs.kernels, **cell.needs.simulators} for cell in cells],
            [(numbers[id(run.cell)], run.seed, run.run_id) for run in runs],
            worker.python(),
            _pickled([cell.recipe.plugins for cell in cells]),
            {name: digest for name, (_, digest) in inputs.items()},
            contents,
        )

    def _process(self, chunk: _Chunk) -> None:
        """Process the answer to a chunk, or requeue its runs. Raises `ClusterError`, `RunError`."""
        if chunk not in self._chunks:
            return
        self._chunks.remove(chunk)
        try:
            answer = chunk.answer.result()
        except (CancelledError, asyncio.CancelledError):
            # The connection was lost, or a user cancelled it.
            self._requeue(chunk.places)
        except Exception as error:
            self._failed(chunk, error)
        else:
            self._accept(chunk, answer)
        chunk.future.release()

    def _accept(self, chunk: _Chunk, answer: Answer) -> None:
        if answer.refused is not None:
            raise ClusterError(f"{self._name}: worker {answer.worker} {answer.refused}")
        places = chunk.places
        if answer.wants_files:
            if chunk.has_files:
                raise ClusterError(f"{self._name}: worker {answer.worker} cannot keep the files that scenarios name")
            self._want_files.update(places)
        for place, reason in answer.not_here.items():
            self._unable.setdefault(self._needs(places[place]), {})[answer.worker] = reason
        self._alone.update(places[place] for place in answer.alone)
        ended = [places[place] for place in answer.ended]
        if ended:
            estimated = sum(map(self._seconds, ended)) / self._pace
            # A moving average, as runs differ.
            self._pace = min(1e3, max(1e-3, (self._pace + answer.seconds / estimated) / 2))
            self._sink.add_rows(answer.packed.rows())
            self._note(ended)
        self._requeue([place for place in places if place not in set(ended)])

    def _failed(self, chunk: _Chunk, error: Exception) -> None:
        """Requeue runs whose worker died, each alone, as one of them may be the cause. Raises any other error."""
        kind = type(error).__name__
        if kind in ("FutureCancelledError", "CommClosedError", "FuturesCancelledError"):
            self._requeue(chunk.places)
            return
        if kind == "KilledWorker":
            for place in chunk.places:
                self._deaths[place] = self._deaths.get(place, 0) + 1
                if len(chunk.places) == 1 and self._deaths[place] >= MAX_DEATHS:
                    problem = "each worker that ran it died; its memory may have been too small"
                    raise RunError(f"{self._name}: run {self._runs[place].run_id}: {problem}") from None
            self._alone.update(chunk.places)
            self._requeue(chunk.places)
            return
        if isinstance(error, ImportError | AttributeError):
            needed = f"each needs Vazão with engine {_core.ENGINE_VERSION}"
            raise ClusterError(f"{self._name}: a worker cannot load Vazão ({error}); {needed}") from None
        raise error

    def _requeue(self, places: Sequence[int]) -> None:
        """Put runs back at the front of the queue."""
        self._pending.extendleft(reversed(places))


def _permission(cell: Cell) -> Allowed:
    """Permission for workers to run exactly the code that was read here, and no file of theirs with its name."""
    return cell.recipe.allow_programs and frozenset(digest for _, _, digest in cell.needs.inputs)


def _pickled(plugins: Sequence[Sequence[tuple[str, str, type, str]]]) -> bytes | None:
    """The user's own algorithms, pickled by value: workers lack the modules that define them."""
    modules = {own.__module__ for several in plugins for _, _, own, _ in several}
    if not modules:
        return None
    import sys

    import cloudpickle

    imported = [sys.modules[name] for name in modules - {"__main__"} if name in sys.modules]
    for module in imported:
        cloudpickle.register_pickle_by_value(module)
    try:
        return bytes(cloudpickle.dumps(list(plugins)))
    except Exception as error:
        names = ", ".join(sorted(own.__name__ for several in plugins for _, _, own, _ in several))
        raise ClusterError(f"{names}: cannot travel to the workers of a cluster ({error})") from None
    finally:
        for module in imported:
            cloudpickle.unregister_pickle_by_value(module)
