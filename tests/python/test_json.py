"""`--json`: every command that reports something prints exactly one JSON document on standard output."""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import typer.main

from command import Vazao, caller
from vazao import explore, kernel
from vazao.cli import app
from vazao.kernel import Kernel, Outcome

pytestmark = pytest.mark.process

SCENARIO = """
name = "small"
[network]
topology = "point-to-point"
link = { rate = "10 Mbps", delay = "1 ms" }
[[flow]]
app = { kind = "upload", size = "20 kB" }
"""

WITHOUT = {"completion"}
"""Commands that report nothing: a script for a shell."""


def commands(group: Any = None, above: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command, with the words that invoke it."""
    for name, command in (group or typer.main.get_command(app)).commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, (*above, name))
        else:
            yield (*above, name), command


def options(command: Any) -> set[str]:
    return {option for parameter in command.params for option in parameter.opts}


def test_every_command_that_prints_facts_takes_json() -> None:
    lacking = {" ".join(words) for words, command in commands() if "--json" not in options(command)}
    assert lacking == WITHOUT


@dataclass(frozen=True)
class Call:
    """Invocation of a command, and keys that its output must have."""

    words: str
    keys: str
    code: int = 0


CALLS = [
    Call("run small.toml", "run flows paths links"),
    Call("run small.toml --trace cwnd", "run flows paths links samples"),
    Call("run small.toml --vary network.link.rate='1 Mbps','2 Mbps' --out swept", "study runs started findings tables"),
    Call("run toy.toml --out fresh --quick", "study directory runs findings not_run"),
    Call("run toy.toml --shard 1/2 --out shard", "directory shard runs started"),
    Call("compare small.toml --out compared", "files"),
    Call("why small.toml", "answer"),
    Call("read captured/a.1.pcapng", "captures connections"),
    Call("twin captured/a.1.pcapng", "explains control fit scenario"),
    Call("view small.toml --html small.html", "page runs"),
    Call("view captured/a.1.pcapng --html captured.html", "page captures"),
    Call("play small.toml --html lab.html", "page lessons"),
    Call("report stored", "report"),
    Call("report stored --serve", "address"),
    Call("show stored", "study title runs planned size findings tables summary"),
    Call("show one", "run flows paths links"),
    Call("sql stored 'SELECT * FROM runs'", ""),
    Call("explore stored", "address"),
    Call("merge half rest --out whole", "directory runs missing report"),
    Call("gc stored", "runs bytes"),
    Call("verify stored", "directory engine stored_engine runs same differing not_run"),
    Call("run one", "run flows paths links again"),
    Call("check small.toml", "file kind runs packet_hops seconds at_least needs programs code"),
    Call("check toy.toml", "file kind sizes figures findings programs code"),
    Call("list", ""),
    Call("list queues", ""),
    Call("explain cubic", ""),
    Call("explain flow", ""),
    Call("new mine", "file"),
    Call("new mine-too --study", "file"),
    Call("doctor", "healthy pieces"),
    Call("kernel list", "kernels missing"),
    Call("kernel use 6.12", "kernel"),
    Call("kernel build", "name sha256 built took_s"),
]


def words(call: str) -> list[str]:
    return shlex.split(call)


def test_a_call_of_every_command_is_below() -> None:
    called = {tuple(words(call.words)[: len(name)]) for call in CALLS for name, _ in commands()}
    assert [name for name, command in commands() if "--json" in options(command) and name not in called] == []


@pytest.fixture
def there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], toy_text: str) -> Vazao:
    """Calls the command in a folder with files and stored results."""
    monkeypatch.chdir(tmp_path)
    Path("small.toml").write_text(SCENARIO)
    Path("toy.toml").write_text(toy_text)
    made = Kernel(Path("small.toml").absolute(), "6.12", "6.12.1", "6.12.1-1", 100, "ab", "cd", "linux-source-6.12")
    monkeypatch.setattr(kernel, "build", lambda *_, **__: Outcome(made, True))
    monkeypatch.setattr(kernel, "use", lambda _: None)
    monkeypatch.setattr(explore, "is_built", lambda: True)
    monkeypatch.setattr(explore, "serve", lambda *_, on_listening, **__: on_listening("http://127.0.0.1:1/?token=x"))
    return caller(monkeypatch, capsys)


def prepared(there: Vazao, call: str) -> None:
    """Creates the results that an invocation reads."""
    if " stored" in call:
        assert there("run", "toy.toml", "--out", "stored").code == 0
    if " one" in call:
        assert there("run", "small.toml", "--out", "one").code == 0
    if " captured" in call:
        assert there("run", "small.toml", "--pcap", "captured").code == 0
    if call.startswith("merge"):
        for n, name in enumerate(("half", "rest"), 1):
            assert there("run", "toy.toml", "--shard", f"{n}/2", "--out", name).code == 0


def document(text: str) -> Any:
    """Parses a text as a single JSON document, and rejects numbers that JSON lacks."""

    def refuse(name: str) -> None:
        raise AssertionError(f"{name} is no JSON")

    return json.loads(text, parse_constant=refuse)


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.words)
def test_a_command_prints_one_document_and_nothing_else(there: Vazao, call: Call) -> None:
    prepared(there, call.words)
    answer = there(*words(call.words), "--json")
    assert answer.code == call.code, answer.err
    found = document(answer.out)
    assert answer.out.endswith("\n")
    assert "\x1b" not in answer.out
    if call.keys:
        assert isinstance(found, dict)
        assert set(call.keys.split()) <= set(found)
    else:
        assert isinstance(found, list)
        assert found
        assert all(isinstance(row, dict) for row in found)


@pytest.mark.parametrize(
    "call",
    [
        "run none.toml", "run small.toml --set network.lnk=1", "compare none.toml", "report nowhere", "show nowhere",
        "sql nowhere 'SELECT 1'", "merge nowhere --out x", "gc nowhere", "check none.toml", "list ques", "explain cubc",
        "new nowhere/x", "kernel use nothing", "explore nowhere",
    ],
)  # fmt: skip
def test_a_mistake_prints_nothing_on_standard_output(there: Vazao, call: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if call.startswith("kernel"):
        monkeypatch.undo()
    answer = there(*words(call), "--json")
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith("error: ")


def test_what_is_printed_as_tables_and_as_json_agrees(there: Vazao) -> None:
    prepared(there, " stored")
    shown = document(there("show", "stored", "--json").out)
    printed = there("show", "stored").out
    assert f"{shown['runs']} of {shown['planned']} runs ({shown['size']})" in printed
    assert [each["claim"] for each in shown["findings"] if each["claim"] not in printed] == []
    assert shown["counted"] in printed
    means = shown["summary"]["grid"]
    assert [row["variant"] for row in means] == ["cubic", "reno"] * 2
    assert sum(row["runs"] for part in shown["summary"].values() for row in part) == shown["runs"]
    sizes = document(there("check", "toy.toml", "--json").out)["sizes"]
    assert [sizes[size]["runs"] for size in ("quick", "full")] == [10, 22]
    assert sizes["full"]["parts"][0]["factors"] == {"bandwidth": 3, "variant": 2}
    assert all(math.isfinite(size["seconds"]) and size["seconds"] > 0 for size in sizes.values())
    listed = document(there("list", "queues", "--json").out)
    assert [entry["name"] for entry in listed if entry["name"] not in there("list", "queues").out] == []
