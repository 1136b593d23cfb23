"""CXL devices and regions: a driver for each, and regions that were committed."""

from __future__ import annotations

from nearfar.documents import MachineProfile
from nearfar.documents.machine_check import Finding
from nearfar.machine import cxl
from nearfar.machine.checks import CHECKS, absent, lacks, works
from nearfar.machine.sysfs import Tree

PCI = "sys/bus/pci/devices"
MEMORY_CLASS = "0x050210"
"""PCI class code of a CXL memory device (CXL 2.0, 8.1.12.1)."""


@CHECKS.register("cxl-regions")
def check(tree: Tree, machine: MachineProfile) -> list[Finding]:
    """Look for PCI devices without a CXL device, and for regions not committed."""
    cards = [
        name
        for name in tree.entries(PCI, r"[0-9a-f:.]+")
        if tree.text_if_allowed(f"{PCI}/{name}/class") == MEMORY_CLASS
    ]
    if len(cards) > len(machine.cxl):
        return lacks(
            f"{len(cards)} CXL memory devices on PCI ({', '.join(cards)}), "
            f"{len(machine.cxl)} of them with a driver",
            "their memory cannot be mapped by the kernel",
            "sudo modprobe -a cxl_pci cxl_acpi cxl_mem cxl_port",
        )
    if not machine.cxl:
        return absent("no CXL memory device")
    regions = tree.entries(cxl.DEVICES, r"region[0-9]+")
    lines: list[Finding] = []
    for region in regions:
        if tree.number(f"{cxl.DEVICES}/{region}/commit") == 0:
            lines += lacks(
                f"{region} was made and not committed",
                "its memory is not mapped",
                f"sudo cxl enable-region {region}",
                "cxl create-region ends with 0 although it failed: look at the state, not at "
                "the status",
            )
        else:
            lines += works(region)
    return lines or absent("no region (see cxl-memory)")
