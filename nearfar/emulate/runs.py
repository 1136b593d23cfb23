"""One run of the plain build, with its phases."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from nearfar.emulate.mechanism import EmulationTimes
from nearfar.profile.compiler import twin
from nearfar.profile.session import ProfileRequest, run_folder
from nearfar.profile.sources.compiled import plain_build
from nearfar.program.executable import Build, find_executable
from nearfar.program.launch import run_job
from nearfar.program.phases import ProfiledRun, phase_times


def run_plain(
    request: ProfileRequest,
    build: Build,
    in_child: Callable[[], None] | None = None,
    meanwhile: AbstractContextManager[None] | None = None,
) -> ProfiledRun:
    """Run the plain build once, within the context `meanwhile`."""
    with run_folder(request) as (folder, control), meanwhile or nullcontext():
        outcome = run_job(request.job, build.executable, build.environment, folder, in_child)
        return ProfiledRun(outcome, phase_times(control, outcome))


def times_of(near: ProfiledRun, emulated: ProfiledRun, caveats: list[str]) -> EmulationTimes:
    """Return the times of two plain runs."""
    failed = near.outcome.failed or emulated.outcome.failed
    worse = near if near.outcome.failed else emulated
    return EmulationTimes(
        near.phases, emulated.phases, worse.outcome.status, failed, caveats=caveats
    )


def plain_build_of(request: ProfileRequest, folder: Path) -> Build:
    """Return the plain build: the twin, the build that options name, or the program itself."""
    executable = find_executable(request.job.command[0])
    if request.plain is not None or twin.is_instrumented(executable):
        return plain_build(executable, request.plain, folder)
    return Build(executable, dict(os.environ))
