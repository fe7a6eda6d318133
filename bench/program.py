"""The engine's own benchmark (`crates/scenario/benches/run.rs`) as an executable."""

from __future__ import annotations

import json
import subprocess
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]


def built(profile: str, *options: str) -> str:
    """Build the benchmark with a profile of Cargo.toml, and return its path."""
    # With the extension and its features, so that what `make setup` has compiled is not recompiled.
    extension = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["maturin"]
    features = ",".join(f"vazao-python/{name}" for name in extension["features"])
    command = ["cargo", "bench", "--quiet", "--locked", "--profile", profile, "--features", features, *options]
    command += ["-p", "vazao-python", "-p", "vazao-scenario", "--bench", "run", "--no-run"]
    done = subprocess.run([*command, "--message-format=json"], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(done.stderr)
    messages = map(json.loads, done.stdout.splitlines())
    return next(
        message["executable"]
        for message in messages
        if message.get("executable") and message["target"]["name"] == "run"
    )
