"""The API functions `machine` and `check_machine`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nearfar.api._call import api_function
from nearfar.options.machine import MachineOptions, RootOptions

if TYPE_CHECKING:
    from nearfar.documents import MachineCheck, MachineProfile
    from nearfar.measure.settings import Progress


@api_function(MachineOptions)
def machine(options: MachineOptions) -> MachineProfile:
    """Return processor, caches, memories and counters of this machine, measured if requested."""
    return run_machine(options)[0]


@api_function(RootOptions)
def check_machine(options: RootOptions) -> MachineCheck:
    """Return what works and what is missing on this machine for far memory."""
    from nearfar.machine.check import check_machine as run

    return run(options.root)


def run_machine(
    options: MachineOptions, progress: Progress | None = None
) -> tuple[MachineProfile, list[str]]:
    """Return the machine's profile, and warnings of its measurement."""
    from nearfar.machine.read import read_machine

    profile = read_machine(options.root)
    if not options.measure:
        return profile, []
    from nearfar.measure.measure_machine import measure_machine, parse_pair
    from nearfar.measure.settings import no_progress

    pairs = [parse_pair(text) for text in options.joint]
    return profile, measure_machine(profile, pairs, progress or no_progress)
