"""Building a guest kernel: from a source to a binary in the cache."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from vazao.files import explained, make_directory
from vazao.kernel import binary, cache, debian
from vazao.kernel.cache import DEFAULT_SERIES, SERIES, SHIPPED_HZ, Kernel
from vazao.kernel.debian import DownloadError, Package
from vazao.kernel.errors import BuildError, KernelError
from vazao.kernel.process import Log, ToolError, discard, plain_environment
from vazao.kernel.progress import Progress
from vazao.kernel.tree import Tree, read_tree

TOOLS = {"gcc": "gcc", "make": "make", "flex": "flex", "bison": "bison", "bc": "bc", "strip": "binutils"}
"""The programs that every build needs, and the Debian package of each."""

SPACE = 2_200_000_000
"""Bytes of disk that a build needs while it runs: the package, the tree, the objects."""

COMPILATIONS = 1300
"""Approximate number of files that `make` reports."""

CORE_SECONDS = 260.0
"""Seconds that compiling usually takes on one core."""

REPEATABLE = {"KBUILD_BUILD_TIMESTAMP": "1970-01-01", "KBUILD_BUILD_USER": "vazao", "KBUILD_BUILD_HOST": "vazao"}
UNASKED = ("RUSTC=none", "BINDGEN=none", "PAHOLE=none")
"""Settings that make builds of one source with one compiler identical: the configuration would otherwise record the
versions of these tools, although nothing uses them."""

PATIENCE = 0.2
"""Seconds that clean-up may delay the end of an interrupted build."""


@dataclass(frozen=True)
class Outcome:
    """The requested kernel, and whether it was built just now."""

    kernel: Kernel
    built: bool
    remark: str = ""


def build(
    series: str | None = None,
    *,
    progress: Progress,
    source: Path | None = None,
    hz: int | None = None,
    jobs: int | None = None,
    force: bool = False,
) -> Outcome:
    """Build a kernel into the cache, unless it is already there.

    The source is Debian's of a `series` (6.12 by default), or the tree at `source`; `hz` sets the timer interrupts per
    second (default: the source's). `force` builds it in any case. Raises `KernelError` if the build cannot start,
    `BuildError` if it fails.
    """
    _check_machine()
    if series and source:
        raise KernelError(f"{series} and --source exclude each other: a tree says itself which kernel it is")
    if series and series not in SERIES:
        known = ", ".join(SERIES)
        raise KernelError(f"{series!r} is none of the kernels {known}; --source PATH builds any other from its tree")
    series = series or DEFAULT_SERIES
    origin = read_tree(source) if source else debian.candidate(series)
    if not origin:
        return _without_lists(series, hz, force)
    name = _name(origin, hz)
    cache.clean()
    if not force and (there := cache.cached(name)):
        return Outcome(there, built=False)
    check_tools({**TOOLS, **origin.tools})
    try:
        kernel = _build(origin, name, hz, jobs or os.cpu_count() or 1, progress)
    except DownloadFailedError:
        if older := None if force else _equivalent(series, hz):
            return Outcome(older, built=False, remark=f"{name} could not be downloaded; what is there is used")
        raise
    return Outcome(kernel, built=True)


def _check_machine() -> None:
    if platform.system() != "Linux" or platform.machine() != "x86_64":
        raise KernelError(
            f"guest kernels run on Linux on x86-64 only; this is {platform.system()} {platform.machine()}"
        )


def _name(origin: Package | Tree, hz: int | None) -> str:
    """Name of a build: everything that determines its result except the compiler."""
    rate = f"hz{hz or SHIPPED_HZ}" if isinstance(origin, Package) or hz else "hz-as-is"
    return f"{origin.identity}-{rate}-{cache.digest(cache.fragment())[:8]}"


def _equivalent(series: str, hz: int | None) -> Kernel | None:
    """The newest cached build of the series from Debian's source in any version, otherwise as requested."""
    config = cache.digest(cache.fragment())
    wanted = (series, hz or SHIPPED_HZ, config)
    same = [k for k in cache.kernels() if k.package_version and (k.series, k.hz, k.config_sha256) == wanted]
    return max(same, key=lambda kernel: kernel.built, default=None)


def _without_lists(series: str, hz: int | None, force: bool) -> Outcome:
    if not force and (there := _equivalent(series, hz)):
        return Outcome(there, built=False, remark=f"apt knows no package linux-source-{series}; what is there is used")
    if not shutil.which("apt-cache"):
        raise KernelError(f"there is no apt here to get linux-source-{series} with; --source PATH builds any tree")
    raise KernelError(
        f"apt knows no package linux-source-{series}: its lists are missing or old; run `apt-get update` as root "
        "and try again (if your release does not have it, --source PATH builds any kernel tree)"
    )


def check_tools(tools: Mapping[str, str]) -> None:
    """Raise `KernelError` for missing programs: it lists all of them, and one command that installs them."""
    missing = {program: package for program, package in tools.items() if not shutil.which(program)}
    if "gcc" in missing or not _has_headers():
        missing["the C library's headers"] = "libc6-dev"
    if missing:
        packages = " ".join(sorted(set(missing.values())))
        raise KernelError(f"not found: {', '.join(missing)}; as root: apt-get install {packages}")


def _has_headers() -> bool:
    """Whether gcc can link a program: its package only recommends the C library's development package."""
    command = ["gcc", "-print-file-name=crt1.o"]
    answer = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    return Path(answer.stdout.strip()).is_absolute()


class DownloadFailedError(BuildError):
    """The package could not be downloaded."""


def _build(origin: Package | Tree, name: str, hz: int | None, jobs: int, progress: Progress) -> Kernel:
    with cache.build_lock() as workplace, explained(cache.root(), "build there"):
        log = Log(workplace / "log.txt")
        patience: float | None = PATIENCE
        try:
            _check_space(workplace)
            progress.plan({**origin.steps, "configure": 5.0, "compile": CORE_SECONDS / min(jobs, os.cpu_count() or 1)})
            tree = origin.get(workplace, log, progress)
            if hz:
                set_hz(tree, hz)
            if cache.has_large_state():
                enlarge_state(tree)
            config = _configure(tree, log, progress)
            check_fragment(config, strict=isinstance(origin, Package))
            _compile(tree, log, jobs, progress)
            kernel = cache.keep(_describe(tree / "linux", origin), name, workplace)
            patience = None
        except ToolError as error:
            raise _failure(error, log, name) from None
        finally:
            progress.close()
            discard(workplace, patience)
    return kernel


def _check_space(workplace: Path) -> None:
    free = shutil.disk_usage(workplace).free
    if free < SPACE:
        raise KernelError(
            f"{cache.root()}: building needs {SPACE / 1e9:.1f} GB for a while, and {free / 1e9:.1f} GB are free there; "
            "make room, or set VAZAO_CACHE to a directory on another disk"
        )


def set_hz(tree: Path, hz: int) -> None:
    """Set the timer interrupts per second of our copy of a tree, in User Mode Linux's Kconfig."""
    file = tree / "arch/um/Kconfig"
    with explained(file):
        text, changes = re.subn(r"(?m)(^config HZ\n\s+int\n\s+default )\d+$", rf"\g<1>{hz}", file.read_text())
        if changes != 1:
            raise KernelError(f"arch/um/Kconfig of this source does not set HZ as known; build it without --hz {hz}")
        file.write_text(text)


STATE = 12_288
"""Bytes for a processor's state: with AMX it has 11 008."""


def enlarge_state(tree: Path) -> None:
    """Make room for a large state of the processor in our copy of a tree, unless it asks the host for the size itself.

    User Mode Linux keeps what programs have in the processor's registers. Before 6.13 it has 2696 bytes for that, and
    on processors with a larger state no program runs. Nothing else of the kernel depends on the size.
    """
    file = tree / "arch/x86/um/user-offsets.c"
    if file.exists():
        with explained(file):
            text = file.read_text()
            file.write_text(text.replace("DEFINE_LONGS(HOST_FP_SIZE, 2696)", f"DEFINE_LONGS(HOST_FP_SIZE, {STATE})"))


def _configure(tree: Path, log: Log, progress: Progress) -> str:
    """Configure a tree and return the resulting configuration."""
    progress.begin("configure")
    fragment = tree.parent / "fragment.config"
    fragment.write_bytes(cache.fragment())
    _make(tree, log, f"KCONFIG_ALLCONFIG={fragment}", "allnoconfig")
    return (tree / ".config").read_text()


def check_fragment(config: str, *, strict: bool) -> None:
    """Raise `KernelError` for missing options: any of the fragment if `strict`, else those that guests need.

    DEBUG_INFO_NONE is one option of a choice that exists only with DEBUG_KERNEL; what matters is that no other option
    is set.
    """
    if debug := re.findall(r"^CONFIG_DEBUG_INFO(?!_NONE)\w*=y$", config, re.MULTILINE):
        raise KernelError(
            f"this source insists on {debug[0]}; with debugging information a kernel is ten times as large"
        )
    if not strict:
        binary.check_options("this source", config)
        return
    binary.check_options("this source", config)
    wanted = re.findall(r"^CONFIG_(\w+)=y$", cache.fragment().decode(), re.MULTILINE)
    lacking = [f"CONFIG_{o}" for o in wanted if binary.value(config, o) != "y" and o != "DEBUG_INFO_NONE"]
    if lacking:
        raise KernelError(f"this source does not have {', '.join(lacking)}, which linux.config asks for")


def _compile(tree: Path, log: Log, jobs: int, progress: Progress) -> None:
    progress.begin("compile")
    made = 0

    def heard(line: str) -> None:
        nonlocal made
        if re.match(r"  [A-Z]{2,}", line):
            made += 1
            progress.at(min(made / COMPILATIONS, 0.99), f"{made} of about {COMPILATIONS} files")

    _make(tree, log, f"-j{jobs}", "linux", heard=heard)
    log.run(["strip", "linux"], where=tree, environment=plain_environment())


def _make(tree: Path, log: Log, *arguments: str, heard: Callable[[str], None] = lambda _: None) -> None:
    log.run(
        ["make", "ARCH=um", *UNASKED, *arguments], where=tree, environment=plain_environment() | REPEATABLE, heard=heard
    )


def _describe(program: Path, origin: Package | Tree) -> Kernel:
    """Describe the built kernel by its own output, which also shows that it runs."""
    return replace(
        binary.inspect(program),
        package_version=origin.version,
        config_sha256=cache.digest(cache.fragment()),
        source=origin.name,
        built=f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S}",
    )


def _failure(error: ToolError, log: Log, name: str) -> BuildError:
    """Keep the log, and return an error with its last lines."""
    kept = cache.root() / "logs" / f"{name}.log"
    make_directory(kept.parent)
    with explained(kept):
        shutil.copyfile(log.path, kept)
    report = f"{error}; {kept} is its log, which ends so:\n{log.last_lines()}"
    if isinstance(error, DownloadError):
        advice = "If the network is there, the package lists may be old: run `apt-get update` as root."
        return DownloadFailedError(f"the download failed: {report}\n{advice}")
    return BuildError(f"the build failed: {report}")
