"""The verb `profile`."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from nearfar.base.errors import CommandError, ExitCode
from nearfar.commands._options import JsonOption, QuietOption


def profile(
    *command: Annotated[str, Parameter(allow_leading_hyphen=True)],
    output: Annotated[Path, Parameter(name=["--output", "-o"])] = Path("run.json"),
    repetitions: int = 3,
    duration: str | None = None,
    after: str = "0s",
    driver: str | None = None,
    llc: str | None = None,
    near: Path | None = None,
    ways: int | None = None,
    memory: str = "64MiB",
    size: list[str] | None = None,
    split: Literal["size"] | None = None,
    phases: Literal["marked", "auto"] = "marked",
    plain: Path | None = None,
    source: Literal["compiled", "counters", "qemu"] | None = None,
    sample: str | None = None,
    rate: int | None = None,
    bursts: bool = False,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> int:
    """Run a program and write where it touches memory: a WorkloadProfile.

    Misses come from one run of a program built by `nearfar cc`, near time from runs of the plain
    build that it keeps inside. Any other program runs once under QEMU, which takes 2 to 100 times
    its time, and near time is its own. The program's own output passes through; this verb writes
    to standard error. Exit code 4 if the program failed: what was gathered is saved all the same.

    Parameters
    ----------
    command
        The program and its arguments, after `--`.
    output
        File to write the profile to.
    repetitions
        How often the plain build runs; near time is the median.
    duration
        Stop the program (SIGTERM) after this long, such as 10s or 500ms: for servers.
    after
        Count only from this long after the start, such as 5s.
    driver
        Shell command that makes the program work, such as a server's client: started with the
        program, and the program is stopped when it ends. NEARFAR_RUN_DIR and NEARFAR_PID in its
        environment let it mark phases with `nearfar mark` or nearfar.program.control.
    llc
        Size of the last-level cache to simulate, such as 32MiB; by default this machine's.
    near
        A DeviceProfile measured here: take from it how much last-level cache a core really gets,
        which in a virtual machine is less than the processor claims.
    ways
        Its ways; by default this machine's.
    memory
        Room for the tables of one process.
    size
        What the program was run at, such as n=1e5, kept in the profile; may be given repeatedly.
    split
        size: tell what one call stack allocates apart by the sizes of the blocks, by powers of two
        (a slab allocator's classes). Tags need no option: see NEARFAR_TAG in nearfar/mark.h.
    phases
        auto: detect phases by what is touched over time, where the program marks none.
    plain
        A plain build of the program, if not the one it holds.
    source
        How to see accesses: `compiled` in by `nearfar cc`; `counters` of the processor and the
        addresses it samples (PEBS, IBS), of this machine's own caches; or `qemu` for unmodified
        programs (Debian's qemu-user). By default the first of these that can be had.
    sample
        With qemu or counters: look for so long, by default 60s. The program goes on after that, to
        tell which share of its work that was; under QEMU four times as long, then it is stopped.
    rate
        With qemu: look at one cache line in so many; by default 64.
    bursts
        Run the plain build once more, under QEMU and for as long as --sample says, and record
        short stretches in full: what depends on what, for the model `window`.
    """
    from dataclasses import replace

    from rich.console import Console

    from nearfar.base.files import check_writable
    from nearfar.base.units import parse_positive_seconds
    from nearfar.profile.options import make_request
    from nearfar.profile.sources.choose import choose
    from nearfar.program.executable import find_executable

    if not command:
        raise CommandError("name the program: nearfar profile -o run.json -- PROGRAM ARGS")
    if command[0].startswith("-"):
        raise CommandError(f"there is no option {command[0]}; the program comes after --")
    _check_not_ours(output)
    check_writable(output)
    console = Console(stderr=True, quiet=quiet)

    def say(text: str) -> None:
        console.print(f"nearfar: {text}", style="dim", markup=False, highlight=False)

    request = make_request(
        command=command,
        repetitions=repetitions,
        duration=duration,
        after=after,
        driver=driver,
        llc=llc,
        near=near,
        ways=ways,
        memory=memory,
        size=size or [],
        plain=plain,
        stdout_to_stderr=json,
    )
    if source == "counters" and (llc or ways):
        raise CommandError(
            "--llc and --ways are for caches that are simulated: --source counters counts the "
            "misses of this machine's own"
        )
    sample_s = parse_positive_seconds("60s" if sample is None else sample, "--sample")
    chosen = choose(
        name=source,
        executable=find_executable(command[0]),
        called=Path(command[0]).name,
        has_plain=plain is not None,
        sample_s=sample_s,
        rate=rate,
        say=say,
    )
    if sample is not None and chosen.name == "compiled" and not bursts:
        raise CommandError(
            "--sample is for --source qemu or counters, and for --bursts: what nearfar cc built "
            "is looked at as long as it runs; --duration stops it"
        )
    request = replace(request, source=chosen, split_sizes=split == "size", slices=phases == "auto")

    from nearfar.documents import save
    from nearfar.documents.header import to_json
    from nearfar.profile.assemble import assemble
    from nearfar.profile.session import gather_runs
    from nearfar.profile.summary import print_summary

    gathered = gather_runs(request, say)
    said = ""
    if request.slices:
        from nearfar.profile.detected_phases import with_detected_phases

        gathered, said = with_detected_phases(gathered)
    result = assemble(request, gathered)
    if said:
        result.warnings.append(said)
    save(result, output)
    if bursts:
        from nearfar.profile.bursts.record import add_bursts

        add_bursts(result, request, sample_s, say)
        save(result, output)
    print_summary(result, console)
    say(f"wrote {output}")
    if json:
        sys.stdout.write(to_json(result).decode())
    runs = [gathered.instrumented, *gathered.plain_runs]
    if failed := next((run.outcome.status for run in runs if run.outcome.failed), None):
        raise CommandError(
            f"the program {failed}; what was gathered until then is in {output}",
            ExitCode.PROGRAM_FAILED,
        )
    return int(ExitCode.DONE)


def _check_not_ours(output: Path) -> None:
    """Refuse an output that the program's own output is redirected to."""
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
