"""The core that a prediction is for: named, measured, the processor's, or the library's span."""

from __future__ import annotations

from msgspec.structs import replace

from nearfar.base.units import format_bytes
from nearfar.devices.cores import completed_core, core_of_processor, plausible_cores
from nearfar.documents import DeviceProfile, MachineProfile
from nearfar.documents.core import CoreFigures

LLC_TOLERANCE = 0.25
"""Relative difference of last-level caches up to which two machines may be the same; hypervisors
assign parts of a cache."""


def core_behind(
    near: DeviceProfile, named: CoreFigures | None = None, machine: MachineProfile | None = None
) -> CoreFigures:
    """Return the core that reads `near`; a figure that is not known spans the library's values.

    `named` is the user's choice; `machine` is this machine's profile, whose core is used if it was
    measured.
    """
    if named is not None:
        return completed_core(named)
    if machine is not None and machine.core is not None:
        processor = core_of_processor(machine.cpu_model, machine.cpu_id)
        return completed_core(completed_core(machine.core, processor))
    if near.measured is None:
        return plausible_cores()
    return completed_core(core_of_processor(near.producer.cpu_model, near.producer.cpu_id))


def unknown_core(core: CoreFigures, near: DeviceProfile) -> list[str]:
    """Return a caveat where a simulated window needs a core that is not known."""
    span = plausible_cores()
    if core.reorder_window is None or core.reorder_window != span.reorder_window:
        return []
    low, high = core.reorder_window.range
    subject = f"the core behind {near.name}"
    if core.name != span.name:
        subject = f"the window of the core {core.name}"
    return [
        f"{subject} is not known: the simulated window has {low:g} to {high:g} "
        "instructions, as cores of the library do, and the interval spans them; "
        "`nearfar measure core` measures it, --core names it"
    ]


def machine_of(
    machine: MachineProfile | None, near: DeviceProfile
) -> tuple[MachineProfile | None, list[str]]:
    """Return the machine if `near` was measured on it; else None and the reason, in a sentence."""
    if machine is None or near.measured is None:
        return machine, []
    last = machine.last_level_cache()
    here = near.producer
    there = replace(machine.producer, cpu_model=machine.cpu_model, cpu_id=machine.cpu_id)
    if not here.same_processor(there):
        difference = (
            f"its processor is {there.processor!r}, and {near.name} was measured on "
            f"{here.processor!r}"
        )
    elif (
        last is not None
        and near.measured.llc_bytes > 0
        and abs(last.size_bytes / near.measured.llc_bytes - 1.0) > LLC_TOLERANCE
    ):
        difference = (
            f"its last-level cache is {format_bytes(last.size_bytes)}, and that of the machine "
            f"{near.name} was measured on {format_bytes(near.measured.llc_bytes)}"
        )
    else:
        return machine, []
    return None, [
        f"the machine profile is another machine's and is not used: {difference}; the core is "
        f"taken from the library by the processor of {near.name}, and channels as not shared"
    ]
