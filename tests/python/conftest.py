"""Shared fixtures: a small study that runs in well under a second, and one that needs a Linux kernel."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from browsers import browser as browser, chromium as chromium
from suite import pytest_collection_modifyitems as pytest_collection_modifyitems, pytest_configure as pytest_configure
from vazao.results import Study
from vazao.scenario import loader
from vazao.study import parse_as

TOY = """
[study]
name = "toy"
title = "A toy"
question = "Which one?"
seed = 5

[scenario]
name = "toy"

[scenario.network]
topology = "dumbbell"
access = { rate = "1 Gbps", delay = "1 ms" }
bottleneck = { rate = "10 Mbps", delay = "5 ms", queue = "20 packets", loss = 0.005 }

[[scenario.flow]]
app = { kind = "upload", size = "200 kB" }
transport = { kind = "tcp", cc = "cubic" }

[[part]]
name = "grid"
replications = { quick = 2, full = 3 }

[[part.factor]]
name = "bandwidth"
sets = "network.bottleneck.rate"
levels = ["1 Mbps", "10 Mbps", "100 Mbps"]
quick = ["1 Mbps", "100 Mbps"]

[[part.factor]]
name = "variant"
levels.reno = { "flow.0.transport.cc" = "reno" }
levels.cubic = { "flow.0.transport.cc" = "cubic" }

[[part]]
name = "again"
replications = 2

[[part.factor]]
name = "bandwidth"
sets = "network.bottleneck.rate"
levels = ["10 Mbps", "100 Mbps"]
quick = ["100 Mbps"]

[[figure]]
id = "utilisation"
title = "Utilisation"
sql = "SELECT bandwidth_bps, variant, utilisation FROM runs WHERE part = 'grid'"
x = "bandwidth_bps"
y = "utilisation"
color = "variant"
x_scale = "log"
error = "ci95"
finding = "busy"

[[finding]]
id = "busy"
claim = "The link is never idle"
reported = "above 0"
per = "variant"
sql = "SELECT avg(utilisation) AS mean, min(utilisation) > 0 AS holds FROM runs WHERE variant = $variant"
measured = "{mean:.2f}"

[[finding]]
id = "moon"
claim = "It works on the moon"
not_testable = "there is no moon here"
"""


STACKS = """
[study]
name = "stacks"
title = "Two stacks"

[scenario]
name = "two stacks"

[scenario.network]
topology = "point-to-point"
link = { rate = "10 Mbps", delay = "5 ms", queue = "1 bdp" }

[[scenario.flow]]
app = { kind = "upload", size = "50 kB" }
transport = { kind = "tcp", cc = "reno" }

[[part]]
name = "both"

[[part.factor]]
name = "stack"
levels.vazao = { "flow.0.transport.stack" = "vazao" }
levels.linux = { "flow.0.transport.stack" = "linux" }

[[part.factor]]
name = "bandwidth"
sets = "network.link.rate"
levels = ["1 Mbps", "10 Mbps"]

[[part]]
name = "ours"

[[figure]]
id = "goodput"
title = "Goodput"
sql = "SELECT bandwidth, runs.stack, goodput_bps FROM flows JOIN runs USING (run_id) WHERE part = 'both'"
kind = "bar"
x = "bandwidth"
y = "goodput_bps"
color = "stack"
finding = "same"

[[finding]]
id = "same"
claim = "Both stacks complete"
sql = "SELECT bool_and(completed) AS holds FROM flows JOIN runs USING (run_id) WHERE part = 'both'"

[[finding]]
id = "each"
claim = "Each stack is busy"
per = "stack"
sql = "SELECT min(utilisation) > 0 AS holds FROM runs WHERE part = 'both' AND stack = $stack"

[[finding]]
id = "needed"
claim = "Ours is busy"
needs = { stack = "vazao" }
sql = "SELECT min(utilisation) > 0 AS holds FROM runs WHERE part = 'both' AND stack = 'vazao'"

[[finding]]
id = "apart"
claim = "Ours is busy elsewhere"
sql = "SELECT min(utilisation) > 0 AS holds FROM runs WHERE part = 'ours'"
"""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--untimed", action="store_true", help="all tests but those that compare times, which run alone")
    parser.addoption(
        "--write-verdicts",
        action="store_true",
        help="write tests/python/verdicts.toml from the quick runs of the built-in studies (test_studies.py)",
    )


def pytest_unconfigure() -> None:
    """Keep pytest's summary the last output of the run.

    Hypothesis leaves a function in `gc.callbacks`. The interpreter frees it only after it has torn down all modules,
    and everything reachable from the function lives as long. DuckDB's binding (nanobind) checks for leaks before that,
    and would report a hundred lines of leaks that are neither ours nor DuckDB's.
    """
    gc.callbacks[:] = [each for each in gc.callbacks if not getattr(each, "__module__", "").startswith("hypothesis.")]


@pytest.fixture
def stacks() -> Study:
    """Study whose larger part needs a Linux kernel for half of its runs."""
    return parse_as(Study, STACKS, "stacks.toml")


@pytest.fixture
def stacks_file(tmp_path: Path) -> Path:
    path = tmp_path / "stacks.toml"
    path.write_text(STACKS)
    return path


@pytest.fixture
def no_kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Machine without a built kernel."""
    with monkeypatch.context() as patch:
        patch.setenv("VAZAO_CACHE", str(tmp_path / "no-cache"))
        patch.delenv("VAZAO_KERNEL", raising=False)
        loader._kernels.cache_clear()
        yield
    loader._kernels.cache_clear()


@pytest.fixture
def toy_text() -> str:
    return TOY


@pytest.fixture
def toy() -> Study:
    return parse_as(Study, TOY, "toy.toml")


@pytest.fixture
def toy_file(tmp_path: Path) -> Path:
    path = tmp_path / "toy.toml"
    path.write_text(TOY)
    return path


@pytest.fixture
def edited() -> Callable[[str, str], str]:
    """Replaces one piece of the toy study's text by another."""

    def edit(old: str, new: str) -> str:
        assert TOY.count(old) >= 1, old
        return TOY.replace(old, new, 1)

    return edit
