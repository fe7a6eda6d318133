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
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from run import dumbbell, path

HERE = Path(__file__).parent
RECORD = HERE / "instructions.json"
TOLERANCE = 0.05
CASES = {
    "1 flow": path(until="2 s"),
    "1 flow, loss": path(cc="reno", until="2 s", queue='"50 packets"'),
    "100 flows": dumbbell(100, "1 s"),
    "1 000 flows": dumbbell(1000, "500 ms"),
    "bbr": path(cc="bbr", until="1 s"),
    "fq-codel": path(queue='"fq-codel"', until="1 s"),
    "quic": path(transport="quic", until="1 s"),
    "sctp": path(transport="sctp", cc="reno", until="1 s"),
    "mptcp": path(transport="mptcp", until="1 s"),
}


class NotMeasurableError(Exception):
    """Raised if instructions cannot be counted on this machine."""


def program() -> str:
    """Build the benchmark as `make setup` builds the engine, and return its path."""
    if platform.machine() != "x86_64":
        raise NotMeasurableError("instructions are recorded for x86-64")
    if shutil.which("valgrind") is None:
        raise NotMeasurableError("valgrind is not installed")
    return built("release")


def built(profile: str, *options: str) -> str:
    """Build the benchmark with a profile of Cargo.toml, and return its path."""
    # With the extension and its features, so that what `make setup` has compiled is not recompiled.
    extension = tomllib.loads((HERE.parent / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["maturin"]
    features = ",".join(f"vazao-python/{name}" for name in extension["features"])
    command = ["cargo", "bench", "--quiet", "--locked", "--profile", profile, "--features", features, *options]
    command += ["-p", "vazao-python", "-p", "vazao-scenario", "--bench", "run", "--no-run"]
    done = subprocess.run(
        [*command, "--message-format=json"], cwd=HERE.parent, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise SystemExit(done.stderr)
    messages = map(json.loads, done.stdout.splitlines())
    return next(
        message["executable"]
        for message in messages
        if message.get("executable") and message["target"]["name"] == "run"
    )


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
            zip(CASES, pool.map(lambda scenario: instructions(executable, scenario), CASES.values()), strict=True)
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
