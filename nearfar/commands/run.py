"""The verb `run`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from nearfar.base.errors import CommandError, ExitCode
from nearfar.commands._verb import verb
from nearfar.options.run import RunOptions, RunRecordFiles


@verb(RunOptions, RunRecordFiles)
def run(options: RunOptions, delivery: RunRecordFiles) -> int:
    """Run a program with its data where a plan says, and show where it landed: a RunRecord.

    nearfar run PLAN [--map NAME=SPEC] -- PROGRAM ARGS. Or, without a plan, with its memory limited
    and the rest compressed or swapped: nearfar run --far zram --near 60% -- PROGRAM ARGS; with a
    plan for such a memory, what is near is locked: nearfar run PLAN --map far=zram. The program is
    unmodified: a library preloaded into it recognises objects by their call stacks and
    serves each from its memory. Its own output passes through; this verb writes to standard error,
    with --json to standard output. Exit code 4 if the program failed: the record is written all the
    same.
    """
    from rich.console import Console

    from nearfar.api.run import run_program
    from nearfar.commands._deliver import check_output, print_json, sayer
    from nearfar.documents import save
    from nearfar.run.table import print_record

    options = _with_plan(options)
    check_output(delivery.output, delivery.prometheus)
    console = Console(stderr=True, quiet=delivery.quiet)
    say = sayer(console)
    if options.far is not None and not options.yes:
        from nearfar.run.paged_run import dry_run

        print(f"nearfar run --far {options.far} would do this, as root; --yes does it:")
        print("\n".join(f"  {line}" for line in dry_run(options)))
        return int(ExitCode.DONE)
    if options.paged_map is not None and not options.yes:
        from nearfar.documents import Plan, loaded
        from nearfar.run.paged_plan import dry_run_commands

        print(f"nearfar run would do this for {options.paged_map}, as root; --yes does it:")
        lines = dry_run_commands(loaded(options.plan or Path(), Plan), options)
        print("\n".join(f"  {line}" for line in lines))
        return int(ExitCode.DONE)
    record = run_program(options, say, stdout_to_stderr=delivery.json)
    if delivery.output is not None:
        save(record, delivery.output)
    if delivery.prometheus is not None:
        from nearfar.run.prometheus import write_metrics

        write_metrics(record, delivery.prometheus)
    print_record(record, console)
    if delivery.output is not None:
        say(f"wrote {delivery.output}")
    if delivery.json:
        print_json(record)
    status = record.exit_status
    failed = not status.startswith("exited 0") and "by nearfar" not in status
    return int(ExitCode.PROGRAM_FAILED if failed else ExitCode.DONE)


def _with_plan(options: RunOptions) -> RunOptions:
    """Return the options with the first word as the plan, unless the Linux kernel places data."""
    words = options.program
    if options.policy is not None or options.far is not None:
        if words and words[0].endswith(".json"):
            option = "--policy" if options.policy is not None else "--far"
            raise CommandError(f"{option} goes without a plan: leave out {words[0]}")
        return options
    if len(words) < 2:
        raise CommandError("name a plan and a program: nearfar run plan.json -- PROGRAM ARGS")
    for word in words[:2]:
        if word.startswith("-"):
            raise CommandError(f"there is no option {word}; the program comes after --")
    return replace(options, plan=Path(words[0]), program=words[1:])
