"""The laboratory served from this machine, whose engine runs the page's scenarios where none is built for pages."""

from __future__ import annotations

import threading
from collections.abc import Callable

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from vazao import _core
from vazao.explore.access import Guard
from vazao.explore.run_page import POLICY
from vazao.explore.server import listen
from vazao.seeing import Page


def play(page: Page, *, port: int = 0, on_listening: Callable[[str], None]) -> None:
    """Serve the laboratory until Ctrl-C; `told` gets the address once the server listens. Raises `ResultsError`."""
    listen(lambda token, taken: laboratory(page, token=token, port=taken), port=port, on_listening=on_listening)


def laboratory(page: Page, *, token: str, port: int) -> ASGIApp:
    """The application: the page, and the engine behind it."""
    runs = _Runs()

    async def first(_: Request) -> Response:
        return HTMLResponse(page.text, headers={"Content-Security-Policy": POLICY})

    async def run(request: Request) -> Response:
        answer = await run_in_threadpool(runs.answer, await request.body())
        if answer is None:
            return Response(status_code=409)
        return Response(answer, media_type="application/octet-stream")

    async def reached(_: Request) -> Response:
        return JSONResponse({"seconds": runs.reached})

    async def stop(_: Request) -> Response:
        runs.stop()
        return JSONResponse({})

    routes = [Route("/", first, methods=["GET"])]
    for path, act in (("/api/run", run), ("/api/reached", reached), ("/api/stop", stop)):
        routes.append(Route(path, act, methods=["POST"]))
    return Guard(Starlette(routes=routes), token=token, port=port)


class _UnwantedError(Exception):
    """A run that nobody waits for any more."""


class _Runs:
    """Runs for a page, which waits only for the latest one."""

    def __init__(self) -> None:
        self.reached = 0.0
        self._latest = 0
        self._lock = threading.Lock()

    def stop(self) -> int:
        """End the current run; return the number of the request that may run now."""
        with self._lock:
            self._latest += 1
            self.reached = 0.0
            return self._latest

    def answer(self, request: bytes) -> bytes | None:
        """The engine's answer; None where a later request superseded this one."""
        number = self.stop()

        def tick(seconds: float) -> None:
            if number != self._latest:
                raise _UnwantedError
            self.reached = seconds

        try:
            return _core.answer(request, tick)
        except _UnwantedError:
            return None
