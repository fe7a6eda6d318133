"""Rooms whose names are looked up when first used (PEP 562): a command reads no library that it does not need."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any


def parsed(module: str) -> ast.Module:
    """A module's source, which is not run."""
    spec = find_spec(module)
    assert spec is not None
    return ast.parse(Path(str(spec.origin)).read_text(encoding="utf-8"))


def homes(room: str) -> dict[str, str]:
    """Places of the names that a package imports for others to use: `import x as x`, or all of a module."""
    found = [node for node in ast.walk(parsed(room)) if isinstance(node, ast.ImportFrom)]
    named = {alias.name: str(node.module) for node in found for alias in node.names if alias.name == alias.asname}
    whole = [str(node.module) for node in found if node.names[0].name == "*"]
    return named | {name: module for module in whole for name in listed(parsed(module))}


def listed(tree: ast.Module) -> list[str]:
    """The names in a module's `__all__`."""
    assigned = [
        node for node in tree.body if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
    ]
    return [str(name) for node in assigned for name in ast.literal_eval(node.value)]


def attached(room: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The `__getattr__` and `__dir__` of a package that imports its public names `if TYPE_CHECKING` alone.

    These imports, which type checkers and editors read, say which names there are and where each is to be had; nothing
    else does, and `__all__` follows from them. No name may be that of another module of the package: importing a module
    puts it there in the name's place.
    """
    package = sys.modules[room]
    public = cache(lambda: homes(room))

    def get(name: str) -> Any:
        if name == "__all__":
            value: Any = sorted(public())
        elif not name.startswith("_") and find_spec(f"{room}.{name}"):
            value = import_module(f"{room}.{name}")
        elif name in public():
            value = getattr(import_module(public()[name]), name)
        else:
            raise AttributeError(f"module {room!r} has no attribute {name!r}", name=name, obj=package)
        # Found once, it is an ordinary name.
        setattr(package, name, value)
        return value

    def names() -> list[str]:
        return sorted({*vars(package), *public()})

    return get, names
