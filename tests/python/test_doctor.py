"""`vazao doctor`: finds installed pieces, says how to get missing ones, and fails if a required one is broken."""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from command import Vazao, caller
from documents import ROOT
from guests import BUILT
from vazao import _core, kernel, ns2, seeing
from vazao.cli import doctor
from vazao.errors import ScenarioError

pytestmark = pytest.mark.process


@pytest.fixture
def vazao(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Vazao:
    return caller(monkeypatch, capsys)


def found(vazao: Vazao) -> dict[str, dict[str, Any]]:
    """Pieces in the report by name; the exit code is 0 on a complete machine."""
    answer = vazao("doctor", "--json")
    report = json.loads(answer.out)
    needed = [piece for piece in report["pieces"] if piece["needed"]]
    assert answer.code == (0 if all(piece["state"] == "there" for piece in needed) else 1)
    assert report["healthy"] == (answer.code == 0)
    return {piece["name"]: piece for piece in report["pieces"]}


def test_installed_pieces_are_found(vazao: Vazao) -> None:
    pieces = found(vazao)
    assert platform.python_version() in pieces["Python"]["found"]
    assert _core.ENGINE_VERSION in pieces["engine"]["found"]
    assert pieces["cores"]["found"].startswith(f"{len(os.sched_getaffinity(0))} ")
    assert (pieces["kernel for guests"]["state"] == "there") == BUILT
    for name, command in ("tshark", "tshark"), ("ns-2", "ns"), ("chromium", "chromium"):
        there = subprocess.run(["which", command], capture_output=True, check=False).returncode == 0
        assert pieces[name]["state"] == ("there" if there else "missing") or command == "chromium", name
    assert {name for name, piece in pieces.items() if piece["needed"]} == {
        "Python", "libraries", "engine", "cores", "memory",
    }  # fmt: skip


def test_each_missing_piece_says_what_it_adds_and_how_to_get_it(
    vazao: Vazao, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(shutil, "which", lambda *_, **__: None)
    monkeypatch.setattr(doctor, "find_spec", lambda _: None)
    monkeypatch.setattr(kernel, "find", lambda *_: None)
    monkeypatch.setattr(_core, "has_walls", lambda: False)
    monkeypatch.setattr(seeing, "is_built", lambda: False)
    monkeypatch.setattr(seeing, "has_engine", lambda: False)
    monkeypatch.setattr(doctor, "_refusal", lambda text: "built without" if "quinn" in text else None)
    monkeypatch.delenv("VAZAO_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", _nobody)
    monkeypatch.setattr(kernel, "missing", lambda *_: "no kernel is built")
    missing = {name: piece for name, piece in found(vazao).items() if piece["state"] != "there"}
    assert set(missing) == {
        "cache", "kernel for guests", "walls around guests", "ns-2", "tshark", "chromium",
        "quinn", "pages", "engine of pages", "extra dask", "extra gym", "extra notebook", "extra web",
    }  # fmt: skip
    assert [name for name, piece in missing.items() if not (piece["adds"] and piece["get"] and piece["found"])] == []
    assert missing["kernel for guests"]["get"] == "vazao kernel build"
    assert ns2.PACKAGE in missing["ns-2"]["get"]
    printed = vazao("doctor").out
    assert printed.count("get it: ") == len(missing)
    assert "all that is needed works; 13 optional pieces are missing" in printed


def _nobody() -> Path:
    raise RuntimeError("no home directory")


def test_extras_are_those_that_the_package_has_or_will_have() -> None:
    import tomllib

    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for name in set(doctor.EXTRAS) & set(extras):
        assert any(doctor.EXTRAS[name][0] in need or name in need for need in extras[name]), name


def test_a_broken_library_is_an_exit_code_of_1(vazao: Vazao, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata, "requires", lambda _: ["polars>=2", "no-such-thing>=1", "pytest; extra == 'dev'"])
    pieces = found(vazao)
    assert pieces["libraries"]["state"] == "broken"
    assert "no-such-thing" in pieces["libraries"]["found"]
    assert "pip install no-such-thing" in pieces["libraries"]["get"]
    answer = vazao("doctor")
    assert answer.code == 1
    assert "broken, and needed: libraries" in answer.out


def test_an_engine_that_does_not_run_is_an_exit_code_of_1(vazao: Vazao, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ScenarioError("it is not what was built")

    monkeypatch.setattr(_core, "run", broken)
    piece = found(vazao)["engine"]
    assert (piece["state"], piece["found"]) == ("broken", "it is not what was built")


def test_a_memory_limit_that_is_no_size_is_told(vazao: Vazao, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VAZAO_MEMORY", "much")
    assert "much" in found(vazao)["memory"]["found"]
    monkeypatch.setenv("VAZAO_MEMORY", "8 GB")
    assert "VAZAO_MEMORY=8 GB" in found(vazao)["memory"]["found"]


def test_a_cache_that_cannot_be_written_is_broken_but_not_needed(
    vazao: Vazao, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("VAZAO_CACHE", str(tmp_path / "file"))
    answer = vazao("doctor", "--json")
    assert answer.code == 0
    (cache,) = (piece for piece in json.loads(answer.out)["pieces"] if piece["name"] == "cache")
    assert cache["state"] == "broken"
    assert "VAZAO_CACHE" in cache["get"]


def test_a_kernel_that_cannot_be_used_is_told(vazao: Vazao, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "linux").write_text("no kernel")
    monkeypatch.setenv("VAZAO_KERNEL", str(tmp_path / "linux"))
    piece = found(vazao)["kernel for guests"]
    assert piece["state"] == "broken"
    assert str(tmp_path / "linux") in piece["found"]
