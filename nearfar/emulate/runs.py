"""One run of a build, with its phases: near, or under whatever makes it slower."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from nearfar.emulate.way import Times
from nearfar.profile import program
from nearfar.profile.compiler import twin
from nearfar.profile.launch import run
from nearfar.profile.phases import phase_times
from nearfar.profile.session import Request, Run, run_folder


def plain_run(
    request: Request,
    build: program.Build,
    in_child: Callable[[], None] | None = None,
    beside: AbstractContextManager[None] | None = None,
) -> Run:
    """Run the plain build once; `beside` is held meanwhile."""
    with run_folder(request) as (folder, control), beside or nullcontext():
        ended = run(request.job, build.executable, build.environment, folder, in_child)
        return Run(ended, phase_times(control, ended))


def times_of(near: Run, emulated: Run, caveats: list[str]) -> Times:
    """Return the times of two plain runs."""
    failed = near.ended.failed or emulated.ended.failed
    worse = near if near.ended.failed else emulated
    return Times(near.phases, emulated.phases, worse.ended.status, failed, caveats=caveats)


def plain_of(request: Request, folder: Path) -> program.Build:
    """Return the plain build: the twin, the one named, or the program as it is."""
    executable = program.find_executable(request.job.command[0])
    if request.plain is not None or twin.is_instrumented(executable):
        return program.plain_build(executable, request.plain, folder)
    return program.Build(executable, dict(os.environ))
