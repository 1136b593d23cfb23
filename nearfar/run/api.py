"""Running a program under a plan, from Python: a Plan in, a RunRecord out."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

from nearfar.base.errors import CommandError
from nearfar.base.folders import owned_folder
from nearfar.base.units import PAGE_BYTES, parse_seconds, parse_size_bytes
from nearfar.documents.plan import Plan
from nearfar.documents.run_record import RunRecord
from nearfar.options.run import RunOptions
from nearfar.profile.compiler import twin
from nearfar.program.executable import check_program, find_executable
from nearfar.program.launch import Job
from nearfar.run.adapt import Adapter, Pace, can_move
from nearfar.run.launch import check_not_nested, run_environment, run_planned
from nearfar.run.local_memories import memory_warnings, resolve_memories
from nearfar.run.program_check import blind_spots, check_plan, refuse_privileged
from nearfar.run.record import make_record
from nearfar.run.targets import make_targets

_HUGE_PAGES = {"system": 0, "2MiB": 1, "4KiB": 2}
"""Number that the preloaded library gets for each value of --pages."""


def job_of(options: RunOptions, *, stdout_to_stderr: bool = False) -> Job:
    """Return the program to run, its driver and its duration."""
    duration = options.duration
    return Job(
        command=list(options.program),
        driver=options.driver,
        duration_s=None if duration is None else parse_seconds(duration, "--duration"),
        stdout_to_stderr=stdout_to_stderr,
    )


def run_plan(
    plan: Plan,
    plan_path: str,
    options: RunOptions,
    job: Job,
    say: Callable[[str], None] = lambda _: None,
    *,
    pace: Pace | None = None,
) -> RunRecord:
    """Run `job` with the plan's objects in their memories; they move at `pace` with --adapt."""
    check_not_nested()
    pace = pace or _pace(options)
    executable = find_executable(job.command[0])
    check_program(executable)
    refuse_privileged(executable)
    memories = resolve_memories(plan, options.map)
    # Raises for memories whose pages cannot move.
    adapts = options.adapt and can_move(memories, pace)
    with owned_folder("nearfar-plain-", None) as twins:
        program, environment = _plain_program(executable, twins, say)
        warnings = [*blind_spots(program), *memory_warnings(memories, plan)]
        if warning := check_plan(program, plan, force=options.force):
            warnings.append(warning)
        if options.adapt and not adapts:
            warnings.append(
                "--adapt has nothing to do: all of the plan's memories are on one node here, so "
                "nothing is sampled and nothing moves"
            )
        targets = make_targets(plan, memories, adapt=adapts)
        with run_environment(
            plan, memories, targets, huge_pages=_HUGE_PAGES[options.pages]
        ) as prepared:
            adapter = None
            if adapts:
                adapter = Adapter(
                    plan,
                    memories,
                    targets,
                    control=prepared.control,
                    folder=prepared.folder,
                    pace=pace,
                )
            run = run_planned(
                prepared, job, executable=program, environment=environment, adapter=adapter
            )
    return make_record(
        plan, memories, targets, run,
        plan_path=plan_path, command=job.command, executable=program, warnings=warnings,
    )  # fmt: skip


def _pace(options: RunOptions) -> Pace:
    hysteresis = "200ms" if options.hysteresis is None else options.hysteresis
    pace = Pace(
        region_bytes=parse_size_bytes("2MiB" if options.region is None else options.region),
        bytes_per_s=float(parse_size_bytes("1GB" if options.rate is None else options.rate)),
        hysteresis_s=parse_seconds(hysteresis, "--hysteresis"),
    )
    if pace.region_bytes < PAGE_BYTES or pace.bytes_per_s < PAGE_BYTES:
        raise CommandError("--region and --rate are at least a page: 4KiB")
    return pace


def _plain_program(
    executable: Path, folder: Path, say: Callable[[str], None]
) -> tuple[Path, Mapping[str, str]]:
    """Return the program to run and its environment: of an instrumented one, its plain build."""
    if twin.is_instrumented(executable):
        plain = twin.extract_plain(executable, folder)
        if plain is not None:
            say(f"{executable.name} is instrumented: its plain build runs")
            return plain, dict(twin.plain_environment(folder))
    return executable, dict(os.environ)
