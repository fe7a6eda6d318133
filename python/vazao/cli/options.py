"""Options that several commands share, and the parsing of their values."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vazao.cli import completions
from vazao.errors import ClusterError, ScenarioError, StudyError
from vazao.execution import WHOLE, Shard
from vazao.words import LANGUAGES, checked

if TYPE_CHECKING:
    from vazao.execution import Cluster

Directory = Annotated[
    str, typer.Argument(metavar="DIR", help="A results directory.", autocompletion=completions.directories)
]
Changes = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="KEY=VALUE", help="Override a key of the scenario.", autocompletion=completions.changes
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON document, nothing else.")]
Allow = Annotated[
    bool, typer.Option("--allow-programs", help="Let guests' programs and own algorithms (mine.py:Mine) run.")
]
Seed = Annotated[int | None, typer.Option(min=0, max=2**53, help="The seed of every random stream.")]


Full = Annotated[bool | None, typer.Option("--full/--quick", help="A study's size (default: as begun, else quick).")]
Jobs = Annotated[int | None, typer.Option(min=1, help="Runs at a time (default: all cores).")]
Out = Annotated[
    Path | None, typer.Option("--out", metavar="DIR", help="Where results go (a study's default: results/NAME).")
]
Trace = Annotated[
    str | None,
    typer.Option(
        metavar="MEASURES",
        help="Record time series: cwnd,ssthresh,srtt,rtt,flight,…",
        autocompletion=completions.measures,
    ),
]
Pcap = Annotated[Path | None, typer.Option(metavar="DIR", help="One pcapng per host interface.")]
Snap = Annotated[
    int | None,
    typer.Option(
        metavar="BYTES", min=20, max=65535, help="Captures keep so much of each packet; 96 hold all headers of TCP."
    ),
]
Qlog = Annotated[Path | None, typer.Option(metavar="DIR", help="Each side of each QUIC connection, for qvis.")]
ShardOf = Annotated[
    str | None, typer.Option(metavar="K/N", help="Run the K-th of N parts of a study's runs; see vazao merge.")
]
On = Annotated[
    str | None,
    typer.Option("--on", metavar="CLUSTER", help="Where runs go: local:8 (workers) or dask://HOST:PORT (a scheduler)."),
]
Vary = Annotated[
    list[str] | None,
    typer.Option(
        metavar="KEY=VALUES",
        help="Sweep a scenario's key: cubic,bbr or 0:0.05:6. May be repeated.",
        autocompletion=completions.changes,
    ),
]
Seeds = Annotated[
    str | None, typer.Option(metavar="N|A-B", help="Runs of each combination: 10 of them, or seeds 1-10.")
]
Precision = Annotated[
    str | None, typer.Option("--until-precision", metavar="PERCENT", help="Add seeds until goodput is known to 5%.")
]

Measurements = Annotated[
    list[Path] | None,
    typer.Option(
        "--measurements", metavar="FILE", help="A CSV of your own measurements, which joins a study. May be repeated."
    ),
]

FailOn = Annotated[
    str | None,
    typer.Option("--fail-on", metavar="VERDICTS", help="Exit with 1 if a claim has one of these: differs,undecided."),
]
Junit = Annotated[
    Path | None, typer.Option("--junit", metavar="FILE", help="Verdicts as JUnit's XML, for continuous integration.")
]

MAX_SEEDS = 10_000
"""Maximum number of runs of each combination of a sweep."""


def _language(lang: str | None) -> str | None:
    return lang and checked(lang)


Lang = Annotated[
    str | None,
    typer.Option(
        "--lang", metavar="|".join(LANGUAGES), callback=_language, help="Language (a study's default: its own)."
    ),
]


def seeds(text: str | None, seed: int | None) -> tuple[int | None, int | None]:
    """Parse `10`, counted from `seed`, or `1-10` into the first seed and their number. Raises `ScenarioError`."""
    if text is None:
        return seed, None
    first, dash, last = text.partition("-")
    numbers = [first, last] if dash else [first]
    if all(number.isdecimal() for number in numbers) and len(text) < 20:
        count = int(last) - int(first) + 1 if dash else int(first)
        if dash and seed is not None:
            raise ScenarioError(f"--seeds {text!r} says where seeds begin; leave --seed {seed} out")
        if 1 <= count <= MAX_SEEDS:
            return (int(first) if dash else seed), count
    raise ScenarioError(
        f"--seeds {text!r}: write how many, 1 to {MAX_SEEDS}, or from-to, as in --seeds 10 or --seeds 1-10"
    )


def shard(text: str | None) -> Shard:
    """Parse `3/40`, the third of forty shards of a campaign; None is the whole campaign. Raises `StudyError`."""
    if text is None:
        return WHOLE
    number, slash, of = text.partition("/")
    if slash and number.isdecimal() and of.isdecimal() and 1 <= int(number) <= int(of):
        return Shard(int(number), int(of))
    raise StudyError(f"--shard {text!r}: write NUMBER/OF, as in --shard 3/40 for the third of forty")


def cluster(text: str | None, jobs: int | None) -> Cluster | None:
    """The cluster to run on; None to run on the cores of this machine. Raises `ClusterError`."""
    if text is None:
        return None
    if jobs is not None:
        raise ClusterError(f"--jobs {jobs}: is for runs of this process; leave it out where runs go --on {text}")
    from vazao.execution import cluster_of

    return cluster_of(text, "--on")


def change(text: str) -> tuple[str, Any]:
    """Parse KEY=VALUE with a TOML value, or else text: `network.pairs=3`, `network.bottleneck.rate=10 Mbps`.

    A table replaces the existing one, which a `=` before the key indicates; a level of a study merges instead.
    """
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise ScenarioError(f"--set {text!r}: write KEY=VALUE, as in --set 'network.bottleneck.rate=10 Mbps'")
    try:
        parsed = tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        parsed = value
    if isinstance(parsed, dict):
        return f"={key.strip()}", parsed
    return key.strip(), parsed if isinstance(parsed, str | int | float | bool | list) else value
