"""The host's programs in Linux guests: they run unmodified, cannot modify the host, and report their errors."""

from __future__ import annotations

from pathlib import Path

import pytest

from guests import LINUX, flow, needs_kernel, scenario
from tools import needs
from vazao.results import run_scenario
from vazao.scenario import load

PAGE = Path("/usr/share/common-licenses/GPL-3")
PYTHON = Path("/usr/bin/python3")


@needs_kernel
@needs("iperf3")
def test_iperf3_runs_unmodified() -> None:
    app = '{ kind = "command", server = "iperf3 -s -1", client = "iperf3 -c {server} -n 1M" }'
    row = flow(run_scenario(scenario(app=app, rtt=20)))
    assert row["completed"] is True
    assert row["failure"] is None
    assert "iperf Done." in row["client_output"]
    # iperf3 exits once it has written its megabyte: data still in the queue meets a closed socket.
    waiting = 2 * 84 * 1448
    assert 2**20 - waiting < row["app_bytes"] < 2**20 + 10_000 + 1448 * row["retransmissions"]
    assert 0.7 < row["completion_s"] < 1.6


@needs_kernel
@needs("curl")
@pytest.mark.skipif(not (PAGE.exists() and PYTHON.exists()), reason=f"no {PYTHON}, or no {PAGE}")
def test_curl_runs_unmodified() -> None:
    # A guest sees the host's files read-only, except for its own /tmp.
    server = f"cd {PAGE.parent} && {PYTHON} -m http.server --bind {{server}} 8000"
    client = "curl --fail --silent --retry 20 --retry-connrefused --retry-delay 1 --output /dev/null"
    client += f" http://{{server}}:8000/{PAGE.name}"
    app = f'{{ kind = "command", measured = "download", server = "{server}", client = "{client}" }}'
    row = flow(run_scenario(scenario(rtt=20, app=app)))
    assert (row["completed"], row["failure"]) == (True, None), row["client_output"]
    assert f"GET /{PAGE.name} HTTP/1.1" in row["server_output"]
    assert row["app_bytes"] > PAGE.stat().st_size


@needs_kernel
def test_what_a_program_says_when_it_fails() -> None:
    app = '{ kind = "command", server = "true", client = "echo no luck; exit 3" }'
    row = flow(run_scenario(scenario(app=app)))
    assert row["completed"] is False
    failed = "client: echo no luck; exit 3 ended with exit status 3; it said last: no luck"
    assert row["failure"] == failed
    assert row["client_output"] == "no luck\n"


@needs_kernel
def test_a_program_cannot_reach_the_files_of_the_host(tmp_path: Path) -> None:
    again = "mkdir /tmp/x && mount -t hostfs none /tmp/x -o / && touch /tmp/x{0}/evil"
    for attempt in (again.format(tmp_path), f"mount -o remount,rw / && touch {tmp_path}/evil"):
        row = flow(run_scenario(scenario(app=f'{{ kind = "command", server = "true", client = "{attempt}" }}')))
        assert row["completed"] is False, attempt
        assert "permission denied" in row["client_output"].lower(), attempt
    assert list(tmp_path.iterdir()) == []


@needs_kernel
def test_a_script_of_several_lines_is_one_program() -> None:
    app = """{ kind = "command", server = "true", client = "echo one\\nsysctl net.ipv4.tcp_sack 0\\necho two" }"""
    row = flow(run_scenario(scenario(app=app.replace("sysctl", "echo sysctl"))))
    assert row["client_output"] == "one\nsysctl net.ipv4.tcp_sack 0\ntwo\n"


@needs_kernel
def test_programs_that_never_end_are_given_an_hour() -> None:
    app = '{ kind = "command", server = "true", client = "sleep infinity" }'
    text = LINUX.replace('{ kind = "upload", size = "10 kB" }', app).replace("[[flow]]", '[[flow]]\nstart = "5 s"')
    result = run_scenario(load(text))
    assert flow(result)["completed"] is False
    assert result.runs["sim_s"][0] == 3605
    assert run_scenario(load('until = "7 s"\n' + text)).runs["sim_s"][0] == 7
