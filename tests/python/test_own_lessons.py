"""User-defined lessons: accepted files, reported mistakes, and untrusted texts in a page."""

from __future__ import annotations

import csv
import json
import re
import subprocess
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from browsers import needs_chromium
from command import caller, program
from vazao import seeing
from vazao.errors import VazaoError

BUNDLE = Path(seeing.__file__).parent / "static"

MINE = """
title = "Queues of mine"
about = "Delay that nobody ordered. <img src=x onerror=document.title='caught'>"

[[step]]
title = "A <b>queue</b>"
text = "The mean round-trip time is {flows[0].rtt_mean_s * 1000:.0f} ms. <b>No markup.</b>"
move = ["network.link.queue"]
scenario = '''
name = "mine"
until = "3 s"
[network]
topology = "point-to-point"
link = { rate = "10 Mbps", delay = "10 ms", queue = "100 packets" }
[[flow]]
app = { kind = "upload" }
transport = { kind = "tcp", cc = "cubic" }
'''
[step.question]
kind = "number"
ask = "How large is the 99th percentile of the round-trip time, in milliseconds?"
of = "flows[0].rtt_p99_s * 1000"
answer = 140
tolerance = 20
why = "It is {flows[0].rtt_p99_s * 1000:.0f} ms."

[[step]]
title = "Smaller"
text = "Now 20 packets."
pin = true
set = { "network.link.queue" = "20 packets" }
[step.question]
kind = "choice"
ask = "Which is shorter?"
options = ["this", "the one before"]
right = 0
why = "A queue of a fifth."
"""


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    path = tmp_path / "mine.toml"
    path.write_text(MINE, encoding="utf-8")
    return path


def test_a_users_lesson_is_read_like_a_built_in_one(mine: Path) -> None:
    lesson = seeing.own_lesson(mine)
    assert lesson["name"] == "mine.toml"
    assert lesson["name"] not in seeing.lessons()
    built_in = next(iter(seeing.lessons().values()))
    assert lesson.keys() == built_in.keys()
    assert [step["title"] for step in lesson["steps"]] == ["A <b>queue</b>", "Smaller"]
    assert lesson["steps"][1]["set"] == {"network.link.queue": "20 packets"}


def test_built_in_lessons_are_valid(tmp_path: Path) -> None:
    folder = Path(seeing.__file__).parents[1] / "lessons"
    paths = sorted(folder.glob("*.toml"))
    assert len(paths) > 15
    for path in paths:
        assert seeing.own_lesson(path)["steps"] == seeing.lessons()[path.stem]["steps"], path


# A piece of the lesson, its replacement, and the resulting message.
@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('title = "A <b>', 'titel = "A <b>', r":6: step\.0\.titel: unknown key; did you mean 'title'\?"),
        ("about =", "abuot =", r":3: abuot: unknown key; did you mean 'about'\?"),
        ('"number"', '"nunber"', r"step\.0\.question\.kind: .* write \"choice\", \"number\" or \"goal\""),
        ("answer = 140", 'answer = "140"', r":23: step\.0\.question\.answer: should be a number"),
        ("tolerance = 20\n", "", r"step\.0\.question\.tolerance: is missing"),
        ("right = 0", "right = 2", r"step\.1\.question\.right: is no number of an option; the first is 0"),
        ("pin = true", 'pin = "yes"', r"step\.1\.pin: should be a boolean"),
        (
            '"network.link.queue" =',
            '"network.link.quue" =',
            r'step\.1\.set: .*unknown key "quue"; did you mean "queue"',
        ),
        ('"network.link.queue" =', '"flow.3.start" =', r"step\.1\.set: flow\.3\.start: leads nowhere"),
        ('"network.link.queue" =', '"network.x.y" =', r'step\.1\.set: network\.x: unknown key "x"'),
        ('"network.link.queue" =', '"__proto__.polluted" =', r"step\.1\.set.*is no key of a scenario"),
        ('move = ["network.link.queue"]', 'move = ["constructor.x"]', r"step\.0\.move.*is no key of a scenario"),
        ("10 Mbps", "10 MB/s", r"step\.0\.scenario: .*write \"80 Mbps\""),
        ('cc = "cubic"', 'cc = "mine.py:Mine"', r"step\.0\.scenario: .*unknown congestion control \"mine\.py:Mine\""),
        ("scenario = '''", "about = '''", r"step\.0\.about: unknown key"),
        ("[[step]]", "[step]", r":27: "),
    ],
)
def test_a_mistake_in_a_lesson_is_told_with_its_place(mine: Path, old: str, new: str, message: str) -> None:
    assert old in MINE
    mine.write_text(MINE.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(VazaoError, match=message) as wrong:
        seeing.own_lesson(mine)
    assert str(wrong.value).startswith(str(mine))
    assert "\n" not in str(wrong.value)


def test_the_command_names_what_a_lesson_may_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    vazao = caller(monkeypatch, capsys)
    for lesson, told in [
        ("slow-strat", "did you mean 'slow-start'?; one of yours is a file, as mine.toml"),
        ("none.toml", "none.toml: no such file"),
    ]:
        answer = vazao("play", "--lesson", lesson)
        assert (answer.code, answer.out) == (2, "")
        assert told in answer.err


@pytest.mark.skipif(not (BUNDLE / "play.js").exists(), reason="the laboratory is not built; make web")
def test_a_strangers_lesson_ends_no_element_of_the_page(mine: Path) -> None:
    mine.write_text(MINE.replace("No markup.", "</script><script>document.title='caught'</script>"), encoding="utf-8")
    text = seeing.play_page(lesson="mine.toml", own=seeing.own_lesson(mine), served=True).text
    content = re.search(r"<script type=\"application/json\" data-content>(.*?)</script>", text, re.DOTALL)
    assert content
    assert json.loads(content[1])["lessons"][0]["steps"][0]["text"].endswith("</script></b>")
    assert "caught'</script>" not in text


@needs_chromium
@pytest.mark.skipif(not (BUNDLE / "play.js").exists(), reason="the laboratory is not built; make web")
def test_a_lesson_of_ones_own_is_walked_and_its_answers_are_collected(browser: Any, mine: Path) -> None:
    pytest.importorskip("starlette")
    command = program("play", "--lesson", str(mine), "--serve", "--no-browser", "--json")
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout
        address = json.loads(server.stdout.readline())
        page = browser.new_page(viewport={"width": 1400, "height": 900})
        page.goto(address["address"])
        page.wait_for_selector("body[data-settled=true]")
        # Text of an untrusted lesson stays text, and the page fills in its own numbers.
        page.wait_for_function("() => /time is \\d+ ms/.test(document.querySelector('.lesson .prose').textContent)")
        assert page.locator(".lesson h2").inner_text() == "A <b>queue</b>"
        assert page.locator(".lesson .prose b, .lesson h2 b, .lesson img").count() == 0
        assert page.title() != "caught"
        # The number that the question asks for can be read off the page.
        assert "RTT p99" in page.locator(".numbers-table thead").inner_text()
        for answer in "=1+1", "7", "140":
            page.get_by_label("Answer", exact=True).fill(answer)
            page.get_by_role("button", name="Check").click()
        assert "Right" in page.locator(".verdict").inner_text()
        page.get_by_role("button", name="Next step").click()
        page.get_by_label("the one before").check()
        with page.expect_download() as slide:
            page.get_by_role("button", name="The plots as one picture").click()
        # Twice the resolution of 1280 by 720.
        assert Image.open(BytesIO(Path(slide.value.path()).read_bytes())).size == (2560, 1440)
        page.get_by_role("button", name="Save the answers to this lesson as a file").click()
        page.get_by_label("Your name").fill("=Ana")
        files = {}
        for kind in "CSV", "JSON":
            with page.expect_download() as saved:
                page.get_by_role("button", name=f"Save the answers as {kind}").click()
            files[kind] = Path(saved.value.path()).read_text(encoding="utf-8")
        page.close()
        server.terminate()
    assert address["lessons"][0] == "mine.toml"
    rows = list(csv.DictReader(files["CSV"].splitlines()))
    expected = [("1", "7", "false", "1"), ("1", "140", "true", "2"), ("2", "the one before", "false", "1")]
    assert [(row["step"], row["answer"], row["right"], row["attempt"]) for row in rows] == expected
    assert {row["name"] for row in rows} == {"'=Ana"}
    assert [one["answer"] for one in json.loads(files["JSON"])["answers"]] == [answer for _, answer, *_ in expected]
