"""Experimental designs as sets of combinations, for any study that hypothesis generates."""

from itertools import product
from math import prod

import pytest
from hypothesis import given, strategies as st

from vazao.errors import StudyError
from vazao.study import Part, Study, combinations, design_columns, parse_study, plan


@st.composite
def factors(draw: st.DrawFn) -> list[dict[str, object]]:
    made = []
    for n in range(draw(st.integers(0, 4))):
        levels = draw(st.lists(st.integers(0, 50), min_size=1, max_size=4, unique=True))
        factor: dict[str, object] = {"name": f"f{n}", "sets": f"key{n}", "levels": levels}
        factor["quick"] = draw(st.lists(st.sampled_from(levels), unique=True))
        factor["default"] = draw(st.sampled_from(levels))
        made.append(factor)
    return made


def labels(part: Part, size: str) -> list[tuple[object, ...]]:
    made = combinations(part, size)  # type: ignore[arg-type]
    return [tuple(level.label for level in combination.values()) for combination in made]


def part(design: str, made: list[dict[str, object]], **more: object) -> Part:
    return Part.model_validate({"name": "p", "design": design, "factor": made, **more})


@given(factors())
def test_factorial_is_the_product(made: list[dict[str, object]]) -> None:
    levels = [factor["levels"] for factor in made]
    assert labels(part("factorial", made), "full") == list(product(*levels))  # type: ignore[arg-type]
    quick = [factor["quick"] or factor["levels"] for factor in made]
    assert labels(part("factorial", made), "quick") == list(product(*quick))  # type: ignore[arg-type]


@given(factors())
def test_one_at_a_time_leaves_the_centre_in_one_place(made: list[dict[str, object]]) -> None:
    found = labels(part("one-at-a-time", made), "full")
    centre = tuple(factor["default"] for factor in made)
    assert found[0] == centre
    assert len(found) == len(set(found)) == 1 + sum(len(factor["levels"]) - 1 for factor in made)  # type: ignore[arg-type]
    assert all(sum(a != b for a, b in zip(one, centre, strict=True)) == 1 for one in found[1:])


@given(factors(), st.sampled_from(["factorial", "one-at-a-time"]))
def test_quick_is_a_subset_of_full(made: list[dict[str, object]], design: str) -> None:
    one = part(design, made)
    assert set(labels(one, "quick")) <= set(labels(one, "full"))


@given(st.integers(0, 5))
def test_two_level_has_every_corner(k: int) -> None:
    made = [{"name": f"f{n}", "sets": f"key{n}", "levels": ["-", "+"]} for n in range(k)]
    assert len(set(labels(part("two-level", made), "full"))) == 2**k  # type: ignore[arg-type]


def test_a_list_is_what_it_says() -> None:
    made: list[dict[str, object]] = [
        {"name": "a", "sets": "a", "levels": [1, 2, 3], "quick": [1, 2]},
        {"name": "b", "sets": "b", "levels": ["x", "y"], "default": "y"},
    ]
    runs = [{"a": 1}, {"a": 2, "b": "x"}, {"a": 3}]
    assert labels(part("list", made, runs=runs), "full") == [(1, "y"), (2, "x"), (3, "y")]
    assert labels(part("list", made, runs=runs), "quick") == [(1, "y"), (2, "x")]


def test_excluded_combinations_are_left_out() -> None:
    made: list[dict[str, object]] = [
        {"name": "a", "sets": "a", "levels": [1, 2, 3]},
        {"name": "b", "sets": "b", "levels": ["x", "y"]},
    ]
    found = labels(part("factorial", made, exclude=[{"a": [1, 2], "b": "x"}, {"a": 3}]), "full")
    assert found == [(1, "y"), (2, "y")]


def test_every_replication_has_its_own_seed_and_every_treatment_the_same_ones(toy: Study) -> None:
    runs = plan(toy, "full").runs
    grid = [run for run in runs if run.part == "grid"]
    assert len(grid) == prod([3, 2, 3])
    for combination in {tuple(run.labels.values()) for run in grid}:
        seeds = [run.scenario.seed for run in grid if tuple(run.labels.values()) == combination]
        assert seeds == [5, 6, 7]


def test_quick_runs_are_runs_of_full(toy: Study) -> None:
    full = {(run.part, run.scenario.run_id) for run in plan(toy, "full").runs}
    quick = {(run.part, run.scenario.run_id) for run in plan(toy, "quick").runs}
    assert quick < full


def test_a_scenario_that_two_parts_share_is_planned_once(toy: Study) -> None:
    planned = plan(toy, "full")
    # The second part's two combinations, twice each, coincide with CUBIC's in the first.
    assert len(planned.runs) == 18 + 4
    assert len(planned.distinct) == 18


def test_columns_are_those_of_the_whole_study(toy: Study) -> None:
    columns = design_columns(toy)
    assert list(columns) == ["part", "bandwidth", "bandwidth_bps", "variant", "replication"]
    planned = plan(toy, "quick")
    rows = planned.rows(planned.runs)
    assert rows.columns == ["run_id", *columns]
    assert rows["bandwidth_bps"].to_list()[0] == 1e6
    assert rows.filter(part="again")["variant"].to_list() == [None, None]


def test_numbers_are_number_columns_unless_a_part_says_otherwise() -> None:
    head = '[study]\nname = "x"\ntitle = "x"\n[scenario]\n'
    factor = '[[part]]\nname = "{}"\n[[part.factor]]\nname = "loss"\nsets = "l"\nlevels = {}\n'
    numbers = parse_study(head + factor.format("a", "[0.0, 0.1]"), "x.toml")
    assert str(design_columns(numbers)["loss"]) == "Float64"
    mixed = parse_study(head + factor.format("a", "[0.0, 0.1]") + factor.format("b", '["none"]'), "x.toml")
    assert str(design_columns(mixed)["loss"]) == "String"


def test_columns_that_collide_are_refused() -> None:
    text = '[study]\nname = "x"\ntitle = "x"\n[scenario]\n'
    text += '[[factor]]\nname = "sim"\nsets = "a"\nlevels = ["1 s"]\n'
    with pytest.raises(StudyError, match="sim_s"):
        design_columns(parse_study(text, "x.toml"))
