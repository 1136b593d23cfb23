"""The verb `fleet`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from nearfar.base.errors import CommandError
from nearfar.commands._options import JsonOption, NearOption, OutputOption, QuietOption


def fleet(
    *profiles: str,
    near: NearOption,
    far: str,
    hosts: Path | None = None,
    slo: Annotated[list[str] | None, Parameter(negative="")] = None,
    mixes: int = 1,
    leave_out_bad: Annotated[bool, Parameter(negative="")] = False,
    cache: Path | None = None,
    html: Path | None = None,
    output: OutputOption = None,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Sum the profiles of many hosts: where far memory costs least, and what it would save.

    Each host type gets the mix of near and far memory that is cheapest with every program within a
    limit of slowdown, from prices and stock. Profiles are read once; their rows are kept. Memory
    does not grow with the fleet.

    Parameters
    ----------
    profiles
        What `nearfar profile` wrote on many hosts: files, folders, or places such as
        s3://bucket/folder.
    far
        A library device (`nearfar device list`) or a device file.
    hosts
        TOML with types of hosts, prices and stock: docs/fleet.md. Default: types are processors,
        near memory costs five times far memory.
    slo
        The most slowdown of any program, such as 1.10; repeat for several. Default: 1.02, 1.05,
        1.10 and 1.20.
    mixes
        Most shares of far memory that hosts of one type are bought with, besides none.
    leave_out_bad
        Leave out and count files that are no profile, of another version, or contradict others.
    cache
        Folder of the rows. Default: nearfar/fleet in $XDG_CACHE_HOME or ~/.cache.
    html
        File to write a page to.
    """
    from rich.console import Console

    from nearfar.base.files import check_writable, write_atomically
    from nearfar.commands._deliver import deliver
    from nearfar.fleet.api import LIMITS, FleetRequest
    from nearfar.fleet.api import fleet as run
    from nearfar.fleet.hosts import parse_limits, read_hosts
    from nearfar.fleet.table import print_fleet

    if mixes < 1:
        raise CommandError(f"--mixes is 1 or more, not {mixes}")
    for path in (output, html):
        if path is not None:
            check_writable(path)
    errors = Console(stderr=True, quiet=quiet)

    def tell(done: int, total: int) -> None:
        if not done:
            return
        errors.print(
            f"nearfar: {done:,} of {total:,} profiles read",
            style="dim",
            markup=False,
            highlight=False,
        )

    request = FleetRequest(
        files=profiles,
        near=near,
        far=far,
        hosts=read_hosts(hosts),
        limits=parse_limits(slo or LIMITS),
        mixes=mixes,
        leave_out_bad=leave_out_bad,
        cache=cache,
    )
    found = run(request, tell)
    if html is not None:
        from nearfar.fleet.page import render

        write_atomically(html, render(found))
    deliver(found, output, json=json, quiet=quiet, show=lambda console: print_fleet(found, console))
