"""Running a program under a plan, from Python: a Plan in, a RunRecord out."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from nearfar.documents.plan import Plan
from nearfar.documents.run_record import RunRecord
from nearfar.profile.compiler import twin
from nearfar.program.executable import check_program, find_executable
from nearfar.program.launch import Job
from nearfar.run.adapt import Adapter, Pace, can_move
from nearfar.run.launch import check_not_nested, run_environment, run_planned
from nearfar.run.local_memories import memory_warnings, resolve_memories
from nearfar.run.program_check import blind_spots, check_plan, refuse_privileged
from nearfar.run.record import make_record
from nearfar.run.targets import make_targets


@dataclass(frozen=True)
class PlanRunOptions:
    """Options of a run under a plan."""

    mapped: Sequence[str] = ()
    """``NAME=SPEC``: the local memory for a memory of the plan."""
    force: bool = False
    """Run even if most of the plan's functions are not in this program."""
    pace: Pace | None = None
    """Pace at which objects move while the program runs; None: they stay."""
    huge_pages: int = 0
    """1: request huge pages; 2: refuse them; 0: the system's setting."""
    job: Job = field(default_factory=lambda: Job(command=()))


def run_plan(
    plan: Plan,
    plan_path: str,
    options: PlanRunOptions,
    say: Callable[[str], None] = lambda _: None,
) -> RunRecord:
    """Run `options.job` with the plan's objects in their memories."""
    check_not_nested()
    command = options.job.command
    executable = find_executable(command[0])
    check_program(executable)
    refuse_privileged(executable)
    memories = resolve_memories(plan, options.mapped)
    # Raises for memories whose pages cannot move.
    pace = options.pace if options.pace is not None and can_move(memories, options.pace) else None
    with tempfile.TemporaryDirectory(prefix="nearfar-plain-") as name:
        program, environment = _plain_program(executable, Path(name), say)
        warnings = [*blind_spots(program), *memory_warnings(memories, plan)]
        if warning := check_plan(program, plan, force=options.force):
            warnings.append(warning)
        if options.pace is not None and pace is None:
            warnings.append(
                "--adapt has nothing to do: all of the plan's memories are on one node here, so "
                "nothing is sampled and nothing moves"
            )
        targets = make_targets(plan, memories, adapt=pace is not None)
        with run_environment(plan, memories, targets, huge_pages=options.huge_pages) as prepared:
            adapter = None
            if pace is not None:
                adapter = Adapter(
                    plan,
                    memories,
                    targets,
                    control=prepared.control,
                    folder=prepared.folder,
                    pace=pace,
                )
            run = run_planned(
                prepared, options.job, executable=program, environment=environment, adapter=adapter
            )
    return make_record(
        plan, memories, targets, run,
        plan_path=plan_path, command=command, executable=program, warnings=warnings,
    )  # fmt: skip


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
