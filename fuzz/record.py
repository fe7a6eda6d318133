"""Records of what random and built-in scenarios come to, so that a change can be held to changing none of it.

python -m fuzz.record write FOLDER      # before
python -m fuzz.record check FOLDER      # after: 1 if anything differs, each named
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from random import Random

from fuzz import mutate
from fuzz.case import FILE, LONGEST, MEASURES, TABLES, make, seconds
from vazao import _core
from vazao.errors import VazaoError
from vazao.results import load_study
from vazao.scenario import built_in_scenarios, load
from vazao.store import table
from vazao.study import built_in_studies, parse_study, plan

CASES = {"valid": 2000, "mutant": 2000, "study": 60, "guests": 100}
"""Number of random cases of each kind; guests only on request."""
OWN = ("run_id", "wall_s", "engine_version")
"""Columns that identify the engine, or depend on its speed."""
BUSY = 200_000
"""Number of events above which a run is neither traced nor captured."""


def main() -> int:
    """Write or check a record."""
    parser = argparse.ArgumentParser(prog="python -m fuzz.record", description=__doc__)
    parser.add_argument("what", choices=("write", "check"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--guests", action="store_true", help="with scenarios whose hosts are Linux guests")
    asked = parser.parse_args()
    cases = asked.folder / "cases"
    if asked.what == "write":
        cases.mkdir(parents=True)
        sources = mutate.sources()
        for kind, count in CASES.items():
            for seed in range(count if kind != "guests" or asked.guests else 0):
                (cases / f"{kind}-{seed:04}.toml").write_text(make(kind, seed, sources).text)
    with ProcessPoolExecutor(asked.jobs, mp_context=get_context("spawn")) as pool:
        texts = [(path.name, path.read_text()) for path in sorted(cases.iterdir())]
        came = dict(pool.map(of_case, *zip(*texts, strict=True), chunksize=8))
        for found in pool.map(of_preset, built_in_scenarios()):
            came |= found
        for found in pool.map(of_study, built_in_studies(), [asked.guests] * len(built_in_studies())):
            came |= found
    file = asked.folder / "record.json"
    if asked.what == "write":
        file.write_text(json.dumps(came, indent=0))
        print(f"{len(came)} results written")
        return 0
    before = json.loads(file.read_text())
    differ = [f"{name}: {what}" for name in before for what in unlike(before[name], came.get(name, {}))]
    print(*differ, f"{len(before)} results, {len(differ)} differences", sep="\n")
    return int(bool(differ))


def unlike(before: dict[str, str], now: dict[str, str]) -> Iterator[str]:
    """Differences between two records of a result; messages are included."""
    for key in sorted({*before, *now}):
        if before.get(key) != now.get(key):
            shown = f": {before.get(key)!r} was, {now.get(key)!r} is" if key == "message" else ""
            yield f"{key}{shown}"


def of_case(name: str, text: str) -> tuple[str, dict[str, str]]:
    """Record of a random case."""
    kind, seed = name.removesuffix(".toml").split("-")
    try:
        if kind != "study":
            return name, of_scenario(load(text, file=FILE), guests=kind == "guests")
        runnable = [s for s in plan(parse_study(text, FILE), "quick").runnable if seconds(s) < LONGEST]
        return name, of_scenario(Random(int(seed)).choice(runnable).scenario) if runnable else {}
    except VazaoError as error:
        return name, {"message": str(error)}


def of_preset(name: str) -> dict[str, dict[str, str]]:
    """Record of a built-in scenario."""
    return {f"scenario {name}": of_scenario(load(built_in_scenarios()[name].read_text(), file=FILE))}


def of_study(name: str, guests: bool) -> dict[str, dict[str, str]]:
    """Record of every run of a built-in study."""
    runs = plan(load_study(name), "quick").runnable
    return {
        f"{name} {number}": of_scenario(run.scenario, watched=False)
        for number, run in enumerate(runs)
        if guests or not run.work().guests
    }


def of_scenario(scenario: _core.Scenario, guests: bool = False, watched: bool = True) -> dict[str, str]:
    """Digests of a run's tables, traced if that does not take long, and of its captures."""
    if (scenario.work().guests and not guests) or seconds(scenario) > 20 * LONGEST:
        return {"skipped": "guests, or long"}
    first = _core.run(scenario)
    if first.failure is not None or first.not_run is not None:
        return {"message": str(first.failure or first.not_run)}
    found = digests(first)
    if not watched or table(first, "runs")["events"][0] > BUSY:
        return found
    traced = _core.run(scenario.with_trace(MEASURES, None))
    found |= {f"traced {name}": digest for name, digest in digests(traced).items()}
    with tempfile.TemporaryDirectory() as folder:
        logs = f"{folder}/qlog" if "quic" in scenario.transports else None
        captured = _core.run(scenario, pcap=f"{folder}/pcap", qlog=logs)
        if captured.not_run is not None:
            return found | {"not captured": captured.not_run}
        for file in sorted(path for path in Path(folder).rglob("*") if path.is_file()):
            found[str(file.relative_to(folder))] = digest(file.read_bytes())
    return found


def digests(outcome: _core.Outcome) -> dict[str, str]:
    """Digest of each table, with every digit of every number."""
    return {name: digest(table(outcome, name).drop(*OWN, strict=False).write_ndjson().encode()) for name in TABLES}


def digest(content: bytes) -> str:
    """Digest of bytes."""
    return hashlib.sha256(content).hexdigest()[:16]


if __name__ == "__main__":
    sys.exit(main())
