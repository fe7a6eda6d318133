"""Runs the tools of a build: logs their output, reports their progress, and leaves none of them behind."""

from __future__ import annotations

import os
import select
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, BinaryIO

TICK = 0.2
"""Seconds between two checks of a tool that prints nothing."""

LAST_LINES = 15
"""Number of log lines in a message."""


class ToolError(Exception):
    """A tool failed; the log has the reason."""


@dataclass(frozen=True)
class Log:
    """The file that the tools of a build write to."""

    path: Path

    def last_lines(self) -> str:
        """The end of the log, indented."""
        lines = self.path.read_text(encoding="utf-8", errors="replace").rstrip().splitlines()
        return "\n".join(f"    {line}" for line in lines[-LAST_LINES:])

    def run(
        self,
        command: Sequence[str | Path],
        *,
        where: Path,
        environment: Mapping[str, str],
        stdin: BinaryIO | None = None,
        heard: Callable[[str], None] = lambda _: None,
        tick: Callable[[], None] = lambda: None,
    ) -> None:
        """Run a tool to completion. `heard` is called with each line of output; `tick` is called periodically."""
        with self.path.open("ab") as log:
            log.write(f"$ {' '.join(map(str, command))}\n".encode())
            # Its output comes through a pipe: if this process is killed, a compilation ends at its next line.
            process = subprocess.Popen(
                command,
                cwd=where,
                env=dict(environment),
                stdin=stdin or subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                process_group=0,
            )
            assert process.stdout is not None
            try:
                _listen(process.stdout, log, heard, tick)
                status = process.wait()
            finally:
                _end(process)
        if status:
            raise ToolError(f"{command[0]} ended with {_status(status)}")


def _listen(output: IO[bytes], log: BinaryIO, heard: Callable[[str], None], tick: Callable[[], None]) -> None:
    rest = b""
    while True:
        tick()
        if not select.select([output], [], [], TICK)[0]:
            continue
        chunk = os.read(output.fileno(), 65536)
        if not chunk:
            return
        log.write(chunk)
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            heard(line.decode(errors="replace"))


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill the tool and everything it started."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    if process.stdout:
        process.stdout.close()


def _status(status: int) -> str:
    return f"exit code {status}" if status > 0 else signal.Signals(-status).name


def discard(path: Path, patience: float | None = None) -> None:
    """Remove a directory recursively; after `patience` seconds, removal continues in the background."""
    with suppress(OSError):  # Rename it first: its name may be needed before it is gone.
        path = path.rename(f"{path}-{os.getpid()}-discarded")
    process = subprocess.Popen(
        ["rm", "-rf", "--", path],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        process.wait(patience)
    except subprocess.TimeoutExpired:
        process.returncode = 0  # Deliberately not waited for: avoids a warning when the object is collected.


def plain_environment() -> dict[str, str]:
    """Environment of tools, without anything of the user's that could change their output."""
    return {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR") if name in os.environ} | {"LC_ALL": "C"}
