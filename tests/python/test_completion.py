"""Shell completion: what real shells offer for a partial word and the tab key, and what an answer costs."""

from __future__ import annotations

import os
import pty
import re
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from typing import Any

import pytest

from command import MAIN
from test_start import DRAWING, QUERIES, ROWS, SCREENS
from vazao.cli import app, completions
from vazao.cli.completion import VARIABLE, candidates
from vazao.study import built_in_studies, reference

pytestmark = pytest.mark.process

SHELLS = {
    "bash": (["--norc", "--noprofile", "-i"], "source <(vazao completion bash)"),
    "zsh": (["-f", "-i"], "autoload -U compinit && compinit -u -D && source <(vazao completion zsh)"),
    "fish": (["--no-config", "-i"], "vazao completion fish | source"),
}
"""Arguments that start each shell without user settings, and the line that loads the completion script."""

PROMPT = "ready>"
PATIENCE = 60.0


class Terminal:
    """An interactive shell on a pseudo-terminal."""

    def __init__(self, shell: str, folder: Path) -> None:
        arguments, source = SHELLS[shell]
        command = folder / "bin/vazao"
        command.parent.mkdir()
        command.write_text(f"#!/bin/sh\nexec {sys.executable} -c '{MAIN}' \"$@\"\n")
        command.chmod(0o755)
        environment = {
            "PATH": f"{command.parent}:{os.environ['PATH']}",
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
            "HOME": str(folder),
            "TERM": "dumb",
            "PS1": PROMPT,
            "LC_ALL": "C.UTF-8",
        }
        if library := os.environ.get("LD_LIBRARY_PATH"):
            environment["LD_LIBRARY_PATH"] = library
        self.process, self.master = pty.fork()
        if self.process == 0:
            os.chdir(folder / "work")
            os.execvpe(shell, [shell, *arguments], environment)
        self.seen = ""
        self.send(f"{source}; echo so''urced\n")
        self.expect("sourced")

    def send(self, text: str) -> None:
        os.write(self.master, text.encode())

    def expect(self, pattern: str) -> str:
        """Waits for matching text on the screen, escape sequences aside, and returns it."""
        end = time.monotonic() + PATIENCE
        while not (found := re.search(pattern, self.seen)):
            assert time.monotonic() < end, f"{pattern!r} is not in {self.seen!r}"
            self.look()
        return found[0]

    def look(self, seconds: float = 0.2) -> bool:
        """Whether more output arrived within this many seconds."""
        if not select.select([self.master], [], [], seconds)[0]:
            return False
        try:
            read = os.read(self.master, 65536).decode(errors="replace")
        except OSError:
            return False
        self.seen += re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]|\x1b[()=>].?|\r|\x07|\x08", "", read)
        return True

    def typed(self, text: str, pattern: str) -> None:
        """Types a text and the tab key, waits for a pattern on the screen, then clears the line."""
        self.seen = ""
        self.send(f"{text}\t")
        self.expect(pattern)
        self.send("\x15\n")
        while self.look(0.5):
            pass

    def close(self) -> None:
        os.close(self.master)
        os.kill(self.process, 9)
        os.waitpid(self.process, 0)


@pytest.fixture(params=SHELLS)
def terminal(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Terminal]:
    if not shutil.which(request.param):
        pytest.skip(f"{request.param} is not installed")
    (tmp_path / "work/results/kept").mkdir(parents=True)
    (tmp_path / "work/results/kept/manifest.json").write_text("{}")
    (tmp_path / "work/wide.toml").touch()
    made = Terminal(request.param, tmp_path)
    yield made
    made.close()


def test_a_real_shell_completes(terminal: Terminal) -> None:
    terminal.typed("vazao expla", r"vazao explain ")
    terminal.typed("vazao run tcp-b", r"vazao run tcp-bakeoff")
    terminal.typed("vazao run wi", r"vazao run wide\.toml")
    terminal.typed("vazao show res", r"vazao show results/kept")
    terminal.typed("vazao explain goodput_b", r"vazao explain goodput_bps")
    terminal.typed("vazao run wide.toml --set network.bottleneck.ov", r"network\.bottleneck\.overhead=(?! )")
    terminal.typed("vazao run wide.toml --set flow.0.transport.cc=cub", r"flow\.0\.transport\.cc=cubic")
    terminal.typed("vazao list path-m", r"vazao list path-managers")
    terminal.typed("vazao kernel bu", r"vazao kernel build")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def offered(*words: str) -> list[str]:
    *before, last = words
    return candidates(app, before, last)


@pytest.mark.usefixtures("here")
def test_commands_options_and_choices_are_offered() -> None:
    assert {"run", "explain", "kernel", "completion"} <= set(offered(""))
    assert offered("kernel", "") == ["build", "list", "use"]
    assert offered("completion", "") == list(SHELLS)
    assert offered("run", "x", "--se") == ["--seed", "--seeds", "--set"]
    assert offered("nonsense", "") == []
    assert offered("run", "x", "--seed", "") == []


def test_names_of_studies_files_and_results_are_offered(here: Path) -> None:
    for name in ("one.toml", "two.txt", "folder/three.toml", ".hidden.toml"):
        (here / name).parent.mkdir(exist_ok=True)
        (here / name).touch()
    (here / "results/kept").mkdir(parents=True)
    (here / "results/kept/manifest.json").touch()
    assert {*built_in_studies(), "one.toml", "folder/", "results/", "all-theses", "interop-loss"} <= set(
        offered("run", "")
    )
    assert offered("run", "two") == offered("run", ".h") == []
    assert offered("check", "folder/") == ["folder/three.toml"]
    assert offered("compare", "o") == ["one.toml"]
    for command in ("show", "sql", "report", "gc"):
        assert offered(command, "") == ["results/kept"]
    assert offered("merge", "results/kept", "results/") == ["results/kept"]
    assert "hstcp-2010" in offered("new", "mine", "--from", "hs")


@pytest.mark.parametrize("command", ["set", "vary"])
@pytest.mark.usefixtures("here")
def test_keys_are_offered_part_by_part_until_every_one_is_reached(command: str) -> None:
    def keys(written: str) -> Iterator[str]:
        for one in offered("run", "x", f"--{command}", written):
            if one.endswith("="):
                yield one[:-1]
            elif one not in ("flow.", "flow.*.") and one.count(".") < 7:
                yield from keys(one)

    reached = {reference.canonical(key) for key in keys("")}
    wanted = {each.name for each in reference.known_keys() if each.kind == reference.SCENARIO}
    assert len(wanted) > 300
    assert wanted - reached == set()


@pytest.mark.usefixtures("here")
def test_names_that_a_key_takes_are_offered() -> None:
    key = "flow.0.transport"
    assert {"flow.0.transport=tcp", "flow.0.transport=quic"} <= set(offered("run", "x", "--set", f"{key}="))
    assert offered("run", "x", "--set", f"{key}.sack=") == [f"{key}.sack=false", f"{key}.sack=true"]
    assert offered("run", "x", "--vary", f"{key}.cc=cubic,bb") == [f"{key}.cc=cubic,bbr", f"{key}.cc=cubic,bbr3"]
    assert offered("run", "x", "--trace", "cwnd,ss") == ["cwnd,ssthresh"]
    assert "network.bottleneck.queue=codel" in offered("check", "x", "--set", "network.bottleneck.queue=")
    assert "factor.levels" in offered("explain", "factor.")


HOSTILE = ["$(touch hit)", "`touch hit`", "a;touch hit", "new\nline", "\x1b[31mred", "a b", "'", '"']


def test_what_a_shell_could_obey_is_never_offered(here: Path) -> None:
    for name in HOSTILE:
        (here / f"{name}.toml").touch()
        (here / name).mkdir()
        (here / name / "manifest.json").touch()
    (here / "good").mkdir()
    (here / "good/manifest.json").touch()
    every = [*offered("run", ""), *offered("show", ""), *(one for name in HOSTILE for one in offered("run", name))]
    assert "good" in every
    assert [one for one in every if not re.fullmatch(r"[\w./-]+", one, re.ASCII)] == []


@pytest.mark.parametrize("folder", ["nowhere/", "/root/no/", "\0", "x" * 5000 + "/"])
def test_a_folder_that_cannot_be_read_offers_nothing(folder: str, here: Path) -> None:
    assert completions.paths(folder) == completions.directories(folder) == []


def asked(place: str, *words: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {VARIABLE: place}
    command = [sys.executable, "-c", MAIN, *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment, check=False)


@pytest.mark.parametrize("place", ["", "x", "-1", "99", "0", "1" * 30])
def test_a_place_that_makes_no_sense_offers_nothing(place: str) -> None:
    done = asked(place, "vazao", "run", "")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_an_answer_imports_no_heavy_library() -> None:
    tell = "atexit.register(lambda: print(json.dumps(list(sys.modules)), file=sys.stderr))"
    program = f"import atexit, json, sys; {tell}; {MAIN}"
    words = ["vazao", "run", "x", "--set", "flow.0.transport.min"]
    done = subprocess.run(
        [sys.executable, "-c", program, *words],
        capture_output=True, text=True, timeout=60, env=os.environ | {VARIABLE: "4"}, check=False,
    )  # fmt: skip
    assert done.stdout == "flow.0.transport.min_rto=\n"
    for library in (*ROWS, *QUERIES, *DRAWING, *SCREENS, "pydantic", "vazao.study.model"):
        assert f'"{library}"' not in done.stderr, library


def cost(run: Callable[[], Any]) -> float:
    """Processor time of a subprocess, in seconds."""
    before = getrusage(RUSAGE_CHILDREN)
    run()
    after = getrusage(RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def test_an_answer_costs_no_more_than_six_interpreters() -> None:
    """A quarter of a second if an interpreter costs 42 ms; machines differ, so each answer is compared with one."""
    command = [sys.executable, "-c", "import argparse, dataclasses, json, pathlib, tomllib, typing"]
    words = ["vazao", "run", "x", "--set", "flow.0.transport.min"]
    pairs = [(cost(lambda: asked("4", *words)), cost(lambda: subprocess.run(command, check=True))) for _ in range(7)]
    assert min(answer / interpreter for answer, interpreter in pairs) < 6
