"""Updates docs/performance.md: the cost of a packet-hop and of a flow with more flows, links and algorithms.

.venv/bin/python docs/limits.py    # needs valgrind; some minutes

Numbers come from Valgrind, and do not depend on the machine's load: instructions, misses of caches of 32 and 48 KiB
(first level) and 2 MiB (second), branch mispredictions, bytes on the heap.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "bench"))

from program import built  # noqa: E402
from scenarios import ACCESS, CUBIC, bottleneck, dumbbell, path, two_paths  # noqa: E402

PAGE = HERE / "performance.md"
CACHES = ["--cache-sim=yes", "--branch-sim=yes", "--I1=32768,8,64", "--D1=49152,12,64", "--LL=2097152,16,64"]
COUNTS = {
    "instructions": ["Ir"],
    "L1 instruction misses": ["I1mr"],
    "L1 data misses": ["D1mr", "D1mw"],
    "L2 data misses": ["DLmr", "DLmw"],
    "wrong branches": ["Bcm", "Bim"],
}
"""Counts that are shown, with cachegrind's names for them."""
SPANS = {1: ("1 s", "2 s"), 100: ("1 s", "2 s"), 1000: ("1 s", "2 s"), 10_000: ("500 ms", "1 s")}
"""Two simulated times for each number of flows; their difference excludes start and end."""
REMOVED = {
    "as Linux does by default": "",
    "Reno in place of CUBIC": 'cc = "reno"',
    "acknowledgements and windows by the RFCs, not Linux's": 'host = "rfc"',
    "losses found by RFC 6675, not RACK-TLP": 'recovery = "sack"',
    "no SACK (NewReno), no timestamps": 'recovery = "newreno", sack = false, timestamps = false',
    "an acknowledgement for each segment": "delayed_ack = 1",
}
"""Duties of a flow that are removed, one after another."""
MEMORY = {
    "ends: connection, application, timer": r"world::FlowEnd",
    "congestion control": r"vazao_congestion",
    "segments sent, SACK, RACK": r"scoreboard|newly_acked|rack_tlp|undo|segment::Extra|send_buffer|tcp::burst",
    "receiving": r"tcp::receiver|common::ranges",
    "what is measured": r"Histogram|histogram|world::Flow\b|FlowMeasure",
    "links and their queues": r"network::link|network::graph|topology|add_link|add_route",
    "packets on their way": r"network::packet",
    "the flow as described": r"FlowSpec|model::",
    "tables of results": r"measures::table|results::|Routing",
}
"""Parts of a flow's memory, by the functions that allocated it."""


def counted(tool: Sequence[str], scenario: str, executable: str) -> tuple[str, float]:
    """Profile of a run under a Valgrind tool, and the number of packet-hops of the run."""
    with tempfile.TemporaryDirectory() as folder:
        file, profile = Path(folder, "one.toml"), Path(folder, "profile")
        file.write_text(scenario)
        command = ["valgrind", *(option.format(profile=profile) for option in tool), executable, str(file)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        return profile.read_text(), float(done.stdout.split()[0])


def events(scenario: str, executable: str) -> Counter[str]:
    """Cachegrind's counts for a whole run, and its packet-hops."""
    tool = ["--tool=cachegrind", *CACHES, "--cachegrind-out-file={profile}"]
    profile, hops = counted(tool, scenario, executable)
    names = re.search(r"^events: (.*)$", profile, re.MULTILINE)
    sums = re.search(r"^summary: (.*)$", profile, re.MULTILINE)
    assert names is not None
    assert sums is not None
    found = dict(zip(names[1].split(), map(int, sums[1].split()), strict=True))
    counts = {what: sum(found[name] for name in parts) for what, parts in COUNTS.items()}
    return Counter({**counts, "hops": int(hops)})


def each_hop(short: str, long: str, executable: str) -> dict[str, float]:
    """Counts for each packet-hop that the longer run has beyond the shorter."""
    more = events(long, executable)
    more.subtract(events(short, executable))
    return {what: more[what] / more["hops"] for what in COUNTS}


def chain(links: int, until: str) -> str:
    """Scenario of one flow with `links` fast links on each side of the bottleneck."""
    access = ", ".join([ACCESS] * links)
    return path(until=until).replace(
        f"link = [{ACCESS}, {bottleneck('1 Gbps')}, {ACCESS}]", f"link = [{access}, {bottleneck('1 Gbps')}, {access}]"
    )


def transports(executable: str) -> dict[str, Sequence[float]]:
    """Instructions per packet-hop of one flow over each transport."""
    rows: dict[str, Sequence[float]] = {}
    for kind in ("tcp", "dccp", "sctp", "quic", "mptcp, two paths"):
        over = [
            two_paths().replace("20 s", until) if "," in kind else path(cc="reno", transport=kind, until=until)
            for until in SPANS[1]
        ]
        rows[kind] = [each_hop(over[0], over[1], executable)["instructions"]]
    return rows


def memory(executable: str, flows: int) -> Iterator[tuple[str, float]]:
    """Yield the parts of a flow's memory at the peak, in bytes."""
    tool = ["--tool=dhat", "--num-callers=12", "--dhat-out-file={profile}"]
    profile, _ = counted(tool, dumbbell(flows, "1 s"), executable)
    report = json.loads(profile)
    parts: Counter[str] = Counter()
    for point in report["pps"]:
        frames = (report["ftbl"][frame] for frame in point["fs"])
        named = (name for frame in frames for name, pattern in MEMORY.items() if re.search(pattern, frame))
        part = next(named, "rest")
        parts[part] += point["gb"]
    yield from ((part, size / flows) for part, size in parts.most_common())
    yield "all", parts.total() / flows


def table(head: Sequence[str], rows: Mapping[str, Sequence[float]], digits: int = 0) -> str:
    """Table in Markdown: a name, then numbers."""
    lines = [
        f"| {name} | {' | '.join(f'{abs(value):,.{digits}f}' for value in values)} |" for name, values in rows.items()
    ]
    return "\n".join(["| " + " | ".join(head) + " |", "| --- |" + " ---: |" * (len(head) - 1), *lines])


def algorithms(executable: str) -> dict[str, Sequence[float]]:
    """Instructions per packet-hop with 100 flows, while their duties are removed one by one."""
    rows: dict[str, Sequence[float]] = {}
    settings: dict[str, str] = {}
    for what, removed in REMOVED.items():
        settings |= dict(each.split(" = ") for each in removed.split(", ") if each)
        inner = "".join(f", {key} = {value}" for key, value in settings.items() if key != "cc")
        transport = CUBIC.replace('"cubic"', settings.get("cc", '"cubic"')).replace(" }", f"{inner} }}")
        short, long = (dumbbell(100, until, transport=transport) for until in SPANS[100])
        rows[what] = [each_hop(short, long, executable)["instructions"]]
    return rows


def main() -> None:
    """Count, and write the tables."""
    # What users get is counted; what holds memory is told by functions' names.
    executable, named = built("release"), built("bench")
    tables = {}
    grown = {}
    for flows, spans in SPANS.items():
        short, long = (dumbbell(flows, until) for until in spans)
        counts = each_hop(short, long, executable)
        grown[f"{flows:,}"] = [counts[what] for what in COUNTS]
    tables["flows"] = table(["flows", *COUNTS], grown, 1)
    spans = SPANS[1]
    runs = {links: [events(chain(links, until), executable) for until in spans] for links in (1, 2)}
    more = {links: {what: long[what] - short[what] for what in long} for links, (short, long) in runs.items()}
    link = (more[2]["instructions"] - more[1]["instructions"]) / (more[2]["hops"] - more[1]["hops"])
    every = more[1]["instructions"] / more[1]["hops"]
    rows = {
        "a packet-hop in all": [every],
        "of it the link and its event": [link],
        "the rest: both ends": [every - link],
    }
    tables["links"] = table(["instructions, one flow", ""], rows)
    tables["algorithms"] = table(
        ["100 flows, each row without what it names", "instructions a packet-hop"], algorithms(executable)
    )
    tables["transports"] = table(["one flow over", "instructions a packet-hop"], transports(executable))
    tables["memory"] = table(
        ["at the peak with 10,000 flows", "bytes a flow"], {k: [v] for k, v in memory(named, 10_000)}
    )
    page = PAGE.read_text()
    for name, text in tables.items():
        place = re.compile(rf"(<!-- {name}: made by docs/limits.py -->\n).*?(\n<!-- end -->)", re.DOTALL)
        page = place.sub(lambda found, text=text: f"{found[1]}\n{text}\n{found[2]}", page)
    PAGE.write_text(page)


if __name__ == "__main__":
    main()
