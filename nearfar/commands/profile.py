"""The verb `profile`."""

from __future__ import annotations

import os
from pathlib import Path

from nearfar.base.errors import CommandError, ExitCode
from nearfar.commands._verb import verb
from nearfar.options.profile import ProfileOptions
from nearfar.options.shared import JsonOptions


@verb(ProfileOptions, JsonOptions)
def profile(options: ProfileOptions, delivery: JsonOptions) -> int:
    """Run a program and write where it touches memory: a WorkloadProfile.

    Misses come from one run of a program built by `nearfar cc`, near time from runs of the plain
    build that it keeps inside. Any other program runs once under QEMU, which takes 2 to 100 times
    its time, and near time is that of the program itself. The program's output passes through; this
    verb writes to standard error. Exit code 4 if the program failed: what was gathered is saved.
    """
    from rich.console import Console

    from nearfar.commands._deliver import print_json, sayer
    from nearfar.profile.api import profile as run
    from nearfar.profile.api import refuse_failure
    from nearfar.profile.summary import print_summary

    _check_not_redirected(options.output)
    console = Console(stderr=True, quiet=delivery.quiet)
    say = sayer(console)
    result, failure = run(options, say, stdout_to_stderr=delivery.json)
    print_summary(result, console)
    say(f"wrote {options.output}")
    if delivery.json:
        print_json(result)
    refuse_failure(options, failure)
    return ExitCode.DONE


def _check_not_redirected(output: Path) -> None:
    """Refuse `output` if standard output or error is redirected to the same file."""
    for stream, name in ((1, "standard output"), (2, "standard error")):
        try:
            same = output.exists() and os.path.samestat(os.fstat(stream), output.stat())
        except OSError:
            continue
        if same:
            raise CommandError(
                f"{output} is where {name} is redirected, and the program may write there: name "
                "another file with -o"
            )
