"""A Dask scheduler in this process, with workers on this machine, each in its own process.

Workers are not started by `multiprocessing`, which would run the user's script again in each, and they ignore Ctrl-C.
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
"""Settings of workers and scheduler without monitoring a hundred times a second, which costs a tenth of a short run."""

HERE: dict[str, Any] = {"host": "127.0.0.1", "dashboard_address": "127.0.0.1:0", "dashboard": False}
"""Settings of a worker that no other machine can reach."""

START = "from vazao.execution.local_cluster import main; main()"
"""Program of a worker, for `python -c`."""

LOOK_SECONDS = 1.0
"""Interval between checks for dead workers to replace."""


@contextmanager
def serving(name: str, workers: int) -> Iterator[Any]:
    """Cluster with workers on this machine, each running one run at a time; `name` is its name in messages.

    Its ports require its own TLS certificates: otherwise, anyone who can reach a Dask worker, as every account on this
    machine can, could make it run code. Workers that die are replaced. All workers end with the block, or with this
    process.
    """
    if find_spec("cryptography") is None:
        raise ClusterError(f"{name}: needs cryptography, which is not installed: pip install 'vazao[dask]'")
    import dask
    from distributed import LocalCluster
    from distributed.security import Security

    security = Security.temporary()
    settings: dict[str, Any] = {
        "security": security,
        "protocol": "tls",
        "host": "127.0.0.1",
        "dashboard_address": "127.0.0.1:0",
    }
    try:
        with dask.config.set(FRUGAL):
            cluster = LocalCluster(n_workers=0, silence_logs=False, **settings)
    except (OSError, RuntimeError, TimeoutError) as error:
        raise ClusterError(f"{name}: no scheduler can be started ({str(error)[:200]})") from None
    stopping = threading.Event()
    processes: list[subprocess.Popen[bytes]] = []
    environment = _environment(cluster.scheduler_address, security)
    replacing = threading.Thread(target=_replace, args=(processes, environment, stopping), daemon=True)
    try:
        processes += [_start(environment) for _ in range(workers)]
        replacing.start()
        yield cluster
    finally:
        stopping.set()
        if replacing.ident is not None:
            replacing.join()
        for process in processes:
            process.kill()
        with suppress(Exception):
            cluster.close(timeout=0.5)
        for process in processes:
            _reap(process)


def _environment(address: str, security: Security) -> dict[str, str]:
    """Environment variables of a worker."""
    inherited = os.environ | {"VAZAO_SCHEDULER": address, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    parts = {"CA-FILE": security.tls_ca_file, "WORKER__CERT": security.tls_worker_cert}
    parts["WORKER__KEY"] = security.tls_worker_key
    return inherited | {
        f"DASK_DISTRIBUTED__COMM__TLS__{name.replace('-', '_')}": str(part) for name, part in parts.items()
    }


def _start(environment: dict[str, str]) -> subprocess.Popen[bytes]:
    """Start a worker; it ends when its standard input closes, at the latest with this process."""
    # Without -P, the working directory, which may be untrusted, would come before the installed packages.
    command = [sys.executable, "-P", "-c", START]
    return subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, start_new_session=True)


def _replace(processes: list[subprocess.Popen[bytes]], environment: dict[str, str], stopping: threading.Event) -> None:
    """Replace each worker that has died, until `stopping` is set."""
    while not stopping.wait(LOOK_SECONDS):
        for place, process in enumerate(processes):
            if process.poll() is not None and not stopping.is_set():
                _reap(process)
                processes[place] = _start(environment)


def _reap(process: subprocess.Popen[bytes]) -> None:
    process.wait()
    if process.stdin is not None:
        process.stdin.close()


def main() -> None:
    """Run a worker until standard input closes."""
    import logging

    import dask
    from distributed import Worker

    # Load the libraries of a run now, so that the first run does not wait for them.
    from vazao.execution import worker as _  # noqa: F401

    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    threading.Thread(target=_watch, daemon=True).start()

    async def serve() -> None:
        async with Worker(os.environ["VAZAO_SCHEDULER"], nthreads=1, memory_limit=0, **HERE) as worker:
            await worker.finished()

    with dask.config.set(FRUGAL), suppress(Exception):
        asyncio.run(serve())
    os._exit(0)


def _watch() -> None:
    """Exit when the process that started this one has ended."""
    with suppress(OSError):
        while os.read(0, 1):
            pass
    os._exit(0)
