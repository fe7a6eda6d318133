"""The application: one page, its script and style, and answers as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import partial
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import quote

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from vazao.errors import VazaoError
from vazao.explore import asking
from vazao.explore.answering import Answers
from vazao.explore.directories import Directory
from vazao.explore.guarding import MOST_BYTES, Guard
from vazao.explore.viewing import POLICY, OpenRuns, open_runs as run_again

HERE = Path(__file__).parent
STATIC = {"explore.js": "text/javascript", "explore.css": "text/css"}
"""Files of the page, which `make web` makes."""


EXPLORER = "/explore"
"""Path of the explorer's page, wherever another stands first."""


def is_built() -> bool:
    """Whether the page's script and style are there."""
    return all((HERE / "static" / name).is_file() for name in STATIC)


def application(
    directories: Sequence[Directory],
    *,
    token: str,
    port: int,
    open_runs: OpenRuns = run_again,
    front: str | None = None,
) -> ASGIApp:
    """The application over open directories. `open_runs` makes the page of one run or two.

    `front` is a page that stands first in place of the explorer, with a content policy of its own in it.
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
        Route("/view/{run_id}", site.view, methods=["GET"]),
    ]
    return Guard(Starlette(routes=routes), token=token, port=port)


class _Site:
    def __init__(self, answers: Answers, open_runs: OpenRuns, front: str | None) -> None:
        self._answers, self._open_runs, self._front = answers, open_runs, front or ""

    async def first(self, _: Request) -> Response:
        return HTMLResponse(self._front, headers={"Content-Security-Policy": POLICY})

    async def page(self, _: Request) -> Response:
        return Response((HERE / "page.html").read_bytes(), media_type="text/html; charset=utf-8")

    async def static(self, request: Request) -> Response:
        """One of two files: no name of a request is ever part of a path."""
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
        return await _answered(lambda: self._answers.answer(asking.read(content[: MOST_BYTES + 1])))

    async def findings(self, _: Request) -> Response:
        return await _answered(lambda: {"findings": [self._ledger(each) for each in self._answers.directories]})

    def _ledger(self, directory: Directory) -> dict[str, Any]:
        try:
            return {"label": directory.label, "ledger": directory.findings()}
        except VazaoError as error:
            return {"label": directory.label, "ledger": [], "error": str(error)}

    async def figure(self, request: Request) -> Response:
        """A figure as an image: what a study says is never part of the page."""
        directory = self._named(request)
        if directory is None:
            return PlainTextResponse("404: no such results\n", status_code=404)
        try:
            drawn = await run_in_threadpool(directory.figure, request.query_params.get("id", ""))
        except VazaoError as error:
            return PlainTextResponse(f"404: {error}\n", status_code=404)
        return Response(drawn, media_type="image/svg+xml")

    async def running(self, request: Request) -> Response:
        """A page to look at while a run is run again: a browser keeps it until the viewer's has come."""
        to = f"/view/{quote(request.path_params['run_id'], safe='')}?{request.url.query}"
        refresh = f'<meta http-equiv=refresh content="0; url={escape(to)}">'
        told = "The run is run again, with every packet recorded: a moment for most, a minute for a very long one."
        return HTMLResponse(_said("Running …", told, refresh))

    async def view(self, request: Request) -> Response:
        asked = [("dir", request.path_params["run_id"])]
        if beside := request.query_params.get("beside"):
            asked.append(("beside_dir", beside))
        try:
            runs = []
            for key, run_id in asked:
                directory = self._named(request, key)
                if directory is None:
                    told = f"404: no such results; ?{key}= names a directory by its label\n"
                    return PlainTextResponse(told, status_code=404)
                if not await run_in_threadpool(self._answers.has_run, directory, run_id):
                    return PlainTextResponse("404: no such run\n", status_code=404)
                runs.append((directory.path, run_id))
            page = await run_in_threadpool(self._open_runs, runs)
            return HTMLResponse(page, headers={"Content-Security-Policy": POLICY})
        except VazaoError as error:
            return HTMLResponse(_said("400", str(error)), status_code=400)

    def _named(self, request: Request, key: str = "dir") -> Directory | None:
        wanted = request.query_params.get(key)
        return next((each for each in self._answers.directories if each.label == wanted), None)


async def _answered(ask: Callable[[], dict[str, Any]]) -> Response:
    """An answer as JSON, or in one sentence why there is none."""
    try:
        told = await run_in_threadpool(partial(_json, ask))
    except VazaoError as error:
        return Response(json.dumps({"error": str(error)}), status_code=400, media_type="application/json")
    return Response(told, media_type="application/json")


def _json(ask: Callable[[], dict[str, Any]]) -> bytes:
    return json.dumps(ask(), ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode(errors="replace")


def _said(title: str, message: str, head: str = "") -> str:
    return (
        f"<!doctype html><html lang=en><meta charset=utf-8><title>{title}</title>{head}"
        f"<link rel=stylesheet href=/static/explore.css><body class=message><h1>{title}</h1><p>{escape(message)}</p>"
    )
