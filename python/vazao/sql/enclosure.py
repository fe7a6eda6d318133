"""Database in a child process, which the operating system stops when a query takes too much time or memory.

DuckDB can be interrupted between two steps of a plan, but a single step, such as building a string of four billion
characters, can take hours and use memory that DuckDB does not count. Queries therefore run in a confined child process:
it writes no file, holds no file of its parent, and ends when it exceeds its time or memory, or when its parent closes
the connection.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import signal
import socket
import struct
import warnings
import weakref
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from io import BufferedRWPair
from pathlib import Path
from typing import Any, NoReturn

import duckdb
import polars as pl
import pyarrow as pa

from vazao.errors import ResultsError
from vazao.sql import database

ROWS, FAILED = b"R", b"F"

GB = 1e9


@dataclass(frozen=True)
class Limits:
    """Time and memory limits of a query."""

    seconds: float
    gigabytes: float

    def with_environment(self) -> Limits:
        """Return the limits in force: these, unless environment variables override them."""
        return Limits(
            _positive("VAZAO_QUERY_SECONDS", self.seconds), _positive("VAZAO_QUERY_GIGABYTES", self.gigabytes)
        )


def _positive(variable: str, otherwise: float) -> float:
    text = os.environ.get(variable, "")
    try:
        value = float(text or otherwise)
    except ValueError:
        value = 0.0
    if not 0 < value < 1e6:
        raise ResultsError(f"{variable}={text!r}: write a positive number, as in {variable}={otherwise:g}")
    return value


class Enclosure:
    """A database that `prepare` creates in a child process, open to queries."""

    def __init__(self, prepare: Callable[[], duckdb.DuckDBPyConnection], limits: Limits) -> None:
        """Start the child process. Raises `ResultsError` when `prepare` does."""
        self._limits = limits.with_environment()
        database.have_spare()
        here, there = socket.socketpair()
        with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
            # A new interpreter would take half a second to import modules. The forked child of a process with threads
            # must not use what these may hold; it uses only its own database, which the parent created blank and
            # without threads, and has not used.
            self._child = os.fork()
        if self._child == 0:
            _serve(there, prepare, self._limits)
        there.close()
        self._stream = here.makefile("rwb")
        here.close()
        self.close = weakref.finalize(self, _end, self._child, self._stream)
        self._answer()

    def query(self, sql: str, parameters: Mapping[str, object] | None = None) -> pl.DataFrame:
        """Run a query. Raises `ResultsError`; after exceeding time or memory, the database is gone."""
        return database.frame(self._request({"sql": sql, "parameters": dict(parameters or {})}))

    def reads(self, sql: str, columns: Sequence[str], parameters: Mapping[str, object]) -> pl.DataFrame:
        """Table columns that `columns` of a query's result depend on; see `database.reads`. Raises `ResultsError`."""
        return database.frame(self._request({"sql": sql, "columns": list(columns), "parameters": dict(parameters)}))

    def _request(self, request: Mapping[str, object]) -> pa.Table:
        """Send a request and return its answer: a query's rows or, for one with `columns`, what these depend on."""
        try:
            self._stream.write(json.dumps(request).encode() + b"\n")
            self._stream.flush()
        except OSError:
            raise self._ended() from None
        return self._answer()

    @property
    def alive(self) -> bool:
        """Whether the database can still be queried."""
        return bool(self.close.alive)

    def _answer(self) -> pa.Table:
        try:
            if self._stream.read(1) == ROWS:
                return pa.ipc.open_stream(self._stream).read_all()
            (length,) = struct.unpack("<Q", self._stream.read(8))
            message = self._stream.read(length).decode()
        except (OSError, EOFError, struct.error, pa.ArrowException):
            raise self._ended() from None
        except BaseException:
            # Ctrl-C: the child's pending answer would be taken for the answer to the next request.
            self.close()
            raise
        raise ResultsError(message)

    def _ended(self) -> ResultsError:
        """Error that explains why the child has ended."""
        seconds, gigabytes = self._limits.seconds, self._limits.gigabytes
        if self.close() == -signal.SIGALRM:
            problem = f"the query takes longer than {seconds:g} s, the limit; VAZAO_QUERY_SECONDS=… gives it more"
        else:
            problem = (
                f"the query broke the database, or takes more than {gigabytes:g} GB of memory, the limit; "
                "VAZAO_QUERY_GIGABYTES=… gives it more"
            )
        return ResultsError(problem)


def _end(child: int, stream: BufferedRWPair) -> int | None:
    """Kill the child if it is still running, and return its exit code, which is negative for a signal."""
    with suppress(OSError):
        stream.close()
    try:
        os.kill(child, signal.SIGKILL)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    except OSError:
        return None


def _serve(there: socket.socket, prepare: Callable[[], duckdb.DuckDBPyConnection], limits: Limits) -> NoReturn:
    """Run the child: prepare the database and answer requests until the parent closes the connection."""
    with suppress(BaseException):
        _confine(there, limits)
        with there.makefile("rwb") as stream:
            connection = _respond(stream, limits, lambda: (prepare(), None))
            while connection and (line := stream.readline()):
                request = json.loads(line)
                run = database.reads if "columns" in request else database.answer
                _respond(stream, limits, lambda: (None, run(connection, **request)))  # noqa: B023
    os._exit(0)


def _confine(there: socket.socket, limits: Limits) -> None:
    """Drop everything that the child does not need, and set its limits."""
    # Finalizers of the parent's objects must not run here: its files and locks remain its own.
    gc.disable()
    silence = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(silence, standard)
    os.closerange(3, there.fileno())
    os.closerange(there.fileno() + 1, os.sysconf("SC_OPEN_MAX"))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for ending in (signal.SIGALRM, signal.SIGTERM):
        signal.signal(ending, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    most = _inherited() + int(limits.gigabytes * GB)
    resource.setrlimit(resource.RLIMIT_DATA, (most, most))


def _inherited() -> int:
    """Bytes of memory that a child inherits from its parent; 0 where the system does not report them."""
    with suppress(OSError):
        for line in Path("/proc/self/status").read_text(encoding="ascii", errors="replace").splitlines():
            if line.startswith("VmData:"):
                return int(line.split()[1]) * 1024
    return 0


def _respond(stream: BufferedRWPair, limits: Limits, ask: Callable[[], tuple[Any, pa.Table | None]]) -> Any:
    """Call `ask` and send its rows, or its error; return its first value, or None if it failed."""
    # The default action of SIGALRM ends the process, wherever in the database it is.
    signal.setitimer(signal.ITIMER_REAL, limits.seconds)
    kept = None
    try:
        kept, rows = ask()
    except MemoryError:
        _fail(stream, f"the query takes more than {limits.gigabytes:g} GB of memory, the limit")
    except Exception as error:
        _fail(stream, str(error) if isinstance(error, ResultsError) else f"{type(error).__name__}: {error}")
    else:
        stream.write(ROWS)
        rows = pa.table({}) if rows is None else rows
        with pa.ipc.new_stream(stream, rows.schema) as writer:
            writer.write_table(rows)
    stream.flush()
    signal.setitimer(signal.ITIMER_REAL, 0)
    return kept


def _fail(stream: BufferedRWPair, message: str) -> None:
    content = message.encode(errors="replace")
    stream.write(FAILED + struct.pack("<Q", len(content)) + content)
