"""The API function `crash`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from nearfar.api._call import api_function
from nearfar.options.crash import CrashOptions

if TYPE_CHECKING:
    from nearfar.crash.api import CrashOutcome, CrashRequest
    from nearfar.documents import CrashReport


@api_function(CrashOptions)
def crash(options: CrashOptions) -> CrashReport:
    """Explore the images that a power cut could leave of a program's pool; save if `output` is set.

    Ctrl-C ends it with the bugs found so far.
    """
    return run_crash(options).report


def run_crash(
    options: CrashOptions,
    say: Callable[[str], None] = lambda _: None,
    *,
    stdout_to_stderr: bool = False,
) -> CrashOutcome:
    """Explore, and save the report with its states to replay where options name a file."""
    from nearfar.base.files import check_writable
    from nearfar.crash.api import crash_test
    from nearfar.crash.bug_files import write_states
    from nearfar.documents import save

    request = _request(options, stdout_to_stderr=stdout_to_stderr)
    if options.output is not None:
        check_writable(options.output)
    outcome = crash_test(request, say)
    if options.output is not None:
        folder = options.output.with_name(f"{options.output.stem}-bugs")
        write_states(outcome.report, outcome.bugs, folder, request.timeout_s, outcome.checks)
        save(outcome.report, options.output)
    return outcome


def _request(options: CrashOptions, *, stdout_to_stderr: bool) -> CrashRequest:
    from nearfar.base.units import parse_seconds
    from nearfar.crash.adapters.oracle import ContentOracle
    from nearfar.crash.api import CrashRequest
    from nearfar.crash.checker import Check
    from nearfar.crash.judge import ExplorationBudget
    from nearfar.crash.limits import check_limits
    from nearfar.crash.resume import folder_of

    timeout_s = parse_seconds(options.timeout, "--timeout")
    check_limits(
        seed=options.seed,
        states=options.states,
        seconds=options.seconds,
        timeout_s=timeout_s,
        workers=options.workers,
        schedules=options.schedules,
    )
    checks = [Check(options.check)] if options.check else []
    checks += [Check(options.dump, oracle=True)] if options.dump else []
    empty = options.pool is None
    return CrashRequest(
        command=list(options.command),
        checks=checks,
        oracle=(lambda trace: ContentOracle(trace, empty=empty)) if options.dump else None,
        pool_check=options.pool_check,
        pool=options.pool,
        budget=ExplorationBudget(options.states, options.seconds),
        timeout_s=timeout_s,
        seed=options.seed,
        eadr=options.eadr,
        json=stdout_to_stderr,
        workers=options.workers,
        schedules=options.schedules,
        keep=None if options.output is None else folder_of(options.output),
        resume=options.resume,
    )
