"""Startup cost: the libraries that a command imports, and complete exports of packages with lazy names."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import pytest

import vazao
from command import MAIN

pytestmark = pytest.mark.process

ROWS = {"polars"}
QUERIES = {"duckdb", "numpy", "pyarrow", "scipy"}
SERVING = {"starlette", "uvicorn", "vazao.explore"}
DRAWING = {"altair", "jinja2", "vl_convert"}
SCREENS = {"rich.console", "rich.progress", "rich.table"}

LATE = (
    "vazao",
    *(f"vazao.{room}" for room in ("scenario", "study", "figures", "results", "report", "explore", "comparing", "ns2")),
)
"""Packages with names that are imported on first use."""

SCENARIO = """
network = { topology = "point-to-point", link = { rate = "10 Mbps", delay = "1 ms" } }
flow = [{ app = { kind = "upload", size = "10 kB" } }]
"""


def read(program: str, *arguments: str) -> set[str]:
    """Modules that a Python program has imported by its end."""
    code = f"try:\n    {program}\nfinally:\n    import json, sys; print(json.dumps(list(sys.modules)), file=sys.stderr)"
    command = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    return set(json.loads(done.stderr))


def test_importing_the_package_reads_no_library() -> None:
    modules = read("import vazao")
    assert "vazao.lazy" in modules
    assert modules & (ROWS | QUERIES | DRAWING | SCREENS | {"pydantic", "typer", "vazao._core"}) == set()


@pytest.mark.parametrize("arguments", ["--version", "--help", "run --help", "kernel --help", "explore --help"])
def test_help_reads_no_heavy_library(arguments: str) -> None:
    modules = read(MAIN, *arguments.split())
    assert "typer" in modules
    # Help is rendered by rich.
    assert modules & (ROWS | QUERIES | DRAWING | SERVING | (SCREENS if arguments == "--version" else set())) == set()


@pytest.mark.parametrize("more", [[], ["--json"]])
def test_a_run_reads_neither_a_database_nor_what_draws(more: list[str], tmp_path: Path) -> None:
    file = tmp_path / "small.toml"
    file.write_text(SCENARIO)
    modules = read(MAIN, "run", str(file), *more)
    assert "polars" in modules
    assert (
        modules & (QUERIES | DRAWING | {"vazao.study.model", "vazao.figures.faces", "vazao.results.campaign"}) == set()
    )


@pytest.fixture(params=LATE)
def room(request: pytest.FixtureRequest) -> ModuleType:
    return import_module(request.param)


def test_a_room_has_every_name_that_it_promises(room: ModuleType) -> None:
    assert [name for name in room.__all__ if getattr(room, name, None) is None] == []
    assert set(room.__all__) <= set(dir(room))


def test_no_lazy_name_is_shadowed_by_a_module(room: ModuleType) -> None:
    """Python binds a submodule in its package on import, over whatever has its name there."""
    modules = [name for name in room.__all__ if not isinstance(getattr(room, name), ModuleType)]
    assert [name for name in modules if find_spec(f"{room.__name__}.{name}")] == []


def test_a_room_has_no_other_names() -> None:
    with pytest.raises(AttributeError, match="module 'vazao' has no attribute 'tpc'"):
        vazao.tpc  # noqa: B018
    assert not hasattr(vazao, "__wrapped__")
    assert vazao.statistics.jain([1.0, 1.0]) == 1.0
