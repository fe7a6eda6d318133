"""Runs the benchmark's scenarios in ns-3, ns-2 and htsim, where they are installed."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

HERE = Path(__file__).parent
TIMEOUT_S = 600
MODULES = ("core", "network", "internet", "point-to-point", "applications", "traffic-control")


def children_cpu_s() -> float:
    """CPU seconds of all child processes that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def child_cpu_s(command: list[str]) -> tuple[float, str]:
    """CPU seconds and standard output of a command."""
    before = children_cpu_s()
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=True)
    return children_cpu_s() - before, done.stdout


def gbps(flows: int) -> int:
    """Rate of the bottleneck in Gbit/s."""
    return 10 if flows >= 10_000 else 1


def compile_program(name: str, *arguments: str) -> tuple[tempfile.TemporaryDirectory[str], str]:
    """Compile `name`.cc. Returns its directory, which is removed with the object, and the program's path."""
    directory = tempfile.TemporaryDirectory(prefix=f"bench-{name}-")
    program = str(Path(directory.name) / "scenario")
    command = ["g++", "-std=c++17", str(HERE / f"{name}.cc"), *arguments, "-o", program]
    subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=True)
    return directory, program


class Ns3:
    """ns-3: runs `ns3.cc`, compiled with optimisation into a temporary directory."""

    name = "ns-3"
    #: Simulated seconds for a number of flows: short, as a second costs several.
    seconds: ClassVar[Mapping[int, int]] = {1: 4, 100: 2}

    def __init__(self) -> None:
        packages = [f"ns3-{module}" for module in MODULES]
        answer = subprocess.run(
            ["pkg-config", "--cflags", "--libs", *packages], capture_output=True, text=True, check=True
        ).stdout.split()
        # The libraries that ns-3 itself uses are given by path, and need not be installed to link.
        flags = [flag for flag in answer if flag.startswith(("-I", "-D", "-L", "-l"))]
        version = subprocess.run(
            ["pkg-config", "--modversion", packages[0]], capture_output=True, text=True, check=True
        ).stdout.strip()
        self.version = f"ns-3 {version}"
        self._directory, self._program = compile_program("ns3", "-O2", *flags)

    @staticmethod
    def is_installed() -> bool:
        """Whether it can be compiled on this machine."""
        if not all(map(shutil.which, ("pkg-config", "g++"))):
            return False
        return subprocess.run(["pkg-config", "--exists", "ns3-core"], check=False).returncode == 0

    def speed(self, flows: int) -> float:
        """Packet-hops per CPU-second. The program times its own event loop, without set-up."""
        _, text = child_cpu_s([self._program, f"--flows={flows}", f"--seconds={self.seconds[flows]}"])
        hops, cpu_s = text.split()
        return float(hops) / float(cpu_s)


class Ns2:
    """ns-2: runs `ns2.tcl`."""

    name = "ns-2"
    version = "ns-2"
    seconds: ClassVar[Mapping[int, int]] = {1: 20, 100: 20}

    @staticmethod
    def is_installed() -> bool:
        """Whether the command `ns` is installed."""
        return shutil.which("ns") is not None

    def speed(self, flows: int) -> float:
        """Packet-hops per CPU-second. The script's cost with zero simulated time is set-up, and is subtracted."""
        command = ["ns", str(HERE / "ns2.tcl"), str(flows)]
        setup_s, _ = child_cpu_s([*command, "0"])
        cpu_s, text = child_cpu_s([*command, str(self.seconds[flows])])
        # The agent prints lines of its own.
        hops = next(line.split()[1] for line in text.splitlines() if line.startswith("hops "))
        return float(hops) / (cpu_s - setup_s)


class Htsim:
    """htsim: runs `htsim.cc` with the library built from the sources in `$HTSIM` (its directory `sim`)."""

    name = "htsim"
    version = "htsim"
    seconds: ClassVar[Mapping[int, float]] = {1: 20, 100: 20, 1000: 5, 10_000: 1}
    transport = (
        '{ kind = "tcp", cc = "reno", host = "rfc", recovery = "newreno", '
        "sack = false, timestamps = false, delayed_ack = 1, mss = 1460 }"
    )
    """Our transport with the same behaviour: NewReno without SACK in packets of 1500 bytes, each acknowledged."""

    def __init__(self) -> None:
        sources = os.environ["HTSIM"]
        arguments = ["-O3", "-w", "-I", sources, f"{sources}/libhtsim.a"]
        self._directory, self._program = compile_program("htsim", *arguments)

    @staticmethod
    def is_installed() -> bool:
        """Whether its library has been built."""
        return shutil.which("g++") is not None and Path(os.environ.get("HTSIM", ""), "libhtsim.a").is_file()

    def speed(self, flows: int) -> float:
        """Packet-hops per CPU-second. The program times its own event loop, without set-up."""
        _, text = child_cpu_s([self._program, f"{flows}", f"{self.seconds[flows]}", f"{gbps(flows)}"])
        hops, cpu_s = text.split()
        return float(hops) / float(cpu_s)


RIVALS: tuple[type[Ns3] | type[Ns2] | type[Htsim], ...] = (Ns3, Ns2, Htsim)
