"""The verb `report`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from nearfar.commands._options import (
    FarsOption,
    HostOption,
    JsonOption,
    NearOption,
    OutputOption,
    ProfileArgument,
    QuietOption,
)


def report(
    profile: ProfileArgument,
    *,
    near: NearOption,
    far: FarsOption,
    device: Annotated[list[str] | None, Parameter(negative="")] = None,
    plan: Annotated[list[Path] | None, Parameter(negative="")] = None,
    budget: str | None = None,
    phase: str = "total",
    host: HostOption = "added",
    sources: Annotated[list[Path] | None, Parameter(negative="")] = None,
    output: OutputOption = None,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Show what a profiled program needs near, as one HTML page that opens offline.

    Slowdown on each far memory, which objects must stay near for each budget and what that
    saves, the source lines that cost most. With --json the same numbers go to standard output.

    Parameters
    ----------
    device
        One more memory whose latency-load curve is drawn beside; repeat for several.
    plan
        A plan that `nearfar place` wrote, to be shown with the others; repeat for several.
    budget
        The budget of near memory the page opens with: 2GiB, or 25% of what the objects take.
    phase
        The phase the page opens with; ``total`` is the whole run.
    sources
        A folder in which the program's source files are, if not where they were; repeat.
    """
    from nearfar.base.errors import CommandError
    from nearfar.base.files import check_writable, write_atomically
    from nearfar.devices.library import device_names, load_device, load_near
    from nearfar.documents import Plan, WorkloadProfile, load
    from nearfar.report.api import report as make
    from nearfar.report.render import render, to_json

    if output is None and not json:
        raise CommandError("there is nothing to write: name a file with -o, or ask for --json")
    if output is not None:
        check_writable(output)
    data = make(
        load(profile, WorkloadProfile),
        load_near(near),
        [load_device(spec) for spec in (device_names() if far == ["all"] else dict.fromkeys(far))],
        beside=[load_device(spec) for spec in dict.fromkeys(device or [])],
        plans=[(path.name, load(path, Plan)) for path in plan or []],
        budget=budget,
        phase=phase,
        host=host,
        source_folders=sources or [],
    )
    if output is not None:
        write_atomically(output, render(data))
    if json and not quiet:
        print(to_json(data).decode())
    elif not quiet:
        opening = next(answer for answer in data.answers if answer.phase == data.first_phase)
        print(opening.sentence)
        print(f"wrote {output}: open it in a browser")
