"""Lazy imports of a package's public names (PEP 562): a command loads no library that it does not need.

The library `lazy_loader` reads them from a stub beside each package instead, which allows neither full module names nor
`import *`: a second file for each room, and another copy of the names of builders.
"""

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
    """Syntax tree of a module, which is not executed, or of its stub if it has one."""
    spec = find_spec(module)
    assert spec is not None
    path = Path(str(spec.origin))
    stub = path.with_suffix(".pyi")
    return ast.parse((stub if stub.exists() else path).read_text(encoding="utf-8"))


def homes(room: str) -> dict[str, str]:
    """Defining module of each name that a package re-exports by `import x as x` or `import *`."""
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

    These imports, which type checkers and editors read, are the only list of the public names and their modules;
    `__all__` is derived from them. No public name may equal that of a submodule: importing the submodule would replace
    it.
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
        # Cache it as an ordinary attribute.
        setattr(package, name, value)
        return value

    def names() -> list[str]:
        return sorted({*vars(package), *public()})

    return get, names
