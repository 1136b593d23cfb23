"""NUMA balancing: the kernel moves pages on its own, also those a plan placed by first touch."""

from __future__ import annotations

from nearfar.documents import MachineProfile
from nearfar.documents.machine_check import Finding
from nearfar.machine.abilities import memory_nodes
from nearfar.machine.abilities.numa_balancing import SWITCH
from nearfar.machine.checks import CHECKS, absent, note, works
from nearfar.machine.sysfs import Tree


@CHECKS.register("numa-balancing")
def check(tree: Tree, machine: MachineProfile) -> list[Finding]:
    """Read the switch where there is more than one node to move between."""
    if len(memory_nodes(machine)) < 2:
        return absent("a single node: no page can be moved")
    mode = tree.number(SWITCH)
    if not mode:
        return works("off: pages stay where they were put")
    return note(
        f"on (kernel.numa_balancing is {mode})",
        "pages without an mbind policy move while a program is measured, and the kernel causes "
        "faults to choose them",
        "sudo sysctl kernel.numa_balancing=0   # while measuring",
        "times drift over the first seconds of a run",
    )
