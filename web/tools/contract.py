"""Types of what the engine and the explorer's server exchange with pages: `python web/tools/contract.py` writes them.

The engine's are those of its registries and of a recording's header, read off values; the explorer's are models already
(`queries.py` and `replies.py` of `python/vazao/explore`).
"""

import json
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, Literal, get_args, get_origin

from pydantic import BaseModel

from vazao import _core
from vazao.explore import queries, replies

FILE = Path(__file__).parents[1] / "src/contract.ts"

HEAD = "/** Written by `python web/tools/contract.py`: what the engine and the explorer's server send. */\n"

SCENARIO = """
until = "1 s"
network = { topology = "path", link = [{ rate = "1 Mbps", delay = "1 ms" }, { rate = "1 Mbps", delay = "1 ms" }] }
flow = [{ app = "upload", transport = "mptcp" }]
"""

NAMES = {
    ("Entry", "parameters"): "Parameter", ("Entry", "links"): "LinkKey", ("Entry", "settings"): "Setting",
    ("Header", "packets"): "Kept", ("Header", "flows"): "Flow", ("Header", "nodes"): "NetworkNode",
    ("Header", "links"): "Link", ("Header", "measures"): "Measure", ("Header", "series"): "SeriesEntry",
    ("Header", "sections"): "Section", ("Header", "observed"): "Observed",
    ("Observed", "between"): "Between",
}  # fmt: skip
"""Names of the types of values within others."""

WORDS = {("NetworkNode", "kind"), ("LinkKey", "count")}
"""Texts of which only some are possible; the values are all of them."""

MAPS = {("Header", "sections")}
"""Tables whose keys are names."""

ADDED = {
    ("Flow", "sequence"), ("Flow", "full"), ("Link", "key"), ("Link", "index"), ("Measure", "line"),
    ("Header", "interfaces"), ("Header", "observed"), ("Flow", "connection"), ("Flow", "seen_from"),
}  # fmt: skip
"""Fields that recordings of earlier versions lack; the reader completes the nodes."""

MODELS = (
    *(queries.Filter, queries.Dimension, queries.Ask, replies.Column, replies.Factor, replies.Part, replies.Figure),
    *(replies.Directory, replies.About, replies.Bins, replies.Statement, replies.Answer, replies.Rows, replies.Counted),
    *(replies.Counts, replies.Domain, replies.Shown, replies.Finding, replies.Ledger),
)

UNKNOWN = {("Between", "least_ns")}
"""Numbers that are null where nothing tells them."""

PLAIN = {bool: "boolean", int: "number", float: "number", str: "string", NoneType: "null"}


class Contract:
    """Interfaces by name, in the order in which they are met."""

    def __init__(self) -> None:
        self.interfaces: dict[str, dict[str, str]] = {}

    def seen(self, name: str, values: Sequence[dict[str, Any]]) -> None:
        """Declare the type of these values."""
        fields = self.interfaces[name] = {}
        for key in dict.fromkeys(key for value in values for key in value):
            given = [value[key] for value in values if key in value]
            optional = len(given) < len(values) or (name, key) in ADDED
            fields[key + "?" * optional] = self._type((name, key), given)

    def _type(self, at: tuple[str, str], values: Sequence[Any]) -> str:
        if at in MAPS:
            return f"Record<string, {self._named(at, [one for value in values for one in value.values()])}>"
        if at in WORDS:
            return " | ".join(json.dumps(word) for word in dict.fromkeys(values))
        lists = [value for value in values if isinstance(value, list)]
        tables = [value for value in values if isinstance(value, dict)]
        found = [PLAIN[type(value)] for value in values if not isinstance(value, list | dict)]
        found += ["null"] * (at in UNKNOWN)
        if tables:
            found.append(self._named(at, tables))
        if lists:
            found.append(self._type(at, [one for value in lists for one in value]) + "[]")
        return " | ".join(sorted(dict.fromkeys(found), key=lambda name: name == "null"))

    def _named(self, at: tuple[str, str], values: Sequence[dict[str, Any]]) -> str:
        self.seen(NAMES[at], values)
        return NAMES[at]

    def model(self, model: type[BaseModel]) -> None:
        """Declare a model; what has a default may be left out."""
        self.interfaces[model.__name__] = {
            name + "?" * (not field.is_required()): declared(field.annotation, field.is_required())
            for name, field in model.model_fields.items()
        }

    def lines(self) -> Iterator[str]:
        """Text of the file, line by line."""
        for name, fields in self.interfaces.items():
            yield f"\nexport interface {name} {{\n"
            yield from (f"  {key}: {kind};\n" for key, kind in fields.items())
            yield "}\n"


def declared(annotation: Any, with_none: bool = True) -> str:
    """Type of an annotation in Python; a value that may be left out is never null."""
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return declared(inner[0])
    if origin is Literal:
        return " | ".join(map(json.dumps, inner))
    if origin is list:
        kind = declared(inner[0])
        return f"({kind})[]" if " | " in kind else f"{kind}[]"
    if origin is dict:
        return f"Record<string, {declared(inner[1])}>"
    if inner:
        return " | ".join(dict.fromkeys(declared(one) for one in inner if with_none or one is not NoneType))
    return PLAIN.get(annotation) or str(annotation.__name__)


def header(recording: bytes) -> dict[str, Any]:
    """Header of a recording."""
    read: dict[str, Any] = json.loads(recording[16 : 16 + int.from_bytes(recording[12:16], "little")])
    return read


def opening() -> bytes:
    """A capture in the older format with the three segments that open a connection, of raw IP (type 101)."""
    packets = b""
    for side, flags in enumerate((2, 18, 16)):
        ends = [bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2])][:: -1 if side == 1 else 1]
        ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 40, 0, 0, 64, 6, 0, *ends)
        ports = (80, 5000) if side == 1 else (5000, 80)
        tcp = struct.pack(">HHIIBBHHH", *ports, int(side == 2), int(side > 0), 5 << 4, flags, 1000, 0, 0)
        packets += struct.pack("<IIII", 0, side, 40, 40) + ip + tcp
    return struct.pack("<IHHIIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 101) + packets


def contract() -> str:
    """The file that declares all types."""
    made = Contract()
    made.seen("Entry", [entry for kind in json.loads(_core.registry()).values() for entry in kind])
    recording = _core.run(_core.load(SCENARIO), recording=1000).recording or b""
    capture = _core.Capture([0], 3)
    capture.feed(opening())
    captured = [capture.recording("", [""]), capture.joined(capture, ("", ""), [""])]
    made.seen("Header", list(map(header, [recording, *captured])))
    for model in MODELS:
        made.model(model)
    return HEAD + "".join(made.lines())


if __name__ == "__main__":
    FILE.write_text(contract(), encoding="utf-8")
