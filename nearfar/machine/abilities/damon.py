"""DAMON: the kernel's access monitor."""

from __future__ import annotations

from nearfar.documents import MachineProfile
from nearfar.documents.machine import Ability
from nearfar.machine.abilities import ABILITIES, kernel_name, lacking, usable
from nearfar.machine.sysfs import Tree


@ABILITIES.register("damon")
def check(tree: Tree, machine: MachineProfile) -> list[Ability]:
    """Look for DAMON's folder in sysfs."""
    del machine
    if tree.exists("sys/kernel/mm/damon"):
        return usable("the kernel can monitor accesses by page (as root)")
    return lacking(
        f"{kernel_name(tree)} here was built without it (CONFIG_DAMON_SYSFS, since 5.18)"
    )
