"""Commands that make pages: `vazao view` draws runs packet by packet, `vazao play` varies a scenario live."""

from __future__ import annotations

import json
import re
import sys
import tempfile
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vazao import captures, results, scenario, study as studies
from vazao.cli import completions, programs
from vazao.cli.explore import Port, check
from vazao.cli.options import Allow, AsJson, Changes, Seed, change
from vazao.cli.texts import say
from vazao.errors import ScenarioError, did_you_mean

if TYPE_CHECKING:
    from vazao.seeing import Page, Recording

Runs = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE|NAME|DIR/RUN_ID…",
        help="Scenarios, or stored runs of a study; several are drawn over each other. "
        "Or a capture (pcap, pcapng), or two of the same packets at two places.",
        autocompletion=completions.files,
    ),
]
Html = Annotated[Path | None, typer.Option("--html", metavar="FILE", help="Where the page goes (default: a new file).")]
Beside = Annotated[
    list[str] | None,
    typer.Option(
        metavar="KEY=VALUE",
        help="Draw the scenario with another value of a key beside it. May be repeated.",
        autocompletion=completions.changes,
    ),
]
Connection = Annotated[
    int | None,
    typer.Option(
        "--flow",
        metavar="N",
        min=0,
        help="Connection of a capture, as vazao read numbers them (default: those with the most data).",
    ),
]
Packets = Annotated[int | None, typer.Option(min=1, help="Packets to keep of each run or capture (default: 300000).")]
NoBrowser = Annotated[bool, typer.Option("--no-browser", help="Write the page, and do not open it.")]


def view(
    runs: Runs,
    html: Html = None,
    beside: Beside = None,
    changes: Changes = None,
    seed: Seed = None,
    flow: Connection = None,
    packets: Packets = None,
    no_browser: NoBrowser = False,
    allow: Allow = False,
    as_json: AsJson = False,
) -> None:
    """Draw runs packet by packet: sequence numbers, windows, queues, the network. One page, which needs no network.

    Of a capture it draws connections as they passed there; of two, also what was lost between and what the rest took.
    """
    from vazao import seeing

    most = packets or seeing.MOST
    captured = [run for run in runs if captures.is_capture(Path(run))]
    if captured:
        if len(captured) < len(runs) or len(runs) > 2:
            raise ScenarioError(f"{captured[0]}: is a capture, drawn alone or with one of the same packets elsewhere")
        if changes or beside or seed is not None:
            raise ScenarioError(f"{captured[0]}: is a capture; leave --set, --beside and --seed out")
        both = len(captured) == 2
        draw = captures.record_both if both else captures.record
        recording = draw(*captured, flow=flow, most=most)
        told = {"captures": captured} if as_json else None
        _deliver(seeing.view([recording]), html, recording.name, told, browser=not no_browser)
        return
    if flow is not None:
        raise ScenarioError("--flow: names a connection of a capture, and no capture is given")
    recordings: list[Recording] = []
    for run in runs:
        recordings += _recorded(run, changes or [], beside or [], seed, most, allow)
    told = {"runs": [each.run_id for each in recordings]} if as_json else None
    _deliver(seeing.view(recordings), html, recordings[0].name, told, browser=not no_browser)


Tried = Annotated[
    str | None,
    typer.Argument(
        metavar="FILE|NAME",
        help="A scenario to begin with; without it two flows that share a bottleneck.",
        autocompletion=completions.files,
    ),
]
Lesson = Annotated[
    str | None,
    typer.Option(
        metavar="NAME|FILE",
        help="Begin with a lesson, such as slow-start, or with one of yours, a TOML file.",
        autocompletion=completions.lessons,
    ),
]

Served = Annotated[
    bool,
    typer.Option("--serve", help="Serve the page, with the engine behind it: the way where there is none for pages."),
]


def play(
    run: Tried = None,
    html: Html = None,
    lesson: Lesson = None,
    served: Served = False,
    port: Port = 0,
    no_browser: NoBrowser = False,
    as_json: AsJson = False,
) -> None:
    """Change a scenario with sliders and see at once what follows; with lessons. One page, the engine in it."""
    from vazao import seeing

    if served and html is not None:
        raise ScenarioError("--html: is a page with its engine in it; leave --serve out")

    text = name = None
    if run is not None:
        path = studies.find(run)
        text = studies.read_text(path)
        if studies.is_study(text):
            raise ScenarioError(
                f"{path}: is a study; the page plays scenarios, and has lessons on the studies' figures"
            )
        # Report an invalid scenario here rather than in the page.
        name = scenario.load(text, file=str(path)).name
    own = None
    if lesson is not None and lesson not in seeing.lessons():
        if not (lesson.endswith(".toml") or Path(lesson).is_file()):
            known = did_you_mean(lesson, seeing.lessons())
            raise ScenarioError(f"--lesson {lesson!r}: is no lesson{known}; one of yours is a file, as mine.toml")
        own = seeing.own_lesson(Path(lesson))
        lesson = str(own["name"])
    told = {"lessons": [*([lesson] if own else []), *seeing.lessons()]} if as_json else None
    if served or (html is None and not seeing.has_engine()):
        page = seeing.play_page(text, name or "", lesson, own=own, served=True)
        _serve(page, told, port=port, browser=not no_browser)
        return
    if port:
        raise ScenarioError("--port: goes with --serve")
    page = seeing.play_page(text, name or "", lesson, own=own)
    _deliver(page, html, lesson or name or "laboratory", told, browser=not no_browser)


def _serve(page: Page, told: dict[str, Any] | None, *, port: int, browser: bool) -> None:
    """Print the address and serve the laboratory until Ctrl-C."""
    check("play --serve")
    from vazao import explore

    def say_address(address: str) -> None:
        print(f"{address}\nCtrl-C ends it." if told is None else json.dumps({"address": address} | told), flush=True)
        if browser and told is None and sys.stdout.isatty():
            webbrowser.open(address)

    explore.play(page, port=port, on_listening=say_address)


def _deliver(page: Page, html: Path | None, name: str, told: dict[str, Any] | None, *, browser: bool) -> None:
    """Write a page and print its path, with `told` as JSON. Without `html`, open the new file in the browser."""
    path = page.save(html or _new_file(name))
    if told is not None:
        print(json.dumps({"page": str(path)} | told))
        return
    say(str(path))
    if html is None and browser:
        webbrowser.open(path.absolute().as_uri())


def _recorded(
    run: str, changes: list[str], beside: list[str], seed: int | None, most: int, allow: bool
) -> list[Recording]:
    from vazao import seeing

    directory, _, run_id = run.rpartition("/")
    if directory and re.fullmatch(r"[0-9a-f]{4,16}", run_id) and Path(directory).is_dir():
        if changes or beside or seed is not None:
            raise ScenarioError(f"{run}: is a stored run; leave --set, --beside and --seed out")
        name, stored = results.stored_scenario(directory, run_id, programs.gate(allow))
        return [seeing.record(stored, name, most=most)]
    path = studies.find(run)
    text = studies.read_text(path)
    if studies.is_study(text):
        raise ScenarioError(f"{path}: is a study; name one of its stored runs: DIR/RUN_ID (`vazao sql` lists them)")
    base = [change(one) for one in changes]
    named = [("", base), *((one, [*base, change(one)]) for one in beside)]
    recordings = []
    for what, overrides in named:
        more: dict[str, Any] = {"file": str(path), "overrides": overrides, "seed": seed}
        loaded = programs.permitted(path, text, more, allow, studies.is_built_in(run))
        recordings.append(seeing.record(loaded, what or loaded.name, most=most))
    return recordings


def _new_file(name: str) -> Path:
    """Path of a page in a new folder, which is kept because the browser may read it at any time."""
    kept = re.sub(r"[^\w.-]+", "-", name).strip("-.") or "run"
    return Path(tempfile.mkdtemp(prefix="vazao-")) / f"{kept}.html"
