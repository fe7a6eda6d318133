"""Web application of `vazao explore`: the page, JSON answers, figures as images, and runs simulated again."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import partial
from html import escape
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from vazao.errors import ResultsError, VazaoError
from vazao.explore import queries
from vazao.explore.access import MAX_BYTES, Guard
from vazao.explore.answers import Answers
from vazao.explore.directories import Directory
from vazao.explore.run_page import POLICY, OpenRuns, Pages, PermissionNeededError, Run, open_runs as run_again

HERE = Path(__file__).parent
STATIC = {"explore.js": "text/javascript", "explore.css": "text/css"}
"""Files of the page, built by `make web`, with their media types."""


EXPLORER = "/explore"
"""Path of the explorer's page, needed where another page is at `/`."""


def is_built() -> bool:
    """Whether the page's script and style are built."""
    return all((HERE / "static" / name).is_file() for name in STATIC)


def application(
    directories: Sequence[Directory],
    *,
    token: str,
    port: int,
    open_runs: OpenRuns = run_again,
    front: str | None = None,
) -> ASGIApp:
    """The application over open directories; `open_runs` makes the page of one or two runs.

    `front` is a page served at `/` in place of the explorer, with its own content policy in it.
    """
    site = _Site(Answers(directories), open_runs, front)
    routes = [
        Route("/", site.page if front is None else site.first, methods=["GET"]),
        Route(EXPLORER, site.page, methods=["GET"]),
        Route("/static/{name}", site.static, methods=["GET"]),
        Route("/api/about", site.about, methods=["POST"]),
        Route("/api/ask", site.ask, methods=["POST"]),
        Route("/api/version", site.version, methods=["POST"]),
        Route("/api/findings", site.findings, methods=["POST"]),
        Route("/figure", site.figure, methods=["GET"]),
        Route("/running/{run_id}", site.running, methods=["GET"]),
        Route("/api/run", site.run, methods=["POST"]),
        Route("/view/{key}", site.view, methods=["GET"]),
    ]
    return Guard(Starlette(routes=routes), token=token, port=port)


class _Site:
    def __init__(self, answers: Answers, open_runs: OpenRuns, front: str | None) -> None:
        self._answers, self._open_runs, self._front = answers, open_runs, front or ""
        self._pages = Pages()

    async def first(self, _: Request) -> Response:
        return HTMLResponse(self._front, headers={"Content-Security-Policy": POLICY})

    async def page(self, _: Request) -> Response:
        return Response((HERE / "page.html").read_bytes(), media_type="text/html; charset=utf-8")

    async def static(self, request: Request) -> Response:
        """One of the two static files; no other requested name becomes part of a path."""
        name = request.path_params["name"]
        if name not in STATIC or not is_built():
            return PlainTextResponse("404: there is no such file\n", status_code=404)
        return Response((HERE / "static" / name).read_bytes(), media_type=f"{STATIC[name]}; charset=utf-8")

    async def about(self, _: Request) -> Response:
        return await _answered(self._answers.about)

    async def version(self, _: Request) -> Response:
        return await _answered(lambda: {"version": self._answers.version})

    async def ask(self, request: Request) -> Response:
        content = await request.body()
        return await _answered(lambda: self._answers.answer(queries.read(content[: MAX_BYTES + 1])))

    async def findings(self, _: Request) -> Response:
        return await _answered(lambda: {"findings": [self._ledger(each) for each in self._answers.directories]})

    def _ledger(self, directory: Directory) -> dict[str, Any]:
        try:
            return {"label": directory.label, "ledger": directory.findings()}
        except VazaoError as error:
            return {"label": directory.label, "ledger": [], "error": str(error)}

    async def figure(self, request: Request) -> Response:
        """A figure as an image, so that a study's texts never become part of the page."""
        directory = self._named(request)
        if directory is None:
            return PlainTextResponse("404: no such results\n", status_code=404)
        try:
            drawn = await run_in_threadpool(directory.figure, request.query_params.get("id", ""))
        except VazaoError as error:
            return PlainTextResponse(f"404: {error}\n", status_code=404)
        return Response(drawn, media_type="image/svg+xml")

    async def running(self, _: Request) -> Response:
        """A page whose script re-runs, by POST, the run that its address names; a GET runs nothing."""
        script = "<script src=/static/explore.js defer></script>"
        message = "The run is run again, with every packet recorded: a moment for most, a minute for a very long one."
        return HTMLResponse(_message_page("Running …", message, script))

    async def run(self, request: Request) -> Response:
        """Re-run a run and return the key of its page, or the permission that the user must grant first."""
        content = await request.body()
        try:
            page = await run_in_threadpool(self._made, queries.look(content))
        except PermissionNeededError as unasked:
            return JSONResponse({"asked": unasked.summary, "leave": unasked.leave})
        except VazaoError as error:
            return JSONResponse({"error": str(error)}, status_code=400)
        return JSONResponse({"page": self._pages.keep(page)})

    def _made(self, look: queries.Look) -> str:
        return self._open_runs(self._runs(look), look.leave)

    def _runs(self, look: queries.Look) -> list[Run]:
        """The runs that a page names. Raises `ResultsError` for a missing one."""
        found = []
        for label, run_id in [(look.dir, look.run), *([(look.beside_dir, look.beside)] if look.beside else [])]:
            directory = next((each for each in self._answers.directories if each.label == label), None)
            if directory is None or not self._answers.has_run(directory, run_id):
                raise ResultsError("there is no such run")
            found.append((directory.path, run_id))
        return found

    async def view(self, request: Request) -> Response:
        page = self._pages.get(request.path_params["key"])
        if page is None:
            return PlainTextResponse("404: this page is not kept any more; open the run again\n", status_code=404)
        return HTMLResponse(page, headers={"Content-Security-Policy": POLICY})

    def _named(self, request: Request) -> Directory | None:
        wanted = request.query_params.get("dir")
        return next((each for each in self._answers.directories if each.label == wanted), None)


async def _answered(ask: Callable[[], dict[str, Any]]) -> Response:
    """An answer as JSON, or a sentence that explains the error."""
    try:
        body = await run_in_threadpool(partial(_json, ask))
    except VazaoError as error:
        return Response(json.dumps({"error": str(error)}), status_code=400, media_type="application/json")
    return Response(body, media_type="application/json")


def _json(ask: Callable[[], dict[str, Any]]) -> bytes:
    return json.dumps(ask(), ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode(errors="replace")


def _message_page(title: str, message: str, head: str = "") -> str:
    return (
        f"<!doctype html><html lang=en><meta charset=utf-8><title>{title}</title>{head}"
        f"<link rel=stylesheet href=/static/explore.css><body class=message><h1>{title}</h1><p>{escape(message)}</p>"
    )
