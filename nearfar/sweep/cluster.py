"""Workers that compute points: new ones on this machine, or those of a Dask cluster."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import time
from collections.abc import Iterator
from typing import Any

import dask
import distributed
from distributed import Nanny, Scheduler

from nearfar.base.errors import ExitCode, NearfarError
from nearfar.base.folders import owned_folder
from nearfar.sweep import interrupts
from nearfar.sweep.batch import versions_here
from nearfar.sweep.encryption import (
    CONNECT_S,
    TlsFiles,
    no_answer,
    security_of,
    temporary_security,
)

DASK: Any = distributed
"""Dask, which has no types."""

MACHINE = "machine"
"""The resource that one worker of every host has: measured points are given to that one."""

WORKERS_S = 10.0
"""Time for workers to appear: a batch system starts them after the scheduler, and again if they
were killed."""

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "POLARS_MAX_THREADS")
"""Native code of a worker is one thread: there is a worker for every processor."""


QUIET_WORKERS = {
    "distributed.nanny.pre-spawn-environ": dict.fromkeys(THREADS, "1"),
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": False,
    # What Dask watches takes processor time from the points.
    "distributed.worker.memory.monitor-interval": "1s",
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "10s",
    # A dashboard would show running tasks to other users.
    "distributed.worker.http.routes": [],
    "distributed.scheduler.http.routes": [],
}
"""Dask's configuration for workers of this machine."""


@contextlib.contextmanager
def local_cluster(workers: int) -> Iterator[Any]:
    """Start `workers` processes here and yield their Dask client; they end with this process.

    Other users of the machine can reach the workers' ports, so connections need this sweep's key.
    """
    _quiet()
    secured = {"protocol": "tls://", "host": "127.0.0.1", "security": temporary_security()}
    with (
        owned_folder("nearfar-sweep-", None) as folder,
        dask.config.set(QUIET_WORKERS),
    ):
        options = {
            **secured,
            "nthreads": 1,
            "local_directory": str(folder),
            "dashboard": False,
            "silence_logs": logging.CRITICAL,
            "preload": [interrupts.__name__],
        }
        specification = {
            number: {
                "cls": Nanny,
                # Only the first worker measures: measured points need the whole machine.
                "options": {**options, "resources": {MACHINE: 1} if number == 0 else {}},
            }
            for number in range(workers)
        }
        with interrupts.signals_held_back():
            cluster = DASK.SpecCluster(
                workers=specification,
                scheduler={
                    "cls": Scheduler,
                    # Dask opens this port even without a dashboard: any free port instead of 8787.
                    "options": {
                        **secured,
                        "dashboard": False,
                        "dashboard_address": "127.0.0.1:0",
                    },
                },
                security=secured["security"],
                silence_logs=logging.CRITICAL,
            )
        client = None
        try:
            client = DASK.Client(cluster)
            client.wait_for_workers(workers, timeout=60)
            yield client
        finally:
            # A second Ctrl-C would leave some processes alive and print Dask's tracebacks.
            with interrupts.signals_held_back(then=False):
                _close(client, cluster)


def _close(client: Any, cluster: Any) -> None:
    """End workers and scheduler, even if they are busy."""
    processes = [getattr(nanny.process, "process", None) for nanny in cluster.workers.values()]
    with contextlib.suppress(Exception):
        if client is not None:
            client.close()
    with contextlib.suppress(Exception):
        cluster.close()
    # A worker that waits for a measured program ignores the request to end.
    for process in processes:
        _kill(process)


@contextlib.contextmanager
def existing_cluster(scheduler: str, files: TlsFiles | None = None) -> Iterator[Any]:
    """Connect to the scheduler at that address; NearfarError where none answers."""
    _quiet()
    try:
        security = security_of(scheduler, files)
        client = DASK.Client(scheduler, timeout=CONNECT_S, security=security)
    except ValueError as error:
        raise NearfarError(
            f"cannot read the scheduler's address {scheduler!r}: {_first(error)}; write it as in "
            "tcp://head:8786"
        ) from error
    except OSError as error:
        raise no_answer(scheduler, _first(error)) from error
    try:
        yield client
    finally:
        with contextlib.suppress(Exception):
            client.close(timeout=2)


def check_workers(client: Any, versions: dict[str, str], *, measured: bool) -> None:
    """Refuse a cluster with no workers, with another nearfar, or with no worker that measures.

    Workers that are still starting have `WORKERS_S` to appear.
    """
    end_s = time.monotonic() + WORKERS_S
    while True:
        workers = client.scheduler_info(n_workers=-1)["workers"]
        may_measure = any(worker.get("resources", {}).get(MACHINE) for worker in workers.values())
        if (may_measure if measured else workers) or time.monotonic() > end_s:
            break
        time.sleep(0.1)
    if not workers:
        raise NearfarError(
            "the scheduler has no workers: start some with `dask worker ADDRESS`",
            ExitCode.MACHINE_LACKS,
        )
    try:
        theirs = client.run(versions_here)
    except ModuleNotFoundError as error:
        raise NearfarError(
            f"a worker lacks the package {error.name}: install this nearfar where workers run",
            ExitCode.MACHINE_LACKS,
        ) from error
    for address, installed in sorted(theirs.items()):
        for kind, version in versions.items():
            if installed.get(kind) != version:
                raise NearfarError(
                    f"the worker {address} has nearfar {installed.get(kind)} for {kind} points, "
                    f"and this is {version}: install the same nearfar there",
                    ExitCode.MACHINE_LACKS,
                )
    if measured and not may_measure:
        raise NearfarError(
            "no worker may measure: start one on every host with `dask worker ADDRESS "
            f"--resources {MACHINE}=1`",
            ExitCode.MACHINE_LACKS,
        )


def _kill(process: Any) -> None:
    """Kill a worker's process, if it still runs."""
    with contextlib.suppress(ProcessLookupError, ValueError, AttributeError):
        os.kill(process.pid, signal.SIGKILL)


def processors() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0))


def _quiet() -> None:
    """Silence all of Dask's loggers, each with its own level: `sweep` reports failures itself."""
    for name in ["distributed", "tornado", "asyncio", *logging.root.manager.loggerDict]:
        if name.partition(".")[0] in ("distributed", "tornado", "asyncio"):
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)


def _first(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
