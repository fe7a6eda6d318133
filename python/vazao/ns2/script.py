"""Generation of the Tcl script for an ns-2 experiment, from numbers and a fixed vocabulary only.

Nothing else can be injected: a line accepts numbers and members of `Word`, but no text.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from importlib import resources

from vazao.ns2.experiment import LARGEST, Association, Connection, Experiment, Path, Settings, Way, Word
from vazao.ns2.sctp import DATA

LOOK_S = 0.01
"""Seconds between two samples of a flow's window: less than any relevant round-trip time."""

_COUNTABLE_BITS = 8 * 2.0**31
"""Half of the bits after which a byte counter wraps around."""


def script(experiment: Experiment) -> str:
    """The whole script."""
    return _laboratory() + "\n" + "".join(f"{line}\n" for line in calls(experiment))


def calls(experiment: Experiment) -> Iterator[str]:
    """Lines of the script that differ between experiments."""
    yield _line(Word.HOSTS, experiment.nodes)
    for way in experiment.ways:
        yield _line(Word.WAY, way.source, way.target, way.rate_bps, way.delay_s, way.waiting)
    for number, way in enumerate(experiment.ways):
        if loss := way.loss:
            head = _line(Word.LOSE, number, way.source, way.target, loss.rate, loss.seed)
            yield f"{head} {{{_line(*(packet - 1 for packet in loss.packets))}}}"
    for number, connection in enumerate(experiment.connections):
        yield _flow(number, connection)
    if experiment.association:
        yield _association(experiment.association, experiment.ways)
        if experiment.measures:
            yield _line(Word.WINDOWS, LOOK_S)
    count_s = min(1.0, _COUNTABLE_BITS / max(way.rate_bps for way in experiment.ways))
    yield _line(Word.GO, experiment.until_s, LOOK_S, count_s, 1 + experiment.seed % LARGEST)


def _flow(number: int, connection: Connection) -> str:
    agent = connection.agent
    words = _line(Word.FLOW, number, connection.source, connection.target, connection.start_s, agent.kind, agent.sink)
    return f"{words} {{{_written(agent.module) if agent.module else ''}}} {{{_settings(agent.settings)}}}"


def _association(association: Association, ways: Sequence[Way]) -> str:
    chunks = -(-association.size // DATA)
    words = _line(Word.ASSOCIATION, association.start_s, association.size, chunks, association.agent)
    paths = " ".join(f"{{{_path(path, ways)}}}" for path in association.paths)
    return f"{words} {{{_settings(association.settings)}}} {{{paths}}}"


def _path(path: Path, ways: Sequence[Way]) -> str:
    first, last = ways[path.out[0]], ways[path.out[-1]]
    return _line(first.source, last.target, first.target, last.source, path.loss)


def _settings(settings: Settings) -> str:
    return " ".join(_line(variable, value) for variable, value in settings)


def _line(*parts: Word | float) -> str:
    return " ".join(map(_written, parts))


def _written(part: Word | float) -> str:
    """Format a word, or a number, for Tcl. Raises `TypeError` for anything else."""
    if isinstance(part, Word):
        return part.value
    if isinstance(part, bool) or not isinstance(part, int | float) or not math.isfinite(part):
        raise TypeError(f"{part!r} is no number that a script can have")
    return repr(part)


def _laboratory() -> str:
    return resources.files("vazao.ns2").joinpath("laboratory.tcl").read_text(encoding="ascii")
