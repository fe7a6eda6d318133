"""Generates python/vazao/registers and registration.md: when each study's criteria, levels and replications were fixed.

Both are derived from the history of the studies' files. Uncommitted changes are listed as `next`, and get their
commit's name when this runs again.

.venv/bin/python docs/register.py
"""

from __future__ import annotations

import json
import subprocess
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from vazao.study import built_in_studies, registration

DOCS = Path(__file__).parent
ROOT = DOCS.parent
REGISTERS = ROOT / "python/vazao/registers"
COMMAND = ".venv/bin/python docs/register.py"
NEXT = "next"
"""Placeholder for the name of a commit that is still to come."""

ABOUT = """\
A criterion that is written after results were seen can be fitted to them. So each study's register has, for every
claim, the commit that wrote its criterion first, and each commit since that changed its words (*criterion*), the
expression of `holds` (*decision*) or the rest of its query and the views that this names (*query*, which may be what
decides or only what explains); for every part, those that changed its levels or its replications (in quick, in full).
A report says the same under each claim and each part. The history of this repository is the only witness: nothing was
registered with anybody else. Where a criterion was given up whose results were known, the report has the old one, too,
and why (`earlier`)."""

Version = tuple[str, str, str, dict[str, Any]]
"""A version of a study's file: date, commit, its subject, and what the file says."""


def git(*arguments: str) -> str:
    """Standard output of a git command."""
    done = subprocess.run(["git", "-C", str(ROOT), *arguments], check=True, capture_output=True, text=True)
    return done.stdout


def versions(path: Path) -> Iterator[Version]:
    """Yield every readable version of a file, oldest first, and the uncommitted one last."""
    log = git("log", "--follow", "--format=%x00%h%x00%cs%x00%s%x00", "--name-only", "--", str(path))
    fields = [field.strip() for field in log.split("\0")][1:]
    rows = [fields[n : n + 4] for n in range(0, len(fields), 4)]
    for commit, date, subject, file in reversed(rows):
        try:
            yield date, commit, subject, tomllib.loads(git("show", f"{commit}:{file}"))
        except tomllib.TOMLDecodeError:
            continue  # A version that nobody could run fixed nothing.
    today = datetime.now(UTC).date().isoformat()
    yield today, NEXT, "", tomllib.loads(path.read_text(encoding="utf-8"))


def register(known: Sequence[Version]) -> registration.Register:
    """History of every finding and part in the last version."""
    last: dict[str, dict[str, Any]] = {kind: {} for kind in registration.KINDS}
    history: dict[str, dict[str, list[registration.Change]]] = {kind: {} for kind in registration.KINDS}
    for date, commit, subject, document in known:
        for kind, found in registration.states_of(document).items():
            for name, state in found.items():
                before = last[kind].get(name)
                if what := _changed(before, state):
                    history[kind].setdefault(name, []).append(registration.Change(date, commit, subject, what))
            # A file from another branch may lack what an older one had.
            last[kind] |= found
    return {
        kind: {
            name: registration.Registration(registration.digest(last[kind][name]), tuple(history[kind][name]))
            for name in found
        }
        for kind, found in registration.states_of(known[-1][-1]).items()
    }


def _changed(before: Mapping[str, Any] | None, state: Mapping[str, Any]) -> tuple[str, ...]:
    if before is None:
        return ("written",)
    changed = [what for what in registration.WHAT if what in state and before[what] != state[what]]
    return tuple(f"{what} {before[what]} → {state[what]}" if what == "replications" else what for what in changed)


def toml(history: registration.Register) -> str:
    """Text of a register's file."""
    lines = [f"# Written by `{COMMAND}`: date, commit, its subject, and what it changed."]
    for kind, registrations in history.items():
        for name, one in registrations.items():
            lines += ["", f"[{kind}.{json.dumps(name)}]", f'digest = "{one.digest}"', "changes = ["]
            lines += [f"    {_row(change)}," for change in one.changes]
            lines += ["]"]
    return "\n".join([*lines, ""])


def _row(change: registration.Change) -> str:
    return json.dumps([change.date, change.commit, change.subject, list(change.what)], ensure_ascii=False)


def page(registers: Mapping[str, registration.Register], order: Mapping[str, Sequence[str]]) -> str:
    """Text of registration.md: for each study, how many criteria are unchanged, and the changes of each commit."""
    lines = [
        "# When criteria were fixed",
        "",
        f"Generated from the history of the studies' files by `{COMMAND}`.",
        "",
        *ABOUT.splitlines(),
    ]
    for study, history in registers.items():
        findings, parts = (history[kind] for kind in registration.KINDS)
        unchanged = [sum(len(one.changes) == 1 for one in kind.values()) for kind in (findings, parts)]
        lines += [
            "",
            f"## {study}",
            "",
            f"{unchanged[0]} of {len(findings)} criteria and {unchanged[1]} of {len(parts)} parts stand as written.",
            "",
            "| commit | what it did to claims | what it did to parts |",
            "| --- | --- | --- |",
            *_rows(order[study], findings, parts),
        ]
    return "\n".join([*lines, ""])


def _rows(order: Sequence[str], *kinds: Mapping[str, registration.Registration]) -> Iterator[str]:
    """Row for each commit, oldest first, with the changes of each kind."""
    commits: dict[tuple[str, str, str], list[dict[str, list[str]]]] = {}
    for n, registrations in enumerate(kinds):
        for name, one in registrations.items():
            for change in one.changes:
                cells = commits.setdefault((change.date, change.commit, change.subject), [{} for _ in kinds])
                cells[n].setdefault(", ".join(change.what), []).append(f"`{name}`")
    for (date, commit, subject), cells in sorted(commits.items(), key=lambda row: order.index(row[0][1])):
        texts = ("<br>".join(f"{what}: {', '.join(names)}" for what, names in cell.items()) for cell in cells)
        yield f"| {date} ({commit}) {_cell(subject)} | {' | '.join(texts)} |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("`", "").replace("<", "&lt;").replace("*", "\\*")


def main() -> None:
    """Write all registers and the page."""
    known = {name: list(versions(path)) for name, path in built_in_studies().items()}
    registers = {name: register(history) for name, history in known.items()}
    for name, found in registers.items():
        (REGISTERS / f"{name}.toml").write_text(toml(found), encoding="utf-8")
    order = {name: [commit for _, commit, *_ in history] for name, history in known.items()}
    (DOCS / "registration.md").write_text(page(registers, order), encoding="utf-8")


if __name__ == "__main__":
    main()
