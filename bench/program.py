"""The engine and its own benchmark (`crates/scenario/benches/run.rs`) as Cargo builds them."""

from __future__ import annotations

import json
import os
import subprocess
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
EXTENSION = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["maturin"]


def profile_file() -> Path:
    """File of the counts that guide this compiler: they name functions as it does."""
    version = subprocess.run(
        ["rustc", "--version"], capture_output=True, text=True, check=True, cwd=ROOT
    ).stdout.split()[1]
    return ROOT / "bench" / f"profile-{version}.profdata"


def cargo(*arguments: str, guided: bool = True, **environment: str) -> list[str]:
    """Run Cargo as `make setup` does, guided by the recorded profile if there is one; return the built files."""
    if guided and (profile := profile_file()).exists():
        environment["CARGO_ENCODED_RUSTFLAGS"] = f"-Cprofile-use={profile}"
    command = ["cargo", *arguments, "--quiet", "--locked", "--message-format=json"]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False, env={**os.environ, **environment}
    )
    if done.returncode != 0:
        raise SystemExit(done.stderr)
    return [
        file
        for message in map(json.loads, done.stdout.splitlines())
        if message["reason"] == "compiler-artifact" and message["target"]["name"] in ("run", "vazao_core")
        for file in ([message["executable"]] if message["executable"] else message["filenames"])
    ]


def built(profile: str, *options: str, guided: bool = True) -> str:
    """Build the benchmark with a profile of Cargo.toml, and return its path."""
    # With the extension and its features, so that what `make setup` has compiled is not recompiled.
    features = ",".join(f"vazao-python/{name}" for name in EXTENSION["features"])
    wanted = ["-p", "vazao-python", "-p", "vazao-scenario", "--bench", "run", "--no-run"]
    files = cargo("bench", "--profile", profile, "--features", features, *options, *wanted, guided=guided)
    return next(file for file in files if Path(file).name.startswith("run-"))
