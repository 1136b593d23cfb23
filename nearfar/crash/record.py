"""Runs the program once under the recorder."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from nearfar.base.errors import CommandError, ExitCode, NearfarError
from nearfar.crash.layout import POOL_VARIABLE, SHADOW, TRACE_VARIABLE, make_trace
from nearfar.crash.trace import Trace, read_trace
from nearfar.program.executable import preload, preloadable

LIBRARY = "libnearfar_crash.so"
MOST_POOL_BYTES = 1 << 33
"""Of a pool that is explored. What it does not touch takes no room, here or in an image."""
_MOST_TRACE_BYTES = 1 << 29
"""Some 2 million stores, which are a gigabyte when read. A sparse file: only what is recorded
takes room. Half of what is free, where that is less."""
_MOST_STEPS = 300_000
"""Stores seen one by one, each at some tens of microseconds; later ones of the same places are
seen together."""


@dataclass(frozen=True)
class Recorded:
    """One run."""

    trace: Trace
    exit_status: str
    failed: bool
    seconds: float


def environment() -> dict[str, str]:
    """Return the environment of program and checker: libpmem is to flush, not to call msync."""
    # libpmem(7): treats every file as if it lay on persistent memory.
    return {**os.environ, "PMEM_IS_PMEM_FORCE": "1"}


def record(
    command: Sequence[str], pool: Path, trace: Path, *, json: bool, schedule: int = 0
) -> Recorded:
    """Run `command`, whose pool is the file `pool`; `trace` is made.

    `schedule` is the seed of the order in which its threads take turns.
    """
    preloadable(LIBRARY)
    executable = shutil.which(command[0])
    if executable is None:
        raise CommandError(f"there is no program {command[0]}: name it by its path")
    folder = trace.parent
    make_trace(
        trace,
        limit_bytes=min(_MOST_TRACE_BYTES, shutil.disk_usage(folder).free // 2),
        most_pool_bytes=MOST_POOL_BYTES,
        most_steps=_MOST_STEPS,
        schedule=schedule,
    )
    variables = {
        # Threads of OpenMP that wait for each other sleep rather than spin, which is seen sooner.
        "OMP_WAIT_POLICY": "passive",
        "KMP_BLOCKTIME": "0",
        **environment(),
        "LD_PRELOAD": preload(LIBRARY),
        TRACE_VARIABLE: str(trace),
        POOL_VARIABLE: str(pool),
    }
    begun = time.monotonic()
    try:
        code = _run([executable, *command[1:]], variables, json=json)
    finally:
        trace.with_name(trace.name + SHADOW).unlink(missing_ok=True)
    seconds = time.monotonic() - begun
    status = f"exited {code}" if code >= 0 else f"was killed by {signal.Signals(-code).name}"
    recorded = Recorded(read_trace(trace), status, code != 0, seconds)
    _check_seen(recorded, command[0])
    return recorded


def _run(command: Sequence[str], variables: Mapping[str, str], *, json: bool) -> int:
    """Run to the end; with `json` its output goes to standard error. Ends it on Ctrl-C.

    Not by `nearfar.program.launch`, whose marks would have an instrumented program record a
    profile.
    """
    try:
        process = subprocess.Popen(command, env=variables, stdout=sys.stderr if json else None)
    except OSError as error:
        raise CommandError(f"cannot run {command[0]}: {error.strerror}") from error
    try:
        return process.wait()
    except BaseException:
        process.kill()
        process.wait()
        raise


def _check_seen(recorded: Recorded, program: str) -> None:
    trace = recorded.trace
    if trace.outside and not trace.pool_bytes:
        raise CommandError(
            f"the pool of {program} is larger than {MOST_POOL_BYTES >> 20} MiB, more than is "
            "explored: give it a smaller pool"
        )
    if trace.pool_bytes:
        return
    if recorded.failed:
        raise NearfarError(
            f"{program} {recorded.exit_status} before it mapped the pool: run it by hand first",
            ExitCode.PROGRAM_FAILED,
        )
    why = (
        "it maps it privately, so that nothing it stores can reach the file"
        if trace.copied
        else "it must open the path given as {pool}, map it shared and writable, and be linked "
        "dynamically"
    )
    raise NearfarError(
        f"{program} never mapped the pool where nearfar could see it: {why}",
        ExitCode.PROGRAM_FAILED,
    )
