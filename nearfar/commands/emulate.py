"""The verb `emulate`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from nearfar.base.errors import CommandError, ExitCode
from nearfar.commands._options import JsonOption, OutputOption, QuietOption


def emulate(
    *command: Annotated[str, Parameter(allow_leading_hyphen=True)],
    far: str,
    near: Path,
    plan: Path | None = None,
    by: Literal["node", "delays", "contention"] | None = None,
    llc: Annotated[str | None, Parameter(allow_leading_hyphen=True)] = None,
    driver: str | None = None,
    duration: Annotated[str | None, Parameter(allow_leading_hyphen=True)] = None,
    after: Annotated[str, Parameter(allow_leading_hyphen=True)] = "0s",
    plain: Path | None = None,
    slow_motion: Annotated[float | None, Parameter(allow_leading_hyphen=True)] = None,
    output: OutputOption = None,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> int:
    """Run a program slower, in a way that stands for a far memory that is not here.

    Ways: another NUMA node where there is one; waits at the simulated misses of far objects, for a
    program built by `nearfar cc`, whose own cost of tracing is measured and taken off; a contending
    core. Probes (a chase, chains, a stream) run the same way first and are compared with the far
    memory's profile: what is off by more than 10 % is not called faithful, and the exit code is 1.
    The program runs two or three times, where delays are long up to six times.

    Parameters
    ----------
    command
        The program and its arguments, after `--`.
    far
        A device of the library, or the file of a DeviceProfile.
    near
        The DeviceProfile of this machine's memory, from `nearfar measure dram`.
    plan
        A plan of `nearfar place`: what it keeps near is not delayed. By default everything is far.
    by
        Take this way; by default the first that the probes call faithful.
    llc
        Size of the last-level cache to simulate; by default what `near` says a core gets.
    driver
        Shell command that makes the program work, as for `nearfar profile`.
    duration
        Stop the program after this long.
    after
        Count only from this long after the start.
    plain
        A plain build of the program, if not the one it holds.
    slow_motion
        The most times as slowly as in the far memory that delays may run the program, so that what
        tracing takes can be taken off; times shown are divided by it. Default: 8, used where it is
        needed; 1: never.
    """
    from rich.console import Console

    from nearfar.base.files import check_writable
    from nearfar.commands._deliver import deliver
    from nearfar.devices.library import load_device
    from nearfar.documents import DeviceProfile, Plan, load
    from nearfar.emulate.api import emulate as run_emulated
    from nearfar.emulate.mechanism import MAX_SLOW_MOTION
    from nearfar.emulate.show import show
    from nearfar.profile.options import make_request

    if not command:
        raise CommandError("name the program: nearfar emulate --far DEVICE -- PROGRAM ARGS")
    if command[0].startswith("-"):
        raise CommandError(f"there is no option {command[0]}; the program comes after --")
    if slow_motion is not None and not 1.0 <= slow_motion <= MAX_SLOW_MOTION:
        raise CommandError(
            f"--slow-motion is 1 (never) to {MAX_SLOW_MOTION:g}, not {slow_motion:g}"
        )
    if output is not None:
        check_writable(output)
    here = load(near, DeviceProfile)
    if here.measured is None:
        raise CommandError(
            f"{near} was not measured here: make one with `nearfar measure dram --quick`"
        )
    device = load_device(far)
    placed = load(plan, Plan) if plan is not None else None
    request = make_request(
        command=command,
        repetitions=1,
        duration=duration,
        after=after,
        driver=driver,
        llc=llc,
        near=None if llc else near,
        ways=None,
        memory="64MiB",
        size=[],
        plain=plain,
        stdout_to_stderr=json,
    )
    errors = Console(stderr=True, quiet=quiet)

    def say(text: str) -> None:
        errors.print(f"nearfar: {text}", style="dim", markup=False, highlight=False)

    made = run_emulated(
        request,
        here,
        device,
        plan=placed,
        plan_path=str(plan or ""),
        way=by,
        max_slow_motion=slow_motion or MAX_SLOW_MOTION,
        say=say,
    )
    deliver(made, output, json=json, quiet=quiet, show=lambda console: show(made, console))
    return int(ExitCode.DONE if made.faithful else ExitCode.FOUND)
