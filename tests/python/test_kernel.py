"""Guest kernels: what a build needs, leaves behind and prints, and how names of kernels are resolved.

Compiling takes minutes, so the package manager and the compiler are small scripts here; tar, xz and the shell are real.
The kernel that they "build" is a handmade program that answers as User Mode Linux does.
"""

from __future__ import annotations

import os
import shutil
import signal
import struct
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from command import Vazao, caller, program
from vazao import kernel
from vazao.kernel import binary, cache, tree
from vazao.kernel.build import STATE, TOOLS, check_fragment, enlarge_state
from vazao.kernel.debian import Package
from vazao.kernel.errors import KernelError

CONFIG = 'CONFIG_UML=y\nCONFIG_HZ=100\nCONFIG_CC_VERSION_TEXT="gcc 1"\n' + cache.fragment().decode()

KCONFIG = "config HZ\n\tint\n\tdefault 100\n\nconfig NR_CPUS\n\tint\n"
"""Excerpt of arch/um/Kconfig that the build reads."""


def uml(config: str = CONFIG, release: str = "6.12.117", exit_code: int = 0) -> bytes:
    """An x86-64 program that prints `release` for an argument beginning with `--v`, and `config` otherwise."""
    base, head = 0x400000, 64 + 56
    code_bytes = 64
    answers = [text.encode() + b"\n" for text in (config, release)]
    at = [base + head + code_bytes, base + head + code_bytes + len(answers[0])]

    def load(n: int) -> bytes:  # mov rsi, address; mov edx, length
        return b"\x48\xbe" + struct.pack("<Q", at[n]) + b"\xba" + struct.pack("<I", len(answers[n]))

    code = b"".join(
        [
            b"\x48\x8b\x7c\x24\x10",  # mov rdi, [rsp+16]: the first argument
            b"\x80\x7f\x02\x76",  # cmp byte [rdi+2], 'v'
            load(0),
            b"\x75\x0f",  # jne over the next load
            load(1),
            b"\xbf\x01\0\0\0\xb8\x01\0\0\0\x0f\x05",  # write(1, rsi, edx)
            b"\xbf" + struct.pack("<I", exit_code) + b"\xb8\x3c\0\0\0\x0f\x05",  # exit
        ]
    ).ljust(code_bytes, b"\x90")
    size = head + len(code) + sum(map(len, answers))
    elf = b"\x7fELF\x02\x01\x01".ljust(16, b"\0") + struct.pack(
        "<HHIQQQIHHHHHH", 2, 62, 1, base + head, 64, 0, 0, 64, 56, 1, 0, 0, 0
    )
    return elf + struct.pack("<IIQQQQQQ", 1, 5, 0, base, base, size, size, 4096) + code + b"".join(answers)


SCRIPTS = {
    "apt-cache": 'printf "Package: $3\\nVersion: 6.12.117-1\\nSize: 1000\\n"',
    "apt-get": 'cp "$FAKES/archive.tar.xz" linux-source_all.deb',
    "dpkg-deb": 'mkdir -p "$3/usr/src" && cp "$2" "$3/usr/src/linux-source-6.12.tar.xz"',
    "make": """
case "$*" in
*allnoconfig) cp "$FAKES/config" .config ;;
*) echo "  CC      init/main.o"; touch init.o; cp "$FAKES/linux" linux && chmod +x linux ;;
esac""",
    "gcc": "echo /usr/lib/crt1.o",
    **dict.fromkeys(("strip", "flex", "bison", "bc"), ":"),
}
REAL = ("sh", "tar", "xz", "rm", "cp", "mkdir", "touch", "chmod", "cat", "sleep")


@dataclass
class Workshop:
    """Simulated machine whose tools are scripts."""

    fakes: Path
    cache: Path

    def tool(self, name: str, script: str) -> None:
        file = self.fakes / "bin" / name
        file.write_text(f"#!/bin/sh\nFAKES={self.fakes}\n{script}\n")
        file.chmod(0o755)

    def without(self, *names: str) -> None:
        for name in names:
            (self.fakes / "bin" / name).unlink()

    def names(self) -> list[str]:
        """Names in the cache: kernels, and anything else except the lock."""
        return sorted(path.name for path in (self.cache / "kernels").glob("*") if path.name != ".lock")


@pytest.fixture
def workshop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workshop:
    made = Workshop(tmp_path / "fakes", tmp_path / "cache")
    source = made.fakes / "linux-source-6.12/arch/um"
    source.mkdir(parents=True)
    (source / "Kconfig").write_text(KCONFIG)
    (made.fakes / "bin").mkdir()
    for name, script in SCRIPTS.items():
        made.tool(name, script)
    for name in REAL:
        (made.fakes / "bin" / name).symlink_to(shutil.which(name) or name)
    subprocess.run(["tar", "-cJf", "archive.tar.xz", "linux-source-6.12"], cwd=made.fakes, check=True)
    (made.fakes / "config").write_text(CONFIG)
    (made.fakes / "linux").write_bytes(uml())
    monkeypatch.setenv("PATH", str(made.fakes / "bin"))
    monkeypatch.setenv("VAZAO_CACHE", str(made.cache))
    monkeypatch.delenv("VAZAO_KERNEL", raising=False)
    return made


@pytest.fixture
def vazao(workshop: Workshop, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Vazao:
    return caller(monkeypatch, capsys, "kernel")


NAME = f"6.12.117-1-hz100-{cache.digest(cache.fragment())[:8]}"


def test_a_build_ends_in_the_cache_and_is_found(workshop: Workshop, vazao: Vazao) -> None:
    answer = vazao("build")
    assert answer.code == 0, answer.err
    assert "built Linux 6.12.117, linux-source-6.12 6.12.117-1, HZ 100 as shipped" in answer.out
    assert "1/4 download" in answer.err
    assert "left" in answer.err
    assert workshop.names() == [NAME]
    found = kernel.find()
    assert found
    assert found == kernel.find("6.12") == kernel.find(NAME) == kernel.kernels()[0]
    assert (found.series, found.release, found.package_version, found.hz) == ("6.12", "6.12.117", "6.12.117-1", 100)
    assert found.path.read_bytes() == (workshop.fakes / "linux").read_bytes()
    assert found.sha256 in answer.out
    assert found.config_sha256 == cache.digest(cache.fragment())
    assert kernel.find("6.1") is None
    assert f" {found.sha256[:12]} " in vazao("list").out


def test_what_is_there_is_not_built_again(workshop: Workshop, vazao: Vazao) -> None:
    vazao("build")
    before = (workshop.cache / "kernels" / NAME / "linux").stat().st_mtime_ns
    workshop.without("apt-get", "make", "gcc")  # Reusing needs no tools.
    answer = vazao("build")
    assert (answer.code, "there already: Linux 6.12.117" in answer.out) == (0, True)
    assert (workshop.cache / "kernels" / NAME / "linux").stat().st_mtime_ns == before
    assert vazao("build", "--force").code == 2


def test_force_builds_again(workshop: Workshop, vazao: Vazao) -> None:
    vazao("build")
    (workshop.fakes / "linux").write_bytes(uml(CONFIG + "# another\n"))
    answer = vazao("build", "--force")
    assert answer.code == 0, answer.err
    found = kernel.find()
    assert found
    assert b"another" in found.path.read_bytes()
    assert workshop.names() == [NAME]


def test_all_missing_tools_are_named_at_once(workshop: Workshop, vazao: Vazao) -> None:
    workshop.without("flex", "bc", "xz", "dpkg-deb")
    answer = vazao("build")
    expected = "error: not found: flex, bc, dpkg-deb, xz; as root: apt-get install bc dpkg flex xz-utils\n"
    assert (answer.code, answer.err) == (2, expected)


def test_a_compiler_without_headers_is_told(workshop: Workshop, vazao: Vazao) -> None:
    workshop.tool("gcc", "echo crt1.o")  # Output of gcc if it does not find the file.
    answer = vazao("build")
    assert answer.code == 2
    assert "apt-get install libc6-dev" in answer.err
    workshop.without("gcc")
    assert "apt-get install gcc libc6-dev" in vazao("build").err


@pytest.mark.parametrize(
    ("script", "expected"),
    [("echo 'E: No packages found' >&2; exit 100", "run `apt-get update` as root"), (None, "there is no apt here")],
)
def test_without_package_lists(workshop: Workshop, vazao: Vazao, script: str | None, expected: str) -> None:
    known = SCRIPTS["apt-cache"]
    if script:
        workshop.tool("apt-cache", script)
    else:
        workshop.without("apt-cache")
    answer = vazao("build")
    assert answer.code == 2
    assert expected in answer.err
    workshop.tool("apt-cache", known)
    assert vazao("build").code == 0
    # An existing build makes the lists unnecessary.
    workshop.tool("apt-cache", "exit 100")
    again = vazao("build")
    assert again.code == 0
    assert "what is there is used" in again.err
    assert NAME in again.out
    assert vazao("build", "--hz", "1000").code == 2


def test_a_download_that_fails(workshop: Workshop, vazao: Vazao) -> None:
    workshop.tool("apt-get", "echo 'E: Failed to fetch http://example.org/x.deb'; exit 100")
    answer = vazao("build")
    assert answer.code == 1
    assert "the download failed: apt-get ended with exit code 100" in answer.err
    assert "    E: Failed to fetch http://example.org/x.deb" in answer.err
    assert (workshop.cache / "logs" / f"{NAME}.log").is_file()
    assert workshop.names() == []
    # An older build is used instead.
    workshop.tool("apt-get", SCRIPTS["apt-get"])
    assert vazao("build").code == 0
    workshop.tool("apt-get", "exit 100")
    workshop.tool("apt-cache", SCRIPTS["apt-cache"].replace("117", "118"))
    again = vazao("build")
    assert again.code == 0
    assert "6.12.118-1" in again.err
    assert NAME in again.out


def test_a_compilation_that_fails_keeps_its_log(workshop: Workshop, vazao: Vazao) -> None:
    workshop.tool("make", SCRIPTS["make"].replace("touch init.o", "echo 'main.c:1: error: no such thing'; exit 2"))
    answer = vazao("build")
    assert answer.code == 1
    assert "the build failed: make ended with exit code 2" in answer.err
    assert answer.err.rstrip().endswith("    main.c:1: error: no such thing")
    log = (workshop.cache / "logs" / f"{NAME}.log").read_text()
    assert "$ make ARCH=um " in log
    assert workshop.names() == []
    assert kernel.find() is None


def test_an_option_that_was_not_taken_is_named(workshop: Workshop, vazao: Vazao) -> None:
    config = workshop.fakes / "config"
    config.write_text(config.read_text().replace("CONFIG_TCP_CONG_BBR=y\n", "# CONFIG_TCP_CONG_BBR is not set\n"))
    answer = vazao("build")
    assert answer.code == 2
    assert answer.err.endswith("error: this source does not have CONFIG_TCP_CONG_BBR, which linux.config asks for\n")
    assert workshop.names() == []


def test_debugging_information_is_refused() -> None:
    check_fragment(CONFIG, strict=True)
    check_fragment(CONFIG.replace("CONFIG_DEBUG_INFO_NONE=y\n", ""), strict=True)
    with pytest.raises(KernelError, match="CONFIG_DEBUG_INFO_DWARF5"):
        check_fragment(CONFIG + "CONFIG_DEBUG_INFO_DWARF5=y\n", strict=True)


def test_a_full_disk_is_told_before_anything_is_fetched(
    workshop: Workshop, vazao: Vazao, monkeypatch: pytest.MonkeyPatch
) -> None:
    workshop.tool("apt-get", "exit 77")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: shutil._ntuple_diskusage(10**10, 9 * 10**9, 10**9))
    answer = vazao("build")
    assert answer.code == 2
    assert "building needs 2.2 GB for a while, and 1.0 GB are free there" in answer.err
    assert workshop.names() == []


def test_hz_1000_is_a_changed_kernel_and_not_the_default(workshop: Workshop, vazao: Vazao) -> None:
    vazao("build")
    (workshop.fakes / "linux").write_bytes(uml(CONFIG.replace("HZ=100\n", "HZ=1000\n")))
    workshop.tool(
        "make", SCRIPTS["make"].replace("*) echo", '*) grep -q "default 1000" arch/um/Kconfig || exit 3; echo')
    )
    (workshop.fakes / "bin/grep").symlink_to(shutil.which("grep", path="/usr/bin:/bin") or "grep")
    answer = vazao("build", "--hz", "1000")
    assert answer.code == 0, answer.err
    assert "HZ 1000\n" in answer.out
    fine = NAME.replace("hz100", "hz1000")
    assert f"choose this one with: vazao kernel use {fine}" in answer.out
    assert sorted(k.hz for k in kernel.kernels()) == [100, 1000]
    found = kernel.find()
    assert found
    assert found.hz == 100
    assert vazao("use", fine).code == 0
    chosen = kernel.find("6.12")
    assert chosen
    assert (chosen.hz, chosen.unmodified) == (1000, False)
    assert vazao("use", "6.12").code == 0
    back = kernel.find()
    assert back
    assert back.hz == 100


def test_a_tree_of_ones_own_is_built_and_left_alone(workshop: Workshop, vazao: Vazao, tmp_path: Path) -> None:
    own = tmp_path / "my linux"
    shutil.copytree(workshop.fakes / "linux-source-6.12", own)
    (own / "net").mkdir()
    (own / "net/tcp.c").write_text("int patched;\n")
    (own / "net/tcp.o").write_text("built here\n")
    before = {path: path.read_bytes() for path in own.rglob("*") if path.is_file()}
    workshop.tool(
        "make", SCRIPTS["make"].replace("*) echo", "*) [ ! -e net/tcp.o ] && [ -e net/tcp.c ] || exit 3; echo")
    )
    answer = vazao("build", "--source", str(own))
    assert answer.code == 0, answer.err
    assert {path: path.read_bytes() for path in own.rglob("*") if path.is_file()} == before
    (built,) = kernel.kernels()
    assert (built.source, built.package_version, built.unmodified) == (str(own), None, False)
    assert "there already" in vazao("build", "--source", str(own)).out
    (own / "net/tcp.c").write_text("int patched_again;\n")
    assert "built Linux" in vazao("build", "--source", str(own)).out
    assert len(kernel.kernels()) == 2
    assert {path.name[:8] for path in (workshop.cache / "kernels").glob("my*")} == {"my_linux"}


def test_a_tree_has_the_same_digest_built_or_not_and_in_git_or_not(tmp_path: Path) -> None:
    (tmp_path / "arch/um").mkdir(parents=True)
    (tmp_path / "arch/um/Kconfig").write_text(KCONFIG)
    (tmp_path / ".gitignore").write_text("*.o\n.*\n!.gitignore\n/linux\n/include/generated/\n")
    (tmp_path / "link").symlink_to("arch")
    plain = tree.read_tree(tmp_path).digest
    for name in ("linux", "main.o", ".main.o.cmd", "include/generated/asm.h"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("built")
    assert tree.read_tree(tmp_path).digest == plain
    if shutil.which("git"):
        subprocess.run(["git", "init", "--quiet", tmp_path], check=True)
        assert tree.read_tree(tmp_path).digest == plain
    (tmp_path / "arch/um/Kconfig").chmod(0o755)
    assert tree.read_tree(tmp_path).digest != plain


@pytest.mark.timed
@pytest.mark.parametrize(
    ("tool", "how"),
    [("apt-get", signal.SIGINT), ("dpkg-deb", signal.SIGINT), ("make", signal.SIGINT), ("make", signal.SIGTERM)],
)
def test_an_interruption_leaves_nothing(workshop: Workshop, tool: str, how: signal.Signals, tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    # A tool with a child process, as make has: both must end.
    workshop.tool(tool, f"sleep 60 & echo $! > {pid}.new; /bin/mv {pid}.new {pid}; wait")
    with subprocess.Popen(program("kernel", "build"), stderr=subprocess.PIPE, text=True) as process:
        wait_until(pid.exists, 30)
        process.send_signal(how)
        began = time.monotonic()
        _, errors = process.communicate(timeout=30)
    # A second is promised; a loaded machine may need longer to shut down an interpreter.
    assert time.monotonic() - began < 3
    assert process.returncode == 130
    assert errors.endswith("interrupted; nothing of it is kept\n")
    assert "Traceback" not in errors
    child = Path("/proc") / pid.read_text().strip()
    wait_until(lambda: not child.exists() or " Z " in (child / "stat").read_text(), 5)
    wait_until(lambda: workshop.names() == [], 5)


def test_a_killed_build_ends_and_the_next_one_cleans_up(workshop: Workshop, vazao: Vazao, tmp_path: Path) -> None:
    slow = tmp_path / "slow"
    workshop.tool(
        "make", f"echo $$ > {slow}.new; /bin/mv {slow}.new {slow}; while :; do echo '  CC x'; sleep 0.1; done"
    )
    with subprocess.Popen(program("kernel", "build"), stderr=subprocess.DEVNULL) as process:
        wait_until(slow.exists, 30)
        assert vazao("build").err.endswith("another build is at work there; wait for it to end\n")
        process.kill()
    compiler = Path("/proc") / slow.read_text().strip()
    wait_until(lambda: not compiler.exists(), 10)
    assert workshop.names() == [".building"]
    workshop.tool("make", SCRIPTS["make"])
    assert vazao("build").code == 0
    wait_until(lambda: workshop.names() == [NAME], 5)


def test_what_a_build_left_goes_even_if_nothing_is_built(workshop: Workshop, vazao: Vazao) -> None:
    """A second signal may interrupt a build that is removing its files."""
    vazao("build")
    for left in (".building", ".building-1234-discarded"):
        (workshop.cache / "kernels" / left / "linux-source-6.12").mkdir(parents=True)
    workshop.without("make", "gcc")
    answer = vazao("build")
    assert (answer.code, "there already: Linux 6.12.117" in answer.out) == (0, True)
    assert workshop.names() == [NAME]


def wait_until(true: Callable[[], bool], seconds: float) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_any_kernel_can_be_used(
    workshop: Workshop, vazao: Vazao, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "vmlinux"
    own.write_bytes(uml(release="6.12.99-mine"))
    own.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    answer = vazao("use", "vmlinux")
    assert answer.code == 0, answer.err
    assert answer.out == f"`6.12` means {own}: Linux 6.12.99-mine, elsewhere, HZ 100\n"
    found = kernel.find()
    assert found
    assert (found.path, found.release, found.source) == (own, "6.12.99-mine", "elsewhere")
    assert str(own) in vazao("list").out
    own.unlink()
    assert kernel.find() is None
    assert f"{own}: was selected as kernel 6.12 and is gone" in kernel.missing()
    assert "is gone" in vazao("list").out
    assert "nothing is chosen any more" in vazao("use", "6.12").out


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"#!/bin/sh\n", "is no program (ELF)"),
        (b"", "is no program (ELF)"),
        (uml()[:18] + b"\xb7\0" + uml()[20:], "is no program for x86-64"),
        (uml("CONFIG_X86=y"), "no User Mode Linux kernel"),
        (uml(exit_code=1), "--showconfig failed"),
        (uml(release="nonsense"), "'nonsense', which is no kernel's version"),
        (
            uml(CONFIG.replace("CONFIG_VIRTIO_UML=y", "").replace("CONFIG_EPOLL=y", "")),
            "without CONFIG_VIRTIO_UML, CONFIG_EPOLL;",
        ),
        (uml(CONFIG + "CONFIG_UML_RANDOM=y\n"), "must be built without CONFIG_UML_RANDOM"),
    ],
)
def test_what_is_no_guest_kernel_is_refused(vazao: Vazao, tmp_path: Path, content: bytes, expected: str) -> None:
    file = tmp_path / "file"
    file.write_bytes(content)
    file.chmod(0o755)
    answer = vazao("use", str(file))
    assert (answer.code, answer.out) == (2, "")
    assert expected in answer.err


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["build", "5.10"], "'5.10' is none of the kernels 6.12, 6.1"),
        (["build", "6.12", "--source", "."], "exclude each other"),
        (["build", "--source", "nowhere"], "nowhere: no such directory"),
        (["build", "--source", "/usr"], "/usr: no Linux source tree"),
        (["build", "--hz", "250"], "neither 100 nor 1000"),
        (["build", "--jobs", "0"], "--jobs"),
        (["use", "6.13"], "no kernel is called '6.13'"),
        (["use", "./nowhere"], "./nowhere: no such file"),
        (["use", "/usr"], "/usr: no such file"),
        (["us"], "use"),
    ],
)
def test_a_mistake_is_one_clear_message(vazao: Vazao, arguments: list[str], expected: str) -> None:
    answer = vazao(*arguments)
    assert answer.code == 2, answer
    assert expected in answer.err.replace("\n", " ")
    assert "Traceback" not in answer.err
    assert answer.out == ""


def test_without_a_kernel_one_line_says_how(vazao: Vazao) -> None:
    assert vazao("list").out == kernel.missing() + "\n"
    assert "`vazao kernel build` builds one" in kernel.missing("6.12")
    assert "`vazao kernel build 6.1` builds one" in kernel.missing("6.1")
    assert kernel.find() is None


def test_the_environment_names_the_default(vazao: Vazao, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    vazao("build")
    own = tmp_path / "linux"
    own.write_bytes(uml(release="6.99.0"))
    own.chmod(0o755)
    monkeypatch.setenv("VAZAO_KERNEL", str(own))
    assert [k.release for k in (kernel.find(), kernel.find("6.12")) if k] == ["6.99.0", "6.12.117"]
    monkeypatch.setenv("VAZAO_KERNEL", str(tmp_path / "gone"))
    assert kernel.find() is None
    assert kernel.missing() == f"VAZAO_KERNEL={tmp_path / 'gone'}: no such file; it names a User Mode Linux kernel"


def test_damage_is_noticed(workshop: Workshop, vazao: Vazao) -> None:
    vazao("build")
    place = workshop.cache / "kernels" / NAME
    (place / "linux").write_bytes(uml(CONFIG + "# tampered with\n"))
    with pytest.raises(KernelError, match="is not what was built"):
        kernel.find()
    (place / "kernel.json").write_text('{"series": ')
    assert kernel.kernels() == []
    assert vazao("build").code == 0  # An unreadable build is replaced.
    assert kernel.find()


def test_the_cache_is_where_it_is_said_to_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/someone")
    monkeypatch.delenv("VAZAO_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "/xdg")
    assert cache.root() == Path("/xdg/vazao")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")  # To be ignored, according to the XDG specification.
    assert cache.root() == Path("/home/someone/.cache/vazao")
    monkeypatch.setenv("VAZAO_CACHE", "/elsewhere")
    assert cache.root() == Path("/elsewhere")


def test_the_packages_that_the_documents_name_are_the_ones_that_are_needed() -> None:
    text = (Path(__file__).parents[2] / "docs/kernel.md").read_text()
    named = set(text.split("apt-get install ", 1)[1].split("`")[0].split("\n")[0].split())
    present = {"apt", "dpkg", "tar"}  # Debian always has them; gcc's package brings binutils.
    assert named == {*TOOLS.values(), *Package.tools.values(), "libc6-dev"} - present - {"binutils"}


def test_the_kernel_of_this_machine() -> None:
    found = kernel.find()
    if not found:
        pytest.skip(kernel.missing())
    inspected = binary.inspect(found.path)
    assert (inspected.release, inspected.hz, inspected.sha256, inspected.series) == (
        found.release,
        found.hz,
        found.sha256,
        found.series,
    )
    assert found.release.startswith(f"{found.series}.")
    config = subprocess.run([found.path, "--showconfig"], capture_output=True, text=True, check=True).stdout
    if found.package_version:
        check_fragment(config, strict=True)
        assert found.package_version.startswith(found.release)
    # Linux's CUBIC and the clock that virtual time depends on.
    assert binary.value(config, "TCP_CONG_CUBIC") == binary.value(config, "UML_TIME_TRAVEL_SUPPORT") == "y"
    assert os.access(found.path, os.X_OK)


@pytest.mark.parametrize("large", [True, False])
def test_a_large_state_of_the_processor_has_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, large: bool) -> None:
    """On processors with AMX, one number of a tree and the stacks' size differ; elsewhere nothing does."""
    monkeypatch.setattr(cache, "has_large_state", lambda: large)
    file = tmp_path / "arch/x86/um/user-offsets.c"
    file.parent.mkdir(parents=True)
    file.write_text("\tDEFINE_LONGS(HOST_FP_SIZE, 2696);\n")
    enlarge_state(tmp_path)
    assert file.read_text() == "\tDEFINE_LONGS(HOST_FP_SIZE, 12288);\n"
    assert STATE >= 11_008, "the state of a processor with AMX, in bytes (CPUID leaf 0xd)"
    assert cache.fragment().endswith(cache.LARGER_STACKS) == large
