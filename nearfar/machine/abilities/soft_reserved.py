"""Memory that the firmware set aside for special use (CXL, HBM): not memory until asked for."""

from __future__ import annotations

from nearfar.base.units import format_bytes
from nearfar.documents import MachineProfile
from nearfar.documents.machine import Ability
from nearfar.machine import cxl
from nearfar.machine.abilities import ABILITIES, lacking
from nearfar.machine.persistent_memory import DAX_DEVICES, is_system_ram
from nearfar.machine.sysfs import Tree


@ABILITIES.register("soft-reserved")
def check(tree: Tree, machine: MachineProfile) -> list[Ability]:
    """Find device-dax that come neither from persistent memory nor from a CXL region."""
    del machine
    explained = {cxl.region_dax(tree, r) for r in tree.entries(cxl.DEVICES, r"region[0-9]+")}
    namespaces = tree.entries("sys/bus/nd/devices", r"dax[0-9]+\.[0-9]+")
    lines: list[Ability] = []
    devices = tree.entries(DAX_DEVICES, r"dax[0-9]+\.[0-9]+")
    for dax in devices:
        if dax in explained or dax in namespaces or is_system_ram(tree, dax):
            continue
        size = format_bytes(tree.number(f"{DAX_DEVICES}/{dax}/size") or 0)
        lines += lacking(
            f"{dax}: {size} were set aside by the firmware and are no memory of any node",
            f"sudo daxctl reconfigure-device --mode=system-ram {dax}",
        )
    iomem = tree.text_if_allowed("proc/iomem") or ""
    if "Soft Reserved" in iomem and not devices:
        lines += lacking(
            "the firmware set memory aside (Soft Reserved in /proc/iomem) and no driver took it",
            "sudo modprobe dax_hmem   # or boot with efi=nosoftreserve",
        )
    return lines
