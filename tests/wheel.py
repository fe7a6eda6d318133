"""Install a wheel as its users do and play the README with it: python tests/wheel.py dist/vazao-….whl.

It goes into a fresh environment, and its commands find no other program there: no compiler, no shell. What README shows
as printed must be what they print.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests" / "python"))

from documents import Block, exchanges, fenced, save, shows  # noqa: E402

MARK = "\0"


def main(wheel: Path) -> int:
    """Install the wheel, play README, say what differs; the number of failures."""
    shown = [block for block in fenced(ROOT / "README.md") if block.comment("not compared:") is None]
    with tempfile.TemporaryDirectory() as directory:
        place, environment = Path(directory), Path(directory) / "environment"
        subprocess.run([sys.executable, "-m", "venv", environment], check=True)
        subprocess.run(
            [environment / "bin/python", "-m", "pip", "install", "--quiet", "--only-binary", ":all:", wheel], check=True
        )
        save(place)
        wrong = [*_commands(shown, place, environment), *_python(shown, place, environment)]
    print("\n".join(wrong) or f"{wheel.name}: README's commands and Python print what README shows")
    return len(wrong)


def _run(tool: str, arguments: list[str], place: Path, environment: Path) -> tuple[bool, str, str]:
    """Whether a program of the environment succeeds, and what it prints."""
    done = subprocess.run(
        [environment / "bin" / tool, *arguments],
        cwd=place,
        env={"PATH": str(environment / "bin"), "HOME": str(place), "POLARS_TABLE_WIDTH": "100"},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode == 0, done.stdout, done.stderr


def _commands(shown: list[Block], place: Path, environment: Path) -> Iterator[str]:
    for block in (block for block in shown if block.language == "console"):
        for command, output in exchanges(block):
            tool, *arguments = shlex.split(command, comments=True)
            succeeded, printed, errors = _run(tool, arguments, place, environment)
            if not succeeded or not shows(output, printed):
                yield f"{block}: `{command}` prints\n{printed}{errors}"


def _python(shown: list[Block], place: Path, environment: Path) -> Iterator[str]:
    """Differences of the Python in the document, which is one program from its first line to its last."""
    blocks = [block for block in shown if block.language in ("python", "text")]
    script = "\n".join(block.text if block.language == "python" else f"print({MARK!r})" for block in blocks)
    (place / "readme.py").write_text(script, encoding="utf-8")
    succeeded, printed, errors = _run("python", ["readme.py"], place, environment)
    texts = [block for block in blocks if block.language == "text"]
    if not succeeded or printed.count(MARK) != len(texts):
        yield f"README's Python fails\n{errors}"
    for block, part in zip(texts, printed.split(MARK), strict=False):
        if not shows(f"…\n{block.text}", part):
            yield f"{block}: the Python before it prints\n{part}"


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
