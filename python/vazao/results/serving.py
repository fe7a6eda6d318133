"""A Dask scheduler in this process with workers beside it, each a process of its own.

They are no children of `multiprocessing`, which would read the user's script again in each, and are deaf to Ctrl-C.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from vazao.errors import ClusterError

if TYPE_CHECKING:
    from distributed.security import Security

FRUGAL = {
    "distributed.worker.profile.enabled": False,
    "distributed.admin.system-monitor.interval": "60s",
    "distributed.admin.system-monitor.gil.enabled": False,
    "distributed.admin.tick.interval": "1s",
    "distributed.diagnostics.nvml": False,
    "distributed.scheduler.work-stealing": False,
}
"""Settings of workers and scheduler: looking a hundred times a second what they do costs a tenth of a short run."""

HERE: dict[str, Any] = {"host": "127.0.0.1", "dashboard_address": "127.0.0.1:0", "dashboard": False}
"""Settings of a worker that no other machine has to do with."""

START = "from vazao.results.serving import main; main()"
"""A worker as a program of `python -c`."""

LOOK_SECONDS = 1.0
"""Interval at which workers that died are replaced."""


@contextmanager
def serving(name: str, workers: int) -> Iterator[Any]:
    """A cluster with workers of this machine, one run at a time each; `name` is its name for messages.

    Its ports obey nobody else: all it takes to have a Dask worker run something is to reach it, as whoever has an
    account on this machine can. Workers that die are replaced. They end with the block, or with this process.
    """
    if find_spec("cryptography") is None:
        raise ClusterError(f"{name}: needs cryptography, which is not installed: pip install 'vazao[dask]'")
    import dask
    from distributed import LocalCluster
    from distributed.security import Security

    security = Security.temporary()
    where: dict[str, Any] = {
        "security": security,
        "protocol": "tls",
        "host": "127.0.0.1",
        "dashboard_address": "127.0.0.1:0",
    }
    try:
        with dask.config.set(FRUGAL):
            cluster = LocalCluster(n_workers=0, silence_logs=False, **where)
    except (OSError, RuntimeError, TimeoutError) as error:
        raise ClusterError(f"{name}: no scheduler can be started ({str(error)[:200]})") from None
    over = threading.Event()
    crew: list[subprocess.Popen[bytes]] = []
    told = _told(cluster.scheduler_address, security)
    replacing = threading.Thread(target=_replace, args=(crew, told, over), daemon=True)
    try:
        crew += [_start(told) for _ in range(workers)]
        replacing.start()
        yield cluster
    finally:
        over.set()
        if replacing.ident is not None:
            replacing.join()
        for process in crew:
            process.kill()
        with suppress(Exception):
            cluster.close(timeout=0.5)
        for process in crew:
            _gone(process)


def _told(address: str, security: Security) -> dict[str, str]:
    """The environment of a worker."""
    told = os.environ | {"VAZAO_SCHEDULER": address, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    parts = {"CA-FILE": security.tls_ca_file, "WORKER__CERT": security.tls_worker_cert}
    parts["WORKER__KEY"] = security.tls_worker_key
    return told | {f"DASK_DISTRIBUTED__COMM__TLS__{name.replace('-', '_')}": str(part) for name, part in parts.items()}


def _start(told: dict[str, str]) -> subprocess.Popen[bytes]:
    """Start a worker; it ends when its standard input does, so at the latest with this process."""
    # Without -P, the working directory would come before what is installed, and it may be a stranger's.
    command = [sys.executable, "-P", "-c", START]
    return subprocess.Popen(command, env=told, stdin=subprocess.PIPE, start_new_session=True)


def _replace(crew: list[subprocess.Popen[bytes]], told: dict[str, str], over: threading.Event) -> None:
    """Start another worker for each that died, until it is over."""
    while not over.wait(LOOK_SECONDS):
        for place, process in enumerate(crew):
            if process.poll() is not None and not over.is_set():
                _gone(process)
                crew[place] = _start(told)


def _gone(process: subprocess.Popen[bytes]) -> None:
    process.wait()
    if process.stdin is not None:
        process.stdin.close()


def main() -> None:
    """Be a worker until standard input ends."""
    import logging

    import dask
    from distributed import Worker

    # What follows reads libraries; a run should not wait for that.
    from vazao.results import worker as _  # noqa: F401

    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    threading.Thread(target=_watch, daemon=True).start()

    async def serve() -> None:
        async with Worker(os.environ["VAZAO_SCHEDULER"], nthreads=1, memory_limit=0, **HERE) as worker:
            await worker.finished()

    with dask.config.set(FRUGAL), suppress(Exception):
        asyncio.run(serve())
    os._exit(0)


def _watch() -> None:
    """End this process when the one that started it has gone."""
    with suppress(OSError):
        while os.read(0, 1):
            pass
    os._exit(0)
