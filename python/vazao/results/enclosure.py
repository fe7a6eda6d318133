"""A database in a process of its own, which the system ends when a question takes too long or too much memory.

The database interrupts itself between two steps of a plan, but one step, a text of four thousand million letters say,
can take hours, and the memory of one is none that it counts. So questions are put to a child that can do little: it
writes no file, holds no file of its parent, and ends with its time or its memory, or when nobody asks any more.
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
from vazao.results import database

ROWS, FAILED = b"R", b"F"

GB = 1e9


@dataclass(frozen=True)
class Limits:
    """Limits of time and memory of a question."""

    seconds: float
    gigabytes: float

    def or_as_told(self) -> Limits:
        """Return the limits in force: these, or those that the environment sets."""
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
    """A database that `prepare` makes in a child process, and questions to it."""

    def __init__(self, prepare: Callable[[], duckdb.DuckDBPyConnection], limits: Limits) -> None:
        """Make it. Raises `ResultsError` when `prepare` does."""
        self._limits = limits.or_as_told()
        here, there = socket.socketpair()
        with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
            # A new interpreter would read half a second of modules. The child of a process with threads may not use
            # what they hold; it uses only its own database, which the parent has never opened.
            self._child = os.fork()
        if self._child == 0:
            _live(there, prepare, self._limits)
        there.close()
        self._stream = here.makefile("rwb")
        here.close()
        self.close = weakref.finalize(self, _end, self._child, self._stream)
        self._answer()

    def query(self, sql: str, parameters: Mapping[str, object] | None = None) -> pl.DataFrame:
        """The rows of a query. Raises `ResultsError`; after one about time or memory, the database is gone."""
        return database.frame(self._put({"sql": sql, "parameters": dict(parameters or {})}))

    def reads(self, sql: str, columns: Sequence[str], parameters: Mapping[str, object]) -> pl.DataFrame:
        """The columns of tables that a query's columns depend on; see `database.reads`. Raises `ResultsError`."""
        return database.frame(self._put({"sql": sql, "columns": list(columns), "parameters": dict(parameters)}))

    def _put(self, question: Mapping[str, object]) -> pa.Table:
        """The answer to a question: a query, or what it reads where it has `columns`."""
        try:
            self._stream.write(json.dumps(question).encode() + b"\n")
            self._stream.flush()
        except OSError:
            raise self._ended() from None
        return self._answer()

    @property
    def alive(self) -> bool:
        """Whether it can be asked."""
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
            # Ctrl-C: what the child still says would be taken for the answer to the next question.
            self.close()
            raise
        raise ResultsError(message)

    def _ended(self) -> ResultsError:
        """Error that says why the child is no more."""
        seconds, gigabytes = self._limits.seconds, self._limits.gigabytes
        if self.close() == -signal.SIGALRM:
            told = f"the query takes longer than {seconds:g} s, the limit; VAZAO_QUERY_SECONDS=… gives it more"
        else:
            told = (
                f"the query broke the database, or takes more than {gigabytes:g} GB of memory, the limit; "
                "VAZAO_QUERY_GIGABYTES=… gives it more"
            )
        return ResultsError(told)


def _end(child: int, stream: BufferedRWPair) -> int | None:
    """End the child, if it has not ended, and give its exit code: a signal's number below zero."""
    with suppress(OSError):
        stream.close()
    try:
        os.kill(child, signal.SIGKILL)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    except OSError:
        return None


def _live(there: socket.socket, prepare: Callable[[], duckdb.DuckDBPyConnection], limits: Limits) -> NoReturn:
    """The child's whole life."""
    with suppress(BaseException):
        _confine(there, limits)
        with there.makefile("rwb") as stream:
            connection = _answered(stream, limits, lambda: (prepare(), None))
            while connection and (line := stream.readline()):
                asked = json.loads(line)
                put = database.reads if "columns" in asked else database.answer
                _answered(stream, limits, lambda: (None, put(connection, **asked)))  # noqa: B023
    os._exit(0)


def _confine(there: socket.socket, limits: Limits) -> None:
    """Give up whatever the child needs not."""
    # Nothing of the parent's is ended here: its files are its own, and so are its locks.
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
    most = _held() + int(limits.gigabytes * GB)
    resource.setrlimit(resource.RLIMIT_DATA, (most, most))


def _held() -> int:
    """Bytes of memory that a child has of its parent, where the system says so."""
    with suppress(OSError):
        for line in Path("/proc/self/status").read_text(encoding="ascii", errors="replace").splitlines():
            if line.startswith("VmData:"):
                return int(line.split()[1]) * 1024
    return 0


def _answered(stream: BufferedRWPair, limits: Limits, ask: Callable[[], tuple[Any, pa.Table | None]]) -> Any:
    """Ask, and send the rows or what was wrong; gives what else was asked for, or None when it failed."""
    # The signal's own action ends the process, wherever in the database it is.
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
