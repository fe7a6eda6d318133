"""The results directory: only whole batches whatever happens, one writer at a time, and no mixing of results."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from duckdb import DuckDBPyConnection

from vazao import files
from vazao.errors import ResultsError
from vazao.execution import missing as execution
from vazao.results import campaign
from vazao.sql import database
from vazao.store import Store, directory as store
from vazao.store.parts import TABLES
from vazao.store.writer import writing
from vazao.study import Study

pytestmark = pytest.mark.process

MANIFEST = {"kind": "study", "name": "x", "versions": {"engine": "1"}}


class Death(BaseException):
    """Simulated death of the process: nothing after it happens."""


@contextmanager
def dying_after(operations: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Allows this many file operations, and none after them. A file being opened is left with half of its content."""
    left = operations

    def step() -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise Death

    def mortal(function: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*args: Any, **keywords: Any) -> Any:
            step()
            return function(*args, **keywords)

        return wrapped

    def torn_open(path: Path, mode: str = "r", *args: Any, **keywords: Any) -> Any:
        if "x" in mode:
            step()
            path.write_bytes(b"PAR1 half")
            step()
            mode = mode.replace("x", "w")
        return original_open(path, mode, *args, **keywords)

    original_open = Path.open
    with monkeypatch.context() as patch:
        for name in ("replace", "unlink", "mkdir"):
            patch.setattr(Path, name, mortal(getattr(Path, name)))
        patch.setattr(Path, "open", torn_open)
        patch.setattr(os, "fsync", mortal(os.fsync))
        # write_bytes opens the file itself; the torn write must not be counted twice.
        patch.setattr(Path, "write_bytes", lambda path, data: os.close(_raw(path, data)))
        yield


def _raw(path: Path, data: bytes) -> int:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.write(descriptor, data)
    return descriptor


def rows(directory: Path) -> dict[str, pl.DataFrame]:
    store = Store(directory)
    tables = {name: store.read(name) for name in TABLES}
    return {name: table.drop("wall_s", strict=False) for name, table in tables.items()}


def assert_same(a: dict[str, pl.DataFrame], b: dict[str, pl.DataFrame]) -> None:
    for name in TABLES:
        assert a[name].equals(b[name]), name


class Unenclosed:
    """Database in this process: where only files matter, a subprocess for each would take most of the time."""

    alive = True

    def __init__(self, prepare: Callable[[], DuckDBPyConnection], limits: object) -> None:
        self.connection = prepare()

    def query(self, sql: str, parameters: dict[str, object] | None = None) -> pl.DataFrame:
        return database.frame(database.answer(self.connection, sql, parameters or {}))

    def close(self) -> None:
        self.connection.close()


def test_dying_between_any_two_file_operations_loses_no_committed_run(
    toy: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(execution, "FLUSH_RUNS", 4)
    monkeypatch.setattr(store, "Enclosure", Unenclosed)
    monkeypatch.setattr(campaign, "validate_queries", lambda study: None)  # Touches no file.
    expected = rows(campaign.run_study(toy, size="quick", jobs=1, out=tmp_path / "whole").directory)
    operations, finished = 0, False
    while not finished:
        directory = tmp_path / f"after-{operations}"
        with dying_after(operations, monkeypatch):
            try:
                campaign.run_study(toy, size="quick", jobs=1, out=directory)
                finished = True
            except Death:
                pass
        committed = _committed(directory)
        for path in directory.rglob("*.parquet"):
            pl.read_parquet(path)
        again = campaign.run_study(toy, size="quick", jobs=1, out=directory)
        assert again.started == 8 - len(committed)
        assert committed <= set(again.runs["run_id"])
        assert_same(rows(directory), expected)
        assert not list(directory.rglob("*.tmp"))
        operations += 1
    # Eight runs in two batches of six tables need far more operations: the loop has covered them.
    assert operations > 40


def _committed(directory: Path) -> set[str]:
    found = [pl.read_parquet(path) for path in (directory / "runs").glob("[0-9]*.parquet")]
    return {run_id for table in found for run_id in table["run_id"]}


def test_a_batch_without_its_runs_is_swept(tmp_path: Path) -> None:
    frame = pl.DataFrame({"run_id": ["a"], "part": ["p"]})
    with writing(tmp_path / "r", MANIFEST) as writer:
        writer.write_planned(frame)
        writer.commit(
            {
                "runs": frame.select("run_id"),
                "flows": frame.with_columns(flow=0, start_s=0.0, cc=pl.lit("reno"), goodput_bps=1e6),
            }
        )
    stray = tmp_path / "r" / "flows" / "000002.parquet"
    frame.write_parquet(stray)
    assert Store(tmp_path / "r").read("flows").height == 1
    with writing(tmp_path / "r", MANIFEST):
        assert not stray.exists()


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("name", "y", "another study or scenario (x there, y now)"),
        ("kind", "scenario", "another kind (study there, scenario now)"),
        ("run", "ab", "another scenario (None there, ab now)"),
        ("versions", {"engine": "2"}, "another version of the engine (1 there, 2 now)"),
    ],
)
def test_results_of_something_else_are_refused(tmp_path: Path, key: str, value: object, expected: str) -> None:
    with writing(tmp_path / "r", MANIFEST):
        pass
    with pytest.raises(ResultsError) as error, writing(tmp_path / "r", MANIFEST | {key: value}):
        pass
    assert expected in str(error.value)
    assert "choose another --out" in str(error.value)


def test_other_peoples_files_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("dear")
    with pytest.raises(ResultsError, match="holds other files"), writing(tmp_path, MANIFEST):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["letter.txt"]
    with pytest.raises(ResultsError, match="is a file"), writing(tmp_path / "letter.txt", MANIFEST):
        pass
    with pytest.raises(ResultsError, match="a file stands where"), writing(tmp_path / "letter.txt" / "x", MANIFEST):
        pass


def test_two_processes_do_not_write_at_once(tmp_path: Path) -> None:
    with writing(tmp_path / "r", MANIFEST):
        with pytest.raises(ResultsError, match="another vazao is writing"), writing(tmp_path / "r", MANIFEST):
            pass
        assert Store(tmp_path / "r").read("runs").is_empty()


def test_a_full_disk_is_one_message_and_leaves_nothing_half_written(
    toy: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign.run_study(toy, size="quick", jobs=1, out=tmp_path / "r")
    before = rows(tmp_path / "r")
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", _full)
        with pytest.raises(ResultsError, match="the disk is full"):
            campaign.run_study(toy, size="full", jobs=1, out=tmp_path / "r")
    assert not list((tmp_path / "r").rglob("*.tmp"))
    assert_same(rows(tmp_path / "r"), before)


def _full(descriptor: int) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_file_is_replaced_whole(tmp_path: Path) -> None:
    path = tmp_path / "f"
    files.write_atomically(path, b"one")
    files.write_atomically(path, b"two")
    assert path.read_bytes() == b"two"
    assert [path.name for path in tmp_path.iterdir()] == ["f"]


def test_a_pipe_or_a_device_is_not_replaced_by_a_file(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(ResultsError, match="no regular file"):
        files.write_atomically(pipe, b"one")
    assert [path.is_fifo() for path in tmp_path.iterdir()] == [True]


def test_a_directory_without_results_is_said_to_be_one(tmp_path: Path) -> None:
    with pytest.raises(ResultsError, match="no results directory"):
        Store(tmp_path)
    (tmp_path / "manifest.json").write_text("{ not json")
    with pytest.raises(ResultsError, match="not a manifest"):
        Store(tmp_path)
    with pytest.raises(ResultsError, match="no such directory"):
        Store(tmp_path / "nowhere")
