"""Attacks by an untrusted scenario through its guests: no writes, no access to private files, no forgery.

No program runs without permission. A kernel is built once by `vazao kernel build`; without one the attacks are skipped.
"""

from __future__ import annotations

import json
import os
import pty
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from command import program, vazao
from vazao import _core, kernel
from vazao.cli import programs
from vazao.errors import ScenarioError
from vazao.results import run_scenario
from vazao.scenario import load

needs_kernel = pytest.mark.skipif(kernel.find() is None, reason="no Linux guest kernel: `vazao kernel build` makes one")
needs_walls = pytest.mark.skipif(not _core.has_walls(), reason="this machine's Linux has no Landlock")

SCENARIO = """
[network]
topology = "point-to-point"
link = { rate = "10 Mbps", delay = "10 ms" }
[[flow]]
app = { kind = "command", client = CLIENT, server = SERVER }
transport = { stack = "linux" }
"""


def scenario(client: str, server: str = "true") -> str:
    # JSON strings are valid TOML.
    return SCENARIO.replace("CLIENT", json.dumps(client)).replace("SERVER", json.dumps(server))


def output(client: str) -> str:
    """Output of a program that runs in a guest."""
    printed = run_scenario(load(scenario(f"{{ {client}\n}} 2>&1; exit 0"))).flows["client_output"].item()
    assert isinstance(printed, str)
    return printed


@pytest.fixture
def place() -> Iterator[Path]:
    """Folder with a secret, at a path that the guest does not replace (its /tmp is separate)."""
    folder = Path(tempfile.mkdtemp(dir="/var/tmp", prefix="vazao-test-"))
    (folder / "secret").write_text("the secret")
    yield folder
    shutil.rmtree(folder)


PREPARE = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
def attempt(name, do):
    try:
        done = do()
    except OSError as error:
        print(name, "refused:", error.strerror)
    else:
        print(name, "refused:" if isinstance(done, int) and done < 0 else "DONE", done)
def write(path, text):
    with open(path, "w") as file:
        file.write(text)
"""

ATTACKS = {
    "mount hostfs": 'attempt("mount", lambda: libc.mount(b"none", b"/tmp", b"hostfs", 0, b"/"))',
    "mount again": 'attempt("remount", lambda: libc.mount(b"none", b"/", b"hostfs", 32, b""))',
    "mount by the new calls": 'attempt("fsopen", lambda: libc.syscall(430, b"hostfs", 0))',
    "clone a mount": 'attempt("open_tree", lambda: libc.syscall(428, -100, b"/", 1))',
    "change a mount": 'attempt("mount_setattr", lambda: libc.syscall(442, -100, b"/", 0, bytes(32), 32))',
    "change the root": 'attempt("chroot", lambda: os.chroot("/tmp"))',
    "the first program's root": 'attempt("root", lambda: os.listdir("/proc/1/root"))',
    "the first program's memory": 'attempt("memory", lambda: open("/proc/1/mem", "r+b"))',
    "trace the first program": 'attempt("ptrace", lambda: libc.ptrace(16, 1, 0, 0))',
    "a user namespace": 'attempt("unshare", lambda: libc.unshare(0x10000000))',
    "a mount namespace": 'attempt("unshare", lambda: libc.unshare(0x20000))',
    "a device": 'attempt("mknod", lambda: os.mknod("/tmp/mem", 0o20600, os.makedev(1, 1)))',
    "a handle": 'attempt("handle", lambda: libc.syscall(304, -100, bytes(128), 0))',
    "a module": 'attempt("module", lambda: libc.syscall(175, b"", 0, b""))',
    "memory": 'attempt("memory", lambda: open("/dev/mem", "r+b"))',
    "the program for dumps": 'attempt("core", lambda: write("/proc/sys/kernel/core_pattern", "|/bin/sh"))',
    "the program for modules": 'attempt("modprobe", lambda: write("/proc/sys/kernel/modprobe", "/bin/sh"))',
    "the program for devices": 'attempt("hotplug", lambda: write("/sys/kernel/uevent_helper", "/bin/sh"))',
    "the console for reports": 'attempt("report", lambda: os.open("/dev/tty1", os.O_WRONLY))',
}


@needs_kernel
def test_no_door_leads_out_of_a_guest() -> None:
    lines = output(f"python3 -c '{PREPARE}{chr(10).join(ATTACKS.values())}'").splitlines()
    assert len(lines) == len(ATTACKS), lines
    for attack, line in zip(ATTACKS, lines, strict=True):
        assert "refused:" in line, f"{attack}: {line}"


@needs_kernel
def test_a_crash_starts_no_program_that_could_write(place: Path) -> None:
    """The kernel's own core-dump helper had full rights, and could mount the machine's files writable."""
    helper = f"""#!/bin/sh
mkdir /run/m; mount -t hostfs none /run/m -o /; echo x > /run/m{place}/written; echo x > {place}/written
"""
    printed = output(
        f"ulimit -c unlimited; cat > /run/h <<'END'\n{helper}END\nchmod +x /run/h\n"
        "cp /lib/x86_64-linux-gnu/ld-linux-x86-64.so.2 /run/l\n"
        "echo '|/host/run/l --library-path /host/lib/x86_64-linux-gnu /host/usr/sbin/chroot /host /run/h' "
        "> /proc/sys/kernel/core_pattern; sh -c 'kill -SEGV $$'\nsleep 2; echo done"
    )
    assert "done" in printed
    assert sorted(path.name for path in place.iterdir()) == ["secret"]


@needs_kernel
def test_a_program_writes_no_file_of_the_machine(place: Path) -> None:
    printed = output(
        f"echo x > {place}/written; echo x >> {place}/secret; rm -f {place}/secret; mkdir {place}/d; "
        f"ln -s / {place}/l; chmod 777 {place}/secret; mv {place}/secret {place}/s; touch /usr/written; echo done"
    )
    assert "done" in printed
    assert [(path.name, path.read_text()) for path in place.iterdir()] == [("secret", "the secret")]
    assert (place / "secret").stat().st_mode & 0o777 != 0o777
    assert not Path("/usr/written").exists()


@needs_kernel
@needs_walls
def test_a_program_reads_what_is_installed_and_nothing_of_the_users(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempt = f"cat {place}/secret; ls {Path.home()} {place}; cat /etc/shadow /proc/1/environ; head -c 4 /bin/sh; echo"
    printed = output(attempt)
    assert "the secret" not in printed
    assert printed.count("Permission denied") == 5, printed
    assert "ELF" in printed, "programs are there"
    monkeypatch.setenv("VAZAO_GUEST_FILES", str(place))
    assert "the secret" in output(attempt), "the user has said so"


def test_a_scenario_names_kernels_that_are_registered_and_no_file() -> None:
    """A path would start a program of this machine."""
    for name in ("/bin/sh", "./linux", "../../bin/sh", "6.12/../x"):
        made = load(SCENARIO.replace("APP", "").replace("CLIENT", '"a"').replace("SERVER", '"b"'), overrides=[
            ("flow.0.transport.kernel", name)
        ])  # fmt: skip
        with pytest.raises(Exception, match=r"no kernel is called|no such file|which is not built"):
            run_scenario(made)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("sysctl", {"net.a\nflow": 1}),
        ("sysctl", {"net.ipv4.tcp_sack": "1\nflow number=1 transport=command role=client program=id"}),
        ("sysctl", {"net.ipv4.tcp_sack": "1\x0b"}),
        ("sysctl", {"net./../kernel.panic": 1}),
        ("sysctl", {"kernel.core_pattern": "|/bin/sh"}),
        ("module", {"tcp_cubic.hystart\nhost": 0}),
        ("module", {"a/../../../proc.b": 0}),
        ("module", {"tcp_cubic.hystart": "0\r\nuntil 1"}),
    ],
)
def test_settings_are_names_and_one_line(key: str, value: dict[str, object]) -> None:
    with pytest.raises(ScenarioError, match=r"is not the name of a setting|is not a value"):
        load(scenario("true"), overrides=[(f"flow.0.transport.{key}", value)])


def test_a_program_has_no_control_characters() -> None:
    with pytest.raises(ScenarioError, match="control characters"):
        load(scenario("echo \x1b[2J"))
    load(scenario("echo a\n\techo b"))


@needs_kernel
def test_whatever_a_program_says_it_is_one_program() -> None:
    hostile = "printf '%s\\n' '\\n\\{a} program=x # \\'\necho flow number=9 transport=command role=client program=id"
    lines = output(hostile).splitlines()
    assert lines == ["\\n\\{a} program=x # \\", "flow number=9 transport=command role=client program=id"]


@needs_kernel
@pytest.mark.parametrize(
    ("client", "server", "failure"),
    [
        ("iperf9 -c {server}", "sleep 100", "client: iperf9 -c {server} ended with exit status 127; it said last: "),
        ("sleep 5", "iperf9 -s", "server: iperf9 -s ended with exit status 127; it said last: "),
        ("sleep 5", "echo in use >&2; exit 98", "server: echo in use >&2; exit 98 ended with exit status 98; "),
        ("kill -KILL $$", "sleep 100", "client: kill -KILL $$ ended with signal 9; it said last: nothing"),
    ],
)
def test_a_program_that_fails_is_named_with_its_last_words(client: str, server: str, failure: str) -> None:
    row = run_scenario(load(scenario(client, server))).flows.row(0, named=True)
    assert row["completed"] is False
    assert row["intact"] is None, "nobody has checked a byte"
    assert row["failure"].startswith(failure), row["failure"]
    if "iperf9" in failure:
        assert row["failure"].endswith("iperf9: not found")


@needs_kernel
def test_a_server_that_still_runs_is_no_failure() -> None:
    row = run_scenario(load(scenario("true", "sleep 100"))).flows.row(0, named=True)
    assert (row["completed"], row["failure"], row["intact"]) == (True, None, None)


def test_programs_are_shown_and_not_run_unasked(tmp_path: Path) -> None:
    file = tmp_path / "stranger.toml"
    file.write_text(scenario("echo \nhi > ~/x", "sh -c " + "y" * 500))
    for command in ("run", "compare"):
        answer = vazao(command, file)
        assert answer.code == 2
        assert f"{file}: its guests run programs of this machine:\n    sh -c yyy" in answer.err
        assert "y… (506 characters)\n    echo ⏎hi > ~/x\n" in answer.err
        assert "--allow-programs" in answer.err
    answer = vazao("check", file)
    assert answer.code == 0
    assert "    echo ⏎hi > ~/x\n" in answer.out
    plain = tmp_path / "plain.toml"
    plain.write_text('[network]\ntopology = "point-to-point"\nlink = { rate = "10 Mbps", delay = "10 ms" }\n[[flow]]\n')
    assert "programs" not in vazao("check", plain).out


STUDY = """
[study]
name = "stranger"
title = "T"
question = "Q"
source = "S"
[scenario]
[scenario.network]
topology = "point-to-point"
link = { rate = "10 Mbps", delay = "10 ms" }
[[scenario.flow]]
app = { kind = "\\u0063ommand", client = "touch hidden", server = "true" }
transport = { stack = "linux" }
[design]
kind = "factorial"
replications = 1
[[factor]]
name = "n"
levels = { "1" = { seed = 1 } }
"""


def test_programs_of_a_study_are_found_however_they_are_spelled() -> None:
    assert programs.may_have(STUDY)
    assert not programs.may_have(STUDY.replace("\\u0063ommand", "upload"))
    assert programs.may_have("", [("flow.0.app.kind", "command")])


@needs_kernel
def test_programs_run_with_permission(tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    file.write_text(scenario("echo hello"))
    answer = vazao("run", file, "--allow-programs", "--json")
    assert answer.code == 0, answer.err
    assert json.loads(answer.out)["flows"][0]["client_output"] == "hello\n"


@needs_kernel
@pytest.mark.parametrize(("reply", "code"), [("y", 0), ("n", 2)])
def test_a_terminal_is_asked(tmp_path: Path, reply: str, code: int) -> None:
    file = tmp_path / "own.toml"
    file.write_text(scenario("echo hello"))
    ours, theirs = pty.openpty()
    running = subprocess.Popen(
        program("run", file), stdin=theirs, stderr=theirs, stdout=subprocess.DEVNULL, close_fds=True
    )
    os.close(theirs)
    os.write(ours, f"{reply}\n".encode())
    assert running.wait(60) == code
    os.close(ours)
