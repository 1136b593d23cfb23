"""The verb `scale`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from nearfar.commands._options import JsonOption, OutputOption, QuietOption


def scale(
    *profiles: Path,
    to: Annotated[list[str], Parameter(negative="")],
    force: Annotated[bool, Parameter(negative="")] = False,
    output: OutputOption = None,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Extrapolate profiles of a program at several sizes to one that was never run.

    Profile each size with `nearfar profile --size n=1e5`; three sizes at least, the largest four
    times the smallest. A size may be profiled several times: its runs' mean is less uncertain,
    since each sees other cache lines. The larger sizes are predicted from the smaller ones to
    choose how each number grows, and how far it may be off. The result is a profile that predict
    and place take.

    Parameters
    ----------
    profiles
        What `nearfar profile` wrote, one file per size.
    to
        The size to extrapolate to, such as n=1e7.
    force
        Go further than eight times the largest size, and past laws that do not hold for the sizes
        that ran: what was not supported is among the warnings.
    """
    from nearfar.base.errors import CommandError
    from nearfar.base.files import check_writable
    from nearfar.commands._deliver import deliver
    from nearfar.documents import WorkloadProfile, load
    from nearfar.profile.options import parse_named_size
    from nearfar.profile.scaling.extrapolate import extrapolate
    from nearfar.profile.summary import print_extrapolated

    if not profiles:
        raise CommandError("name the profiles: nearfar scale small.json ... --to n=1e7 -o big.json")
    if output is not None:
        check_writable(output)
    target = dict(parse_named_size(text, "--to") for text in to)
    result = extrapolate(
        [load(path, WorkloadProfile) for path in profiles],
        [str(path) for path in profiles],
        target,
        force=force,
    )
    deliver(
        result,
        output,
        json=json,
        quiet=quiet,
        show=lambda console: print_extrapolated(result, console),
    )
