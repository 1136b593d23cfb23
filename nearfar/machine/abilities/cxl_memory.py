"""CXL memory: made a region, and a region made memory."""

from __future__ import annotations

from nearfar.documents import MachineProfile
from nearfar.documents.machine import Ability
from nearfar.machine import cxl
from nearfar.machine.abilities import ABILITIES, lacking, usable
from nearfar.machine.persistent_memory import is_system_ram
from nearfar.machine.sysfs import Tree

NAME = "cxl-memory"


@ABILITIES.register(NAME)
def check(tree: Tree, machine: MachineProfile) -> list[Ability]:
    """Say of CXL memory how far it is from being usable."""
    if not machine.cxl:
        return []
    lines: list[Ability] = []
    regions = tree.entries(cxl.DEVICES, r"region[0-9]+")
    if not regions:
        device = machine.cxl[0]
        kind = "ram" if device.volatile_bytes else "pmem"
        online = {node.id for node in machine.nodes if not node.cpus}
        note = " (unless the firmware made it a node already)" if online else ""
        return lacking(
            NAME,
            f"{device.device} belongs to no region, so its memory is not mapped{note}",
            f"sudo cxl create-region -m -t {kind} -d decoder0.0 {device.device}",
        )
    for region in regions:
        dax = cxl.region_dax(tree, region)
        if dax is None:
            lines += usable(NAME, f"{region} (its use as persistent memory: see persistent-memory)")
        elif is_system_ram(tree, dax):
            node = tree.number(f"sys/bus/dax/devices/{dax}/target_node")
            lines += usable(NAME, f"{region} is node {node}")
        else:
            lines += lacking(
                NAME,
                f"{region} is a device ({dax}), not memory of a node",
                f"sudo daxctl reconfigure-device --mode=system-ram {dax}",
            )
    return lines
