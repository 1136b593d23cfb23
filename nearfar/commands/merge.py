"""The verb `merge`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from nearfar.commands._options import JsonOption, OutputOption, QuietOption


def merge(
    *profiles: Path,
    weight: Annotated[list[float] | None, Parameter(negative="")] = None,
    edited: Annotated[bool, Parameter(negative="")] = False,
    output: OutputOption = None,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Add profiles of several runs of one program up to one that predict and place take.

    For a program that has several typical inputs: its objects and instructions are recognised by
    their places in the source, whatever each run called them.

    Parameters
    ----------
    profiles
        What `nearfar profile` wrote, two or more.
    weight
        How often each run happens, in the order of the profiles; repeat for each. Default: once.
    edited
        The profiles are of builds between which the source changed: allocation sites whose lines
        moved are recognised by their functions, and each is named in a warning.
    """
    from nearfar.base.errors import CommandError
    from nearfar.base.files import check_writable
    from nearfar.commands._deliver import deliver
    from nearfar.documents import WorkloadProfile, load
    from nearfar.profile.merge import merge as run
    from nearfar.profile.summary import print_summary

    if not profiles:
        raise CommandError("name the profiles: nearfar merge one.json other.json -o all.json")
    if output is not None:
        check_writable(output)
    result = run(
        [load(path, WorkloadProfile) for path in profiles],
        [str(path) for path in profiles],
        weight,
        edited=edited,
    )
    deliver(
        result,
        output,
        json=json,
        quiet=quiet,
        show=lambda console: print_summary(result, console),
    )
