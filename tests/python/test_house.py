"""The house rules that a compiler does not check: which room may import which, and that no file outgrows its reader."""

import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

FLOORS = {
    "engine": 1,
    "network": 2,
    "congestion": 2,
    "wire": 3,
    "transport": 3,
    "application": 4,
    "guest": 3,
    "quinn": 4,
    "scenario": 5,
    "python": 6,
    "differential": 6,
}
"""A room imports only from floors below its own."""

LONGEST = 600
"""Lines of a source file beyond which it should be split where its idea splits."""


def manifest(crate: str) -> dict[str, dict[str, object]]:
    return tomllib.loads((ROOT / "crates" / crate / "Cargo.toml").read_text())


@pytest.mark.parametrize("crate", FLOORS)
def test_a_room_imports_only_from_floors_below(crate: str) -> None:
    rooms = [name.removeprefix("vazao-") for name in manifest(crate)["dependencies"] if name.startswith("vazao-")]
    assert [room for room in rooms if FLOORS[room] >= FLOORS[crate]] == []


def test_every_crate_has_a_floor() -> None:
    assert {path.name for path in (ROOT / "crates").iterdir() if path.is_dir()} == set(FLOORS)


def test_no_source_file_outgrows_its_reader() -> None:
    files = [*ROOT.glob("crates/*/src/**/*.rs"), *ROOT.glob("python/vazao/**/*.py")]
    assert len(files) > 50
    long = {str(file.relative_to(ROOT)): n for file in files if (n := len(file.read_text().splitlines())) > LONGEST}
    assert long == {}
