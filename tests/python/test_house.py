"""House rules that no compiler checks: which room may import which, and how large files and functions may grow."""

from __future__ import annotations

import ast
import json
import re
import runpy
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from vazao import _core

ROOT = Path(__file__).parents[2]

Function = ast.FunctionDef | ast.AsyncFunctionDef

FLOORS = {
    "engine": 1,
    "guest-protocol": 1,
    "network": 2,
    "congestion": 2,
    "laboratory": 3,
    "wire": 3,
    "capture": 4,
    "transport": 3,
    "application": 4,
    "guest": 3,
    "guest/program": 4,
    "quinn": 4,
    "scenario": 5,
    "python": 7,
    "web": 6,
    "differential": 6,
}
"""Floor of each crate: a crate imports only from lower floors."""

ROOMS = (
    *("lazy", "_core", "units", "errors", "words", "files", "statistics", "display", "limits", "kernel", "ns2"),
    *("scenario", "study", "figures", "seeing", "widgets"),
    *("sql", "store", "forecast", "execution", "measurements", "results"),
    *("captures", "twins", "gym", "causes", "report", "explore", "comparing", "cli"),
)
"""Rooms of the Python package from the bottom up: each imports only from earlier rooms, and only their exports."""

SCENARIO_ROOMS = (
    *("document", "measures", "endpoint", "model", "stacks", "packs", "description"),
    *("guests", "world", "record", "results", "run"),
)
"""Rooms of the crate `scenario`, from the bottom up: each may use only earlier ones."""

TRANSPORTS: dict[str, set[str]] = {
    "common": set(),
    "udp": {"common"},
    "dccp": {"common"},
    "icmp": {"common"},
    "tls": {"common"},
    "sctp": {"common"},
    "tcp": {"common"},
    "mptcp": {"common", "tcp"},
    "quic": {"common", "tls"},
    "library": {"common", "quic"},
}
"""Rooms of the crate `transport`, and which each may use: MPTCP's subflows are TCP, QUIC's handshake is TLS's."""

LONGEST = 600
"""Maximum number of lines of a source file; a longer one is to be split by topic."""

LONGEST_FUNCTION = 60
"""Maximum number of lines of a Python function; `clippy.toml` sets it for Rust."""


def manifest(crate: str) -> dict[str, dict[str, object]]:
    return tomllib.loads((ROOT / "crates" / crate / "Cargo.toml").read_text())


def crates(table: dict[str, object]) -> list[str]:
    """Crates of this repository in a manifest's table of dependencies."""
    return [name.removeprefix("vazao-") for name in table if name.startswith("vazao-")]


def borrowed(crate: str) -> list[str]:
    """Crates of which this one includes a file as a module, by `#[path]`."""
    root = ROOT / "crates"
    named = [
        (file.parent / path).resolve().relative_to(root)
        for file in (root / crate).glob("*/**/*.rs")
        if owner(file.relative_to(root)) == crate
        for path in re.findall(r'^\s*#\[path = "(.+)"\]', file.read_text(), re.MULTILINE)
    ]
    return [other for other in map(owner, named) if other != crate]


def owner(file: Path) -> str:
    """Crate that a file below `crates` belongs to: the longest matching path."""
    return max((crate for crate in FLOORS if file.is_relative_to(crate)), key=len)


@pytest.mark.parametrize("crate", FLOORS)
def test_a_crate_imports_only_from_floors_below(crate: str) -> None:
    rooms = [*crates(manifest(crate).get("dependencies", {})), *borrowed(crate)]
    assert [room for room in rooms if FLOORS[room] >= FLOORS[crate]] == []


@pytest.mark.parametrize("crate", FLOORS)
def test_a_crates_tests_use_nothing_from_above(crate: str) -> None:
    tables = [manifest(crate).get(f"{kind}-dependencies", {}) for kind in ("dev", "build")]
    assert [room for table in tables for room in crates(table) if FLOORS[room] > FLOORS[crate]] == []


def test_modules_of_other_crates_are_seen() -> None:
    assert borrowed("guest/program") == ["wire"]
    assert borrowed("guest") == []


def test_every_crate_has_a_floor() -> None:
    root = ROOT / "crates"
    assert {str(path.parent.relative_to(root)) for path in root.rglob("Cargo.toml")} == set(FLOORS)


def upward(room: str, source: str) -> list[str]:
    """Rooms of the crate `scenario` that a file refers to although they are above its own."""
    named = re.findall(r"\bcrate::([a-z_]+)", source)
    return [
        other for other in named if other in SCENARIO_ROOMS and SCENARIO_ROOMS.index(other) > SCENARIO_ROOMS.index(room)
    ]


def test_the_rooms_of_the_scenario_model_know_only_those_below() -> None:
    folder = ROOT / "crates/scenario/src"
    assert {path.name for path in folder.iterdir()} == {*SCENARIO_ROOMS, "lib.rs"}
    files = {file: upward(file.relative_to(folder).parts[0], file.read_text()) for file in folder.glob("*/**/*.rs")}
    assert {str(file.relative_to(folder)): names for file, names in files.items() if names} == {}
    assert upward("packs", "use crate::world::World;") == ["world"]


def test_a_stack_is_a_part_of_its_own_and_one_line() -> None:
    """Only its part of `stacks` names a stack; all others ask for its mechanism. `like` has words of its own."""
    folder = ROOT / "crates/scenario/src"
    name = re.compile(rf'"(?:{"|".join(_core.STACKS)})"')
    files = {str(file.relative_to(folder)): file.read_text() for file in folder.glob("**/*.rs")}
    named = {file for file, text in files.items() if name.search(re.sub("//.*", "", text))}
    assert {file for file in named if not file.startswith("stacks/")} == {"packs/tcp/like.rs"}
    words = re.compile(rf"\b(?:{'|'.join(_core.STACKS)})(?![-_\w])", re.IGNORECASE)
    assert words.findall(files["description/transport.rs"].replace("vazao_", "")) == []
    lists = re.sub(r'//.*|"(?:\\.|[^"])*"', "", files["stacks/mod.rs"])
    for stack in _core.STACKS:
        lines = [line.strip() for line in lists.splitlines() if re.search(rf"\b{stack}\b", line)]
        assert [line for line in lines if line != f"mod {stack};"] == [next(line for line in lines if "ENTRY" in line)]
        assert {f"stacks/{stack}.rs", f"stacks/{stack}/mod.rs"} & named, stack


USE = re.compile(r"^\s*(?:pub(?:\([^)]*\))? )?use ([^;]+);", re.MULTILINE)
"""A `use` declaration of Rust: its tree."""


def leaves(tree: str) -> Iterator[str]:
    """Paths that a tree of a `use` declaration names, as `a::{b, c::d as e}` names `a::b` and `a::c::d as e`."""
    head, brace, rest = tree.partition("{")
    if not brace:
        yield tree.strip()
        return
    depth, part = 0, ""
    for sign in rest.rpartition("}")[0] + ",":
        depth += (sign == "{") - (sign == "}")
        if sign == "," and depth == 0:
            yield from (head.strip() + leaf for leaf in leaves(part) if leaf)
            part = ""
        else:
            part += sign


def rust_modules(crate: Path) -> dict[tuple[str, ...], str]:
    """Modules of a crate by their path, each with its source without tests; the root's path is empty."""
    names = {file: file.relative_to(crate / "src").with_suffix("").parts for file in (crate / "src").rglob("*.rs")}
    parts = {file: name[:-1] if name[-1] in ("mod", "lib", "main") else name for file, name in names.items()}
    return {path: file.read_text().partition("#[cfg(test)]")[0] for file, path in parts.items()}


def rust_imports(modules: Mapping[tuple[str, ...], str]) -> dict[tuple[str, ...], set[tuple[str, ...]]]:
    """Modules that each module of a crate refers to. A module does not import its own parts."""

    def known(path: Sequence[str]) -> tuple[str, ...]:
        return next(tuple(path[:end]) for end in range(len(path), -1, -1) if tuple(path[:end]) in modules)

    def absolute(module: tuple[str, ...], path: str) -> list[str]:
        first, *rest = path.split("::")
        if first == "crate":
            return rest
        ups = len(re.match(r"(?:super::)*", path)[0]) // len("super::")  # type: ignore[index]
        return [*module[: len(module) - ups], *path.split("::")[ups + (first == "self") :]]

    def imports(module: tuple[str, ...], commented: str) -> Iterator[tuple[str, ...]]:
        text = re.sub(r"//.*", "", commented)
        used = [leaf for tree in USE.findall(text) for leaf in leaves(" ".join(tree.split()))]
        named = [(leaf.partition(" as ")[2] or leaf.split("::")[-1], leaf.partition(" as ")[0]) for leaf in used]
        begun = {name: path for name, path in named if re.match(r"crate|super|self", path)}
        paths = list(begun.values()) + re.findall(r"\b(?:crate|super)(?:::\w+)+", text)
        # Through a module that is in scope: `window::cubic::ENTRY`.
        for name, rest in re.findall(r"(?<![\w:])(\w+)((?:::\w+)+)", text):
            if name in begun:
                paths.append(begun[name].removesuffix("::self") + rest)
            elif (*module, name) in modules:
                paths.append(f"self::{name}{rest}")
        yield from (known(absolute(module, path.removesuffix("::self").removesuffix("::*"))) for path in paths)

    def is_import(module: tuple[str, ...], other: tuple[str, ...]) -> bool:
        return other != module and other[: len(module)] != module

    found = {module: set(imports(module, text)) for module, text in modules.items()}
    return {module: {other for other in others if is_import(module, other)} for module, others in found.items()}


@pytest.mark.parametrize("crate", FLOORS)
def test_no_files_of_a_crate_import_each_other(crate: str) -> None:
    found = rust_imports(rust_modules(ROOT / "crates" / crate))
    try:
        TopologicalSorter(found).prepare()
    except CycleError as error:
        pytest.fail(f"a circle: {' -> '.join('::'.join(module) or 'lib' for module in error.args[1])}")


@pytest.mark.parametrize(
    ("one", "other", "found"),
    [
        ("use crate::b::Other;", "use super::a::One;", True),
        ("use crate::{Outer, b::{Other, Another}};", "fn f() { crate::a::g() }", True),
        ("use super::b;\nfn f() { b::g() }", "use crate::a::{self as one};", True),
        ("use super::b::*;", "// use super::a::One;", False),
        ("mod c;", "use super::a::One;", False),
    ],
)
def test_circles_of_rust_files_are_found(one: str, other: str, found: bool) -> None:
    imports = rust_imports({(): "mod a;\nmod b;", ("a",): one, ("b",): other})
    assert (("b",) in imports[("a",)] and ("a",) in imports[("b",)]) == found


def sources(package: Path) -> dict[str, ast.Module]:
    """Modules of a package by their dotted names within it, with their stubs; a room's `__init__` has its name."""
    names = {path: ".".join(path.relative_to(package).with_suffix("").parts) for path in package.rglob("*.py")}

    def text(path: Path) -> str:
        return "".join(part.read_text() for part in (path, path.with_suffix(".pyi")) if part.exists())

    return {name.removesuffix(".__init__"): ast.parse(text(path)) for path, name in names.items()}


def room_of(module: str) -> str:
    return module.partition(".")[0]


def imports(tree: ast.Module, modules: set[str]) -> Iterator[tuple[str, str]]:
    """Imports of a module from the package: a module, and the name in it (empty: the module itself)."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            inside = [alias.name.removeprefix("vazao.") for alias in node.names if alias.name.startswith("vazao.")]
            yield from ((name, "") for name in inside)
        elif isinstance(node, ast.ImportFrom) and (node.level or room_of(node.module or "") == "vazao"):
            assert node.level == 0, "modules are named in full"
            source = (node.module or "").removeprefix("vazao").removeprefix(".")
            for alias in node.names:
                whole = f"{source}.{alias.name}".removeprefix(".")
                yield (whole, "") if whole in modules else (source, alias.name)
                if not source:
                    yield from ((whole, attribute) for attribute in attributes(tree, alias.asname or alias.name))


def attributes(tree: ast.Module, name: str) -> Iterator[str]:
    """Attributes of the module `name` that a module uses."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == name:
            yield node.attr


def exported(trees: Mapping[str, ast.Module], module: str) -> set[str] | None:
    """Public names of a room: its `__all__`, or the names it re-exports and all of a module that lists its own.

    None if it has neither; then every name without an underscore is public.
    """
    tree = trees[module]
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == "__all__":
            return set(ast.literal_eval(node.value))
    found = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    names = {alias.name for node in found for alias in node.names if alias.name == alias.asname}
    whole = [(node.module or "").removeprefix("vazao.") for node in found if node.names[0].name == "*"]
    return names.union(*(exported(trees, source) or () for source in whole)) or None


def is_private(trees: Mapping[str, ast.Module], source: str, name: str) -> bool:
    """Whether an import from outside a room uses one of its private names."""
    named = name or source.partition(".")[2]
    public = exported(trees, room_of(source)) if source and source != "_core" else None
    return bool(named) and (named not in public if public is not None else named.startswith("_") and named != "_core")


def wrong_imports(trees: Mapping[str, ast.Module], rooms: tuple[str, ...]) -> list[str]:
    """Imports from rooms that are not below, imports of private names, and import cycles within a room."""
    modules, wrong = {*trees, "_core"}, []
    inside: dict[str, set[str]] = {}
    for module in trees.keys() - {"__init__"}:
        for source, name in imports(trees[module], modules):
            statement = f"{module} imports {name or 'all'} of {source or 'vazao'}"
            if room_of(source) == room_of(module):
                inside.setdefault(module, set()).add(source)
            elif room_of(source) not in rooms[: rooms.index(room_of(module))]:
                wrong.append(f"{statement}, which is no room below")
            elif is_private(trees, source, name):
                wrong.append(f"{statement}, which the room keeps to itself")
    try:
        TopologicalSorter(inside).prepare()
    except CycleError as error:
        wrong.append(f"a circle: {' -> '.join(error.args[1])}")
    return wrong


def test_every_python_module_belongs_to_a_room() -> None:
    trees = sources(ROOT / "python/vazao")
    assert {room_of(module) for module in trees} - {"__init__"} == set(ROOMS) - {"_core"}
    assert [room for room in ROOMS if room != "_core" and not ast.get_docstring(trees[room])] == []


def test_a_python_room_imports_only_what_rooms_below_export() -> None:
    assert wrong_imports(sources(ROOT / "python/vazao"), ROOMS) == []


@pytest.mark.parametrize("folder", ["bench", "fuzz", "docs"])
def test_what_stands_beside_the_package_uses_what_its_rooms_export(folder: str) -> None:
    trees = sources(ROOT / "python/vazao")
    files = {file: imports(ast.parse(file.read_text()), {*trees, "_core"}) for file in (ROOT / folder).glob("*.py")}
    assert [(file.name, *one) for file, found in files.items() for one in found if is_private(trees, *one)] == []


def test_benchmarks_import_modules_and_no_programs() -> None:
    trees = {file.stem: ast.parse(file.read_text()) for file in (ROOT / "bench").glob("*.py")}
    named = {node.module for tree in trees.values() for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    programs = {name for name, tree in trees.items() if "__main__" in ast.unparse(tree)}
    assert len(programs) > 5
    assert programs & named == set()


@pytest.mark.parametrize(
    ("files", "wrong"),
    [
        ({"low": "from vazao import high", "high": ""}, "low imports all of high, which is no room below"),
        ({"low": "", "high": "from vazao import run"}, "high imports run of vazao, which is no room below"),
        ({"low": "def f():\n    from vazao.high import x", "high": ""}, "which is no room below"),
        ({"low": "__all__ = ['a']", "high": "from vazao.low import b"}, "imports b of low, which the room keeps"),
        ({"low": "", "low.inside": "", "high": "from vazao.low import _b"}, "imports _b of low, which the room keeps"),
        ({"low": "__all__ = []", "low.inside": "", "high": "from vazao.low.inside import x"}, "keeps to itself"),
        ({"low": "", "low.a": "import vazao.low.b", "low.b": "from vazao.low import a", "high": ""}, "a circle: "),
        ({"low": "__all__ = ['a']", "high": "from vazao import low\nlow.a(low.b)"}, "imports b of low, which the room"),
        ({"low": "__all__ = ['a']", "high": "from vazao import _core\nfrom vazao.low import a"}, None),
        ({"low": "from vazao.low.inside import a as a", "low.inside": "", "high": "from vazao.low import a"}, None),
        (
            {"low": "from vazao.low.inside import a as a", "low.inside": "", "high": "from vazao.low import b"},
            "keeps to",
        ),
        ({"low": "from vazao.low.c import *", "low.c": "__all__ = ['a']", "high": "from vazao.low import a"}, None),
        (
            {"low": "from vazao.low.c import *", "low.c": "__all__ = ['a']", "high": "from vazao.low import b"},
            "keeps to",
        ),
    ],
)
def test_wrong_imports_are_found(files: dict[str, str], wrong: str | None) -> None:
    found = wrong_imports({name: ast.parse(text) for name, text in files.items()}, ("_core", "low", "high"))
    assert [wrong in line for line in found] == [True] if wrong else found == []


@dataclass(frozen=True)
class Kind:
    """Group of source files, by location."""

    pattern: str
    least: int
    """Minimum number of files: a pattern that matches nothing proves nothing."""


SOURCES = (
    Kind("crates/*/src/**/*.rs", 100),
    Kind("crates/*/tests/**/*.rs", 50),
    Kind("crates/*/benches/**/*.rs", 2),
    Kind("crates/*/build.rs", 2),
    Kind("crates/guest/program/src/**/*.rs", 10),
    Kind("python/vazao/**/*.py", 50),
    Kind("tests/python/**/*.py", 40),
    Kind("bench/**/*.py", 10),
    Kind("fuzz/**/*.py", 10),
    Kind("docs/**/*.py", 5),
    Kind("examples/**/*.py", 1),
)


def crossings(module: str, source: str) -> set[str]:
    """Rooms of the crate `transport` that a file of a module such as `tcp/connection` refers to but may not use."""
    own, *inner = module.split("/")
    groups = re.findall(r"\bcrate::\{([^;]*)\}", source)
    named = {
        *re.findall(r"\bcrate::(\w+)", source),
        *(name for group in groups for name in re.findall(r"(?:^|,)\s*(\w+)", group)),
    }
    if re.search(r"\b" + "super::" * (1 + len(inner)), source):
        named.add("super")  # A path that climbs to the crate's root, and may lead anywhere.
    return named - TRANSPORTS[own] - {own}


def test_a_protocol_knows_only_what_all_share() -> None:
    sources = ROOT / "crates/transport/src"
    assert {path.stem for path in sources.iterdir()} == {*TRANSPORTS, "lib"}
    modules = {
        file: str(file.relative_to(sources)).removesuffix(".rs").removesuffix("/mod") for file in sources.rglob("*.rs")
    }
    found = {module: crossings(module, file.read_text()) for file, module in modules.items() if module != "lib"}
    assert {module: names for module, names in found.items() if names} == {}


@pytest.mark.parametrize(
    "source",
    ["use crate::mptcp::PathState;", "use crate::{common, mptcp};", "crate::Stream", "use super::super::mptcp::Way;"],
)
def test_a_crossing_is_seen(source: str) -> None:
    assert crossings("quic/path", source) != set()
    assert crossings("quic/path", "use crate::common::{RangeSet, Stream};\nuse super::sent::Sent;") == set()


@pytest.mark.parametrize("kind", SOURCES, ids=lambda kind: kind.pattern)
def test_no_source_file_outgrows_its_reader(kind: Kind) -> None:
    files = list(ROOT.glob(kind.pattern))
    assert len(files) >= kind.least
    long = {str(file.relative_to(ROOT)): n for file in files if (n := len(file.read_text().splitlines())) > LONGEST}
    assert long == {}


UNSAID = re.compile(
    r"(What|How|Where|When|Why|Who|Whose|Which|It|Its|They|Their|Of|So|As|That|Those|This|These|Such|The same)\b"
)
"""Beginnings of a docstring that do not say what the thing is or does; "Whether" is enough for a flag."""


def docstrings(tree: ast.Module) -> Iterator[str]:
    """Texts of all docstrings: of modules, classes and functions, and below names."""
    for node in ast.walk(tree):
        match node:
            case ast.Expr(value=ast.Constant(value=str(text))):
                yield text


def unsaid(text: str) -> list[str]:
    """First lines of a module's docstrings that do not say what the thing is or does."""
    return [doc.partition("\n")[0] for doc in docstrings(ast.parse(text)) if UNSAID.match(doc.lstrip())]


@pytest.mark.parametrize("folder", ["python/vazao", "tests/python", "bench", "fuzz", "docs"])
def test_a_docstring_says_what_the_thing_is_or_does(folder: str) -> None:
    files = [*(ROOT / folder).rglob("*.py"), *(ROOT / folder).rglob("*.pyi")]
    found = {str(file.relative_to(ROOT)): docs for file in files if (docs := unsaid(file.read_text()))}
    assert len(files) > 3
    assert found == {}


@pytest.mark.parametrize("code", ['"""{}"""', 'class A:\n    """{}"""', 'def f():\n    """{}"""', 'N = 1\n"""{}"""'])
def test_a_docstring_that_leaves_it_unsaid_is_found(code: str) -> None:
    assert unsaid(code.format("What it draws.")) == ["What it draws."]
    assert unsaid(code.format("The same of the other side.")) == ["The same of the other side."]
    assert unsaid(code.format("Whatever is drawn.")) == []


def long_functions(text: str) -> dict[str, int]:
    """Functions of a module that are too long, with their number of lines."""
    functions = [node for node in ast.walk(ast.parse(text)) if isinstance(node, Function)]
    lines = {node.name: (node.end_lineno or node.lineno) - node.lineno + 1 for node in functions}
    return {name: count for name, count in lines.items() if count > LONGEST_FUNCTION}


def test_no_python_function_outgrows_its_reader() -> None:
    files = [file for kind in SOURCES if kind.pattern.endswith(".py") for file in ROOT.glob(kind.pattern)]
    assert {str(file.relative_to(ROOT)): long for file in files if (long := long_functions(file.read_text()))} == {}
    body = "    x = 1\n"
    assert long_functions("def f():\n" + LONGEST_FUNCTION * body) == {"f": LONGEST_FUNCTION + 1}
    assert long_functions("def f():\n" + (LONGEST_FUNCTION - 1) * body) == {}


def long_rust_functions(text: str) -> dict[str, int]:
    """Functions of a Rust file that are too long, with their length: rustfmt ends each at its own indentation."""
    signature = r"^( *)(?:pub(?:\([a-z: ]+\))? )?(?:const )?fn (\w+).*(?<![;}])\n"
    body = r"(?:(?!\1\).*;\n).*\n)*?\1\}\n"
    functions = re.finditer(signature + body, text, re.MULTILINE)
    lines = {found[2]: found[0].count("\n") for found in functions}
    return {name: count for name, count in lines.items() if count > LONGEST_FUNCTION}


def test_no_rust_function_outgrows_its_reader() -> None:
    long = {file: long_rust_functions(file.read_text()) for file in ROOT.glob("crates/*/src/**/*.rs")}
    assert len(long) >= 100
    assert {str(file.relative_to(ROOT)): names for file, names in long.items() if names} == {}
    body = "        x();\n"
    short = "    fn e();\n    pub fn g() {\n" + (LONGEST_FUNCTION - 2) * body + "    }\n"
    assert long_rust_functions("impl A {\n    fn f() {\n" + LONGEST_FUNCTION * body + "    }\n" + short + "}\n") == {
        "f": LONGEST_FUNCTION + 2
    }


FRONT = ("transport", "topology", "queue")
"""Registries of which no entry is named in the pages: what they say of one, they ask the engine."""


ORDINARY = {"path", "step", "threshold"}
"""Names that are ordinary words too: a flow's path, a slider's step, slow start's threshold."""


def names_in(text: str, names: Iterable[str]) -> set[str]:
    """Names that stand in a text as words, whatever their case."""
    return {name for name in names if re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text, re.IGNORECASE)}


def test_pages_name_no_protocol_no_topology_and_no_queue() -> None:
    registry = json.loads(_core.registry())
    names = {
        name for kind in FRONT for entry in registry[kind] for name in (entry["name"], *entry["aliases"])
    } - ORDINARY
    files = list((ROOT / "web/src").rglob("*.ts"))
    found = {str(file.relative_to(ROOT)): names_in(file.read_text(), names) for file in files}
    assert len(files) > 50
    assert {file: named for file, named in found.items() if named} == {}
    assert names_in('kind === "TCP"; // dumb-bell, codels', names) == {"tcp"}


PAGES = ("drawing", "view", "play", "again", "notebook", "explore")
"""Rooms of the pages, above the files that all share: each imports only from earlier ones."""


def page_imports(folder: Path) -> dict[str, set[str]]:
    """Modules of the pages, each with those that it imports, by their paths without endings."""
    files = {file: file.read_text() for file in folder.rglob("*.ts")}
    named = {file: re.findall(r'(?:from |import\()"(\.[^"]+)"', text) for file, text in files.items()}
    return {
        str(file.relative_to(folder).with_suffix("")): {
            str((file.parent / path).resolve().relative_to(folder)) for path in paths
        }
        for file, paths in named.items()
    }


def page_room(module: str) -> int:
    """Floor of a module of the pages: 0 for what all share."""
    room, inside, _ = module.partition("/")
    return 1 + PAGES.index(room) if inside else 0


def test_a_room_of_the_pages_imports_only_from_rooms_below() -> None:
    found = page_imports(ROOT / "web/src")
    assert {module.partition("/")[0] for module in found if "/" in module} == set(PAGES)
    wrong = [
        (module, other) for module, used in found.items() for other in used if page_room(other) > page_room(module)
    ]
    assert wrong == []
    list(TopologicalSorter(found).static_order())
    assert (page_room("dom"), page_room("drawing/pen"), page_room("view/panels/lines")) == (0, 1, 2)


def test_types_of_what_pages_are_told_are_current() -> None:
    """`python web/tools/contract.py` writes them."""
    made = runpy.run_path(str(ROOT / "web/tools/contract.py"))
    assert made["FILE"].read_text() == made["contract"]()
