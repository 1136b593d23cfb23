"""Transparent huge pages: without them random access pays for page walks too."""

from __future__ import annotations

from nearfar.documents import MachineProfile
from nearfar.documents.machine import Ability
from nearfar.machine.abilities import ABILITIES, lacking, usable
from nearfar.machine.sysfs import Tree

SWITCH = "/sys/kernel/mm/transparent_hugepage/enabled"


@ABILITIES.register("huge-pages")
def check(tree: Tree, machine: MachineProfile) -> list[Ability]:
    """Read the switch."""
    del tree
    if machine.transparent_huge_pages == "unknown":
        return lacking("the kernel was built without transparent huge pages")
    if machine.transparent_huge_pages == "never":
        return lacking(
            "transparent huge pages are off: measured latencies hold page walks",
            f"echo madvise | sudo tee {SWITCH}",
        )
    return usable(f"transparent, {machine.transparent_huge_pages}")
