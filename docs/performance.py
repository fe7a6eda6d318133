"""Updates docs/performance.md and its picture: how the instructions of one segment are distributed.

.venv/bin/python docs/performance.py    # needs valgrind

Two runs of the benchmark's first scenario, one a second longer: their difference excludes start and end.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import polars as pl

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "bench"))

from drawing import draw  # noqa: E402
from program import built  # noqa: E402
from scenarios import path  # noqa: E402

PARTS = {
    "order of events": r"engine/src/scheduler",
    "links, queues, packets": r"crates/network|vazao_network|endpoint/contents",
    "what a flow is measured by": r"scenario/src/measures|engine/src/histogram",
    "from end to end (the world)": r"crates/scenario|vazao_scenario",
    "TCP: arriving segments": r"tcp/connection/incoming|tcp/connection/mod|connection::incoming",
    "TCP: receiving": r"tcp/receiver",
    "TCP: segments made": r"tcp/connection/outgoing|tcp/segment|connection::outgoing",
    "TCP: acknowledgements, losses, timers": r"crates/transport|vazao_transport",
    "congestion control": r"crates/congestion|vazao_congestion",
    "application": r"crates/application|vazao_application",
}
"""Parts of the work: by the source file of an instruction, or else by the function into which it was inlined."""
SECONDS = (2, 3)
SEGMENTS = 1e9 / 12_000 * (SECONDS[1] - SECONDS[0])
"""Number of data segments of 1500 bytes that the bottleneck carries in between."""
TABLE = re.compile(r"(<!-- made by docs/performance.py -->\n).*?(\n<!-- end -->)", re.DOTALL)


def costs(profile: str) -> Iterator[tuple[str, str, int]]:
    """Yield source file, function and instructions of every line of a profile in callgrind's format."""
    names: dict[str, dict[str, str]] = {"fl": {}, "fn": {}}
    file = function = ""
    is_call = False

    def name(kind: str, text: str) -> str:
        found = re.fullmatch(r"\((\d+)\)(?: (.*))?", text)
        if found is None:
            return text
        if found[2]:
            names[kind][found[1]] = found[2]
        return names[kind][found[1]]

    for line in profile.splitlines():
        key, _, text = line.partition("=")
        if key in ("fl", "fi", "fe"):
            file = name("fl", text)
        elif key in ("cfi", "cfl"):
            name("fl", text)
        elif key == "fn":
            function = name("fn", text)
        elif key == "cfn":
            name("fn", text)
        elif key == "calls":
            is_call = True  # The next line has the callee's cost, which is counted with the callee.
        elif line[:1].isdigit() or line[:1] in ("+", "-", "*"):
            if not is_call and len(numbers := line.split()) > 1:
                yield file, function, int(numbers[1])
            is_call = False


def part(file: str, function: str) -> str:
    """Return the part of the work that a line of source belongs to."""
    for where in (file, function):
        for name, pattern in PARTS.items():
            if re.search(pattern, where):
                return name
    return "rest"


def measure() -> dict[str, float]:
    """Count the instructions of each part for one data segment with its part of an acknowledgement."""
    executable = built("bench")
    counts = []
    with tempfile.TemporaryDirectory() as folder:
        scenario, profile = Path(folder, "one.toml"), Path(folder, "profile")
        for seconds in SECONDS:
            scenario.write_text(path(until=f"{seconds} s"))
            tool = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={profile}"]
            subprocess.run([*tool, executable, str(scenario)], check=True, capture_output=True)
            count: Counter[str] = Counter()
            for file, function, number in costs(profile.read_text()):
                count[part(file, function)] += number
            counts.append(count)
    parts = {name: (counts[1][name] - counts[0][name]) / SEGMENTS for name in [*PARTS, "rest"]}
    return dict(sorted(parts.items(), key=lambda each: -each[1]))


def main() -> None:
    """Measure, draw, and write the table."""
    parts = measure()
    whole = sum(parts.values())
    rows = [f"| {name} | {count:,.0f} | {count / whole:.0%} |" for name, count in parts.items()]
    table = "\n".join(["| part | instructions | share |", "| --- | ---: | ---: |", *rows, f"| all | {whole:,.0f} | |"])
    page = HERE / "performance.md"
    page.write_text(TABLE.sub(lambda found: f"{found[1]}\n{table}\n{found[2]}", page.read_text()))
    frame = pl.DataFrame({"part": list(parts), "value": list(parts.values()), "series": "instructions"})
    draw(
        HERE / "images/performance/segment.svg",
        "Instructions for one segment, by what they are for",
        {"": frame},
        ["instructions"],
        "Instructions",
        kind="bar",
        x="part",
        x_title="",
    )


if __name__ == "__main__":
    main()
