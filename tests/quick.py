"""Checks after each change, in about two minutes: python tests/quick.py [--base REVISION].

Formatting, the lints of what changed, the tests of touched crates with a twentieth of their property cases, and all
tests of Python without a mark (`markers` in pyproject.toml). `make test` runs the rest. Those of Rust and those of
Python run beside each other.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).parents[1]
BIN = Path(sys.executable).parent
MARKS = ("process", "browser", "guest", "study", "site", "timed")
CASES = {"PROPTEST_CASES": "12"}
"""A twentieth of the 256 property cases from which every test derives its own number."""


def main() -> int:
    """Run every check, and say what was left out; the number of checks that failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base", help="what changed since this revision; default: since HEAD, or its last commit")
    began, touched = time.monotonic(), changed(parser.parse_args().base)
    with ThreadPoolExecutor(2) as lanes:
        failures = lanes.map(failures_of, (rust_checks(touched), python_checks(touched)))
        failed = [name for lane in failures for name in lane]
    took = time.monotonic() - began
    print(f"\nleft out: tests marked {', '.join(MARKS)}; crates that did not change; 19 of 20 property cases; rustdoc")
    print(f"{took:.0f} s; " + (f"failed: {', '.join(failed)}" if failed else "all passed"))
    return len(failed)


Checks = Iterable[tuple[str, list[str]]]
"""Checks by name, each with its command, the quickest first."""


def rust_checks(touched: Sequence[str]) -> Checks:
    """Checks of Rust: formatting always, lints and tests of the crates that were touched."""
    yield "format of Rust", ["cargo", "fmt", "--all", "--check"]
    if packages := [word for crate in crates(touched) for word in ("-p", f"vazao-{crate}")]:
        common = ["--quiet", "--locked", *packages]
        yield "lints of Rust", ["cargo", "clippy", "--all-targets", *common, "--", "-D", "warnings"]
        yield "tests of Rust", ["cargo", "test", *common]


def python_checks(touched: Sequence[str]) -> Checks:
    """Checks of Python, and of the pages where they were touched."""
    yield "lints of Python", [str(BIN / "ruff"), "check", "--quiet"]
    yield "format of Python", [str(BIN / "ruff"), "format", "--quiet", "--check"]
    if any(path.endswith((".py", ".pyi")) for path in touched):
        yield "types of Python", [str(BIN / "mypy")]
    if any(path.startswith("web/") for path in touched):
        for step in (["run", "--silent", "check"], ["test", "--silent"]):
            yield f"pages: {step[-2]}", [sys.executable, "web/tools/npm.py", "web", *step]
    yield (
        "tests of Python",
        [
            *(str(BIN / "pytest"), "--quiet", "-n", "auto", "--dist", "loadscope", "--no-loadscope-reorder"),
            *("-m", f"not ({' or '.join(MARKS)})"),
        ],
    )


def crates(touched: Sequence[str]) -> list[str]:
    """Crates of the workspace with a changed file."""
    names = {path.split("/")[1] for path in touched if path.startswith("crates/")}
    return sorted(name for name in names if (ROOT / "crates" / name / "Cargo.toml").exists())


def changed(base: str | None) -> list[str]:
    """Files that differ from a revision, with those that git does not track yet."""
    untracked = git("ls-files", "--others", "--exclude-standard")
    found = git("diff", "--name-only", base or "HEAD") + untracked
    return found or git("diff", "--name-only", "HEAD~1")


def git(*words: str) -> list[str]:
    """Lines that git prints."""
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()


def failures_of(checks: Checks) -> list[str]:
    """Names of the checks that fail; they run one after the other."""
    return [name for name, command in checks if not passes(name, command)]


def passes(name: str, command: Sequence[str]) -> bool:
    """Whether a check succeeds; its output is shown when it ends, as another runs beside it."""
    began = time.monotonic()
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=os.environ | CASES,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    took = f"{time.monotonic() - began:.1f} s{'' if done.returncode == 0 else ', FAILED'}"
    print(f"== {name}: {took}\n{done.stdout}", end="", flush=True)
    return done.returncode == 0


if __name__ == "__main__":
    sys.exit(main())
