"""External programs in tests: if one is missing, its tests are skipped with its name."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tools import needs

PROGRAMS = ("tshark", "ns", "iperf3", "curl", "valgrind")


def test_a_missing_program_is_named() -> None:
    mark = needs("no-such-program").mark
    assert (mark.args, mark.kwargs) == ((True,), {"reason": "no-such-program is not installed"})
    assert needs("python3").mark.args == (False,)


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_test_that_runs_a_program_needs_it(program: str) -> None:
    files = [file for file in sorted(Path(__file__).parent.glob("test_*.py")) if file.name != Path(__file__).name]
    texts = {file.name: file.read_text(encoding="utf-8") for file in files}
    users = {name: list(running(ast.parse(text), program)) for name, text in texts.items() if f'"{program}' in text}
    assert {name: tests for name, tests in users.items() if tests} == {}


def test_a_test_that_runs_a_program_unmarked_is_found() -> None:
    code = 'def read(): run(["tshark", "-r"])\ndef test_it(): read()\n@needs("tshark")\ndef test_other(): read()'
    assert list(running(ast.parse(code), "tshark")) == ["test_it"]
    assert list(running(ast.parse(f'pytestmark = needs("tshark")\n{code}'), "tshark")) == []


def running(module: ast.Module, program: str) -> Iterator[str]:
    """Unmarked tests in a file that run a program, directly or through what they call."""
    functions = {node.name: node for node in module.body if isinstance(node, ast.FunctionDef)}
    marked = f"needs('{program}')"
    if any(marked in ast.unparse(node) for node in module.body if isinstance(node, ast.Assign)):
        return
    users = {name for name, node in functions.items() if any(is_command(each, program) for each in ast.walk(node))}
    while more := {name for name, node in functions.items() if calls(node) & users} - users:
        users |= more
    for name in sorted(users):
        if name.startswith("test_") and not any(marked in ast.unparse(each) for each in functions[name].decorator_list):
            yield name


def is_command(node: ast.AST, program: str) -> bool:
    """Whether a node is a list that begins with the program, or a string that calls it with an option."""
    if isinstance(node, ast.List) and node.elts:
        return isinstance(node.elts[0], ast.Constant) and node.elts[0].value == program
    return isinstance(node, ast.Constant) and bool(re.search(rf"(^|\"){program} -", str(node.value)))


def calls(function: ast.FunctionDef) -> set[str]:
    """Functions that a function calls, and fixtures that it takes."""
    called = {
        node.func.id for node in ast.walk(function) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    return called | {argument.arg for argument in function.args.args}
