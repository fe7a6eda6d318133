"""Rooms whose names are looked up when first used (PEP 562): a command reads no library that it does not need."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any


def attached(room: str, public: Sequence[str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The `__getattr__` and `__dir__` of a package that imports its `public` names `if TYPE_CHECKING` alone.

    These imports, which type checkers and editors read, say where each name is to be had; nothing else does. No name
    may be that of another module of the package: importing a module puts it there in the name's place.
    """
    package = sys.modules[room]

    @cache
    def homes() -> dict[str, str]:
        tree = ast.parse(Path(str(package.__file__)).read_text(encoding="utf-8"))
        found = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module]
        return {alias.name: str(node.module) for node in found for alias in node.names if alias.name in public}

    def get(name: str) -> Any:
        if name in public and (home := homes()[name]) != room:
            value = getattr(import_module(home), name)
        elif not name.startswith("_") and find_spec(f"{room}.{name}"):
            value = import_module(f"{room}.{name}")
        else:
            raise AttributeError(f"module {room!r} has no attribute {name!r}", name=name, obj=package)
        # Found once, it is an ordinary name.
        setattr(package, name, value)
        return value

    def names() -> list[str]:
        return sorted({*vars(package), *public})

    return get, names
