"""Output shown in the documents is what is really printed. `documents.py` explains how it is marked."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

import pytest

from command import program
from documents import DOCUMENTS, Block, blocks, exchanges, fenced, name, save, shows
from vazao import kernel

pytestmark = pytest.mark.process

NOT_COMPARED = {
    "README.md": 1,
    "docs/clusters.md": 2,
    "docs/gym.md": 4,
    "docs/kernel.md": 1,
    "docs/ns2.md": 1,
    "docs/view.md": 2,
}
"""Number of blocks in a document that are neither run nor compared; each gives its reason there."""

CONSOLES = [block for path in DOCUMENTS for block in fenced(path) if block.language == "console"]


def compared(block: Block) -> bool:
    return block.comment("not compared:") is None


@pytest.mark.parametrize("block", [block for block in CONSOLES if compared(block)], ids=str)
def test_commands_print_what_is_shown(block: Block, tmp_path: Path) -> None:
    wanted, there = block.comment("needs Linux"), kernel.find()
    if wanted and not (there and there.release == wanted):
        pytest.skip(f"no Linux {wanted} for guests: its output is not compared")
    save(tmp_path)
    for command, shown in exchanges(block):
        tool, *arguments = shlex.split(command, comments=True)
        assert tool == "vazao", f"{block}: `{command}` is no command of ours"
        done = subprocess.run(
            program(*arguments), cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode == 0, done.stderr
        assert shows(shown, done.stdout), f"{block}: `{command}` prints\n{done.stdout}"


@pytest.mark.parametrize("path", [path for path in DOCUMENTS if blocks(path, "python")], ids=name)
def test_snippets_of_python_run_and_print_what_is_shown(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    save(tmp_path)
    monkeypatch.setenv("POLARS_TABLE_WIDTH", "100")
    names: dict[str, object] = {"__name__": "shown"}
    printed = ""
    for block in fenced(path):
        if not compared(block):
            continue
        if block.language == "python":  # One after the other, as a reader would type them.
            exec(compile(block.text, str(block), "exec"), names)
            printed = capsys.readouterr().out
        elif block.language == "text":
            assert shows(block.text, printed), f"{block}: the snippet before it prints\n{printed}"


def test_every_output_is_compared_or_says_why_not() -> None:
    excused = dict.fromkeys(NOT_COMPARED, 0)
    for path in DOCUMENTS:
        before = ""
        for block in fenced(path):
            if not compared(block):
                assert block.comment("not compared:"), f"{block}: does not say why it is not compared"
                excused[name(path)] = excused.get(name(path), 0) + 1
            elif block.language == "text":
                known = before in ("python", "{code-cell} ipython3")
                assert known, f"{block}: of which command is it? See tests/python/documents.py"
            before = block.language
    assert excused == NOT_COMPARED
    assert sum(map(compared, CONSOLES)) > sum(excused.values())


@pytest.mark.parametrize(
    ("shown", "printed", "same"),
    [
        ("a  1\n", "a  1   \n", True),
        ("a  1\n", "a  2\n", False),
        ("a  1\n", "a 1\n", False),
        ("a\n…\nb\n", "a\n1\n2\nb\n", True),
        ("a\n…\nb\n", "a\nb\n", True),
        ("a\nb\n", "a\n1\nb\n", False),
        ("run … ms\n", "run 6.3 ms\n", True),
        ("run … ms\n", "run 6.3\nms\n", False),
        ("(a.b)\n", "(axb)\n", False),
    ],
)
def test_dots_stand_for_what_is_left_out_and_nothing_else_does(shown: str, printed: str, same: bool) -> None:
    assert shows(shown, printed) == same
