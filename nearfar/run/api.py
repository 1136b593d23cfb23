"""Runs a program under a plan: what the verb does, for Python too."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from nearfar.documents.plan import Plan
from nearfar.documents.run_record import RunRecord
from nearfar.profile.compiler import twin
from nearfar.program.executable import check_program, find_executable
from nearfar.program.launch import Job
from nearfar.run import launch, memories, sight
from nearfar.run.adapt import Adapter, Pace, can_move
from nearfar.run.record import make_record
from nearfar.run.targets import make_targets


@dataclass(frozen=True)
class How:
    """Options of a run."""

    mapped: Sequence[str] = ()
    """``NAME=SPEC``: what stands for the plan's memories here."""
    force: bool = False
    """Run under a plan that is hardly this program's."""
    pace: Pace | None = None
    """Set: objects move while the program runs."""
    huge_pages: int = 0
    """1: ask for them; 2: refuse them; 0: as the system has it."""
    job: Job = field(default_factory=lambda: Job(command=()))


def run_plan(
    plan: Plan, plan_path: str, how: How, say: Callable[[str], None] = lambda _: None
) -> RunRecord:
    """Run `how.job` with the plan's objects where it says."""
    launch.check_not_nested()
    command = how.job.command
    executable = find_executable(command[0])
    check_program(executable)
    sight.refuse_privileged(executable)
    places = memories.resolve(plan, how.mapped)
    # Refuses memories whose pages cannot move.
    pace = how.pace if how.pace is not None and can_move(places, how.pace) else None
    with tempfile.TemporaryDirectory(prefix="nearfar-plain-") as name:
        environment = dict(os.environ)
        runs = executable
        if twin.is_instrumented(executable):
            plain = twin.extract_plain(executable, Path(name))
            if plain is not None:
                runs, environment = plain, dict(twin.plain_environment(Path(name)))
                say(f"{executable.name} is instrumented: its plain build runs")
        warnings = [*sight.blind_spots(runs), *memories.warnings_of(places, plan)]
        if warning := sight.check_plan(runs, plan, force=how.force):
            warnings.append(warning)
        if how.pace is not None and pace is None:
            warnings.append(
                "--adapt has nothing to do: all of the plan's memories are on one node here, so "
                "nothing is looked at and nothing moves"
            )
        targets = make_targets(plan, places, adapt=pace is not None)
        with launch.serving(plan, places, targets, huge_pages=how.huge_pages) as serving:
            adapter = (
                Adapter(
                    plan,
                    places,
                    targets,
                    control=serving.control,
                    folder=serving.folder,
                    pace=pace,
                )
                if pace is not None
                else None
            )
            outcome = launch.run_planned(
                serving, how.job, executable=runs, environment=environment, adapter=adapter
            )
    return make_record(
        plan,
        places,
        targets,
        outcome,
        plan_path=plan_path,
        command=command,
        executable=runs,
        warnings=warnings,
    )
