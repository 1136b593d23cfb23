"""The API function `run`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from nearfar.api._call import api_function
from nearfar.api._documents import loaded, origin
from nearfar.base.errors import CommandError
from nearfar.base.units import PAGE_BYTES
from nearfar.options.run import RunOptions

if TYPE_CHECKING:
    from nearfar.documents import RunRecord
    from nearfar.run.adapt import Pace

HUGE_PAGES = {"system": 0, "2MiB": 1, "4KiB": 2}
"""Number in `PlanRunOptions.huge_pages` of each value of --pages."""


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
    from nearfar.base.units import parse_seconds
    from nearfar.documents import Plan
    from nearfar.program.launch import Job
    from nearfar.run.api import PlanRunOptions, run_plan

    if not options.program:
        raise CommandError("name the program: nearfar run --policy interleave -- PROGRAM ARGS")
    pace = _pace(options)
    duration = options.duration
    job = Job(
        command=list(options.program),
        driver=options.driver,
        duration_s=None if duration is None else parse_seconds(duration, "--duration"),
        stdout_to_stderr=stdout_to_stderr,
    )
    if options.policy is not None:
        from nearfar.run.policy_run import run_policy

        return run_policy(options.policy, job)
    if options.plan is None:
        raise CommandError("name a plan and a program: nearfar run plan.json -- PROGRAM ARGS")
    how = PlanRunOptions(
        mapped=list(options.map),
        force=options.force,
        pace=pace if options.adapt else None,
        huge_pages=HUGE_PAGES[options.pages],
        job=job,
    )
    return run_plan(loaded(options.plan, Plan), origin(options.plan), how, say)


def _pace(options: RunOptions) -> Pace:
    from nearfar.base.units import parse_seconds, parse_size_bytes
    from nearfar.run.adapt import Pace

    hysteresis = "200ms" if options.hysteresis is None else options.hysteresis
    pace = Pace(
        region_bytes=parse_size_bytes("2MiB" if options.region is None else options.region),
        bytes_per_s=float(parse_size_bytes("1GB" if options.rate is None else options.rate)),
        hysteresis_s=parse_seconds(hysteresis, "--hysteresis"),
    )
    if pace.region_bytes < PAGE_BYTES or pace.bytes_per_s < PAGE_BYTES:
        raise CommandError("--region and --rate are at least a page: 4KiB")
    return pace
