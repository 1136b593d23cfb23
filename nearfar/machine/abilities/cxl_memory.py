"""CXL memory: made a region, and a region made memory."""

from __future__ import annotations

from nearfar.documents import MachineProfile
from nearfar.documents.machine import Ability
from nearfar.machine import cxl
from nearfar.machine.abilities import ABILITIES, bare_nodes, lacking, usable
from nearfar.machine.persistent_memory import DAX_DEVICES, is_system_ram
from nearfar.machine.sysfs import Tree

MAPPED_SHARE = 0.9
"""Least ratio of a node's size to a device's at which the node can be the device: the kernel's page
structures take 1.6 % of a node, and the firmware may reserve some more."""


@ABILITIES.register("cxl-memory")
def check(tree: Tree, machine: MachineProfile) -> list[Ability]:
    """Return, for each CXL region, its use or the next step to make it usable."""
    if not machine.cxl:
        return []
    lines: list[Ability] = []
    regions = tree.entries(cxl.DEVICES, r"region[0-9]+")
    if not regions:
        return _without_region(tree, machine)
    for region in regions:
        dax = cxl.region_dax(tree, region)
        if dax is None:
            lines += usable(f"{region} (its use as persistent memory: see persistent-memory)")
        elif is_system_ram(tree, dax):
            node = tree.number(f"sys/bus/dax/devices/{dax}/target_node")
            lines += usable(f"{region} is node {node}")
        else:
            lines += lacking(
                f"{region} is a device ({dax}), not memory of a node",
                f"sudo daxctl reconfigure-device --mode=system-ram {dax}",
            )
    return lines


def _without_region(tree: Tree, machine: MachineProfile) -> list[Ability]:
    device = machine.cxl[0]
    size = (device.volatile_bytes or 0) + (device.persistent_bytes or 0)
    by_driver = {
        tree.number(f"{DAX_DEVICES}/{dax}/target_node")
        for dax in tree.entries(DAX_DEVICES, r"dax[0-9]+\.[0-9]+")
    }
    for node in bare_nodes(machine):
        if node.id not in by_driver and size * MAPPED_SHARE <= node.memory_bytes <= size:
            return usable(f"node {node.id} looks like {device.device}, mapped by the firmware")
    return lacking(
        f"{device.device} belongs to no region, so its memory is not mapped",
        f"sudo cxl create-region -m -t {'ram' if device.volatile_bytes else 'pmem'} "
        f"-d decoder0.0 {device.device}",
    )
