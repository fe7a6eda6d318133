"""Compile time of the build profiles of Cargo.toml, and the speed of their engines: python bench/profiles.py

`release` is what `make setup` builds, guided by what training runs counted (`training.py`); `unguided` is the same
without that, `optimised` what wheels contain. Each is built from scratch, into a folder that is removed
afterwards. Their runs alternate, so that disturbances of the machine affect all.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from program import built
from rivals import children_cpu_s
from scenarios import dumbbell, path

PROFILES = {"unguided": ("release", False), "release": ("release", True), "optimised": ("optimised", False)}
"""Profile of Cargo.toml of each build, and whether it is guided."""
FIRST = "unguided"
CASES = {"1 flow": path(until="10 s"), "1 000 flows": dumbbell(1000, "2 s")}
TURNS = 7


def main() -> int:
    """Build, run, and print a row for each profile."""
    with tempfile.TemporaryDirectory() as folder:
        costs, programs = {}, {}
        for profile, (cargo_profile, guided) in PROFILES.items():
            began, used = time.monotonic(), children_cpu_s()
            programs[profile] = built(cargo_profile, "--target-dir", str(Path(folder) / profile), guided=guided)
            costs[profile] = f"{time.monotonic() - began:.0f} | {children_cpu_s() - used:.0f}"
        speeds: dict[str, list[float]] = {profile: [] for profile in PROFILES}
        for name, scenario in CASES.items():
            file = Path(folder) / "scenario.toml"
            file.write_text(scenario, encoding="utf-8")
            turns = [{profile: _speed(programs[profile], file) for profile in PROFILES} for _ in range(TURNS)]
            for profile in PROFILES:
                speeds[profile].append(median(turn[profile] / turn[FIRST] for turn in turns))
            first = median(turn[FIRST] for turn in turns)
            print(f"{name}: {first:.1f} million packet-hops a second by {FIRST}")
    print(f"| profile | build, s | processor time of it, s | {' | '.join(f'speed, {name}' for name in CASES)} |")
    print(f"| --- | {' | '.join(['---:'] * (2 + len(CASES)))} |")
    for profile in PROFILES:
        print(f"| {profile} | {costs[profile]} | {' | '.join(f'{speed:.2f}' for speed in speeds[profile])} |")
    return 0


def _speed(program: str, file: Path) -> float:
    """Speed of a run in million packet-hops a second."""
    done = subprocess.run([program, str(file)], capture_output=True, text=True, check=True)
    (found,) = re.findall(r"([\d.]+) Mhops/s", done.stdout)
    return float(found)


if __name__ == "__main__":
    sys.exit(main())
