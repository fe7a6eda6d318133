"""Memory and CPU time that processes take."""

from __future__ import annotations

from pathlib import Path
from resource import RUSAGE_CHILDREN, RUSAGE_SELF, getrusage


def memory(field: str) -> int:
    """Bytes of resident memory: current (`VmRSS`) or peak (`VmHWM`).

    Not `ru_maxrss`: Linux inherits that from the parent, whose peak would hide a small child's.
    """
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(field))
    return int(line.split()[1]) * 1024


def cpu() -> float:
    """CPU seconds of this process and of those that it started and that have ended."""
    return sum(used.ru_utime + used.ru_stime for used in map(getrusage, (RUSAGE_SELF, RUSAGE_CHILDREN)))
