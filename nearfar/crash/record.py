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
from nearfar.crash.trace import (
    CHOICES_VARIABLE,
    POOL_VARIABLE,
    SHADOW,
    TRACE_VARIABLE,
    CrashTrace,
    make_trace,
    read_trace,
)
from nearfar.program.executable import gains_rights, preload, preloadable

LIBRARY = "libnearfar_crash.so"
MAX_POOL_BYTES = 1 << 33
"""Largest pool that is explored. Untouched pages take no memory, in the pool or in an image."""
_MAX_TRACE_BYTES = 1 << 29
"""About 2 million stores, which need 1 GB when read; half of the free space if that is less. The
file is sparse."""
_MAX_STEPS = 300_000
"""Number of stores recorded one by one, each in some tens of microseconds; later ones from the same
places are recorded together."""


@dataclass(frozen=True)
class RecordedRun:
    """One run of the program under the recorder."""

    trace: CrashTrace
    exit_status: str
    failed: bool
    seconds: float


def environment() -> dict[str, str]:
    """Return the environment of program and checker, in which libpmem flushes instead of msync."""
    # libpmem(7): treat every file as persistent memory.
    return {**os.environ, "PMEM_IS_PMEM_FORCE": "1"}


def record(
    command: Sequence[str],
    pool: Path,
    trace: Path,
    *,
    json: bool,
    schedule: int = 0,
    choices: bytes | None = None,
) -> RecordedRun:
    """Run `command` on the file `pool` and write `trace`.

    `schedule` is the seed of the order in which threads take turns. `choices` are the threads that
    get the first turns, whatever the seed.
    """
    preloadable(LIBRARY)
    executable = shutil.which(command[0])
    if executable is None:
        raise CommandError(f"there is no program {command[0]}: name it by its path")
    if gains_rights(Path(executable).stat()):
        raise CommandError(
            f"{executable} is set-user-id, and the loader preloads nothing into such programs: "
            "record it as the user it switches to"
        )
    folder = trace.parent
    make_trace(
        trace,
        limit_bytes=min(_MAX_TRACE_BYTES, shutil.disk_usage(folder).free // 2),
        max_pool_bytes=MAX_POOL_BYTES,
        max_steps=_MAX_STEPS,
        schedule=schedule,
    )
    variables = {
        # OpenMP threads that wait must sleep: the recorder sees that sooner than spinning.
        "OMP_WAIT_POLICY": "passive",
        "KMP_BLOCKTIME": "0",
        **environment(),
        "LD_PRELOAD": preload(LIBRARY),
        TRACE_VARIABLE: str(trace),
        POOL_VARIABLE: str(pool),
    }
    if choices is not None:
        chosen = trace.with_name("choices")
        chosen.write_bytes(choices)
        variables[CHOICES_VARIABLE] = str(chosen)
    start_s = time.monotonic()
    try:
        code = _run([executable, *command[1:]], variables, json=json)
    finally:
        trace.with_name(trace.name + SHADOW).unlink(missing_ok=True)
    seconds = time.monotonic() - start_s
    status = f"exited {code}" if code >= 0 else f"was killed by {signal.Signals(-code).name}"
    recorded = RecordedRun(read_trace(trace), status, code != 0, seconds)
    _check_seen(recorded, command[0])
    return recorded


def _run(command: Sequence[str], variables: Mapping[str, str], *, json: bool) -> int:
    """Run to the end, or kill on Ctrl-C; with `json` the output goes to standard error.

    `nearfar.program.launch` is not used: under it an instrumented program records a profile.
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


def _check_seen(recorded: RecordedRun, program: str) -> None:
    trace = recorded.trace
    if trace.outside and not trace.pool_bytes:
        raise CommandError(
            f"the pool of {program} is larger than the limit of {MAX_POOL_BYTES >> 20} MiB: give "
            "it a smaller pool"
        )
    if trace.pool_bytes:
        return
    if recorded.failed:
        raise NearfarError(
            f"{program} {recorded.exit_status} before it mapped the pool: run it by hand first",
            ExitCode.PROGRAM_FAILED,
        )
    why = (
        "it maps the pool privately, so its stores cannot reach the file"
        if trace.copied
        else "it must open the path given as {pool}, map it shared and writable, and be linked "
        "dynamically"
    )
    raise NearfarError(
        f"{program} never mapped the pool where nearfar can record it: {why}",
        ExitCode.PROGRAM_FAILED,
    )
