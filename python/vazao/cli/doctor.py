"""`vazao doctor`: which components are installed, what each missing one would add, and how to get it."""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from importlib import metadata
from importlib.util import find_spec
from typing import Literal

import typer

from vazao import _core, files, kernel, ns2, scenario, seeing, store
from vazao.cli.options import AsJson
from vazao.errors import VazaoError
from vazao.units import quantity

State = Literal["there", "missing", "broken"]

LEAST_PYTHON = (3, 11)

PROGRAMS = {
    "tshark": (("tshark",), "captures (--pcap) can be read and checked on this machine", "tshark or Wireshark"),
    "chromium": (
        ("chromium", "chromium-browser", "google-chrome"),
        "tests of reports in a browser; reports themselves need none to be made",
        "chromium",
    ),
}
"""Third-party programs: the commands to look for, the benefit, and the package."""

EXTRAS = {
    "dask": ("distributed", "campaigns on several machines: vazao run STUDY --on dask://HOST:PORT"),
    "gym": ("gymnasium", "an environment for reinforcement learning: vazao.gym"),
    "notebook": ("anywidget", "results and figures in notebooks; the viewer and the laboratory as widgets"),
    "web": ("starlette", "results in the browser: vazao explore DIR"),
}
"""Optional extras of the package: the library to look for, and the benefit."""


@dataclass(frozen=True)
class Piece:
    """A component of this machine or of the installation."""

    name: str
    state: State
    found: str
    """Description of the installed component, or of the problem."""
    needed: bool = False
    """Whether nothing works without it."""
    adds: str = ""
    """Benefit of the component, if it is missing."""
    get: str = ""
    """Instructions to install or repair it."""


def doctor(as_json: AsJson = False) -> None:
    """Say what is there, what each missing piece would add, and how to get it; exit code 1 if what is needed breaks."""
    found = list(pieces())
    broken = [piece.name for piece in found if piece.needed and piece.state != "there"]
    if as_json:
        print(json.dumps({"healthy": not broken, "pieces": [asdict(piece) for piece in found]}))
    else:
        _show(found, broken)
    if broken:
        raise typer.Exit(1)


def pieces() -> Iterator[Piece]:
    """Every component, the required ones first."""
    for name, look in {**_NEEDED, **_USEFUL}.items():
        try:
            yield look(name)
        except (VazaoError, OSError, ImportError) as error:
            yield Piece(name, "broken", str(error), needed=name in _NEEDED)
    yield from map(_program, PROGRAMS)
    yield from map(_extra, EXTRAS)


def _python(name: str) -> Piece:
    version = platform.python_version()
    text = f"{platform.python_implementation()} {version}, {sys.executable}"
    least = ".".join(map(str, LEAST_PYTHON))
    fine = sys.version_info >= LEAST_PYTHON
    return Piece(name, "there" if fine else "broken", text, needed=True, get="" if fine else f"Python {least} or newer")


def _libraries(name: str) -> Piece:
    """Required libraries, according to the metadata of the installed package."""
    wanted = [need for need in metadata.requires("vazao") or [] if "extra ==" not in need]
    names = [found[0] for need in wanted if (found := re.match(r"[\w.-]+", need))]
    lacking = [name for name in names if not _is_installed(name)]
    if lacking:
        get = f"{sys.executable} -m pip install {' '.join(lacking)}"
        return Piece(name, "broken", f"not installed: {', '.join(lacking)}", needed=True, get=get)
    return Piece(name, "there", f"{len(names)} of {len(names)} that Vazão needs", needed=True)


def _is_installed(name: str) -> bool:
    try:
        metadata.version(name)
    except metadata.PackageNotFoundError:
        return False
    return True


def _engine(name: str) -> Piece:
    """The engine, tested by a run of one packet."""
    versions = f"vazao {store.__version__}, engine {_core.ENGINE_VERSION}"
    if wrong := _refusal(store.SMALLEST):
        return Piece(name, "broken", f"{versions}: {wrong}", needed=True, get="build it again")
    return Piece(name, "there", versions, needed=True)


def _refusal(text: str) -> str | None:
    """Reason why a scenario does not run here; None if it does."""
    outcome = _core.run(scenario.load(text))
    return outcome.failure or outcome.not_run


def _cores(name: str) -> Piece:
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return Piece(name, "there", f"{usable} (campaigns use all of them, or --jobs N)", needed=True)


def _memory(name: str) -> Piece:
    left = _core.memory_left()
    limit = os.environ.get("VAZAO_MEMORY")
    source = f"VAZAO_MEMORY={limit}" if limit else "80 % of what the machine has left; VAZAO_MEMORY says otherwise"
    allowance = "unknown: nothing is refused for want of it" if left is None else f"runs may take {quantity(left, 'B')}"
    return Piece(name, "there", f"{allowance} ({source})", needed=True)


def _cache(name: str) -> Piece:
    """The cache directory, for kernels and records of finished studies."""
    adds = "kernels for guests, and finished studies that are shown at once"
    folder = files.cache_folder()
    if folder is None:
        return Piece(name, "missing", "no home directory", adds=adds, get="VAZAO_CACHE=/a/folder/of/yours")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(b"x")
    except OSError as error:
        return Piece(
            name, "broken", f"{folder}: {files.in_words(error)}", adds=adds, get="VAZAO_CACHE=/a/folder/of/yours"
        )
    return Piece(name, "there", f"{folder}, {quantity(shutil.disk_usage(folder).free, 'B')} free")


def _kernel(name: str) -> Piece:
    """The default kernel of guests."""
    adds = 'flows played by the Linux kernel itself (stack = "linux"), and vazao compare'
    found = kernel.find()
    if found is None:
        return Piece(name, "missing", kernel.missing(), adds=adds, get="vazao kernel build")
    return Piece(name, "there", f"Linux {found.release}, {found.hz} Hz, {found.source}")


def _walls(name: str) -> Piece:
    if _core.has_walls():
        return Piece(name, "there", "Landlock: programs of guests write nothing and read what is installed")
    adds = "walls around the programs of a file's guests, which only their guest keeps from your files now"
    return Piece(name, "missing", "no Landlock", adds=adds, get="Linux 5.13 or newer with Landlock")


def _ns2(name: str) -> Piece:
    found = ns2.find()
    if found is None:
        adds = 'scenarios run by ns-2 as well (stack = "ns2"), beside ours'
        return Piece(
            name, "missing", f"no command {ns2.COMMAND!r} that is ns-2's", adds=adds, get=f"apt install {ns2.PACKAGE}"
        )
    return Piece(name, "there", f"{found.version}, {found.path}")


def _quinn(name: str) -> Piece:
    """The library that plays both ends of a QUIC connection, tested by a run of one packet."""
    if wrong := _refusal(store.SMALLEST + 'transport = { kind = "quic", stack = "quinn" }\n'):
        adds = 'QUIC flows played by a library that is in production (stack = "quinn"), and vazao compare of them'
        get = "an engine with the feature quinn-guest, as `make setup` builds it"
        return Piece(name, "missing", wrong, adds=adds, get=get)
    return Piece(name, "there", "a library for both ends of QUIC, in the engine")


def _pages(name: str) -> Piece:
    adds = "vazao view, play and explore: packets, the laboratory and campaigns in the browser"
    return _built(name, seeing.is_built(), adds, "make web")


def _web_engine(name: str) -> Piece:
    adds = "pages that simulate by themselves: vazao play --html, vz.play"
    return _built(name, seeing.has_engine(), adds, "make wasm")


def _built(name: str, there: bool, adds: str, how: str) -> Piece:
    """Files of pages, which the command `how` builds."""
    return Piece(name, "there", "built") if there else Piece(name, "missing", "not built", adds=adds, get=how)


_NEEDED: dict[str, Callable[[str], Piece]] = {
    "Python": _python, "libraries": _libraries, "engine": _engine, "cores": _cores, "memory": _memory,
}  # fmt: skip
_USEFUL: dict[str, Callable[[str], Piece]] = {
    "cache": _cache, "kernel for guests": _kernel, "walls around guests": _walls, "ns-2": _ns2,
    "quinn": _quinn, "pages": _pages, "engine of pages": _web_engine,
}  # fmt: skip


def _program(name: str) -> Piece:
    commands, adds, package = PROGRAMS[name]
    found = next(filter(None, map(shutil.which, commands)), None)
    if found:
        return Piece(name, "there", found)
    return Piece(
        name, "missing", f"no command {' or '.join(commands)}", adds=adds, get=f"your system's package of {package}"
    )


def _extra(name: str) -> Piece:
    library, adds = EXTRAS[name]
    if find_spec(library):
        version = f" {metadata.version(library)}" if _is_installed(library) else ""
        return Piece(f"extra {name}", "there", f"{library}{version}")
    get = f"{sys.executable} -m pip install 'vazao[{name}]'"
    return Piece(f"extra {name}", "missing", f"no {library}", adds=adds, get=get)


_MARKS = {"there": ("✓", "green"), "missing": ("–", "yellow"), "broken": ("✗", "red")}


def _show(found: list[Piece], broken: list[str]) -> None:
    from rich.table import Table
    from rich.text import Text

    from vazao.cli.terminal import out

    rows = Table.grid(padding=(0, 2, 0, 0))
    rows.add_column(no_wrap=True)
    rows.add_column(no_wrap=True)
    rows.add_column(overflow="fold")
    for piece in found:
        mark, style = _MARKS[piece.state]
        rows.add_row(Text(mark, style=style), Text(piece.name, style="bold"), Text(piece.found))
        if piece.state != "there":
            for word, text in ("adds", piece.adds), ("get it", piece.get):
                if text:
                    rows.add_row("", "", Text(f"{word}: {text}", style="dim"))
    out.print(rows)
    missing = sum(piece.state == "missing" for piece in found)
    if broken:
        out.print(f"\nbroken, and needed: {', '.join(broken)}")
    else:
        out.print(f"\nall that is needed works; {missing} optional pieces are missing")
