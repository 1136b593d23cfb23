"""Promotion: the kernel brings hot pages back from a slower tier."""

from __future__ import annotations

from nearfar.documents import MachineProfile
from nearfar.documents.machine import Ability
from nearfar.machine.abilities import ABILITIES, bare_nodes, kernel_name, lacking, usable
from nearfar.machine.sysfs import Tree

SWITCH = "proc/sys/kernel/numa_balancing"
TIERING = 2  # NUMA_BALANCING_MEMORY_TIERING of include/linux/sched/sysctl.h


@ABILITIES.register("promotion")
def check(tree: Tree, machine: MachineProfile) -> list[Ability]:
    """Return whether NUMA balancing promotes pages; empty if every node with memory has CPUs."""
    if not bare_nodes(machine):
        return []
    mode = tree.number(SWITCH)
    if mode is None:
        return lacking(f"{kernel_name(tree)} here was built without CONFIG_NUMA_BALANCING")
    if mode & TIERING:
        return usable("on: hot pages move back to the faster tier")
    return lacking(
        f"off: hot pages stay in the slower tier (kernel.numa_balancing is {mode})",
        f"sudo sysctl kernel.numa_balancing={TIERING}",
    )
