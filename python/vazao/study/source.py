"""Reading and parsing of TOML files, with errors that name the file, the line and the key."""

import errno
import re
import tomllib
from bisect import bisect_left
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from vazao.errors import StudyError
from vazao.files import read_file

Key = tuple[str | int, ...]

_KEY = re.compile(r"""\s*(?:"((?:[^"\\]|\\.)*)"|'([^']*)'|([A-Za-z0-9_-]+))\s*""")
_SKIP = re.compile(r"(?:\s|#[^\n]*)*")
_TOKEN = re.compile(
    r'"""(?:[^\\]|\\.)*?"""|\'\'\'.*?\'\'\'|"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'|#[^\n]*|[\[{]|[\]}]|\n|.', re.DOTALL
)


@dataclass(frozen=True)
class Source:
    """Text of a TOML file and its contents."""

    file: str
    text: str

    @cached_property
    def document(self) -> dict[str, Any]:
        """The parsed file. Raises `StudyError` with the line of a syntax error."""
        try:
            return tomllib.loads(self.text)
        except tomllib.TOMLDecodeError as error:
            message = re.sub(r" \((at .*)\)$", "", str(error))
            place = re.search(r"at line (\d+)", str(error))
            line = int(place[1]) if place else self.text.count("\n") + 1
            raise StudyError(f"{self.file}:{line}: {message[:1].lower()}{message[1:]}") from None
        except RecursionError:
            raise StudyError(f"{self.file}: is nested too deeply") from None
        except ValueError as error:  # an integer of thousands of digits
            raise StudyError(f"{self.file}: {error}") from None

    @cached_property
    def lines(self) -> dict[Key, int]:
        """Line of every table header and of every key outside inline tables."""
        return _Locator(self.text).lines if self.document else {}

    def error(self, key: Key, problem: str) -> StudyError:
        """Error `file:line: key: problem`, with the line of the key or of the nearest table around it."""
        near = next((key[:n] for n in range(len(key), 0, -1) if key[:n] in self.lines), None)
        line = f":{self.lines[near]}" if near else ""
        name = ".".join(str(part) for part in key)
        return StudyError(f"{self.file}{line}: {name + ': ' if name else ''}{problem}")


class _Locator:
    """Scanner that notes the lines of headers and keys in a valid TOML text, and skips values."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.lines: dict[Key, int] = {}
        self.counts: dict[Key, int] = {}
        self.ends = [found.start() for found in re.finditer("\n", text)]
        table: Key = ()
        while (start := self._skip_blank()) < len(text):
            if text.startswith("[[", start):
                table = self._array_header()
            elif text[start] == "[":
                self.at += 1
                table = self._resolve(self._dotted())
                self._note(table, start)
                self._skip_line()
            else:
                key = self._dotted()
                self._note(table + key, start)
                self.at += 1
                self._skip_value()

    def _skip_blank(self) -> int:
        found = _SKIP.match(self.text, self.at)
        self.at = found.end() if found else self.at
        return self.at

    def _note(self, key: Key, position: int) -> None:
        line = bisect_left(self.ends, position) + 1
        for n in range(1, len(key) + 1):
            self.lines.setdefault(key[:n], line)

    def _array_header(self) -> Key:
        start, self.at = self.at, self.at + 2
        array = self._resolve(self._dotted())
        index = self.counts[array] = self.counts.get(array, -1) + 1
        self._note((*array, index), start)
        self._skip_line()
        return (*array, index)

    def _resolve(self, key: Key) -> Key:
        """Insert the current index after every array of tables inside `key`, except at its end."""
        resolved: Key = ()
        for n, part in enumerate(key):
            resolved = (*resolved, part)
            if n + 1 < len(key) and resolved in self.counts:
                resolved = (*resolved, self.counts[resolved])
        return resolved

    def _dotted(self) -> Key:
        parts: list[str] = []
        while found := _KEY.match(self.text, self.at):
            parts.append(next(group for group in found.groups() if group is not None))
            self.at = found.end()
            if not self.text.startswith(".", self.at):
                break
            self.at += 1
        return tuple(parts)

    def _skip_line(self) -> None:
        self.at = self.text.find("\n", self.at) % (len(self.text) + 1)

    def _skip_value(self) -> None:
        depth = 0
        while found := _TOKEN.match(self.text, self.at):
            self.at = found.end()
            token = found[0]
            depth += (token in "[{") - (token in "]}")
            if token == "\n" and depth == 0:
                return


CAPTURES = {
    b"\n\r\r\n": "pcapng",
    **dict.fromkeys((b"\xd4\xc3\xb2\xa1", b"\xa1\xb2\xc3\xd4", b"\x4d\x3c\xb2\xa1", b"\xa1\xb2\x3c\x4d"), "pcap"),
}
"""First bytes of captures, with the format (pcap: draft-ietf-opsawg-pcap section 4, with times in micro- or
nanoseconds of either byte order; pcapng: draft-ietf-opsawg-pcapng section 4.1)."""

_CAPTURE = (
    "; vazao read tells what a capture holds, vazao view draws it, and this command runs a scenario, which is TOML "
    "(vazao run FILE --pcap DIR writes a run's captures)"
)
_OTHERS = {
    **{first: f"is a capture ({name}){_CAPTURE}" for first, name in CAPTURES.items()},
    b"\x1e{": "is a log of events (qlog); qvis shows it, and a TOML file is needed here",
    b"PAR1": "is a table (Parquet); vazao sql asks those of a results directory, and a TOML file is needed here",
    b"\x1f\x8b": "is compressed (gzip); a TOML file is needed here",
    b"PK\x03\x04": "is an archive (zip); a TOML file is needed here",
}
"""First bytes of files that are not TOML, with the message for each (qlog: RFC 7464)."""


@contextmanager
def readable(path: Path, wanted: str, *, links: bool = True) -> Iterator[None]:
    """Raise `StudyError` if the file read inside cannot be read, or is not UTF-8; `wanted` is the file needed instead.

    Without `links`, a symbolic link is not followed, and reported as such.
    """
    try:
        yield
    except FileNotFoundError:
        raise StudyError(f"{path}: no such file") from None
    except IsADirectoryError:
        raise StudyError(f"{path}: is a directory; {wanted} is needed") from None
    except UnicodeDecodeError as error:
        raise StudyError(f"{path}: not a text in UTF-8 (byte {error.start + 1}); {wanted} is needed") from None
    except OSError as error:
        if not links and error.errno == errno.ELOOP:
            raise StudyError(f"{path}: is a symbolic link; put the file itself there") from None
        raise StudyError(f"{path}: cannot be read: {error.strerror}") from None


def read_text(path: Path) -> str:
    """Text of a file that a user named. Raises `StudyError` if it cannot be read."""
    with readable(path, "a TOML file"):
        beginning = read_file(path, links=True, first=4)
        if other := next((problem for start, problem in _OTHERS.items() if beginning.startswith(start)), None):
            raise StudyError(f"{path}: {other}")
        return read_file(path, links=True).decode()
