"""The verb `crash`, and `crash replay`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from cyclopts import App

from nearfar.base.errors import ExitCode
from nearfar.commands._verb import verb
from nearfar.options.crash import CrashFiles, CrashOptions, ReplayOptions
from nearfar.options.shared import DeliveryOptions, JsonOptions

if TYPE_CHECKING:
    from nearfar.documents import CrashReport

app = App(name="crash")


@app.default
@verb(CrashOptions, CrashFiles)
def crash(options: CrashOptions, delivery: CrashFiles) -> int:
    """Explore what a power cut could leave of a program's pool or files: a CrashReport.

    nearfar crash --check 'CHECK {pool}' -- PROGRAM {pool} ARGS. The program runs once, on a file in
    memory in place of {pool}. Every store into the file, every flush and fence is recorded; then
    each image that persistent memory might hold if the power failed is written to a file, and CHECK
    judges it: exit code 0 accepts the image. Each bug is reported once, with the stores that
    survived, the stores that were lost, and where the program made them.

    nearfar crash --files FOLDER --check 'CHECK {files}' -- PROGRAM {files} ARGS does the same for a
    program that keeps its data in files: it records calls such as write, fsync and rename.

    Exit code 0: no bugs in any state, 1: bugs found, 5: nothing found, but the limits ended it
    first or the program flushes where nearfar cannot see it. Lints do not count as bugs. Ctrl-C or
    SIGTERM ends it with the bugs found so far and exit code 130.
    """
    from nearfar.api.crash import run_crash
    from nearfar.base.terminate import terminated_as_interrupted
    from nearfar.commands._deliver import check_output, deliver_document
    from nearfar.crash.report.terminal import print_report
    from nearfar.crash.report.words import exit_code

    check_output(options.output, delivery.sarif, delivery.junit, delivery.page)

    def say(text: str) -> None:
        if not delivery.quiet:
            print(f"nearfar: {text}", file=sys.stderr)

    with terminated_as_interrupted():
        outcome = run_crash(options, say, stdout_to_stderr=delivery.json)
        _write_formats(outcome.report, delivery)
        printed = DeliveryOptions(output=options.output, json=delivery.json, quiet=delivery.quiet)
        deliver_document(outcome.report, printed, print_report, saved=True)
    if outcome.interrupted:
        return int(ExitCode.INTERRUPTED)
    return int(exit_code(outcome.report))


def _write_formats(report: CrashReport, files: CrashFiles) -> None:
    from nearfar.base.files import write_atomically
    from nearfar.crash.report import junit, page, sarif

    if files.sarif is not None:
        write_atomically(files.sarif, sarif.sarif(report))
    if files.junit is not None:
        write_atomically(files.junit, junit.junit(report))
    if files.page is not None:
        write_atomically(files.page, page.page(report))


@app.command
@verb(ReplayOptions, JsonOptions)
def replay(options: ReplayOptions, delivery: JsonOptions) -> int:
    """Rebuild the image that showed a bug and run its checker: exit code 1 if it fails again."""
    import msgspec

    from nearfar.commands._deliver import check_output
    from nearfar.crash import bug_files
    from nearfar.documents import CrashState, loaded

    check_output(options.keep)
    state = loaded(options.state, CrashState)
    if options.debugger is not None:
        return bug_files.debug(
            state, debugger=options.debugger, check=options.check, keep=options.keep
        )
    verdict = bug_files.replay(state, check=options.check, keep=options.keep)
    if delivery.json:
        answer = {"symptom": verdict.symptom, "said": verdict.output, "before": state.bug.symptom}
        sys.stdout.write(msgspec.json.encode(answer).decode() + "\n")
    elif not delivery.quiet:
        print(f"{verdict.symptom or 'nothing wrong'} (was: {state.bug.symptom})")
        if verdict.output:
            print(verdict.output)
    return int(ExitCode.FOUND if verdict.symptom else ExitCode.DONE)
