"""Judges cases in a monitored subprocess: a hang, a crash or excessive memory is a finding, too."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path

from fuzz.case import Case, Verdict, judge

WALL = 120.0
"""Seconds after which a case that did not stop when asked to is killed."""
MEMORY = 2e9
"""Resident bytes above which a process is killed."""
TOLD = "1.5 GB"
"""Memory limit given to the process, so that it refuses or stops larger runs itself."""
ROOT = Path(__file__).parents[1]


def _serve(pipe: Connection) -> None:
    while True:
        try:
            case: Case = pipe.recv()
        except EOFError:
            return
        pipe.send(judge(case))


class Worker:
    """Subprocess that judges one case after another, and is restarted after a case that ends it."""

    def __init__(self, wall: float = WALL, memory: float = MEMORY) -> None:
        self._wall, self._memory = wall, memory
        self._folder = tempfile.TemporaryDirectory(prefix="fuzz-")
        self._said = Path(self._folder.name) / "stderr"
        self._start()

    def _start(self) -> None:
        self._pipe, theirs = Pipe()
        path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
        # A crashing library writes to the file descriptor, not to `sys.stderr`.
        with theirs, self._said.open("wb") as said:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "fuzz.worker", str(theirs.fileno())],
                env=os.environ | {"PYTHONPATH": path, "VAZAO_MEMORY": TOLD},
                pass_fds=[theirs.fileno()],
                stderr=said,
            )

    def judge(self, case: Case) -> Verdict:
        """Judge a case in the subprocess."""
        self._pipe.send(case)
        deadline = time.monotonic() + self._wall
        while not self._pipe.poll(0.05):
            if self._process.poll() is not None and not self._pipe.poll():
                return self._died()
            if self._resident() > self._memory:
                return self._ended(f"memory above {self._memory / 1e9:.1f} GB")
            if time.monotonic() > deadline:
                return self._ended(f"no answer in {self._wall:.0f} s")
        try:
            verdict: Verdict = self._pipe.recv()
        except (EOFError, ConnectionResetError):
            return self._died()
        return verdict

    def _resident(self) -> float:
        try:
            pages = int(Path(f"/proc/{self._process.pid}/statm").read_text().split()[1])
        except (FileNotFoundError, IndexError, ProcessLookupError):
            return 0.0
        return pages * 4096.0

    def _died(self) -> Verdict:
        self._process.wait(5)
        last = " ".join(self._said.read_text(errors="replace").splitlines()[-3:])
        return self._ended(f"the process died, exit code {self._process.returncode}: {last[:300]}")

    def _ended(self, why: str) -> Verdict:
        self._kill()
        self._start()
        return Verdict("finding", (why,))

    def _kill(self) -> None:
        self._process.kill()
        self._process.wait()
        self._pipe.close()

    def close(self) -> None:
        """Stop the process."""
        self._kill()
        self._folder.cleanup()


if __name__ == "__main__":
    _serve(Connection(int(sys.argv[1])))
