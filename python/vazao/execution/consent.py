"""Programs and code that scenarios would run, by name and location, so that the user can approve them first."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from vazao import _core
from vazao.scenario import Named

MOST, LONGEST = 20, 200
"""Largest number of programs listed, and of characters shown of each."""


@dataclass(frozen=True)
class CodeRequest:
    """Guest programs and in-process Python code that a file would run."""

    programs: list[str]
    code: list[str]
    """Names of the algorithms."""
    files: list[Named] = field(default_factory=list)
    """All files that contain the code."""

    @classmethod
    def of(cls, scenarios: Iterable[_core.Scenario]) -> CodeRequest:
        """Collect the programs and code of scenarios, without duplicates, in order of appearance."""
        programs: dict[str, None] = {}
        code: dict[str, None] = {}
        files: dict[Named, None] = {}
        for one in scenarios:
            programs |= dict.fromkeys(one.programs)
            if one.code:
                code |= dict.fromkeys(name for name, _ in one.code)
                files |= dict.fromkeys(each for each in one.inputs if each[0].endswith(".py"))
        return cls(list(programs), list(code), list(files))

    def __bool__(self) -> bool:
        return bool(self.programs or self.code)

    @property
    def leave(self) -> frozenset[str]:
        """Permission to run exactly this code, as it was when read (`vazao.scenario.Allowed`)."""
        return frozenset(digest for _, _, digest in self.files)

    def trusted(self) -> CodeRequest:
        """The request for a built-in file: its own programs are trusted, so only code from the command line remains."""
        return CodeRequest([], self.code, self.files)

    def message(self, file: str) -> str:
        """Message that lists the programs and code that `file` runs."""
        lines: list[str] = []
        if self.programs:
            lines += [f"{file}: its guests run programs of this machine:", *_listed(self.programs)]
            if _core.has_walls():
                lines.append("They can read what is installed here, nothing of yours, and write nothing.")
            else:
                lines.append("This machine's Linux has no Landlock: only their guest keeps them from your files.")
        if self.code:
            lines += [f"{file}: it runs Python code as an algorithm:", *_listed(self._algorithms())]
            # All of them, however many: code imported from an unlisted file would run as well.
            lines += [f"    {shown(f'{name} ({_place(path)})')}, imported" for name, path in self._imported()]
            lines.append("Such code can do all that you can: read, change and delete your files.")
        return "\n".join(lines)

    def _algorithms(self) -> list[str]:
        places = {name: str(path) for name, path, _ in reversed(self.files)}
        return [f"{name} ({_place(places[name.rpartition(':')[0]])})" for name in self.code]

    def _imported(self) -> list[tuple[str, str]]:
        named = {name.rpartition(":")[0] for name in self.code}
        return list(dict.fromkeys((name, str(path)) for name, path, _ in self.files if name not in named))


def _place(path: str) -> str:
    """A path, with its resolved target if symbolic links lead elsewhere."""
    real = os.path.realpath(path)
    return path if real == os.path.normpath(Path(path).absolute()) else f"{path}, which is {real}"


def _listed(names: Sequence[str]) -> list[str]:
    more = [f"    … and {len(names) - MOST} more"] if len(names) > MOST else []
    return [*(f"    {shown(each)}" for each in names[:MOST]), *more]


def shown(program: str) -> str:
    """A program on one line, with control characters replaced; if too long, truncated and with its length."""
    line = "".join(c if c.isprintable() else "⏎" if c == "\n" else "?" for c in program.strip())
    return line if len(line) <= LONGEST else f"{line[:LONGEST]}… ({len(line)} characters)"
