"""Inspection of User Mode Linux binaries."""

from __future__ import annotations

import re
import struct
import subprocess
from pathlib import Path

from vazao.files import explained
from vazao.kernel.cache import Kernel, digest
from vazao.kernel.errors import KernelError

NEEDED = (
    *("64BIT", "UML_TIME_TRAVEL_SUPPORT", "VIRTIO_UML", "VIRTIO_NET", "HIGH_RES_TIMERS", "NO_HZ_IDLE"),
    *(
        "BLK_DEV_INITRD",
        "BINFMT_ELF",
        "BINFMT_SCRIPT",
        "HOSTFS",
        "PROC_FS",
        "PROC_SYSCTL",
        "SYSFS",
        "DEVTMPFS",
        "TMPFS",
    ),
    *("TTY", "NULL_CHAN", "PRINTK", "MULTIUSER", "FUTEX", "EPOLL", "POSIX_TIMERS", "TIMERFD"),
    *("NET", "UNIX", "INET", "IP_ADVANCED_ROUTER", "IP_MULTIPLE_TABLES"),
    "STATIC_USERMODEHELPER",
)
"""Options that a guest kernel requires. The rest of the configuration adds protocols and algorithms."""

FORBIDDEN = {
    "UML_RANDOM": "it reads the host's randomness, so that no run could be repeated",
    "COREDUMP": "a program in it could have another one started with every right",
    "MODULES": "a program in it could have another one started with every right",
    "USER_NS": "a program in it could give itself every right",
    "BLK_DEV_UBD": "it writes files of the host",
    "MCONSOLE": "it takes orders from outside",
}

PATIENCE = 10.0
"""Seconds within which a kernel must report its version and configuration; it takes milliseconds."""


def inspect(path: Path) -> Kernel:
    """Describe the binary at `path`. Raises `KernelError` if it is no kernel for guests."""
    with explained(path, "read"):
        content = path.read_bytes()
    _check_elf(path, content[:20])
    config = _ask(path, "--showconfig")
    if "CONFIG_UML=y" not in config:
        raise KernelError(f"{path}: is a program, but no User Mode Linux kernel (it was asked with --showconfig)")
    check_options(str(path), config)
    release = _ask(path, "--version").strip()
    series = re.match(r"\d+\.\d+", release)
    if not series:
        raise KernelError(f"{path}: --version says {release[:60]!r}, which is no kernel's version")
    return Kernel(
        path=path.absolute(),
        series=series[0],
        release=release,
        package_version=None,
        hz=int(value(config, "HZ") or 0),
        config_sha256=digest(config.encode()),
        sha256=digest(content),
        source="elsewhere",
        compiler=(value(config, "CC_VERSION_TEXT") or "").strip('"'),
    )


def check_options(what: str, config: str) -> None:
    """Raise `KernelError` if `config` lacks options that a guest needs, or sets options that it must not have."""
    if lacking := [f"CONFIG_{option}" for option in NEEDED if value(config, option) != "y"]:
        raise KernelError(f"{what}: cannot be a guest without {', '.join(lacking)}; set them and build it again")
    for option, reason in FORBIDDEN.items():
        if value(config, option):
            raise KernelError(f"{what}: must be built without CONFIG_{option}: {reason}")
    if value(config, "STATIC_USERMODEHELPER_PATH") != '""':
        raise KernelError(
            f'{what}: must be built with CONFIG_STATIC_USERMODEHELPER_PATH="", so that it starts no program'
        )


def value(config: str, option: str) -> str | None:
    """The value of an option; None if it is not set."""
    found = re.search(rf"^CONFIG_{option}=(.*)$", config, re.MULTILINE)
    return found[1] if found else None


def _check_elf(path: Path, head: bytes) -> None:
    if len(head) < 20 or head[:4] != b"\x7fELF":
        raise KernelError(f"{path}: is no program (ELF); the kernel is the file `linux` that `make ARCH=um` makes")
    machine = struct.unpack_from("<H", head, 18)[0]
    if head[4:6] != b"\x02\x01" or machine != 62:
        raise KernelError(f"{path}: is no program for x86-64; guests need one")


def _ask(path: Path, question: str) -> str:
    try:
        answer = subprocess.run(
            [path.absolute(), question], stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE, check=False
        )
    except subprocess.TimeoutExpired:
        raise KernelError(f"{path}: did not answer {question} within {PATIENCE:g} s; it is no kernel") from None
    except OSError as error:
        raise KernelError(f"{path}: cannot be run: {error.strerror}") from None
    if answer.returncode:
        messages = answer.stderr.decode(errors="replace").strip().splitlines() or ["nothing"]
        raise KernelError(f"{path}: {question} failed; it said: {messages[-1][:200]}")
    return answer.stdout.decode(errors="replace")
