"""Runs the program once under the recorder."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from nearfar.base.errors import CommandError, ExitCode, NearfarError
from nearfar.crash.layout import POOL_VARIABLE, TRACE_VARIABLE, make_trace
from nearfar.crash.trace import Trace, read_trace
from nearfar.native_files import native_file
from nearfar.profile.control import Control
from nearfar.profile.launch import Job, run

LIBRARY = "libnearfar_crash.so"
MOST_POOL_BYTES = 1 << 28
"""Of a pool that is explored: its images are held in memory, here and in the trace."""
_MOST_TRACE_BYTES = 1 << 31
"""Some 10 million stores; a sparse file, so that only what is recorded takes room."""
_MOST_STEPS = 300_000
"""Stores seen one by one, each at some tens of microseconds; later ones are seen together."""


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


def record(command: Sequence[str], pool: Path, folder: Path, *, json: bool) -> Recorded:
    """Run `command`, whose pool is the file `pool`; the trace is made in `folder`."""
    library = _library()
    executable = shutil.which(command[0])
    if executable is None:
        raise CommandError(f"there is no program {command[0]}: name it by its path")
    trace = folder / "trace"
    make_trace(
        trace,
        limit_bytes=_MOST_TRACE_BYTES,
        most_pool_bytes=MOST_POOL_BYTES,
        most_steps=_MOST_STEPS,
    )
    before = os.environ.get("LD_PRELOAD", "")
    variables = {
        **environment(),
        "LD_PRELOAD": f"{library}:{before}" if before else str(library),
        TRACE_VARIABLE: str(trace),
        POOL_VARIABLE: str(pool),
    }
    control = Control.create(folder)
    job = Job(list(command), stdout_to_stderr=json)
    begun = time.monotonic()
    try:
        ended = run(job, Path(executable).absolute(), variables, folder)
    finally:
        control.close()
    seconds = time.monotonic() - begun
    recorded = Recorded(read_trace(trace), ended.status, ended.failed, seconds)
    trace.unlink()
    _check_seen(recorded, command[0])
    return recorded


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


def _library() -> Path:
    library = native_file(LIBRARY)
    if " " in str(library) or ":" in str(library):
        raise CommandError(
            f"the path {library} has a space or colon in it, which LD_PRELOAD cannot hold: "
            "install nearfar elsewhere",
            ExitCode.MACHINE_LACKS,
        )
    return library
