"""The API function `run`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from nearfar.api._call import api_function
from nearfar.base.errors import CommandError
from nearfar.options.run import RunOptions

if TYPE_CHECKING:
    from nearfar.documents import RunRecord


@api_function(RunOptions)
def run(options: RunOptions) -> RunRecord:
    """Run a program with its data where a plan says, and return where it landed.

    The record holds the program's exit status; a program that fails raises nothing.
    """
    return run_program(options)


def run_program(
    options: RunOptions,
    say: Callable[[str], None] = lambda _: None,
    *,
    stdout_to_stderr: bool = False,
) -> RunRecord:
    """Run the program under the plan or the kernel's policy."""
    from nearfar.documents import Plan, loaded, origin
    from nearfar.run.api import job_of, run_plan

    if not options.program:
        raise CommandError("name the program: nearfar run --policy interleave -- PROGRAM ARGS")
    job = job_of(options, stdout_to_stderr=stdout_to_stderr)
    if options.far is not None:
        from nearfar.run.paged_run import run_paged

        return run_paged(options, job, say)
    if options.policy is not None:
        from nearfar.run.policy_run import run_policy

        return run_policy(options.policy, job)
    if options.plan is None:
        raise CommandError("name a plan and a program: nearfar run plan.json -- PROGRAM ARGS")
    return run_plan(loaded(options.plan, Plan), origin(options.plan), options, job, say)
