"""Pytest plugin for the test suite as a whole: marks derived from fixtures, the order of files, and the time budget.

Workers of pytest-xdist (`-n 2 --dist loadscope`) take one file at a time, so that what a file's tests share is made
once. Heavy files start first.
"""

from __future__ import annotations

import os
import sys
import tomllib
from collections import defaultdict
from collections.abc import Generator, Iterable, Mapping
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import settings

# A busy machine is not the code's fault: tests that check speed are marked as timed.
settings.register_profile("suite", deadline=None)
settings.load_profile("suite")

BUDGET = tomllib.loads((Path(__file__).parent / "budget.toml").read_text(encoding="utf-8"))
"""Share of the suite's processor time, in percent, that each file may take (`files`, or else `other`)."""

CPU = "cpu_s"
"""Property of a report: processor time since the previous test."""

KERNEL = "no Linux guest kernel"
"""Start of the skip reason of tests that need a guest kernel (`guests.needs_kernel`)."""


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Budget(config), "budget")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--untimed"):
        timed = [item for item in items if item.get_closest_marker("timed")]
        config.hook.pytest_deselected(items=timed)
        items[:] = [item for item in items if item not in timed]
    for item in items:
        if "browser" in getattr(item, "fixturenames", ()):
            item.add_marker("browser")
        if any(mark.kwargs.get("reason", "").startswith(KERNEL) for mark in item.iter_markers("skipif")):
            item.add_marker("guest")
    items.sort(key=lambda item: -BUDGET["files"].get(item.path.name, 0.0))


class Budget:
    """Fails a run of the whole suite in which a file takes more than its share of the processor time.

    Shares, not seconds, because machines differ; processor time, not elapsed time, because the latter depends more on
    the other worker than on the test.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._whole = not (config.option.keyword or config.option.markexpr or config.args_source.name == "ARGS")
        self._seconds: defaultdict[str, float] = defaultdict(float)
        self._exceeded: list[str] = []
        self._before = spent()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        if report.when == "teardown":
            now = spent()
            report.user_properties.append((CPU, now - self._before))
            self._before = now
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._seconds[Path(report.location[0]).name] += sum(
            float(str(value)) for name, value in report.user_properties if name == CPU
        )

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        if self._whole and not hasattr(session.config, "workerinput"):
            self._exceeded = exceeded(self._seconds, BUDGET["files"], BUDGET["other"])
            if self._exceeded and exitstatus == pytest.ExitCode.OK:
                session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        total = sum(self._seconds.values())
        if total > 60:
            terminalreporter.section("slowest files, by the processor's time")
            for file, seconds in sorted(self._seconds.items(), key=lambda one: -one[1])[:20]:
                terminalreporter.line(f"{seconds:7.1f} s {100 * seconds / total:5.1f} %  {file}")

    def pytest_unconfigure(self) -> None:
        """Prints what exceeds the budget as the last lines of the log, where everyone reads it."""
        for line in self._exceeded:
            print(f"BUDGET {line}", file=sys.stderr)


def spent() -> float:
    """Seconds of processor time of this process and its descendants, ended or not (Linux's /proc)."""
    ticks = 0
    family = [str(os.getpid())]
    while family:
        process = Path("/proc") / family.pop()
        with suppress(OSError):
            # After the name in parentheses: utime, stime, cutime and cstime are fields 14 to 17 (proc_pid_stat(5)).
            ticks += sum(int(field) for field in (process / "stat").read_text().rpartition(")")[2].split()[11:15])
            for task in (process / "task").iterdir():
                family += (task / "children").read_text().split()
    return ticks / os.sysconf("SC_CLK_TCK")


def exceeded(seconds: Mapping[str, float], budget: Mapping[str, float], other: float) -> list[str]:
    """Files whose share of the total time exceeds their budget, each with both numbers."""
    total = sum(seconds.values())
    shares: Iterable[tuple[str, float]] = ((file, 100 * spent / total) for file, spent in sorted(seconds.items()))
    return [
        f"{file} takes {share:.1f} % of the suite's processor time; budget.toml allows it {budget.get(file, other)} %"
        for file, share in shares
        if share > budget.get(file, other)
    ]
