"""The verb `crash`, and `crash replay`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from nearfar.base.errors import CommandError, ExitCode
from nearfar.commands._options import JsonOption, OutputOption, QuietOption

app = App(name="crash")
_TIMEOUT = "5s"


@app.default
def crash(
    *command: Annotated[str, Parameter(allow_leading_hyphen=True)],
    check: str = "",
    dump: str = "",
    pool: Path | None = None,
    pool_check: bool = True,
    seconds: float = 60.0,
    states: int = 20_000,
    timeout: str = _TIMEOUT,
    seed: int = 1,
    eadr: Annotated[bool, Parameter(negative="")] = False,
    workers: int = 1,
    schedules: int = 1,
    resume: Annotated[bool, Parameter(negative="")] = False,
    sarif: Path | None = None,
    junit: Path | None = None,
    page: Path | None = None,
    output: OutputOption = None,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> int:
    """Explore the images that a power cut could leave of a program's pool: a CrashReport.

    nearfar crash --check 'CHECK {pool}' -- PROGRAM {pool} ARGS. The program runs once, on a file in
    memory in place of {pool}. Every store into the file, every flush and fence is recorded; then
    each image that persistent memory might hold if the power went is written to a file, and CHECK
    judges it: exit code 0 accepts the image. Each bug is reported once, with the stores that
    survived, the stores that were lost, and where the program made them.

    Exit code 0: no bugs, 1: bugs found. Lints do not count as bugs. Ctrl-C or SIGTERM ends it with
    the bugs found so far and exit code 130.

    Parameters
    ----------
    command
        The program and its arguments, after `--`; {pool} stands for the pool's path.
    check
        Command that judges an image; {pool} stands for its path, {done} and {begun} for the last
        operations that ended and began, {in_flight} for those that have begun and not ended
        (nearfar/crash.h). It may recover and change the image. It is loaded once and forked; a
        program or shared library with NEARFAR_CRASH_CHECKER in it is called as a function.
    dump
        Command that prints the content of an image: a line "key value" for each key of a map, "key"
        of a set; a line with a ! reports what does not work. The content must be that of the
        operations that the program marks (NEARFAR_CRASH_OP): all that completed, and any of those
        in flight.
    pool_check
        Also run libpmemobj's own check on its pools, at some states of each failure point.
    pool
        Pool before the run, which is copied. Without it the program makes its own.
    seconds
        Limit of the time to judge states.
    states
        Limit of the number of states to judge.
    timeout
        Time after which one check counts as a hang.
    seed
        Seed of the random states and of the order in which threads take turns.
    eadr
        The processor's caches survive the power cut.
    workers
        Explorers that share the states, each with its own checker.
    schedules
        Recordings of a program with threads, each with another order of the threads.
    resume
        Continue where the budget or Ctrl-C ended the same command line with the same -o.
    sarif
        File for bugs and lints as SARIF 2.1.0, for code scanning.
    junit
        File for bugs and lints as JUnit XML, for continuous integration.
    page
        File for the report as one HTML page.
    output
        File for the report; states to replay go to the folder FILE-bugs next to it, in place of
        those of an earlier report.
    """
    from nearfar.base.files import check_writable, write_atomically
    from nearfar.base.terminate import terminated_as_interrupted
    from nearfar.commands._deliver import deliver
    from nearfar.crash.adapters.oracle import ContentOracle
    from nearfar.crash.api import CrashRequest, crash_test
    from nearfar.crash.bug_files import write_states
    from nearfar.crash.checker import Check
    from nearfar.crash.judge import ExplorationBudget
    from nearfar.crash.limits import check_limits
    from nearfar.crash.report import junit as as_junit
    from nearfar.crash.report import page as as_page
    from nearfar.crash.report import sarif as as_sarif
    from nearfar.crash.report.terminal import print_report
    from nearfar.crash.resume import folder_of

    if not command:
        raise CommandError(
            "name the program: nearfar crash --check 'CHECK {pool}' -- PROGRAM {pool}"
        )
    if command[0].startswith("-"):
        raise CommandError(f"there is no option {command[0]}; the program comes after --")
    if not check and not dump:
        raise CommandError(
            "say what judges an image: --check 'CHECK {pool}' or --dump 'DUMP {pool}'"
        )
    if resume and output is None:
        raise CommandError("--resume continues the exploration of a report: name it by -o")
    timeout_s = _seconds(timeout)
    check_limits(
        seed=seed,
        states=states,
        seconds=seconds,
        timeout_s=timeout_s,
        workers=workers,
        schedules=schedules,
    )
    for file in (output, sarif, junit, page):
        if file is not None:
            check_writable(file)
    checks = [Check(check)] if check else []
    checks += [Check(dump, oracle=True)] if dump else []
    request = CrashRequest(
        command=list(command),
        checks=checks,
        oracle=(lambda trace: ContentOracle(trace, empty=pool is None)) if dump else None,
        pool_check=pool_check,
        pool=pool,
        budget=ExplorationBudget(states, seconds),
        timeout_s=timeout_s,
        seed=seed,
        eadr=eadr,
        json=json,
        workers=workers,
        schedules=schedules,
        keep=None if output is None else folder_of(output),
        resume=resume,
    )
    with terminated_as_interrupted():
        outcome = crash_test(request, _say(quiet=quiet))
        report = outcome.report
        if output is not None:
            folder = output.with_name(f"{output.stem}-bugs")
            write_states(report, outcome.bugs, folder, timeout_s, outcome.checks)
        if sarif is not None:
            write_atomically(sarif, as_sarif.sarif(report))
        if junit is not None:
            write_atomically(junit, as_junit.junit(report))
        if page is not None:
            write_atomically(page, as_page.page(report))
        deliver(report, output, json=json, quiet=quiet, show=lambda to: print_report(report, to))
    if outcome.interrupted:
        return int(ExitCode.INTERRUPTED)
    return int(ExitCode.FOUND if report.bugs else ExitCode.DONE)


@app.command
def replay(
    state: Path,
    *,
    check: str | None = None,
    keep: Path | None = None,
    debugger: str | None = None,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> int:
    """Rebuild the image that showed a bug and run its checker: exit code 1 if it fails again.

    Parameters
    ----------
    state
        bug-N.json, as `nearfar crash -o` wrote it.
    check
        Another checker, such as 'gdb --args CHECK {pool}'.
    keep
        File for the image as it is before the checker runs.
    debugger
        Run the checker under it at this terminal, such as gdb; exit code: the debugger's.
    """
    import sys

    import msgspec

    from nearfar.base.files import check_writable
    from nearfar.crash.bug_files import debug
    from nearfar.crash.bug_files import replay as replay_state
    from nearfar.documents.crash_report import CrashState
    from nearfar.documents.header import load

    if keep is not None:
        check_writable(keep)
    loaded = load(state, CrashState)
    if debugger is not None:
        return debug(loaded, debugger=debugger, check=check, keep=keep)
    verdict = replay_state(loaded, check=check, keep=keep)
    if json:
        answer = {"symptom": verdict.symptom, "said": verdict.output, "before": loaded.bug.symptom}
        sys.stdout.write(msgspec.json.encode(answer).decode() + "\n")
    elif not quiet:
        print(f"{verdict.symptom or 'nothing wrong'} (was: {loaded.bug.symptom})")
        if verdict.output:
            print(verdict.output)
    return int(ExitCode.FOUND if verdict.symptom else ExitCode.DONE)


def _seconds(text: str) -> float:
    from nearfar.base.units import parse_seconds

    return parse_seconds(text, "--timeout")


def _say(*, quiet: bool) -> Callable[[str], None]:
    import sys

    def say(text: str) -> None:
        if not quiet:
            print(f"nearfar: {text}", file=sys.stderr)

    return say
