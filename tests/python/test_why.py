"""Causes of slow flows: known ones are named, and none where there is none; output of `vazao why`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import vazao as vz
from command import Vazao, caller
from documents import ROOT
from vazao import limits
from vazao.causes import MOST_RUNS, SUSPECTS, Answer, sentence, why
from vazao.causes.bound import idle

sys.path.insert(0, str(ROOT / "bench"))
import causes


@pytest.fixture
def vazao(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Vazao:
    """Calls the command in an empty directory."""
    monkeypatch.chdir(tmp_path)
    return caller(monkeypatch, capsys)


def asked(tmp_path: Path, link: str, transport: str, app: str = 'kind = "upload", size = "20 MB"') -> Answer:
    """The answer about one flow over one link."""
    file = tmp_path / "one.toml"
    file.write_text(
        f'[network]\ntopology = "point-to-point"\nlink = {{ {link} }}\n'
        f"[[flow]]\ntransport = {{ {transport} }}\napp = {{ {app} }}\n"
    )
    return why(vz.load(file), seeds=3)


@pytest.mark.parametrize("seed", range(1, 19))
def test_a_known_cause_is_named_first(tmp_path: Path, seed: int) -> None:
    """The first of 300 networks, of which `python bench/causes.py` asks about all."""
    one = causes.case(seed)
    answer = causes.ask(one, tmp_path)
    assert causes.is_right(one, answer), f"{sorted(one.causes)}, not {causes.named(answer)}\n{one.text}"
    assert answer.runs <= MOST_RUNS


def test_a_full_path_is_the_answer(tmp_path: Path) -> None:
    """A flow that fills its path has what the bound says, to a thousandth, and nobody is blamed."""
    answer = asked(tmp_path, 'rate = "50 Mbps", delay = "10 ms", queue = "2 bdp"', 'kind = "tcp"')
    assert answer.steps == []
    assert answer.bound is not None
    assert answer.goodput_bps == pytest.approx(answer.bound.goodput_bps, rel=5e-3)
    assert "the path is the limit" in sentence(answer)
    assert answer.limits[limits.PATH] > 0.9


def test_a_window_explains_what_it_costs(tmp_path: Path) -> None:
    """A window of 300 kB over 100 ms is 24 Mbit/s at most; without it the path is full."""
    answer = asked(
        tmp_path, 'rate = "100 Mbps", delay = "50 ms", queue = "2 bdp"', 'kind = "tcp", receive_buffer = "300 kB"'
    )
    assert answer.goodput_bps < 24e6
    first = answer.steps[0]
    assert first.removed == {"receive window"}
    assert first.goodput_bps > 2 * answer.goodput_bps
    assert answer.limits["receive_window"] > 0.5
    assert "the receive window of 300 kB explains" in sentence(answer)
    assert answer.seeds == 1, "nothing is random"


def test_a_feed_is_measured_by_what_it_offers(tmp_path: Path) -> None:
    """A feed of 10 Mbit/s is 1 % of its link: reordering that takes most of it is the answer nevertheless."""
    late = 'jitter = { deviation = "17 ms", distribution = "uniform", keeps_order = false }'
    answer = asked(
        tmp_path,
        f'rate = "1 Gbps", delay = "60 ms", {late}',
        'kind = "quic", cc = "cubic"',
        'kind = "cbr", rate = "10 Mbps", duration = "5 s"',
    )
    assert answer.bound is not None
    assert 9e6 < answer.bound.goodput_bps <= 10e6
    assert answer.steps[0].removed == {"reordering"}
    assert answer.steps[0].goodput_bps > 0.9 * answer.bound.goodput_bps


def test_causes_that_hide_each_other_are_found(tmp_path: Path) -> None:
    """Two equal windows cost nothing alone; without both, slow start takes most of what is left."""
    answer = asked(
        tmp_path,
        'rate = "100 Mbps", delay = "50 ms", queue = "2 bdp"',
        'kind = "tcp", host = "rfc", receive_buffer = "300 kB", send_buffer = "300 kB"',
    )
    assert set(answer.hiding[:2]) == {"receive window", "send buffer"}
    assert "hide each other" in sentence(answer)


def test_losses_have_an_interval(tmp_path: Path) -> None:
    answer = asked(tmp_path, 'rate = "50 Mbps", delay = "10 ms", queue = "2 bdp", loss = 0.01', 'kind = "tcp"')
    assert answer.steps[0].removed == {"random loss"}
    (alone,) = [effect for effect in answer.alone if effect.removed == {"random loss"}]
    assert alone.interval is not None
    assert alone.interval[0] < alone.gain_bps < alone.interval[1]


def test_slow_start_waits_as_long_as_its_rounds() -> None:
    """At 12 Mbit/s and 100 ms ten packets take 10 ms: rounds wait 90, 80, 60 and 20 ms."""
    assert idle(1e9, 12e6, 0.1) == pytest.approx(0.25)
    assert idle(40_000, 12e6, 0.1) == pytest.approx(0.09), "the second window is the last"


SLOW = """
[network]
topology = "point-to-point"
link = { rate = "100 Mbps", delay = "50 ms", queue = "2 bdp" }
[[flow]]
transport = { kind = "tcp", receive_buffer = "300 kB" }
app = { kind = "upload", size = "5 MB" }
"""


def test_the_command_answers_in_words_and_as_json(vazao: Vazao, tmp_path: Path) -> None:
    (tmp_path / "slow.toml").write_text(SLOW)
    answer = vazao("why", "slow.toml", "--html", "why.html")
    assert answer.code == 0, answer.err
    assert "the receive window of 300 kB" in " ".join(answer.out.split())
    page = (tmp_path / "why.html").read_text(encoding="utf-8")
    assert "<svg" in page
    assert "http://" not in page.replace("http://www.w3.org", "")
    told = json.loads(vazao("why", "slow.toml", "--json").out)
    assert told["steps"][0]["removed"] == ["receive window"]
    assert set(told["limits"]) <= set(limits.WORDS)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("slow.toml", "--flow", "3"), "--flow 3: there is 1 flow, numbered from 0"),
        (("slow.toml", "--runs", "1"), "--runs"),
        (("tcp-bakeoff.toml",), "tcp-bakeoff.toml"),
    ],
)
def test_mistakes_are_answered(vazao: Vazao, tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    (tmp_path / "slow.toml").write_text(SLOW)
    answer = vazao("why", *arguments)
    assert answer.code == 2
    assert message in answer.err


def test_a_suspect_can_be_said_in_a_sentence() -> None:
    names = [suspect.name for suspect in SUSPECTS]
    assert len(set(names)) == len(names)
    assert all(suspect.remedy and suspect.who in {"sender", "receiver", "network", "nobody"} for suspect in SUSPECTS)
    known = {limit for suspect in SUSPECTS for limit in suspect.evidence}
    assert known <= set(limits.WORDS)
