"""Running a program under a plan, from Python: a Plan in, a RunRecord out."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

from msgspec.structs import replace

from nearfar.base.errors import CommandError
from nearfar.base.folders import owned_folder
from nearfar.base.units import PAGE_BYTES, parse_seconds, parse_size_bytes
from nearfar.documents.plan import Plan
from nearfar.documents.run_record import RunRecord
from nearfar.options.run import RunOptions
from nearfar.program.executable import check_program, find_executable
from nearfar.program.launch import Job
from nearfar.run.adapt import Adapter, Pace, can_move
from nearfar.run.launch import check_not_nested, plain_program, run_environment, run_planned
from nearfar.run.local_memories import memory_warnings, resolve_memories
from nearfar.run.paged_plan import check_limit, locking, paged_room, paged_spec, run_comparisons
from nearfar.run.paged_run import limit_warnings
from nearfar.run.paged_watch import PagedWatch
from nearfar.run.program_check import blind_spots, check_plan, refuse_privileged
from nearfar.run.record import make_record
from nearfar.run.targets import is_dealt_out, make_targets

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
    if paged_spec(memories) is not None:
        return _run_paged(plan, plan_path, options, job, say)
    # Raises for memories whose pages cannot move.
    adapts = options.adapt and can_move(memories, pace)
    with owned_folder("nearfar-plain-", None) as twins:
        program, environment = plain_program(executable, twins, say)
        warnings = [*blind_spots(program), *memory_warnings(memories, plan)]
        if warning := check_plan(program, plan, force=options.force):
            warnings.append(warning)
        if options.adapt and not adapts:
            warnings.append(
                "--adapt has nothing to do: all of the plan's memories are on one node here, so "
                "nothing is sampled and nothing moves"
            )
        if adapts:
            warnings += _divided_warning(plan)
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


def _divided_warning(plan: Plan) -> list[str]:
    """Return a warning that names objects that cannot move; empty: there are none."""
    names = [row.name for row in plan.placements if is_dealt_out(row)]
    if not names:
        return []
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    return [
        "--adapt moves objects and ranges: what the plan divides among several memories by shares "
        f"({names[0]}{more}) stays as planned; make the plan with --allow whole to let it move"
    ]


def _run_paged(
    plan: Plan,
    plan_path: str,
    options: RunOptions,
    job: Job,
    say: Callable[[str], None],
) -> RunRecord:
    """Run `job` at the plan's budget, with near objects locked and all other memory paged."""
    if options.adapt:
        raise CommandError(
            "--adapt moves pages between nodes; a paged memory is none: leave it out"
        )
    resolved = resolve_memories(plan, options.map)
    place = check_limit(plan, resolved, yes=options.yes)
    memories = locking(resolved, plan.budget_bytes, plan.memories[0].used_bytes)
    executable = find_executable(job.command[0])
    with owned_folder("nearfar-plain-", None) as twins, contextlib.ExitStack() as stack:
        program, environment = plain_program(executable, twins, say)
        warnings = blind_spots(program)
        if warning := check_plan(program, plan, force=options.force):
            warnings.append(warning)
        targets = make_targets(plan, memories, adapt=bool(plan.phases))
        room = stack.enter_context(paged_room(plan, resolved[1].spec, place, say))
        huge = _HUGE_PAGES[options.pages]
        prepared = stack.enter_context(run_environment(plan, memories, targets, huge_pages=huge))
        room.watch = PagedWatch(
            prepared.control,
            room.limited.group,
            plan=plan,
            targets=targets,
            look=prepared.server.request_snapshot,
        )
        prepared.server.ending = room.watch.read_at_end
        run = run_planned(
            prepared, job, executable=program, environment=environment, adapter=room.watch,
            in_child=room.limited.group.join,
        )  # fmt: skip
        room.limited.finish()
        beside = run_comparisons(room, job, program, environment) if options.beside_kernel else []
    warnings += limit_warnings(room.limit, room.limited.counts)
    record = make_record(
        plan, memories, targets, run,
        plan_path=plan_path, command=job.command, executable=program, warnings=warnings,
    )  # fmt: skip
    return replace(record, paged=room.record(beside))


def _pace(options: RunOptions) -> Pace:
    hysteresis = "200ms" if options.hysteresis is None else options.hysteresis
    pace = Pace(
        region_bytes=parse_size_bytes("2MiB" if options.region is None else options.region),
        bytes_per_s=float(parse_size_bytes("1GB" if options.rate is None else options.rate)),
        hysteresis_s=parse_seconds(hysteresis, "--hysteresis"),
    )
    if pace.region_bytes < PAGE_BYTES or pace.bytes_per_s < PAGE_BYTES:
        raise CommandError("--region and --rate must be at least a page, 4KiB")
    return pace
