"""Attacks through user-defined algorithms: neither a results directory nor the working directory may supply code."""

from __future__ import annotations

import cProfile
import hashlib
import json
import py_compile
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from vazao import ResultsError, ScenarioError, StudyError
from vazao.cli import programs
from vazao.execution import CodeRequest
from vazao.execution.shard import Shard
from vazao.results import Study, kept_inputs, load_study, merge, run_study
from vazao.scenario import installed, load, own as own_module
from vazao.store.manifest import read_manifest
from vazao.study import plan

MINE = """
import colorsys, math
import vazao as vz
from beside import GAIN
try:
    import helper
except ImportError:
    helper = None

class Plain(vz.CongestionControl):
    gone = (math.pi, colorsys.rgb_to_hsv(1, 1, 1), helper)
    def _(self): return GAIN
"""
STUDY = """
[study]
name = "own"
title = "Own"
[scenario]
[scenario.network]
topology = "point-to-point"
link = { rate = "10 Mbps", delay = "1 ms" }
[[scenario.flow]]
app = { kind = "upload", size = "10 kB" }
transport = { kind = "tcp", cc = "mine.py:Plain" }
[[part]]
name = "main"
replications = 3
"""
SCENARIO = STUDY.partition("[scenario]\n")[2].partition("[[part]]")[0].replace("scenario.", "")

SHADOWS = ("math.py", "colorsys.py", "helper.py", "beside.py", "pathlib.py", "vazao.py")
"""Modules that an attacker would replace: Python's, one that is not installed, and the user's own."""


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Folder of the user with a study and its algorithm; the working directory is another, empty one."""
    folder = tmp_path / "home"
    folder.mkdir()
    for name, text in {"mine.py": MINE, "beside.py": "GAIN = 1\n", "own.toml": STUDY, "one.toml": SCENARIO}.items():
        (folder / name).write_text(text)
    monkeypatch.setenv("VAZAO_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("TAKEN", str(tmp_path / "taken"))
    (tmp_path / "cwd").mkdir()
    monkeypatch.chdir(tmp_path / "cwd")
    return folder


def evil(name: str) -> str:
    """Module that leaves a trace when it is run, and otherwise provides what the algorithm imports."""
    mine = MINE if Path(name).stem == "mine" else "GAIN, pi, rgb_to_hsv = 1, 3.0, max\n"
    return f"import os\nprint('{name}', file=open(os.environ['TAKEN'], 'a'))\n{mine}"


def taken(tmp_path: Path) -> str:
    path = tmp_path / "taken"
    return path.read_text() if path.exists() else ""


def keep(directory: Path, *names: str) -> dict[str, Path]:
    """Makes a results directory contain an attacker's files, as if its scenarios named them."""
    manifest = read_manifest(directory) or {"inputs": {}}
    kept: dict[str, Path] = {}
    for name in names:
        kept[name] = directory / "inputs" / hashlib.sha256(evil(name).encode()).hexdigest()
        kept[name].parent.mkdir(parents=True, exist_ok=True)
        kept[name].write_text(evil(name))
        manifest["inputs"][name] = kept[name].name
    if (directory / "manifest.json").exists():
        (directory / "manifest.json").write_text(json.dumps(manifest))
    return kept


def own(home: Path, leave: frozenset[str] | bool = True, file: str = "own.toml") -> Study:
    return load_study(home / file).allowing(leave)


@pytest.mark.parametrize("how", ["shard", "merged"])
def test_going_on_with_a_strangers_results_runs_the_users_own_files_alone(how: str, home: Path, tmp_path: Path) -> None:
    bob = tmp_path / "bob"
    run_study(own(home), out=bob, shard=Shard(1, 3))
    keep(bob, *SHADOWS, "mine.py", "./math.py", str(home / "math.py"))
    if how == "merged":
        merge([bob], tmp_path / "merged")
        bob = tmp_path / "merged"
    assert run_study(own(home), out=bob).runs.height == 3
    assert taken(tmp_path) == ""


def test_nothing_of_the_working_directory_is_imported(home: Path, tmp_path: Path) -> None:
    """Python's library, an installed package, and a module that is not installed: as a file, a package, a `.pyc`."""
    Path("colorsys.py").write_text(evil("colorsys.py"))
    Path("helper").mkdir()
    Path("helper/__init__.py").write_text(evil("helper/__init__.py"))
    Path("tomli_w.txt").write_text(evil("tomli_w.pyc"))
    py_compile.compile("tomli_w.txt", "tomli_w.pyc")
    # The working directory comes first on the path with `-c`, as with `python -m`.
    start = f"import os; from vazao.cli import main; os.chdir({str(Path.cwd())!r}); main()"
    command = [sys.executable, "-c", start, "run", str(home / "own.toml"), "--allow-programs", "--out", "out"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (done.returncode, taken(tmp_path)) == (0, ""), done.stderr


def test_vazaos_folder_counts_as_installed_even_as_working_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    package = Path(own_module.__file__).parents[2]
    monkeypatch.chdir(package)
    monkeypatch.syspath_prepend(package)
    assert str(package) in installed()


def test_a_program_of_pythons_own_hides_nothing_of_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["__main__"], "__file__", cProfile.__file__, raising=False)
    assert str(Path(cProfile.__file__).parent) in installed()


@pytest.mark.parametrize("name", ["math.py", "colorsys.py", "tomli_w.py", "vazao.py"])
def test_python_and_what_is_installed_come_before_files_beside_a_scenario(
    name: str, home: Path, tmp_path: Path
) -> None:
    file = str(home / "one.toml")
    (home / "mine.py").write_text(f"import tomli_w\n{MINE}")
    before = load(SCENARIO, file=file).run_id
    (home / name).write_text(evil(name))
    assert load(SCENARIO, file=file).run_id == load(SCENARIO, file=file, allow_programs=True).run_id == before
    assert taken(tmp_path) == ""


def test_an_algorithm_may_be_called_as_a_module_of_pythons(home: Path) -> None:
    (home / "math.py").write_text(MINE)
    named = load(SCENARIO.replace("mine.py", "math.py"), file=str(home / "one.toml"), allow_programs=True)
    assert [name for name, *_ in named.inputs] == ["math.py", "beside.py"]


def test_a_copy_of_code_runs_where_it_has_run_before_or_was_asked_about(home: Path, tmp_path: Path) -> None:
    bob = tmp_path / "bob"
    run_study(own(home), out=bob, shard=Shard(1, 3))
    copy = next(path for path in (bob / "inputs").iterdir() if path.read_text() == MINE)
    (home / "mine.py").unlink()
    assert run_study(own(home), out=bob, shard=Shard(2, 3)).runs.height == 2
    shutil.rmtree(tmp_path / "cache")
    own_module._note.cache_clear()
    with pytest.raises(StudyError, match=rf"mine\.py: there is no such file; .*never run here.* cp {copy} "):
        run_study(own(home), out=bob)
    cells = plan(own(home, False).with_inputs(kept_inputs(bob)), "quick").cells
    asked = CodeRequest.of(cell.scenario for cell in cells)
    assert f"mine.py:Plain ({copy})" in asked.message("own.toml")
    assert run_study(own(home, asked.leave), out=bob).runs.height == 3


def test_results_that_a_user_names_as_the_study_run_their_own_copies(home: Path, tmp_path: Path) -> None:
    bob = tmp_path / "bob"
    run_study(own(home), out=bob, shard=Shard(1, 3))
    shutil.rmtree(home)
    shutil.rmtree(tmp_path / "cache")
    own_module._note.cache_clear()
    assert run_study(own(bob, file="study.toml"), out=bob).runs.height == 3


def test_a_strangers_copy_takes_the_place_of_no_file_of_the_users(home: Path, tmp_path: Path) -> None:
    inputs = keep(tmp_path / "bob", "mine.py", "beside.py", "sub/mine.py", "sub/math.py", "sub/beside.py")
    file = str(home / "one.toml")
    before = load(SCENARIO, file=file).run_id
    assert load(SCENARIO, file=file, inputs=inputs, allow_programs=True).run_id == before
    # A name on the command line refers to the working directory.
    shutil.copy(home / "mine.py", "mine.py")
    shutil.move(home / "mine.py", "away.py")
    shutil.copy(home / "beside.py", "beside.py")
    assert load(SCENARIO, file=file, inputs=inputs, allow_programs=True).run_id == before
    with pytest.raises(ScenarioError, match="never run here"):
        load(SCENARIO.replace("mine.py", "sub/mine.py"), file=file, inputs=inputs, allow_programs=True)
    assert taken(tmp_path) == ""


def test_what_the_users_own_file_lacks_no_copy_supplies(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / "beside.py").unlink()
    # Nor does a module of that name that something else imported.
    monkeypatch.setitem(sys.modules, "beside", ModuleType("beside"))
    with pytest.raises(ScenarioError, match="No module named 'beside'"):
        load(SCENARIO, file=str(home / "one.toml"), inputs=keep(tmp_path / "bob", *SHADOWS), allow_programs=True)
    assert taken(tmp_path) == ""


def test_a_copy_holds_what_its_name_says(home: Path, tmp_path: Path) -> None:
    inputs = keep(tmp_path / "bob", "mine.py")
    (home / "mine.py").unlink()
    inputs["mine.py"].write_text(MINE)
    with pytest.raises(ScenarioError, match="is damaged: a copy is called by its SHA-256"):
        load(SCENARIO, file=str(home / "one.toml"), inputs=inputs)


def test_a_worker_runs_what_was_read_where_the_study_is(home: Path, tmp_path: Path) -> None:
    """Permission covers digests: the worker's own file of that name is a different file."""
    read = load(SCENARIO, file=str(home / "one.toml"), allow_programs=True)
    digests = {digest: path for _, path, digest in read.inputs}
    inputs = {name: tmp_path / digest for name, _, digest in read.inputs}
    for digest, path in digests.items():
        shutil.copy(path, tmp_path / digest)
    for name in ("mine.py", "beside.py"):
        Path(name).write_text(evil(name))
    there = load(SCENARIO, file="none/one.toml", inputs=inputs, allow_programs=frozenset(digests))
    assert there.run_id == read.run_id
    with pytest.raises(ScenarioError, match="has changed since it was asked about"):
        load(SCENARIO, file="none/one.toml", allow_programs=frozenset(digests))
    assert taken(tmp_path) == ""


def test_everything_that_would_run_is_told_with_its_place(home: Path, tmp_path: Path) -> None:
    (home / "beside.py").rename(tmp_path / "elsewhere.py")
    (home / "beside.py").symlink_to(tmp_path / "elsewhere.py")
    for n in range(30):
        (home / f"m{n}.py").write_text("")
    (home / "mine.py").write_text(MINE + "".join(f"import m{n}\n" for n in range(30)))
    listed = CodeRequest.of([load(SCENARIO, file=str(home / "one.toml"))]).message("one.toml")
    assert f"    mine.py:Plain ({home}/mine.py)\n" in listed
    assert f"    beside.py ({home}/beside.py, which is {tmp_path}/elsewhere.py), imported\n" in listed
    assert all(f"    m{n}.py ({home}/m{n}.py), imported\n" in listed for n in range(30))


def test_what_changed_while_somebody_was_asked_does_not_run(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(programs, "ask", lambda *_: (home / "beside.py").write_text(evil("beside.py")))
    with pytest.raises(ScenarioError, match=r"beside\.py: has changed since it was asked about"):
        programs.permitted(home / "one.toml", SCENARIO, {"file": str(home / "one.toml")}, allow=False, built_in=False)
    assert taken(tmp_path) == ""


def test_reading_code_repeats_nothing_of_it(home: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (home / "mine.py").write_text(MINE + '"\x1b]0;taken\x07 \\d"\n')
    load(SCENARIO, file=str(home / "one.toml"))
    assert capfd.readouterr().err == ""


def test_a_copy_is_no_larger_than_what_it_is_of(home: Path, tmp_path: Path) -> None:
    """Merged shards may be untrusted, and a sparse file may claim any size."""
    bob = tmp_path / "bob"
    run_study(own(home), out=bob, shard=Shard(1, 3))
    with (bob / "inputs" / hashlib.sha256(MINE.encode()).hexdigest()).open("wb") as copy:
        copy.truncate(1 << 40)
    with pytest.raises(ResultsError, match="is larger than 64 MiB"):
        merge([bob], tmp_path / "merged")
