import pytest
from hypothesis import given, strategies as st

from vazao import _core, units


def test_every_measure_that_can_be_traced_has_a_title_and_a_unit() -> None:
    for name, (title, unit) in _core.MEASURES.items():
        assert title[:1].isupper(), name
        assert unit in {*units.SUFFIXES.values(), "segments", ""}, name


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("10 Mbps", ("bps", 1e7)),
        ("1.5Gbit/s", ("bps", 1.5e9)),
        ("25 ms", ("s", 0.025)),
        ("100 us", ("s", 1e-4)),
        ("8 MiB", ("bytes", 8388608.0)),
        ("64 kB", ("bytes", 64000.0)),
        ("200 packets", ("packets", 200.0)),
        ("0.5 bdp", ("bdp", 0.5)),
        ("1_000 B", ("bytes", 1000.0)),
        ("cubic", None),
        ("10", None),
        ("10 Mbs", None),
        ("", None),
    ],
)
def test_units_are_those_of_the_results(text: str, expected: tuple[str, float] | None) -> None:
    assert units.parse(text) == expected


@given(st.integers(0, 10**9))
def test_numbers_are_the_nearest_floats(milliseconds: int) -> None:
    # Division is correctly rounded, and the conversion must be, too: results are compared with literals like 0.025.
    assert units.parse(f"{milliseconds} ms") == ("s", milliseconds / 1000)


@given(st.text(max_size=20))
def test_any_text_is_a_quantity_or_none(text: str) -> None:
    found = units.parse(text)
    assert found is None or found[0] in ("bps", "s", "bytes", "packets", "bdp")
