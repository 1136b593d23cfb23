"""The API function `crash`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from nearfar.api._call import api_function
from nearfar.options.crash import CrashOptions

if TYPE_CHECKING:
    from nearfar.crash.api import CrashOutcome, CrashRequest
    from nearfar.crash.files.api import FilesRequest
    from nearfar.documents import CrashReport


@api_function(CrashOptions)
def crash(options: CrashOptions) -> CrashReport:
    """Explore what a power cut could leave of a program's pool or files; save if `output` is set.

    Ctrl-C ends it with the bugs found so far.
    """
    return run_crash(options).report


def run_crash(
    options: CrashOptions,
    say: Callable[[str], None] = lambda _: None,
    *,
    stdout_to_stderr: bool = False,
) -> CrashOutcome:
    """Explore; if options name an output file, save the report and the states to replay."""
    from nearfar.base.files import check_writable
    from nearfar.crash.api import crash_test
    from nearfar.crash.bug_files import write_states
    from nearfar.crash.files.api import files_test
    from nearfar.documents import save

    timeout_s = _checked_timeout(options)
    if options.output is not None:
        check_writable(options.output)
    if options.files is not None:
        outcome = files_test(_files_request(options, timeout_s, stdout_to_stderr), say)
    else:
        outcome = crash_test(_request(options, timeout_s, stdout_to_stderr), say)
    if options.output is not None:
        folder = options.output.with_name(f"{options.output.stem}-bugs")
        write_states(outcome.report, outcome.bugs, folder, timeout_s, outcome.checks)
        save(outcome.report, options.output)
    return outcome


def _checked_timeout(options: CrashOptions) -> float:
    """Refuse invalid limits; return the time limit of one check, s."""
    from nearfar.base.units import parse_seconds
    from nearfar.crash.limits import check_limits

    timeout_s = parse_seconds(options.timeout, "--timeout")
    check_limits(
        seed=options.seed,
        states=options.states,
        seconds=options.seconds,
        timeout_s=timeout_s,
        workers=options.workers,
        schedules=options.schedules,
        preemptions=options.preemptions,
    )
    return timeout_s


def _files_request(options: CrashOptions, timeout_s: float, stdout_to_stderr: bool) -> FilesRequest:
    """Return the exploration of files that the options describe."""
    from nearfar.crash.files.adapters import command_of
    from nearfar.crash.files.api import FilesRequest
    from nearfar.crash.files.models._registry import models
    from nearfar.crash.judge import ExplorationBudget
    from nearfar.documents import CrashReport
    from nearfar.documents.header import load

    assert options.files is not None
    return FilesRequest(
        command=list(options.command),
        check=options.check or command_of(options.adapter, options.dump),
        folder=options.files,
        models=models(options.file_system),
        budget=ExplorationBudget(options.states, options.seconds),
        timeout_s=timeout_s,
        seed=options.seed,
        json=stdout_to_stderr,
        first=options.first,
        baseline=None if options.baseline is None else load(options.baseline, CrashReport),
    )


def _request(options: CrashOptions, timeout_s: float, stdout_to_stderr: bool) -> CrashRequest:
    from nearfar.crash.adapters.oracle import ContentOracle
    from nearfar.crash.api import CrashRequest
    from nearfar.crash.checker import Check
    from nearfar.crash.judge import ExplorationBudget
    from nearfar.crash.resume import folder_of
    from nearfar.documents import CrashReport
    from nearfar.documents.header import load

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
        preemptions=options.preemptions,
        keep=None if options.output is None or options.preemptions else folder_of(options.output),
        resume=options.resume,
        first=options.first,
        baseline=None if options.baseline is None else load(options.baseline, CrashReport),
    )
