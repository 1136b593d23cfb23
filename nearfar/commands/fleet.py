"""The verb `fleet`."""

from __future__ import annotations

from nearfar.commands._verb import verb
from nearfar.options.fleet import FleetFiles, FleetOptions


@verb(FleetOptions, FleetFiles)
def fleet(options: FleetOptions, delivery: FleetFiles) -> None:
    """Sum the profiles of many hosts: where far memory costs least, and what it would save.

    Each type of host gets the cheapest mix of near and far memory that keeps every program within a
    limit of slowdown, given prices and stock. Profiles are read once; their rows are kept. A
    profile needs less than 1 KiB of memory.
    """
    from rich.console import Console

    from nearfar.base.files import write_atomically
    from nearfar.commands._deliver import check_output, deliver_document, sayer
    from nearfar.fleet.api import fleet as run
    from nearfar.fleet.table import print_fleet

    check_output(delivery.output, delivery.html)
    say = sayer(Console(stderr=True, quiet=delivery.quiet))

    def tell(done: int, total: int) -> None:
        if done:
            say(f"{done:,} of {total:,} profiles read")

    result = run(options, tell)
    if delivery.html is not None:
        from nearfar.fleet.page import render

        write_atomically(delivery.html, render(result))
    deliver_document(result, delivery, print_fleet)
