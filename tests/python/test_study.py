"""The study file: valid keys are read, and each mistake is reported with line, key and remedy."""

import json
import re
from collections.abc import Callable

import pytest
from hypothesis import given, strategies as st

from vazao.errors import ResultsError, StudyError
from vazao.results import load_study
from vazao.store import Store, validate_queries
from vazao.study import built_in_studies, is_study, parse_study, plan
from vazao.study.source import Source

Edit = Callable[[str, str], str]


def message(text: str) -> str:
    with pytest.raises(StudyError) as error:
        parse_study(text, "toy.toml")
    return str(error.value)


def line_of(text: str, piece: str) -> int:
    return text[: text.index(piece)].count("\n") + 1


@pytest.mark.parametrize(
    ("old", "new", "key", "expected"),
    [
        ('title = "A toy"', 'titel = "A toy"', "study.titel", "unknown key; did you mean 'title'?"),
        (
            'x_scale = "log"',
            'x_scale = "logg"',
            "figure.0.x_scale",
            "\"logg\" is not one of linear, log; did you mean 'log'?",
        ),
        ('quick = ["1 Mbps", "100 Mbps"]', 'quick = ["2 Mbps"]', "part.0.factor.0.quick", "'2 Mbps' is not a level"),
        ('finding = "busy"', 'finding = "bussy"', "figure.0.finding", "not a finding; did you mean 'busy'?"),
        ('per = "variant"', 'per = "variety"', "finding.0.per", "not a factor; did you mean 'variant'?"),
        ("replications = 2", "replications = 0", "part.1.replications", "greater than or equal to 1"),
        ("full = 3 }", "full = 1 }", "part.0.replications.quick", "more than the 1 full"),
        ('name = "bandwidth"', 'name = "utilisation"', "part.0.factor.0.name", "is a column of every run already"),
        ('name = "bandwidth"', 'name = "Band width"', "part.0.factor.0.name", "is no name; use small letters"),
        (
            'name = "again"',
            'name = "again"\nrandom = false',
            "part.1.random",
            "there are replications, which would all be",
        ),
        ('name = "again"', 'name = "grid"', "part.1", "two parts are called 'grid'"),
        ('name = "again"', 'name = "again"\ndesign = "list"', "part.1.runs", "come together"),
        ('name = "again"', 'name = "again"\ndesign = "factorail"', "part.1.design", "did you mean 'factorial'?"),
        (
            'name = "again"',
            'name = "again"\nexclude = [{ bandwith = "10 Mbps" }]',
            "part.1.exclude.0",
            "did you mean 'bandwidth'?",
        ),
        ('name = "toy"\n\n', 'name = "toy"\nseed = 3\n\n', "scenario.seed", "the seed belongs to [study]"),
        ('not_testable = "there is no moon here"', "", "finding.1", "give either `sql`"),
        ("[[figure]]", "[[figur]]", "figur", "unknown table; did you mean 'figure'?"),
        (
            "levels.reno = {",
            'levels.tahoe = "x"\nlevels.reno = {',
            "part.0.factor.1.levels.0",
            "give the factor `sets`",
        ),
        (
            'levels = ["10 Mbps", "100 Mbps"]',
            'levels = ["10 Mbps", "10 Mbps"]',
            "part.1.factor.0.levels.1",
            "two levels are called",
        ),
    ],
)
def test_a_mistake_is_named_with_its_place(edited: Edit, old: str, new: str, key: str, expected: str) -> None:
    text = message(edited(old, new))
    assert text.startswith("toy.toml"), text
    assert f" {key}: " in text, text
    assert expected in text, text
    assert "\n" not in text, text


def test_the_line_is_that_of_the_key(edited: Edit) -> None:
    text = edited('x_scale = "log"', 'x_scale = "logg"')
    assert message(text).startswith(f"toy.toml:{line_of(text, 'x_scale')}: ")


def test_a_syntax_error_names_its_line(edited: Edit) -> None:
    text = edited('title = "A toy"', "title = A toy")
    assert message(text).startswith(f"toy.toml:{line_of(text, 'title = A toy')}: ")


def test_a_missing_table_is_named() -> None:
    assert message('[study]\nname = "x"\ntitle = "x"\n') == "toy.toml: there is no [scenario] table; a study needs one"


def test_a_study_of_one_part_needs_no_part_table() -> None:
    study = parse_study(
        '[study]\nname = "x"\ntitle = "x"\n[scenario]\nname = "x"\n[design]\nkind = "one-at-a-time"\nreplications = 2\n'
        '[[factor]]\nname = "loss"\nsets = "network.bottleneck.loss"\nlevels = [0.0, 0.01]\n',
        "x.toml",
    )
    assert [part.name for part in study.parts] == ["main"]
    assert study.parts[0].design == "one-at-a-time"
    assert study.parts[0].replications.full == 2
    assert study.labels("loss") == [0.0, 0.01]


def test_mistakes_in_a_study_of_one_part_are_named_where_they_stand() -> None:
    head = '[study]\nname = "x"\ntitle = "x"\n[scenario]\n'
    text = head + '[design]\nkind = "factorail"\n[[factor]]\nname = "a"\nsets = "b"\n'
    found = message(text).splitlines()
    assert found[0].startswith("toy.toml:6: design.kind: ")
    assert found[1] == "toy.toml:7: factor.0.levels: is missing"


SHARED = """
[study]
name = "x"
title = "x"
[scenario]
[[factor]]
name = "setting"
sets = "flow.0.transport.mss"
levels = [536, 1448]
[[factor]]
name = "loss"
sets = "network.link.loss"
levels = [0.0, 0.01]
[[part]]
name = "all"
[[part.factor]]
name = "rate"
sets = "network.link.rate"
levels = ["1 Mbps"]
[[part]]
name = "own"
[[part.factor]]
name = "loss"
sets = "network.link.loss"
levels = [0.1]
"""


def test_the_studys_own_factors_belong_to_every_part() -> None:
    everywhere, own = parse_study(SHARED, "toy.toml").parts
    assert everywhere.factor_names == ["setting", "loss", "rate"]
    assert own.factor_names == ["setting", "loss"]
    assert own.factors[1].labels == [0.1]


@pytest.mark.parametrize(
    ("old", "key"), [("levels = [536, 1448]", "factor.0.levels"), ("levels = [0.1]", "part.1.factor.0.levels")]
)
def test_a_mistake_in_a_shared_factor_is_named_once_where_it_stands(old: str, key: str) -> None:
    line = line_of(SHARED, old)
    assert message(SHARED.replace(old, "levels = []")).splitlines() == [
        f"toy.toml:{line}: {key}: needs a list of values, or a table of label = {{ key = value }}"
    ]


def test_a_level_that_makes_no_scenario_is_named_with_its_part(edited: Edit) -> None:
    study = parse_study(
        edited('"100 Mbps"]\nquick', '"100 Mbs"]\nquick').replace('"1 Mbps", "100 Mbps"]', '"1 Mbps"]'), "toy.toml"
    )
    with pytest.raises(StudyError, match=r"part 'grid', bandwidth = 100 Mbs, variant = reno: .*did you mean"):
        plan(study, "full")


def test_changes_reach_every_scenario_and_do_not_fight_factors(edited: Edit, toy_text: str) -> None:
    study = parse_study(toy_text, "toy.toml").changed([("network.bottleneck.delay", "7 ms")], 11)
    assert study.seed == 11
    assert study.overrides == [("network.bottleneck.delay", "7 ms")]
    with pytest.raises(StudyError, match="factor 'bandwidth' sets it"):
        study.changed([("network.bottleneck.rate", "7 Mbps")])
    with pytest.raises(StudyError, match="factor 'bandwidth' sets it"):
        study.changed([("network.bottleneck", {"rate": "7 Mbps"})])


def test_a_study_is_distinguished_from_a_scenario(toy_text: str) -> None:
    assert is_study(toy_text)
    assert not is_study('name = "x"\n# [study]\n[network]\n')


@pytest.mark.parametrize("name", sorted(built_in_studies()))
def test_built_in_studies_are_valid(name: str) -> None:
    study = load_study(name)
    assert study.name == name
    assert plan(study, "quick").runs


def test_an_unknown_study_gets_a_suggestion() -> None:
    with pytest.raises(StudyError, match="neither a file nor a built-in study"):
        load_study("no-such-study")


@pytest.mark.parametrize(
    ("name", "answer"),
    [("a" * 5000, "neither a file nor a built-in study"), ('until = "1 s"\nname = "x"', "this is a text: save it as")],
)
def test_an_impossible_file_name_gets_a_message(name: str, answer: str) -> None:
    with pytest.raises(StudyError, match=answer):
        load_study(name)
    with pytest.raises(ResultsError, match="no such directory"):
        Store(name)


KEYS = st.lists(st.sampled_from(["a", "b", "c", "'d e'", '"f.g"']), min_size=1, max_size=2).map(".".join)
VALUES = st.sampled_from(
    ['"x # = ["', "[1,\n  2, # y\n  3]", "{ k = [1], l = '}' }", '"""\n[t]\na = 1\n"""', "1.5", "true"]
)


@given(st.lists(st.tuples(KEYS, VALUES), min_size=1, max_size=5, unique_by=lambda pair: pair[0][0]))
def test_lines_are_those_where_the_keys_stand(pairs: list[tuple[str, str]]) -> None:
    text, expected = "", {}
    for key, value in pairs:
        expected[key] = text.count("\n") + 1
        text += f"{key} = {value}\n"
    text += "[[t]]\n[[t]]\nz = 1\n[t.u]\ny = 1\n"
    lines = Source("x.toml", text).lines
    last = text.count("\n")
    assert lines["t", 1, "z"] == last - 2
    assert lines["t", 1, "u", "y"] == last
    found = {line for key, line in lines.items() if key[0] != "t"}
    assert set(expected.values()) <= found


@pytest.mark.parametrize("letter", ["\x1b[2J", "\x07", "\x7f", "\x9b", "\u202e"])
def test_a_message_repeats_no_letter_that_steers_a_terminal(letter: str, toy_text: str) -> None:
    """Keys of a file may contain anything (`python -m fuzz`, seed 7700474)."""
    text = toy_text.replace("x_scale =", f"{json.dumps(letter)} =", 1)
    with pytest.raises(StudyError, match=r"toy\.toml:\d+: figure\.0\.\\[xu].*: unknown key") as refused:
        parse_study(text, "toy.toml")
    assert str(refused.value).isprintable()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("SELECT bandwidth_bps,", "-1 ms", "the query failed: Parser Error"),
        ('y = "utilisation"', 'y = "utilization"', "y: 'utilization' is not a column of its query"),
    ],
)
def test_a_figures_mistake_names_file_line_and_key(
    old: str, new: str, message: str, edited: Callable[[str, str], str]
) -> None:
    """Covers mistakes that only the database finds (`python -m fuzz`, seeds 7700744 and 7701014)."""
    with pytest.raises(StudyError, match=r"^toy\.toml:\d+: figure\.0: figure utilisation: " + re.escape(message)):
        validate_queries(parse_study(edited(old, new), "toy.toml"))
