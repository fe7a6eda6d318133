"""HTTP server of the explorer: bound to loopback, with a secret token in its URL, stopped by Ctrl-C."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress

import uvicorn
from starlette.types import ASGIApp

from vazao.errors import ResultsError
from vazao.explore.directories import Directory
from vazao.explore.pages import application
from vazao.explore.run_page import OpenRuns, open_runs as run_again
from vazao.files import in_words

LOOPBACK = "127.0.0.1"


def listening(port: int) -> socket.socket:
    """A socket bound to loopback; port 0 picks a free one. Raises `ResultsError` where the port is taken."""
    one = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        one.bind((LOOPBACK, port))
    except OSError as error:
        one.close()
        raise ResultsError(f"--port {port}: {in_words(error)}; leave --port out for one that is free") from None
    return one


def serve(
    directories: Sequence[Directory],
    *,
    port: int = 0,
    on_listening: Callable[[str], None],
    open_runs: OpenRuns = run_again,
    front: str | None = None,
) -> None:
    """Serve directories until Ctrl-C; `on_listening` gets the address once the server listens. Raises `ResultsError`.

    `front` is a page served at `/` in place of the explorer's.
    """
    listen(
        lambda token, taken: application(directories, token=token, port=taken, open_runs=open_runs, front=front),
        port=port,
        on_listening=on_listening,
    )


def listen(made: Callable[[str, int], ASGIApp], *, port: int, on_listening: Callable[[str], None]) -> None:
    """Serve the application that `made` builds for a secret and a port, until Ctrl-C. Raises `ResultsError`."""
    with listening(port) as one:
        one.listen(128)
        token, port = secrets.token_urlsafe(24), one.getsockname()[1]
        app = made(token, port)
        config = uvicorn.Config(
            app, log_level="warning", access_log=False, lifespan="off", ws="none", loop="asyncio", http="h11",
            server_header=False, proxy_headers=False, timeout_graceful_shutdown=1, h11_max_incomplete_event_size=65_536,
        )  # fmt: skip
        address = f"http://{LOOPBACK}:{port}/?token={token}"
        with suppress(KeyboardInterrupt):
            _Server(config, lambda: on_listening(address)).run(sockets=[one])


class _Server(uvicorn.Server):
    """A server that calls `ready` once it listens, and Ctrl-C can end it cleanly."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._ready()
