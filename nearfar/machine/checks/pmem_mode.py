"""How Optane modules are divided (Memory Mode, App Direct), and what waits for a reboot."""

from __future__ import annotations

from nearfar.base.units import format_bytes
from nearfar.documents import MachineProfile
from nearfar.documents.machine_check import Finding
from nearfar.machine.checks import CHECKS, absent, lacks, note, works
from nearfar.machine.ipmctl import goal_waits, resources
from nearfar.machine.sysfs import Tree

WASTED_SHARE = 0.02
"""Partition tables and alignment to 1 GiB take up to 1.6 % of the published systems' modules
(1.689 of 505.689 GiB, 5.937 of 1013.937 GiB and the like: ipmctl show -memoryresources)."""


@CHECKS.register("pmem-mode")
def check(tree: Tree, machine: MachineProfile) -> list[Finding]:
    """Look for a cache before a node, for capacity that nobody can use, for a waiting goal."""
    lines: list[Finding] = []
    for node in machine.nodes:
        if node.memory_side_cache_bytes:
            lines += note(
                f"node {node.id} has {format_bytes(node.memory_side_cache_bytes)} of near memory "
                "as a cache before it (Memory Mode)",
                "DRAM cannot be addressed: no plan decides what is near, the hardware does",
                "nearfar machine convert --to app-direct",
                "free shows the modules' size and no DRAM; times depend on what ran before",
            )
    capacity = (
        resources(tree) if tree.entries("sys/bus/nd/devices", "nmem[0-9]+") or lines else None
    )
    if capacity is None:
        return lines or absent("no Optane module that ipmctl knows")
    if capacity.inaccessible_bytes > WASTED_SHARE * capacity.modules_bytes:
        lines += lacks(
            f"{format_bytes(capacity.inaccessible_bytes)} of "
            f"{format_bytes(capacity.modules_bytes)} are inaccessible: configured for no mode, or "
            "for one that is off in the firmware",
            "that capacity cannot be used",
            "nearfar machine convert --to app-direct",
        )
    if goal_waits(tree):
        lines += note(
            "a goal was made and waits for the next boot",
            "the present configuration is gone after the reboot, including App Direct data",
            "sudo ipmctl show -goal   # to drop it: sudo ipmctl delete -goal",
        )
    shown = (
        f"{format_bytes(capacity.memory_mode_bytes)} Memory Mode, "
        f"{format_bytes(capacity.app_direct_bytes)} App Direct"
    )
    return lines + works(shown)
