"""Demotion: under pressure the kernel moves cold pages to a slower node, not to swap."""

from __future__ import annotations

from nearfar.documents import MachineProfile
from nearfar.documents.machine import Ability
from nearfar.machine.abilities import ABILITIES, bare_nodes, kernel_name, lacking, usable
from nearfar.machine.sysfs import Tree

SWITCH = "sys/kernel/mm/numa/demotion_enabled"


@ABILITIES.register("demotion")
def check(tree: Tree, machine: MachineProfile) -> list[Ability]:
    """Read the switch; without a node of memory only there is nothing to demote to."""
    if not bare_nodes(machine):
        return []
    state = tree.text(SWITCH)
    if state is None:
        return lacking(f"{kernel_name(tree)} has no switch for it (it came with 5.15)")
    if state in ("true", "1"):
        return usable("on: cold pages move to the next tier")
    return lacking(
        "off: cold pages go to swap, not to the next tier", f"echo true | sudo tee /{SWITCH}"
    )
