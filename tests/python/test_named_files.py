"""Files that a scenario names must be regular and of limited size, whoever wrote the scenario."""

import os
import stat
from pathlib import Path

import pytest

from command import vazao

pytestmark = pytest.mark.process

SCENARIO = """
[network]
topology = "point-to-point"
link = {{ rate = {{ trace = "{trace}" }}, delay = "10 ms" }}
[[flow]]
app = {{ kind = "upload", size = "10 kB" }}
"""


def checked(directory: Path, trace: str) -> str:
    """Error of `vazao check` for a scenario with this trace, which it must refuse at once."""
    path = directory / "scenario.toml"
    path.write_text(SCENARIO.format(trace=trace))
    done = vazao("check", path)
    assert done.code == 2, done
    assert "network.link.rate.trace" in done.err
    assert "Traceback" not in done.err
    return done.err


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/random", "/dev/stdin", "/dev/tty"])
def test_a_device_is_no_trace(tmp_path: Path, device: str) -> None:
    assert device in checked(tmp_path, device)


def test_a_pipe_is_no_trace(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert "not a regular file" in checked(tmp_path, "pipe")


def test_a_link_to_a_device_is_no_trace(tmp_path: Path) -> None:
    (tmp_path / "trace").symlink_to("/dev/zero")
    assert "not a regular file" in checked(tmp_path, "trace")


def test_a_directory_is_no_trace(tmp_path: Path) -> None:
    assert "not a regular file" in checked(tmp_path, ".")


def test_a_trace_has_a_largest_size(tmp_path: Path) -> None:
    with (tmp_path / "trace").open("wb") as file:
        file.truncate(1 << 40)
    assert "the most are 67108864" in checked(tmp_path, "trace")


def test_what_a_file_says_that_is_no_trace_is_not_repeated(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("hunter2-is-my-password\n")
    secret.chmod(stat.S_IRUSR)
    assert "hunter2" not in checked(tmp_path, "secret")
