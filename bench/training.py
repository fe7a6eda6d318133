"""Typical short runs, and what they say of the code: which way it mostly goes. The compiler is guided by that.

python bench/training.py --record    # writes profile-VERSION.profdata for this version of rustc; needs llvm-profdata

The runs cover every congestion control, queue and transport, with and without losses, from one flow to ten thousand,
and captures and logs. The file is of the compiler that made it, since it names functions as that one does; another one
builds without it.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from program import EXTENSION, cargo, profile_file
from scenarios import FLOW_MEASURES, SHORT, dumbbell, path, two_paths

FEW_PACKETS = '"100 packets"'


def engine(file: str) -> Any:
    """Extension module of a file."""
    specification = importlib.util.spec_from_file_location("_core", file)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def scenarios(registry: dict[str, list[dict[str, str]]]) -> Iterator[str]:
    """Yield each training scenario."""
    yield from SHORT.values()
    yield dumbbell(10_000, "300 ms")
    yield two_paths().replace("20 s", "1 s")
    for control in registry["congestion control"]:
        yield path(cc=control["name"], until="300 ms", queue=FEW_PACKETS)
    for queue in registry["queue"]:
        yield path(until="300 ms", queue=f'{{ kind = "{queue["name"]}", limit = "1 bdp" }}')
    for transport in ("tcp", "quic", "sctp"):
        yield path(cc="reno", transport=transport, until="500 ms", queue=FEW_PACKETS, flows=20)


def train(file: str) -> None:
    """Run each scenario, one more with everything traced, and some with captures and logs, by the engine of a file."""
    core = engine(file)
    for scenario in scenarios(json.loads(core.registry())):
        core.run(core.load(scenario))
    core.run(core.load(path(until="500 ms", queue=FEW_PACKETS)).with_trace(FLOW_MEASURES))
    with tempfile.TemporaryDirectory() as folder:
        for transport in ("tcp", "quic", "sctp", "dccp"):
            captured = core.load(path(cc="reno", transport=transport, until="200 ms", queue=FEW_PACKETS))
            core.run(captured, pcap=folder)
            core.run(captured, pcap=folder, snap=96)
        core.run(core.load(path(transport="quic", until="500 ms", queue=FEW_PACKETS)), qlog=folder)


def merger() -> str:
    """Program that turns counts into a profile: rustup's, or another of LLVM's."""
    libraries = subprocess.run(["rustc", "--print", "target-libdir"], capture_output=True, text=True, check=True).stdout
    found = shutil.which("llvm-profdata", path=Path(libraries.strip()).parent / "bin") or next(
        filter(None, map(shutil.which, ("llvm-profdata-22", "llvm-profdata"))), None
    )
    if found is None:
        raise SystemExit("no llvm-profdata; rustup component add llvm-tools, or install Debian's llvm-22")
    return found


def record() -> None:
    """Build an engine that counts, run it, and write what it counted."""
    merge = merger()
    with tempfile.TemporaryDirectory() as folder:
        counts = Path(folder, "counts.profraw")
        # Programs that run while it is built count, too; they do so elsewhere.
        files = cargo(
            *("build", "--release", "--lib", "-p", "vazao-python", "--features", ",".join(EXTENSION["features"])),
            *("--target-dir", folder),
            guided=False,
            CARGO_ENCODED_RUSTFLAGS=f"-Cprofile-generate={folder}/others",
        )
        (library,) = (file for file in files if not file.endswith(".rlib"))
        environment = {**os.environ, "LLVM_PROFILE_FILE": str(counts)}
        subprocess.run([sys.executable, __file__, library], check=True, env=environment)
        subprocess.run([merge, "merge", "--sparse", "-o", str(profile_file()), str(counts)], check=True)


if __name__ == "__main__":
    record() if sys.argv[1:] == ["--record"] else train(sys.argv[1])
