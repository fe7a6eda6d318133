"""`vazao explore`: stored results in the browser."""

from __future__ import annotations

import json
import sys
import webbrowser
from importlib.util import find_spec
from typing import Annotated

import typer

from vazao.cli import completions
from vazao.cli.options import AsJson
from vazao.errors import ResultsError

LIBRARIES = ("starlette", "uvicorn")
"""Libraries of the extra `web`."""


Port = Annotated[
    int, typer.Option(min=0, max=65535, show_default=False, help="Port on loopback (default: one that is free).")
]
Browser = Annotated[
    bool, typer.Option(" /--no-browser", show_default=False, help="Print the address, and open no browser.")
]


def explore(
    directories: Annotated[
        list[str],
        typer.Argument(metavar="DIR…", help="Results directories.", autocompletion=completions.directories),
    ],
    port: Port = 0,
    browser: Browser = True,
    as_json: AsJson = False,
) -> None:
    """Look at stored results in the browser: filters, means with intervals, distributions, and the runs behind them."""
    check("explore")
    serve(directories, port=port, browser=browser, as_json=as_json)


def check(command: str) -> None:
    """Raise `ResultsError` if the libraries or the page of the results server are missing."""
    if missing := [name for name in LIBRARIES if find_spec(name) is None]:
        raise ResultsError(f"{command} needs {' and '.join(missing)}, not installed; pip install 'vazao[web]'")
    from vazao import explore as explorer

    if not explorer.is_built():
        raise ResultsError("the page of explore is not built here; `make web` builds it")


def serve(directories: list[str], *, port: int, browser: bool, as_json: bool, front: str | None = None) -> None:
    """Print the address and serve results directories until Ctrl-C, with the page `front` first if there is one."""
    from vazao import explore as explorer

    def announce(address: str) -> None:
        print(json.dumps({"address": address}) if as_json else f"{address}\nCtrl-C ends it.", flush=True)
        if browser and not as_json and sys.stdout.isatty():
            webbrowser.open(address)

    explorer.serve(explorer.opened(directories), port=port, on_listening=announce, front=front)
