"""The profile of a program that nothing here can observe: its time and memory, no accesses."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from nearfar.base.estimate import Estimate
from nearfar.base.files import file_digest
from nearfar.base.units import LINE_BYTES
from nearfar.documents import WorkloadProfile, producer, save
from nearfar.documents.profiled_run import CacheModel, Program, Sampling
from nearfar.documents.workload import Phase
from nearfar.machine.sysfs import Tree
from nearfar.options.profile import ProfileOptions
from nearfar.profile.api import profile
from nearfar.profile.options import make_request
from nearfar.profile.session import ProfileRequest, check_busy, run_plain
from nearfar.profile.sources.counters import missing_counters
from nearfar.profile.unprofiled import unallocated_object
from nearfar.program.executable import Build, find_executable
from nearfar.program.phases import ProfiledRun

NAME = "all memory"


def profile_unobserved(
    options: ProfileOptions,
    reason: str,
    say: Callable[[str], None],
    by_itself: ProfiledRun | None,
    *,
    stdout_to_stderr: bool = False,
) -> tuple[WorkloadProfile, str]:
    """Save a profile without a source of accesses; return it and how the program failed, or "".

    `by_itself`: an earlier run that was not observed. The processor counts misses, if it can.
    Otherwise the profile allows for all of the program's time being spent waiting for memory.
    """
    request = make_request(options, stdout_to_stderr=stdout_to_stderr)
    plain = Build(find_executable(options.command[0]), os.environ)
    if request.deadline is not None and by_itself is None:
        by_itself = run_plain(request, plain, may_be_stopped=True)
        check_busy(options.command[0], by_itself.outcome)
    if not missing_counters(Tree(Path("/"))) and _has_time(request, by_itself):
        say(f"{reason}: counting with the processor's counters instead")
        counted = replace(options, source="counters", sample=None)
        return profile(counted, say, stdout_to_stderr=stdout_to_stderr)
    say(f"{reason}: its time and memory alone are known")
    run = by_itself or run_plain(request, plain)
    result = _assemble(request, plain.executable, run, reason)
    save(result, options.output)
    return result, run.outcome.status if run.outcome.failed else ""


def _has_time(request: ProfileRequest, by_itself: ProfiledRun | None) -> bool:
    """Return whether two more runs end in time."""
    if request.deadline is None or by_itself is None:
        return True
    outcome = by_itself.outcome
    return outcome.finished and request.deadline.left_s() > 2 * outcome.wall_ns / 1e9


def _assemble(
    request: ProfileRequest, executable: Path, run: ProfiledRun, reason: str
) -> WorkloadProfile:
    memory = unallocated_object(0, NAME, "unknown", run.outcome.peak_bytes)
    phases = [
        Phase(
            name=name,
            near_cpu_time_ns=Estimate(time.cpu_ns, time.cpu_ns, time.cpu_ns),
            near_repetitions=1,
            near_wall_time_ns=time.wall_ns,
            operations=time.operations or None,
            objects=[],
            instructions=[],
        )
        for name, time in run.phases.items()
        if time.cpu_ns
    ]
    return WorkloadProfile(
        producer=producer(),
        program=Program(
            command=list(request.job.command),
            executable=str(executable),
            compiler="unmodified, not observed",
            threads_seen=1,
            processes_seen=1,
            exit_status=run.outcome.status,
            plain_executable=str(executable),
            plain_digest=file_digest(executable),
        ),
        size=request.size,
        cache=CacheModel(
            size_bytes=request.cache_bytes,
            ways=request.cache_ways,
            line_bytes=LINE_BYTES,
            origin=request.cache_origin,
        ),
        sampling=Sampling(rate=1, sampled_accesses=0, sampled_misses=0, relative_error=0.0),
        instrumented_slowdown=1.0,
        uncounted_share=1.0,
        objects=[memory],
        instructions=[],
        phases=phases,
        live=[],
        warnings=[f"no access was observed, so intervals hold all that is possible: {reason}"],
    )
