"""The canonical form of scenarios is read back as what it was written from."""

from __future__ import annotations

import json
import os
import pickle
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest
from jsonschema import Draft202012Validator

import vazao
from fuzz import mutate
from fuzz.case import FILE, LONGEST, make, seconds
from fuzz.record import digests
from vazao import _core
from vazao.errors import ScenarioError, VazaoError
from vazao.results import load_study
from vazao.scenario import built_in_scenarios, from_json, load
from vazao.study import built_in_studies, combinations, scenario_of

CASES = int(os.environ.get("PROPTEST_CASES", "256"))
"""Number of random scenarios; `PROPTEST_CASES=10000 pytest tests/python/test_canonical.py -k random` reads as many."""

DOCS = Path(__file__).parents[2] / "docs"
PACKAGE = Path(vazao.__file__).parent
EXAMPLES = [
    path
    for folder in ("starts", "lessons")
    for path in sorted(PACKAGE.glob(f"{folder}/**/*.toml"))
    if "network" in tomllib.loads(path.read_text())
]

POINT_TO_POINT = """
[network]
topology = "point-to-point"
link = { rate = "10 Mbps", delay = "5 ms", loss = 0.01 }
[[flow]]
app = { kind = "upload", size = "100 kB" }
"""
ARRIVING = """
until = "5 s"
[network]
topology = "dumbbell"
pairs = 3
bottleneck = { rate = "10 Mbps", delay = "5 ms" }
access = { rate = "1 Gbps" }
[[flow]]
app = { kind = "arrivals", interval = "exponential 100 ms", sizes = "web-search", duration = "2 s" }
count = 3
[[flow]]
app = { kind = "page", objects = 3, size = "5 kB" }
start_spread = "1 s"
count = 2
[[flow]]
app = { kind = "upload", size = "10 kB" }
transport = { kind = "tcp", like = { client = "linux", server = "ns3" } }
"""


def same(scenario: _core.Scenario) -> _core.Scenario:
    """The scenario, read again from its canonical form."""
    again = from_json(scenario.json, name=scenario.name)
    assert again.json == scenario.json
    assert (again.run_id, again.name, again.seed) == (scenario.run_id, scenario.name, scenario.seed)
    return again


def random_scenarios(count: int) -> Iterator[_core.Scenario]:
    sources = mutate.sources()
    for seed in range(count):
        try:
            yield load(make("valid", seed, sources).text, file=FILE)
        except VazaoError:  # a few ask for more memory than there is
            continue


def test_random_scenarios_are_read_back() -> None:
    assert sum(same(scenario) is not None for scenario in random_scenarios(CASES)) > 0.9 * CASES


@pytest.mark.parametrize("name", built_in_scenarios())
def test_built_in_scenarios_are_read_back(name: str) -> None:
    same(load(built_in_scenarios()[name].read_text(), file=FILE))


@pytest.mark.parametrize("name", built_in_studies())
def test_a_run_of_each_part_of_the_studies_is_read_back(name: str) -> None:
    study = load_study(name)
    for part in study.parts:
        same(scenario_of(study, part, next(iter(combinations(part, "quick")))))


@pytest.mark.parametrize("text", [POINT_TO_POINT, ARRIVING], ids=["one", "arriving"])
def test_what_is_read_back_runs_alike(text: str) -> None:
    scenario = load(text)
    assert digests(_core.run(same(scenario))) == digests(_core.run(scenario))


def test_random_scenarios_that_are_read_back_run_alike() -> None:
    small = [scenario for scenario in random_scenarios(60) if seconds(scenario) < LONGEST / 10][:36]
    assert len(small) > 24
    for scenario in small:
        assert digests(_core.run(same(scenario))) == digests(_core.run(scenario))


def test_a_piece_traced_and_pickled_is_read_back() -> None:
    scenario = load(ARRIVING).with_until(1.0).with_trace(["cwnd", "rtt"], 0.01)
    assert pickle.loads(pickle.dumps(same(scenario))).json == scenario.json


def test_another_seed_is_as_if_it_had_been_read() -> None:
    scenario = load(POINT_TO_POINT, seed=1)
    assert scenario.with_seed(7).json == load(POINT_TO_POINT, seed=7).json
    for drawn in (load(ARRIVING), same(load(ARRIVING))):
        with pytest.raises(ScenarioError, match="its seed also drew which flows there are"):
            drawn.with_seed(7)
    with pytest.raises(ScenarioError, match=r"the largest seed is 2\^53"):
        scenario.with_seed(2**53 + 1)


def changed(change: dict[str, Any]) -> str:
    return json.dumps(json.loads(load(POINT_TO_POINT).json) | change)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not a scenario's JSON: EOF"),
        ("[]", "a list of 0 is not a table"),
        ("{}", "schema: is missing; write 1"),
        ('{"schema": null}', "not a scenario's JSON: invalid type: null"),
        ('{"a": 1, "a": 1}', 'the key "a" stands twice'),
        ("[" * 100_000, "recursion limit exceeded"),
        ('{"schema": 1}', "network: is missing"),
        (changed({"schema": 2}), "schema: is not a version that is read here, which is 1"),
        (changed({"sead": 1}), 'unknown key "sead"; did you mean "seed"?'),
        (changed({"until": 5}), "until: 5 has no unit"),
        (changed({"name": "x"}), 'unknown key "name"'),
    ],
)
def test_what_is_no_canonical_form_is_refused_plainly(text: str, message: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        from_json(text, file="here")
    assert message in str(refused.value)
    assert str(refused.value).startswith("here: ")


def test_keys_of_the_canonical_form_are_none_of_what_users_write() -> None:
    tables = {"schema": "1", "draws_flows": "true", "actions": '"ab"'}
    for key, value in tables.items():
        with pytest.raises(ScenarioError, match=f'unknown key "{key}"'):
            load(f"{key} = {value}\n{POINT_TO_POINT}")
    for key in ("each", "streams", "group", "size"):
        with pytest.raises(ScenarioError, match=f'unknown key "{key}"'):
            load(f"{POINT_TO_POINT}{key} = 1\n")
    for key in ("receiver", "simulator"):
        with pytest.raises(ScenarioError, match=f'unknown key "{key}"'):
            load(f'{POINT_TO_POINT}transport = {{ kind = "tcp", {key} = {{ kind = "tcp" }} }}\n')
    with pytest.raises(ScenarioError, match=r"network\.topology: is missing"):
        load(POINT_TO_POINT.replace('topology = "point-to-point"', 'nodes = [{ name = "a", kind = "host" }]'))


TRACED = POINT_TO_POINT.replace('rate = "10 Mbps"', 'rate = { trace = "up.trace" }')
MINE = """
import vazao as vz


class Mine(vz.CongestionControl):
    def __init__(self, *given, code):
        super().__init__(*given)
"""


def test_files_and_code_that_are_others_here_are_named(tmp_path: Path) -> None:
    (tmp_path / "up.trace").write_text("1\n2\n5\n")
    (tmp_path / "mine.py").write_text(MINE)
    file = str(tmp_path / "one.toml")
    own = POINT_TO_POINT + 'transport = { kind = "tcp", cc = { kind = "mine.py:Mine", code = 1 } }\n'
    traced, coded = load(TRACED, file=file), load(own, file=file, allow_programs=True)
    assert from_json(traced.json, file=file).run_id == traced.run_id
    again = from_json(coded.json, file=file)
    assert (again.run_id, again.code) == (coded.run_id, [("mine.py:Mine", False)])
    (tmp_path / "up.trace").write_text("1\n2\n6\n")
    (tmp_path / "mine.py").write_text(MINE + "# changed\n")
    with pytest.raises(ScenarioError, match=r"network\.link\.0\.forward\.rate\.digest: the trace has the digest"):
        from_json(traced.json, file=file)
    with pytest.raises(ScenarioError, match=r"cc\.code: the code of \"mine.py:Mine\" has the digest"):
        from_json(coded.json, file=file)
    with pytest.raises(ScenarioError, match=r"cc\.kind: .*there is no such file"):
        from_json(coded.json, file="elsewhere/one.toml")


def test_programs_that_are_others_here_are_named() -> None:
    guest = POINT_TO_POINT + 'transport = { kind = "tcp", stack = "linux" }\n'
    kernel = ("6.12", "/boot/linux", "6.12.1", "cd", "ab", 250)
    scenario = _core.load(guest, kernels=[kernel])
    assert _core.from_json(scenario.json, kernels=[kernel]).run_id == scenario.run_id
    with pytest.raises(ScenarioError, match=r'kernel\.sha256: "6.12" has the digest ef here, not ab; it is another'):
        _core.from_json(scenario.json, kernels=[(*kernel[:4], "ef", 250)])
    with pytest.raises(ScenarioError, match=r'kernel\.sha256: "6.12" is not installed here'):
        _core.from_json(scenario.json)


@cache
def validator() -> Draft202012Validator:
    schema = json.loads((DOCS / "scenario.schema.json").read_text())
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def test_canonical_forms_are_of_the_published_schema() -> None:
    texts = [scenario.json for scenario in (load(ARRIVING), *random_scenarios(CASES // 4))]
    texts += [load(path.read_text(), file=FILE).json for path in built_in_scenarios().values()]
    for text in texts:
        assert [error.message[:300] for error in validator().iter_errors(json.loads(text))] == []
    for wrong in ({"schema": 2}, {"seed": "1"}, {"flow": []}, {"sead": 1}, {"until": "5"}):
        assert not validator().is_valid(json.loads(changed(wrong)))


def test_what_agents_acted_in_is_no_run_by_itself() -> None:
    acted = from_json(changed({"actions": "ab"}))
    assert _core.run(acted).not_run == "agents acted in it; it is no run of its scenario alone"
    with pytest.raises(ScenarioError, match="agents acted in it"):
        acted.with_seed(2)


def test_changed_text_is_read_or_refused_plainly() -> None:
    rng, texts = Random(1), [scenario.json for scenario in random_scenarios(20)]
    pieces = ["", "0", "-1", "1e999", "null", '"', "{}", "[]", ",", "true", '"1 s"', "1e300", "\\u0000", '"each":[]']
    outcomes = {True: 0, False: 0}
    messages: list[str] = []
    for _ in range(8 * CASES):
        text = rng.choice(texts)
        for _ in range(rng.randint(1, 3)):
            begin = rng.randrange(len(text))
            end = begin + rng.choice((0, 1, 1, 4, 20))
            text = text[:begin] + rng.choice((*pieces, text[begin : begin + 30])) + text[end:]
        try:
            read = from_json(text)
        except ScenarioError as error:
            outcomes[False] += 1
            messages.append(str(error))
        else:
            assert from_json(read.json).run_id == read.run_id
            outcomes[True] += 1
    assert [message for message in messages if "\n" in message or "panick" in message] == []
    assert outcomes[False] > outcomes[True] > 0


def test_changed_values_are_read_or_refused_plainly() -> None:
    rng, texts = Random(2), [scenario.json for scenario in random_scenarios(20)]
    values = [
        None,
        0,
        -1,
        0.5,
        1e300,
        True,
        "",
        "x",
        "1 s",
        "0 s",
        "1e9 h",
        "9 EB",
        "1 bps",
        "auto",
        [],
        {},
        [[]],
        [{}],
    ]

    def places(node: Any) -> Iterator[tuple[Any, Any]]:
        for key in node if isinstance(node, dict) else range(len(node)):
            yield node, key
            if isinstance(node[key], dict | list):
                yield from places(node[key])

    read = 0
    for _ in range(4 * CASES):
        tree = json.loads(rng.choice(texts))
        for _ in range(rng.randint(1, 2)):
            node, key = rng.choice(list(places(tree)))
            match rng.randrange(3):
                case 0 if isinstance(node, dict):
                    del node[key]
                case 1 if isinstance(node, list):
                    node.append(node[key])
                case _:
                    node[key] = rng.choice(values)
        try:
            scenario = from_json(json.dumps(tree))
        except ScenarioError:
            continue
        read += 1
        assert from_json(scenario.json).run_id == scenario.run_id
    assert read > CASES / 8


def test_ten_thousand_flows_are_short_and_read_back_in_proportion() -> None:
    many = POINT_TO_POINT + "count = 10_000\nstart_spread = '1 s'\n"
    scenario = load(many)
    assert len(scenario.json) < 80 * 10_000 + 10_000
    same(scenario)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_examples_are_read_back(path: Path) -> None:
    same(load(path.read_text(), file=str(path)))
