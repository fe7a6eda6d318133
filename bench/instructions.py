"""Instructions of short runs: a count that does not depend on what else the machine does.

python bench/instructions.py            # compare with instructions.json; 1 if a case takes over 5 % more
python bench/instructions.py --write    # after a change that costs something on purpose, or saves something

A run of `crates/scenario/benches/run.rs` under Valgrind: reading the scenario, building, simulating, collecting. Counts
are of this compiler (rust-toolchain.toml) for x86-64, of which Valgrind shows every machine the same kind.
"""

from __future__ import annotations

import argparse
import json
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from program import built
from scenarios import SHORT

HERE = Path(__file__).parent
RECORD = HERE / "instructions.json"
TOLERANCE = 0.05


class NotMeasurableError(Exception):
    """Raised if instructions cannot be counted on this machine."""


def program() -> str:
    """Build the benchmark as `make setup` builds the engine, and return its path."""
    if platform.machine() != "x86_64":
        raise NotMeasurableError("instructions are recorded for x86-64")
    if shutil.which("valgrind") is None:
        raise NotMeasurableError("valgrind is not installed")
    return built("release")


def instructions(executable: str, scenario: str) -> int:
    """Number of instructions that a scenario takes."""
    with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
        file.write(scenario)
        file.flush()
        count = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]
        done = subprocess.run([*count, executable, file.name], capture_output=True, text=True, check=True)
    found = re.search(r"I\s+refs:\s+([\d,]+)", done.stderr)
    if found is None:
        raise NotMeasurableError(f"valgrind did not count: {done.stderr.strip().splitlines()[-1]}")
    return int(found.group(1).replace(",", ""))


def measure() -> dict[str, int]:
    """Instructions of every case, measured now."""
    executable = program()
    with ThreadPoolExecutor(2) as pool:
        return dict(
            zip(SHORT, pool.map(lambda scenario: instructions(executable, scenario), SHORT.values()), strict=True)
        )


def recorded() -> dict[str, int]:
    """Instructions of every case as last recorded."""
    counts: dict[str, int] = json.loads(RECORD.read_text())
    return counts


def compare(now: dict[str, int], before: dict[str, int]) -> list[str]:
    """Messages about cases that exceed their limit."""
    return [
        f"{case}: {count:,} instructions, {count / before[case] - 1:+.1%} of the recorded {before[case]:,}"
        for case, count in now.items()
        if count > before[case] * (1 + TOLERANCE)
    ]


def main() -> int:
    """Compare with the recorded counts, or record new ones."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="record what was counted")
    arguments = parser.parse_args()
    try:
        now = measure()
    except NotMeasurableError as error:
        print(error, file=sys.stderr)
        return 2
    if arguments.write:
        RECORD.write_text(json.dumps(now, indent=1) + "\n")
    before = recorded()
    for case, count in now.items():
        print(f"{case:<14} {count:>13,}  {count / before[case] - 1:+7.2%}")
    worse = compare(now, before)
    for line in worse:
        print(f"more than {TOLERANCE:.0%} above its record: {line}", file=sys.stderr)
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
