"""The kernel's version: what of far memory it cannot do yet."""

from __future__ import annotations

from nearfar.documents import MachineProfile
from nearfar.documents.machine_check import Finding
from nearfar.machine.abilities import bare_nodes, newer_kernel
from nearfar.machine.checks import CHECKS, lacks, unknown, works
from nearfar.machine.sysfs import Tree

SINCE = {
    (5, 1): "persistent memory as memory of a node (kmem)",
    (5, 15): "demotion to the next tier",
    (5, 18): "DAMON by sysfs",
    (6, 1): "memory tiers",
    (6, 3): "CXL regions of volatile memory made by the kernel",
    (6, 9): "weighted interleave",
    (6, 10): "tiers by the HMAT for ordinary nodes",
}
"""Version to what came with it (kernel release notes; the abilities test each by itself)."""


@CHECKS.register("kernel")
def check(tree: Tree, machine: MachineProfile) -> list[Finding]:
    """List features of later kernels; they count as missing only on a machine with far memory."""
    version = tree.kernel()
    if version is None:
        return unknown("the kernel's version is not known")
    later = [f"{what} ({'.'.join(map(str, since))})" for since, what in SINCE.items()]
    later = later[sum(version >= since for since in SINCE) :]
    shown = tree.text("proc/sys/kernel/osrelease") or ""
    if not later:
        return works(f"Linux {shown}")
    if machine.cxl or machine.persistent_memory or bare_nodes(machine):
        return lacks(
            f"Linux {shown} has not: {'; '.join(later)}",
            "these ways to use the far memory are not there",
            newer_kernel(tree),
        )
    return works(f"Linux {shown}; later ones have: {'; '.join(later)}")
